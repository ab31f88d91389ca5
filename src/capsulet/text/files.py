"""Numbered lines of text from plain files, gzip files and standard input."""

import gzip
import io
import stat
import sys
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import NamedTuple, cast

from capsulet.errors import InputError

CHUNK_BYTES = 1 << 16  # a chunk and its rows fit in the cache of the processor
MAX_LINE_BYTES = 64 << 20
GZIP_MAGIC = b"\x1f\x8b"
UTF8_MARK = b"\xef\xbb\xbf"

Stream = io.BufferedReader | gzip.GzipFile  # both have peek and read1


class Chunk(NamedTuple):
    """Lines of a file without their line ends (the CR of CRLF stays), and the problems of bad lines."""

    first: int  # number of the first line
    lines: list[str]
    problems: dict[int, tuple[str, str]]  # line number -> problem, remedy


def printable(value: str, limit: int = 40) -> str:
    """Return the value on one line and cut to `limit` characters, for messages."""
    value = value if value.isprintable() else repr(value)[1:-1]
    return value if len(value) <= limit else value[: limit - 1] + "…"


def source_name(path: str | Path) -> str:
    """Return the name of a file in messages and rows."""
    return "stdin" if str(path) == "-" else printable(str(path), limit=1000)


def check_path(path: str | Path) -> None:
    """Raise an InputError if the file is missing or a folder, before any other file is read."""
    source = source_name(path)
    try:
        is_folder = str(path) != "-" and stat.S_ISDIR(Path(path).stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"{source}: no such file{near_name(Path(path))}") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{source}: cannot be read ({printable(str(error), 200)}): check the path") from None
    if is_folder:
        raise InputError(f"{source}: a folder, expected a file. Name the files in it, e.g. {source}/train.csv")


def near_name(path: Path) -> str:
    """Return what to do about a missing file: a similar name in its folder, if any."""
    if not path.parent.is_dir():
        return f"; the folder {printable(str(path.parent), 1000)} does not exist either. Check the path"
    import difflib

    siblings: list[str] = []
    with suppress(OSError):
        siblings = [entry.name for entry in path.parent.iterdir()]
    near = difflib.get_close_matches(path.name, siblings, n=1)
    return f"; did you mean {printable(str(path.parent / near[0]), 1000)}?" if near else ". Check the path"


@contextmanager
def open_bytes(path: str | Path) -> Iterator[Stream]:
    """Open a file or standard input as a stream of bytes, decompressed if it is a gzip file."""
    source = source_name(path)
    with ExitStack() as stack:
        try:
            stream: Stream
            stream = open_stdin(stack) if str(path) == "-" else stack.enter_context(Path(path).open("rb"))
            if stream.peek(2)[:2] == GZIP_MAGIC:
                stream = stack.enter_context(gzip.GzipFile(fileobj=stream))
            elif str(path).lower().endswith(".gz") and stream.peek(1):
                raise InputError(f"{source}: damaged gzip file: wrong first bytes. Download or compress it again")
            yield stream
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            reason = printable(str(error), 200)
            raise InputError(f"{source}: damaged gzip file ({reason}). Download or compress it again") from error
        except OSError as error:
            reason = error.strerror or printable(str(error), 200)
            raise InputError(f"{source}: cannot be read ({reason}). Check its permissions") from error


def open_stdin(stack: ExitStack) -> Stream:
    """Return standard input as a stream with `peek`, which stays open after use."""
    if sys.stdin is None:
        raise InputError("stdin: closed, expected rows. Name a file instead of -")
    raw = sys.stdin.buffer
    if hasattr(raw, "peek"):
        return cast(Stream, raw)
    stream = io.BufferedReader(cast(io.RawIOBase, raw))
    stack.callback(stream.detach)  # without it, deleting `stream` would close standard input
    return cast(Stream, stream)


def read_chunks(stream: Stream, source: str) -> Iterator[Chunk]:
    """Yield the lines of a stream. They end with LF or CRLF, or all with CR (old Macintosh files)."""
    start = stream.peek(4)
    if start[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise InputError(f"{source}: UTF-16, expected UTF-8. Convert it: iconv -f UTF-16 -t UTF-8 {source} > utf8.csv")
    if start[:4] == b"PK\x03\x04":
        raise InputError(f"{source}: a zip archive or spreadsheet, expected text. Unpack it, or save it as CSV (UTF-8)")
    if start[:3] == UTF8_MARK:
        stream.read(3)
    # a CR in a file with LF line ends is part of a text
    end = b"\r" if b"\n" not in start and b"\r" in start.rstrip(b"\r") else b"\n"
    first, size = 1, 0
    parts: list[bytes] = []  # beginning of a line whose end has not been read yet, `size` bytes
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
            parts = []  # the line is already too long: keep memory bounded
    if size:
        yield decode_lines(b"".join(parts), first, end, cut_short=size > MAX_LINE_BYTES)


def decode_lines(blob: bytes, first: int, end: bytes, cut_short: bool) -> Chunk:
    """Return a chunk of whole lines; `cut_short`: the first line is too long and its beginning is missing."""
    blob = blob.removesuffix(end)
    if not cut_short and b"\0" not in blob:
        with suppress(UnicodeDecodeError):  # decoded again below, line by line
            return Chunk(first, blob.decode().split(end.decode()), {})
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
            line = line.replace("\0", "\ufffd")  # Python 3.10: csv stops at NUL
        lines.append(line)
    if cut_short:
        problems[first] = f"a line of more than {MAX_LINE_BYTES >> 20} MiB", "Split it, or look for missing line ends"
        lines[0] = ""
    return Chunk(first, lines, problems)


def peek_lines(chunks: Iterator[Chunk]) -> tuple[Chunk | None, Iterator[Chunk]]:
    """Return a chunk that begins with the first line that is not blank (None: all are blank), and all chunks.

    Whole chunks of blank lines are only counted, and returned as empty lines: a small gzip file may have gigabytes.
    """
    count = 0
    for chunk in chunks:
        if chunk.problems or "".join(chunk.lines).strip():
            place = next(
                place for place, line in enumerate(chunk.lines) if chunk.first + place in chunk.problems or line.strip()
            )
            head = Chunk(chunk.first + place, chunk.lines[place:], chunk.problems)
            return head, chain(empty_lines(count), [chunk], chunks)
        count += len(chunk.lines)
    return None, empty_lines(count)


def empty_lines(count: int) -> Iterator[Chunk]:
    """Yield the first lines of a file, all empty."""
    for start in range(0, count, CHUNK_BYTES):
        yield Chunk(start + 1, [""] * min(CHUNK_BYTES, count - start), {})
