"""Write core/unicode_tables.h, what the token rule `unicode` knows of each character: `python core/unicode_tables.py`.

The tables are pinned to Unicode 17.0, because a model must read a text as it did in training. They come from Python
3.15, or from an older Python with the package unicodedata2 17 (`pip install unicodedata2==17.*`). docs/reference/tokens.md
explains the rule. Scripts have no property in these sources: the ranges below are written by hand, block by block.
"""

# ruff: noqa: E501 - comments of the table

from __future__ import annotations

import bisect
import re
import sys
import unicodedata as own
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

FILE, CASING = Path(__file__).parent / "unicode_tables.h", Path(__file__).parent / "casing.h"
VERSION = "17.0.0"
WIDTH = 119
LAST_PAGE = 0x200  # planes 0 and 1, in pages of 256; the other planes are Han, tags and private characters

SPACE, IGNORED, LETTER, MARK, DIGIT, HANGUL, KATAKANA, LONE, SYMBOL, PICTOGRAPH, REGIONAL, MODIFIER = range(12)
CLASSES = (
    "SPACE", "IGNORED", "LETTER", "MARK", "DIGIT", "HANGUL", "KATAKANA", "LONE", "SYMBOL", "PICTOGRAPH", "REGIONAL",
    "MODIFIER",
)  # fmt: skip
MAPPED, COMPOSES = (
    1,
    2,
)  # flags: the spelling differs from the character; it may change when joined to the one before it

Ranges = list[tuple[int, int]]


def ranges(text: str) -> Ranges:
    """Ranges of hexadecimal codes: "A-F 10"."""
    pairs = [part.partition("-") for part in text.split()]
    return [(int(first, 16), int(last or first, 16)) for first, _, last in pairs]


# Default_Ignorable_Code_Point, without the zero-width space, which separates words, and with the Arabic tatweel
IGNORABLE = ranges(
    "AD 34F 61C 640 115F-1160 17B4-17B5 180B-180F 200C-200F 202A-202E 2060-206F 3164 FE00-FE0F FEFF FFA0 FFF0-FFF8 "
    "1BCA0-1BCA3 1D173-1D17A E0000-E0FFF"
)
VISIBLE_FORMATS = ranges("600-605 6DD 890-891 8E2 110BD 110CD")  # format characters (Cf) that are seen
SPACES = ranges("0-20 7F-A0 1680 2000-200B 2028-2029 202F 205F 3000")
# Scripts without spaces between words: Thai, Lao, Myanmar, Khmer, Tai Le, New Tai Lue, Tai Tham, Balinese, Han,
# Hiragana, Bopomofo, Yi, Javanese, Tai Viet, Tangut, Khitan, Nushu
WITHOUT_SPACES = ranges(
    "E00-EFF 1000-109F 1780-17FF 1950-19FF 1A20-1AAF 1B00-1B7F 2E80-2FDF 3005-3007 3021-3029 3038-303B 3041-309F "
    "3100-312F 31A0-31BF 3400-4DBF 4E00-9FFF A000-A4CF A980-A9DF A9E0-A9FF AA60-AADF F900-FAFF 116D0-116FF "
    "16FE0-18DFF 1AFF0-1B2FF 20000-3FFFF"
)
KATAKANA_RANGES = ranges("30A0-30FF 31F0-31FF 1AFF0-1AFFF 1B000 1B120-1B122 1B155 1B164-1B167")
HANGUL_RANGES = ranges("1100-11FF A960-A97F AC00-D7FF")
# Extended_Pictographic in spirit: what can be part of a sequence of emoji
PICTOGRAPHS = ranges(
    "A9 AE 203C 2049 2122 2139 2194-2199 21A9-21AA 231A-231B 2328 23CF 23E9-23F3 23F8-23FA 24C2 25AA-25AB 25B6 25C0 "
    "25FB-25FE 2600-27BF 2934-2935 2B05-2B07 2B1B-2B1C 2B50 2B55 3030 303D 3297 3299 1F000-1F0FF 1F16C-1F171 "
    "1F17E-1F17F 1F18E 1F191-1F19A 1F201-1F20F 1F21A 1F22F 1F232-1F23A 1F249-1F3FA 1F400-1F6FF 1F7D5-1F7FF "
    "1F90C-1FAFF 1FC00-1FFFD"
)
ALSO_MARKS = ranges("E33 EB3 FF9E-FF9F")  # letters by category that belong to the letter before them
COMPATIBLE_HAN = ranges("F900-FA0D")  # of Korean standards
# Rare forms that are spelled as they are, because their tables would be large: numbers and letters in brackets or with a
# point, words, hours and days in a square, Han characters of other standards, Arabic ligatures
OWN_FORMS = ranges(
    "2474-24B5 3200-321E 32C0-32CB 3300-3370 33E0-33FE FA10-FAD9 FBEA-FBFB FC00-FD3D FD50-FDC7 1F100-1F12A 2F800-2FA1D"
)
DOTTED_I = 0x130


def contains(where: Ranges, code: int) -> bool:
    """Whether a code is in one of the ranges, which are sorted."""
    place = bisect.bisect_right(where, (code, 0x110000)) - 1
    return place >= 0 and code <= where[place][1]


# ---- characters ----


def unicode_data() -> Any:
    """A module with the data of the right version of Unicode, or None."""
    if own.unidata_version == VERSION:
        return own
    try:
        import unicodedata2
    except ImportError:
        return None
    return unicodedata2 if unicodedata2.unidata_version == VERSION else None


data = unicode_data()


@cache
def new_lower_case() -> dict[int, int]:
    """Lower case by casing.h, for letters that are newer than this Python. None of them folds in another way."""
    runs = re.findall(r"\{(\d+), (\d+), (\d+), (-?\d+)\}", CASING.read_text())
    return {
        code: code + difference
        for first, count, step, difference in (map(int, run) for run in runs)
        for code in range(first, first + count * step, step)
    }


def folded(text: str) -> str:
    """The text after full case folding."""
    return "".join(
        letter.casefold() if own.category(letter) != "Cn" else chr(new_lower_case().get(ord(letter), ord(letter)))
        for letter in text
    )


@cache
def spelling(code: int) -> str:
    """NFC of NFKC_Casefold, without ignored characters and spaces. Digits are those of ASCII; U+0130 is an i."""
    character = chr(code)
    if code == DOTTED_I:
        return "i"
    if contains(OWN_FORMS, code):
        return character
    if data.category(character) == "Nd":
        return str(data.decimal(character))
    text = data.normalize("NFKC", folded(data.normalize("NFKC", folded(data.normalize("NFD", character)))))
    kept = "".join(letter for letter in text if letter != " " and not contains(IGNORABLE, ord(letter)))
    return kept or character


def class_of(code: int) -> int:
    """The class of a character."""
    character = chr(code)
    category = data.category(character)
    if contains(SPACES, code):
        return SPACE
    if contains(IGNORABLE, code) or (category == "Cf" and not contains(VISIBLE_FORMATS, code)):
        return IGNORED
    if 0x1F1E6 <= code <= 0x1F1FF or 0x1F3FB <= code <= 0x1F3FF:
        return REGIONAL if code < 0x1F3FB else MODIFIER
    if contains(PICTOGRAPHS, code):
        return PICTOGRAPH
    if category == "Nd":
        return DIGIT
    if category[0] == "M" or contains(ALSO_MARKS, code):
        return MARK
    spelled = spelling(code)
    # a symbol that is one letter in a circle or of another width is that letter
    letter = category[0] == "L" or category == "Nl"
    letter |= category == "So" and len(spelled) == 1 and data.category(spelled)[0] == "L"
    if not letter or " " in data.normalize("NFKC", character):  # ligatures of several words are tokens of their own
        return SYMBOL
    first = ord(spelled[0])
    for where, kind in ((HANGUL_RANGES, HANGUL), (KATAKANA_RANGES, KATAKANA), (WITHOUT_SPACES, LONE)):
        if contains(where, first):
            return kind
    return LETTER


def canonical_pairs() -> dict[int, tuple[int, int]]:
    """Characters that are two characters when decomposed. Only those that a spelling can have; no Hangul syllables."""
    pairs = {}
    for code in range(sys.maxunicode + 1):
        parts = data.decomposition(chr(code)).split()
        if len(parts) == 2 and parts[0][0] != "<" and spelling(code) == chr(code):
            pairs[code] = (int(parts[0], 16), int(parts[1], 16))
            assert data.normalize("NFC", data.normalize("NFD", chr(code))) == chr(code), hex(code)
    return pairs


def composes(code: int, seconds: set[int]) -> bool:
    """Whether the spelling of a character may change when it is joined to the spelling before it."""
    text = spelling(code)
    second = ord(text[0]) in seconds or 0x1161 <= ord(text[0]) <= 0x1175 or 0x11A8 <= ord(text[0]) <= 0x11C2
    return second or (len(text) > 1 and any(map(data.combining, text)))


# ---- tables ----


def properties() -> tuple[list[tuple[int, int, int]], list[tuple[int, int]], list[tuple[int, int]]]:
    """Distinct properties (class, combining class, flags); place and number of the runs of each page; all runs."""
    kinds: dict[tuple[int, int, int], int] = {}
    seconds = {second for _, second in canonical_pairs().values()}

    def property_of(code: int) -> tuple[int, int, int]:
        kind = class_of(code)
        if kind in (IGNORED, SPACE):
            return kind, 0, 0
        # fewer runs: the flag may also be set beside mapped characters, such as on the small letters among large ones
        near = (
            spelling(other) != chr(other) for other in range(max(code - 6, page << 8), min(code + 7, (page + 1) << 8))
        )
        flags = MAPPED * (kind != DIGIT and any(near)) | COMPOSES * composes(code, seconds)
        return kind, data.combining(chr(code)), flags

    lists: dict[tuple[tuple[int, int], ...], int] = {}
    index, runs, kind = list[tuple[int, int]](), list[tuple[int, int]](), (SYMBOL, 0, 0)
    for page in range(LAST_PAGE):
        own_runs: list[tuple[int, int]] = []
        for low in range(256):
            code, before = page << 8 | low, kind
            if data.category(chr(code)) not in ("Cn", "Cs") or class_of(code) not in (SYMBOL, LONE):
                kind = property_of(code)
            elif not low or before[0] in (SPACE, IGNORED, DIGIT):
                kind = (SYMBOL, 0, 0)  # else an unassigned character is like the one before it, which makes fewer runs
            number = kinds.setdefault(kind, len(kinds))
            if not own_runs or own_runs[-1][1] != number:
                own_runs.append((low, number))
        key = tuple(own_runs)
        if key not in lists:
            lists[key] = len(runs)
            runs += own_runs
        index.append((lists[key], len(key)))
    return list(kinds), index, runs


STRINGS, STEP_TWO, LOW_PLANE, MOST = 0x80, 0x40, 0x20, 31


def mappings() -> tuple[list[tuple[int, int, int]], int, bytes]:
    """Runs (first, form, value) of mapped characters, the number of those in plane 0, and a pool of strings.

    A run of characters whose spellings have a constant difference has the first spelling as its value. The spellings of
    another run are in the pool, each after its size, and the value is the place of the first.
    """
    codes = [
        code for code in range(LAST_PAGE << 8)
        if not 0xD800 <= code < 0xE000 and spelling(code) != chr(code)
        and class_of(code) not in (DIGIT, IGNORED, SPACE) and not contains(COMPATIBLE_HAN, code)
    ]  # fmt: skip
    runs, pool, boundary = list[tuple[int, int, int]](), bytearray(), 0
    at = 0
    while at < len(codes):
        if codes[at] < 0x10000:
            boundary = len(runs) + 1
        length, step = straight(codes, at)
        if length > 1 or (length == 1 and not_in_strings(codes, at)):
            target = ord(spelling(codes[at]))
            low = codes[at] >= 0x10000 > target
            assert low or target >> 16 == codes[at] >> 16
            form = length | (STEP_TWO if step == 2 else 0) | (LOW_PLANE if low else 0)
            runs.append((codes[at] & 0xFFFF, form, target & 0xFFFF))
            at += length
            continue
        start, first = len(pool), at
        while at < len(codes) and codes[at] - codes[first] == at - first < MOST and straight(codes, at)[0] < 4:
            text = spelling(codes[at]).encode()
            pool += bytes([len(text), *text])
            at += 1
        runs.append((codes[first] & 0xFFFF, STRINGS | (at - first), start))
    assert len(pool) < 65536
    return runs, boundary, bytes(pool)


def straight(codes: list[int], at: int) -> tuple[int, int]:
    """Length and step of the run of constant difference that begins here; 0 if the spelling is several characters."""
    best = (0, 1)
    for step in (1, 2):
        length = 0
        while at + length < len(codes) and length < MOST:
            code = codes[at + length]
            text = spelling(code)
            if (
                len(text) > 1
                or code != codes[at] + length * step
                or ord(text) - code != ord(spelling(codes[at])) - codes[at]
            ):
                break
            if (code < 0x10000) != (codes[at] < 0x10000):
                break
            length += 1
        if length > best[0]:
            best = (length, step)
    return best


def not_in_strings(codes: list[int], at: int) -> bool:
    """Whether a single character is better alone than in a run of strings."""
    beside = at + 1 < len(codes) and codes[at + 1] == codes[at] + 1 and straight(codes, at + 1)[0] < 4
    return not beside and ord(spelling(codes[at])) >> 16 in (0, codes[at] >> 16)


def quick_letters() -> list[int]:
    """For U+0000 to U+07FF: the two bytes of a letter's spelling as a number, 0 if it is not that simple.

    Letters of ASCII are not among them: no character of two bytes is one.
    """
    quick = []
    for code in range(0x800):
        text = spelling(code)
        simple = code >= 0x80 and class_of(code) == LETTER and len(text) == 1 and 0x80 <= ord(text) < 0x800
        simple = simple and not data.combining(text)
        quick.append(int.from_bytes(text.encode(), "little") if simple else 0)
    return quick


# ---- the file ----


def render() -> str:
    """The text of the file."""
    kinds, index, runs = properties()
    mapped, boundary, pool = mappings()
    pairs = canonical_pairs()
    low = sum(code < 0x10000 for code in pairs)
    rows = [(first & 0xFFFF, second & 0xFFFF, code & 0xFFFF) for code, (first, second) in
            sorted(pairs.items(), key=lambda item: item[1])]  # fmt: skip
    han = [ord(spelling(code)) for first, last in COMPATIBLE_HAN for code in range(first, last + 1)]
    names = ", ".join(CLASSES)
    return "".join(
        [
            "/* What the token rule `unicode` knows of characters, by Unicode 17. Written by `python core/unicode_tables.py`.\n"
            " * The tables are fixed: a model must read a text as it did in training. */\n\n",
            f"enum {{ {names} }};\n",
            f"enum {{ MAPPED = {MAPPED}, COMPOSES = {COMPOSES} }};\n\n",
            "/* Class, combining class and flags. */\n",
            "static const struct property {\n  uint8_t class, combining, flags;\n} properties[] = {\n",
            wrapped(f"{{{', '.join(map(str, kind))}}}" for kind in kinds),
            "};\n\n/* Of each page of 256 characters, the first of its runs and how many it has. Equal pages share their runs. */\n",
            table("uint16_t", "pages", (place for place, _ in index)),
            table("uint8_t", "page_runs", (count for _, count in index)),
            "\n/* Runs of a page: the low byte of the first character, the number of its property. */\n",
            table("uint8_t", "runs", (item for run in runs for item in run)),
            "\n/* U+0000 to U+07FF: the two bytes of a letter's spelling, the first one low; 0: ASCII, or not that simple. */\n",
            table("uint16_t", "quick_letters", quick_letters()),
            "\n/* Mapped characters in runs: the first one without its plane; form and length; the first spelling, or the place of\n"
            " * the first string. Those of plane 1 come last. */\n",
            f"enum {{ MAPPED_LOW = {boundary}, MAPPED_RUNS = {len(mapped)} }};\n",
            f"enum {{ RUN_STRINGS = {STRINGS}, RUN_STEP_TWO = {STEP_TWO}, RUN_LOW_PLANE = {LOW_PLANE}, RUN_LENGTH = {MOST} }};\n",
            table("uint16_t", "mapped_first", (run[0] for run in mapped)),
            table("uint8_t", "mapped_form", (run[1] for run in mapped)),
            table("uint16_t", "mapped_value", (run[2] for run in mapped)),
            "\n/* Strings in UTF-8, each after its size. */\n",
            table("uint8_t", "mapped_strings", pool),
            "\n/* Spelling of the compatibility ideographs U+F900 to U+FA0D. */\n",
            table("uint16_t", "han_spelling", han),
            "\n/* Pairs of characters, sorted, and what they are composed to; without their plane, plane 1 comes last. */\n",
            f"enum {{ PAIRS_LOW = {low}, PAIRS = {len(rows)} }};\n",
            table("uint16_t", "pair_first", (row[0] for row in rows)),
            table("uint16_t", "pair_second", (row[1] for row in rows)),
            table("uint16_t", "pair_whole", (row[2] for row in rows)),
        ]
    )


def table(kind: str, name: str, items: Iterable[int]) -> str:
    """An array in C."""
    return f"static const {kind} {name}[] = {{\n{wrapped(map(str, items))}}};\n"


def wrapped(items: Iterable[str]) -> str:
    """Join items with commas, in lines that are not too long."""
    return "".join(f"   {line}\n" for line in lines(items))


def lines(items: Iterable[str]) -> Iterator[str]:
    """Lines of items."""
    line = ""
    for item in items:
        if len(line) + len(item) + 5 > WIDTH:
            yield line
            line = ""
        line += f" {item},"
    yield line


def main() -> int:
    """Write the file, unless there is no data of the right version."""
    if data is None:
        found = f"Python {sys.version_info[0]}.{sys.version_info[1]} has Unicode {own.unidata_version}"
        sys.stderr.write(f"{found}, expected {VERSION}: use Python 3.15, or `pip install unicodedata2==17.*`\n")
        return 1
    FILE.write_text(render(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
