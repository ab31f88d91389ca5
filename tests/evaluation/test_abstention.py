"""Options of abstention: what is refused, what is asked of the model, and what the user is told."""

from __future__ import annotations

import math
from typing import Any

import pytest

from capsulet.errors import InputError
from capsulet.evaluation.abstention import Rules, find_rules

NOTHING: dict[str, Any] = {"abstain": False, "coverage": None, "max_error": None, "sets": None}


class Model:
    """Answers every request with the same rules, and notes it."""

    def __init__(self, found: Rules) -> None:
        self.found, self.asked = found, list[Any]()

    def rules(self, *request: Any) -> Rules:
        self.asked.append(request)
        return self.found


def found(model: Model, source: str = "here", calibrated: bool = True, **request: Any) -> Rules:
    return find_rules(model, source, calibrated, **{**NOTHING, **request})


def test_the_model_finds_the_thresholds() -> None:
    rules = Rules(least_confidence=1.0, least_certainty=2.0, least_set_score=3.0, texts=50)
    model = Model(rules)
    assert found(model, abstain=True, coverage=0.9, sets=0.8) == rules
    assert found(model, max_error=1) == rules
    assert model.asked == [(True, 0.9, None, 0.8), (False, None, 1, None)]


def test_no_request_asks_nothing() -> None:
    model = Model(Rules(least_confidence=1.0))
    assert found(model) == found(model, calibrated=False) == Rules()
    assert model.asked == []


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"coverage": 0.5, "max_error": 0.1}, "coverage=… and max_error=… set the same threshold: leave one of them"),
        ({"coverage": 1.5}, "coverage is 1.5: expected a share from 0 to 1, such as 0.9"),
        ({"max_error": -1}, "max_error is -1: expected a share from 0 to 1, such as 0.02"),
        ({"sets": True}, "sets is True: expected a share from 0 to 1, such as 0.9"),
        ({"sets": "0.9"}, "sets is '0.9': expected a share"),
        ({"coverage": math.nan}, "coverage is nan: expected a share"),
        ({"max_error": 0}, "max_error=0 cannot be guaranteed by any number of texts"),
    ],
)
def test_what_is_refused(request_: dict[str, Any], message: str) -> None:
    model = Model(Rules())
    with pytest.raises(InputError, match=message):
        found(model, **request_)
    assert model.asked == []


def test_a_file_is_calibrated_by_its_folder() -> None:
    advice = r"need: run `capsulet\.calibrate\('some/model', valid=FILE\)` with texts that it was not trained on$"
    with pytest.raises(InputError, match=advice):
        found(Model(Rules()), "some/model", calibrated=False, abstain=True)
    with pytest.raises(InputError, match=r"on its model folder, then compress the folder again$"):
        found(Model(Rules()), "some/model.safetensors", calibrated=False, abstain=True)


def test_notes_say_what_too_few_texts_cannot_do() -> None:
    model = Model(Rules(least_certainty=-math.inf, least_set_score=-math.inf, texts=1234))
    (note,) = found(model, coverage=0.999).notes
    assert note == (
        "--coverage 0.999 cannot leave out any text: 1,234 validation texts are too few for that; calibrate on more: "
        "run `capsulet calibrate here --valid FILE` with texts that it was not trained on"
    )
    assert ["label" in note for note in found(model, coverage=0.9, sets=0.9).notes] == [False, True]
    assert found(model, coverage=1, sets=1.0).notes == ()  # nothing is to be left out
