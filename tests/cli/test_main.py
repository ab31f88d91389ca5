"""The command line as a whole: help, errors, streams."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from capsulet import __version__
from capsulet.cli.calls import VERBS
from capsulet.cli.main import main
from capsulet.cli.parser import build_parser
from tests.conftest import stored_config


@pytest.mark.parametrize("verb", VERBS)
def test_help_has_an_example(run, verb: str) -> None:
    answer = run(verb, "--help")
    assert (answer.status, answer.err) == (0, "")
    examples = answer.out.partition("example")[2]
    assert f"\n  capsulet {verb} " in examples


@pytest.mark.parametrize("verb", VERBS)
def test_examples_can_be_parsed(run, verb: str) -> None:
    """The first example of each verb is a call that its parser takes."""
    import shlex

    line = next(line for line in run(verb, "--help").out.splitlines() if line.startswith(f"  capsulet {verb} "))
    words = shlex.split(line.split("   ")[0] if not line.startswith("   ") else line)
    assert build_parser().parse_args(words[1:]).verb == verb


def test_help_lists_every_verb(run) -> None:
    answer = run("--help")
    assert answer.status == 0
    assert all(f"\n    {name} " in answer.out for name in VERBS)
    assert "capsulet train reviews.csv --out model" in answer.out


def test_version(run) -> None:
    assert run("--version") == (0, f"capsulet {__version__}\n", "")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "the following arguments are required: VERB"),
        (["tarin"], "unknown verb tarin (did you mean train?)"),
        (["train", "x.csv"], "the following arguments are required: --out"),
        (["train", "--out", "y"], "the following arguments are required: FILE"),
        (["predict", "m", "--top-k=2", "b.txt", "--tpo"], "unrecognized argument --tpo"),
        (["demo", "extra"], "unexpected argument extra"),
        (["--verison"], "unknown argument --verison (did you mean --version?)"),
        (["train", "x.csv", "--out", "y", "--colour", "red"], "capsulet train: unrecognized argument --colour;"),
        (["train", "x.csv", "--out", "y", "--epoch", "3"], "unrecognized argument --epoch (did you mean --epochs?);"),
        (
            ["train", "x.csv", "--out", "y", "--epochs", "many"],
            "argument --epochs: expected an integer or auto, got 'many';",
        ),
        (["predict", "m", "--text", "a", "--to", "xml"], "invalid choice: 'xml'"),
    ],
)
def test_a_wrong_call_is_one_line(run, words: list[str], message: str) -> None:
    answer = run(*words)
    assert (answer.status, answer.out) == (2, "")
    assert message in answer.line
    assert "; see `capsulet" in answer.line


@pytest.mark.parametrize("words", [["predict", "{}", "--text", "a"], ["explain", "{}", "--text", "a"], ["info", "{}"],
                                   ["evaluate", "{}", "x.csv"], ["export", "{}", "y.onnx"]])  # fmt: skip
def test_a_missing_model_is_one_line(run, tmp_path: Path, words: list[str]) -> None:
    answer = run(*(word.format(tmp_path / "none") for word in words))
    assert (answer.status, answer.out) == (2, "")
    assert str(tmp_path / "none") in answer.line


def test_debug_shows_the_traceback(run, tmp_path: Path) -> None:
    answer = run("info", tmp_path / "none", "--debug")
    assert answer.status == 2
    assert answer.err.startswith("Traceback (most recent call last):\n")
    assert answer.err.splitlines()[-1].startswith("capsulet: ")
    assert "Traceback" not in run("info", tmp_path / "none").err


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (KeyboardInterrupt(), 130, "capsulet: interrupted"),
        (MemoryError(), 1, "capsulet: out of memory: try a smaller --batch-size"),
        (ZeroDivisionError("a\nb"), 1, "unexpected error (ZeroDivisionError: a b); --debug shows the traceback"),
        (PermissionError(13, "Permission denied", "/x"), 1, "unexpected error (/x: Permission denied)"),
    ],
)
def test_the_unexpected_is_one_line(
    run, monkeypatch: pytest.MonkeyPatch, error: BaseException, status: int, words: str
) -> None:
    def fail(path: Path) -> None:
        raise error

    monkeypatch.setattr("capsulet.cli.info.describe_model", fail)
    answer = run("info", "model")
    assert answer.status == status
    assert words in answer.line


def test_ctrl_c_that_a_library_turned_into_another_error(run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: Path) -> None:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as error:
            try:
                raise ImportError("half a library") from error
            except ImportError:
                raise RuntimeError("no library")  # noqa: B904 - as numpy and torch do it

    monkeypatch.setattr("capsulet.cli.info.describe_model", fail)
    answer = run("info", "model")
    assert (answer.status, answer.line) == (130, "capsulet: interrupted")


def test_a_reader_who_has_had_enough(model: Path) -> None:
    text = "The home team won the match after extra time"
    command = f"yes '{text}' | head -50000 | {sys.executable} -m capsulet predict {model} - | head -1"
    done = subprocess.run(["bash", "-c", f"{command}; echo ${{PIPESTATUS[2]}}"], capture_output=True, text=True)
    first, status = done.stdout.splitlines()
    assert json.loads(first)["label"] == "sport"
    assert (status, done.stderr) == ("0", "")


@pytest.mark.parametrize(("words", "status"), [(["evaluate", "{model}", "{rows}"], 0), (["check", "{twice}"], 0),
                                                (["check", "{twice}", "--strict"], 1),
                                                (["check", "{twice}", "--strict", "--json"], 1)])  # fmt: skip
def test_nobody_reads_the_output(model: Path, rows_file: Path, tmp_path: Path, words: list[str], status: int) -> None:
    twice = tmp_path / "twice.jsonl"
    twice.write_text(2 * rows_file.read_text())  # `check` finds the duplicates
    reader, writer = os.pipe()
    os.close(reader)
    call = [word.format(model=model, rows=rows_file, twice=twice) for word in words]
    done = subprocess.run([sys.executable, "-m", "capsulet", *call], stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert (done.returncode, done.stderr) == (status, "")


@pytest.mark.slow
def test_progress_that_nobody_reads_does_not_end_the_work(rows_file: Path, tmp_path: Path, tiny) -> None:
    words = " ".join([sys.executable, "-m capsulet train", str(rows_file), "--out", str(tmp_path / "model"), *tiny])
    done = subprocess.run(
        ["bash", "-c", f"{words} 2>&1 | true; echo ${{PIPESTATUS[0]}}"], capture_output=True, text=True
    )
    assert done.stdout == "0\n"
    assert stored_config(tmp_path / "model")["metrics"]["stopped"] == "finished"


def test_a_full_disk_under_standard_output(model: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    command = [sys.executable, "-m", "capsulet", "predict", model, "--text", "the match"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert (
        done.stderr
        == "capsulet: the output cannot be written: No space left on device; free space, or write elsewhere\n"
    )


def test_closed_streams(model: Path) -> None:
    command = f"{sys.executable} -m capsulet predict {model} --text 'the match'"
    assert subprocess.run(["bash", "-c", f"{command} >&- 2>&-"]).returncode == 0
    done = subprocess.run(["bash", "-c", f"{command} --top-k 0 2>&-"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, ""), "a complaint must not become output"


@pytest.mark.parametrize("words", ["predict {} -", "explain {} -", "evaluate {} -", "check -", "train - --out nowhere"])
def test_closed_standard_input(model: Path, words: str) -> None:
    command = f"{sys.executable} -m capsulet {words.format(model)}"
    done = subprocess.run(["bash", "-c", f"{command} <&-"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "capsulet: stdin: closed, expected rows. Name a file instead of -\n"


def test_streams_that_can_only_be_read(model: Path) -> None:
    command = f"{sys.executable} -m capsulet predict {model} --text a"
    done = subprocess.run(["bash", "-c", f"{command} 1</dev/null"], stderr=subprocess.PIPE, text=True)
    line = "capsulet: the output cannot be written: Bad file descriptor; write to a file or a pipe\n"
    assert (done.returncode, done.stderr) == (1, line)
    assert subprocess.run(["bash", "-c", f"{command} --top-k 0 2</dev/null"]).returncode == 2


def test_no_file_gets_the_number_of_a_closed_stream() -> None:
    code = (
        "import os; from capsulet.cli.main import open_streams; open_streams(); file = os.open('/dev/null', 0); "
        "os.write(9, b'%d' % (file > 2))"
    )
    done = subprocess.run(["bash", "-c", f'{sys.executable} -c "{code}" 9>&1 <&- >&- 2>&-'], capture_output=True)
    assert (done.returncode, done.stdout) == (0, b"1")


def test_letters_that_the_output_cannot_write(run_process, model: Path) -> None:
    environment = {"PYTHONIOENCODING": "ascii", "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    answer = run_process("explain", model, "--text", "你好", "--json", env=environment)
    assert (answer.status, answer.err) == (0, "")
    assert [token["text"] for token in json.loads(answer.out)["tokens"]] == ["你", "好"]
    assert "\\u4f60" in answer.out


def test_main_gives_its_status(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", str(model)]) == 0
