"""`capsulet explain`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from capsulet.cli.explain import print_explanation
from capsulet.results import Explanation, TokenContribution


def test_json_is_one_object(run, model: Path) -> None:
    answer = run("explain", model, "--text", "the match", "--json")
    assert (answer.status, answer.err) == (0, "")
    found = json.loads(answer.out)
    assert found["label"] in ("food", "money", "sport")
    assert [(token["text"], token["start"], token["end"]) for token in found["tokens"]] == [
        ("the", 0, 3),
        ("match", 4, 9),
    ]
    total = sum(token["contribution"] for token in found["tokens"])
    assert total == pytest.approx(found["length_before_squash"], abs=1e-5)


def test_words_and_numbers(run, model: Path) -> None:
    answer = run("explain", model, "--text", "the match [bold]", "--label", "food")
    assert (answer.status, answer.err) == (0, "")
    lines = answer.out.splitlines()
    assert lines[0].startswith("food  score 0.")
    assert lines[1] == "the match [bold]"
    assert any(line.startswith("match ") for line in lines)
    assert lines[-1].startswith("all words together ")


def test_an_empty_text(run, model: Path) -> None:
    assert run("explain", model, "--text", "").status == 0


def test_an_unknown_label(run, model: Path) -> None:
    answer = run("explain", model, "--text", "x", "--label", "art")
    assert (answer.status, answer.out) == (2, "")
    assert "label 'art' is unknown to the model: expected one of food, money, sport" in answer.line


def test_a_label_is_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    token = TokenContribution("[red]", 0, 5, -1.0)
    print_explanation("[red]", Explanation("[/b] a [i]label", 0.5, 1.0, (token,)))
    assert capsys.readouterr().out.splitlines()[0] == "[/b] a [i]label  score 0.500"
