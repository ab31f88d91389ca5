"""The words of a compressed model: front-coded, then deflated.

The words stand in ascending order of their UTF-8 bytes. For each: how many leading bytes it shares with the one before
(varint, LEB128), how many bytes follow (varint), those bytes. The whole is a raw deflate stream.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable

from tokenizers import Tokenizer
from tokenizers.models import WordLevel

from capsulet.text.tokens import UNKNOWN

RAW = -15  # neither the header nor the checksum of zlib


def pack_words(words: Iterable[str]) -> bytes:
    """The words, in any order, as the bytes of a dictionary."""
    stream, before = bytearray(), b""
    for word in sorted(word.encode() for word in words):
        shared = 0
        for one, other in zip(before, word, strict=False):
            if one != other:
                break
            shared += 1
        stream += varint(shared) + varint(len(word) - shared) + word[shared:]
        before = word
    deflater = zlib.compressobj(9, zlib.DEFLATED, RAW, 9)
    return deflater.compress(bytes(stream)) + deflater.flush()


def varint(number: int) -> bytes:
    """A number in groups of seven bits, the lowest first; the highest bit says that more follow."""
    found = bytearray()
    while number > 127:
        found.append(number & 127 | 128)
        number >>= 7
    return bytes([*found, number])


def unpack_words(data: bytes, count: int) -> list[str]:
    """The words of a dictionary, in its order; ValueError if it does not hold exactly so many."""
    try:
        # a word is at most as long as its text, but a damaged stream may claim anything: bound what is unpacked
        inflater = zlib.decompressobj(RAW)
        stream = inflater.decompress(data, 1 << 30)
    except zlib.error as error:
        raise ValueError(f"its words cannot be inflated ({error})") from None
    words: list[bytes] = []
    place, end, word = 0, len(stream), b""
    try:
        while place < end:
            shared, more = stream[place], stream[place + 1]
            place += 2
            if shared > 127 or more > 127:  # hardly ever
                shared, place = read_varint(stream, place - 2)
                more, place = read_varint(stream, place)
            if shared > len(word):
                raise IndexError
            word = word[:shared] + stream[place : place + more]
            place += more
            words.append(word)
        found = b"\n".join(words).decode().split("\n") if words else []  # no word has a space in it
    except (IndexError, UnicodeDecodeError):
        raise ValueError("a word of its dictionary is cut off or not UTF-8") from None
    if not inflater.eof or place != end or len(found) != count:
        raise ValueError(f"its dictionary has {len(found)} words, expected {count}")
    return found


def read_varint(stream: bytes, place: int) -> tuple[int, int]:
    """A number and where the next one begins."""
    number = shift = 0
    while True:
        byte = stream[place]
        number |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return number, place


def give_words(tokenizer: Tokenizer, words: Iterable[str]) -> None:
    """Make a tokenizer that knows only the unknown word, which is 0, know these, numbered from 1."""
    vocabulary = {word: number for number, word in enumerate(words, 1)}
    vocabulary[UNKNOWN] = 0
    tokenizer.model = WordLevel(vocabulary, unk_token=UNKNOWN)
