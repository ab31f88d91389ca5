"""Columns, tokens and phrases that give the label away, and labels that differ in spelling only."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import capsulet
from capsulet.text.label_names import spelling
from tests.conftest import generated_rows


def rows(count: int = 90) -> list[dict[str, Any]]:
    return [{"text": text, "label": label} for label, text in generated_rows(count)]


def found(data: list[dict[str, Any]]) -> dict[str, str]:
    return {finding.kind: finding.details for finding in capsulet.check(data).findings}


def test_nothing_leaks_from_ordinary_rows() -> None:
    dice = random.Random(0)
    data = [{"id": number, "group": dice.choice("abc"), **row} for number, row in enumerate(rows(300))]
    assert not {"leaking_columns", "leaking_tokens", "boilerplate", "similar_labels"} & set(found(data))


def test_columns_that_determine_the_label() -> None:
    dice, data = random.Random(0), rows()
    codes = {"food": 1, "money": 2, "sport": 3}
    data = [
        {"code": codes[row["label"]], "ticket": f"{row['label'][:2]}-{number:04}", "id": number,
         "noise": dice.choice("xyz"), **row}
        for number, row in enumerate(data)
    ]  # fmt: skip
    assert found(data)["leaking_columns"] == "code, ticket"
    data[0]["code"], data[1]["code"], data[2]["code"] = 3, 3, 3  # a few mistakes are too many
    data[0]["label"], data[1]["label"], data[2]["label"] = "food", "money", "food"
    assert "code" not in found(data).get("leaking_columns", "")


def test_text_and_label_are_no_columns_that_leak(tmp_path: Path) -> None:
    labels, texts = zip(*generated_rows(90), strict=True)
    (tmp_path / "rows.csv").write_text("".join(f"{'fms'.index(a[0])},{b},{b[:2]}\n" for a, b in generated_rows(90)))
    for data in ((list(texts), list(labels)), zip(texts, labels, strict=True), tmp_path / "rows.csv"):
        assert "leaking_columns" not in {finding.kind for finding in capsulet.check(data).findings}


def test_tokens_that_give_a_class_away() -> None:
    data = [{**row, "text": row["text"] + " moneydesk" * (row["label"] == "money")} for row in rows()]
    assert found(data)["leaking_tokens"] == "'moneydesk' in 100 % of money"


def test_boilerplate_of_a_class() -> None:
    signature = " sent from the sports desk of the daily news"
    data = [
        {**row, "text": row["text"] + signature * (row["label"] == "sport" and number % 2)}
        for number, row in enumerate(rows(200))
    ]
    details = found(data)["boilerplate"]
    assert details.startswith("'sent from the sports desk of the daily news' in ") and details.endswith("% of sport")
    everywhere = [{**row, "text": row["text"] + signature} for row in rows()]
    assert "boilerplate" not in found(everywhere)


def test_labels_of_one_spelling() -> None:
    data = rows()
    for number, row in enumerate(data):
        if row["label"] == "food":
            row["label"] = ("LOCATION", "Location", "location ", "café", "cafe")[number % 5]
    details = found(data)["similar_labels"]
    assert "'LOCATION' (" in details and "'Location' (" in details and "'location' (" in details
    assert "'café' (" in details and "'cafe' (" in details
    assert spelling("Café  au-lait") == spelling("CAFE AU LAIT")
    assert spelling("की") != spelling("का")  # vowel signs are no accents
