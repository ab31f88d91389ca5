"""Colours of pages, charts, notebooks and the terminal: `one` for words that support a label, `two` for the others.

serve/page has the same colours and the same FAINT; tests/report/test_palette.py compares them.
"""

LIGHT = {
    "ink": "#1b2430", "soft": "#5c6877", "paper": "#ffffff", "panel": "#f5f7f9", "line": "#dce2e8", "one": "#2f6fd0",
    "two": "#d2691e", "on-deep": "#ffffff",
}  # fmt: skip
DARK = {
    "ink": "#e3e8ee", "soft": "#9ba7b4", "paper": "#12161b", "panel": "#1a2027", "line": "#2f3944", "one": "#6ba6f7",
    "two": "#f09a5c", "on-deep": "#0b0f14",
}  # fmt: skip

FAINT = 0.15  # words with a smaller share of the largest contribution are not marked


def mixed(one: str, other: str, share: float) -> str:
    """Return a colour between two: 0 is the first, 1 the other."""
    pairs = zip(channels(one), channels(other), strict=True)
    return "#" + "".join(f"{round(start + share * (end - start)):02x}" for start, end in pairs)


def channels(colour: str) -> tuple[int, ...]:
    """Return red, green and blue of a colour such as #2f6fd0."""
    return tuple(int(colour[place : place + 2], 16) for place in (1, 3, 5))


def middle(name: str) -> str:
    """Return a colour that is visible on light and on dark backgrounds, where a page does not know which it has."""
    return mixed(LIGHT[name], DARK[name], 0.5)


def terminal_mark(contribution: float, strength: float) -> str:
    """Return the style of a word on a terminal with a light or dark background: grey if weak, coloured if strong."""
    name, line = ("one", "") if contribution > 0 else ("two", " underline")  # the line: also without colours
    return f"{DARK['on-deep']} on {mixed(DARK['soft'], DARK[name], 0.3 + 0.7 * strength)}{line}"
