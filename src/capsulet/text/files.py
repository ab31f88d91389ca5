"""Files as they come (plain, gzipped, standard input) to numbered lines of text."""

from __future__ import annotations

import difflib
import gzip
import io
import stat
import sys
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path
from typing import NamedTuple, cast

from capsulet.errors import InputError

CHUNK_BYTES = 1 << 16  # small enough that a chunk and its rows stay in the processor's cache
MAX_LINE_BYTES = 64 << 20
GZIP_MAGIC = b"\x1f\x8b"
UTF8_MARK = b"\xef\xbb\xbf"

Stream = io.BufferedReader | gzip.GzipFile  # both have peek and read1


class Chunk(NamedTuple):
    """Some lines of a file without their ends (of CRLF the CR is left), and what is wrong with a few of them."""

    first: int  # number of the first line
    lines: list[str]
    problems: dict[int, tuple[str, str]]  # line number -> problem, remedy


def printable(value: str, limit: int = 40) -> str:
    """The value short and on one line, for messages."""
    if not value.isprintable():
        value = repr(value)[1:-1]
    return value if len(value) <= limit else value[: limit - 1] + "…"


def source_name(path: str | Path) -> str:
    """What messages and rows call a file."""
    return "stdin" if str(path) == "-" else printable(str(path), limit=1000)


def check_path(path: str | Path) -> None:
    """Refuses a file that is missing or a folder, before any other file is read."""
    if str(path) == "-":
        return
    path, source = Path(path), source_name(path)
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"{source}: no such file{near_name(path)}") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{source}: cannot be read ({printable(str(error), 200)})") from None
    if stat.S_ISDIR(mode):
        raise InputError(f"{source}: a folder, expected a file. Name the files in it, e.g. {source}/train.csv")


def near_name(path: Path) -> str:
    """A suggestion for a name that is not there."""
    if not path.parent.is_dir():
        return f"; the folder {printable(str(path.parent), 1000)} does not exist either. Check the path"
    try:
        siblings = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        siblings = []
    near = difflib.get_close_matches(path.name, siblings, n=1)
    return f"; did you mean {printable(str(path.parent / near[0]), 1000)}?" if near else ". Check the path"


@contextmanager
def open_bytes(path: str | Path) -> Iterator[Stream]:
    """The bytes of a file or of standard input, unzipped."""
    source = source_name(path)
    with ExitStack() as stack:
        try:
            stream: Stream
            stream = open_stdin(stack) if str(path) == "-" else stack.enter_context(Path(path).open("rb"))
            if stream.peek(2)[:2] == GZIP_MAGIC:
                stream = stack.enter_context(gzip.GzipFile(fileobj=stream))
            elif str(path).lower().endswith(".gz") and stream.peek(1):
                raise InputError(
                    f"{source}: damaged gzip file: its first bytes are not gzip's. Download or pack it again"
                )
            yield stream
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            reason = printable(str(error), 200)
            raise InputError(f"{source}: damaged gzip file ({reason}). Download or pack it again") from error
        except OSError as error:
            reason = error.strerror or printable(str(error), 200)
            raise InputError(f"{source}: cannot be read ({reason}). Check its permissions") from error


def open_stdin(stack: ExitStack) -> Stream:
    """Standard input as a stream that can be peeked into and that stays open afterwards."""
    if sys.stdin is None:
        raise InputError("stdin: closed, expected rows. Name a file instead of -")
    raw = sys.stdin.buffer
    if hasattr(raw, "peek"):
        return cast(Stream, raw)
    stream = io.BufferedReader(cast(io.RawIOBase, raw))
    stack.callback(stream.detach)  # otherwise the end of `stream` would close standard input
    return cast(Stream, stream)


def read_chunks(stream: Stream, source: str) -> Iterator[Chunk]:
    """The lines of a stream, which end with LF or CRLF, or all with CR as on old Macintoshes."""
    start = stream.peek(4)
    refuse_foreign(start[:4], source)
    if start[:3] == UTF8_MARK:
        stream.read(3)
    # where lines end with LF, a CR may stand inside a text, and does not make two lines of it
    end = b"\r" if b"\n" not in start and b"\r" in start.rstrip(b"\r") else b"\n"
    first = 1
    parts: list[bytes] = []  # the beginning of a line whose end has not been read
    size = 0
    while data := stream.read1(CHUNK_BYTES):
        cut = data.rfind(end) + 1
        if cut:
            chunk = decode_lines(b"".join(parts) + data[:cut], first, end, cut_short=size > MAX_LINE_BYTES)
            yield chunk
            first += len(chunk.lines)
            parts, size = [], 0
        parts.append(data[cut:])
        size += len(data) - cut
        if size > MAX_LINE_BYTES:
            parts = []  # the line is refused whatever follows: keep memory bounded
    if size:
        yield decode_lines(b"".join(parts), first, end, cut_short=size > MAX_LINE_BYTES)


def refuse_foreign(start: bytes, source: str) -> None:
    """Files that are not UTF-8 text from their first bytes on."""
    if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise InputError(f"{source}: UTF-16, expected UTF-8. Convert it: iconv -f UTF-16 -t UTF-8 {source} > utf8.csv")
    if start == b"PK\x03\x04":
        raise InputError(
            f"{source}: a zip archive or a spreadsheet, expected text. Unpack it, or save it as CSV (UTF-8)"
        )


def decode_lines(blob: bytes, first: int, end: bytes, cut_short: bool) -> Chunk:
    """A chunk from whole lines; `cut_short`: the first line was too long and its beginning is gone."""
    blob = blob.removesuffix(end)
    if not cut_short and b"\0" not in blob:
        try:
            return Chunk(first, blob.decode().split(end.decode()), {})
        except UnicodeDecodeError:
            pass  # once more, line by line
    problems: dict[int, tuple[str, str]] = {}
    lines = []
    for number, raw in enumerate(blob.split(end), first):
        try:
            line = raw.decode()
        except UnicodeDecodeError as error:
            problem = f"byte {error.start + 1} of the line is 0x{raw[error.start]:02X}, not UTF-8"
            problems[number] = problem, "Save the file as UTF-8, e.g. iconv -f LATIN1 -t UTF-8"
            line = raw.decode(errors="replace")
        if "\0" in line:
            remedy = "Remove it, e.g. tr -d '\\000', or convert the file if it is UTF-16: iconv -f UTF-16 -t UTF-8"
            problems.setdefault(number, (f"character {line.index(chr(0)) + 1} of the line is NUL", remedy))
            line = line.replace("\0", "\ufffd")  # csv in Python 3.10 stops at NUL
        lines.append(line)
    if cut_short:
        problems[first] = f"a line of more than {MAX_LINE_BYTES >> 20} MiB", "Split it, or look for missing line ends"
        lines[0] = ""
    return Chunk(first, lines, problems)


def peek_lines(chunks: Iterator[Chunk]) -> tuple[Chunk | None, Iterator[Chunk]]:
    """The first lines from one that is not blank on (None: all are blank), and all the chunks."""
    blank: list[Chunk] = []
    for chunk in chunks:
        for place, line in enumerate(chunk.lines):
            number = chunk.first + place
            if number in chunk.problems or line.strip():
                return Chunk(number, chunk.lines[place:], chunk.problems), chain(blank, [chunk], chunks)
        blank.append(chunk)
    return None, iter(blank)
