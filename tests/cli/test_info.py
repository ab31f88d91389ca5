"""`capsulet info`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import capsulet
from capsulet.cli.info_page import label_list, quality
from capsulet.runtime.class_words import class_words
from tests.conftest import TEXTS, store_config, stored_config


def test_a_model_as_json(run, model: Path) -> None:
    answer = run("info", model, "--json")
    assert (answer.status, answer.err) == (0, "")
    found = json.loads(answer.out)
    assert found["labels"] == ["food", "money", "sport"]
    assert found["parameters"] == sum(found["parameters_by_part"].values())
    assert found["bytes_by_file"] == {path.name: path.stat().st_size for path in model.iterdir()}
    assert found["bytes"] == sum(found["bytes_by_file"].values())
    assert found["trained"]["command"].startswith("capsulet train ")
    assert found["trained"]["stopped"] == "finished"


def test_every_option_and_count(run, model: Path) -> None:
    answer = run("info", model, "--all")
    assert (answer.status, answer.err) == (0, "")
    lines = [" ".join(line.split()) for line in answer.out.splitlines()]
    assert "labels 3: food, money, sport" in lines
    assert "trained · label counts · money 4" in lines


def test_labels_are_shown_as_they_are(run, model: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(model, tmp_path / "model")
    config = json.dumps(stored_config(copy))
    store_config(copy, json.loads(config.replace('"food"', '"no_[/b]_markup"')))
    answer = run("info", copy, "--all")
    assert answer.status == 0
    assert "trained · label counts · no_[/b]_markup" in answer.out
    assert "no_[/b]_markup, money, sport" in run("info", copy).out


def test_a_page_of_one_screen(run, model: Path) -> None:
    answer = run("info", model)
    assert (answer.status, answer.err) == (0, "")
    lines = [" ".join(line.split()) for line in answer.out.splitlines()]
    assert len(lines) <= 30 and "\x1b" not in answer.out
    assert lines[0] == f"{model}: a text classifier with 3 labels, one label per text"
    assert "Quality on 12 validation texts" in lines
    assert "accuracy 100.00 % 95 % interval 75.7 to 100.0 %" in lines
    assert "trained on 12 texts, 104 tokens" in lines
    assert "recipe, seed default, 1" in lines
    text = " ".join(lines)
    assert f'capsulet predict {model} --text "…"' in text and f"capsulet evaluate {model} test.csv" in text


def test_the_page_of_a_multi_label_model(run, sets_model: Path) -> None:
    answer = run("info", sets_model)
    assert (answer.status, answer.err) == (0, "")
    assert "3 labels, any number of labels per text" in answer.out
    assert "micro-F1" in answer.out and "accuracy" not in answer.out


def test_the_page_of_a_single_file(run, model: Path, tmp_path: Path) -> None:
    file = shutil.copy(model / "model.safetensors", tmp_path / "my model.safetensors")
    answer = run("info", file)
    assert answer.status == 0
    assert f"  capsulet explain '{file}' --text" in answer.out


def test_long_lists_of_labels_are_cut() -> None:
    labels = [f"label{number}" for number in range(200)]
    assert label_list(labels).endswith("label11, … 188 more")
    assert label_list(["x" * 99, "y"]) == "x" * 39 + "…, y"


def test_a_model_without_calibration_or_validation_texts() -> None:
    trained = {"valid_rows": 0, "valid_accuracy": 0.5}
    rows = quality({"trained": trained, "multi_label": False, "calibration": {}})
    assert rows == {"accuracy": "50.00 %", "calibration": "none: probabilities are class lengths divided by their sum"}


def test_parameters_of_a_model_that_does_not_exist(run) -> None:
    answer = run("info", "--vocab-size", 62535, "--classes", 4, "--json")
    assert (answer.status, answer.err) == (0, "")
    found = json.loads(answer.out)
    assert found["codewords"] == 4  # 4^8 = 65,536
    assert found["parameters_by_part"]["embedding"] == 62535 * 8 * 4 + 8 * 4 * 64
    assert found["parameters_by_part"]["head"] == 16 * 8 * 4 * 16
    assert found["parameters"] == sum(found["parameters_by_part"].values())


def test_options_change_the_number(run) -> None:
    words = ("info", "--vocab-size", 1000, "--classes", 4, "--json", "--embedding", "plain", "--head", "linear")
    found = json.loads(run(*words).out)
    assert found["parameters_by_part"]["embedding"] == 1000 * 64
    assert found["parameters_by_part"]["head"] == 4 * 128
    assert "codewords" not in found
    assert found["options"]["embedding"] == "plain"


def test_a_huge_model_is_counted_not_allocated(run) -> None:
    found = json.loads(run("info", "--vocab-size", 10**12, "--classes", 10**6, "--json").out)
    assert found["parameters"] > 10**12


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "info needs MODEL, or --vocab-size V and --classes C"),
        (["--vocab-size", "5"], "info needs MODEL, or --vocab-size V and --classes C"),
        (["--vocab-size", "0", "--classes", "2"], "expected both to be at least 1"),
        (["--vocab-size", "9", "--classes", "2", "--hidden-size", "100"], "is not a multiple of --primary-length"),
        (["model", "--classes", "2"], "leave one of them out"),
        (["model", "--head", "linear"], "leave one of them out"),
        (["model", "--recipe", "default"], "leave one of them out"),
    ],
)
def test_wrong_calls(run, words: list[str], message: str) -> None:
    answer = run("info", *words)
    assert (answer.status, answer.out) == (2, "")
    assert message in answer.line


def test_what_a_class_has_learned(run, model, rows_file) -> None:
    alone = json.loads(run("info", model, "--class", "food", "--json").out)
    assert alone["label"] == "food" and len(alone["words"]) == 20
    assert all(word["count"] == 1 and len(word["nearest"]) == 5 for word in alone["words"])
    found = json.loads(run("info", model, "--class", "food", "--texts", rows_file, "--json").out)["words"]
    values = [word["contribution"] for word in found]
    assert values == sorted(values, reverse=True) and values[0] > 0
    assert {"soup", "bread", "butter", "cake", "onions", "salt"} & {word["word"] for word in found[:10]}
    assert not {"[PAD]", "[UNK]"} & {near for word in found for near in (word["word"], *word["nearest"])}
    assert "words with similar codes" in run("info", model, "--class", "food").out


def test_words_in_texts_count_by_what_explain_says_of_them(run, model, rows_file) -> None:
    """The parts followed back to the words, not those of the encoder's states, which spread over neighbours."""
    classifier = capsulet.load(model)
    given: dict[str, list[float]] = {}
    for _, text in TEXTS:
        for token in classifier.explain(text, "money").tokens:
            word = token.text.lower()  # a number that occurs once is read as its shape
            given.setdefault("0" if word.isdigit() else word, []).append(token.contribution)
    found = json.loads(run("info", model, "--class", "money", "--texts", rows_file, "--json").out)["words"]
    assert len(found) == 20
    for word in found:
        own = given[word["word"]]
        assert word["count"] == len(own)
        assert word["contribution"] == pytest.approx(sum(own) / len(own), abs=1e-5)
    assert found[0]["contribution"] == pytest.approx(max(sum(own) / len(own) for own in given.values()), abs=1e-5)


def test_a_word_alone_gives_all_there_is(model) -> None:
    classifier = capsulet.load(model)
    for word in class_words(classifier, "sport", most=3):
        assert word.contribution == pytest.approx(classifier.explain(word.word, "sport").length_before_squash, abs=1e-5)


def test_a_compressed_model_shows_all_its_words(model, tmp_path) -> None:
    """It numbers its words from one, where a whole model has the unknown word."""
    capsulet.compress(model, out=tmp_path / "small.safetensors", threads=1)
    small = capsulet.load(tmp_path / "small.safetensors")
    found = {word.word for word in class_words(small, "sport", most=1000)}
    assert found == set(small.session.words()[1:])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["MODEL", "--class", "art"], "label 'art' is unknown to the model: expected one of food, money, sport"),
        (["MODEL", "--texts", "rows.csv"], "--texts needs --class"),
        (["--class", "food"], "--class and --texts need MODEL"),
        (["MODEL", "--class", "food", "--texts", "/nowhere.csv"], "/nowhere.csv: no such file"),
    ],
)
def test_classes_that_cannot_be_described(run, model, words: list[str], message: str) -> None:
    answer = run("info", *(model if word == "MODEL" else word for word in words))
    assert (answer.status, answer.out) == (2, "")
    assert message in answer.line
