"""Write src/casing.js, the lower-case and white-space tables of the tokenizers library: `python js/casing.py`.

Browsers have Unicode tables of different versions. A model must read a text as it did in training.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tokenizers import Regex
from tokenizers.normalizers import Lowercase
from tokenizers.pre_tokenizers import Split

from capsulet.text.tokens import TOKEN

FILE = Path(__file__).parent / "src" / "casing.js"
HEAD = """\
/** Lower-case and white-space tables of the tokenizers library. Written by `python js/casing.py`. */

/** Characters and their lower case: [first, count, step, difference]. */
"""


def render() -> str:
    """Return the JavaScript module."""
    characters = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]
    lowered = Lowercase().normalize_str("\0".join(characters[1:])).split("\0")
    lower = dict(zip(characters[1:], lowered, strict=True))
    left = Split(Regex(TOKEN), behavior="removed").pre_tokenize_str("".join(characters))  # everything outside tokens
    spaces = [ord(character) for piece, _ in left for character in piece]
    longer = {character: text for character, text in lower.items() if len(text) > 1}
    assert longer == {"İ": "i\u0307"}, "src/tokens.js handles one character whose lower case is two characters"
    runs = find_runs([(ord(one), ord(other)) for one, other in lower.items() if len(other) == 1 and one != other])
    table = wrapped([str(list(run)).replace(" ", "") for run in runs])
    return (
        f"{HEAD}export const LOWER_CASE = [\n{table}];\n\nexport const WHITE_SPACE = [\n{wrapped(map(str, spaces))}];\n"
    )


def find_runs(pairs: list[tuple[int, int]]) -> list[tuple[int, int, int, int]]:
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


def wrapped(items: list[str] | map[str]) -> str:
    """Join items with commas, in lines of at most 120 characters."""
    lines = [" "]
    for item in items:
        if len(lines[-1]) + len(item) + 2 > 120:
            lines.append(" ")
        lines[-1] += f" {item},"
    return "".join(line + "\n" for line in lines)


if __name__ == "__main__":
    FILE.write_text(render(), encoding="utf-8")
