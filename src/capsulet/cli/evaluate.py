"""Evaluate a model on labelled texts.

examples:
  capsulet evaluate model test.csv
  capsulet evaluate model test.jsonl --json > figures.json
  capsulet evaluate model test.csv --report test.html           an HTML page with charts and mistakes
  capsulet evaluate model test.csv --reliability diagram.svg    are the probabilities calibrated?
"""

from __future__ import annotations

from capsulet.cli.options import JSON, LABELLED_FILES, MODEL, READING, THREADS, reading_options
from capsulet.cli.output import check_text_file, count, percent, print_json, show, show_table, tell

TYPE_CHECKING = False  # as in typing, which takes long to import
if TYPE_CHECKING:
    import argparse

    from capsulet.results import Evaluation

MOST_CONFUSIONS, MOST_CLASSES = 10, 100
ARGUMENTS = {
    **MODEL,
    **LABELLED_FILES,
    "--reliability FILE.svg": "write a reliability diagram",
    **JSON,
    "--report FILE": "write an HTML page with figures, charts and mistakes",
    **THREADS,
    **READING,
}


def run(arguments: argparse.Namespace) -> None:
    """Run `capsulet evaluate`."""
    import dataclasses

    from capsulet.evaluation.evaluate import evaluate
    from capsulet.runtime.classifier import load

    reading = reading_options(arguments)
    diagram = check_text_file(arguments.reliability, ".svg")
    classifier = load(arguments.model, arguments.threads)
    result = evaluate(classifier, arguments.files, reading=reading, tell=tell, report=arguments.report)
    if diagram and result.reliability:
        from capsulet.report.reliability_diagram import reliability_svg
        from capsulet.storage.atomic import replace_file

        replace_file(diagram, reliability_svg(result.reliability, measured(result)).encode())
        tell(f"reliability diagram saved in {diagram}")
    if arguments.report:
        tell(f"report saved in {arguments.report}")
    figures = {name: value for name, value in dataclasses.asdict(result).items() if value is not None}
    print_json(figures) if arguments.json else print_tables(result)


def measured(result: Evaluation) -> str:
    """What the reliability is measured on."""
    if result.micro_f1 is None:
        return count(result.count, "text")
    return f"{count(result.count * len(result.classes), 'pair')} of text and label"


def print_tables(result: Evaluation) -> None:
    """Print the figures."""
    accuracy, macro_f1, texts = percent(result.accuracy), percent(result.macro_f1), count(result.count, "text")
    if result.micro_f1 is None:
        show(f"accuracy {accuracy}   macro-F1 {macro_f1}   {texts}")
    else:
        show(f"micro-F1 {percent(result.micro_f1)}   macro-F1 {macro_f1}   subset accuracy {accuracy}   {texts}")
        show("   ".join(f"precision@{cut} {percent(value)}" for cut, value in (result.precision_at or {}).items()))
    if result.reliability:
        after = result.reliability.error_after
        show(
            f"expected calibration error {result.reliability.error_before:.4f} of class lengths, ",
            "no calibration" if after is None else f"{after:.4f} of calibrated probabilities",
            "" if result.micro_f1 is None else f", over {measured(result)}",
        )
    classes = result.classes
    if len(classes) > MOST_CLASSES:
        classes = tuple(sorted(classes, key=lambda scores: scores.f1)[:MOST_CLASSES])
    rows = [
        (scores.label, *(f"{100 * value:.1f}" for value in (scores.precision, scores.recall, scores.f1)),
         f"{scores.count:,}")
        for scores in classes
    ]  # fmt: skip
    show_table(("label", ">precision", ">recall", ">F1", ">texts"), rows)
    if len(result.classes) > MOST_CLASSES:
        show(f"the {MOST_CLASSES} of {len(result.classes):,} labels with the lowest F1; --json and --report list more")
    if result.confusions:
        show(f"most frequent confusions ({count(len(result.confusions), 'pair')})")
        most = result.confusions[:MOST_CONFUSIONS]
        pairs = [(confusion.truth, confusion.predicted, f"{confusion.count:,}") for confusion in most]
        show_table(("truth", "predicted", ">texts"), pairs)
