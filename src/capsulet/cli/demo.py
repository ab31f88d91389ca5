"""Train, evaluate, predict and explain on the docstrings of your Python.

The question: which module of the standard library is a docstring from? Nothing is downloaded; the texts are on every
machine that has Python. It takes about a minute and leaves a folder with the data and the model to play with.

example:
  capsulet demo --out capsulet-demo
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from pathlib import Path

from capsulet.cli import evaluate, explain, train
from capsulet.cli.output import console, tell
from capsulet.errors import InputError

SENTENCES = (
    "Draw a circle with the given radius and fill it with a colour.",
    "Run the coroutine until it is done, then close the event loop.",
    "Return the subject of the message as a decoded header.",
    "Write the record to the file and start a new one when it grows too large.",
    "Put a button into the window and call this function when it is clicked.",
    "Check that both lists are equal, or fail with a message.",
)
LEFT_BEHIND = {
    "model",
    "model.report.html",
    "model.onnx",
    "train.jsonl",
    "test.jsonl",
}  # what an earlier demo, and its advice, leave

QUICK = ("--epochs", "10", "--adversarial", "0")  # less than a minute; the default takes four times as long


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `capsulet demo`."""
    parser.add_argument(
        "--out", default="capsulet-demo", metavar="DIR", help="folder to work in (default: capsulet-demo)"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the training (default: 1)")


def run(arguments: argparse.Namespace) -> int:
    """Show what capsulet does."""
    from capsulet.evaluation.evaluate import evaluate as measure
    from capsulet.runtime.classifier import load
    from capsulet.text.docstrings import library_rows, majority_accuracy, word_count_accuracy

    folder = Path(arguments.out)
    make_folder(folder)
    model, train_file, test_file = folder / "model", folder / "train.jsonl", folder / "test.jsonl"
    tell("reading the docstrings of the standard library …")
    train_pairs, test_pairs = library_rows()
    write_rows(train_file, train_pairs)
    write_rows(test_file, test_pairs)
    modules = sorted({label for _, label in train_pairs})
    tell(
        f"{len(train_pairs)} docstrings to train on, {len(test_pairs)} to test on, "
        f"of {len(modules)} modules: {', '.join(modules)}"
    )

    heading(f"capsulet train {train_file} --out {model} {' '.join(QUICK)}")
    parser = argparse.ArgumentParser()
    train.add_arguments(parser)
    status = train.run(parser.parse_args([str(train_file), "--out", str(model), *QUICK, "--seed", str(arguments.seed)]))
    if status:
        return status

    heading(f"capsulet evaluate {model} {test_file}")
    classifier = load(model)
    result = measure(classifier, test_file)
    evaluate.print_tables(result)
    print(f"\naccuracy on {result.count} docstrings that it has not seen:")
    print(f"  always the largest module    {100 * majority_accuracy(train_pairs, test_pairs):5.1f} %")
    print(f"  counting words (naive Bayes) {100 * word_count_accuracy(train_pairs, test_pairs):5.1f} %")
    print(f"  capsulet                     {100 * result.accuracy:5.1f} %")

    heading(f'capsulet predict {model} --text "…"')
    for sentence, prediction in zip(SENTENCES, classifier.predict(SENTENCES), strict=True):
        print(f"  {prediction.label:<16} {prediction.score:.2f}  {sentence}")

    heading(f'capsulet explain {model} --text "{SENTENCES[0]}"')
    explain.print_explanation(SENTENCES[0], classifier.explain(SENTENCES[0]))

    heading("next")
    here = os.path.relpath(folder)
    print(f'  your own words    capsulet predict {here}/model --text "…" --top-k 3')
    print(f"  how big is it     capsulet info {here}/model")
    print(f"  charts, mistakes  {here}/model.report.html, a page of the training to look at")
    print(f"  one file of it    capsulet export {here}/model {here}/model.onnx")
    print("  your own data     capsulet train FILE.csv --out MODEL    (columns text and label)")
    return 0


def make_folder(folder: Path) -> None:
    """A folder to work in; one that holds other people's files is refused, as the demo would write over them."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        others = sorted(entry.name for entry in folder.iterdir() if entry.name not in LEFT_BEHIND)
    except OSError as error:
        raise InputError(f"{folder} cannot be a folder to work in ({error.strerror}): choose another --out") from None
    if others:
        raise InputError(f"{folder} holds {others[0]!r}, which no demo left there: choose another --out")


def write_rows(path: Path, pairs: Sequence[tuple[str, str]]) -> None:
    """Labelled texts as JSONL."""
    path.write_text(
        "".join(json.dumps({"label": label, "text": text}) + "\n" for text, label in pairs), encoding="utf-8"
    )


def heading(words: str) -> None:
    """A line between the parts of the demo."""
    from rich.text import Text

    console().print(Text(f"\n$ {words}", style="bold"), soft_wrap=True)
