"""Messages name options by their flags on the command line, and by their arguments in Python."""

from __future__ import annotations

import dataclasses

import pytest

from capsulet.cli.options import READING_FLAGS
from capsulet.config import GROUPS, kind_of
from capsulet.errors import InputError
from capsulet.option_names import for_python, names_flags, translated
from capsulet.text.rows import ReadOptions


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("name the right column with --label-column", "name the right column with label_column=…"),
        ("skip such rows with --on-bad-row skip.", "skip such rows with on_bad_row='skip'."),
        ("--time is 'soon': expected", "time is 'soon': expected"),
        ("add --no-header if labels may be words", "add header=False if labels may be words"),
        ("or use --no-cache", "or use cache=None"),
        ("--report /x/y.html is a folder", "report='/x/y.html' is a folder"),
        ("train with --multi-label, or not", "train with multi_label=True, or not"),
        ("more than --max-tokens 5,000 tokens", "more than max_tokens=5,000 tokens"),
        ("give --valid FILE with texts", "give valid=FILE with texts"),
        ("try --loss margin+focal", "try loss='margin+focal'"),
        ("run `capsulet calibrate m --valid FILE`", "run `capsulet.calibrate('m', valid=FILE)`"),
        ("`capsulet drift` needs 20", "`capsulet.drift` needs 20"),
        ("pip install --upgrade capsulet", "pip install --upgrade capsulet"),
        ("a label '--x' -- and more", "a label '--x' -- and more"),
        ("name the model with --from", "name the model with from_model=…"),
        ("--epochs is 0: expected 1 to 10 or auto", "epochs is 0: expected 1 to 10 or None"),
        ("no option here", "no option here"),
    ],
)
def test_messages(message: str, expected: str) -> None:
    assert for_python(message) == expected
    error = InputError(message)
    assert (str(error), error.message) == (expected, message)


def test_flags_of_reading_become_their_fields() -> None:
    for name, usage in READING_FLAGS.items():
        assert for_python(f"use {usage.split()[0]}").removeprefix("use ").startswith(f"{name}=")
    assert {spec.name for spec in dataclasses.fields(ReadOptions)} >= set(READING_FLAGS)


def test_switches_become_true() -> None:
    for kind in GROUPS.values():
        for spec in dataclasses.fields(kind):
            flag = "--" + spec.name.replace("_", "-")
            expected = "True" if kind_of(kind, spec.name)[0] is bool else "…"
            assert for_python(f"use {flag}, or not") == f"use {spec.name}={expected}, or not"


def test_notes_are_told_in_the_words_of_the_caller() -> None:
    python, flags = list[str](), list[str]()
    translated(python.append)("raise --epochs")
    translated(names_flags(lambda line: flags.append(line)))("raise --epochs")
    assert (python, flags) == (["raise epochs=…"], ["raise --epochs"])
