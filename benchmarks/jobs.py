"""Runs of small files: list them, skip those that are stored, measure the others in processes of their own."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import record
from benchmarks.accuracy import source_digest
from benchmarks.draws import ManyPair, Pair, data_digest, write_pairs
from benchmarks.linear import FEATURES
from benchmarks.one_run import OURS, Specification, run
from benchmarks.peers.rows import VALID_FRACTION
from benchmarks.peers.runs import ROOT, files_digest

Run = dict[str, Any]
Rows = Sequence[Pair] | Sequence[ManyPair]
CLASSIFIERS = (OURS, *FEATURES)
RIVAL_FILES = (
    "benchmarks/linear.py", "benchmarks/linear_labels.py", "benchmarks/multilabel.py",
    "benchmarks/peers/tfidf.py", "benchmarks/peers/words.py",
    "src/capsulet/text/split.py",
)  # fmt: skip


@dataclass(frozen=True)
class Job:
    """One training: what names it in the results file, its rows, its settings."""

    name: dict[str, Any]  # such as set, rows per class and draw
    classifier: str
    train: Rows
    test: Rows
    options: dict[str, Any] = field(default_factory=dict)  # of `capsulet.train`
    settings: dict[str, Any] = field(default_factory=dict)  # other fields of the specification

    @property
    def identity(self) -> Run:
        """What is replaced by a new run."""
        return {**self.name, "classifier": self.classifier}

    def key(self, sources: dict[str, str]) -> Run:
        """Values that must be equal for a stored run to count as done."""
        kind = "ours" if self.classifier == OURS else "rival"
        options = self.options if self.classifier == OURS else {}
        data = data_digest(self.train, self.test)
        return {**self.identity, "options": options, "source": sources[kind], "data": data}

    @property
    def facts(self) -> Run:
        """Size of the training file."""
        labels = {label for _, own in self.train for label in ((own,) if isinstance(own, str) else own)}
        return {"rows_drawn": len(self.train), "classes": len(labels)}


def sources() -> dict[str, str]:
    """Digests of the source of ours and of the rivals."""
    rival = files_digest(ROOT / name for name in RIVAL_FILES)
    return {"ours": source_digest(), "rival": f"{rival}-{VALID_FRACTION:g}"}


def execute(job: Job) -> Run:
    """Write the files of a job and run it in a process of its own."""
    with tempfile.TemporaryDirectory() as scratch:
        train = write_pairs(Path(scratch) / "train.jsonl", job.train)
        test = write_pairs(Path(scratch) / "test.jsonl", job.test)
        options = {"seed": job.name["draw"], **job.options} if job.classifier == OURS else {}
        return run(Specification(str(train), str(test), job.classifier, options, **job.settings))


def merge(runs: Sequence[Run], new: Run, identity: Run) -> list[Run]:
    """Add a run in place of the one of the same identity; one of ours also replaces draws made with other options."""
    without_draw = {name: value for name, value in identity.items() if name != "draw"}

    def replaced(run: Run) -> bool:
        others = without_draw.items() <= run.items() and run["options"] != new["options"]
        return identity.items() <= run.items() or others

    kept = [run for run in runs if not replaced(run)]
    return sorted([*kept, new], key=lambda run: [str(run[name]) for name in identity])


def measure_all(wanted: Sequence[Job], name: str, module: str, jobs: int, write: bool) -> tuple[dict[str, Any], int]:
    """Measure what is not stored; return the contents of the results file and the number of failures."""
    made_by = sources()
    # the head of the file describes the last command; every run also stores the command that made it
    here = record.circumstances(record.command_line(module))
    runs: list[Run] = record.stored(name) if write else []
    failures = 0
    with ThreadPoolExecutor(jobs) as pool:
        keys = {id(job): job.key(made_by) for job in wanted}
        waiting = [job for job in wanted if not any(keys[id(job)].items() <= run.items() for run in runs)]
        futures = {pool.submit(execute, job): job for job in waiting}
        for future in as_completed(futures):
            job, result = futures[future], future.result()
            title = " ".join(str(value) for value in job.identity.values())
            if "failure" in result:
                failures += 1
                print(f"{title}: {result['failure']}", file=sys.stderr, flush=True)
                continue
            print(f"{title}: {100 * result['accuracy']:.2f} %, {result['seconds']:.1f} s", file=sys.stderr, flush=True)
            # read again: another command may have written to the file
            new = {**keys[id(job)], **job.facts, **result, **record.own(here)}
            runs = merge(record.stored(name) if write else runs, new, job.identity)
            if write:
                record.write(name, {**here, "runs": runs})
    return {**here, "runs": runs}, failures
