"""Multi-label models: every head and routing agrees with torch, and a model folder agrees with its exported file."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path

import numpy as np
import pytest

import capsulet
from capsulet.errors import InputError, ModelError
from capsulet.evaluation.arrays import calibration_error
from capsulet.evaluation.evaluate import evaluate_pairs
from capsulet.runtime.matrix import Matrix
from tests.conftest import SETS, TINY, store_config, stored_config
from tests.test_contract import NASTY, Trained, load_trained

VARIANTS = [*itertools.product(["cwc"], ["capsule"], ["kmeans", "dynamic"]), ("cwc", "linear", "kmeans"),
            ("cc", "linear", "kmeans"), ("plain", "capsule", "kmeans")]  # fmt: skip


@pytest.fixture(scope="module", params=VARIANTS, ids="-".join)
def trained(request, sets_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Trained:
    embedding, head, routing = request.param
    path = tmp_path_factory.mktemp("multi") / "model"
    options = {**TINY, "epochs": 4, "embedding": embedding, "head": head, "routing": routing}
    capsulet.train(sets_file, path, valid=sets_file, multi_label=True, **options)
    return load_trained(path)


def test_the_runtime_agrees_with_torch(trained: Trained) -> None:
    lengths = np.asarray(capsulet.load(trained.path, precision="float32").lengths(NASTY))
    np.testing.assert_allclose(lengths, trained.torch_lengths(NASTY), atol=1e-5, rtol=0)
    assert (lengths >= 0).all() and (lengths <= 1).all()


def test_labels_are_those_that_reach_their_thresholds(trained: Trained) -> None:
    classifier = trained.classifier
    for lengths, prediction in zip(classifier.lengths(NASTY), classifier.predict(NASTY), strict=True):
        expected = {label for label, length, threshold in zip(
            classifier.labels, lengths, classifier.thresholds, strict=True) if length >= threshold}  # fmt: skip
        assert prediction.labels is not None and {label for label, _ in prediction.labels} == expected
        probabilities = [probability for _, probability in prediction.labels]
        assert probabilities == sorted(probabilities, reverse=True)
        assert prediction.probability == pytest.approx(max(classifier.probabilities(Matrix(lengths, len(lengths)))[0]))
    raw = classifier.predict(NASTY, lengths=True)
    assert [one.length for one in raw] == pytest.approx([max(row) for row in classifier.lengths(NASTY)])


def test_scores_are_calibrated_label_by_label(trained: Trained) -> None:
    """One curve for all labels, through which the order and the given labels stay what they were."""
    classifier = trained.classifier
    found, lengths = np.asarray(classifier.predict_proba(NASTY)), np.asarray(classifier.lengths(NASTY))
    stored = classifier.config.calibration
    assert stored["each"] is True and stored["texts"] == 12
    inside = np.clip(lengths.astype(np.float64), 1e-6, 1 - 1e-6)
    wanted = 1 / (1 + np.exp(-(stored["slope"] * np.log(inside / (1 - inside)) + stored["offset"])))
    np.testing.assert_allclose(found, wanted, atol=1e-9)
    for row, prediction in zip(found, classifier.predict(NASTY), strict=True):
        assert dict(prediction.labels or ()).items() <= dict(zip(classifier.labels, row, strict=True)).items()
    assert classifier.explain("match", classifier.labels[0]).probability == pytest.approx(
        classifier.predict_proba(["match"])[0, 0]
    )


def test_an_evaluation_says_how_reliable_scores_are(trained: Trained) -> None:
    result = evaluate_pairs(trained.classifier, ((text, labels) for labels, text in SETS))
    truth = np.array([[label in labels for label in trained.classifier.labels] for labels, _ in SETS])
    texts = [text for _, text in SETS]
    reliability = result.reliability
    assert reliability is not None
    assert sum(entry.count for entry in reliability.bins_after) == truth.size
    for error, numbers in (
        (reliability.error_before, trained.classifier.lengths(texts)),
        (reliability.error_after, trained.classifier.predict_proba(texts)),
    ):
        assert error == pytest.approx(calibration_error(np.asarray(numbers).ravel(), truth.ravel()), abs=1e-6)


def test_contributions_sum_to_the_length_before_squash(trained: Trained) -> None:
    for label in trained.classifier.labels:
        explanation = trained.classifier.explain("the match and the bank", label)
        total = sum(token.contribution for token in explanation.tokens)
        assert total == pytest.approx(explanation.length_before_squash, abs=1e-4)


def test_it_learns_its_twelve_texts(sets_model: Path) -> None:
    classifier = capsulet.load(sets_model)
    result = evaluate_pairs(classifier, ((text, labels) for labels, text in SETS))
    assert result.micro_f1 > 0.95 and result.subset_accuracy > 0.8 and result.count == 12
    found = classifier.predict([text for _, text in SETS])
    assert () in [prediction.labels for prediction in found] and max(len(one.labels or ()) for one in found) > 1


def test_one_label_a_text_stays_as_it_was(model: Path) -> None:
    classifier = capsulet.load(model)
    assert not classifier.multi_label and classifier.predict(["match"])[0].labels is None
    config = stored_config(model)
    assert "thresholds" not in config and "valid_micro_f1" not in config["metrics"]
    assert "micro_f1" not in (model / "training.jsonl").read_text()


def test_the_file_alone_has_the_thresholds(sets_model: Path, tmp_path: Path) -> None:
    file = shutil.copy(sets_model / "model.safetensors", tmp_path / "alone.safetensors")
    folder, alone = capsulet.load(sets_model), capsulet.load(file)
    assert alone.multi_label and alone.thresholds == folder.thresholds
    assert alone.predict(NASTY) == folder.predict(NASTY)


@pytest.mark.parametrize("thresholds", [None, [], [0.5, 0.5], [0.5, 0.5, 2], [0.5, 0.5, "x"], [0.5, 0.5, None]])
def test_damaged_thresholds(sets_model: Path, tmp_path: Path, thresholds) -> None:
    folder = tmp_path / "model"
    shutil.copytree(sets_model, folder)
    config = stored_config(folder)
    store_config(folder, {**config, "thresholds": thresholds})
    with pytest.raises(
        ModelError, match=r"thresholds is .*, expected (one number from 0 to 1 per label|a list of numbers)"
    ):
        capsulet.load(folder)


def test_a_label_that_it_does_not_know(sets_model: Path) -> None:
    with pytest.raises(InputError, match="label 'art' is unknown to the model: expected one of food, money, sport"):
        evaluate_pairs(capsulet.load(sets_model), [("a match", ["sport", "art"])])


def test_the_card_says_so(sets_model: Path, model: Path) -> None:
    card = (sets_model / "README.md").read_text()
    assert "multi-label classifier" in card and "| multi-label | micro-F1 " in card
    assert "gives one of the labels above to every text" not in card
    assert "multi-label" not in (model / "README.md").read_text()


def test_shards_get_lists(sets_model: Path, tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    from pyarrow import parquet

    from capsulet.runtime.ray import ShardLabeller

    texts = [text for _, text in SETS]
    parquet.write_table(pyarrow.table({"text": texts, "id": list(range(12))}), tmp_path / "in.parquet")
    labeller = ShardLabeller(str(sets_model))
    answer = labeller.label(str(tmp_path / "in.parquet"), str(tmp_path / "out.parquet"), {"text": [], "keep": ["id"]})
    assert answer == (12, "")
    found = parquet.read_table(tmp_path / "out.parquet")
    assert found.column_names == ["id", "labels", "probabilities"]
    given = [prediction.labels for prediction in capsulet.load(sets_model).predict(texts)]
    assert found["labels"].to_pylist() == [[label for label, _ in pairs] for pairs in given]
    assert [len(own) for own in found["probabilities"].to_pylist()] == [len(pairs) for pairs in given]
