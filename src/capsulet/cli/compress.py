"""Compress a model into one small file.

examples:
  capsulet compress model train.csv --out small.safetensors              accuracy falls by at most 0.3 points
  capsulet compress model train.csv --out small.safetensors --target-size 500KB
  capsulet compress model train.csv --out small.safetensors --max-loss 0.1 --plot curve.svg
  capsulet compress model --out small.safetensors                        without texts: no adaptation, all words kept

TRAIN are the training files of the model. They are split as in training: settings are chosen on the held-out part, and
the network is adapted to low precision on the rest. A cross-validated model has no held-out part: settings are chosen
on the training texts, or better on the texts of --valid. A model without a network gets a smaller n-gram table.
"""

from __future__ import annotations

from capsulet.cli.options import CACHE, JSON, MODEL_FOLDER, READING, THREADS, reading_options, values_of
from capsulet.cli.output import clock, percent, print_json, show_table, tell
from capsulet.cli.progress import StepMonitor

TYPE_CHECKING = False  # as in typing, which takes long to import
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from capsulet.results import Compression, CurvePoint

ARGUMENTS = {
    **MODEL_FOLDER,
    "[TRAIN…]": "training files of the model",
    "--out FILE.safetensors!": "file to write; an existing file is replaced after the new one is complete",
    "--target-size SIZE": "maximum size, in bytes or as 500KB, 0.5MB, 512KiB",
    "--max-loss POINTS": "maximum estimated loss of accuracy, in points (default with TRAIN: 0.3, or the smallest "
    "possible loss if that is larger)",
    "--valid FILE…": "validation texts (default: the held-out part of the training texts, or all of them if nothing "
    "was held out)",
    "--plot FILE.svg": "plot accuracy against bytes",
    **THREADS,
    **CACHE,
    **JSON,
    **READING,
}


def run(arguments: argparse.Namespace) -> None:
    """Run `capsulet compress`."""
    from capsulet.compression.compress import compress

    result = compress(
        arguments.model, arguments.files, arguments.out, reading=reading_options(arguments), tell=tell,
        progress=StepMonitor("adapting"),
        **values_of(arguments, "target_size", "max_loss", "valid", "plot", "cache", "threads"),
    )  # fmt: skip
    kept = f"{percent(result.agreement)} of the answers on generated texts unchanged (no labelled texts were given)"
    if result.accuracy is not None:
        texts = f"{result.valid_rows:,} validation texts" if result.valid_rows else "given texts"
        kept = (
            f"{result.measure} {percent(result.accuracy)} instead of {percent(result.accuracy_before)} on the {texts}"
        )
    tell(
        f"{result.path}: {result.bytes:,} bytes instead of {result.bytes_before:,}, {kept}, in {clock(result.seconds)}"
    )
    print_json(result) if arguments.json else print_tables(result)


def print_tables(result: Compression) -> None:
    """Print the bytes of each part, and the accuracy of the settings that were tried."""
    before = result.parts_before
    rows = [(part, f"{before[part]:,}", f"{size:,}") for part, size in result.parts.items() if size or before[part]]
    rows.append(("total", f"{result.bytes_before:,}", f"{result.bytes:,}"))
    if result.accuracy is not None:
        rows.append((result.measure, percent(result.accuracy_before), percent(result.accuracy)))
    show_table(("bytes", ">before", ">after"), rows)
    if len(result.curve) < 2:
        return
    measure = result.measure if result.accuracy is not None else "unchanged answers"
    curve = [
        (f"{point.bytes:,}", percent(point.accuracy), f"{point.words:,}", str(point.codebooks or "none"),
         f"{point.bits}", f"{point.ngram_rows:,}" if point.ngram_rows else "none", "*" * point.chosen)
        for point in best_points(result.curve)
    ]  # fmt: skip
    title = f"{measure} against bytes; * marks the file, the sizes of the others are estimates"
    if len(curve) < len(result.curve):
        title += f"; the best of {len(result.curve)} settings, --json lists all"
    show_table((">bytes", f">{measure}", ">words", ">codebooks", ">bits", ">n-grams", ""), curve, title)


def best_points(curve: Sequence[CurvePoint]) -> list[CurvePoint]:
    """The chosen setting, and settings with a higher accuracy than all smaller ones."""
    best, found = -1.0, []
    for point in curve:
        if point.chosen or point.accuracy > best:
            found.append(point)
        best = max(best, point.accuracy)
    return found
