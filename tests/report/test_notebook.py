"""Results in a notebook: short text, tables, dictionaries and HTML."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

import pytest

import capsulet
from capsulet.checking.findings import Check, Example, Finding, SuspectLabel, TextLengths
from capsulet.errors import InputError
from capsulet.results import (
    ClassScores,
    Compression,
    Confusion,
    Contrast,
    CurvePoint,
    Drift,
    DriftPart,
    DriftWindow,
    Epoch,
    Evaluation,
    Explanation,
    Reliability,
    ReliabilityBin,
    TokenContribution,
    Training,
)
from tests.report.test_page import EVIL, Reader

TOKENS = (TokenContribution(EVIL[:8], 0, 8, 1.0, EVIL), TokenContribution(EVIL[8:20], 8, 20, -1.0))
EPOCHS = tuple(Epoch(number, 2, 9, 0.1, 1 / number, 1 / number, 0.1 * number, number == 2) for number in (1, 2, 3))
BINS = (ReliabilityBin(3, 0.5, 0.6),) * 15
EXAMPLE = Example(EVIL, 3, EVIL, EVIL, EVIL)
RESULTS: dict[str, Any] = {
    "evaluation": Evaluation(
        0.5, 0.4, 20, tuple(ClassScores(EVIL + str(number), 0.5, 0.6, 0.55, 10) for number in range(40)),
        (Confusion(EVIL, EVIL, 3),), reliability=Reliability(0.1, 0.05, BINS, BINS),
    ),
    "sets": Evaluation(0.5, 0.4, 20, (ClassScores(EVIL, 0.5, 0.6, 0.55, 10),), (), 0.5, 0.7, {"1": 0.5}),
    "explanation": Explanation(
        EVIL, 0.9, 0.8, 0.0, TOKENS, Contrast(EVIL, 0.1, 0.2, 0.0, TOKENS), occlusion=(1.0, 2.0), text=EVIL,
        threshold=0.5,
    ),
    "training": Training(
        EVIL, (EVIL, "b"), 10, 100, 10, EPOCHS[1], EPOCHS, "finished", 61.0, (EVIL,), EVIL, decision=EVIL
    ),
    "linear": Training(EVIL, (EVIL, "b"), 10, 100, 0, EPOCHS[1], (), "finished", 61.0, linear_only=True, folds=5),
    "compression": Compression(
        EVIL, 500, 1000, {EVIL: 500}, {EVIL: 1000}, 0.8, 0.9, 0.95, 20, 5, 10, 4, 0,
        (CurvePoint(400, 0.7, 5, 4, 0, False), CurvePoint(500, 0.8, 5, 4, 0, False, chosen=True)), 2.0,
    ),
    "drift": Drift(
        True, 0.001, 0.01, 100, 200,
        (DriftPart("classes", 0.1, 0.001, 0.5, 0.1, True, EVIL, (EVIL, "b"), (0.5, 0.5), (0.9, 0.1)),),
        {"codes": EVIL}, ((EVIL, 3),), (DriftWindow(1, 50, True, 0.001, ("classes",), (EVIL,)),),
    ),
    "check": Check(
        (EVIL,), (EVIL,), 10, 5, {EVIL: 10}, TextLengths(3, 4, 5), {}, {}, 0.7,
        (Finding("kind", EVIL, 2, EVIL, EVIL, (dataclasses.replace(EXAMPLE, other=EXAMPLE),)),),
        (SuspectLabel(EVIL, 3, EVIL, EVIL, 0.9, 0.1, EVIL),),
    ),
}  # fmt: skip
NAMED = pytest.mark.parametrize("result", RESULTS.values(), ids=RESULTS)


@NAMED
def test_html_is_whole_and_data_stays_text(result: Any) -> None:
    html = result._repr_html_()
    reader = Reader(html)
    assert reader.open == [] and reader.elements[:2] == ["div", "style"]
    assert not {"script", "img"} & set(reader.elements)
    assert not [name for name, _ in reader.attributes if name.startswith("on")]
    assert "prefers-color-scheme" not in html, "a notebook may be dark on a light screen"
    assert reader.elements.count("style") == 1 and ":root" not in html, "the notebook keeps its own style"


@NAMED
def test_a_result_is_described_on_one_line(result: Any) -> None:
    parts = [value for value in vars(result).values() if isinstance(value, tuple) and value]
    for one in (result, *(part[0] for part in parts if dataclasses.is_dataclass(part[0]))):
        assert "\n" not in repr(one) and len(repr(one)) <= 250 and repr(one).startswith("<")


@NAMED
def test_a_dictionary_has_every_value(result: Any) -> None:
    assert list(result.to_dict()) == [field.name for field in dataclasses.fields(result)]
    json.dumps(result.to_dict())


@NAMED
def test_a_table_has_the_records(result: Any) -> None:
    pytest.importorskip("pandas")
    table = result.to_pandas()
    assert len(table) == len(result.records())
    if len(table):
        assert list(table.columns) == list(result.records()[0])


def test_a_table_needs_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match="to_pandas needs pandas, which is not installed: pip install pandas"):
        RESULTS["drift"].to_pandas()


def test_curves_words_and_classes_are_shown() -> None:
    reader = Reader(RESULTS["training"]._repr_html_())
    assert reader.elements.count("svg") == 2 and "Best epoch: 2." in "".join(reader.words["figcaption"])
    assert "svg" not in Reader(RESULTS["linear"]._repr_html_()).elements
    assert Reader(RESULTS["explanation"]._repr_html_()).elements.count("mark") == 4
    reader = Reader(RESULTS["evaluation"]._repr_html_())
    assert "The 30 of 40 classes with the lowest F1" in "".join(reader.words["figcaption"])


def test_results_of_a_model(model: Path, rows_file: Path) -> None:
    classifier = capsulet.load(model)
    assert repr(capsulet.evaluate(classifier, rows_file)).startswith("<Evaluation: 100.00 % accuracy, ")
    found = classifier.explain("the match", check=True)
    assert found.text == "the match" and repr(found).startswith(f"<Explanation: {found.label}, probability 0.")
    assert [row["left_out"] for row in found.records()] == list(found.occlusion)
    assert "<details><summary>capsules and codewords</summary>" in found._repr_html_()
    found = classifier.explain("the match", found.label, contrast="food")
    differences = [f"{row['difference']:+.4f}" for row in found.records()]
    cells = Reader(found._repr_html_()).words["td"]
    assert set(differences) <= set(cells) and "; differences to food: " in repr(found)
    assert classifier.predict(["the match"])[0].to_dict(3).keys() == {"label", "probability"}
