"""Describe a model, or count the parameters of a network without training it.

examples:
  capsulet info model                                            quality, size, use and training
  capsulet info model --all                                      every option and count
  capsulet info model --class Sports                             the words that count most for a class
  capsulet info model --class Sports --texts test.csv            the same, averaged over the texts of a file
  capsulet info --vocab-size 62535 --classes 4 --json            parameters of the paper's model for AG's News
  capsulet info --vocab-size 62535 --classes 4 --embedding plain --head linear
  capsulet info --vocab-size 62535 --classes 4 --recipe default  parameters of the default model
"""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path
from typing import Any

from capsulet.cli.info_page import print_page
from capsulet.cli.options import add_json_flag, add_option_flags, add_recipe_flag, given_values
from capsulet.cli.output import console, print_json
from capsulet.config import ModelOptions, build_options, resolve_model
from capsulet.errors import InputError

OF_LABELS = ("label counts · ", "class weights · ", "thresholds · ", "valid f1 · ")  # keys below these are labels
CALIBRATION = ("method", "texts", "error_before", "error_after")
SIZES = "paper"  # default of --vocab-size and --classes: the paper's table lists these networks


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `capsulet info`."""
    parser.add_argument("model", nargs="?", metavar="MODEL", help="model folder or .onnx file")
    parser.add_argument("--vocab-size", type=int, metavar="V", help="number of words, with --classes")
    parser.add_argument("--classes", type=int, metavar="C", help="number of classes, with --vocab-size")
    parser.add_argument("--class", dest="label", metavar="LABEL", help="list the words that count most for this class")
    words = "with --class: average over these texts (default: each word as a text)"
    parser.add_argument("--texts", action="append", default=[], metavar="FILE", help=words)
    add_json_flag(parser)
    parser.add_argument("--all", action="store_true", help="list every option and count")
    add_recipe_flag(parser, default=SIZES)
    group = parser.add_argument_group("the network, with --vocab-size and --classes")
    add_option_flags(group, ModelOptions, {spec.name for spec in dataclasses.fields(ModelOptions)})


def run(arguments: argparse.Namespace) -> int:
    """Describe."""
    if arguments.model:
        if arguments.vocab_size is not None or arguments.classes is not None or chosen_options(arguments):
            raise InputError(
                "info takes MODEL, or --vocab-size and --classes with options of the network: leave one of them out"
            )
        if arguments.label is not None:
            return run_class(arguments)
        if arguments.texts:
            raise InputError("--texts needs --class: name a class, or leave --texts out")
        description = describe_model(Path(arguments.model))
    elif arguments.label is not None or arguments.texts:
        raise InputError("--class and --texts need MODEL")
    else:
        description = describe_options(arguments)
    if arguments.json:
        print_json(description)
    elif arguments.model and not arguments.all:
        print_page(description)
    else:
        print_table(description)
    return 0


def run_class(arguments: argparse.Namespace) -> int:
    """List the words that count most for a class."""
    from rich.table import Table
    from rich.text import Text

    from capsulet.runtime.class_words import class_words
    from capsulet.runtime.classifier import load
    from capsulet.text.reading import read_rows
    from capsulet.text.rows import ReadOptions

    classifier = load(arguments.model)
    rows = (
        read_rows(arguments.texts, labelled=False, options=ReadOptions(), allow_empty=True) if arguments.texts else ()
    )
    ranked = class_words(classifier, arguments.label, (row.text for row in rows))
    if arguments.json:
        words = [dataclasses.asdict(word) for word in ranked]
        print_json({"model": arguments.model, "label": arguments.label, "words": words})
        return 0
    table = Table("word", box=None, pad_edge=False)
    table.add_column("contribution", justify="right")
    table.add_column("count", justify="right")
    table.add_column("words with similar codes")
    for word in ranked:
        table.add_row(Text(word.word), f"{word.contribution:+.3f}", f"{word.count:,}", Text(" ".join(word.nearest)))
    console().print(table)
    return 0


def chosen_options(arguments: argparse.Namespace) -> bool:
    """Whether any option of the network was given."""
    return arguments.recipe != SIZES or bool(given_values(arguments, ModelOptions))


def describe_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Parameters of a network with these options; nothing is allocated."""
    from capsulet.model.shapes import num_parameters, parameter_shapes, parameters_by_part

    if arguments.vocab_size is None or arguments.classes is None:
        raise InputError("info needs MODEL, or --vocab-size V and --classes C")
    if arguments.vocab_size < 1 or arguments.classes < 1:
        raise InputError(
            f"--vocab-size {arguments.vocab_size} --classes {arguments.classes}: expected both to be at least 1"
        )
    given = build_options(arguments.recipe, **given_values(arguments, ModelOptions)).model
    options = resolve_model(given, arguments.vocab_size, arguments.classes)
    shapes = parameter_shapes(options, arguments.vocab_size, arguments.classes)
    return {
        "parameters": num_parameters(shapes),
        "parameters_by_part": parameters_by_part(shapes),
        "vocab_size": arguments.vocab_size,
        "classes": arguments.classes,
        "options": dataclasses.asdict(options),
        **({} if options.embedding == "plain" else {"codewords": options.num_codewords}),
    }


def describe_model(path: Path) -> dict[str, Any]:
    """Labels, size, options and training of a model."""
    from capsulet.model.shapes import parameter_shapes, parameters_by_part
    from capsulet.storage.folder import FILES, read_config

    if path.is_dir():
        config = read_config(path)
        sizes = {name: (path / name).stat().st_size for name in FILES if (path / name).exists()}
    else:
        from capsulet.runtime.session import open_session

        config = open_session(path).config
        sizes = {path.name: path.stat().st_size}
    stored, network = config.as_json(), config.network
    if config.compression is not None:  # the shapes are those of the model before compression
        parts: dict[str, Any] = {"compression": config.compression}
    else:
        shapes = parameter_shapes(network, config.vocab_size, len(config.labels))
        parts = {"parameters_by_part": parameters_by_part(shapes)}
        parts |= {} if network.embedding == "plain" else {"codewords": network.num_codewords}
    return {
        "model": str(path),
        "labels": list(config.labels),
        "multi_label": config.multi_label,
        **({"thresholds": dict(zip(config.labels, config.thresholds, strict=True))} if config.thresholds else {}),
        "vocab_size": config.vocab_size,
        "parameters": config.parameters,
        **parts,
        **({"ngrams": stored["ngrams"]} if config.ngrams else {}),
        "calibration": {key: value for key, value in (config.calibration or {}).items() if key in CALIBRATION},
        "bytes": sum(sizes.values()),
        "bytes_by_file": sizes,
        "options": stored["options"]["model"],
        "trained": {
            **{name: stored[name] for name in ("capsulet_version", "command", "recipe")},
            "seed": config.options.training.seed,
            **stored["metrics"],
            **stored["data"],
        },
    }


def print_table(description: dict[str, Any]) -> None:
    """Print every key and value."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for key, value in flatten(description):
        table.add_row(Text(key), Text(shown(value)))
    console().print(table)


def shown(value: Any) -> str:
    """Format a value: 1,234 and 0.9123."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def flatten(description: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """Turn nested keys into lines."""
    lines: list[tuple[str, Any]] = []
    for key, value in description.items():
        name = prefix + (key if prefix.endswith(OF_LABELS) else key.replace("_", " "))  # labels keep their underscores
        if isinstance(value, dict) and len(value) <= 40:
            lines += flatten(value, f"{name} · ")
        elif isinstance(value, dict):
            lines.append((name, f"{len(value)} entries"))
        elif isinstance(value, list):
            first = ", ".join(map(str, value[:20]))
            lines.append((name, f"{len(value)}: {first}{' …' if len(value) > 20 else ''}"))
        else:
            lines.append((name, value))
    return lines
