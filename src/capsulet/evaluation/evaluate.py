"""`capsulet.evaluate`: a model on labelled files."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from capsulet.errors import InputError
from capsulet.report.label_sets import SetRecorder
from capsulet.report.measures import Recorder
from capsulet.report.writer import check_report, write_report
from capsulet.results import Evaluation
from capsulet.runtime.classifier import Classifier, load
from capsulet.text.preparation import Paths, Tell, labelled_pairs, paths, silent
from capsulet.text.rows import ReadOptions

if TYPE_CHECKING:
    pass


def recorder_of(classifier: Classifier) -> Recorder | SetRecorder:
    """What watches an evaluation of this model for a report."""
    return SetRecorder(classifier) if classifier.multi_label else Recorder(classifier)


def evaluate(
    model: Classifier | str | Path,
    files: Paths,
    *,
    reading: ReadOptions | None = None,
    tell: Tell = silent,
    report: str | Path | None = None,
) -> Evaluation:
    """How a model fares on labelled files; `report` is the file of a page about it."""
    page, reading = report and Path(report), reading or ReadOptions()
    if page:
        check_report(page)
    classifier = model if isinstance(model, Classifier) else load(model)
    reading = reading.for_model(classifier.multi_label)
    pairs = labelled_pairs(files, reading, tell, known=classifier.labels, allow_empty=True)
    recorder = recorder_of(classifier) if page else None
    result = classifier.evaluate(pairs, recorder)
    if not result.count:
        raise InputError(f"{', '.join(paths(files))}: no row that can be used")
    if page and recorder:
        words = ["capsulet", "evaluate", classifier.path, *paths(files), *reading.flags(), "--report", str(page)]
        write_report(
            page, f"{Path(classifier.path).name} on {', '.join(Path(file).name for file in paths(files))}",
            f"{result.count:,} texts of {', '.join(paths(files))}", Path(classifier.path), classifier.config,
            recorder.finish(result), [classifier.config.command, shlex.join(words)],
        )  # fmt: skip
    return result
