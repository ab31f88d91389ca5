"""Plain calls are parsed without argparse, and as argparse parses them."""

from __future__ import annotations

import contextlib
import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capsulet import config
from capsulet.cli import options
from capsulet.cli.calls import VERBS, plain_call, verb_module
from capsulet.cli.options import DEBUG, specs
from capsulet.cli.parser import parse

PLAIN = [name for name in VERBS if not hasattr(verb_module(name), "add_options")]


def by_argparse(words: list[str]) -> dict[str, Any] | None:
    """What argparse makes of a call; None if it refuses it."""
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        try:
            found = vars(parse(words))
        except SystemExit:
            return None
    return {name: value for name, value in found.items() if name != "parser"}


def flags_of(verb: str) -> list[str]:
    """The names and values that a call of a verb may have."""
    names = [spec.name for spec in specs({**DEBUG, **verb_module(verb).ARGUMENTS})]
    return [name for name in names if name.startswith("-")]


@pytest.mark.parametrize(
    "line",
    [
        "predict m --text a", "predict m -", "predict m a b --top-k 3 --to csv", "predict --text a m",
        "predict m --text a --text b --sets", "predict m --sets 0.8 --text a", "predict m f --threads auto --debug",
        "predict m f --text-column a --text-column b --no-header --on-bad-row skip", "explain m f --json --check",
        "evaluate m f g --threads 2 --report r.html", "drift m - --window 100 --strict", "export m f.onnx",
        "check f --test t --test u --folds 2", "calibrate m", "calibrate m f --valid g",
        "compress m f --out s.onnx --no-cache", "compress m --out s.onnx --cache c", "demo", "demo --seed 2",
        "evaluate f m --text-column -", "predict m --text a b", "evaluate m --json f", "predict --top-k 2 m --debug f",
    ],
)  # fmt: skip
def test_plain_calls(line: str) -> None:
    verb, *words = line.split()
    found = plain_call(verb, words)
    assert found is not None and vars(found) == by_argparse([verb, *words])


@pytest.mark.parametrize(
    "line",
    [
        "predict m --top-k x --text a", "predict m --top-k=2 --text a", "predict --help",
        "predict m --to xml --text a", "predict m --text", "predict", "evaluate m", "predict m --text -a",
        "predict m --tex a", "predict m -- a", "compress m", "export m f g", "train f --out m",
        "info m",
    ],
)  # fmt: skip
def test_other_calls_are_left_to_argparse(line: str) -> None:
    verb, *words = line.split()
    assert plain_call(verb, words) is None


@given(st.data())
def test_any_call_that_is_taken_is_parsed_as_by_argparse(data: st.DataObject) -> None:
    verb = data.draw(st.sampled_from(PLAIN))
    word = st.sampled_from(
        [*flags_of(verb), "m", "f.csv", "-", "2", "0.5", "auto", "csv", "-3", "", "a b", "--x", "-x=1"]
    )
    words = data.draw(st.lists(word, max_size=7))
    found = plain_call(verb, words)
    if found is not None:
        assert vars(found) == by_argparse([verb, *words])


def test_the_word_for_automatic_is_that_of_the_options() -> None:
    assert options.AUTO == config.AUTO
