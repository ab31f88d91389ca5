"""Cells that a spreadsheet would run."""

from __future__ import annotations

import pytest

from capsulet.text.cells import safe_cell, safe_label


@pytest.mark.parametrize(
    "text", ["=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "\uff1d1", "-", "-inf",
             "-1_0", "\t1", "-1 "],
)  # fmt: skip
def test_formulas_get_an_apostrophe(text: str) -> None:
    assert safe_cell(text) == f"'{text}"


@pytest.mark.parametrize("text", ["", "sport", "-1", "+2.5", "-.5", "-1e-05", "0.5", "a=b", "'=1", "12", " text"])
def test_other_cells_stay(text: str) -> None:
    assert safe_cell(text) == text


def test_a_label_keeps_line_breaks_and_tabs() -> None:
    assert safe_label("\x1ba\tb\nc\rd") == "\\x1ba\tb\nc\\rd"
