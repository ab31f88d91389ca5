"""`capsulet train`."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from capsulet.cli import train as verb
from capsulet.cli.train import higher
from capsulet.results import Epoch, Training
from capsulet.training.progress import LineMonitor
from tests.conftest import stored_config


def test_json_is_one_object_and_progress_is_lines(run, rows_file: Path, tmp_path: Path, tiny) -> None:
    out = tmp_path / "model"
    answer = run("train", rows_file, "--out", out, "--json", "--valid-fraction", "0.25", *tiny)
    assert answer.status == 0
    result = json.loads(answer.out)
    assert answer.out.count("\n") == 1
    assert (result["labels"], result["stopped"], len(result["epochs"])) == (["food", "money", "sport"], "finished", 2)
    assert (result["linear_only"], result["folds"]) == (False, 0) and result["linear"]["epoch"] == 0
    first, linear, *epochs, decision, last = (line for line in answer.err.splitlines() if not line.startswith("note: "))
    assert "note: 3 of 3 classes have fewer than 5 validation texts (food: 1, money: 1, sport: 1)" in answer.err
    assert re.match(
        r"\d+ training texts, \d+ validation texts, 3 classes, [\d,]+ words, a network of [\d,]+ parameters$", first
    )
    spread = r"95 % interval [\d.]+ to [\d.]+"
    assert re.match(rf"0:\d\d linear model: accuracy [\d.]+ % \(3 validation texts, {spread}\); saved in ", linear)
    shape = r"epoch \d of 2: accuracy [\d.]+ %, loss \d\.\d{4}, about \d+:\d\d left$"
    assert len(epochs) == 2
    assert all(re.match(shape, line) for line in epochs)
    assert re.match(r"the network is kept, as requested: accuracy on 3 held-out texts is [\d.]+ % with it, ", decision)
    assert result["decision"] == decision
    kept = r"the model is the linear model and the network of epoch \d of 2: accuracy [\d.]+ % on the validation texts"
    assert re.match(rf"trained in \d:\d\d; {kept}", last)
    assert last.endswith(f"saved in {out}, report in {tmp_path / 'model.report.html'}")
    log = [json.loads(line) for line in (out / "training.jsonl").read_text().splitlines()]
    assert log == result["epochs"]
    assert run("predict", out, "--text", "the match").status == 0


def test_cross_validation_is_told_of_in_lines(run, rows_file: Path, tmp_path: Path, tiny) -> None:
    answer = run("train", rows_file, "--out", tmp_path / "model", "--json", *tiny)
    result = json.loads(answer.out)
    assert (answer.status, result["folds"], result["valid_rows"], len(result["epochs"])) == (0, 5, 0, 2)
    first, linear, *rounds, decision, _, _, last = answer.err.splitlines()
    assert "12 training texts, cross-validation, 3 classes" in first
    assert re.match(r"0:\d\d linear model: accuracy [\d.]+ % \(10-fold cross-validation, 95 % interval ", linear)
    shape = r"network alone, cross-validation round {} of 5: accuracy [\d.]+ %$"
    assert decision.startswith("the network is kept, as requested: accuracy on ")
    assert len(rounds) == 5 and all(re.match(shape.format(n + 1), line) for n, line in enumerate(rounds))
    assert "in 5-fold cross-validation, on " in last


def test_the_report_path_is_relative_like_the_model_path(run, rows_file, tmp_path, tiny, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    line = run("train", rows_file, "--out", "new/model", *tiny).err.splitlines()[-1]
    assert line.endswith("saved in new/model, report in new/model.report.html")
    (tmp_path / "link").symlink_to("new/model")
    line = run("train", rows_file, "--out", "link", *tiny).err.splitlines()[-1]
    assert line.endswith(f"saved in link, report in {tmp_path}/new/model.report.html")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "new"]


def test_standard_input(run, rows_file: Path, tmp_path: Path, tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO(rows_file.read_bytes())))
    assert run("train", "-", "--out", tmp_path / "model", *tiny).status == 0


def test_columns_reach_the_stored_command(run, tmp_path: Path, tiny) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("team,subject,body\n" + "a,one two,three\nb,four,five\n" * 4)
    flags = ("--text-column", "subject", "--text-column", "body", "--label-column", "team")
    assert run("train", file, "--out", tmp_path / "model", *flags, *tiny).status == 0
    command = json.loads(run("info", tmp_path / "model", "--json").out)["trained"]["command"]
    assert " --text-column subject --text-column body --label-column team " in command


def test_sorted_rows_and_a_class_of_one_row(run, tmp_path: Path, tiny) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("label,text\n" + "".join(f"{label},word{label}\n" for label in "aaaaabbbbbc"))
    answer = run("train", file, "--out", tmp_path / "model", "--valid-fraction", "0.4", *tiny)
    assert answer.status == 0
    assert "note: 1 of 3 classes has only one training row (c): add examples" in answer.err
    assert "note: 1 of 3 classes has no validation text (c)" in answer.err
    counts = stored_config(tmp_path / "model")["data"]["label_counts"]
    assert counts == {"a": 3, "b": 3, "c": 1}


def test_two_rows(run, tmp_path: Path, tiny) -> None:
    (tmp_path / "rows.csv").write_text("label,text\nyes,good\nno,bad\n")
    answer = run("train", tmp_path / "rows.csv", "--out", tmp_path / "model", *tiny)
    assert answer.status == 0
    assert "linear model: accuracy cannot be estimated from one row per class; saved in " in answer.err
    assert ": accuracy cannot be estimated from one row per class; saved in" in answer.err
    assert "accuracy           not measured: one training row per class" in run("info", tmp_path / "model").out
    page = (tmp_path / "model.report.html").read_text()
    assert "no text is left to measure the quality on" in page and "<dd>not measured<" in page
    assert not [words for words in ("95 % interval", "macro-F1", "confident mistakes", "Measured on") if words in page]
    assert run("predict", tmp_path / "model", "--text", "good").status == 0


def test_validation_rows_with_an_unknown_label(run, rows_file: Path, tmp_path: Path, tiny) -> None:
    (tmp_path / "dev.csv").write_text("label,text\nsport,the match\nart,a painting\n")
    words = ("train", rows_file, "--valid", tmp_path / "dev.csv", "--out", tmp_path / "model", *tiny)
    answer = run(*words)
    assert answer.status == 2
    assert "dev.csv line 3: label 'art' is not a label of the training texts" in answer.line
    answer = run(*words, "--on-bad-row", "skip")
    assert answer.status == 0
    assert "1 row skipped" in answer.err
    assert stored_config(tmp_path / "model")["data"]["valid_rows"] == 1


WRONG_FILES = {
    "empty": ("", "empty file"),
    "one class": ("label,text\na,x\na,y\n", "the only label of 2 rows is 'a', expected at least two labels"),
    "no label": ("label,text\na,x\n,y\n", "line 3: no label"),
    "no text": ("label,text\na,x\nb,\n", "line 3: empty text"),
}


@pytest.mark.parametrize(("content", "message"), WRONG_FILES.values(), ids=WRONG_FILES)
def test_wrong_files(run, tmp_path: Path, tiny, content: str, message: str) -> None:
    (tmp_path / "rows.csv").write_text(content)
    answer = run("train", tmp_path / "rows.csv", "--out", tmp_path / "model", *tiny)
    assert (answer.status, answer.out) == (2, "")
    assert message in answer.line
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--embedding", "glove"], "--embedding is 'glove': expected one of cwc, cc, plain"),
        (["--loss", "hinge"], "--loss is 'hinge': expected one of margin, focal, cross-entropy"),
        (["--epochs", "-1"], "--epochs is -1: expected 1 to 10000 or auto"),
        (["--learning-rate", "nan"], "--learning-rate is nan: expected a finite number"),
        (["--learning-rate", "inf"], "--learning-rate is inf: expected a finite number"),
        (["--hidden-size", "100"], "--hidden-size 100 is not a multiple of --primary-length"),
        (["--max-words", str(10**30)], "--max-words is 1"),
        (["--no-header", "--text-column", "x"], "--text-column and --label-column need a header"),
        (["--valid", "nowhere.csv"], "nowhere.csv: no such file"),
    ],
)
def test_wrong_options(run, rows_file: Path, tmp_path: Path, words: list[str], message: str) -> None:
    answer = run("train", rows_file, "--out", tmp_path / "model", "--epochs", "1", *words)
    assert (answer.status, answer.out) == (2, "")
    assert message in answer.line
    assert not (tmp_path / "model").exists()


def test_the_place_is_checked_before_the_work(run, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    answer = run("train", "nowhere.csv", "--out", tmp_path)
    assert answer.status == 2
    assert "holds 'thesis.tex'" in answer.line


def test_training_that_diverges(run, model: Path, rows_file: Path, tmp_path: Path, tiny) -> None:
    answer = run("train", rows_file, "--out", tmp_path / "model", *tiny, "--learning-rate", "1e30", "--clip", "0")
    assert (answer.status, answer.out) == (1, "")
    assert "training diverged" in answer.err.splitlines()[-1]
    assert "the best model so far is kept" in answer.err.splitlines()[-1]
    assert json.loads(run("info", tmp_path / "model", "--json").out)["linear_only"] is True  # it was there before
    assert run("predict", tmp_path / "model", "--text", "the match").status == 0


def test_a_file_name_that_is_not_utf8(run, rows_file: Path, tmp_path: Path, tiny) -> None:
    file = tmp_path / "caf\udce9.jsonl"
    try:
        file.write_bytes(rows_file.read_bytes())
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    answer = run("train", file, "--out", tmp_path / "mod\udce9l", "--json", *tiny)
    assert answer.status == 0
    assert os.fsencode(json.loads(answer.out)["path"]).endswith(b"mod\xe9l")


# Ctrl-C


HELD_OUT = ("--valid-fraction", "0.25")


class Interrupter(LineMonitor):
    """A monitor that presses Ctrl-C when a step is done."""

    epoch_of, times = 1, 1

    def step(self, epoch: int, step: int, loss: float, tokens_per_second: float) -> None:
        super().step(epoch, step, loss, tokens_per_second)
        if epoch == self.epoch_of and step == 1:
            for _ in range(self.times):
                os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize(("epoch", "kept"), [(1, 1), (3, 2)])
def test_ctrl_c_keeps_the_best_model(
    run, rows_file: Path, tmp_path: Path, tiny, monkeypatch: pytest.MonkeyPatch, epoch: int, kept: int
) -> None:
    monkeypatch.setattr(Interrupter, "epoch_of", epoch)
    monkeypatch.setattr(verb, "LineMonitor", Interrupter)
    handler = signal.getsignal(signal.SIGINT)
    answer = run("train", rows_file, "--out", tmp_path / "model", "--json", *tiny, "--epochs", 50, *HELD_OUT)
    assert answer.status == 130
    result = json.loads(answer.out)
    assert (result["stopped"], len(result["epochs"])) == ("interrupted", kept)
    assert "interrupted, the best model so far is kept, --resume continues: " in answer.err.splitlines()[-1]
    assert stored_config(tmp_path / "model")["metrics"]["stopped"] == "interrupted"
    assert run("predict", tmp_path / "model", "--text", "the match").status == 0
    assert signal.getsignal(signal.SIGINT) is handler


def test_a_second_ctrl_c_ends_at_once(
    run, rows_file: Path, tmp_path: Path, tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Interrupter, "times", 2)
    monkeypatch.setattr(verb, "LineMonitor", Interrupter)
    answer = run("train", rows_file, "--out", tmp_path / "model", *tiny, "--epochs", 50, *HELD_OUT)
    assert (answer.status, answer.out) == (130, "")
    assert answer.err.splitlines()[-1] == "capsulet: interrupted"
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    assert stored_config(tmp_path / "model")["linear_only"] is True
    assert run("predict", tmp_path / "model", "--text", "the match").status == 0


def read_terminal(terminal: int) -> str:
    """What comes next, "" at the end."""
    try:
        return os.read(terminal, 65536).decode(errors="replace")
    except OSError:  # Linux says so when the other side is closed
        return ""


@pytest.mark.slow
def test_a_bar_on_a_terminal_and_a_real_signal(rows_file: Path, tmp_path: Path, tiny) -> None:
    terminal, inside = pty.openpty()
    words = ["train", rows_file, "--valid", rows_file, "--out", tmp_path / "model", "--json", *tiny, "--epochs", "5000"]
    process = subprocess.Popen(
        [sys.executable, "-m", "capsulet", *words], stdout=subprocess.PIPE, stderr=inside, text=True,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "120"},
    )  # fmt: skip
    os.close(inside)
    seen = ""
    while "epoch 3 " not in seen:
        more = read_terminal(terminal)
        assert more, seen
        seen += more
    process.send_signal(signal.SIGINT)
    while more := read_terminal(terminal):
        seen += more
    os.close(terminal)
    out, _ = process.communicate()
    assert process.returncode == 130
    assert json.loads(out)["stopped"] == "interrupted"
    assert "\x1b[" in seen
    assert "━" in seen
    assert re.search(r"epoch \d+/5000", seen)
    assert "Traceback" not in seen
    assert "interrupted, the best model so far is kept" in seen


def test_notes_on_a_terminal_name_flags(tmp_path: Path) -> None:
    rows = [("a", f"word{number}") for number in range(60)] + [("b", "other"), ("b", "one"), ("A", "x"), ("A", "y")]
    path = tmp_path / "rows.csv"
    path.write_text("label,text\n" + "".join(f"{label},{text}\n" for label, text in rows))
    terminal, inside = pty.openpty()
    words = ["train", path, "--valid", path, "--out", tmp_path / "model", "--linear-only", "--no-report"]
    process = subprocess.Popen(
        [sys.executable, "-m", "capsulet", *map(str, words)], stderr=inside, env={**os.environ, "COLUMNS": "500"}
    )
    os.close(inside)
    seen = ""
    while more := read_terminal(terminal):
        seen += more
    os.close(terminal)
    assert process.wait() == 0
    assert "add --select macro-f1, or --class-weight balanced as well" in seen
    assert "the labels 'A' and 'a' differ only in spelling" in seen
    assert "rows.csv has both training and validation texts" in seen and "give other texts with --valid" in seen


def test_exchanged_columns_are_noticed(run, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("label,text\n" + "".join(f"text number {n},{'ab'[n % 2]}\n" for n in range(80)))
    call = ("train", path, "--out", tmp_path / "model", "--linear-only", "--no-report", "--threads", "1")
    assert "80 classes in 80 rows: if the columns of text and label are exchanged, name them" in run(*call).err
    answer = run(*call, "--label-column", "text")
    assert (answer.status, "the column 'text' is both text and label" in answer.line) == (2, True)


def test_ctrl_c_while_texts_are_read_leaves_nothing(
    run, rows_file: Path, tmp_path: Path, tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("capsulet.training.interruption.Interruption.requested", lambda self: True)
    answer = run("train", rows_file, "--out", tmp_path / "model", "--cache", tmp_path / "cache", *tiny)
    assert (answer.status, answer.out) == (130, "")
    assert answer.err.splitlines()[-1] == "capsulet: interrupted"
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["contents"]


def test_a_gpu_that_is_not_there_is_said(run, rows_file: Path, tmp_path: Path, tiny) -> None:
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is one")
    answer = run("train", rows_file, "--out", tmp_path / "model", "--device", "cuda", *tiny)
    assert answer.status == 2
    assert (
        answer.err == "capsulet: --device is cuda, but PyTorch finds no GPU: leave out --device to train on the CPU\n"
    )


def test_the_second_run_on_the_same_file_reads_the_cache(
    run, rows_file: Path, tmp_path: Path, tiny, monkeypatch
) -> None:
    call = ("train", rows_file, "--cache", tmp_path / "cache", *tiny, "--out")
    assert run(*call, tmp_path / "one").status == 0
    with monkeypatch.context() as patch:
        patch.setattr(
            "capsulet.text.labelled.read_rows", lambda *words, **named: pytest.fail("the file was read again")
        )
        assert run(*call, tmp_path / "two").status == 0
        (entry,) = (path for path in (tmp_path / "cache").iterdir() if path.name != "contents")
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("one", "two")]
    assert weights[0] == weights[1]
    ids = entry / "train.ids"
    ids.write_bytes(ids.read_bytes()[:-1])
    answer = run(*call, tmp_path / "three")
    assert answer.status == 0
    assert f"note: {ids} is damaged: tokenising the texts again" in answer.err
    assert (tmp_path / "three" / "model.safetensors").read_bytes() == (
        tmp_path / "one" / "model.safetensors"
    ).read_bytes()


@pytest.mark.parametrize(("select", "words"), [("auto", " (epoch 1 had 90.00 %: within"), ("macro-f1", "")])
def test_an_earlier_epoch_with_a_higher_figure_is_told_of(select: str, words: str) -> None:
    epochs = tuple(
        Epoch(number, 1, 1, 0.1, 0.5, 0.5, accuracy, True, valid_macro_f1=macro)
        for number, accuracy, macro in ((1, 0.9, 0.6), (2, 0.89, 0.7))
    )
    result = Training("model", ("a", "b"), 1, 1, 1, epochs[1], epochs, "finished", 1.0)
    assert higher(result, select).startswith(words) and bool(higher(result, select)) == bool(words)
