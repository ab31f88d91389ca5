"""Train, evaluate, predict and explain on the docstrings of your Python.

The task: which module of the standard library does a docstring come from? Nothing is downloaded: the texts are part of
every Python installation. The demo takes less than a minute on two cores and leaves a folder with data and model.

example:
  capsulet demo --out capsulet-demo
"""

from __future__ import annotations

from capsulet.cli.options import add_verb
from capsulet.cli.output import count, cut, show, tell
from capsulet.errors import InputError

TYPE_CHECKING = False  # as in typing, which takes long to import
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from pathlib import Path

    from capsulet.runtime.classifier import Classifier
    from capsulet.text.docstrings import Pair

# files of an earlier demo and of the commands that it suggests: a new demo may replace them
REPLACEABLE = {"model", "model.report.html", "small.safetensors", "train.jsonl", "test.jsonl"}
ARGUMENTS = {"--out DIR=capsulet-demo": "folder for data and model", "--seed N=1": "random seed"}
QUICK = ("--epochs", "10", "--adversarial", "0")  # less than a minute; the default takes four times as long


def run(arguments: argparse.Namespace) -> int:
    """Run `capsulet demo`; return the exit status."""
    from pathlib import Path

    from capsulet.cli.explain import print_explanation
    from capsulet.runtime.classifier import load
    from capsulet.text.docstrings import first_sentences, library_rows

    folder = Path(arguments.out)
    make_folder(folder)
    model, train_file, test_file = folder / "model", folder / "train.jsonl", folder / "test.jsonl"
    tell("reading the docstrings of the standard library …")
    train_pairs, test_pairs = library_rows()
    write_rows(train_file, train_pairs)
    write_rows(test_file, test_pairs)
    modules = sorted({label for _, label in train_pairs})
    tell(
        f"{count(len(train_pairs), 'docstring')} to train on, {len(test_pairs):,} to test on, "
        f"of {len(modules)} modules: {', '.join(modules)}"
    )

    heading(f"capsulet train {train_file} --out {model} {' '.join(QUICK)}")
    if status := train_model(train_file, model, arguments.seed):
        return status

    heading(f"capsulet evaluate {model} {test_file}")
    classifier = load(model)
    show_accuracy(classifier, test_file, train_pairs, test_pairs)

    heading(f'capsulet predict {model} --text "…"')
    show("the first sentence of the first test docstring of each module:")
    examples = first_sentences(test_pairs)
    show_predictions(classifier, examples)

    sentence, _ = examples[0]
    heading(f'capsulet explain {model} --text "{sentence}"')
    print_explanation(sentence, classifier.explain(sentence))

    heading("next")
    show_next_commands(folder)
    return 0


def train_model(train_file: Path, model: Path, seed: int) -> int:
    """Run `capsulet train`; return the exit status."""
    import argparse

    from capsulet.cli import train

    parser = argparse.ArgumentParser()
    add_verb(parser, train)
    words = [str(train_file), "--out", str(model), *QUICK, "--seed", str(seed)]
    return train.run(parser.parse_args(words))


def show_accuracy(
    classifier: Classifier, test_file: Path, train_pairs: Sequence[Pair], test_pairs: Sequence[Pair]
) -> None:
    """Print what `capsulet evaluate` prints, then the accuracy beside that of two simple methods."""
    from capsulet.cli.evaluate import print_tables
    from capsulet.evaluation.evaluate import evaluate
    from capsulet.text.docstrings import majority_accuracy, word_count_accuracy

    result = evaluate(classifier, test_file)
    print_tables(result)
    show()
    show(f"accuracy on {count(result.count, 'test docstring')}:")
    show(f"  always the largest module    {100 * majority_accuracy(train_pairs, test_pairs):5.1f} %")
    show(f"  counting words (naive Bayes) {100 * word_count_accuracy(train_pairs, test_pairs):5.1f} %")
    show(f"  capsulet                     {100 * result.accuracy:5.1f} %")


def show_predictions(classifier: Classifier, examples: Sequence[Pair]) -> None:
    """Print the prediction for each sentence, and its module if the prediction is wrong."""
    predictions = classifier.predict([sentence for sentence, _ in examples])
    for (sentence, module), prediction in zip(examples, predictions, strict=True):
        truth = "" if prediction.label == module else f"  (module: {module})"
        show(f"  {prediction.label:<16} {prediction.probability:.2f}  {cut(sentence, 80)}{truth}")


def show_next_commands(folder: Path) -> None:
    """Print commands to try next."""
    import os

    path = os.path.relpath(folder)
    show(f'  your own words    capsulet predict {path}/model --text "…" --top-k 3')
    show(f"  quality and size  capsulet info {path}/model")
    show(f"  charts, mistakes  open {path}/model.report.html in a browser")
    show(f"  a smaller file    capsulet compress {path}/model --out {path}/small.safetensors")
    show("  your own data     capsulet train FILE.csv --out MODEL    (columns text and label)")


def make_folder(folder: Path) -> None:
    """Make the folder; refuse one with other files, which the demo could overwrite."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        others = sorted(entry.name for entry in folder.iterdir() if entry.name not in REPLACEABLE)
    except OSError as error:
        raise InputError(f"{folder} cannot be used as a folder ({error.strerror}): choose another --out") from None
    if others:
        raise InputError(f"{folder} contains {others[0]!r}, which is not from a demo: choose another --out")


def write_rows(path: Path, pairs: Sequence[Pair]) -> None:
    """Write texts with their labels as JSONL."""
    import json

    lines = [json.dumps({"label": label, "text": text}) + "\n" for text, label in pairs]
    path.write_text("".join(lines), encoding="utf-8")


def heading(command: str) -> None:
    """Print the command whose output follows."""
    show()
    show(f"$ {command}", style="bold")
