"""Make the runs that are missing, one after the other, and store each as it ends.

Several commands may work at the same time with the same folders: each run is claimed by one of them, and each result is
added to what the file has by then.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import record
from capsulet.errors import CapsuletError, InputError
from paper.claiming import claimed, locked
from paper.frozen import measure_frozen
from paper.rows import Table
from paper.runs import Result, Run, find_done, measure, model_folder, stored_runs


class Job(NamedTuple):
    """A run of a table; `keep` leaves its model for another run."""

    table: Table
    run: Run
    keep: bool = False

    @property
    def title(self) -> str:
        """The job in one line."""
        run = self.run
        budget = "".join(f" {name}={value}" for name, value in run.budget.items())
        return f"{self.table.name} {run.set} {run.recipe} {run.row.name} {run.seed}{budget} ({run.protocol})"


def stored_result(job: Job, results: Path) -> Result | None:
    """Result of a job in the file of its table, or None."""
    return find_done(job.run, [one for one in record.stored(job.table.name, results) if one["row"] == job.run.row.name])


def missing(jobs: Iterable[Job], results: Path) -> list[Job]:
    """Jobs that must be trained: no table has their run. Jobs with the same run count once."""
    done, found, seen = stored_runs(results), [], []
    for job in jobs:
        if job.run.key not in seen and not find_done(job.run, done):
            found.append(job)
            seen.append(job.run.key)
    return found


def make_runs(jobs: Sequence[Job], here: dict[str, Any], results: Path, work: Path, threads: int) -> list[str]:
    """Make the runs of all jobs that are not stored; return those that failed, because a training diverged."""
    failed = []
    for job in jobs:
        if stored_result(job, results):  # read again: another command may have written
            continue
        with claimed(model_folder(job.run, work)) as mine:
            if not mine:
                print(f"{job.title}: left to the command that makes it now", file=sys.stderr, flush=True)
                continue
            done = find_done(job.run, stored_runs(results))
            try:
                new = done or {**made(job, work, threads), **record.own(here)}
            except InputError:
                raise
            except CapsuletError as error:  # the other runs are not affected
                failed.append(f"{job.run.row.name} {job.run.seed}")
                print(f"{job.title}: {error}", file=sys.stderr, flush=True)
                continue
            store(job, new, here, results)
        print(f"{job.title}: {100 * new['accuracy']:.2f} %{', already run' * bool(done)}", file=sys.stderr, flush=True)
    return failed


def store(job: Job, new: Result, here: dict[str, Any], results: Path) -> None:
    """Add a result to the file of its table."""
    results.mkdir(parents=True, exist_ok=True)
    with locked(results):
        runs = merge(record.stored(job.table.name, results), {**new, "row": job.run.row.name})
        # the head of the file describes the last command; every run also stores the command that made it
        record.write(job.table.name, {**here, "runs": runs}, results)


def made(job: Job, work: Path, threads: int) -> Result:
    """The result of a run that is made now."""
    return measure_frozen(job.run, work, threads) if job.run.row.frozen else measure(job.run, work, threads, job.keep)


def merge(runs: list[Result], new: Result) -> list[Result]:
    """Add a run; it replaces an older one of the same row, set, seed, recipe, budget, options and protocol."""
    same = ("row", "set", "seed", "recipe", "budget", "options", "protocol")
    kept = [run for run in runs if any(run[name] != new[name] for name in same)]
    return sorted([*kept, new], key=order)


def order(run: Result) -> tuple[Any, ...]:
    """The order of runs in a file."""
    return run["set"], run["protocol"], run["recipe"], run["row"], run["seed"], sorted(run["budget"].items())
