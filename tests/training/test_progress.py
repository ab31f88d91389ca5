"""Progress of a training in Python: quiet in programs, lines, a bar, or a table in a notebook."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import capsulet
from capsulet.results import Epoch
from capsulet.training.progress import BEST, LineMonitor, epoch_line, progress_monitor

TINY = {"network": "always", "epochs": 2, "min_count": 1, "hidden_size": 8, "threads": 1, "report": None, "cache": None}
NOTEBOOK = """
import json, sys
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
import capsulet

shell = InteractiveShell.instance()
shell.kernel = object()  # as in a notebook
rows, out = sys.argv[1:]
with capture_output() as caught:
    training = capsulet.train(rows, out, valid=rows, network="always", epochs=2, min_count=1, hidden_size=8, threads=1,
                              report=None, cache=None)
pictures = [output.data["text/html"] for output in caught.outputs]
print(json.dumps([pictures[0], pictures[-1], len({output.transient["display_id"] for output in caught.outputs})]))
print(caught.stdout + caught.stderr, end="", file=sys.stderr)
"""


def test_an_epoch_in_words() -> None:
    epoch = Epoch(2, 3, 4, 0.1, 0.25, 0.3, 0.5, best=True)
    assert epoch_line(epoch, 9) == "epoch 2 of 9: accuracy 50.00 %, loss 0.2500"
    several = Epoch(2, 3, 4, 0.1, 0.25, 0.3, 0.5, best=False, valid_macro_f1=0.4, valid_micro_f1=0.6)
    assert epoch_line(several, 9) == "epoch 2 of 9: micro-F1 60.00 %, macro-F1 40.00 %, loss 0.2500"


def test_a_program_is_quiet_unless_it_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    assert progress_monitor(None) is None and progress_monitor(False) is None
    assert isinstance(progress_monitor(True), LineMonitor)
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)
    assert isinstance(progress_monitor(None), LineMonitor) and progress_monitor(False) is None


@pytest.mark.parametrize("progress", [True, None], ids=["shown", "quiet"])
def test_lines(rows_file: Path, tmp_path: Path, progress: bool | None, capsys: pytest.CaptureFixture[str]) -> None:
    training = capsulet.train(rows_file, tmp_path / "model", valid=rows_file, progress=progress, **TINY)
    printed = capsys.readouterr()
    lines = [line for line in printed.err.splitlines() if not line.startswith("note: ")]
    assert printed.out == "" and bool(lines) == bool(progress)
    if progress:
        assert [line.split(":")[0] for line in lines[2:]] == [
            "epoch 1 of 2", "epoch 2 of 2", "the network is kept, as requested",
        ]  # fmt: skip
        assert lines[-1] == training.decision


def test_messages_of_the_caller_come_first(rows_file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines: list[str] = []
    capsulet.train(rows_file, tmp_path / "model", progress=True, tell=lines.append, linear_only=True, report=None)
    assert lines and capsys.readouterr().err == ""


def test_a_notebook_shows_one_picture_and_marks_one_epoch(rows_file: Path, tmp_path: Path) -> None:
    pytest.importorskip("IPython")
    call = [sys.executable, "-c", NOTEBOOK, rows_file, tmp_path / "model"]
    done = subprocess.run(call, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    first, last, displays = json.loads(done.stdout)
    assert first == "" and displays == 1
    assert "the network is kept, as requested" in last and last.count(BEST) == 1 and "<progress" not in last
