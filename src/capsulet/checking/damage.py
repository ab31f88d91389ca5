"""Damage in texts: wrong decoding, markup and escapes."""

import itertools
import re

# characters that the bytes 80 to BF become when UTF-8 is read as Windows-1252 or Latin-1
_TAIL = "\u0080-\u00bf\u0152\u0153\u0160\u0161\u0178\u017d\u017e\u0192\u02c6\u02dc\u2013\u2014\u2018-\u201a\u201c-\u201e\u2020-\u2022\u2026\u2030\u2039\u203a\u20ac\u2122"  # fmt: skip  # noqa: E501

KINDS: dict[str, tuple[str, str, str]] = {  # kind -> pattern, title, advice
    "mojibake": (
        f"[\u00c2-\u00c5][{_TAIL}]|\u00e2[\u0080\u20ac][{_TAIL}]|\u00f0[\u009f\u0178][{_TAIL}]"
        f"|(?:[\u00d0\u00d1][{_TAIL}]){{2}}",
        "text{s} with UTF-8 that was read as another encoding (Ã© for é)",
        "read the source again as UTF-8; often text.encode('cp1252').decode('utf-8') repairs the text",
    ),
    "replacement_characters": (
        "\ufffd",
        "text{s} with characters that were lost in decoding (U+FFFD)",
        "read the source again in its own encoding: this file does not contain the characters any more",
    ),
    "control_characters": (
        "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u2060\ufeff]",
        "text{s} with control or invisible characters",
        "remove them: each one is a token of its own to the model",
    ),
    "html": (
        r"&(?:amp|lt|gt|quot|apos|nbsp|#[0-9]{1,6}|#x[0-9a-fA-F]{1,5});|(?<![&\w])#[0-9]{2,4};"
        r"|</?(?:br|p|div|span|b|i|em|strong|li|ul|ol|tr|td|table|font|h[1-6]|a|img|script|style)(?:\s[^<>]*)?/?>",
        "text{s} with HTML entities or tags",
        "decode entities with html.unescape and remove tags: a model reads them as words",
    ),
    "escapes": (
        r"(?:\b[A-Za-z]:|\\)\\\S*|(?P<trace>\\(?:[nrt]|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[\"']))",  # a path is not damage
        "text{s} with undecoded escapes (a backslash and an n for a new line)",
        "decode the source once more, e.g. as JSON, or replace them by their characters",
    ),
}
PATTERNS = {
    kind: re.compile(pattern, re.IGNORECASE if kind == "html" else 0) for kind, (pattern, _, _) in KINDS.items()
}
# a text without these characters is not damaged
_SUSPICIOUS = re.compile(
    r"[&#<\\\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00c2-\u00c5\u00e2\u00f0\u00d0\u00d1\u200b\u2060\ufeff\ufffd]"
)


def damages(text: str) -> list[tuple[str, int]]:
    """Return the kinds of damage in a text, each with the position of its first occurrence."""
    if not _SUSPICIOUS.search(text):
        return []
    places = []
    for kind, pattern in PATTERNS.items():
        traces = (match for match in pattern.finditer(text) if "trace" not in pattern.groupindex or match["trace"])
        places += [(kind, match.start()) for match in itertools.islice(traces, 1)]
    return places
