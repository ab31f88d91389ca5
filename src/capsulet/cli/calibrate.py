"""Make the scores of a model probabilities again.

examples:
  capsulet calibrate model reviews.csv             on the validation part of the file it was trained on
  capsulet calibrate model --valid new.csv         on other labelled texts that are like those to come

`capsulet train` does this at its end. It is for models that were trained before there was a calibration, and for texts
that have changed since. Nothing but the calibration in config.json, the histograms that `capsulet drift` compares with,
both of the same texts, and the model card that tells of them, is changed.
"""

from __future__ import annotations

import argparse

from capsulet.cli.options import add_json_flag, add_model_argument, add_reading_flags, reading_options
from capsulet.cli.output import print_json, tell


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `capsulet calibrate`."""
    add_model_argument(parser, file=False)
    parser.add_argument("files", nargs="*", metavar="FILE", help="the files that the model was trained on")
    words = "labelled texts that it was not trained on, instead of a part of the training files"
    parser.add_argument("--valid", action="append", default=[], metavar="FILE", help=words)
    add_json_flag(parser)
    add_reading_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    """Calibrate."""
    from capsulet.drifting.histograms import FEWEST_TEXTS
    from capsulet.evaluation.calibrate import calibrate

    found = calibrate(
        arguments.model, arguments.files, valid=arguments.valid, reading=reading_options(arguments), tell=tell
    )
    tell(
        f"{arguments.model}: {found['method']} on {found['texts']:,} validation texts; expected calibration error "
        f"{found['error_before']:.4f} before, {found['error_after']:.4f} after, on the same texts"
        + (f"; so few say little, and `capsulet drift` needs {FEWEST_TEXTS}" if found["texts"] < FEWEST_TEXTS else "")
    )
    if arguments.json:
        print_json(found)
    return 0
