"""Predict the labels of texts.

examples:
  capsulet predict model --text "what a match" --text "shares fell"
  capsulet predict model texts.csv > labels.jsonl          one JSON object per text, in order
  cat lines.txt | capsulet predict model - --top-k 3 --to csv
  capsulet predict model texts.csv --abstain                label null if the model abstains
  capsulet predict model texts.csv --max-error 0.02         abstain so that 98 % of the answers are right
  capsulet predict model texts.csv --sets 0.95              also a set with the true label, in 95 % of cases
  capsulet predict model shards/ --engine ray --workers 8 --out labels/ --keep id

`probability` is calibrated if the model has a calibration. docs/concepts/calibration.md says
what --coverage, --max-error and --sets guarantee.

With --engine ray, FILE is a folder of Parquet files. Each file gets a file of the same name in --out, with the columns
of --keep, label and probability. Running the command again creates only the missing files.

A multi-label model predicts every label that reaches its threshold: {"labels": [{"label": …, "probability": …}, …]}.
In CSV and Parquet the columns are labels and probabilities.
"""

from __future__ import annotations

import sys

from capsulet.cli.options import MODEL, RAW_CELLS, READING, THREADS
from capsulet.cli.output import json_line, tell
from capsulet.cli.texts import load_with_texts
from capsulet.errors import InputError
from capsulet.text.cells import safe_cell, safe_label
from capsulet.text.flags import LABEL_SEPARATOR

TYPE_CHECKING = False  # as in typing, which takes long to import
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from capsulet.results import Prediction

ARGUMENTS = {
    **MODEL,
    "[FILE…]": "texts, in any format or one per line; - is standard input",
    "--text TEXT…": "text to label; may be repeated",
    "--top-k K=1": "also list the K best labels",
    "--to jsonl|csv": "format of the output",
    **RAW_CELLS,
    **THREADS,
    "abstention": {
        "--abstain": "give no label to texts of unknown words, nor to the 5 % of texts that are least like any class",
        "--coverage SHARE": "abstain, but label at least this share of texts that are like the validation texts",
        "--max-error SHARE": "abstain so that at most this share of the answers is wrong",
        "--sets [SHARE=0.9]": "add a set of labels that contains the true one with this probability",
        "--lengths": "write class lengths instead of probabilities",
    },
    "Ray workers": {
        "--engine local|ray": "predict in this process or on Ray workers",
        "--workers N=2": "workers with --engine ray",
        "--out DIR": "with --engine ray: folder to write the Parquet files to",
        "--keep NAME…": "with --engine ray: column to copy; may be repeated",
    },
    **READING,
}


def run(arguments: argparse.Namespace) -> None:
    """Predict."""
    if arguments.top_k < 1:
        raise InputError(f"--top-k is {arguments.top_k}: expected at least 1")
    if arguments.engine == "ray":
        return run_on_ray(arguments)
    if arguments.out or arguments.keep:
        raise InputError("--out and --keep need --engine ray: without it, labels go to standard output")
    classifier, texts = load_with_texts(arguments, arguments.threads)
    top_k = min(arguments.top_k, len(classifier.labels))
    rules = classifier.abstention_rules(arguments.abstain, arguments.coverage, arguments.max_error, arguments.sets)
    for note in rules.notes if rules else ():
        tell(f"note: {note}")
    from capsulet.runtime.classifier import FIRST_WINDOW, windows

    typed = arguments.files == ["-"] and sys.stdin is not None and sys.stdin.isatty()  # then answer line by line
    read = windows(texts, 1 if typed else FIRST_WINDOW)
    predictions = classifier.answers(read, top_k, arguments.lengths, rules)
    if arguments.to == "jsonl":
        return write_jsonl(predictions, top_k)
    separator = (arguments.label_separator or LABEL_SEPARATOR) if classifier.multi_label else None
    raw = arguments.raw_cells
    check_joinable(classifier.labels if raw else map(safe_label, classifier.labels), separator)
    return write_csv(predictions, top_k, arguments.sets is not None, separator, raw, arguments.lengths)


def run_on_ray(arguments: argparse.Namespace) -> None:
    """Predict on a cluster."""
    from capsulet.runtime.ray import predict_on_ray

    abstaining = arguments.abstain or {arguments.coverage, arguments.max_error, arguments.sets} != {None}
    plain = arguments.top_k == 1 and arguments.to == "jsonl" and not abstaining and not arguments.lengths
    if len(arguments.files) != 1 or arguments.text or not arguments.out or not plain:
        raise InputError(
            "--engine ray takes one folder of Parquet files and --out DIR: leave out --text, --top-k, --to, "
            "--lengths and abstention"
        )
    predict_on_ray(
        arguments.model, arguments.files[0], arguments.out, arguments.workers,
        text_columns=arguments.text_column, keep=arguments.keep,
        progress=lambda files, all_files, rows: tell(f"{files:,} of {all_files:,} files, {rows:,} rows"),
    )  # fmt: skip


def write_jsonl(predictions: Iterable[Prediction], top_k: int) -> None:
    """Write one JSON object per text."""
    for prediction in predictions:
        line = plain_line(prediction) if top_k == 1 else None
        sys.stdout.write((line or json_line(prediction.to_dict(6))) + "\n")
        if sys.stdout.isatty():
            sys.stdout.flush()


def plain_line(prediction: Prediction) -> str | None:
    """The JSON of a label and its probability, made without json, which takes long to import; None for all else."""
    label = prediction.label
    if label is None or prediction.labels is not None or prediction.label_set is not None or prediction.reason:
        return None
    name, number = measured(prediction)
    if not (label.isascii() and label.isprintable()) or '"' in label or "\\" in label:
        return None
    return f'{{"label": "{label}", "{name}": {float.__repr__(round(number, 6))}}}'


def measured(prediction: Prediction) -> tuple[str, float]:
    """The number beside the label, and its name: the probability, or with --lengths the class length."""
    length = prediction.length
    return ("probability", prediction.probability) if length is None else ("length", length)


def check_joinable(labels: Iterable[str], separator: str | None) -> None:
    """Refuse a separator that is part of a label: such a cell could not be split again."""
    label = next((label for label in labels if separator is not None and separator in label), None)
    if label is not None:
        raise InputError(f"the label {label!r} contains {separator!r}: choose another --label-separator, or --to jsonl")


def write_csv(
    predictions: Iterable[Prediction], top_k: int, sets: bool, separator: str | None, raw: bool = False,
    lengths: bool = False,
) -> None:  # fmt: skip
    """Write one row per text: label,probability and, with --top-k, label_2,probability_2 …; or `length` with `lengths`.

    With a separator the model is multi-label: labels,probabilities are joined by it, and --top-k adds
    label_1,probability_1 … A text without a label has an empty cell. Labels are written as `safe_label` and `safe_cell`
    return them, unless `raw`.
    """
    import csv

    written, guarded = (str, str) if raw else (safe_label, safe_cell)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    name, names = ("length", "lengths") if lengths else ("probability", "probabilities")
    first, start = (["label", name], 1) if separator is None else (["labels", names], 0)
    ranks = range(start, top_k) if top_k > 1 else ()
    more = (f"{column}_{rank + 1}" for rank in ranks for column in ("label", name))
    writer.writerow([*first, *more, *["set"] * sets])
    for prediction in predictions:
        cells: list[object] = [guarded(written(prediction.label or "")), round(measured(prediction)[1], 6)]
        if separator is not None:
            pairs = prediction.labels or ()
            cells = [
                guarded(separator.join(written(label) for label, _ in pairs)),
                separator.join(f"{number:.6g}" for _, number in pairs),
            ]
        for rank in ranks:
            label, number = prediction.top[rank]
            cells += [guarded(written(label)), round(number, 6)]
        writer.writerow(cells + [json_line(list(prediction.label_set or ()))] * sets)
