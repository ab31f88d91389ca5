"""Look for problems in labelled texts, before or after training.

examples:
  capsulet check train.csv --test test.csv
  capsulet check train.csv --json > findings.json
  capsulet check train.csv --labels --out review.csv              suspect labels (trains three small models)
  capsulet check new.csv --model model --out review.jsonl         labels that a model contradicts
  capsulet check topics.csv --multi-label                         rows such as sport|money

It looks for duplicates and near-duplicates, the same text with different labels, overlap with the test files, empty and
very long texts, small classes, other scripts and languages, encoding damage. The exit status is 0, and with --strict it
is 1 if there are findings.
"""

from __future__ import annotations

from capsulet.cli.options import LABELLED_FILES, RAW_CELLS, reading_options, reading_table, values_of
from capsulet.cli.output import count, print_json, show, show_table, tell

TYPE_CHECKING = False  # as in typing, which takes long to import
if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from capsulet.checking.findings import Check, Example, SuspectLabel

MOST_SUSPECTS, MOST_SHARES = 20, 4
MOST_LETTERS = 80  # characters of a text in the table: a longer text would leave no room for other columns
ARGUMENTS = {
    **LABELLED_FILES,
    "--test FILE…": "labelled test texts: rows that are also in FILE are reported",
    "--model MODEL": "list suspect labels, which this model contradicts; it must not have been trained on these rows",
    "--labels": "list suspect labels, found by cross-validation with small models",
    "--multi-label": "rows may have several labels, or none",
    "--folds N=3": "number of parts for --labels",
    "--seed N=1": "random seed",
    "--out FILE": "write all suspect labels to this .csv or .jsonl file",
    **RAW_CELLS,
    "--strict": "exit with status 1 if there are findings",
    "--json": "print everything as one JSON object",
    **reading_table("skip|fail"),
}


def run(arguments: argparse.Namespace) -> int:
    """Run `capsulet check`; return the exit status."""
    import dataclasses

    from capsulet.checking.check import check

    values = values_of(arguments, "test", "model", "labels", "folds", "out", "seed", "multi_label", "raw_cells")
    result = check(arguments.files, reading=reading_options(arguments), tell=tell, **values)
    fields = {key: value for key, value in dataclasses.asdict(result).items() if key != "labels_per_row" or value}
    status = arguments.status = 1 if arguments.strict and result.findings else 0  # also if the reader closes the output
    print_json(fields) if arguments.json else print_check(result)
    return status


def print_check(result: Check) -> None:
    """Print the findings."""
    show(summary(result))
    if result.languages:
        show(languages(result))
    for finding in result.findings:
        details = f": {finding.details}" if finding.details else ""
        show()
        show((f"{finding.count:,}", "bold"), f"  {finding.title}{details}")
        for example in finding.examples:
            print_example(example)
        show(f"  → {finding.advice}")
    if result.suspects:
        print_suspects(result.suspects)
    if result.suspects_file:
        rows = len({(suspect.file, suspect.line) for suspect in result.suspects})
        labels = f"{count(len(result.suspects), 'label')} of " if rows < len(result.suspects) else ""
        tell(f"{labels}{count(rows, 'row')} to review in {result.suspects_file}")
    if not result.findings:
        show("no findings")


def summary(result: Check) -> str:
    """Numbers of rows and classes, lengths of the texts and their scripts, in one line."""
    from capsulet.text.scripts import named_script

    tested = f" and {result.test_rows:,} to test on" if result.test_files else ""
    total, kind, labels_per_row = result.rows + result.test_rows, "class", ""
    if result.labels_per_row:
        pairs = sum(int(size) * rows for size, rows in result.labels_per_row.items())
        without = result.labels_per_row.get("0", 0)
        kind, labels_per_row = "label", f", {pairs / result.rows:.1f} labels per row"
        labels_per_row += f", {count(without, 'row')} without any" if without else ""
    scripts = shares({named_script(name): rows for name, rows in result.scripts.items()}, total)
    return (
        f"{count(result.rows, 'row')}{tested}, {count(len(result.class_counts), kind)} of {result.rows_per_class}"
        f"{labels_per_row}; texts of {count(result.lengths.median, 'token')} (median), 95 % of them up to "
        f"{result.lengths.percentile_95:,}; {scripts}"
    )


def languages(result: Check) -> str:
    """Shares of the languages that are recognised by their function words."""
    total = result.rows + result.test_rows
    unknown = f"not recognised {100 * (1 - sum(result.languages.values()) / total):.1f} %"
    return f"languages by frequent words: {shares(result.languages, total)}; {unknown}"


def shares(rows: Mapping[str, int], total: int) -> str:
    """The largest shares of all rows by name."""
    listed = [f"{name} {100 * number / total:.1f} %" for name, number in list(rows.items())[:MOST_SHARES]]
    return ", ".join(listed) + " …" * (len(rows) > MOST_SHARES)


def print_example(example: Example) -> None:
    """Print a row: file and line, text, and the similar row."""
    show(f"  {example.file}:{example.line}", (f"  {example.note}" if example.note else "", "italic"))
    if example.text:
        show(f"      {example.text}", style="dim")
    if example.other:
        show(f"    like {example.other.file}:{example.other.line}")
        if example.other.text:
            show(f"      {example.other.text}", style="dim")


def print_suspects(suspects: tuple[SuspectLabel, ...]) -> None:
    """Print the most suspect labels as a table."""
    from capsulet.text.files import printable

    rows = [
        (f"{suspect.file}:{suspect.line}", suspect.label, suspect.predicted, f"{suspect.probability:.2f}",
         printable(" ".join(suspect.text.split()), MOST_LETTERS))
        for suspect in suspects[:MOST_SUSPECTS]
    ]  # fmt: skip
    show()
    names = "row", "label", "predicted", ">probability", "text"
    show_table(names, rows, title=f"the {len(rows)} most suspect labels")
