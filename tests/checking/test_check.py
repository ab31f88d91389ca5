"""Planted trouble is found, each kind by its name and place; clean rows give no findings."""

from __future__ import annotations

import csv
import json
import random
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

import capsulet
from capsulet.checking.findings import Check, Finding
from capsulet.errors import InputError

SUBJECTS = (
    "cat", "dog", "bird", "horse", "tiger", "rabbit", "lion", "mouse", "eagle", "whale", "shark", "otter", "badger",
)  # fmt: skip
VERBS = ("sees", "hears", "follows", "finds", "meets", "likes", "watches", "avoids", "passes", "greets")
PLACES = ("forest", "river", "garden", "mountain", "market", "harbour", "village", "station", "library", "castle")
TIMES = ("morning", "evening", "night", "summer", "winter", "storm", "holiday", "parade", "lesson", "festival")


def sentence(dice: random.Random) -> str:
    """English words in an order that no other sentence is likely to share."""
    one, two, three = dice.sample(SUBJECTS, 3)
    four, five = dice.sample(PLACES, 2)
    return (
        f"The {one} {dice.choice(VERBS)} the {two} in the {four} before {dice.choice(TIMES)} and {dice.choice(VERBS)} "
        f"a {three} of the {five} that was {dice.choice(VERBS)} with {dice.choice(TIMES)}"
    )


def clean_rows(number: int = 120, seed: int = 1) -> list[tuple[str, str]]:
    dice = random.Random(seed)
    return [("animal" if index % 2 else "place", sentence(dice)) for index in range(number)]


def write(path: Path, rows: Iterable[tuple[str, str]]) -> Path:
    path.write_text("".join(json.dumps({"label": label, "text": text}) + "\n" for label, text in rows))
    return path


def by_kind(result: Check) -> dict[str, Finding]:
    return {finding.kind: finding for finding in result.findings}


def test_clean_rows_give_no_findings(tmp_path: Path) -> None:
    rows, test = write(tmp_path / "rows.jsonl", clean_rows()), write(tmp_path / "test.jsonl", clean_rows(40, seed=2))
    result = capsulet.check(rows, test=test)
    assert result.findings == ()
    assert (result.rows, result.test_rows) == (120, 40)
    assert result.class_counts == {"place": 60, "animal": 60}
    assert result.scripts == {"Latin": 160}
    assert set(result.languages) == {"English"}


GERMAN = "Der Hund ist nicht mit dem Vogel auf den Berg und sie sind auch von einer Reise"
WORDS = clean_rows()[5][1]
PLANTED = {
    "duplicates": ("animal", WORDS.upper()),
    "near_duplicates": ("animal", WORDS + " indeed"),
    "conflicts": ("place", WORDS),
    "near_conflicts": ("place", WORDS + " indeed"),
    "empty": ("animal", "   "),
    "long": ("animal", " ".join(sentence(random.Random(index)) for index in range(60))),
    "no_letters": ("animal", "12 + 34 = 46"),
    "scripts": ("animal", "Собака видит птицу в лесу"),
    "languages": ("animal", GERMAN),
    "mojibake": ("animal", "The cafÃ© near the library was closed"),
    "replacement_characters": ("animal", "The caf\ufffd near the library was closed"),
    "control_characters": ("animal", "The café near\x07 the library was closed"),
    "html": ("animal", "The café near the library<br />was &quot;closed&quot;"),
    "escapes": ("animal", "The café near the library\\nwas closed"),
    "small_classes": ("rare", "A class of its own is in this row"),
    "similar_labels": ("Animal ", "A label of its own is in this row"),
}


@pytest.mark.parametrize("kind", PLANTED)
def test_what_is_planted_is_found(tmp_path: Path, kind: str) -> None:
    file = write(tmp_path / "rows.jsonl", [*clean_rows(), PLANTED[kind]])
    found = by_kind(capsulet.check(file))
    assert kind in found
    assert found[kind].count == 1
    assert found[kind].advice
    if found[kind].examples:
        (example,) = found[kind].examples
        assert (example.file, example.line) == (str(file), 121)
        assert example.text or kind == "empty"
        if kind in ("duplicates", "near_duplicates", "conflicts", "near_conflicts"):
            assert example.other is not None
            assert (example.other.line, example.other.text[:20]) == (6, WORDS[:20])
    else:
        assert found[kind].details
    related = {
        "conflicts": {"duplicates"}, "near_conflicts": {"near_duplicates"}, "similar_labels": {"small_classes"},
    }  # fmt: skip
    sizes = {"small_classes", "imbalance"}  # a class of one row is both
    assert set(found) - sizes == {kind, *related.get(kind, ())} - sizes


def test_imbalance(tmp_path: Path) -> None:
    rows = [("animal", text) for _, text in clean_rows(300)] + [("place", text) for _, text in clean_rows(12, seed=2)]
    found = by_kind(capsulet.check(write(tmp_path / "rows.jsonl", rows)))
    assert list(found) == ["imbalance"]
    assert found["imbalance"].details == "animal has 300 rows, place 12"


def test_overlap_with_test_files(tmp_path: Path) -> None:
    rows, dice = clean_rows(), random.Random(3)
    planted = [rows[7], (rows[9][0], rows[9][1] + " indeed"), ("insect", sentence(dice))]
    test = write(tmp_path / "test.jsonl", [*clean_rows(40, seed=2), *planted])
    found = by_kind(capsulet.check(write(tmp_path / "rows.jsonl", rows), test=test))
    assert set(found) == {"overlap", "near_overlap", "unknown_labels"}
    for kind, line, other in (("overlap", 41, 8), ("near_overlap", 42, 10)):
        (example,) = found[kind].examples
        assert example.other is not None
        assert (found[kind].count, example.line, example.other.line) == (1, line, other)
        assert (example.file, example.other.file) == (str(test), str(tmp_path / "rows.jsonl"))
    assert found["unknown_labels"].details == "insect"


def test_rows_that_cannot_be_read_are_found(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    with file.open("w", newline="") as stream:
        csv.writer(stream).writerows([("label", "text"), *clean_rows()])
        stream.write("animal,one,too many\n")
    found = by_kind(capsulet.check(file))
    assert set(found) == {"unreadable"}
    assert (found["unreadable"].count, found["unreadable"].examples[0].line) == (1, 122)


def test_one_class(tmp_path: Path) -> None:
    file = write(tmp_path / "rows.jsonl", [("a", text) for _, text in clean_rows()])
    assert by_kind(capsulet.check(file))["one_class"].details == "a"


def test_standard_input_shows_places_without_texts(tmp_path: Path) -> None:
    rows = [*clean_rows(), clean_rows()[5]]
    lines = "".join(json.dumps({"label": label, "text": text}) + "\n" for label, text in rows)
    command = [sys.executable, "-m", "capsulet", "check", "-", "--json"]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
    (finding,) = json.loads(done.stdout)["findings"]
    assert (finding["kind"], finding["examples"][0]["line"], finding["examples"][0]["text"]) == ("duplicates", 121, "")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"files": ()}, "the data are empty"),
        ({"files": "missing.csv"}, "missing.csv: no such file"),
        ({"test": "missing.csv"}, "missing.csv: no such file"),
        ({"files": ["-", "-"]}, "given twice"),
        ({"files": "-", "labels": True}, "standard input"),
        ({"out": "list.csv"}, "out is for suspect labels"),
        ({"labels": True, "out": "list.txt"}, "neither .csv nor .jsonl"),
        ({"labels": True, "out": "no/such/folder/list.csv"}, "cannot be written"),
        ({"labels": True, "folds": 1}, "folds is 1: expected at least 2"),
        ({"labels": True, "model": "model"}, "leave one of them out"),
        ({"model": "no model"}, "no model does not exist"),
    ],
)
def test_calls_that_cannot_be(tmp_path: Path, values: dict[str, object], message: str) -> None:
    values = {"files": write(tmp_path / "rows.jsonl", clean_rows()), **values}
    with pytest.raises(InputError, match=message):
        capsulet.check(**values)  # type: ignore[arg-type]


def test_torch_is_not_needed(tmp_path: Path) -> None:
    file = write(tmp_path / "rows.jsonl", clean_rows())
    code = "import sys; sys.modules['torch'] = None; from capsulet.cli.main import main; print(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, "check", str(file)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.stdout.splitlines()[-1], done.stderr) == ("0", "")
    done = subprocess.run([*command, "--labels"], capture_output=True, text=True)
    assert done.stdout == "2\n"
    assert done.stderr == 'capsulet: Training needs torch, which is not installed: pip install "capsulet[train]"\n'


def test_a_text_that_no_model_reads_to_its_end_is_long_among_long_ones(tmp_path: Path) -> None:
    """Twenty times the median of these is more than a model reads: that is then the limit."""
    dice = random.Random(3)
    rows = [("animal" if index % 2 else "place", " ".join(sentence(dice) for _ in range(15))) for index in range(40)]
    rows.append(("place", " ".join(sentence(dice) for _ in range(300))))
    found = by_kind(capsulet.check(write(tmp_path / "rows.jsonl", rows)))["long"]
    assert (found.count, found.examples[0].line, found.examples[0].note) == (1, 41, "more than 5,000 tokens")
