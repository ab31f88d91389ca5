"""The learning curve from data to results file: each run in its process, none of them twice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import curve, hard_files, jobs, record


def test_runs_are_stored_and_not_repeated(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(record, "RESULTS", tmp_path)
    words = ["--data", str(data), "--sets", "tiny", "--rows", "4", "--draws", "1", "--options", "epochs=1", "--write"]
    curve.main(words)
    assert "tiny" in capsys.readouterr().out
    runs = {run["classifier"]: run for run in json.loads((tmp_path / "curve.json").read_text())["runs"]}
    assert set(runs) == set(jobs.CLASSIFIERS)
    for run in runs.values():
        assert (run["rows_drawn"], run["classes"], run["test_rows"]) == (12, 3, 90)
        assert run["memory"] > 10**7 and run["seconds"] > 0 and run["cpu_seconds"] > 0
    ours, rival = runs["ours"], runs["tf-idf"]
    assert 0 < ours["first_model_seconds"] <= ours["seconds"]
    assert ours["options"] == {"epochs": 1} and rival["options"] == {}
    assert rival["C"] in (1, 3, 10, 30, 100) and set(rival["untuned"]) == {"accuracy", "macro_f1"}
    assert rival["accuracy"] > 0.4  # of three classes

    monkeypatch.setattr(jobs, "execute", lambda job: pytest.fail("a stored run was repeated"))
    curve.main([*words, "--json"])
    monkeypatch.setattr(jobs, "execute", lambda job: {"failure": "no memory"})
    with pytest.raises(SystemExit):
        curve.main([*words[:6], "5", *words[7:]])
    assert "tiny 5 1 ours: no memory" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("main", "words", "message"),
    [
        (curve.main, ["--sets", "tiny", "--rows", "0"], "--rows 0: expected a number of at least 1, or all"),
        (curve.main, ["--sets", "nothing"], "has no folder nothing"),
        (curve.main, ["--sets", "tiny", "--options", "no_such=1"], "no_such"),
        (hard_files.main, ["--jobs", "0"], "--jobs 0: expected a number of at least 1"),
        (hard_files.main, ["--cases", "uneven"], "has no folder trec6"),
    ],
)
def test_bad_input_is_one_line(
    data: Path, capsys: pytest.CaptureFixture[str], main: object, words: list[str], message: str
) -> None:
    assert callable(main)
    with pytest.raises(SystemExit):
        main(["--data", str(data), *words])
    assert message in capsys.readouterr().err.splitlines()[-1]
