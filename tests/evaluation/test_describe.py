"""The calibration of a model from its validation texts, after training and fitted again."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import capsulet
from capsulet.errors import InputError, ModelError
from capsulet.evaluation.calibrate import chosen_rows, describe_all
from capsulet.evaluation.evaluate import evaluate_pairs
from tests.conftest import TEXTS, TINY, store_config, stored_config

ALL = [text for _, text in TEXTS]


def without_calibration(model: Path, path: Path) -> Path:
    """The model as older versions wrote it."""
    shutil.copytree(model, path)
    config = stored_config(path)
    del config["calibration"]
    store_config(path, config)
    return path


@pytest.fixture
def old(model: Path, tmp_path: Path) -> Path:
    return without_calibration(model, tmp_path / "old")


def test_training_ends_with_a_calibration(model: Path) -> None:
    stored = stored_config(model)["calibration"]
    assert stored["texts"] == 12
    assert stored["confidence"]["reached"][-1] == stored["set_score"]["reached"][-1] == 12
    assert "Its probabilities are calibrated" in (model / "README.md").read_text()


def test_predict_returns_probabilities(model: Path) -> None:
    classifier = capsulet.load(model)
    probabilities = classifier.predict_proba([*ALL, "", "qzxv"])
    assert probabilities.shape == (14, 3)
    np.testing.assert_allclose(probabilities.sum(1), 1)
    assert [one.probability for one in classifier.predict(ALL)] == pytest.approx(probabilities[:12].max(1))
    raw = [prediction.length for prediction in classifier.predict(ALL, lengths=True)]
    assert raw == pytest.approx(np.asarray(classifier.lengths(ALL)).max(1))
    assert classifier.predict_proba([]).shape == (0, 3)
    with pytest.raises(InputError, match="predict_proba got one str"):
        classifier.predict_proba("the match")


def test_a_model_from_before_works_as_before(model: Path, old: Path) -> None:
    classifier = capsulet.load(old)
    probabilities = classifier.predict_proba(ALL)
    np.testing.assert_allclose(probabilities.sum(1), 1)
    assert [one.probability for one in classifier.predict(ALL)] == pytest.approx(probabilities.max(1))
    reliability = evaluate_pairs(classifier, ((text, label) for label, text in TEXTS)).reliability
    assert reliability is not None and reliability.error_after is None
    for wish in ({"abstain": True}, {"coverage": 0.9}, {"max_error": 0.1}, {"sets": 0.9}):
        with pytest.raises(InputError, match=r"`capsulet\.calibrate\(.*old', valid=FILE\)`"):
            classifier.predict(ALL, **wish)


def test_calibrating_gives_what_training_gave(model: Path, old: Path, rows_file: Path) -> None:
    found = capsulet.calibrate(old, valid=rows_file)
    config = stored_config(model)
    assert json.loads(json.dumps(found)) == config["calibration"]
    assert stored_config(old)["calibration"] == config["calibration"]
    assert (old / "model.safetensors").read_bytes() == (model / "model.safetensors").read_bytes()
    assert capsulet.load(old).predict(ALL) == capsulet.load(model).predict(ALL)


def test_the_validation_part_is_cut_as_training_cut_it(rows_file: Path, tmp_path: Path) -> None:
    options = {**TINY, "epochs": 1, "valid_fraction": 0.34}
    capsulet.train(rows_file, tmp_path / "model", **options)
    there = stored_config(tmp_path / "model")["calibration"]
    assert there["texts"] == 4
    found = capsulet.calibrate(without_calibration(tmp_path / "model", tmp_path / "old"), rows_file)
    assert json.loads(json.dumps(found)) == there


def test_an_edited_card_is_kept(old: Path, rows_file: Path) -> None:
    (old / "README.md").write_text("mine")
    capsulet.calibrate(old, valid=rows_file)
    assert (old / "README.md").read_text() == "mine"


def test_the_file_alone_has_it_too(model: Path, tmp_path: Path) -> None:
    alone = shutil.copy(model / "model.safetensors", tmp_path / "alone.safetensors")
    one, other = capsulet.load(model), capsulet.load(alone)
    assert other.config.calibration == one.config.calibration is not None
    assert other.predict(ALL, abstain=True, sets=0.8) == one.predict(ALL, abstain=True, sets=0.8)


def test_what_cannot_be_calibrated(model: Path, old: Path, rows_file: Path, tmp_path: Path) -> None:
    before = (old / "model.safetensors").read_bytes()
    with pytest.raises(InputError, match="one of the two"):
        capsulet.calibrate(old)
    with pytest.raises(InputError, match="the model was trained on 12 and validated on 12: name the same files, or"):
        capsulet.calibrate(old, rows_file)
    with pytest.raises(ModelError, match="is not a folder"):
        capsulet.calibrate(tmp_path / "nowhere", rows_file)
    (tmp_path / "one.csv").write_text("label,text\nsport,the match\n")
    with pytest.raises(InputError, match="1 validation text, expected at least 2"):
        capsulet.calibrate(old, valid=tmp_path / "one.csv")
    (tmp_path / "other.csv").write_text("label,text\nart,a painting\n")
    with pytest.raises(InputError, match="label 'art' is not a label of the training texts"):
        capsulet.calibrate(old, valid=tmp_path / "other.csv")
    assert (old / "model.safetensors").read_bytes() == before
    assert describe_all(capsulet.load(model), [], np.zeros((0, 3), bool)) == {}


def test_of_very_many_texts_some_are_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("capsulet.evaluation.calibrate.MOST_ROWS", 10)
    rows = chosen_rows(1000)
    assert len(set(rows.tolist())) == 10 and (np.diff(rows) > 0).all()
    assert chosen_rows(10).tolist() == list(range(10))


def test_strange_texts_get_no_label(model: Path) -> None:
    strange = ["", "   ", "qzxv wpfl unseen", "Der Hund schläft im Garten", "你好，世界", "☃☃☃"]
    found = capsulet.load(model).predict([*strange, *ALL], abstain=True)
    assert [(prediction.label, prediction.reason) for prediction in found[:6]] == [(None, "unknown words")] * 6
    assert [prediction.label for prediction in found[6:]] == [label for label, _ in TEXTS]
    assert found[0].top[0][0] in ("food", "money", "sport")


def test_coverage_and_sets(model: Path) -> None:
    classifier = capsulet.load(model)
    assert sum(prediction.label is not None for prediction in classifier.predict(ALL, coverage=0.5)) == 7  # ⌈13 · ½⌉
    assert all(prediction.label for prediction in classifier.predict([*ALL, ""], coverage=1.0))
    found = classifier.predict(ALL, sets=0.9)
    assert all(label in prediction.label_set for (label, _), prediction in zip(TEXTS, found, strict=True))
    assert all(len(prediction.label_set) == 3 for prediction in classifier.predict(ALL, sets=0.99)), (
        "12 texts know no more"
    )
