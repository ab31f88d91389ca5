"""Traces of damage, and what only looks like them."""

from __future__ import annotations

import pytest

from capsulet.checking.damage import damages


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("cafÃ©", "mojibake"),
        ("itâ€™s", "mojibake"),
        ("naïve Â£5".replace("ï", "Ã¯"), "mojibake"),
        ("привет".encode().decode("latin-1"), "mojibake"),
        ("😀".encode().decode("cp1252", errors="replace").replace("\ufffd", "€"), "mojibake"),
        ("lost \ufffd", "replacement_characters"),
        ("bell \x07", "control_characters"),
        ("zero\u200bwidth", "control_characters"),
        ("\ufefftext", "control_characters"),
        ("fish &amp; chips", "html"),
        ("don&#39;t", "html"),
        ("don #39;t", "html"),
        ("one<br />two", "html"),
        ("<A HREF='x'>link</A>", "html"),
        ("one\\ntwo", "escapes"),
        ("caf\\u00e9", "escapes"),
        ('say \\"no\\"', "escapes"),
    ],
)
def test_damage(text: str, kind: str) -> None:
    assert kind in [name for name, _ in damages(text)]


@pytest.mark.parametrize(
    "text",
    [
        "Plain text, with 'quotes' and \"quotes\"; 50% & more #hashtag #1 (a < b > c)",
        "São Paulo, ÂNGULO, NÃO, château, Ægir, naïve, Ñandú, 5 £, 3 °C, «oui»",
        "Привет, как дела? 你好 こんにちは 안녕하세요 👩‍👩‍👧 résumé — “fine” … €5",
        "C:\\new\\tools and \\\\server\\names",
        "two\nlines\tand a tab\r\n",
        "x < y and i > j; <3 <grin>",
        "R&D; AT&T;",
    ],
)
def test_no_damage(text: str) -> None:
    assert damages(text) == []
