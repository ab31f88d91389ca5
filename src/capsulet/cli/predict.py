"""Predict the labels of texts.

examples:
  capsulet predict model --text "what a match" --text "shares fell"
  capsulet predict model texts.csv --out labels.csv        every column, then label and probability
  capsulet predict model texts.csv > labels.jsonl          one JSON object per row, in order
  cat lines.txt | capsulet predict model --top-k 3 --to csv
  capsulet predict model texts.xlsx --out labels.xlsx --columns id
  capsulet predict model texts.csv --abstain                label null if the model abstains
  capsulet predict model texts.csv --max-error 0.02         abstain so that 98 % of the answers are right
  capsulet predict model texts.csv --sets 0.95              also a set that has the true label in 95 % of cases
  capsulet predict model shards/ --engine ray --workers 8 --out labels/ --columns id

The output for each row of a file has its number, the columns of the file, label and probability. An input column with
the name of an output column gets the prefix input_. With --on-bad-row skip, a skipped row has no label, but a reason.

Probabilities are calibrated if the model has a calibration. docs/concepts/calibration.md describes what --coverage,
--max-error and --sets guarantee.

With --engine ray, FILE is a folder of Parquet files. Each file gets a file of the same name in --out, with the columns
of --columns, label and probability. Running the command again creates only the missing files.

A multi-label model predicts every label that reaches its threshold: {"labels": [{"label": …, "probability": …}, …]}. In
tables the columns are labels and probabilities.
"""

from __future__ import annotations

import sys

from capsulet.cli.options import MODEL, RAW_CELLS, READING, THREADS
from capsulet.cli.output import count, json_line, tell
from capsulet.cli.texts import load_with_texts, rows_of
from capsulet.errors import InputError
from capsulet.text.cells import safe_label
from capsulet.text.flags import LABEL_SEPARATOR

TYPE_CHECKING = False  # as in typing, which takes long to import
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator

    from capsulet.cli.answers import AnswerColumns
    from capsulet.evaluation.abstention import Rules
    from capsulet.results import Prediction
    from capsulet.runtime.classifier import Classifier

ARGUMENTS = {
    **MODEL,
    "[FILE…]": "texts, in any format or one per line; - or no file and no --text: standard input",
    "--text TEXT…": "text to label; may be repeated",
    "--out PATH": "file to write; its name sets the format: .jsonl, .json, .csv, .tsv (also .gz), .parquet or .xlsx",
    "--columns NAMES=all": "columns of the input to copy: all, none, or names separated by commas",
    "--to jsonl|csv|tsv": "format of standard output",
    "--top-k K=1": "also list the K best labels",
    **RAW_CELLS,
    **THREADS,
    "abstention": {
        "--abstain": "give no label to texts of mostly unknown words, nor to the 5 % that are least like any class",
        "--coverage SHARE": "abstain, but label at least this share of texts that are like the validation texts",
        "--max-error SHARE": "abstain so that at most this share of the given labels is wrong",
        "--sets [SHARE=0.9]": "add a set of labels that contains the true one with this probability",
        "--lengths": "write class lengths instead of probabilities",
    },
    "Ray workers": {
        "--engine local|ray": "predict in this process or on Ray workers; then --out is a folder of Parquet files",
        "--workers N=2": "workers with --engine ray",
    },
    **READING,
}


def run(arguments: argparse.Namespace) -> None:
    """Run `capsulet predict`."""
    if arguments.top_k < 1:
        raise InputError(f"--top-k is {arguments.top_k}: expected at least 1")
    if arguments.engine == "ray":
        return run_on_ray(arguments)
    if arguments.text and arguments.columns != "all":
        raise InputError("--columns copies columns of files: leave it out with --text")
    piped = not arguments.files and not arguments.text and sys.stdin is not None and not sys.stdin.isatty()
    arguments.files = ["-"] if piped else arguments.files
    if arguments.out:
        from pathlib import Path

        from capsulet.cli.output import check_text_file
        from capsulet.storage.atomic import check_not_read
        from capsulet.text.table_writers import format_of

        format_of(Path(arguments.out))
        check_text_file(arguments.out, "")
        check_not_read(Path(arguments.out), arguments.files)
    classifier, texts = load_with_texts(arguments, arguments.threads)
    top_k = min(arguments.top_k, len(classifier.labels))
    rules = classifier.abstention_rules(arguments.abstain, arguments.coverage, arguments.max_error, arguments.sets)
    for note in rules.notes if rules else ():
        tell(f"note: {note}")
    typed = arguments.files == ["-"] and sys.stdin is not None and sys.stdin.isatty()  # answered line by line
    predict = Predictor(classifier, top_k, arguments.lengths, rules, typed)
    if arguments.text and arguments.to == "jsonl" and not arguments.out:
        return write_jsonl(predict(texts), top_k)
    return write_answers(arguments, predict, texts)


class Predictor:
    """Predicts the labels of a stream of texts, with the options of a command; `typed`: the user types the texts."""

    def __init__(self, classifier: Classifier, top_k: int, lengths: bool, rules: Rules | None, typed: bool) -> None:
        self.classifier, self.top_k, self.lengths, self.rules, self.typed = classifier, top_k, lengths, rules, typed

    def __call__(self, texts: Iterable[str]) -> Iterator[Prediction]:
        from capsulet.runtime.classifier import FIRST_WINDOW, windows

        read = windows(texts, 1 if self.typed else FIRST_WINDOW)
        return self.classifier.answers(read, self.top_k, self.lengths, self.rules)


def write_answers(arguments: argparse.Namespace, predict: Predictor, texts: Iterable[str]) -> None:
    """Write the answers to a file or to standard output, beside their rows."""
    from capsulet.cli.answers import AnswerColumns

    classifier, raw, to = predict.classifier, arguments.raw_cells, arguments.to
    if arguments.out:
        from pathlib import Path

        from capsulet.text.table_writers import format_of, open_table

        to = format_of(Path(arguments.out))
    separator = None
    if classifier.multi_label and to != "jsonl":
        separator = arguments.label_separator or LABEL_SEPARATOR
        check_joinable(classifier.labels if raw else map(safe_label, classifier.labels), separator)
    reasons = arguments.on_bad_row == "skip" or predict.rules is not None
    columns = AnswerColumns(
        predict.top_k, lengths=arguments.lengths, sets=arguments.sets is not None, reasons=reasons,
        multi_label=classifier.multi_label, separator=separator, raw=raw,
    )  # fmt: skip
    rows = answer_rows(arguments, predict, texts, columns, nested=to == "jsonl")
    if arguments.out:
        with open_table(Path(arguments.out), raw) as table:
            number = sum(1 for _ in map(table.write, rows))
        return tell(f"{count(number, 'row')} written to {arguments.out}")
    if to == "jsonl":
        for row in rows:
            write_line(json_line(row))
        return None
    from capsulet.text.table_writers import DelimitedWriter

    shown = safe_label if sys.stdout.isatty() else str
    output = DelimitedWriter(sys.stdout, "\t" if to == "tsv" else ",", raw, shown)
    for row in rows:
        output.write(row)
    return None


def answer_rows(
    arguments: argparse.Namespace, predict: Predictor, texts: Iterable[str], columns: AnswerColumns, nested: bool
) -> Iterator[dict[str, object]]:
    """Yield the answers as rows: with the rows of the files, or alone for texts of the command line."""
    from capsulet.cli.answers import InputColumns, answered, complete

    answer_of = columns.nested if nested else columns.flat
    if arguments.text:
        return (answer_of(prediction) for prediction in predict(texts))
    copied = InputColumns(arguments.columns, several_files=len(arguments.files) > 1)
    rows = (
        (copied.of(row, number, answer_of(prediction, row.problem)), not row.problem)
        for number, (row, prediction) in enumerate(answered(rows_of(arguments, predict.classifier), predict), 1)
    )
    return (row for row, _ in rows) if nested else complete(rows)


def run_on_ray(arguments: argparse.Namespace) -> None:
    """Predict on a cluster."""
    from capsulet.cli.answers import ALL, NONE
    from capsulet.runtime.ray import predict_on_ray

    wanted = arguments.columns
    keep = None if wanted == ALL else [] if wanted == NONE else wanted.split(",")
    abstaining = arguments.abstain or {arguments.coverage, arguments.max_error, arguments.sets} != {None}
    plain = arguments.top_k == 1 and arguments.to == "jsonl" and not abstaining and not arguments.lengths
    if len(arguments.files) != 1 or arguments.text or not arguments.out or not plain:
        raise InputError(
            "--engine ray takes one folder of Parquet files and --out DIR: leave out --text, --top-k, --to, "
            "--lengths and abstention"
        )
    predict_on_ray(
        arguments.model, arguments.files[0], arguments.out, arguments.workers,
        text_columns=arguments.text_column, keep=keep,
        progress=lambda files, all_files, rows: tell(f"{files:,} of {all_files:,} files, {rows:,} rows"),
    )  # fmt: skip


def write_jsonl(predictions: Iterable[Prediction], top_k: int) -> None:
    """Write one JSON object per text."""
    for prediction in predictions:
        line = plain_line(prediction) if top_k == 1 else None
        write_line(line or json_line(prediction.to_dict(6)))


def write_line(line: str) -> None:
    """Write a line to standard output; a terminal shows it immediately."""
    sys.stdout.write(line + "\n")
    if sys.stdout.isatty():
        sys.stdout.flush()


def plain_line(prediction: Prediction) -> str | None:
    """The JSON of a label and its probability, made without json, which takes long to import; None for all else."""
    label = prediction.label
    if label is None or prediction.labels is not None or prediction.label_set is not None or prediction.reason:
        return None
    length = prediction.length
    name, number = ("probability", prediction.probability) if length is None else ("length", length)
    if not (label.isascii() and label.isprintable()) or '"' in label or "\\" in label:
        return None
    return f'{{"label": "{label}", "{name}": {float.__repr__(round(number, 6))}}}'


def check_joinable(labels: Iterable[str], separator: str | None) -> None:
    """Refuse a separator that is part of a label: such a cell could not be split again."""
    label = next((label for label in labels if separator is not None and separator in label), None)
    if label is not None:
        raise InputError(f"the label {label!r} contains {separator!r}: choose another --label-separator, or --to jsonl")
