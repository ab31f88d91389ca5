"""Reports as files: of a training beside its model, of an evaluation where it was asked for."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest

import capsulet
from capsulet.errors import CapsuletError, InputError

QUICK = {
    "network": "always", "epochs": 2, "min_count": 1, "hidden_size": 8, "embedding_size": 4, "class_length": 4,
    "threads": 1,
}  # fmt: skip


def words(page: Path) -> str:
    """What a page says, without its elements."""
    text = re.sub(r"<style>.*?</style>|<script>.*?</script>|<[^>]*>", " ", page.read_text(), flags=re.S)
    return " ".join(unescape(text).split())


def test_a_training_writes_a_report_beside_its_model(rows_file: Path, tmp_path: Path) -> None:
    result = capsulet.train(rows_file, tmp_path / "model", valid=rows_file, **QUICK)
    page = tmp_path / "model.report.html"
    assert result.report == str(page)
    said = words(page)
    assert "Training of model" in said
    assert "the 12 validation texts, which also selected the epoch" in said
    assert f"capsulet train {rows_file} --out {tmp_path / 'model'} --valid {rows_file}" in said
    assert "Epoch" in said and "of 2 was kept" in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "model.report.html"]
    again = capsulet.train(rows_file, tmp_path / "model", report=None, **QUICK)  # its own training texts, and no page
    assert again.report is None


def test_a_training_without_validation_rows_says_so(rows_file: Path, tmp_path: Path) -> None:
    page = tmp_path / "elsewhere" / "page.html"
    result = capsulet.train(rows_file, tmp_path / "model", report=page, valid_fraction=0.01, **QUICK)
    assert result.report == str(page)
    assert "the 12 training texts" in words(page)
    assert not (tmp_path / "model.report.html").exists()


@pytest.mark.parametrize("shape", ["folder", "file"])
def test_an_evaluation_writes_the_report_that_was_asked_for(
    model: Path, rows_file: Path, tmp_path: Path, shape: str
) -> None:
    if shape == "file":
        model = Path(shutil.copy(model / "model.safetensors", tmp_path / "alone.safetensors"))
    page = tmp_path / "page.html"
    result = capsulet.evaluate(model, rows_file, report=page)
    assert result == capsulet.evaluate(model, rows_file)
    said = words(page)
    assert f"{model.name} on rows.jsonl" in said
    assert f"capsulet evaluate {model} {rows_file} --report {page}" in said
    assert ("Learning" in said) == (shape == "folder")
    assert "None: every text was given exactly its labels." in said


def test_a_text_with_a_script_stays_a_text(model: Path, tmp_path: Path) -> None:
    evil = "<script>alert('the match')</script> after extra time"
    rows = tmp_path / "rows.csv"
    rows.write_text(f"label,text\nfood,{evil}\nsport,{evil}\nmoney,{evil}\n")  # at least two are mistakes
    capsulet.evaluate(model, rows, report=tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert page.count("<script") == page.count("</script") == 1
    assert unescape(re.sub("<[^>]*>", "", page)).count(evil) == 2


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("page.txt", "does not end in .html"),
        (".", "is a folder"),
        ("model/page.html", "lies inside a model"),
        ("rows.csv/page.html", "cannot be written to"),
    ],
)
def test_places_that_no_report_can_be_written_to(
    model: Path, rows_file: Path, tmp_path: Path, name: str, message: str
) -> None:
    (tmp_path / "rows.csv").touch()
    (tmp_path / "model").symlink_to(model)
    with pytest.raises(InputError, match=message):
        capsulet.evaluate(model, rows_file, report=tmp_path / name)
    with pytest.raises(InputError, match=message):
        capsulet.train(rows_file, tmp_path / "new", report=tmp_path / name, **QUICK)
    assert not (tmp_path / "new").exists()


def test_what_a_killed_process_has_left_is_swept_away(model: Path, rows_file: Path, tmp_path: Path) -> None:
    dead = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True)
    ours, theirs = (tmp_path / f".page.html.{process}.part" for process in (int(dead.stdout), os.getppid()))
    ours.touch()
    theirs.touch()
    capsulet.evaluate(model, rows_file, report=tmp_path / "page.html")
    assert sorted(path.name for path in tmp_path.iterdir()) == [theirs.name, "page.html"]


def test_a_full_disk_leaves_the_old_report(
    model: Path, rows_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, data: bytes) -> None:
        path.write_bytes(data[:10])
        raise OSError(28, "No space left on device")

    page = tmp_path / "page.html"
    page.write_text("old")
    monkeypatch.setattr("capsulet.storage.atomic.write_file", full)
    with pytest.raises(CapsuletError, match=r"could not be written: No space left"):
        capsulet.evaluate(model, rows_file, report=page)
    assert page.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
