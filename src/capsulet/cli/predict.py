"""Label texts with a model.

examples:
  capsulet predict model --text "what a match" --text "shares fell"
  capsulet predict model texts.csv > labels.jsonl          one JSON object a text, in the file's order
  cat lines.txt | capsulet predict model - --top-k 3 --to csv
  capsulet predict model shards/ --engine ray --workers 8 --out labels/ --keep id

With --engine ray, FILE is a folder of Parquet files. --out gets a file of the same name for each, with a row for every
row in order: the columns named by --keep, label and score. Called again after an end of any kind, it makes what is
missing.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterable, Iterator

from capsulet.cli.options import add_reading_flags, reading_options
from capsulet.cli.output import json_line, tell
from capsulet.errors import InputError
from capsulet.results import Prediction


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `capsulet predict`."""
    parser.add_argument("model", metavar="MODEL", help="model folder or .onnx file")
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help="texts, in any format or one a line; - is standard input"
    )
    parser.add_argument("--text", action="append", default=[], metavar="TEXT", help="a text to label; may be repeated")
    parser.add_argument("--top-k", type=int, default=1, metavar="K", help="also list the K best labels")
    parser.add_argument("--to", choices=("jsonl", "csv"), default="jsonl", help="form of the output (default: jsonl)")
    group = parser.add_argument_group("many machines")
    group.add_argument("--engine", choices=("local", "ray"), default="local", help="predict here, or on Ray workers")
    group.add_argument("--workers", type=int, default=2, metavar="N", help="with --engine ray (default: 2)")
    group.add_argument("--out", metavar="DIR", help="with --engine ray: folder for the labelled Parquet files")
    words = "with --engine ray: a column to copy beside the labels; may be repeated"
    group.add_argument("--keep", action="append", default=[], metavar="NAME", help=words)
    add_reading_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    """Predict."""
    from capsulet.runtime.classifier import FIRST_WINDOW, load
    from capsulet.text.data import SkippedRows, read_rows

    if bool(arguments.files) == bool(arguments.text):
        raise InputError(
            'predict takes files or --text, one of the two: name a file, - for standard input, or --text "…"'
        )
    if arguments.top_k < 1:
        raise InputError(f"--top-k is {arguments.top_k}: expected at least 1")
    if arguments.engine == "ray":
        return run_on_ray(arguments)
    if arguments.out or arguments.keep:
        raise InputError("--out and --keep are for --engine ray: without it labels go to standard output")
    classifier = load(arguments.model)
    top_k = min(arguments.top_k, len(classifier.labels))
    skipped = SkippedRows()
    if arguments.text:
        texts: Iterator[str] = iter(arguments.text)
    else:
        reading = reading_options(arguments)
        rows = read_rows(arguments.files, labelled=False, options=reading, skipped=skipped, allow_empty=True)
        texts = (row.text for row in rows)
    # somebody who types lines wants an answer to each
    typed = arguments.files == ["-"] and sys.stdin.isatty()
    predictions = classifier.stream(texts, top_k, first_window=1 if typed else FIRST_WINDOW)
    (write_csv if arguments.to == "csv" else write_jsonl)(predictions, top_k)
    if skipped.count:
        tell(skipped.summary())
    return 0


def run_on_ray(arguments: argparse.Namespace) -> int:
    """Predict on a cluster."""
    from capsulet.cluster import predict_on_ray

    if len(arguments.files) != 1 or not arguments.out or arguments.top_k != 1 or arguments.to != "jsonl":
        raise InputError("--engine ray takes one folder of Parquet files and --out, and gives the best label a row")

    def progress(shards: int, all_shards: int, rows: int) -> None:
        tell(f"{shards:,} of {all_shards:,} files, {rows:,} rows")

    predict_on_ray(
        arguments.model, arguments.files[0], arguments.out, arguments.workers,
        text_columns=arguments.text_column, keep=arguments.keep, progress=progress,
    )  # fmt: skip
    return 0


def write_jsonl(predictions: Iterable[Prediction], top_k: int) -> None:
    """One JSON object a text."""
    for prediction in predictions:
        row: dict[str, object] = {"label": prediction.label, "score": round(prediction.score, 6)}
        if top_k > 1:
            row["top"] = [{"label": label, "score": round(score, 6)} for label, score in prediction.top]
        sys.stdout.write(json_line(row) + "\n")
        sys.stdout.flush() if sys.stdout.isatty() else None


def write_csv(predictions: Iterable[Prediction], top_k: int) -> None:
    """One row a text: label,score, and label_2,score_2 … with --top-k."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    numbers = [""] + [f"_{place}" for place in range(2, top_k + 1)]
    writer.writerow([column + number for number in numbers for column in ("label", "score")])
    for prediction in predictions:
        writer.writerow([cell for label, score in prediction.top for cell in (label, round(score, 6))])
