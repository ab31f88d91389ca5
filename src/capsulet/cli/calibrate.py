"""Calibrate the probabilities of a model again.

examples:
  capsulet calibrate model reviews.csv             on the held-out part of the training file
  capsulet calibrate model --valid new.csv         on other labelled texts, similar to future texts

`capsulet train` calibrates every model. Calibrate again if the texts have changed since. A model that was
cross-validated has no held-out part: give --valid. This replaces the calibration and the histograms of `capsulet drift`
in the model file, and updates the model card. Weights stay the same.
"""

from __future__ import annotations

from capsulet.cli.options import JSON, MODEL_FOLDER, READING, reading_options
from capsulet.cli.output import print_json, tell

TYPE_CHECKING = False  # as in typing, which takes long to import
if TYPE_CHECKING:
    import argparse

ARGUMENTS = {
    **MODEL_FOLDER,
    "[FILE…]": "training files of the model",
    "--valid FILE…": "use these labelled texts instead of FILE; they must not be training texts",
    **JSON,
    **READING,
}


def run(arguments: argparse.Namespace) -> None:
    """Run `capsulet calibrate`."""
    from capsulet.drifting.histograms import FEWEST_TEXTS
    from capsulet.evaluation.calibrate import calibrate

    reading = reading_options(arguments)
    calibration = calibrate(arguments.model, arguments.files, valid=arguments.valid, reading=reading, tell=tell)
    few = "" if calibration["texts"] >= FEWEST_TEXTS else f"; `capsulet drift` needs at least {FEWEST_TEXTS} texts"
    tell(
        f"{arguments.model}: {calibration['method']} on {calibration['texts']:,} validation texts; expected "
        f"calibration error {calibration['error_before']:.4f} before, {calibration['error_after']:.4f} after, on the "
        f"same texts{few}"
    )
    if arguments.json:
        print_json(calibration)
