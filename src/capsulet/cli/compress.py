"""Compress a model into one small file.

examples:
  capsulet compress model train.csv --out small.onnx                     accuracy falls by at most 0.3 points
  capsulet compress model train.csv --out small.onnx --target-size 500KB
  capsulet compress model train.csv --out small.onnx --max-loss 0.1 --plot curve.svg
  capsulet compress model --out small.onnx                               without texts: no adaptation, all words kept

TRAIN are the training files of the model. They are split as in training: the validation part chooses the settings, and
the network is adapted to low precision on the rest. No test file is read.
"""

from __future__ import annotations

import argparse
import dataclasses

from capsulet.cli.options import (
    add_cache_flags,
    add_json_flag,
    add_model_argument,
    add_reading_flags,
    add_threads_flag,
    reading_options,
)  # fmt: skip
from capsulet.cli.output import StepMonitor, clock, console, print_json, tell
from capsulet.results import Compression


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `capsulet compress`."""
    add_model_argument(parser, file=False)
    parser.add_argument("files", nargs="*", metavar="TRAIN", help="training files of the model")
    words = "file to write; an existing file is replaced when the new one is complete"
    parser.add_argument("--out", required=True, metavar="FILE.onnx", help=words)
    parser.add_argument("--target-size", metavar="SIZE", help="maximum size, in bytes or as 500KB, 0.5MB, 512KiB")
    words = "maximum loss of validation accuracy, in points (default with TRAIN: 0.3, or the smallest possible)"
    parser.add_argument("--max-loss", type=float, metavar="POINTS", help=words)
    words = "validation texts (default: the validation part of the training texts)"
    parser.add_argument("--valid", action="append", default=[], metavar="FILE", help=words)
    parser.add_argument("--plot", metavar="FILE.svg", help="plot accuracy against bytes")
    add_threads_flag(parser)
    add_cache_flags(parser)
    add_json_flag(parser)
    add_reading_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    """Compress."""
    from capsulet.compression.compress import compress

    result = compress(
        arguments.model, arguments.files, arguments.out, target_size=arguments.target_size, max_loss=arguments.max_loss,
        valid=arguments.valid, plot=arguments.plot, reading=reading_options(arguments), cache=arguments.cache,
        threads=arguments.threads, tell=tell, progress=StepMonitor("adapting"),
    )  # fmt: skip
    tell(
        f"{result.path}: {result.bytes:,} bytes instead of {result.bytes_before:,}, {kept(result)}, in "
        f"{clock(result.seconds)}"
    )
    if arguments.json:
        print_json(dataclasses.asdict(result))
    else:
        print_tables(result)
    return 0


def kept(result: Compression) -> str:
    """Describe the accuracy before and after."""
    if result.accuracy is None or result.accuracy_before is None:
        return (
            f"{100 * result.agreement:.2f} % of the answers on generated texts unchanged (no labelled texts were given)"
        )
    if result.measure != "accuracy":
        return (
            f"{result.measure} {100 * result.accuracy:.2f} % instead of {100 * result.accuracy_before:.2f} % on the "
            f"{result.valid_rows:,} validation texts"
        )
    return (
        f"accuracy {100 * result.accuracy:.2f} % instead of {100 * result.accuracy_before:.2f} % on the "
        f"{result.valid_rows:,} validation texts"
    )


def print_tables(result: Compression) -> None:
    """Print the bytes of each part, and the accuracy of the settings that were tried."""
    from rich.table import Table

    table = Table("bytes")
    table.add_column("before", justify="right")
    table.add_column("after", justify="right")
    for part, size in result.parts.items():
        table.add_row(part, f"{result.parts_before[part]:,}", f"{size:,}")
    table.add_row("total", f"{result.bytes_before:,}", f"{result.bytes:,}", style="bold")
    if result.accuracy is not None and result.accuracy_before is not None:
        table.add_row(result.measure, f"{100 * result.accuracy_before:.2f} %", f"{100 * result.accuracy:.2f} %")
    screen = console()
    screen.print(table)
    if len(result.curve) < 2:
        return
    measured = result.measure if result.accuracy is not None else "unchanged answers"
    curve = Table(
        title=f"{measured} against bytes; * marks the file, the sizes of the others are estimates",
        title_justify="left",
    )
    for title in ("bytes", measured, "words", "codebooks", "bits", "n-grams", ""):
        curve.add_column(title, justify="right")
    for point in result.curve:
        curve.add_row(
            f"{point.bytes:,}", f"{100 * point.accuracy:.2f} %", f"{point.words:,}", f"{point.codebooks}",
            f"{point.bits}", f"{point.ngram_bits} bits" if point.ngram_bits else "none", "*" if point.chosen else "",
        )  # fmt: skip
    screen.print(curve)
