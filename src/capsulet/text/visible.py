"""Control characters as visible escapes: a text or a label must not control the terminal or page that shows it."""

CONTROLS = (
    *range(0x20), *range(0x7F, 0xA0),  # C0, DEL and C1: escape sequences begin with U+001B or U+009B
    0x2028, 0x2029,  # line and paragraph separators
    *range(0x202A, 0x202F), *range(0x2066, 0x206A),  # embeddings, overrides and isolates: they reorder what is shown
)  # fmt: skip
FIRST_STRONG_ISOLATE, POP_ISOLATE = "\u2068", "\u2069"
NAMES = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}
ESCAPES = {chr(code): NAMES.get(chr(code), f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}") for code in CONTROLS}


def visible(text: str, keep: str = "") -> str:
    """Return the text with control characters as escapes, such as \\x1b, except the characters of `keep`."""
    if text.isprintable():
        return text
    return "".join(ESCAPES.get(letter, letter) if letter not in keep else letter for letter in text)


def isolated(text: str) -> str:
    """Return the visible text for use inside a line: its writing direction does not reorder the words around it."""
    shown = visible(text)
    return shown if shown.isascii() else f"{FIRST_STRONG_ISOLATE}{shown}{POP_ISOLATE}"


def visible_json(line: str) -> str:
    """Return a line of JSON with control characters as JSON escapes. It has the same value."""
    if line.isprintable():
        return line
    return "".join(f"\\u{ord(letter):04x}" if letter in ESCAPES else letter for letter in line)
