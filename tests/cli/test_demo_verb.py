"""`capsulet demo`, on a standard library of a few files."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import pytest

from capsulet.cli import train


@pytest.fixture
def small_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two modules of ten docstrings, and trainings of two epochs."""
    library = tmp_path / "library"
    library.mkdir()
    for name in ("tea", "milk"):
        functions = [f'def f{number}():\n    "Pour the {name} into cup number {number}"\n' for number in range(10)]
        (library / f"{name}.py").write_text("".join(functions))
    monkeypatch.setattr(sysconfig, "get_paths", lambda *_: {"stdlib": str(library)})
    real = train.given_values
    quick = {"epochs": 2, "hidden_size": 8, "threads": 1}
    monkeypatch.setattr(train, "given_values", lambda *arguments: {**real(*arguments), **quick})


def test_all_of_it_and_again(run, small_library: None, tmp_path: Path) -> None:
    folder = tmp_path / "a [b] folder"
    for _ in range(2):
        answer = run("demo", "--out", folder)
        assert answer.status == 0, answer.err
    assert sorted(path.name for path in folder.iterdir()) == ["model", "model.report.html", "test.jsonl", "train.jsonl"]
    assert "16 docstrings to train on, 4 to test on, of 2 modules: milk, tea" in answer.err
    assert f"$ capsulet train {folder}/train.jsonl --out {folder}/model" in answer.out
    assert "always the largest module     50.0 %" in answer.out
    assert "counting words (naive Bayes) 100.0 %" in answer.out
    for name in ("tea", "milk"):
        assert answer.out.count(f"  Pour the {name} into cup number ") == 1
    assert "your own data     capsulet train FILE.csv --out MODEL" in answer.out


def test_it_writes_over_nothing(run, small_library: None, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "train.jsonl").write_text("mine")
    (tmp_path / "mine" / "thesis.tex").write_text("mine")
    answer = run("demo", "--out", tmp_path / "mine")
    assert answer.status == 2
    assert "contains 'thesis.tex', which is not from a demo: choose another --out" in answer.line
    assert (tmp_path / "mine" / "train.jsonl").read_text() == "mine"
    answer = run("demo", "--out", tmp_path / "mine" / "thesis.tex")
    assert answer.status == 2
    assert "cannot be used as a folder (File exists)" in answer.line


def test_a_wrong_seed(run, small_library: None, tmp_path: Path) -> None:
    answer = run("demo", "--out", tmp_path / "new", "--seed", "-1")
    assert answer.status == 2
    assert "--seed is -1" in answer.err.splitlines()[-1]
