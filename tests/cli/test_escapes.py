"""Escape sequences in labels, texts and names of files never reach the terminal."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest

import capsulet
from capsulet.text.visible import visible
from tests.conftest import TINY

RED, TITLE, C1 = "\x1b[31m", "\x1b]0;x\x07", "\x9b31m"  # a colour, a title of the window, a colour in one byte less
LABELS = [f"{RED}sport", f"{TITLE}money", f"{C1}food"]
TEXTS = [f"match {RED} team", f"bank {TITLE} shares", f"soup {C1} bread"]
CONTROLS = {"\x1b", "\x07", "\x9b"}


def write_rows(path: Path, pairs: list[tuple[str, str]]) -> Path:
    """Write labels and texts as JSONL."""
    path.write_text("".join(json.dumps({"label": label, "text": text}) + "\n" for label, text in pairs))
    return path


@pytest.fixture(scope="module")
def hostile_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve texts with escape sequences, and labels with them."""
    path = tmp_path_factory.mktemp("hostile") / "rows.jsonl"
    return write_rows(path, [*zip(LABELS, TEXTS, strict=True)] * 4)


@pytest.fixture(scope="module")
def hostile_model(hostile_file: Path) -> Path:
    """A model of these texts."""
    path = hostile_file.parent / "model"
    capsulet.train(hostile_file, path, valid=hostile_file, **{**TINY, "epochs": 12})
    return path


def shown(answer) -> str:
    """Both outputs of a command; they must not contain control characters."""
    both = answer.out + answer.err
    assert not CONTROLS & set(both), both
    return both


def test_visible() -> None:
    assert visible(f"a{RED}{TITLE}{C1}\x7f\u202eb\r") == r"a\x1b[31m\x1b]0;x\x07\x9b31m\x7f\u202eb" + "\\r"
    assert visible("a\tb\nc", keep="\n") == "a\\tb\nc"
    assert visible("naïve 你好　\\x1b") == "naïve 你好　\\x1b"


@pytest.mark.parametrize("flags", [[], ["--all"], ["--class", LABELS[0]]])
def test_info(run, hostile_model: Path, flags: list[str]) -> None:
    answer = run("info", hostile_model, *flags)
    assert answer.status == 0 and (r"\x1b[31m" in shown(answer) or flags[:1] == ["--class"])


def test_evaluate(run, hostile_model: Path, hostile_file: Path) -> None:
    both = shown(run("evaluate", hostile_model, hostile_file))
    assert all(escape in both for escape in (r"\x1b[31msport", r"\x1b]0;x\x07money", r"\x9b31mfood"))


def test_explain(run, hostile_model: Path) -> None:
    words = [word for text in TEXTS for word in ("--text", f"{text}\nsecond line")]
    answer = run("explain", hostile_model, *words, "--label", LABELS[1], "--contrast", LABELS[2])
    both = shown(answer)
    assert answer.status == 0 and all(visible(text) + "\n" in both for text in TEXTS)
    assert "\nsecond line\n" in both and "against \\x9b31mfood" in both


def test_colours_stay_on_their_words() -> None:
    from capsulet.cli.explain import coloured
    from capsulet.palette import terminal_mark
    from capsulet.results import TokenContribution

    tokens = (TokenContribution("a", 1, 2, 1.0), TokenContribution("b", 3, 4, 0.01), TokenContribution("c", 5, 6, -1.0))
    assert coloured("\x1ba b c.", tokens) == [
        "\x1b", ("a", terminal_mark(1.0, 1.0)), " b ", ("c", terminal_mark(-1.0, 1.0)), ".",
    ]  # fmt: skip


def test_drift(run, hostile_model: Path, tmp_path: Path) -> None:
    model = shutil.copytree(hostile_model, tmp_path / "model")
    capsulet.calibrate(model, valid=write_rows(tmp_path / "valid.jsonl", [*zip(LABELS, TEXTS, strict=True)] * 100))
    new = write_rows(tmp_path / "new.jsonl", [(LABELS[0], f"{TEXTS[0]} new\u2067word")] * 200)
    answer = run("drift", model, new, "--window", 100)
    assert answer.status == 0 and r"\x1b[31msport" in shown(answer) and "\x1b" not in answer.out
    assert "\u2067" not in answer.out


def test_check(run, hostile_model: Path, tmp_path: Path) -> None:
    swapped = write_rows(tmp_path / "rows.jsonl", [*zip(LABELS[1:] + LABELS[:1], TEXTS, strict=True)] * 30)
    answer = run("check", swapped, "--model", hostile_model)
    table = shown(answer).partition("most suspect")[2]
    assert answer.status == 0 and any(visible(label) in table for label in LABELS)


def test_predict_as_csv(run, hostile_model: Path) -> None:
    words = [word for text in TEXTS for word in ("--text", text)]
    answer = run("predict", hostile_model, *words, "--to", "csv", "--top-k", 3)
    _, *rows = csv.reader(shown(answer).splitlines())
    assert [sorted(row[::2]) for row in rows] == [sorted(map(visible, LABELS))] * 3
    answer = run("predict", hostile_model, *words, "--to", "csv", "--raw-cells")
    assert {row[0] for row in csv.reader(answer.out.split("\n")[1:-1])} <= set(LABELS)


@pytest.mark.parametrize("verb", ["predict", "explain"])
def test_json_has_the_same_value(run, hostile_model: Path, verb: str) -> None:
    flags = ["--json"] if verb == "explain" else ["--top-k", 3]
    answer = run(verb, hostile_model, "--text", f"{TEXTS[2]}\x7f\u202e", *flags)
    line = shown(answer)
    assert "\x7f" not in line and "\u202e" not in line and "\\u009b31mfood" in line
    assert json.loads(line)["label"] == LABELS[2]


def test_errors(run, hostile_model: Path, tmp_path: Path) -> None:
    answer = run("explain", hostile_model, "--text", "a", "--label", "none")
    assert answer.status == 2 and r"expected one of \x1b" in shown(answer)
    assert r"unexpected argument b\x9b31m" in shown(run("demo", f"b{C1}"))
    for debug in ([], ["--debug"]):
        answer = run("info", tmp_path / f"none{RED}{C1}", *debug)
        assert answer.status == 2 and r"none\x1b[31m\x9b31m" in shown(answer).splitlines()[-1]


def test_messages(capsys: pytest.CaptureFixture[str]) -> None:
    from capsulet.cli.output import tell

    tell(f"label {RED}{C1}\r")
    assert capsys.readouterr().err == "label \\x1b[31m\\x9b31m\\r\n"
