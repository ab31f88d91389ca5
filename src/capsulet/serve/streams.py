"""Streams of JSON lines: one text per line in, one answer per line out, in bounded memory."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any

from capsulet.serve.fields import check_text, parse
from capsulet.serve.messages import RefusalError, to_json

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from capsulet.serve.connection import Connection
    from capsulet.serve.server import Server

AT_ONCE = 64  # lines that are answered together
MOST_BYTES = 262_144  # of a body that wait; then the connection is not read


class BodyStream:
    """The body of a request while it arrives."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.chunks: deque[bytes] = deque()
        self.size = 0
        self.ended = self.failed = False
        self.changed = asyncio.Event()

    def feed(self, part: bytes) -> None:
        """Add bytes; stop reading if many wait."""
        self.chunks.append(part)
        self.size += len(part)
        if self.size > MOST_BYTES:
            self.connection.transport.pause_reading()
        self.changed.set()

    def end(self) -> None:
        """The body is complete."""
        self.ended = True
        self.changed.set()

    def fail(self) -> None:
        """The connection is lost, or the body cannot be read."""
        self.failed = True
        self.changed.set()

    def resume(self) -> None:
        """The client reads again."""
        self.changed.set()

    async def read(self) -> bytes:
        """The bytes that have arrived; empty at the end."""
        await self.until(lambda: bool(self.chunks) or self.ended)
        data = b"".join(self.chunks)
        self.chunks.clear()
        self.size = 0
        if not self.connection.closed:
            self.connection.transport.resume_reading()
        return data

    async def sent(self) -> None:
        """Wait until the client has read the answers."""
        await self.until(lambda: not self.connection.full)

    async def until(self, ready: Any) -> None:
        """Wait for a condition within the time limit."""
        while not ready() and not self.failed:
            self.changed.clear()
            self.connection.deadline = self.connection.server.loop.time() + self.connection.settings.timeout
            await self.changed.wait()
        self.connection.deadline = 0.0
        if self.failed:
            raise ConnectionResetError("the client left")


async def lines_of(stream: BodyStream, longest: int) -> AsyncIterator[list[bytes]]:
    """Yield the lines that have arrived, some at a time; the last line may have no line break.

    White space after the last line break is not a line.
    """
    rest = b""
    while data := await stream.read():
        *lines, rest = (rest + data).split(b"\n")
        if len(rest) > longest:
            raise RefusalError(413, f"a line has more than {longest:,} bytes: expected one JSON value per line")
        for start in range(0, len(lines), AT_ONCE):
            yield lines[start : start + AT_ONCE]
    if rest.strip():
        yield [rest]


async def answer_lines(server: Server, connection: Connection, stream: BodyStream, shape: Any) -> None:
    """Answer every line with one line; `shape` reads a text and writes an answer.

    A line that cannot be read gets a line with an error, so that line i of the answer belongs to line i of the request.
    """
    number = 0
    async for lines in lines_of(stream, server.settings.max_body):
        texts: list[str] = []
        problems: dict[int, str] = {}
        for place, line in enumerate(lines):
            try:
                texts.append(text_of(line, server.settings.max_length))
            except RefusalError as refusal:  # noqa: PERF203 - each line may be bad
                problems[place] = f"line {number + place + 1}: {refusal.message}"
        answers = iter(await shape.answers(texts) if texts else ())
        connection.write_lines(
            to_json({"error": problems[place]} if place in problems else next(answers)) + b"\n"
            for place in range(len(lines))
        )
        number += len(lines)
        await stream.sent()


def text_of(line: bytes, longest: int) -> str:
    """The text of a line: a string, or an object with the field `input` or `text`."""
    if not line.strip():
        raise RefusalError(422, "the line is blank: expected a text in quotes or an object with input")
    value = parse(line)
    if isinstance(value, dict):
        value = value.get("input", value.get("text"))
    check_text(value, "the text", longest)
    return str(value)
