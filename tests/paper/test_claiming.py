"""Two commands at the same time: each run is made by one of them, and no result is lost."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import pytest

from paper import __main__ as command
from paper import queue
from paper.claiming import claimed, locked
from paper.prepared import Files
from paper.queue import Job, store
from paper.rows import TABLES
from paper.runs import build_run

pytest.importorskip("fcntl", reason="no file locks on this system")
TABLE = TABLES["routing"]


def test_a_run_that_another_command_makes_is_left_to_it(
    call: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    claims: list[Path] = []
    real = queue.claimed
    monkeypatch.setattr(queue, "claimed", lambda model: claims.append(model) or real(model))
    words = ["routing", *call, "--rows", "dynamic", "kmeans"]
    folder = tmp_path / "work" / "models"
    monkeypatch.setattr(queue, "model_folder", lambda run, work: folder / run.row.name)
    with claimed(folder / "kmeans") as mine:
        assert mine
        assert command.main(words) == 0
        assert "kmeans 1 epochs=2 rows=90 (ours): left to the command that makes it now" in capsys.readouterr().err
        stored = json.loads((tmp_path / "results" / "routing.json").read_text())["runs"]
        assert [run["row"] for run in stored] == ["dynamic"]
    assert claims == [folder / "dynamic", folder / "kmeans"]
    assert command.main(words) == 0
    stored = json.loads((tmp_path / "results" / "routing.json").read_text())["runs"]
    assert [run["row"] for run in stored] == ["dynamic", "kmeans"]


def test_results_of_two_commands_are_both_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.write_text("")
    write = queue.record.write

    def slowly(name: str, result: dict, folder: Path) -> Path:
        time.sleep(0.05)  # the other command reads the file in the meantime
        return write(name, result, folder)

    monkeypatch.setattr(queue.record, "write", slowly)
    jobs = [Job(TABLE, build_run("mine", row, 1, Files(file, file), {}, {}, "ours", "published")) for row in TABLE.rows]
    threads = [threading.Thread(target=store, args=(job, dict(job.run.key), {}, tmp_path)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stored = json.loads((tmp_path / "routing.json").read_text())["runs"]
    assert sorted(run["row"] for run in stored) == sorted(row.name for row in TABLE.rows)


def test_a_lock_waits_and_ends_with_its_block(tmp_path: Path) -> None:
    order = []

    def second() -> None:
        with locked(tmp_path), claimed(tmp_path / "model", wait=True) as mine:
            order.append(("second", mine))

    with locked(tmp_path), claimed(tmp_path / "model") as mine:
        thread = threading.Thread(target=second)
        thread.start()
        time.sleep(0.05)
        order.append(("first", mine))
    thread.join()
    assert order == [("first", True), ("second", True)]
