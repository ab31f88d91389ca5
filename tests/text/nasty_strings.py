"""Strings of thirty scripts that are hard to split into tokens."""

# ruff: noqa: E501 - rows of strings, whose width is that of other scripts
from __future__ import annotations

import random

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
