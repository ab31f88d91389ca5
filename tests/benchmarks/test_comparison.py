"""Standard errors of paired differences, and the tables and pictures that are made of runs."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from benchmarks import curve_points, hard_files, jobs, record
from benchmarks.comparison import Comparison, verdict
from benchmarks.frontier import merge as merge_sizes
from benchmarks.frontier import parse_sizes
from benchmarks.frontier_points import cells, speed
from benchmarks.paired import Difference, compare, mean_and_error, pack, standard_error, unpack
from capsulet.errors import InputError


def run(classifier: str, draw: int, right: str, **changes: Any) -> dict[str, Any]:
    """A run; `right` has a 1 for each test row that is right."""
    figures = {
        "set": "some", "rows": "20", "rows_drawn": 120, "classes": 6, "draw": draw, "classifier": classifier,
        "options": {}, "data": f"draw {draw}", "accuracy": right.count("1") / len(right),
        "right": pack([one == "1" for one in right]), "seconds": 2.0, "cpu_seconds": 1.5,
    }  # fmt: skip
    figures |= {"valid_accuracy": 0.5} if classifier == "ours" else {"C": 10.0, "untuned": {"accuracy": 0.25}}
    return {**figures, **changes}


RUNS = [
    run("ours", 1, "1100"), run("ours", 2, "1110"),
    run("tf-idf", 1, "1000"), run("tf-idf", 2, "1000"),
    run("tf-idf-characters", 1, "1110"), run("tf-idf-characters", 2, "1111"),
]  # fmt: skip


def test_right_rows_are_kept() -> None:
    rows = [False, False, True, True, False]
    assert unpack(pack(rows)) == [0, 0, 1, 1, 0]
    assert unpack(pack([])) == []


def test_standard_errors() -> None:
    assert standard_error([1.0]) is None
    assert standard_error([1.0, 3.0]) == pytest.approx(1.0)
    assert mean_and_error([0.5, 0.52]) == "51.00 ± 1.00"
    assert mean_and_error([0.5]) == "50.00"
    one = compare([0.5, 0.6], [0.4, 0.3])
    assert one.mean == pytest.approx(20) and one.error_of_draws == pytest.approx(10) and one.error_of_test is None
    both = compare(
        [0.5, 0.75], [0.75, 1.0], [pack([1, 1, 0, 0]), pack([1, 1, 1, 0])], [pack([1, 1, 1, 0]), pack([1] * 4)]
    )
    assert both.error_of_draws == 0
    # the rows differ by 0, 0, -0.5 and -0.5
    assert both.error_of_test == pytest.approx(100 * math.sqrt(0.25 / 3) / 2)


def test_below_is_more_than_both_standard_errors() -> None:
    assert Difference(-5.1, 3.0, 4.0).below and not Difference(-4.9, 3.0, 4.0).below
    assert Difference(-5.1, None, None).below is None
    assert [verdict(Difference(mean, 1.0, None)) for mean in (-2.0, 0.5, 2.0)] == ["below", "equal", "above"]
    assert verdict(None) == verdict(Difference(1.0, None, None)) == ""
    assert Difference(-1.234, 3.0, 4.0).shown == "-1.23 ± 5.00"


def test_the_best_rival_is_compared_on_the_same_rows() -> None:
    found = Comparison(RUNS)
    assert found.best_rival == "tf-idf-characters"
    assert found.difference and found.difference.mean == pytest.approx(-25)
    other = Comparison([*RUNS[:4], run("tf-idf-characters", 1, "1111", data="other rows")])
    assert other.difference is None
    whole = Comparison([{**one, "data": "all"} for one in RUNS[:3]])  # the rival ran once
    assert whole.difference and whole.difference.mean == pytest.approx(100 * (0.625 - 0.25))
    assert Comparison(RUNS[:2]).difference is None
    f1 = Comparison([{**one, "macro_f1": 0.5} for one in RUNS], "macro_f1").difference
    assert f1 and f1.error_of_test is None


def test_table_and_summary_of_the_curve() -> None:
    few = [{**one, "rows": "2"} for one in RUNS]
    more = [{**one, "rows": "all"} for one in RUNS if one["classifier"] == "ours"]
    found = curve_points.points([*more, *RUNS, *few, *({**one, "set": "other"} for one in few)], ["some"])
    assert [point.rows for point in found] == ["2", "20", "all"]
    row = dict(zip(curve_points.COLUMNS, found[1].cells, strict=True))
    assert row["capsulet"] == "62.50 ± 12.50" and row["TF-IDF, words"] == "25.00 ± 0.00"
    assert row["difference"] == "-25.00" and row["capsulet is"] == "below" and row["rows"] == "120"
    assert found[1].rows_per_class == 20
    assert len(found[2].cells) == len(curve_points.COLUMNS) and found[2].cells[-4] == ""
    text = curve_points.summary(found)
    assert text.startswith("2 of 2 points below the best rival by more than one standard error; mean difference -25.00")
    assert "From 20 rows per class on: 1 of 1 points below" in text


def test_table_of_files() -> None:
    runs = [{**one, "case": "questions-20", "memory": 5e8, "first_model_seconds": 1.0} for one in RUNS]
    found = hard_files.comparisons(runs)
    assert list(found) == ["questions-20"]
    row = hard_files.cells("questions-20", found["questions-20"])
    assert len(row) == len(hard_files.COLUMNS)
    assert row[1:3] == ["accuracy", "62.50 ± 12.50"] and row[-2:] == ["500 MB", "500 MB / 500 MB"]
    assert hard_files.summary(found).startswith("1 of 1 files below")
    assert hard_files.summary({}) == "No file has runs of ours and of a rival yet."


def test_new_runs_replace_old_ones() -> None:
    identity = {"set": "some", "rows": "20", "draw": 1, "classifier": "ours"}
    same = run("ours", 1, "1111")
    assert [one["accuracy"] for one in jobs.merge(RUNS, same, identity) if one["classifier"] == "ours"] == [1.0, 0.75]
    other = run("ours", 1, "1111", options={"epochs": 1})
    kept = jobs.merge(RUNS, other, identity)
    assert [one["draw"] for one in kept if one["classifier"] == "ours"] == [1]  # no mixture of options
    assert len(kept) == 5


def test_sizes_are_parsed() -> None:
    assert parse_sizes(["default", "small:hidden_size=64,num_layers=1"]) == {
        "default": {}, "small": {"hidden_size": 64, "num_layers": 1},
    }  # fmt: skip
    for wrong in (["a", "a"], [":hidden_size=64"], ["a:hidden_size"], ["fasttext"], ["a:no_such_option=1"]):
        with pytest.raises(InputError):
            parse_sizes(wrong)


def test_sizes_and_rivals_are_rows() -> None:
    figures = {"set": "some", "accuracy": 0.9, "texts_per_second": 2000.0, "texts_per_second_alone": 500.0,
               "train_seconds": 3.0, "search_seconds": 3.0, "bytes": 10**6, "chosen": {"epoch": 3}}  # fmt: skip
    ours = {**figures, "name": "small", "peer": "ours", "options": {"hidden_size": 64}}
    other = {**figures, "name": "tf-idf", "peer": "tf-idf", "options": {}, "chosen": {"C": 3.0}}
    assert cells(ours) == ["capsulet, small", "90.00", "2,000", "500", "3.0", "3.0", "1.0 MB", "hidden_size=64"]
    assert [speed(one) for one in (ours, {**ours, "texts_per_second_alone": 9000.0})] == [2000, 9000]
    assert cells(other)[0] == "TF-IDF + LR" and cells(other)[-1] == "C=3.0"
    runs = merge_sizes([other, {**ours, "accuracy": 0.1}], ours)
    assert [one["accuracy"] for one in runs] == [0.9, 0.9] and runs[0]["peer"] == "ours"


def test_pictures_are_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install --group peers")
    from benchmarks import curve_plot, frontier_points

    svg = curve_plot.draw(RUNS, tmp_path / "curve.svg").read_text()
    assert svg == curve_plot.draw(RUNS, tmp_path / "again.svg").read_text()
    assert svg != curve_plot.draw(RUNS[:4], tmp_path / "less.svg").read_text()
    figures = {"set": "some", "texts_per_second": 2000.0, "texts_per_second_alone": 3000.0, "train_seconds": 0.0}
    runs = [
        {**figures, "name": name, "peer": peer, "accuracy": accuracy}
        for name, peer, accuracy in (("small", "ours", 0.9), ("tf-idf", "tf-idf", 0.8))
    ]
    assert frontier_points.draw(runs, tmp_path / "frontier.svg").read_text().count("<path") > 10


def test_the_pages_have_the_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from docs import curve, frontier, pages
    from docs import hard_files as files

    monkeypatch.setattr(pages, "RESULTS", tmp_path)
    assert all("Not yet measured" in "".join(module.parts().values()) for module in (curve, files, frontier))
    size = {"set": "trec6", "accuracy": 0.9, "texts_per_second": 2000.0, "texts_per_second_alone": 500.0,
            "train_seconds": 3.0, "search_seconds": 3.0, "bytes": 10**6, "chosen": {}, "options": {}, "name": "small",
            "peer": "ours"}  # fmt: skip
    cases = [{**one, "case": "questions-20", "memory": 5e8} for one in RUNS]
    contents = {"curve": RUNS, "hard_files": cases, "frontier": [size]}
    for name, runs in contents.items():
        record.write(name, {**record.circumstances(f"python -m benchmarks.{name}"), "runs": runs}, tmp_path)
    assert "| some | 20 | 120 | 62.50 ± 12.50 | 50.0 | 25.00 ± 0.00 |" in curve.parts()["curve"]
    assert "| questions, 6 classes, 20 rows per class | accuracy | 62.50 ± 12.50 |" in files.parts()["files"]
    assert "## TREC, 6 classes" in frontier.parts()["frontier"]
    assert "| capsulet, small | 90.00 | 2,000 | 500 |" in frontier.parts()["frontier"]
