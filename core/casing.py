"""Write core/casing.h, the lower-case and white-space tables of Unicode 17.0: `python core/casing.py`.

The tables are pinned to one version of Unicode, because a model must read a text as it did in training. They come from
the tables of Python itself: Python 3.15 has Unicode 17.0.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterable
from pathlib import Path

FILE = Path(__file__).parent / "casing.h"
VERSION = "17.0.0"
DOTTED_I = "İ"  # the only character whose lower case is two characters; tokens.c handles it
MORE_SPACES = {*range(9, 14), 0x85}  # control characters that are white space
WIDTH = 119
START = """\
/* Lower case and white space of Unicode 17, for the token rule of the paper. Written by `python core/casing.py`.
 * The tables are fixed: a model must read a text as it did in training. */

/* Characters and their lower case: first, count, step, difference. Without U+0130: its lower case is two characters. */
static const struct run {
  uint32_t first;
  uint16_t count, step;
  int32_t difference;
} lower_case[] = {
"""
MIDDLE = """};

static const uint16_t white_space[] = {
"""


def main() -> int:
    """Write the file, unless this Python has another version of Unicode."""
    if unicodedata.unidata_version != VERSION:
        found = f"Python {sys.version_info[0]}.{sys.version_info[1]} has Unicode {unicodedata.unidata_version}"
        sys.stderr.write(f"{found}, expected {VERSION}: use Python 3.15\n")
        return 1
    FILE.write_text(render(), encoding="utf-8")
    return 0


def render() -> str:
    """The text of the file by the Unicode tables of this Python."""
    runs = wrapped("{" + ", ".join(map(str, run)) + "}" for run in find_runs(lower_pairs()))
    return f"{START}{runs}{MIDDLE}{wrapped(map(str, white_space()))}}};\n"


def characters() -> Iterable[str]:
    """All characters except halves of UTF-16."""
    return (chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000)


def lower_pairs() -> list[tuple[int, int]]:
    """Codes of the characters that have another lower case, and of their lower case."""
    changed = {character: character.lower() for character in characters() if character != character.lower()}
    assert [character for character, lower in changed.items() if len(lower) > 1] == [DOTTED_I]
    return [(ord(character), ord(lower)) for character, lower in changed.items() if character != DOTTED_I]


def white_space() -> list[int]:
    """Codes with the property White_Space: separators and some control characters."""
    return [
        ord(character)
        for character in characters()
        if unicodedata.category(character)[0] == "Z" or ord(character) in MORE_SPACES
    ]


def find_runs(pairs: Iterable[tuple[int, int]]) -> list[tuple[int, int, int, int]]:
    """Group pairs of codes into runs (first, count, step, difference) with a step of one or two."""
    runs: list[tuple[int, int, int, int]] = []
    for code, other in pairs:
        if runs:
            first, count, step, difference = runs[-1]
            step = code - first if count == 1 else step
            if difference == other - code and step <= 2 and code == first + count * step:
                runs[-1] = (first, count + 1, step, difference)
                continue
        runs.append((code, 1, 1, other - code))
    return runs


def wrapped(items: Iterable[str]) -> str:
    """Join items with commas, in lines that are not too long."""
    lines = ["   "]
    for item in items:
        if len(lines[-1]) + len(item) + 2 > WIDTH:
            lines.append("   ")
        lines[-1] += f" {item},"
    return "".join(line + "\n" for line in lines)


if __name__ == "__main__":
    raise SystemExit(main())
