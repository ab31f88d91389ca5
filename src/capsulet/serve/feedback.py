"""Feedback of users: texts with their right labels, in a file that `capsulet train` can read."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from capsulet.errors import InputError
from capsulet.serve.fields import check_text, kind, name_of, read_fields, whole_number
from capsulet.serve.messages import RefusalError, Request, Response, json_response
from capsulet.serve.models import Model
from capsulet.serve.shapes.own import some_texts

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from capsulet.serve.server import Server

LONGEST_LABEL, MOST_LABELS = 200, 1000
FIELDS = "text", "label", "model", "predicted"
NEXT_FIELDS = "input", "model", "count"
LONGEST_CHECKED = 1 << 16  # bytes of the first line of an existing file
MOST_NEXT = 100  # texts to label next; the time to choose them grows with the square of their number


def feedback(server: Server, request: Request) -> Awaitable[Response]:
    """Store a text with its right label or labels."""
    path = server.settings.feedback
    if path is None:
        raise RefusalError(404, "the server stores no feedback: start it with --feedback FILE")
    values = read_fields(request, FIELDS)
    model = server.models.find(name_of(values))
    check_text(values.get("text"), "text", server.settings.max_length)
    if not values["text"].strip():
        raise RefusalError(422, "text is empty: expected a text with words")
    row = {"text": values["text"], **labels(values, model)}
    predicted = name_of(values, "predicted")
    if predicted is not None:
        check_text(predicted, "predicted", LONGEST_LABEL)
        row["predicted"] = predicted
    return store(server, path, json.dumps({**row, "model": model.name}, ensure_ascii=False).encode() + b"\n")


def labels(values: dict[str, Any], model: Model) -> dict[str, Any]:
    """The right label of a text; a multi-label model takes a list, which may be empty."""
    value = values.get("label")
    names: list[Any] = value if isinstance(value, list) else [value]
    if isinstance(value, list) and not model.multi_label:
        raise RefusalError(422, f"label is a list, but {model.name} gives one label per text: expected a string")
    if len(names) > MOST_LABELS:
        raise RefusalError(413, f"label has {len(names):,} labels: expected at most {MOST_LABELS}")
    for name in names:
        check_text(name, "label", LONGEST_LABEL)
        if not name.strip() or not name.isprintable():
            raise RefusalError(422, f"label is {kind(name)} without a visible character, or with a control character")
    return {"labels": list(dict.fromkeys(names))} if model.multi_label else {"label": names[0]}


async def store(server: Server, path: str, line: bytes) -> Response:
    """Append a line to the feedback file."""
    if not await server.engine.call(append_line, path, line, server.settings.max_feedback):
        raise RefusalError(503, "the feedback file is full: tell the operator of the server", {"retry-after": "3600"})
    return Response(status=204)


def append_line(path: str, line: bytes, most: int) -> bool:
    """Append one whole line, also if several processes write; False if the file would become too large."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        lock(descriptor)
        if os.fstat(descriptor).st_size + len(line) > most:
            return False
        written = os.write(descriptor, line)
        if written < len(line):  # the disk is full: remove the part of the line
            os.ftruncate(descriptor, os.fstat(descriptor).st_size - written)
            return False
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)


def lock(descriptor: int) -> None:
    """Wait for other processes that write the file; the lock ends with the descriptor."""
    try:
        import fcntl
    except ImportError:  # Windows, where the server has one process
        return
    fcntl.flock(descriptor, fcntl.LOCK_EX)


def check_feedback_file(path: str) -> None:
    """Refuse a file that cannot be appended to or has other content than JSON lines, before the server starts."""
    try:
        with open(path, "ab"), open(path, "rb") as file:  # noqa: PTH123
            first = file.readline(LONGEST_CHECKED).strip()
    except OSError as error:
        raise InputError(f"--feedback {path} cannot be written: {error.strerror}; name another file") from None
    if first and not first.startswith(b"{"):
        raise InputError(
            f"--feedback {path} has other content than JSON lines: name a new file, such as feedback.jsonl"
        )


async def next_texts(server: Server, request: Request) -> Response:
    """The texts to label next, as indices in the list, most useful first."""
    from capsulet.labelling.selection import select

    values = read_fields(request, NEXT_FIELDS)
    model = server.models.find(name_of(values))
    texts = some_texts(values, "input", server)
    count = whole_number(values, "count", 20, 1, MOST_NEXT)
    with server.queue.room(texts):
        order = await server.engine.call(select, model.classifier, texts, count)
    return json_response({"order": order})
