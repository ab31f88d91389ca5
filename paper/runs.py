"""One run: a row of a table on a data set with a seed, trained and tested through the public functions.

Two protocols. `ours`: the epoch is chosen on a validation part cut from train, and the test file is read once, at the
end. `published`: the test file is read after every epoch and the highest of its accuracies is the figure, as in the
paper's code. (That code tests many times per epoch, so its effect is larger than the effect measured here.) This
protocol trains on all rows of train, because no validation part is needed.

A run that is interrupted leaves a checkpoint in the folder of prepared files, and continues there.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import capsulet
from benchmarks import record
from benchmarks.accuracy import source_digest
from benchmarks.paired import pack
from capsulet.config import build_options, explicit_values
from capsulet.errors import InputError
from capsulet.evaluation.evaluate import evaluate_pairs
from capsulet.evaluation.labels import LabelledTexts
from capsulet.runtime.matrix import Matrix
from capsulet.text.labelled import labelled_pairs, silent
from capsulet.text.rows import ReadOptions
from paper.prepared import Files
from paper.rows import TABLES, Row

PROTOCOLS = {
    "ours": "the epoch is chosen on validation texts, the test file is read once",
    "published": "the best epoch on the test file itself, which is too high",
}
BUDGET = ("rows", "epochs")  # training rows and epochs; default: all rows, the recipe's epochs
MOST_CLASSES = 20  # larger confusion matrices are not stored
Result = dict[str, Any]


@dataclass(frozen=True)
class Run:
    """One run; `key` has everything that decides its figure, apart from the source code."""

    set: str
    row: Row
    seed: int
    files: Files
    options: Mapping[str, Any]  # differences from the recipe, those of the row included
    budget: Mapping[str, int]
    protocol: str
    recipe: str

    @property
    def said(self) -> dict[str, Any]:
        """Options that differ from the recipe; an option set to its default does not make another run."""
        return explicit_values(build_options(self.recipe, **self.options), self.recipe)

    @property
    def key(self) -> Result:
        """Values that must be equal for a run to count as done; several tables may share a run."""
        return {
            "set": self.set,
            "seed": self.seed,
            "recipe": self.recipe,
            "options": self.said,
            "budget": dict(self.budget),
            "protocol": self.protocol,
            "bytes": self.files.sizes,
            "frozen": self.row.frozen,
        }

    @property
    def name(self) -> str:
        """A short name for its files, which a change of the source changes."""
        return hashlib.sha256(json.dumps([self.key, digest()], sort_keys=True).encode()).hexdigest()[:16]


def build_run(
    name: str,
    row: Row,
    seed: int,
    files: Files,
    options: Mapping[str, Any],
    budget: Mapping[str, int],
    protocol: str,
    recipe: str,
) -> Run:
    """Build a run; the epochs of the budget become an option, and the row's own options and recipe take precedence."""
    passes = {"epochs": budget["epochs"]} if "epochs" in budget else {}
    given = {**passes, **options, **row.options}
    return Run(name, row, seed, files, given, dict(sorted(budget.items())), protocol, row.recipe or recipe)


def parse_budget(pairs: Iterable[str]) -> dict[str, int]:
    """Parse `rows=20000 epochs=3` into numbers by name."""
    found = {}
    for pair in pairs:
        name, _, value = pair.partition("=")
        if name not in BUDGET or not value.isdecimal() or int(value) < 1:
            raise InputError(f"--budget {pair}: expected {' or '.join(f'{name}=N' for name in BUDGET)}")
        found[name] = int(value)
    return dict(sorted(found.items()))


@cache
def digest() -> str:
    """Digest of the source of a run: the library and the modules that prepare the files."""
    here = Path(__file__).parent
    read = b"".join((here / name).read_bytes() for name in ("datasets.py", "prepared.py", "runs.py"))
    return hashlib.sha256(source_digest().encode() + read).hexdigest()[:12]


def find_done(run: Run, results: Iterable[Result]) -> Result | None:
    """Stored result of the same run from any table, made by any source, or None."""
    key = run.key.items()
    return next(
        (one for one in results if all({"frozen": False, **one}.get(name) == value for name, value in key)), None
    )


def stored_runs(folder: Path) -> list[Result]:
    """Stored runs of all tables."""
    return [run for name in TABLES for run in record.stored(name, folder)]


def model_folder(run: Run, work: Path) -> Path:
    """Where a run trains its model."""
    return work / "models" / run.name


def measure(run: Run, work: Path, threads: int = 1, keep: bool = False) -> Result:
    """Train and test, or continue a training that was interrupted; `keep` leaves the model in its folder."""
    folder = model_folder(run, work)
    figures = folder.with_suffix(".json")
    if figures.exists() and folder.exists():
        found: Result = json.loads(figures.read_text())
        return found
    folder.parent.mkdir(parents=True, exist_ok=True)
    found = trained(run, folder, threads)
    if keep:
        figures.write_text(json.dumps(found))
    else:
        shutil.rmtree(folder)
    return found


def trained(run: Run, folder: Path, threads: int) -> Result:
    """Train a model in a folder, test it and return the result."""
    looking = {"valid": run.files.test, "patience": 0} if run.protocol == "published" else {}
    given = {"recipe": run.recipe, "seed": run.seed, "threads": threads, **run.options, **looking}
    continued, before = Path(f"{folder}.checkpoint").exists(), time.process_time()
    training = capsulet.train(run.files.train, folder, resume=True, report=None, **given)
    if training.stopped == "interrupted":
        raise KeyboardInterrupt
    found: Result = {
        "row": run.row.name,
        **run.key,
        "source": digest(),
        "train_command": record.neutral(capsulet.load(folder).config.command),
        "parameters": training.parameters,
        "best_epoch": training.best.epoch,
        "epochs": [
            {"loss": one.loss, "valid_loss": one.valid_loss, "valid_accuracy": one.valid_accuracy}
            for one in training.epochs
        ],
        "seconds": round(training.seconds, 1),
        "cpu_seconds": round(time.process_time() - before, 1),
        "continued": continued,  # the seconds are those after the interruption
        "warnings": list(training.warnings),
    }
    if run.protocol == "published":
        looks = [one.valid_accuracy for one in training.epochs]
        return {**found, "rows": [training.train_rows, training.valid_rows], **best_look(looks)}
    evaluation, right = tested(folder, run.files.test)
    found |= {
        "accuracy": evaluation.accuracy,
        "macro_f1": evaluation.macro_f1,
        "rows": [training.train_rows + training.valid_rows, evaluation.count],
        "valid_accuracy": training.best.valid_accuracy,
        "right": pack(right),
    }
    if len(evaluation.classes) <= MOST_CLASSES:
        found["labels"] = [one.label for one in evaluation.classes]
        found["confusion"] = matrix(evaluation)
    return found


def tested(model: Path, test: Path) -> tuple[capsulet.Evaluation, list[bool]]:
    """Evaluation of a model, and for each row of the test file whether the answer is right."""
    classifier = capsulet.load(model, threads=1)
    right: list[bool] = []

    def observe(window: LabelledTexts, lengths: Matrix) -> None:
        truth = np.array([place for (place,) in window.truth])
        right.extend((np.asarray(lengths).argmax(1) == truth).tolist())

    pairs = labelled_pairs(test, ReadOptions(), silent, known=classifier.labels, allow_empty=True)
    return evaluate_pairs(classifier, pairs, observe), right


def best_look(looks: list[float]) -> Result:
    """Highest test accuracy of all epochs, with the accuracy of each epoch."""
    return {"accuracy": max(looks), "looks": looks, "last_look": looks[-1]}


def matrix(evaluation: capsulet.Evaluation) -> list[list[int]]:
    """Confusion matrix; rows are true classes, columns predicted classes."""
    labels = [one.label for one in evaluation.classes]
    wrong = {(one.truth, one.predicted): one.count for one in evaluation.confusions}
    found = [[wrong.get((truth, predicted), 0) for predicted in labels] for truth in labels]
    for place, one in enumerate(evaluation.classes):
        found[place][place] = one.count - sum(found[place])
    return found
