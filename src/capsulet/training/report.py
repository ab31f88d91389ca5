"""The HTML report of a training."""

import shlex
from pathlib import Path

from capsulet.presentation import count as numbered
from capsulet.report.measures import Measures
from capsulet.report.writer import write_report
from capsulet.storage.folder import read_config
from capsulet.training.command import OUT_PLACEHOLDER


def report_path(out: Path) -> Path:
    """Path of the report: next to the model folder, not inside, because a model must not contain texts.

    The path is relative if `out` is relative, unless `out` is a link or a path such as `..`.
    """
    place = out.resolve()
    beside = out if (out.parent.resolve(), out.name) == (place.parent, place.name) else place
    return beside.with_name(place.name + ".report.html")


def report_training(page: Path, out: Path, measures: Measures) -> None:
    """Write the report of a training."""
    config = read_config(out)
    count, data, folds = measures.evaluation.count, config.data, config.metrics.folds
    rows, texts = (data.valid_rows, "validation") if data.valid_rows else (data.train_rows, "training")
    part = f"{count:,} of the " if count < rows else "the "
    which = "" if config.linear_only else ", which also selected the epoch"
    if folds:
        which = f", each answered by a model that was trained without it ({folds}-fold cross-validation)"
    measured = f"{part}{numbered(rows, f'{texts} text')}{which}"
    note = "Texts are shown as the model spells them: in lower case, with a space between the tokens."
    if not config.measured:
        measured, note = "", "With one training row per class, no text is left to measure the quality on."
    write_report(
        page, f"Training of {out.name}", measured, out, config,
        measures, [config.command.replace(OUT_PLACEHOLDER, f"--out {shlex.quote(str(out))}", 1)], [note],
    )  # fmt: skip
