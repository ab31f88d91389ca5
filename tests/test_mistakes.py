"""Mistakes that would lose data or mislead: each is refused or told in one line."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import capsulet
from capsulet.cli import main as command
from capsulet.cli.compress import best_points
from capsulet.errors import InputError
from capsulet.results import CurvePoint
from capsulet.serve.feedback import check_feedback_file
from capsulet.text.files import binary_kind
from tests.conftest import TEXTS

QUICK: dict[str, Any] = {"linear_only": True, "cache": None, "report": None}
TABLE = "text,label\n" + "".join(f"{text},{label}\n" for label, text in TEXTS)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "rows.csv"
    path.write_text(TABLE)
    return path


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str]:
    status = command.main(list(map(str, words)))
    return status, capsys.readouterr().err


@pytest.mark.parametrize("link", [False, True])
def test_no_output_replaces_an_input(
    model: Path, table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], link: bool
) -> None:
    out = tmp_path / "link.csv" if link else table
    if link:
        out.symlink_to(table)
    for words in (("predict", model, table, "--out", out), ("check", table, "--labels", "--out", out)):
        status, said = run(capsys, *words)
        assert status == 2 and f"{out} is also an input, which writing would replace: choose another file" in said
        assert table.read_text() == TABLE
    status, _ = run(capsys, "predict", model, table, "--out", tmp_path / "other.csv")
    assert status == 0 and (tmp_path / "other.csv").exists()


def test_feedback_is_not_added_to_other_files(table: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has other content than JSON lines"):
        check_feedback_file(str(table))
    assert table.read_text() == TABLE
    for content in ("", '{"text": "a", "label": "b"}\n'):
        (tmp_path / "kept.jsonl").write_text(content)
        check_feedback_file(str(tmp_path / "kept.jsonl"))


def test_labels_of_the_same_number_are_the_same(tmp_path: Path) -> None:
    names = {"sport": 0.0, "money": 1.0, "food": 2.0}
    frame = pd.DataFrame({"text": [text for _, text in TEXTS], "label": [names[label] for label, _ in TEXTS]})
    frame.to_csv(tmp_path / "rows.csv", index=False)  # labels 0.0, 1.0, 2.0
    capsulet.train(tmp_path / "rows.csv", tmp_path / "of-file", **QUICK)
    capsulet.train(frame, tmp_path / "of-frame", **QUICK)
    assert capsulet.load(tmp_path / "of-file").labels == ("0.0", "1.0", "2.0")
    assert capsulet.load(tmp_path / "of-frame").labels == ("0", "1", "2")
    assert capsulet.evaluate(tmp_path / "of-file", frame).accuracy == 1
    assert capsulet.evaluate(tmp_path / "of-frame", tmp_path / "rows.csv").accuracy == 1
    other = frame.assign(label=[3.0] * len(frame))
    with pytest.raises(InputError, match="label '3' is not a label"):
        capsulet.evaluate(tmp_path / "of-file", other)


@pytest.mark.parametrize(
    ("verb", "wrong", "right"),
    [
        ("check", "fold", "folds"), ("check", "lables", "labels"), ("evaluate", "repotr", "report"),
        ("compress", "target", "target_size"), ("calibrate", "vald", "valid"), ("drift", "flase_alarm", "false_alarm"),
        ("tune", "trial", "trials"), ("curve", "draw", "draws"), ("evaluate", "text_column", "text_columns"),
    ],
)  # fmt: skip
def test_misspelt_arguments(verb: str, wrong: str, right: str, model: Path) -> None:
    data = ([text for _, text in TEXTS], [label for label, _ in TEXTS])
    first: tuple[Any, ...] = (data,) if verb in ("check", "tune", "curve") else (model, data)
    first += {"tune": ("tuned",), "compress": ("small.safetensors",)}.get(verb, ())
    with pytest.raises(InputError, match=f"{wrong!r} is unknown; did you mean {right!r}"):
        getattr(capsulet, verb)(*first, **{wrong: 1})


def test_arguments_that_are_like_none(model: Path) -> None:
    with pytest.raises(InputError, match=r"'zzz' is unknown: expected one of model, files, .*report.*encoding"):
        capsulet.evaluate(model, TEXTS, zzz=1)


def test_ctrl_c_while_the_call_is_parsed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def pressed(arguments: object) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "parse", pressed)
    assert command.main(["info"]) == 130
    assert capsys.readouterr().err == "capsulet: interrupted\n"


def test_the_name_of_a_single_column(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "texts.csv"
    path.write_text("Beschreibung\nthe match\n")
    status, said = run(capsys, "predict", model, path)
    assert status == 0 and said.startswith(f"note: {path}: the first line is read as a text; if it is the name of a")
    assert run(capsys, "predict", model, path, "--text-column", "Beschreibung") == (0, "")


def test_a_default_cache_that_cannot_be_used(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CAPSULET_CACHE", str(tmp_path / "file" / "cache"))
    status, said = run(capsys, "train", table, "--out", tmp_path / "model", "--linear-only")
    assert status == 0 and f"note: no cache: {tmp_path}/file/cache cannot be used for tokenised texts" in said
    status, said = run(capsys, "train", table, "--out", tmp_path / "model", "--cache", tmp_path / "file")
    assert status == 2 and "name another folder with --cache, or use --no-cache" in said


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"\x89PNG\r\n\x1a\n" + bytes(40), "a PNG image"), (b"%PDF-1.7\n%\xe2\xe3\n", "a PDF document"),
        (b"\x7fELF\x02\x01" + bytes(90), "a program"), (random.Random(1).randbytes(5000), "a binary file"),
    ],
)  # fmt: skip
def test_binary_files(content: bytes, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "rows.csv").write_bytes(content)
    status, said = run(capsys, "train", tmp_path / "rows.csv", "--out", tmp_path / "model")
    assert status == 2
    assert said == f"capsulet: {tmp_path}/rows.csv: {kind}, expected a table or text. Check the path\n"


def test_texts_that_begin_like_binary_files() -> None:
    assert binary_kind(b"BZhang scored a late goal") is None and binary_kind(b"GIF8 is a word") is None


def test_a_file_that_is_given_twice(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    status, said = run(capsys, "train", table, "rows.csv", "--out", tmp_path / "model", "--linear-only")
    assert status == 2 and "rows.csv is given twice: name each file once" in said


def test_no_network_after_the_time_is_over(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("capsulet.training.run.seconds_of", lambda limit: 0.0)
    status, said = run(capsys, "train", table, "--out", tmp_path / "model", "--time", "1s", "--no-report")
    assert status == 0 and "1s is too short to train a network: the model is linear" in said


def test_calibrating_on_the_training_texts_is_noted(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "model"
    capsulet.train(table, path, **QUICK)
    assert (
        "if they are the training texts, the probabilities become too high"
        in run(capsys, "calibrate", path, "--valid", table)[1]
    )
    table.write_text(TABLE + "a late goal,sport\n")
    assert "training texts" not in run(capsys, "calibrate", path, "--valid", table)[1]


def test_growing_has_nothing_to_resume(model: Path, table: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="resume=True continues the training of a network"):
        capsulet.train(table, tmp_path / "grown", from_model=model, resume=True)


def test_a_long_curve_is_shown_without_worse_settings() -> None:
    def point(size: int, accuracy: float, chosen: bool = False) -> CurvePoint:
        return CurvePoint(size, accuracy, 1, 4, 8, False, chosen)

    curve = [point(1, 0.5), point(2, 0.4), point(3, 0.4, chosen=True), point(4, 0.6), point(5, 0.6)]
    assert [one.bytes for one in best_points(curve)] == [1, 3, 4]


def test_info_names_the_model_that_was_measured(
    model: Path, rows_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = tmp_path / "small.safetensors"
    capsulet.compress(model, rows_file, out=small, target_size="60KB", cache=None)
    assert command.main(["info", str(small)]) == 0
    shown = capsys.readouterr().out
    assert "Quality of the model before its compression, on" in shown and " before the compression\n" in shown
    assert command.main(["info", str(model)]) == 0
    assert "compression" not in capsys.readouterr().out


@pytest.mark.parametrize("words", [("--top-k", "2"), ("--top-k=2",)])
def test_options_before_files(
    model: Path, table: Path, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(["predict", str(model), *words, str(table)]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(TEXTS)


def test_the_word_help(capsys: pytest.CaptureFixture[str]) -> None:
    for words, expected in ((["help"], "examples:"), (["help", "train"], "usage: capsulet train FILE…")):
        with pytest.raises(SystemExit) as end:
            command.main(words)
        assert end.value.code == 0 and expected in capsys.readouterr().out
