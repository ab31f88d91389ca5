"""What a compressed file says of itself is true of the file, not of the model that it was made of."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import capsulet
from capsulet.compression import file as files
from capsulet.compression import goal, search, students
from capsulet.compression.file import json_bytes, thinned_calibration
from capsulet.evaluation import calibrate as validation
from capsulet.evaluation import rankings
from capsulet.evaluation.arrays import label_matrix
from capsulet.runtime.classifier import unknown_shares
from tests.conftest import TINY, store_config, stored_config
from tests.drifting.test_drift import made_up, write_rows

PARTS = ("calibration", "histograms")


@pytest.fixture(scope="module")
def unseen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_rows(tmp_path_factory.mktemp("unseen") / "rows.jsonl", made_up(300, 1))


@pytest.fixture(scope="module")
def whole(unseen: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that has seen too little to be always right; read it, do not change it."""
    rows = write_rows(tmp_path_factory.mktemp("seen") / "rows.jsonl", made_up(40, 0))
    path = tmp_path_factory.mktemp("models") / "whole"
    capsulet.train(rows, path, valid=unseen, **{**TINY, "epochs": 4})
    return path


def small_file(whole: Path, unseen: Path | None, out: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """With texts: compressed to few of the words; the texts are both to adapt to and to describe by."""
    monkeypatch.setattr(students, "FEWEST_STEPS", 2)
    monkeypatch.setattr(goal, "FEWEST_WORDS", 4)
    monkeypatch.setattr(search, "BITS", (4,))
    if unseen is None:
        return capsulet.load(capsulet.compress(whole, out=out, threads=1).path)
    found = capsulet.compress(whole, unseen, out, valid=unseen, max_loss=100, threads=1)
    assert found.words < found.words_before
    return capsulet.load(found.path)


def test_it_is_fitted_to_what_the_file_says(
    whole: Path, unseen: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = small_file(whole, unseen, tmp_path / "small.safetensors", monkeypatch)
    rows = [json.loads(line) for line in unseen.read_text().splitlines()]
    texts = [row["text"] for row in rows]
    encoded = small.session.encode(texts)
    truth = label_matrix([row["label"] for row in rows], small.labels, multi_label=False)
    expected = validation.describe_all(small, texts, truth)
    found = {part: getattr(small.config, part) for part in PARTS}
    assert found["calibration"]["factor"] == pytest.approx(expected["calibration"]["factor"], rel=1e-3)
    assert found["histograms"] == json.loads(json.dumps(expected["histograms"]))
    unknown = unknown_shares(encoded, small.session)
    certainty = small.session.certainty(small.session.classify(texts)[0], unknown)
    ranking = rankings.ranking_from_json(found["calibration"]["certainty"], "small")
    for value, reached in zip(ranking.values[::20], ranking.reached[::20], strict=True):
        assert abs(sum(own >= value - 1e-5 for own in certainty) - reached) <= 1
    before = stored_config(whole)
    assert found["calibration"]["factor"] != before["calibration"]["factor"]


def test_without_texts_it_is_that_of_the_whole_model(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "FEW_VALUES", 20)
    small = small_file(whole, None, tmp_path / "small.safetensors", monkeypatch)
    before = stored_config(whole)
    kept = {key: small.config.calibration.pop(key) for key in rankings.RANKINGS}
    assert small.config.calibration == {
        key: value for key, value in before["calibration"].items() if key not in rankings.RANKINGS
    }
    for key, ranking in kept.items():
        assert len(ranking["values"]) <= 20 < len(before["calibration"]["certainty"]["values"])
        assert set(ranking["values"]) <= set(before["calibration"][key]["values"])


def test_a_model_without_a_calibration_of_its_own_or_with_a_small_one(
    whole: Path, unseen: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = small_file(whole, unseen, tmp_path / "whole.safetensors", monkeypatch).config.calibration
    wanted = len(found["certainty"]["values"])
    few = thinned_calibration(stored_config(whole)["calibration"], 900)["calibration"]
    assert len(few["certainty"]["values"]) < wanted - 5
    for stored in (None, few):
        copy = tmp_path / f"copy-{stored is None}"
        shutil.copytree(whole, copy)
        config = stored_config(copy)
        config.pop("calibration")
        store_config(copy, config if stored is None else {**config, "calibration": stored})
        found = small_file(copy, unseen, tmp_path / f"{stored is None}.safetensors", monkeypatch).config.calibration
        assert len(found["certainty"]["values"]) == wanted


def test_texts_that_it_was_trained_on_describe_nothing(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of files other than those of the training nobody knows which part the model has seen."""
    monkeypatch.setattr(students, "FEWEST_STEPS", 2)
    monkeypatch.setattr(search, "BITS", (8,))
    said: list[str] = []
    rows = write_rows(tmp_path / "rows.jsonl", made_up(500, 0))
    made = capsulet.compress(whole, rows, tmp_path / "small.safetensors", max_loss=100, threads=1, tell=said.append)
    before = stored_config(whole)
    found = capsulet.load(made.path).config
    assert found.calibration["factor"] == before["calibration"]["factor"]
    assert set(found.histograms) <= {"texts", "length", "unknown"}
    assert any("500 rows, split into" in line for line in said)


def test_a_calibration_by_other_texts_is_replaced_with_a_note(
    unseen: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(students, "FEWEST_STEPS", 2)
    monkeypatch.setattr(search, "BITS", (8,))
    rows = write_rows(tmp_path / "rows.jsonl", made_up(200, 3))
    model = tmp_path / "model"
    capsulet.train(rows, model, **{**TINY, "epochs": 2, "valid_fraction": 0.2})
    for others in (False, True):
        if others:
            capsulet.calibrate(model, valid=unseen)
        said: list[str] = []
        made = capsulet.compress(model, rows, tmp_path / "small.safetensors", max_loss=100, threads=1, tell=said.append)
        assert capsulet.load(made.path).config.calibration["texts"] == 40
        assert any("the model was calibrated on 300 other texts" in line for line in said) == others
    made = capsulet.compress(model, rows, tmp_path / "small.safetensors", valid=unseen, max_loss=100, threads=1)
    assert capsulet.load(made.path).config.calibration["texts"] == 300


def test_it_takes_no_more_bytes_than_it_may(whole: Path) -> None:
    config = stored_config(whole)
    most = json_bytes(thinned_calibration(config["calibration"]))
    for share in (1, 0.8, 0.3):
        found = thinned_calibration(config["calibration"], share * most)
        assert 0.8 * share * most < json_bytes(found) <= share * most
        for key in rankings.RANKINGS:
            rankings.ranking_from_json(found["calibration"][key], "here")
    assert thinned_calibration(None) == {}
