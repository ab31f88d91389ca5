"""The dictionary inside a compressed model file: words front-coded, then deflated.

The words are sorted by their UTF-8 bytes. Each word is stored as the number of leading bytes that it shares with the
word before it (varint, LEB128), the number of bytes that follow (varint), and those bytes. The result is compressed as
a raw deflate stream.
"""

import zlib
from collections.abc import Iterable

from capsulet.text.vocabulary import common_prefix

RAW = -15  # wbits of zlib: deflate without header and checksum
LARGEST_STREAM = 1 << 30  # bytes: bounds the memory that a damaged stream takes


def pack_words(words: Iterable[str]) -> bytes:
    """Pack words, which may come in any order."""
    stream, previous = bytearray(), b""
    for word in sorted(word.encode() for word in words):
        shared = common_prefix(previous, word)
        stream += varint(shared) + varint(len(word) - shared) + word[shared:]
        previous = word
    deflater = zlib.compressobj(9, zlib.DEFLATED, RAW, 9)
    return deflater.compress(bytes(stream)) + deflater.flush()


def varint(number: int) -> bytes:
    """Encode a number in groups of seven bits, lowest group first. The high bit is set if another group follows."""
    return bytes([number]) if number < 128 else bytes([number & 127 | 128]) + varint(number >> 7)


def unpack_words(data: bytes, count: int) -> list[str]:
    """Return the words of a packed dictionary in its order. Raise a ValueError unless it has exactly `count` words."""
    try:
        inflater = zlib.decompressobj(RAW)
        stream = inflater.decompress(data, LARGEST_STREAM)
    except zlib.error as error:
        raise ValueError(f"its dictionary cannot be inflated ({error})") from None
    encoded: list[bytes] = []
    place, end, word = 0, len(stream), b""
    try:
        while place < end:
            shared, more = stream[place], stream[place + 1]
            place += 2
            if shared > 127 or more > 127:  # rare
                shared, place = read_varint(stream, place - 2)
                more, place = read_varint(stream, place)
            if shared > len(word):
                raise IndexError
            word = word[:shared] + stream[place : place + more]
            place += more
            encoded.append(word)
        words = b"\n".join(encoded).decode().split("\n") if encoded else []  # no word contains white space
    except (IndexError, UnicodeDecodeError):
        raise ValueError("a word of its dictionary is cut off or not UTF-8") from None
    if not inflater.eof or place != end or len(words) != count:
        raise ValueError(f"its dictionary has {len(words)} words, expected {count}")
    return words


def read_varint(stream: bytes, place: int) -> tuple[int, int]:
    """Return the number that starts at `place`, and the place after it."""
    number = shift = 0
    while True:
        byte = stream[place]
        number |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return number, place
