"""The model card."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from capsulet.storage.card import MOST_LABELS, model_card
from capsulet.storage.folder import read_config
from capsulet.storage.model_config import parse_config
from capsulet.storage.model_file import read_model


@pytest.fixture
def config(model: Path) -> dict[str, Any]:
    """The configuration of a trained model; each test gets its own."""
    return json.loads(json.dumps(read_config(model).as_json()))


def card_of(config: dict[str, Any]) -> str:
    """The card of a configuration as JSON."""
    return model_card(parse_config(config, "here"))


def rows(card: str) -> dict[str, str]:
    """First cell to the rest of each line of the tables."""
    lines = [line.strip("|").split(" | ", 1) for line in card.splitlines() if line.startswith("| ")]
    return {line[0].strip(): line[1].strip() for line in lines if len(line) == 2}


def test_the_folder_holds_the_card_of_its_configuration(model: Path, config: dict[str, Any]) -> None:
    assert (model / "README.md").read_text() == read_model(model).card == card_of(config)


def test_it_says_what_and_how(config: dict[str, Any]) -> None:
    found = rows(card_of(config))
    assert found["parameters"] == f"{config['parameters']:,}"
    assert found["training texts"] == "12 (104 tokens)"
    network = "cwc embedding, 2-layer bidirectional GRU, kmeans routing, n-gram features"
    assert found["network"] == f"{network} ({config['ngrams']['rows']:,} rows)"
    assert found["command"] == f"`{config['command']}`"
    assert "on the 12 validation texts" in found["accuracy"]
    assert [found[label] for label in config["labels"]] == ["4 | 100.0 %", "4 | 100.0 %", "4 | 100.0 %"]
    assert found["macro-F1"] == "100.00 %"


def test_it_says_how_far_scores_are_from_what_they_say(config: dict[str, Any]) -> None:
    config["calibration"] |= {"error_before": 0.25, "error_after": 0.0125, "texts": 1234}
    assert rows(card_of(config))["calibration error"].startswith("0.0125 (uncalibrated 0.2500), on the 1,234 texts")
    del config["calibration"]
    assert "calibration error" not in card_of(config)


def test_figures_on_a_part_of_the_validation_texts_say_so(config: dict[str, Any]) -> None:
    config["data"]["valid_rows"] = 20
    assert rows(card_of(config))["macro-F1"] == "100.00 % on 12 of them"


def test_a_training_that_was_interrupted_has_no_figures_by_class(config: dict[str, Any]) -> None:
    for name in ("valid_macro_f1", "valid_f1", "valid_measured"):
        del config["metrics"][name]
    found = rows(card_of(config))
    assert found["macro-F1"] == "not measured"
    assert [found[label] for label in config["labels"]] == ["4 |", "4 |", "4 |"]


def test_it_says_so_when_nothing_was_validated(config: dict[str, Any]) -> None:
    config["data"]["valid_rows"] = 0
    assert "on its own training texts" in card_of(config)


def test_a_linear_head_has_no_routing(config: dict[str, Any]) -> None:
    config["options"]["model"]["head"] = "linear"
    assert "linear head" in card_of(config)
    assert "routing" not in rows(card_of(config))["network"]


def test_many_labels_are_cut_short(config: dict[str, Any]) -> None:
    config["labels"] = [f"label {number}" for number in range(100)]
    config["data"]["label_counts"] = dict.fromkeys(config["labels"], 1)
    card = card_of(config)
    assert f"| … and {100 - MOST_LABELS} more | | |" in card
    assert f"label {MOST_LABELS - 1} " in card
    assert f"label {MOST_LABELS} " not in card


def test_a_label_stays_in_its_cell(config: dict[str, Any]) -> None:
    config["labels"] = ["a|b", "two\nlines"]
    config["data"]["label_counts"] = dict.fromkeys(config["labels"], 1)
    assert "| a\\|b | 1 | |\n| two lines | 1 | |\n" in card_of(config)


def test_a_label_is_no_markup(config: dict[str, Any]) -> None:
    config["labels"] = ["<img src=x onerror=alert(1)>", "a & `b`", "[x](javascript:y) *z*", "\x1b[31m\x9b"]
    config["data"]["label_counts"] = dict.fromkeys(config["labels"], 1)
    card = card_of(config)
    assert "| &lt;img src=x onerror=alert(1)&gt; | 1 | |" in card and "<img" not in card
    assert r"| a &amp; \`b\` | 1 | |" in card
    assert r"| \[x\](javascript:y) \*z\* | 1 | |" in card
    assert r"| \\x1b\[31m\\x9b | 1 | |" in card and not {"\x1b", "\x9b"} & set(card)


def test_a_command_stays_in_its_code_span(config: dict[str, Any]) -> None:
    config["command"] = "capsulet train 'a`b``<i>|.csv'"
    assert r"| command | ``` capsulet train 'a`b``<i>\|.csv' ``` |" in card_of(config)


def test_it_lists_the_scripts_of_the_training_texts(config: dict[str, Any]) -> None:
    assert rows(card_of(config))["scripts"] == "Latin 100 % of the letters"
    config["data"]["scripts"] = {"Cyrillic": 979, "Latin": 20, "Han": 1}
    assert rows(card_of(config))["scripts"] == "Cyrillic 98 %, Latin 2 % of the letters"
    del config["data"]["scripts"]
    assert "scripts" not in rows(card_of(config)), "a model of a version that did not count them"
