"""Texts in, labels and probabilities out, in order and in bounded memory."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import capsulet
from capsulet.errors import InputError
from capsulet.evaluation.evaluate import evaluate_pairs
from capsulet.runtime.class_words import class_words
from capsulet.runtime.classifier import FIRST_WINDOW, LARGEST_WINDOW, Classifier, windows

WORDS = ("the", "match", "bank", "bread", "goal", "shares", "soup", "rates", "onions", "team", "profit", "unheard-of")


@pytest.fixture(scope="module")
def classifier(model: Path) -> Classifier:
    return capsulet.load(model, threads=1)


@pytest.fixture(scope="module")
def texts() -> list[str]:
    """More than three windows of texts of all lengths, in no order."""
    dice = random.Random(0)
    return [" ".join(dice.choices(WORDS, k=dice.randint(0, 40))) for _ in range(150)]


def test_a_list_gives_a_list(classifier: Classifier) -> None:
    found = classifier.predict(
        ["The home team won the match after extra time", "Chop the onions and fry them in butter"]
    )
    assert isinstance(found, list)
    assert [prediction.label for prediction in found] == ["sport", "food"]
    assert isinstance(classifier.predict(("the match",)), list)
    assert classifier.predict([]) == []


def test_the_order_is_that_of_the_input(classifier: Classifier, texts: list[str]) -> None:
    together = classifier.predict(texts)
    assert len({round(prediction.probability, 4) for prediction in together}) > 100, "they tell the texts apart"
    for prediction, text in zip(together, texts, strict=True):
        (alone,) = classifier.predict([text])
        assert alone.label == prediction.label
        assert alone.probability == pytest.approx(prediction.probability, abs=1e-5)


def test_a_generator_is_streamed(classifier: Classifier) -> None:
    read: list[int] = []

    def endless() -> Iterator[str]:
        for number in itertools.count():
            read.append(number)
            yield "the match"

    stream = classifier.predict(endless())
    assert not isinstance(stream, list)
    assert not read, "nothing is read before the first answer is asked for"
    for given, _ in enumerate(itertools.islice(stream, 200), 1):
        assert len(read) <= max(FIRST_WINDOW, 3 * given)  # windows double, so they hold no more than was given before
    assert len(read) < 300


def test_windows_grow_to_their_limit() -> None:
    sizes = [len(window) for window in windows(map(str, range(20_000)), FIRST_WINDOW)]
    assert sizes[:3] == [FIRST_WINDOW, 2 * FIRST_WINDOW, 4 * FIRST_WINDOW]
    assert max(sizes) == LARGEST_WINDOW
    assert sum(sizes) == 20_000
    assert [len(window) for window in windows("abc", 1)] == [1, 1, 1]


def test_who_waits_for_a_text_gets_its_answer_at_once() -> None:
    def slow() -> Iterator[str]:
        for number in range(4):
            time.sleep(0.08 if number != 2 else 0)  # the third comes together with the second
            yield str(number)

    found = list(windows(slow(), 16))
    assert found[:2] == [["0"], ["1"]]
    assert [text for window in found for text in window] == ["0", "1", "2", "3"]


@pytest.mark.parametrize("text", ["the match", b"the match"])
def test_one_text_is_refused(classifier: Classifier, text: str) -> None:
    with pytest.raises(InputError, match=r"predict got one (str|bytes), expected a list of texts: write predict"):
        classifier.predict(text)


@pytest.mark.parametrize(
    ("item", "kind"), [(3, "int"), (None, "NoneType"), (b"x", "bytes"), (("a", "b"), "tuple"), (["a", "b"], "list")]
)
@pytest.mark.parametrize("place", [0, 100])
def test_what_is_no_text_is_refused_by_its_index(classifier: Classifier, item: str, kind: str, place: int) -> None:
    texts = ["the match"] * 120
    texts[place] = item
    with pytest.raises(InputError, match=f"text {place} is of type {kind}: expected str"):
        classifier.predict(texts)
    with pytest.raises(InputError, match=f"text {place} is of type {kind}: expected str"):
        evaluate_pairs(classifier, ((text, "sport") for text in texts))


def test_half_a_character_is_refused(classifier: Classifier) -> None:
    with pytest.raises(InputError, match=r"text 1 has an unpaired surrogate '\\udcff' at character 2"):
        classifier.predict(["fine", "ab\udcff"])
    with pytest.raises(InputError, match="unpaired surrogate"):
        classifier.explain("ab\udcff")


def test_scores_and_top(classifier: Classifier, texts: list[str]) -> None:
    for prediction in classifier.predict(texts, top_k=3):
        labels, probabilities = zip(*prediction.top, strict=True)
        assert sorted(labels) == ["food", "money", "sport"]
        assert list(probabilities) == sorted(probabilities, reverse=True)
        assert all(0 <= probability <= 1 for probability in probabilities)
        assert (prediction.label, prediction.probability) == prediction.top[0]


def test_top_k_beyond_the_classes_gives_all(classifier: Classifier) -> None:
    assert len(classifier.predict(["the match"], top_k=99)[0].top) == 3
    assert len(classifier.predict(["the match"])[0].top) == 1


@pytest.mark.parametrize("top_k", [0, -1, 1.5])
def test_top_k_that_cannot_be(classifier: Classifier, top_k: int) -> None:
    with pytest.raises(InputError, match=r"top_k is .*: expected an integer of at least 1"):
        classifier.predict(["the match"], top_k=top_k)


def test_a_prediction_shows_why_there_is_no_label(classifier: Classifier) -> None:
    text = ["zzz qqq"]
    (found,) = classifier.predict(text, abstain=True, sets=0.9)
    assert (found.label, found.reason) == (None, "unknown words")
    shown = f"reason='unknown words', guess={found.top[0][0]!r}, label_set={found.label_set!r}"
    assert repr(found) == f"Prediction(label=None, probability={found.probability!r}, {shown})"
    (plain,) = classifier.predict(text)
    assert repr(plain) == f"Prediction(label={plain.label!r}, probability={plain.probability!r})"


@pytest.mark.parametrize("text", ["", "   \n", "\0", "\u200b", "😀" * 50, "the match " * 10_000])
def test_any_text_has_an_answer(classifier: Classifier, text: str) -> None:
    (prediction,) = classifier.predict([text])
    assert prediction.label in classifier.labels
    assert np.isfinite(prediction.probability)


def test_contributions_sum_up(classifier: Classifier) -> None:
    text = "The MATCH, fry 3 onions"
    for label in (None, *classifier.labels):
        found = classifier.explain(text, label)
        assert found.label == (label or classifier.predict([text])[0].label)
        assert sum(token.contribution for token in found.tokens) == pytest.approx(found.length_before_squash, abs=1e-5)
        squared = max(found.length_before_squash, 0) ** 2
        assert found.length == pytest.approx(squared / (1 + squared), abs=1e-5)
        assert [token.text for token in found.tokens] == ["The", "MATCH", ",", "fry", "3", "onions"]
        assert all(text[token.start : token.end] == token.text for token in found.tokens)


def test_an_explanation_of_nothing(classifier: Classifier) -> None:
    (token,) = classifier.explain("").tokens
    assert (token.text, token.start, token.end) == ("", 0, 0)


def test_an_unknown_label(classifier: Classifier) -> None:
    with pytest.raises(InputError, match="label 'art' is unknown to the model: expected one of food, money, sport"):
        classifier.explain("the match", "art")
    with pytest.raises(InputError, match="label 'art' is unknown to the model"):
        evaluate_pairs(classifier, [("the match", "art")])


def test_labels_may_be_numbers_as_in_training(tmp_path: Path) -> None:
    texts = ["a good match", "a late goal", "the bank rate", "new shares"] * 3
    for name, labels in {"numbers": [1, 1, 2, 2] * 3, "truths": [True, True, False, False] * 3}.items():
        capsulet.train((texts, labels), tmp_path / name, linear_only=True, report=None)
        model = capsulet.load(tmp_path / name)
        for label, other in ((labels[0], labels[2]), (np.array(labels)[0], np.array(labels)[2])):
            found = model.explain("a match", label=label, contrast=other)
            assert (found.label, found.contrast and found.contrast.label) == (str(labels[0]), str(labels[2]))
            assert [one.label for one in model.explain_labels("a match", contrast=other)] == [str(labels[0])]
            assert "match" in [word.word for word in class_words(model, label)]
        with pytest.raises(InputError, match="label and contrast are both"):
            model.explain("a match", label=labels[0], contrast=str(labels[0]))
        with pytest.raises(InputError, match="label 3 is unknown to the model: expected one of"):
            model.explain("a match", label=3)


def test_evaluate_counts_what_predict_says(classifier: Classifier, texts: list[str]) -> None:
    dice = random.Random(1)
    truth = [dice.choice(classifier.labels) for _ in texts]
    result = evaluate_pairs(classifier, zip(texts, truth, strict=True))
    right = [said.label == label for said, label in zip(classifier.predict(texts), truth, strict=True)]
    assert result.count == len(texts)
    assert result.accuracy == pytest.approx(np.mean(right))


def test_it_says_what_it_is(classifier: Classifier, model: Path) -> None:
    assert repr(classifier) == f"<capsulet.Classifier {str(model)!r}: 3 labels>"


def test_many_classes(tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text("label,text\n" + "".join(f"c{number},word{number}\n" for number in range(300)))
    tiny = {"network": "always", "epochs": 1, "min_count": 1, "hidden_size": 8, "class_length": 4, "threads": 1}
    capsulet.train(rows, tmp_path / "model", valid=rows, **tiny)
    classifier = capsulet.load(tmp_path / "model")
    found = classifier.predict([f"word{number}" for number in range(200)], top_k=300)
    assert all(len({label for label, _ in prediction.top}) == 300 for prediction in found)
    with pytest.raises(InputError, match=r"expected one of c0, c1, c10, .* … \(300 in all\)"):
        classifier.explain("word1", "nope")
