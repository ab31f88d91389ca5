"""The token rule `unicode`: the core against a plain reading of the rule in Python, on many nasty strings."""

from __future__ import annotations

import ctypes
import random
import sys
import unicodedata

import pytest

from tests.core.conftest import units  # noqa: F401 - a fixture
from tests.text.unicode_rule import is_known, kind_of, tokens

KINDS = ("word", "number", "url", "name", "tag", "address", "emoji", "symbol", "character")
LONGEST_WORD = 255

# words of thirty scripts, and parts that are hard to read
SCRIPTS = [
    "The quick don't", "größe ÄÖÜ ẞ straße", "Привет МИР ёлка", "Ελληνικά ΟΔΟΣ ᾳ", "Հայերեն և", "צה\"ל שָׁלוֹם ג׳ירפה",
    "العَرَبِيَّة كـــتاب ﷺ ٣٫١٤", "می‌خواهم ۱۲۳", "हिन्दी क़ १२३", "বাংলা ড়", "ਪੰਜਾਬੀ ਸ਼", "ગુજરાતી", "ଓଡ଼ିଆ", "தமிழ் கொ",
    "తెలుగు", "ಕನ್ನಡ ಕೋ", "മലയാളം", "සිංහල කෝ", "ภาษาไทยกำลัง ๑๒", "ພາສາລາວ ນຳ ໜ", "བོད་སྐད ཱི", "မြန်မာ ဦ", "ქართული ᲥᲐᲠᲗᲣᲚᲘ",
    "አማርኛ", "ᏣᎳᎩ ꮳꮃꭹ", "ខ្មែរ", "ᠮᠣᠩᠭᠣᠯ", "ひらがな がぎ", "カタカナ ｶﾞｷﾞｰ", "中文 豈 〇", "한국어 ㅋㅋㅠ 각 \u1112\u1161\u11ab",
    "ދިވެހި", "ⵜⴰⵎⴰⵣⵉⵖⵜ", "Ōōkāū Điện ệ ê\u0323",
]  # fmt: skip
PARTS = [
    " ", "  ", "\n", "\t", "\u00a0", "\u3000", "\u200b", "\u200d", "\u200c", "\u00ad", "\ufeff", "\u202e", "\u2066",
    "\u0301", "\u0307", "\u0323", "\u0308", "\u0327", "\u0345", "\u0344", "\u3099", "\ufe0f", "\u20e3", "\U000e0067",
    "\U000e007f", "'", "’", '"', "״", "·", ".", ",", ":", "/", "-", "_", "@", "#", "＃", "＠", "!", "!!!", "?", "…", "……", "...", "(", ")",
    "http://", "HTTPS://", "www.", "WWW.example.com", "http://www.", "a@b.co", "x.y+z@mail.example.org", "@name_1", "#tag",
    "#1", "1", "2004", "3.14", "1,000", "12:30", "1'000", "90's", "１２", "½", "²", "①", "Ⓐ", "™", "㎏", "ﬁ", "ＡＢＣ", "İ",
    "I", "i", "ı", "ſ", "Å", "Ω", "K", "ŉ", "ŀ", "👍", "🏽", "👩", "💻", "❤", "🏴", "🇩", "🇪", "🇫", "*", "\ufffd", "\u17d2",
    "\u1039", "ក", "က", "\x00", "\x7f", "\x85", "㌀", "㍿", "𝐀", "𝟏", "𐐀", "\U0002f800", "豈", "ﾞ", "ㄱ", "ㅏ", "\u115f", "\u0f77",
    "=\u0338", "<", ">", "ー", "々", "、", "。", "「", "：", "／", "．", "－", "~", "*", "]", "%", "+", "\\", "^", "`", "|",
]  # fmt: skip


def core_tokens(library: ctypes.CDLL, text: bytes, rule: int = 1) -> list[tuple[bytes, int, int, int, str]]:
    """Spelling, start, end, size and kind of the tokens by the core, in bytes."""
    most = len(text) + 2
    places, letters = (ctypes.c_uint32 * (4 * most))(), ctypes.create_string_buffer(LONGEST_WORD * most)
    library.unit_tokens.restype = ctypes.c_size_t
    count = library.unit_tokens(rule, text, ctypes.c_size_t(len(text)), places, letters, ctypes.c_size_t(most))
    assert count <= len(text) + 1
    rows = [tuple(places[4 * i : 4 * i + 4]) for i in range(count)]
    return [
        (letters.raw[LONGEST_WORD * i : LONGEST_WORD * i + min(size, LONGEST_WORD)], start, end, size, KINDS[kind])
        for i, (start, end, size, kind) in enumerate(rows)
    ]


def check(library: ctypes.CDLL, text: str) -> None:
    """Compare the tokens of a text, their places and kinds."""
    places = [0]
    for character in text:
        places.append(places[-1] + len(character.encode()))
    wanted = [
        (word.encode(), places[start], places[end], kind) if len(word.encode()) <= LONGEST_WORD else (b"", places[start], places[end], kind)
        for word, start, end, kind in tokens(text)
    ]
    found = [
        (word if size <= LONGEST_WORD else b"", start, end, kind)
        for word, start, end, size, kind in core_tokens(library, text.encode())
    ]
    assert found == wanted, ascii(text)


def nasty(dice: random.Random) -> str:
    """A string of words, parts of words, and parts that are hard to read."""
    pieces = []
    for _ in range(dice.randrange(1, 14)):
        words = dice.choice(SCRIPTS)
        start = dice.randrange(len(words))
        choice = dice.random()
        if choice < 0.35:
            pieces.append(words[start : start + dice.randrange(1, 8)])
        elif choice < 0.9:
            pieces.append(dice.choice(PARTS))
        else:
            pieces.append(dice.choice(words) * dice.randrange(1, 5))
    return "".join(pieces)


def test_ten_thousand_nasty_strings(units: ctypes.CDLL) -> None:  # noqa: F811
    dice = random.Random(1)
    for _ in range(10_000):
        check(units, nasty(dice))


CHANGED = {0x180F, 0x1734, 0x1171E, 0x166D, 0x19B0}  # other categories in older versions of Unicode


@pytest.mark.skipif(unicodedata.unidata_version < "14", reason="an older Unicode than the tables")
def test_every_character(units: ctypes.CDLL) -> None:  # noqa: F811
    """Every character that this Python knows: alone, after and before letters, digits, marks and itself."""
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        if 0xD800 <= code < 0xE000 or not is_known(character) or code in CHANGED:
            continue
        check(units, f"{character} a{character}B 1{character}2 e\u0301{character}\u0301 {character}{character}\u0323 中{character}")


def test_long_tokens_and_many_marks(units: ctypes.CDLL) -> None:  # noqa: F811
    for letter in "aäक中ア가!👍":
        for count in (84, 85, 86, 126, 127, 128, 253, 254, 255, 256, 1000):
            check(units, letter * count + " b")
            check(units, "e" + "\u0301" * count + letter)
            check(units, "\u0323" * count + letter * 3)
    for text in ("e\u0301" * 64, "e\u0301" * 63, "e\u0301" * 86, "\u1112\u1161\u11ab" * 28, "\u1112\u1161\u11ab" * 29,
                 "@" + "a" * 300, "#" + "ä" * 127, "http://" + "a" * 248, "http://" + "a" * 249, "1" * 255, "1" * 256,
                 "a" * 64 + "@b.co", "a" * 65 + "@b.co", "a@" + "b." * 127 + "c", "a@" + "b." * 128 + "c", "a@b.c-", "a@b-.c",
                 "a@b", "a@-b.c", "a.@b.c", "👩" + "\u200d👩" * 40):  # fmt: skip
        check(units, text + " x")


def test_bytes_that_are_not_utf8(units: ctypes.CDLL) -> None:  # noqa: F811
    """Each such byte is read as U+FFFD."""
    dice = random.Random(2)
    pieces = (b"ab", b" ", b"\xff", b"\xc3", b"\xe4\xb8", b"\xf0\x9f\x98", b"\xed\xa0\x80", b"\xc3\xa9", b"'", b"\xcc\x81", b"@")
    for _ in range(2000):
        text = b"".join(dice.choices(pieces, k=dice.randrange(12)))
        found = core_tokens(units, text)
        assert all(start < end for _, start, end, _, _ in found)
        assert all(before[2] <= after[1] for before, after in zip(found, found[1:], strict=False))
        for word, *_ in found:
            word.decode()


@pytest.mark.parametrize("piece", ["e", "\u0301", "e\u0301", "'a", "a.", "a-", "http://a.", "http://a)", "#1", "1.", "@", "\u200d", "👩\u200d", "中", "가"])
def test_long_lines_take_linear_time(units: ctypes.CDLL, piece: str) -> None:  # noqa: F811
    import time

    units.unit_count.restype = ctypes.c_size_t
    text = (piece * (4_000_000 // len(piece))).encode()
    start = time.process_time()
    units.unit_count(1, text, ctypes.c_size_t(len(text)), ctypes.byref(ctypes.c_uint32()))
    assert time.process_time() - start < 5


def test_kinds_of_characters() -> None:
    """The reading in Python is of use: it knows all classes."""
    assert {kind_of(character) for text in (*SCRIPTS, *PARTS) for character in text} == {
        "SPACE", "IGNORED", "LETTER", "MARK", "DIGIT", "HANGUL", "KATAKANA", "LONE", "SYMBOL", "EMOJI", "REGIONAL", "MODIFIER",
    }  # fmt: skip
