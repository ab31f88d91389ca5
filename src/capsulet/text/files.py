"""Numbered lines of text from plain files, gzip files and standard input."""

import codecs
import gzip
import io
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import NamedTuple, cast

from capsulet.errors import InputError
from capsulet.text.encodings import CONVERT, WINDOWS, is_utf8, is_windows, marked_encoding, recoded

CHUNK_BYTES = 1 << 16  # small enough for a chunk and its rows to fit into the cache of the processor
MAX_LINE_BYTES = 64 << 20  # a longer line is a bad row: it bounds the memory
GZIP_MAGIC = b"\x1f\x8b"
UTF8_MARK = b"\xef\xbb\xbf"
ZIP_MAGIC, OLD_EXCEL = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"
BINARY_MAGIC = {
    b"\x89PNG": "a PNG image", b"\xff\xd8\xff": "a JPEG image", b"GIF87a": "a GIF image", b"GIF89a": "a GIF image",
    b"%PDF-": "a PDF document",
    b"\x7fELF": "a program", b"MZ\x90": "a program", b"BZh91AY&SY": "a bzip2 archive", b"\xfd7zXZ": "an xz archive",
    b"\x28\xb5\x2f\xfd": "a zstd archive", b"7z\xbc\xaf": "a 7-Zip archive", b"SQLite format 3\0": "a database",
}  # fmt: skip
CONTROLS = [bytes((byte,)) for byte in range(32) if byte not in b"\t\n\v\f\r\x1b"]
FEWEST_BYTES, MOST_CONTROLS = 64, 0.05  # from this many bytes on, a larger share of control characters is binary
WINDOW_BYTES = 1 << 16  # bytes that decide between UTF-8 and Windows-1252
Stream = io.BufferedReader | gzip.GzipFile  # both have peek and read1
Blob = tuple[bytes, bool]  # whole lines; whether the first one is too long and its beginning is missing


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
        raise InputError(f"{source}: no such file{missing(str(path))}") from None
    except (OSError, ValueError) as error:
        if len(str(path)) > 255 or "\n" in str(path):
            raise InputError(f"{printable(str(path))!r}: no such file{missing(str(path))}") from None
        raise InputError(f"{source}: cannot be read ({printable(str(error), 200)}): check the path") from None
    if is_folder and class_files(Path(path)) is None:
        raise InputError(
            f"{source}: a folder, expected a file, or a folder with one folder of .txt files per class"
            f"{obstacle(Path(path))}. Name the files in it, or convert them"
        )


def class_files(folder: Path) -> dict[str, list[Path]] | None:
    """Return the files of each folder in a folder, by the name of that folder; None if they are not all .txt files.

    Files beside the folders, hidden files and hidden folders are left out.
    """
    with suppress(OSError):
        classes = [entry for entry in visible_entries(folder) if entry.is_dir()]
        files = dict[str, list[Path]]()
        for entry in classes:
            files[entry.name] = visible_entries(entry)
            if not files[entry.name] or any(path.suffix.lower() != ".txt" for path in files[entry.name]):
                return None
        return files or None
    return None


def obstacle(folder: Path) -> str:
    """Return why the folders in a folder are not classes: the first entry in them that is not a .txt file."""
    with suppress(OSError):
        folders = [entry for entry in visible_entries(folder) if entry.is_dir()]
        for path in (path for entry in folders for path in visible_entries(entry) if path.suffix.lower() != ".txt"):
            return f"; {printable(str(path))} is {'a folder' if path.is_dir() else 'another file'}"
    return ""


def visible_entries(folder: Path) -> list[Path]:
    """Return what is in a folder in alphabetical order, without hidden files."""
    return sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))


def missing(path: str) -> str:
    """Return what to do about a missing file, whose name may be an address or a text."""
    if path.startswith(("http://", "https://", "s3://", "hf://")):
        return ": download it, and name the file"
    if len(path) > 255 or "\n" in path or path.count(" ") > 2:
        return (
            ". If it is a text, give texts with their labels, such as (texts, labels); if it is a file, check the path"
        )
    return near_name(Path(path))


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


def read_chunks(
    stream: Stream, source: str, encoding: str | None = None, tell: Callable[[str], None] = lambda line: None
) -> Iterator[Chunk]:
    """Yield the lines of a stream. They end with LF or CRLF, or all with CR (old Macintosh files).

    The stream is in UTF-8 unless an `encoding` is named or recognised; `tell` gets a note about a recognised one.
    """
    start = stream.peek(4)
    if start[:4] == ZIP_MAGIC:
        raise InputError(f"{source}: a zip archive, expected text. Unpack it, and name the files in it")
    if start[:4] == OLD_EXCEL:
        raise InputError(f"{source}: an old Excel file, expected text. Open it in Excel and save it as .xlsx or CSV")
    other = encoding or marked_encoding(start)
    if other is None and (kind := binary_kind(start)):
        raise InputError(f"{source}: {kind}, expected a table or text. Check the path")
    if other and other.lower().replace("_", "-") not in ("utf-8", "utf8", "utf-8-sig"):
        if encoding is None:
            tell(f"note: {source} is read as {other.upper()[:6]}")
        stream, encoding = recoded(stream, other), "utf-8"
        start = stream.peek(4)
    if start[:3] == UTF8_MARK:
        stream.read(3)
    # a CR in a file with LF line ends is part of a text
    end = b"\r" if b"\n" not in start and b"\r" in start.rstrip(b"\r") else b"\n"
    yield from Lines(end, source, encoding, tell).chunks(blobs(stream, end))


def binary_kind(start: bytes) -> str | None:
    """What kind of binary file begins with these bytes; None: it may be text."""
    kind = next((kind for magic, kind in BINARY_MAGIC.items() if start.startswith(magic)), None)
    if kind or len(start) < FEWEST_BYTES or sum(map(start.count, CONTROLS)) <= MOST_CONTROLS * len(start):
        return kind
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)  # the last character may be incomplete
    except UnicodeDecodeError:
        return "a binary file"
    return None


def blobs(stream: Stream, end: bytes) -> Iterator[Blob]:
    """Yield the bytes of whole lines, and whether the first line is too long and its beginning is missing."""
    size, parts = 0, list[bytes]()  # beginning of a line whose end has not been read yet, `size` bytes
    while data := stream.read1(CHUNK_BYTES):
        cut = data.rfind(end) + 1
        if cut:
            yield b"".join(parts) + data[:cut], size > MAX_LINE_BYTES
            parts, size = [], 0
        parts.append(data[cut:])
        size += len(data) - cut
        if size > MAX_LINE_BYTES:
            parts = []  # the line is already too long: keep memory bounded
    if size:
        yield b"".join(parts), size > MAX_LINE_BYTES


class Lines:
    """Decodes whole lines. The first ones that are not ASCII decide between UTF-8 and Windows-1252."""

    def __init__(self, end: bytes, source: str, encoding: str | None, tell: Callable[[str], None]) -> None:
        self.end, self.source, self.tell = end, source, tell
        self.encoding = encoding and "utf-8"  # None: all bytes so far were ASCII
        self.first = 1  # number of the next line

    def chunks(self, blobs: Iterator[Blob]) -> Iterator[Chunk]:
        """Yield the lines of blobs."""
        for blob, cut_short in blobs:
            held = [(blob, cut_short)]
            if self.encoding is None and not blob.isascii():
                self.encoding = "utf-8"
                if not is_utf8(blob):
                    held += self.look_ahead(blob, blobs)
            for whole_lines, is_cut in held:
                lines = whole_lines.removesuffix(self.end)
                chunk = decode_lines(lines, self.first, self.end, is_cut, self.encoding or "utf-8")
                self.first += len(chunk.lines)
                yield chunk

    def look_ahead(self, blob: bytes, blobs: Iterator[Blob]) -> list[Blob]:
        """Decide the encoding by the next `WINDOW_BYTES` of lines; return the blobs that were read for that."""
        first = next(place for place, byte in enumerate(blob) if byte > 127)
        window, held = blob[blob.rfind(self.end, 0, first) + 1 :], list[Blob]()
        while len(window) < WINDOW_BYTES and (more := next(blobs, None)):
            held.append(more)
            window += more[0]
        if len(window) > WINDOW_BYTES:
            window = window[: window.rfind(self.end, 0, WINDOW_BYTES) + 1] or window
        if is_windows(window, self.end):
            self.encoding = WINDOWS
            self.tell(f"note: {self.source} is not UTF-8 and is read as Windows-1252; --encoding names another")
        return held


def decode_lines(blob: bytes, first: int, end: bytes, cut_short: bool, encoding: str = "utf-8") -> Chunk:
    """Return a chunk of whole lines; `cut_short`: the first line is too long and its beginning is missing."""
    if not cut_short and b"\0" not in blob:
        with suppress(UnicodeDecodeError):  # decoded again below, line by line
            return Chunk(first, blob.decode(encoding).split(end.decode()), {})
    problems: dict[int, tuple[str, str]] = {}
    lines = []
    for number, raw in enumerate(blob.split(end), first):
        try:
            line = raw.decode(encoding)
        except UnicodeDecodeError as error:
            name = "UTF-8" if encoding == "utf-8" else encoding
            problem = f"byte {error.start + 1} of the line is 0x{raw[error.start]:02X}, not {name}"
            problems[number] = problem, CONVERT
            line = raw.decode(encoding, errors="replace")
        if "\0" in line:
            remedy = "Remove it, or name the encoding of the file with --encoding"
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
