"""Search for better options within a time, and train a model with them.

examples:
  capsulet tune reviews.csv --out model --time 20m
  capsulet tune reviews.csv --out model --time 20m --target-size 500KB      the best file of at most 500 KB
  capsulet tune tickets.csv --out model --time 1h --metric macro-f1
  capsulet tune reviews.csv --out model --time 20m --resume                 after Ctrl-C or a crash

About half of the time is for trials, the rest for a final: the best trials and the default are trained several times
without a part of the rows and measured on this part. The options with the best result are used, which may be the
default. Then the model is trained on all rows. Give no test file to this command.
The first Ctrl-C ends the search and trains with the best options so far.
"""

from __future__ import annotations

from capsulet.cli.options import JSON, LABELLED_FILES, READING, given_values, reading_options, values_of
from capsulet.cli.output import clock, count, percent, print_json, show, show_table, tell
from capsulet.cli.train import add_basic_options, option_classes

TYPE_CHECKING = False  # as in typing, which takes long to import
if TYPE_CHECKING:
    import argparse

    from capsulet.tuning.results import Tuning

MOST_SHOWN = 10
ARGUMENTS = {
    **LABELLED_FILES,
    "--out DIR!": "folder to write the model to; an existing model is replaced",
    "--time TIME=20m": "time limit of the search and the training after it together, such as 90s, 20m or 1h",
    "--target-size SIZE": "largest file, such as 500KB: the model is also compressed, to DIR.safetensors",
    "--metric NAME": "accuracy, macro-f1 or micro-f1 (default: accuracy; multi-label: micro-f1)",
    "--trials N": "end the search after this many trials",
    "--plot FILE=": "SVG picture of all trials (default: DIR.tuning.svg beside the model)",
    "--no-plot": "draw no picture",
    "--resume": "continue an interrupted search, with the same files and options",
    **JSON,
    **READING,
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the basic options of a training; what is given stays fixed in every trial."""
    add_basic_options(parser, without=("time",))


def run(arguments: argparse.Namespace) -> None:
    """Run `capsulet tune`."""
    from capsulet.tuning.tune import tune

    fixed = given_values(arguments, *option_classes())
    fixed.pop("time", None)
    result = tune(
        arguments.files, arguments.out, time=arguments.time, reading=reading_options(arguments), tell=tell,
        **values_of(arguments, "metric", "target_size", "trials", "plot", "resume"), **fixed,
    )  # fmt: skip
    print_json(result) if arguments.json else print_tuning(result)


def print_tuning(result: Tuning) -> None:
    """Print the best trials, the final and the commands that repeat the model."""
    from capsulet.tuning.space import shown

    finished = sorted(
        (one for one in result.trials if one.quality is not None),
        key=lambda one: (one.number != result.chosen, -(one.quality or 0)),
    )
    rows = [
        (str(one.number), percent(one.quality), f"{one.bytes:,}", clock(one.seconds),
         "*" * (one.number == result.chosen), shown(one.options))
        for one in finished[:MOST_SHOWN]
    ]  # fmt: skip
    title = f"the best of {count(len(result.trials), 'trial')}; * marks the options of the model"
    show_table((">trial", f">{result.measure}", ">bytes", ">time", "", "options"), rows, title)
    if result.confirmed is not None:
        show(
            f"{result.measure} in the final, on {result.confirmation_texts:,} held-out rows: "
            f"{percent(result.confirmed)}, with the default options {percent(result.confirmed_default)}"
        )
    show(f"{result.path}: {result.bytes:,} bytes, in {clock(result.seconds)}. The same again:")
    for command in result.commands:
        show(f"  {command}")
    if result.plot:
        show(f"picture of the trials: {result.plot}")
