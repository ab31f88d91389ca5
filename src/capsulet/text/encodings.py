"""Encodings of text files: UTF-8, or another one that is named or recognised, converted to UTF-8 while it is read.

UTF-16 is recognised by its mark or its NUL bytes, before anything is read. Windows-1252 is recognised where the first
bytes that are not ASCII are not UTF-8: everything before them is ASCII, and so the same in both.
"""

import codecs
import io

from capsulet.errors import InputError

WINDOWS = "cp1252"
MARKS = {
    b"\xff\xfe\x00\x00": "utf-32", b"\x00\x00\xfe\xff": "utf-32", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16",
}  # fmt: skip
MOST_HIGH = 0.3  # share of bytes above 127 among letters: more means another script, whose encoding is not known
FEW_NULS, MANY_NULS = 0.02, 0.3  # shares at the even and odd positions of UTF-16 without a mark
BLOCK = 1 << 16
CONVERT = "Save the file as UTF-8, or name its encoding with --encoding, such as cp1251"


def check_encoding(name: str | None) -> None:
    """Raise an InputError if no text encoding has this name."""
    if name is None:
        return
    try:
        b"x".decode(name)
    except UnicodeDecodeError:  # half a character of UTF-16
        return
    except (LookupError, TypeError, ValueError):
        raise InputError(f"--encoding is {name!r}: expected the name of an encoding, such as utf-8 or cp1252") from None


def marked_encoding(start: bytes) -> str | None:
    """Return the encoding that the first bytes of a file show, if it is not UTF-8: UTF-16 or UTF-32."""
    for mark, name in MARKS.items():
        if start.startswith(mark):
            return name
    even, odd = start[: len(start) // 2 * 2 : 2], start[1::2]
    if len(odd) < 4:
        return None
    shares = even.count(0) / len(even), odd.count(0) / len(odd)
    if min(shares) <= FEW_NULS and max(shares) >= MANY_NULS:
        return "utf-16-le" if shares[1] > shares[0] else "utf-16-be"
    return None


def is_windows(blob: bytes, end: bytes) -> bool:
    """Whether lines that are not UTF-8 can be Windows-1252: no line with other letters is UTF-8, and most are ASCII."""
    try:
        blob.decode(WINDOWS)
    except UnicodeDecodeError:
        return False
    others = [line for line in blob.split(end) if not line.isascii()]
    if any(is_utf8(line) for line in others):
        return False
    high = sum(byte > 127 for line in others for byte in line)
    letters = high + sum(bytes((byte,)).isalpha() for line in others for byte in line)
    return high <= MOST_HIGH * letters or (len(others) == 1 and high <= 2)


def is_utf8(line: bytes) -> bool:
    """Whether bytes are UTF-8."""
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


class Recoded(io.RawIOBase):
    """A stream in another encoding as a stream of UTF-8. A byte that cannot be decoded becomes U+FFFD."""

    def __init__(self, stream: io.BufferedIOBase, encoding: str) -> None:
        self.stream, self.decoder = stream, codecs.getincrementaldecoder(encoding)(errors="replace")
        self.ready, self.ended = b"", False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Fill the buffer with UTF-8; 0 at the end."""
        while not self.ready and not self.ended:
            data = self.stream.read1(BLOCK)
            self.ended = not data
            self.ready = self.decoder.decode(data, final=self.ended).encode(errors="replace")
        size = min(len(buffer), len(self.ready))
        buffer[:size], self.ready = self.ready[:size], self.ready[size:]
        return size


def recoded(stream: io.BufferedIOBase, encoding: str) -> io.BufferedReader:
    """Return a stream in another encoding as a buffered stream of UTF-8."""
    return io.BufferedReader(Recoded(stream, encoding), BLOCK)
