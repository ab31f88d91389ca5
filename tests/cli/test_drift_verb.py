"""`capsulet drift` on the terminal."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.conftest import store_config, stored_config
from tests.drifting.test_drift import made_up, texts_of, write_rows


@pytest.fixture(scope="module")
def counted(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny model with histograms of texts made up of its words; read it, do not change it."""
    import capsulet

    folder = tmp_path_factory.mktemp("counted")
    copy = shutil.copytree(model, folder / "model")
    capsulet.calibrate(copy, valid=write_rows(folder / "rows.jsonl", made_up(300, 0)))
    return copy


def lines(path: Path, texts: list[str]) -> Path:
    path.write_text("".join(text + "\n" for text in texts))
    return path


def test_no_drift(run, counted: Path, tmp_path: Path) -> None:
    answer = run("drift", counted, lines(tmp_path / "new.txt", texts_of(200, 1)), "--strict")
    assert (answer.status, answer.err) == (0, "")
    verdict, sentence, *table = answer.out.splitlines()
    assert verdict.startswith("no drift: p ")
    assert sentence == "The new texts look like the validation texts: no difference is clear enough to rule out chance."
    assert "200 texts against 300 validation texts; false alarm rate at most 1 %" in verdict
    assert [line.split()[1] for line in table[1:6]] == ["unknown", "lengths", "codes", "classes", "probabilities"]
    assert "●" not in answer.out and table[6].startswith("unknown words, with the number of texts: qz")


def test_drift_in_words_and_status(run, counted: Path, tmp_path: Path) -> None:
    file = lines(tmp_path / "new.txt", [" ".join(text.split()[:2]) + " selfie" for text in texts_of(200, 1)])
    answer = run("drift", counted, file)
    assert (answer.status, answer.err) == (0, "")
    assert answer.out.startswith("strong drift in unknown words, lengths")
    assert "● texts shorter: median 9 → 3 tokens" in answer.out and "selfie 200" in answer.out
    sentence = answer.out.splitlines()[1]
    assert "texts are shorter: 3 tokens instead of 9 (median)" in sentence
    assert "of the words are unknown to the model instead of" in sentence and "such as “selfie” (200 texts)" in sentence
    assert "codebook" not in sentence
    assert run("drift", counted, file, "--strict").status == 1


def test_json_is_one_object(run, counted: Path, tmp_path: Path) -> None:
    rows = write_rows(tmp_path / "new.jsonl", made_up(100, 2) + made_up(100, 3, ("food",)))
    answer = run("drift", counted, rows, "--json", "--window", "100", "--false-alarm", "0.05")
    found = json.loads(answer.out)
    assert answer.status == 0 and found["drifted"] and found["false_alarm"] == 0.05
    assert [part["name"] for part in found["parts"]] == ["unknown", "length", "codes", "classes", "probability"]
    assert [window["drifted"] for window in found["windows"]] == [False, True]
    first, second = answer.err.splitlines()
    assert first.startswith("texts 1 to 100: no drift, p ")
    assert second.startswith("texts 101 to 200: drift, p ") and "predicted classes: " in second
    assert run("drift", counted, rows, "--window", "100", "--strict", "--text-column", "text").status == 1


def test_standard_input_without_torch(run_process, counted: Path, tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('torch was loaded')")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    answer = run_process("drift", counted, "-", input="\n".join(texts_of(60, 4)), env={"PYTHONPATH": path})
    assert (answer.status, answer.err) == (0, "")
    assert "60 texts against 300 validation texts" in answer.out


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "empty"),
        ("text\n", "a header but no rows"),
        ("text\nthe match\n", "too few texts to test for drift (1), expected at least 20: collect more"),
        ("\x00\x01\x02PNG\n", "new.csv"),
    ],
)
def test_files_that_cannot_be_compared(run, counted: Path, tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "new.csv").write_text(content)
    answer = run("drift", counted, tmp_path / "new.csv")
    assert (answer.status, answer.out) == (2, "")
    assert message in answer.line


def test_models_that_cannot_be_compared_with(run, model: Path, counted: Path, tmp_path: Path) -> None:
    file = lines(tmp_path / "new.txt", texts_of(30, 1))
    answer = run("drift", model, file)  # twelve validation texts are too few
    assert (answer.status, answer.out) == (2, "")
    assert (
        "has no histograms of its validation texts, which drift compares with: run `capsulet calibrate" in answer.line
    )
    assert "does not exist" in run("drift", tmp_path / "nothing", file).line
    assert "not a model" in run("drift", tmp_path, file).line
    assert "is not a model, or it is damaged" in run("drift", file, file).line
    assert "no.csv: no such file" in run("drift", counted, tmp_path / "no.csv").line
    assert "--false-alarm is 2.0: expected a share" in run("drift", counted, file, "--false-alarm", "2").line
    config = stored_config(counted)
    copy = shutil.copytree(counted, tmp_path / "copy")
    store_config(copy, {**config, "histograms": {"texts": 3}})
    assert "is damaged: the histograms of its validation texts" in run("drift", copy, file).line
