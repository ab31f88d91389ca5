"""Lines, clocks and JSON."""

from __future__ import annotations

import json
import sys
from io import BytesIO, StringIO, TextIOWrapper

import pytest

from capsulet.cli.output import clock, json_line, layout, show_table


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0, "0:00"), (59.4, "0:59"), (59.6, "1:00"), (75, "1:15"), (3600, "1:00:00"), (3725, "1:02:05")],
)
def test_clock(seconds: float, shown: str) -> None:
    assert clock(seconds) == shown


@pytest.mark.parametrize(("encoding", "written"), [("utf-8", '"你"'), ("ascii", '"\\u4f60"')])
def test_json_can_always_be_written(monkeypatch: pytest.MonkeyPatch, encoding: str, written: str) -> None:
    monkeypatch.setattr(sys, "stdout", TextIOWrapper(BytesIO(), encoding=encoding))
    assert json_line("你") == written
    assert json.loads(json_line("\udcff")) == "\udcff"


@pytest.mark.parametrize(("width", "framed"), [(100, True), (22, True), (21, False), (5, False)])
def test_a_narrow_table_has_no_frame_and_cuts_no_number(width: int, framed: bool) -> None:
    cells = [[("multiprocessing", ""), ("1,234", "")], [("xml", ""), ("7", "")]]
    assert layout(("label", ">precision"), cells, True, width) == (framed, [6, 9])


@pytest.mark.parametrize("width", [100, 30, 12])
def test_all_digits_are_shown(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rich = pytest.importorskip("rich.console")
    target = rich.Console(width=width, record=True, file=StringIO())
    monkeypatch.setattr("capsulet.cli.output.console", lambda table=False: target)
    show_table(("label", ">precision", ">texts"), [("multiprocessing", "100.0", "12,345,678")])
    shown = target.export_text()
    assert "100.0" in shown and "12,345,678" in shown
