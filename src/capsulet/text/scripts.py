"""Scripts of letters and texts, by Unicode names, and the language of scripts that only one language uses."""

import functools
import unicodedata
from collections import Counter
from collections.abc import Mapping

NO_LETTERS = "none"
LETTERS = 1000  # characters of a text that are enough to tell its script
HAN, KANA, JAPANESE = "Han", "Kana", "Japanese"
NAMES = {
    "CJK": HAN, "IDEOGRAPHIC": HAN, "HIRAGANA": KANA, "KATAKANA": KANA, "KATAKANA-HIRAGANA": KANA, "FULLWIDTH": "Latin",
}  # fmt: skip
# languages of scripts whose name is not that of their one language; Greek, Thai and others have that name
LANGUAGES = {"Hangul": "Korean", KANA: JAPANESE, "Gurmukhi": "Punjabi", "Oriya": "Odia"}
SMALLEST_SHARE = 0.005  # scripts with a smaller share are not listed


@functools.lru_cache(maxsize=1 << 16)
def script_of(letter: str) -> str:
    """Return the script of a letter: the first word of its Unicode name, except for Chinese characters and kana."""
    words = unicodedata.name(letter, "OTHER").split()
    word = words[1] if words[0] == "HALFWIDTH" and len(words) > 1 else words[0]
    return NAMES.get(word, word.capitalize())


def script(text: str) -> str:
    """Return the script of most letters. Han and kana in one text are Japanese."""
    start = text[:LETTERS]
    if start.isascii():
        return "Latin" if any(map(str.isalpha, start)) else NO_LETTERS
    counts = Counter(script_of(letter) for letter in start if letter.isalpha())
    if KANA in counts:
        counts[JAPANESE] = counts.pop(KANA) + counts.pop(HAN, 0)
    return max(counts, key=counts.__getitem__, default=NO_LETTERS)


def named_script(name: str) -> str:
    """Return the name of a script, with its language if the script decides it: Hangul (Korean)."""
    return f"{name} ({LANGUAGES[name]})" if name in LANGUAGES else name


def script_shares(letters: Mapping[str, int]) -> str:
    """Return shares of scripts, most frequent first: Cyrillic 98 %, Latin 2 %. Very small shares are left out."""
    total = sum(letters.values())
    ranked = sorted(letters.items(), key=lambda pair: -pair[1])
    listed = [
        f"{named_script(name)} {100 * count / total:.0f} %" for name, count in ranked if count / total >= SMALLEST_SHARE
    ]
    return ", ".join(listed) or "no letters"
