"""Parts of the core against Python: JSON, inflate, numbers, tokens."""

import ctypes
import json
import math
import random
import re
import struct
import sys
import unicodedata
import zlib
from array import array

import pytest

from tests.core.random_models import Tensor, pack_file

# ---- JSON ----


def described(value: object) -> str:
    """A value as unit_json writes it."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, (int, float)):
        return struct.pack(">d", float(value)).hex()
    if isinstance(value, str):
        return f'"{value.encode().hex()}"'
    if isinstance(value, list):
        return "[" + "".join(described(item) + "," for item in value) + "]"
    assert isinstance(value, dict)
    return "{" + "".join(described(part) + "," for pair in value.items() for part in pair) + "}"


def parsed(units: ctypes.CDLL, text: bytes) -> str | None:
    """What the core reads in a text, or None if it refuses it."""
    room = ctypes.create_string_buffer(64 * len(text) + 64)
    function = units.unit_json
    function.restype = ctypes.c_int64
    size = function(text, ctypes.c_size_t(len(text)), room, ctypes.c_size_t(len(room)))
    return None if size < 0 else room.raw[:size].decode()


@pytest.mark.parametrize(
    "text",
    [
        "null", "[]", "{}", '""', "0", "-0.0", "0e999", "1.5e-3", "0.1", "123456789", "[1,[2,[3]],{}]",
        '{"a":{"b":[true,false]}}',
        '"\\u00e9\\ud83d\\ude00\\n\\/"', '"é中😀"', " [ 1 , 2 ] ", "1e22", "4503599627370497", "[" * 60 + "]" * 60,
        "0." + "0" * 400 + "1", "1E+5",
    ],
)  # fmt: skip
def test_json_that_python_reads(units: ctypes.CDLL, text: str) -> None:
    assert parsed(units, f"[{text}]".encode()) == described(json.loads(f"[{text}]"))


def test_numbers_of_json(units: ctypes.CDLL) -> None:
    """Within two units of the last place of what Python reads; not finite: refused as a number."""
    dice = random.Random(1)
    for _ in range(3000):
        number = f"{dice.choice(('', '-'))}{dice.randrange(10 ** dice.randrange(1, 19))}"
        number += dice.choice(("", f".{dice.randrange(10**9):09}")) + dice.choice(("", f"e{dice.randrange(-330, 330)}"))
        found = (parsed(units, f"[{number}]".encode()) or "")[1:-2]
        value = struct.unpack(">d", bytes.fromhex(found))[0]
        if math.isinf(float(number)):
            assert found == "f" * 16  # not a number that json_number gives
        else:
            assert value == pytest.approx(float(number), rel=5e-15, abs=1e-306), number


@pytest.mark.parametrize(
    "text",
    [
        b"", b" ", b"{", b"[1,]", b'{"a"}', b'{"a":}', b"{1:2}", b"01", b"1.", b"1e", b"+1", b".5", b"nul", b"[1 2]",
        b'"\x01"', b'"\\x"', b'"\\u12g4"', b'"abc', b"1 2", b"[" * 70 + b"]" * 70, b'"\xff"', b'"\xc3"',
        b'"\xed\xa0\x80"', b'"\xc0\x80"', b"NaN", b"Infinity", b"\x00",
    ],
)  # fmt: skip
def test_json_that_is_refused(units: ctypes.CDLL, text: bytes) -> None:
    assert parsed(units, text) is None


def test_random_changes_of_json(units: ctypes.CDLL) -> None:
    """Python and the core refuse the same texts, except for what only Python allows."""
    dice = random.Random(2)
    base = b'{"a":[1,2.5e3,-0.1,"x\\u00e9\\n",null,true],"b":{"c":[[],{}]},"d":"\xc3\xa9"}'
    for _ in range(4000):
        text = bytearray(base)
        for _ in range(dice.randrange(1, 4)):
            place = dice.randrange(len(text))
            text[place : place + dice.randrange(2)] = bytes([dice.choice(b'{}[]",:0123456789eE+-.\\u \ntfn\xc3\xa9')])
        try:
            value = described(json.loads(bytes(text).decode(), object_pairs_hook=Pairs, parse_constant=refuse))
        except (ValueError, UnicodeEncodeError):
            value = None
        found = parsed(units, bytes(text))
        if value is None:
            # a lone surrogate is JSON; it is refused when the string is read
            assert found is None or "?" in found, text
        elif found is not None and found != value:  # numbers may differ in the last place
            assert len(found) == len(value), text
        else:
            assert found == value, text


class Pairs(dict):  # type: ignore[type-arg]
    """An object with all its pairs, also those of equal names."""

    def __init__(self, pairs: list[tuple[str, object]]) -> None:
        super().__init__(pairs)
        self.pairs = pairs

    def items(self) -> list[tuple[str, object]]:  # type: ignore[override]
        return self.pairs


def refuse(name: str) -> None:
    raise ValueError(name)


# ---- inflate ----


def inflated(units: ctypes.CDLL, data: bytes, room: int = 1 << 20) -> bytes | None:
    """What the core unpacks, or None."""
    output = ctypes.create_string_buffer(room + 1)
    function = units.unit_inflate
    function.restype = ctypes.c_int64
    size = function(data, ctypes.c_size_t(len(data)), output, ctypes.c_size_t(room))
    return None if size < 0 else output.raw[:size]


def expected(data: bytes) -> bytes | None:
    """What zlib unpacks if the stream ends with the data."""
    inflater = zlib.decompressobj(-15)
    try:
        output = inflater.decompress(data)
    except zlib.error:
        return None
    return output if inflater.eof and not inflater.unused_data else None


def streams() -> list[bytes]:
    """Streams of stored, fixed and dynamic blocks."""
    dice = random.Random(3)
    contents = [
        b"", b"a", b"abc" * 5000, bytes(dice.randrange(256) for _ in range(3000)), bytes(70_000),
        b"".join(bytes([dice.choice(b"abcdefgh")]) * dice.randrange(1, 300) for _ in range(200)),
        " ".join(dice.choices(["fabulous", "quality", "play", "x", "é"], k=2000)).encode(),
    ]  # fmt: skip
    found = []
    for content in contents:
        for level, strategy in ((0, 0), (1, 0), (9, 0), (9, zlib.Z_FIXED), (9, zlib.Z_HUFFMAN_ONLY), (9, zlib.Z_RLE)):
            packer = zlib.compressobj(level, zlib.DEFLATED, -15, 9, strategy)
            half = len(content) // 2
            found.append(
                packer.compress(content[:half])
                + packer.flush(zlib.Z_FULL_FLUSH)
                + packer.compress(content[half:])
                + packer.flush()
            )
    return found


def test_inflate(units: ctypes.CDLL) -> None:
    for stream in streams():
        content = expected(stream)
        assert content is not None and inflated(units, stream) == content
        assert inflated(units, stream, max(len(content), 1)) == content
        if content:
            assert inflated(units, stream, len(content) - 1) is None  # more than was allowed
        assert inflated(units, stream[:-1]) is None
        assert inflated(units, stream + b"\0") is None


def test_inflate_of_damaged_streams(units: ctypes.CDLL) -> None:
    """The core and zlib refuse the same streams and unpack the others to the same bytes."""
    dice = random.Random(4)
    short = [stream for stream in streams() if 2 <= len(stream) < 2000]
    accepted = 0
    for _ in range(6000):
        stream = bytearray(dice.choice(short))
        for _ in range(dice.randrange(1, 4)):
            stream[dice.randrange(min(len(stream), dice.choice((8, 64, 2000))))] = dice.randrange(256)
        content = expected(bytes(stream))
        if content is not None and len(content) > 1 << 20:
            continue
        accepted += content is not None
        assert inflated(units, bytes(stream)) == content, stream.hex()
    assert accepted > 100
    for _ in range(20_000):
        stream = bytearray(dice.randbytes(dice.randrange(1, 40)))
        stream[0] = stream[0] & 0xF8 | dice.choice((3, 5, 4, 2))  # kinds of blocks
        assert inflated(units, bytes(stream)) == expected(bytes(stream)), stream.hex()


# ---- numbers ----


def test_half_floats(units: ctypes.CDLL) -> None:
    function = units.unit_half
    function.restype = ctypes.c_float
    for bits in range(1 << 16):
        value = struct.unpack("<e", struct.pack("<H", bits))[0]
        found = function(ctypes.c_uint16(bits))
        assert found == value or (math.isnan(found) and math.isnan(value))


def test_exponentials_and_logarithms(units: ctypes.CDLL) -> None:
    dice = random.Random(5)
    for name in ("unit_exponential", "unit_logarithm"):
        getattr(units, name).restype = ctypes.c_double
    units.unit_power_of_e.restype = ctypes.c_float
    for _ in range(20_000):
        x = dice.uniform(-690, 690)
        assert units.unit_exponential(ctypes.c_double(x)) == pytest.approx(math.exp(x), rel=1e-14)
        positive = math.exp(x)
        assert units.unit_logarithm(ctypes.c_double(positive)) == pytest.approx(
            math.log(positive), rel=1e-14, abs=1e-15
        )
        small = struct.unpack("f", struct.pack("f", dice.uniform(-87, 88)))[0]
        assert units.unit_power_of_e(ctypes.c_float(small)) == pytest.approx(math.exp(small), rel=4e-7)
    for odd in (math.nan, struct.unpack("<f", b"\x01\x00\xc0\x7f")[0]):
        assert math.isnan(units.unit_power_of_e(ctypes.c_float(odd)))
    assert units.unit_exponential(ctypes.c_double(-1e300)) == 0
    assert math.isfinite(units.unit_exponential(ctypes.c_double(1e300)))


@pytest.mark.parametrize(("which", "bound"), [(0, 7e-5), (1, 4e-5), (2, 3e-7), (3, 3e-7), (4, 4e-5)])
def test_curves_of_the_gates(units: ctypes.CDLL, which: int, bound: float) -> None:
    places = array("f", [i / 1000 for i in range(-40_000, 40_000)] + [1e30, -1e30, 1e-30, 0])
    values = array("f", bytes(4 * len(places)))
    pointers = [(ctypes.c_float * len(items)).from_buffer(items) for items in (places, values)]
    units.unit_curve(which, pointers[0], ctypes.c_int64(len(places)), pointers[1])
    for x, y in zip(places, values, strict=True):
        wanted = math.tanh(x) if which in (0, 2) else 0.5 * math.tanh(x / 2) + 0.5
        assert abs(y - wanted) < bound, x
        assert (-1 if which in (0, 2) else 0) <= y <= 1
    odd, results = (ctypes.c_float * 4)(math.nan, 1, math.nan, 1), (ctypes.c_float * 4)()
    units.unit_curve(which, odd, ctypes.c_int64(4), results)
    assert [math.isnan(value) for value in results] == [True, False, True, False]


# ---- checksum ----


def test_the_checksum_of_every_size(units: ctypes.CDLL) -> None:
    """Bytes are read in blocks of 64 and 16: each size has another rest."""
    dice = random.Random(3)
    for size in range(300):
        data = pack_file({"bytes": Tensor("U8", (size,), dice.randbytes(size))})
        assert units.capsulet_verify(data, ctypes.c_size_t(len(data))) == 0
        place = dice.randrange(8 + int.from_bytes(data[:8], "little"), len(data)) if size else len(data) - 1
        damaged = data[:place] + bytes([data[place] ^ 1 << dice.randrange(8)]) + data[place + 1 :]
        assert units.capsulet_verify(damaged, ctypes.c_size_t(len(data))) != 0


# ---- tokens ----

WHITE_SPACE = {chr(c) for c in (*range(9, 14), 32, 133, 160, 5760, *range(8192, 8203), 8232, 8233, 8239, 8287, 12288)}


def slow_tokens(text: str) -> list[tuple[str, int, int]]:
    """Tokens and their bytes, by the rule of the paper applied to the lower case of one character after the other."""
    letters, places, at = [], [], 0
    for character in text:
        size = len(character.encode())
        for lower in character.lower() if len(character.lower()) == 1 or character == "İ" else character:
            letters.append(lower)
            places.append((at, at + size))
        at += size
    joined = "".join("\n" if letter in WHITE_SPACE else "\x01" if letter.isspace() else letter for letter in letters)
    found = []
    for match in re.finditer(r"[a-z][a-z0-9]*|[^\n]", joined):
        start, end = match.span()
        found.append(("".join(letters[start:end]), places[start][0], places[end - 1][1]))
    return found


def core_tokens(units: ctypes.CDLL, text: bytes) -> list[tuple[bytes, int, int, int]]:
    most = len(text) + 1
    places, letters = (ctypes.c_uint32 * (4 * most))(), ctypes.create_string_buffer(255 * most)
    units.unit_tokens.restype = ctypes.c_size_t
    count = units.unit_tokens(0, text, ctypes.c_size_t(len(text)), places, letters, ctypes.c_size_t(most))
    rows = [tuple(places[4 * i : 4 * i + 3]) for i in range(count)]
    spelled = memoryview(letters)  # its attribute `raw` copies everything
    return [(bytes(spelled[255 * i : 255 * i + min(row[2], 255)]), *row) for i, row in enumerate(rows)]


def check_tokens(units: ctypes.CDLL, text: str) -> None:
    wanted = [(word.encode()[:255], start, end, min(len(word.encode()), 256)) for word, start, end in slow_tokens(text)]
    assert core_tokens(units, text.encode()) == wanted


@pytest.mark.skipif(unicodedata.unidata_version < "14", reason="an older Unicode than the tables")
def test_every_character(units: ctypes.CDLL) -> None:
    """Characters that this Python knows. Each is read between letters, so that a wrong lower case joins them."""
    for start in range(0, sys.maxunicode + 1, 512):
        known = [c for c in map(chr, range(start, start + 512)) if unicodedata.category(c) not in ("Cn", "Cs")]
        check_tokens(units, "".join(f"x{c}Y1{c} " for c in known))


def test_random_texts(units: ctypes.CDLL) -> None:
    dice = random.Random(6)
    alphabet = "aZ9 \t\n.İıßſKÅΣς\u0085\u00a0\u2028中é😀\x1c\x00-_'ﬁ"
    for _ in range(3000):
        check_tokens(units, "".join(dice.choices(alphabet, k=dice.randrange(60))))
    check_tokens(units, "a" * 254 + "İb" + "a" * 255 + " " + "a" * 256 + "İ")


def test_bytes_that_are_not_utf8(units: ctypes.CDLL) -> None:
    """Each such byte is a token; what is read never depends on bytes after the end."""
    dice = random.Random(7)
    for _ in range(3000):
        text = b"".join(
            dice.choice((b"ab", b" ", b"\xff", b"\xc3", b"\xe4\xb8", b"\xf0\x9f\x98", b"\xed\xa0\x80", b"\xc3\xa9"))
            for _ in range(8)
        )
        wanted = []
        at = 0
        for part in re.finditer(rb"(?:[\x00-\x7f]+|\xc3\xa9)|.", text, re.DOTALL):
            for word, start, end in slow_tokens(part.group().decode(errors="replace")):
                if part.group()[0] < 0x80:
                    wanted.append((word.encode(), at + start, at + end))
                else:
                    wanted.append((word.encode(), at, at + len(part.group())))
            at = part.end()
        found = [(word, start, end) for word, start, end, _ in core_tokens(units, text)]
        assert found == wanted, text
