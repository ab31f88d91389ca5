"""Lines, clocks and JSON."""

from __future__ import annotations

import json
import sys
from io import BytesIO, TextIOWrapper

import pytest

from capsulet.cli.output import clock, json_line


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
