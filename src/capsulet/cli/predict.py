"""Predict the labels of texts.

examples:
  capsulet predict model --text "what a match" --text "shares fell"
  capsulet predict model texts.csv > labels.jsonl          one JSON object per text, in order
  cat lines.txt | capsulet predict model - --top-k 3 --to csv
  capsulet predict model texts.csv --abstain                label null if the model abstains
  capsulet predict model texts.csv --max-error 0.02         abstain so that 98 % of the answers are right
  capsulet predict model texts.csv --sets 0.95              also a set with the true label, in 95 % of cases
  capsulet predict model shards/ --engine ray --workers 8 --out labels/ --keep id

A score is the calibrated probability of the label, if the model has a calibration. docs/concepts/calibration.md says
what --coverage, --max-error and --sets guarantee.

With --engine ray, FILE is a folder of Parquet files. Each file gets a file of the same name in --out, with the columns
of --keep, label and score. Running the command again creates only the missing files.

A multi-label model predicts every label that reaches its threshold: {"labels": [{"label": …, "score": …}, …]}. In CSV
and Parquet the columns are labels and scores.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import sys
from collections.abc import Iterable, Iterator

from capsulet.cli.options import add_model_argument, add_reading_flags, add_threads_flag, reading_options
from capsulet.cli.output import json_line, tell
from capsulet.errors import InputError
from capsulet.results import Prediction


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `capsulet predict`."""
    add_model_argument(parser)
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help="texts, in any format or one per line; - is standard input"
    )
    parser.add_argument("--text", action="append", default=[], metavar="TEXT", help="text to label; may be repeated")
    parser.add_argument("--top-k", type=int, default=1, metavar="K", help="also list the K best labels (default: 1)")
    parser.add_argument("--to", choices=("jsonl", "csv"), default="jsonl", help="format of the output (default: jsonl)")
    add_threads_flag(parser)
    group = parser.add_argument_group("abstention")
    words = "give no label to texts of unknown words and to the 5 %% of texts that are least like any class"
    group.add_argument("--abstain", action="store_true", help=words)
    words = "abstain, but label at least this share of texts like the validation texts"
    group.add_argument("--coverage", type=float, metavar="SHARE", help=words)
    words = "abstain so that at most this share of the answers is wrong"
    group.add_argument("--max-error", type=float, metavar="SHARE", help=words)
    words = "add a set of labels that contains the true one with this probability (default: 0.9)"
    group.add_argument("--sets", type=float, nargs="?", const=0.9, metavar="SHARE", help=words)
    words = "use class lengths as scores instead of calibrated probabilities"
    group.add_argument("--raw-scores", action="store_true", help=words)
    group = parser.add_argument_group("Ray workers")
    words = "predict in this process or on Ray workers (default: local)"
    group.add_argument("--engine", choices=("local", "ray"), default="local", help=words)
    group.add_argument("--workers", type=int, default=2, metavar="N", help="workers with --engine ray (default: 2)")
    group.add_argument("--out", metavar="DIR", help="with --engine ray: folder to write the Parquet files to")
    words = "with --engine ray: column to copy; may be repeated"
    group.add_argument("--keep", action="append", default=[], metavar="NAME", help=words)
    add_reading_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    """Predict."""
    from capsulet.runtime.classifier import FIRST_WINDOW, load
    from capsulet.text.reading import read_rows
    from capsulet.text.rows import LABEL_SEPARATOR, SkippedRows

    if bool(arguments.files) == bool(arguments.text):
        raise InputError('predict takes either files or --text: name a file, - for standard input, or --text "…"')
    if arguments.top_k < 1:
        raise InputError(f"--top-k is {arguments.top_k}: expected at least 1")
    if arguments.engine == "ray":
        return run_on_ray(arguments)
    if arguments.out or arguments.keep:
        raise InputError("--out and --keep need --engine ray: without it, labels go to standard output")
    classifier = load(arguments.model, arguments.threads)
    if arguments.label_separator is not None and not classifier.multi_label:
        raise InputError(f"--label-separator needs a multi-label model, and {arguments.model} is not: leave it out")
    top_k = min(arguments.top_k, len(classifier.labels))
    skipped = SkippedRows()
    if arguments.text:
        texts: Iterator[str] = iter(arguments.text)
    else:
        reading = dataclasses.replace(reading_options(arguments), multi_label=classifier.multi_label)
        rows = read_rows(arguments.files, labelled=False, options=reading, skipped=skipped, allow_empty=True)
        texts = (row.text for row in rows)
    # answer every line that is typed
    typed = arguments.files == ["-"] and sys.stdin.isatty()
    rules = classifier.abstention_rules(arguments.abstain, arguments.coverage, arguments.max_error, arguments.sets)
    for note in rules.notes:
        tell(f"note: {note}")
    window = 1 if typed else FIRST_WINDOW
    predictions = classifier.answers(texts, top_k, window, arguments.raw_scores, rules)
    if arguments.to == "jsonl":
        write_jsonl(predictions, top_k)
    else:
        separator = (arguments.label_separator or LABEL_SEPARATOR) if classifier.multi_label else None
        check_joinable(classifier.labels, separator)
        write_csv(predictions, top_k, arguments.sets is not None, separator)
    if skipped.count:
        tell(skipped.summary())
    return 0


def run_on_ray(arguments: argparse.Namespace) -> int:
    """Predict on a cluster."""
    from capsulet.runtime.ray import predict_on_ray

    abstaining = arguments.abstain or {arguments.coverage, arguments.max_error, arguments.sets} != {None}
    plain = arguments.top_k == 1 and arguments.to == "jsonl" and not abstaining and not arguments.raw_scores
    if len(arguments.files) != 1 or not arguments.out or not plain:
        raise InputError("--engine ray takes one folder of Parquet files and --out; it predicts the best label only")

    def progress(shards: int, all_shards: int, rows: int) -> None:
        tell(f"{shards:,} of {all_shards:,} files, {rows:,} rows")

    predict_on_ray(
        arguments.model, arguments.files[0], arguments.out, arguments.workers,
        text_columns=arguments.text_column, keep=arguments.keep, progress=progress,
    )  # fmt: skip
    return 0


def write_jsonl(predictions: Iterable[Prediction], top_k: int) -> None:
    """Write one JSON object per text."""
    for prediction in predictions:
        row: dict[str, object] = {"label": prediction.label, "score": round(prediction.score, 6)}
        if prediction.reason:
            row |= {"reason": prediction.reason, "guess": prediction.top[0][0]}
        if prediction.label_set is not None:
            row["set"] = list(prediction.label_set)
        if prediction.labels is not None:
            row = {"labels": listed(prediction.labels)}
        if top_k > 1:
            row["top"] = listed(prediction.top)
        sys.stdout.write(json_line(row) + "\n")
        sys.stdout.flush() if sys.stdout.isatty() else None


def listed(labels: Iterable[tuple[str, float]]) -> list[dict[str, object]]:
    """Labels and their scores as JSON objects."""
    return [{"label": label, "score": round(score, 6)} for label, score in labels]


def check_joinable(labels: Iterable[str], separator: str | None) -> None:
    """Raise an error for a separator that is part of a label: such a cell could not be split again."""
    for label in labels:
        if separator is not None and separator in label:
            raise InputError(
                f"the label {label!r} contains {separator!r}: choose another --label-separator, or --to jsonl"
            )


def write_csv(predictions: Iterable[Prediction], top_k: int, sets: bool = False, separator: str | None = None) -> None:
    """Write one row per text: label,score and, with --top-k, label_2,score_2 …

    With a separator the model is multi-label: labels,scores are joined by it, and --top-k adds label_1,score_1 … A text
    without a label has an empty cell.
    """
    writer = csv.writer(sys.stdout, lineterminator="\n")
    first, start = (["label", "score"], 2) if separator is None else (["labels", "scores"], 1)
    places = range(start, top_k + 1) if top_k > 1 else ()
    more = [f"{column}_{place}" for place in places for column in ("label", "score")]
    writer.writerow([*first, *more, *["set"] * sets])
    for prediction in predictions:
        cells: list[object] = [prediction.label or "", round(prediction.score, 6)]
        if separator is not None:
            given = prediction.labels or ()
            cells = [separator.join(label for label, _ in given), separator.join(f"{score:.6g}" for _, score in given)]
        for place in places:
            label, score = prediction.top[place - 1]
            cells += [label, round(score, 6)]
        writer.writerow(cells + [json_line(list(prediction.label_set or ()))] * sets)
