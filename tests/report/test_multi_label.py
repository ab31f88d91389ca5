"""Reports of multi-label models."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest

import capsulet
from capsulet.evaluation.evaluate import evaluate_pairs
from capsulet.evaluation.labels import LabelledTexts
from capsulet.report.classes import MOST_SIZES
from capsulet.report.measures import MOST_MISTAKES, Measures, Mistake, Recorder
from capsulet.report.page import Report, render
from capsulet.results import Epoch, Explanation, TokenContribution
from capsulet.runtime.matrix import Matrix
from tests.conftest import SETS, stored_config
from tests.report.test_page import EVIL, Make, Reader
from tests.report.test_writer import QUICK, words

PAIRS = [(text, labels) for labels, text in SETS]
MOST_OF_A_KIND = MOST_MISTAKES // 2
TITLES = [
    "Learning",
    "Labels",
    "Labels per text",
    "Trust",
    "Most confident mistakes",
    "Data",
    "Sizes",
    "How it was made",
]


@pytest.fixture
def measures(sets_model: Path) -> Measures:
    """Of labels that are all wrong: the true ones are left out, and all others are there."""
    classifier = capsulet.load(sets_model)
    wrong = [(text, [name for name in classifier.labels if name not in labels]) for text, labels in PAIRS]
    recorder = Recorder(classifier)
    return recorder.finish(evaluate_pairs(classifier, wrong, recorder))


def test_what_is_counted(sets_model: Path) -> None:
    classifier, texts = capsulet.load(sets_model), [text for text, _ in PAIRS]
    recorder = Recorder(classifier)
    evaluation = evaluate_pairs(classifier, iter(PAIRS), recorder)
    found = recorder.finish(evaluation)
    given = [{label for label, _ in one.labels or ()} for one in classifier.predict(texts)]
    assert found.given_counts == [sum(label in one for one in given) for label in classifier.labels]
    assert found.true_sizes == [2, 6, 3, 1]
    sizes = [len(one) for one in given]
    assert found.given_sizes == [sizes.count(number) for number in range(4)]
    assert list(found.tokens) == [len(classifier.explain(text).tokens) for text in texts]
    assert found.unknown_share == 0 and found.evaluation == evaluation
    wrong = sum(bool(one - set(labels)) for one, (_, labels) in zip(given, PAIRS, strict=True))
    missing = sum(bool(set(labels) - one) for one, (_, labels) in zip(given, PAIRS, strict=True))
    assert (len(found.mistakes), len(found.missed)) == (wrong, missing)


def test_unknown_words_are_counted_in_a_compressed_file_too(sets_model: Path, tmp_path: Path) -> None:
    capsulet.compress(sets_model, out=tmp_path / "small.safetensors", threads=1)
    classifier = capsulet.load(tmp_path / "small.safetensors")
    recorder = Recorder(classifier)
    evaluation = evaluate_pairs(classifier, iter([(f"{PAIRS[0][0]} qzxv", classifier.labels[:1])]), recorder)
    measures = recorder.finish(evaluation)
    assert measures.unknown_share == pytest.approx(1 / measures.tokens[0])


def test_the_most_confident_mistakes_come_first(sets_model: Path, measures: Measures) -> None:
    classifier = capsulet.load(sets_model)
    for mistakes, given in ((measures.mistakes, True), (measures.missed, False)):
        assert 0 < len(mistakes) <= MOST_OF_A_KIND
        margins = []
        for one in mistakes:
            label = one.explanation.label
            assert (label in one.given, label in one.truth) == (given, not given)
            place = classifier.labels.index(label)
            assert one.probability == pytest.approx(float(classifier.predict_proba([one.text])[0][place]), abs=1e-6)
            assert one.compared == classifier.probability_thresholds[place]
            way = 1 - one.compared if given else one.compared
            margins.append(abs(one.probability - one.compared) / way)
        assert margins == sorted(margins, reverse=True)


def test_only_the_worst_are_kept(sets_model: Path) -> None:
    """Made-up probabilities: that of `food`, which text k is given, grows with k; `money` is missed likewise."""
    classifier = capsulet.load(sets_model)
    thresholds, count = classifier.thresholds, 3 * MOST_OF_A_KIND
    shares = np.random.default_rng(0).permutation(count) / count
    lengths = np.stack([thresholds[0] + shares * (1 - thresholds[0]), thresholds[1] * (0.99 - shares * 0.99)], 1)
    lengths = np.concatenate([lengths, np.zeros((count, 1))], 1).astype(np.float32)
    recorder = Recorder(classifier)
    truth = [(classifier.labels.index("money"),)] * count
    texts = [f"match {share:.3f}" for share in shares]
    recorder(LabelledTexts(texts, classifier.session.encode(texts), truth), Matrix(lengths, 3))
    found = recorder.finish(evaluate_pairs(classifier, [("match", [])]))
    expected = [f"match {share:.3f}" for share in sorted(shares, reverse=True)[:MOST_OF_A_KIND]]
    assert [one.text for one in found.mistakes] == [one.text for one in found.missed] == expected
    assert {one.explanation.label for one in found.missed} == {"money"}


def report_of(report: Report, measures: Measures, **changes: object) -> Report:
    epochs = [
        Epoch(number, 10, 100, 0.1, 1 / number, 1.2 / number, 0.1, True, 0.5 - 0.1 / number, 0.6 - 0.1 / number)
        for number in (1, 2, 3)
    ]
    return dataclasses.replace(report, measures=measures, epochs=epochs, **changes)


def test_every_section_is_there(make_report: Make, measures: Measures) -> None:
    page = render(report_of(make_report(3), measures))
    reader, found = Reader(page), measures.evaluation
    assert reader.open == [] and reader.words["h2"] == TITLES
    assert reader.elements.count("svg") == 5
    reliability = found.reliability
    assert f"expected calibration error {reliability.error_after:.3f}" in page
    assert f"class lengths, {reliability.error_before:.3f}" in page
    for value in (found.micro_f1, found.macro_f1, found.accuracy):
        assert f"{100 * round(value, 4):.4g} %" in reader.words["dd"]
    cells = re.findall(r"<td[^>]*>(?:<bdi>)?([^<]*)", page)
    for place, label in enumerate(measures.labels):
        row = cells.index(label)
        assert cells[row + 4 : row + 7] == [
            f"{measures.thresholds[place]:.3f}", str(found.classes[place].count), str(measures.given_counts[place]),
        ]  # fmt: skip
    for cut, value in found.precision_at.items():
        assert cells[cells.index(cut, cells.index(measures.labels[-1])) + 1] == f"{100 * value:.1f}"
    assert "micro-F1 56.67 % on all validation texts" in page
    assert "Given, and not in the files" in page and "In the files, and not given" in page


def test_what_comes_from_data_stays_text(make_report: Make, measures: Measures) -> None:
    tokens = (TokenContribution(EVIL[:8], 0, 8, 1.0), TokenContribution(EVIL[8:20], 8, 20, -1.0))
    mistake = Mistake(EVIL, (EVIL,), (EVIL,), 0.9, 0.1, Explanation(EVIL, 0.9, 0.9, 1.0, tokens))
    classes = tuple(dataclasses.replace(scores, label=EVIL) for scores in measures.evaluation.classes)
    evil = dataclasses.replace(
        measures, labels=(EVIL,) * 3, evaluation=dataclasses.replace(measures.evaluation, classes=classes),
        mistakes=(mistake,), missed=(mistake,),
    )  # fmt: skip
    reader = Reader(render(report_of(make_report(3), evil)))
    assert reader.open == [] and reader.elements.count("script") == 1 and "img" not in reader.elements


def test_no_mistakes_and_very_many_labels_per_text(make_report: Make, measures: Measures) -> None:
    sizes = list(range(1, MOST_SIZES + 10))
    right = dataclasses.replace(measures, mistakes=(), missed=(), true_sizes=sizes, given_sizes=sizes[::-1])
    page = render(report_of(make_report(3), right))
    assert "None: every text was given exactly its labels." in page
    assert f">{MOST_SIZES}+</text>" in page and Reader(page).open == []
    largest = f"{MOST_SIZES}+ labels in the files: {sum(sizes[MOST_SIZES:])} texts"
    assert largest in page


def test_a_training_and_an_evaluation_write_reports(sets_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "model"
    result = capsulet.train(sets_file, out, valid=sets_file, multi_label=True, **QUICK)
    assert result.report == str(tmp_path / "model.report.html")
    said = words(Path(result.report))
    assert "the 12 validation texts" in said and "of 2 was kept: micro-F1" in said and "Labels per text" in said
    metrics = stored_config(out)["metrics"]
    assert metrics["valid_f1"].keys() == {"food", "money", "sport"} and metrics["valid_measured"] == 12
    assert metrics["valid_macro_f1"] == pytest.approx(result.best.valid_macro_f1)
    card = (out / "README.md").read_text()
    assert f"| food | 5 | {100 * metrics['valid_f1']['food']:.1f} % |" in card
    assert f"subset accuracy {100 * result.best.valid_accuracy:.2f} % on the 12 validation texts" in card

    page = tmp_path / "page.html"
    found = capsulet.evaluate(out, sets_file, report=page)
    assert found == capsulet.evaluate(out, sets_file)
    assert f"subset accuracy {100 * round(found.accuracy, 4):.4g} %" in words(page)
