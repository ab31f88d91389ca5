"""Records of JSON: one object per line, or one array of objects, which is read in parts of bounded size."""

import json
from collections.abc import Iterator
from typing import Any

from capsulet.errors import InputError
from capsulet.text.columns import TEXT
from capsulet.text.files import MAX_LINE_BYTES, Chunk, printable
from capsulet.text.rows import Reading
from capsulet.text.tables import kind

JsonRecord = tuple[int, dict[str, Any]]  # number of the line, object
BLANKS = " \t\r\n"
EXAMPLE = 'Write {"text": …, "label": …}'


def line_records(lines: Iterator[tuple[int, str]], reading: Reading) -> Iterator[JsonRecord]:
    """Yield the objects of JSON lines."""
    for number, line in lines:
        if not line or line.isspace():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            reading.reject(number, *invalid(error, line))
            continue
        if isinstance(record, dict):
            yield number, record
        else:
            reading.reject(number, f"JSON is {kind(record)}, expected an object", EXAMPLE)


def invalid(error: Exception, line: str) -> tuple[str, str]:
    """Return problem and remedy of a line that is not JSON."""
    place = f" at character {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
    reason = reason_of(error)
    remedy = "Write one object per line"
    if line.strip() in ("{", "{}") or line.rstrip().endswith(("{", "[", ",")):
        remedy += ", or one array of objects: [{…}, {…}]"
    return f"invalid JSON{place} ({reason})", remedy


def reason_of(error: Exception) -> str:
    """What is wrong with JSON, without the place."""
    return printable(error.msg if isinstance(error, json.JSONDecodeError) else str(error), 100)


def array_records(chunks: Iterator[Chunk], reading: Reading) -> Iterator[JsonRecord]:
    """Yield the objects of one array. It is decoded object by object, so that memory is bounded.

    Without labels, an item may also be a text.
    """
    source, decoder = Buffer(chunks, reading), json.JSONDecoder()
    source.skip("[")
    while not source.at("]"):
        line = source.line
        try:
            record = source.value(decoder)
        except (ValueError, RecursionError) as error:
            problem = f"{reading.source} line {line}: invalid JSON ({reason_of(error)}) in an array"
            raise InputError(f"{problem}. Write an array of objects: [{{…}}, {{…}}]") from None
        if isinstance(record, dict):
            yield line, record
        elif isinstance(record, str) and not reading.labelled:
            yield line, {TEXT: record}
        else:
            reading.reject(line, f"JSON is {kind(record)}, expected an object", EXAMPLE)
        source.skip(",", optional=True)
    if not source.text[source.place :]:
        raise InputError(f"{reading.source}: the JSON array has no end (]). Write or download the file again")


class Buffer:
    """Text of chunks of lines that is not decoded yet."""

    def __init__(self, chunks: Iterator[Chunk], reading: Reading) -> None:
        self.chunks, self.reading = chunks, reading
        self.text, self.place, self.line = "", 0, 1  # `line` is that of `place`

    def more(self, size: int = 1) -> bool:
        """Append at least `size` characters, if there are any more; drop those that were decoded."""
        parts = [self.text[self.place :]]
        added = 0
        for chunk in self.chunks:
            for number, (problem, remedy) in chunk.problems.items():
                raise self.reading.error(number, problem, remedy)
            parts.append("\n".join(chunk.lines) + "\n")
            added += len(parts[-1])
            if added >= size:
                break
        if added:
            self.text, self.place = "".join(parts), 0
        return added > 0

    def blanks(self) -> None:
        """Go to the next character that is not blank."""
        while True:
            while self.place < len(self.text) and self.text[self.place] in BLANKS:
                self.line += self.text[self.place] == "\n"
                self.place += 1
            if self.place < len(self.text) or not self.more():
                return

    def at(self, letter: str) -> bool:
        """Whether the next character is this one, or the text ends."""
        self.blanks()
        return self.text[self.place : self.place + 1] in (letter, "")

    def skip(self, letter: str, optional: bool = False) -> None:
        """Skip a character, which may be missing before the end of the array."""
        self.blanks()
        self.place += self.text[self.place : self.place + 1] == letter or not optional

    def value(self, decoder: json.JSONDecoder) -> Any:
        """Decode the next value. After a failure the text to decode doubles in size, so that the time stays linear."""
        while True:
            try:
                value, end = decoder.raw_decode(self.text, self.place)
                if end < len(self.text) or not self.more():
                    break
            except ValueError:
                size = len(self.text) - self.place
                if size > MAX_LINE_BYTES or not self.more(size):
                    raise
        self.line += self.text.count("\n", self.place, end)
        self.place = end
        return value
