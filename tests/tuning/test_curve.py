import json
from pathlib import Path

import pytest

import capsulet
from capsulet.cli.main import main
from capsulet.errors import InputError


def test_more_rows_are_better_and_the_picture_shows_it(many_rows: Path, tmp_path: Path) -> None:
    lines: list[str] = []
    result = capsulet.curve(
        many_rows, draws=2, plot=tmp_path / "curve.svg", tell=lines.append, linear_only=True, threads=1
    )
    rows = [level.rows for level in result.levels]
    assert rows[-1] + result.texts == 600
    assert all(abs(few - rows[-1] / 2**power) <= 3 for power, few in enumerate(reversed(rows)))
    assert [len(level.qualities) for level in result.levels] == [2, 2, 2, 2, 1]
    assert result.levels[-1].quality > result.levels[0].quality + 0.1
    assert [ahead.rows for ahead in result.forecasts] == [2 * rows[-1], 4 * rows[-1]]
    assert all(0 <= ahead.low <= ahead.high <= 1 for ahead in result.forecasts)
    assert lines[-1].startswith(f"{rows[-1]} rows: ") and lines[-1].endswith(f"% of {result.texts} held-out texts")
    assert repr(result).startswith("<LearningCurve: more rows ") and len(result.records()) == 7
    assert result._repr_html_().startswith("<img alt=")
    assert (tmp_path / "curve.svg").read_text().count("<circle") == 9 + 2


def test_command_line(many_rows: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = ["curve", str(many_rows), "--linear-only", "--draws", "1", "--threads", "1"]
    assert main(call) == 0
    shown = capsys.readouterr().out
    assert "held-out texts" in shown and "expected, 95 % interval" in shown and "twice as many" in shown
    assert main([*call, "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["levels"]) == 5


def test_several_labels_per_row(tmp_path: Path) -> None:
    rows = [{"text": f"{'red ' * (n % 2)}{'big ' * (n % 3 == 0)}thing {n % 7}", "labels": []} for n in range(120)]
    for number, row in enumerate(rows):
        row["labels"] = ["red"] * (number % 2) + ["big"] * (number % 3 == 0)
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = capsulet.curve(file, draws=1, linear_only=True, multi_label=True, threads=1)
    assert result.measure == "micro-F1"
    assert result.levels[-1].quality > 0.9


def test_few_rows_and_bad_options_are_one_line(rows_file: Path, many_rows: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected at least 80 rows for a learning curve"):
        capsulet.curve(rows_file, linear_only=True)
    with pytest.raises(InputError, match="draws is 0"):
        capsulet.curve(many_rows, draws=0)
    with pytest.raises(InputError, match=r"does not end in \.svg"):
        capsulet.curve(many_rows, plot=tmp_path / "curve.png")
