"""The command line without rich."""

from __future__ import annotations

import sys
from io import StringIO
from pathlib import Path

import pytest

from capsulet.cli.plain import table_lines, width
from capsulet.training.progress import bar_monitor


@pytest.fixture
def no_rich(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without rich: importing it raises ModuleNotFoundError."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "rich"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "rich", None)


@pytest.mark.parametrize(
    ("text", "columns"), [("abc", 3), ("你好", 4), ("ｆ", 2), ("e\u0301", 1), ("a\u200bb", 2), ("é", 1), ("", 0)]
)
def test_width(text: str, columns: int) -> None:
    assert width(text) == columns


def test_columns_are_aligned() -> None:
    lines = table_lines(("label", ">F1"), [("你好", "9.5"), ("sport", "100.0")], title="classes")
    assert lines == ["classes", "label     F1", "-----  -----", "你好     9.5", "sport  100.0"]


def test_a_table_without_frame_and_with_short_rows() -> None:
    assert table_lines(("", ">n", ""), [("a", "1", "x"), ("b",)], frame=False) == ["   n", "a  1  x", "b"]
    assert table_lines(("", ""), [("a", "b")], frame=False) == ["a  b"]


@pytest.mark.usefixtures("no_rich")
def test_every_verb_with_tables(run, model: Path, rows_file: Path) -> None:
    answer = run("evaluate", model, rows_file)
    assert (answer.status, answer.err) == (0, "")
    lines = [line.split() for line in answer.out.splitlines()]
    assert ["label", "precision", "recall", "F1", "texts"] in lines and ["food", *["100.0"] * 3, "4"] in lines
    answer = run("explain", model, "--text", "the match", "--label", "food", "--check")
    assert answer.status == 0 and answer.out.splitlines()[1] == "the match"
    assert ["word", "contribution", "left", "out"] in [line.split() for line in answer.out.splitlines()]
    for words in (["info", model], ["info", model, "--all"], ["info", model, "--class", "food"], ["check", rows_file]):
        answer = run(*words)
        assert (answer.status, answer.err) == (0, "") and answer.out


def test_names_of_wide_characters_are_aligned(monkeypatch: pytest.MonkeyPatch, run, model: Path) -> None:
    from capsulet.cli import info

    monkeypatch.setattr(info, "flatten", lambda description: [("你好", "1"), ("sport", "2")])
    assert run("info", model, "--all").out == "你好   1\nsport  2\n"


class Terminal(StringIO):
    """An output that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.usefixtures("no_rich")
def test_a_terminal_without_rich(monkeypatch: pytest.MonkeyPatch) -> None:
    from capsulet.cli.output import show, show_table

    monkeypatch.setattr(sys, "stderr", Terminal())
    assert bar_monitor() is None
    monkeypatch.setattr(sys, "stdout", terminal := Terminal())
    show(("bold", "bold"), " and plain\x1b")
    show_table(("a", ">b"), [[("x", "red"), "1"]])
    assert terminal.getvalue() == "bold and plain\\x1b\na  b\n-  -\nx  1\n"


def test_a_terminal_with_rich(monkeypatch: pytest.MonkeyPatch) -> None:
    from capsulet.cli.output import show

    monkeypatch.setattr(sys, "stderr", Terminal())
    assert bar_monitor() is not None
    monkeypatch.setattr(sys, "stdout", terminal := Terminal())
    monkeypatch.setenv("TERM", "xterm")
    show(("bold", "bold"), " and plain\x1b")
    assert terminal.getvalue() == "\x1b[1mbold\x1b[0m and plain\\x1b\n"
