"""Describe a model, or count the parameters of one that does not exist yet.

examples:
  capsulet info model
  capsulet info model --class Sports                             words that speak for a class, and words like them
  capsulet info model --class Sports --texts test.csv            the same, as they stand in these texts
  capsulet info --vocab-size 62535 --classes 4 --json            the paper's model of AG's News
  capsulet info --vocab-size 62535 --classes 4 --embedding plain --head linear
  capsulet info --vocab-size 62535 --classes 4 --recipe default  ours
"""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path
from typing import Any

from capsulet.cli.options import add_option_flags, add_recipe_flag, given_values
from capsulet.cli.output import console, print_json
from capsulet.config import ModelOptions, build_options, resolve_model
from capsulet.errors import InputError

OF_LABELS = ("label counts · ", "class weights · ", "thresholds · ", "valid f1 · ")  # keys below these are labels
SIZES = "paper"  # a model that does not exist yet has the paper's sizes, whose table lists them


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `capsulet info`."""
    parser.add_argument("model", nargs="?", metavar="MODEL", help="model folder or .onnx file")
    parser.add_argument("--vocab-size", type=int, metavar="V", help="words, with --classes instead of a model")
    parser.add_argument("--classes", type=int, metavar="C", help="classes, with --vocab-size instead of a model")
    parser.add_argument("--class", dest="label", metavar="LABEL", help="what the model has learned of this class")
    words = "with --class: take the mean over these texts (default: each word alone)"
    parser.add_argument("--texts", action="append", default=[], metavar="FILE", help=words)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_recipe_flag(parser, default=SIZES)
    add_option_flags(parser, ModelOptions)


def run(arguments: argparse.Namespace) -> int:
    """Describe."""
    if arguments.model:
        if arguments.vocab_size is not None or arguments.classes is not None or chosen_options(arguments):
            raise InputError(
                "info takes a MODEL, or --vocab-size and --classes with options of the network: leave one of them out"
            )
        if arguments.label is not None:
            return run_class(arguments)
        if arguments.texts:
            raise InputError("--texts is for --class: name a class, or leave it out")
        found = describe_model(Path(arguments.model))
    elif arguments.label is not None or arguments.texts:
        raise InputError("--class and --texts need a MODEL")
    else:
        found = describe_options(arguments)
    if arguments.json:
        print_json(found)
    else:
        print_table(found)
    return 0


def run_class(arguments: argparse.Namespace) -> int:
    """What a class has learned."""
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
    found = class_words(classifier, arguments.label, (row.text for row in rows))
    if arguments.json:
        words = [dataclasses.asdict(word) for word in found]
        print_json({"model": arguments.model, "label": arguments.label, "words": words})
        return 0
    table = Table("word", box=None, pad_edge=False)
    table.add_column("contribution", justify="right")
    table.add_column("places", justify="right")
    table.add_column("words of like codes")
    for word in found:
        table.add_row(Text(word.word), f"{word.contribution:+.3f}", f"{word.count:,}", Text(" ".join(word.nearest)))
    console().print(table)
    return 0


def chosen_options(arguments: argparse.Namespace) -> bool:
    """Whether anything was said about the network."""
    return arguments.recipe != SIZES or bool(given_values(arguments, ModelOptions))


def describe_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """What a network of these options would hold; nothing is allocated."""
    from capsulet.model.shapes import num_parameters, parameter_shapes, parameters_by_part

    if arguments.vocab_size is None or arguments.classes is None:
        raise InputError("info needs a MODEL, or --vocab-size V and --classes C")
    if arguments.vocab_size < 1 or arguments.classes < 1:
        raise InputError(
            f"--vocab-size {arguments.vocab_size} --classes {arguments.classes}: expected both to be at least 1"
        )
    asked = build_options(arguments.recipe, **given_values(arguments, ModelOptions)).model
    options = resolve_model(asked, arguments.vocab_size, arguments.classes)
    shapes = parameter_shapes(options, arguments.vocab_size, arguments.classes)
    found: dict[str, Any] = {
        "parameters": num_parameters(shapes),
        "parameters_by_part": parameters_by_part(shapes),
        "vocab_size": arguments.vocab_size,
        "classes": arguments.classes,
        "options": dataclasses.asdict(options),
    }
    if options.embedding != "plain":
        found["codewords"] = options.num_codewords
    return found


def describe_model(path: Path) -> dict[str, Any]:
    """What a model contains, how large it is and how it was trained."""
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
    if config.compression is not None:  # the shapes are those of the uncompressed model
        made_of: dict[str, Any] = {"compression": config.compression}
    else:
        shapes = parameter_shapes(network, config.vocab_size, len(config.labels))
        made_of = {"parameters_by_part": parameters_by_part(shapes)}
        made_of |= {} if network.embedding == "plain" else {"codewords": network.num_codewords}
    return {
        "model": str(path),
        "labels": list(config.labels),
        "multi_label": config.multi_label,
        **({"thresholds": dict(zip(config.labels, config.thresholds, strict=True))} if config.thresholds else {}),
        "vocab_size": config.vocab_size,
        "parameters": config.parameters,
        **made_of,
        **({"ngrams": stored["ngrams"]} if config.ngrams else {}),
        "bytes": sum(sizes.values()),
        "bytes_by_file": sizes,
        "options": stored["options"]["model"],
        "trained": {
            **{name: stored[name] for name in ("capsulet_version", "command", "recipe")},
            **stored["metrics"],
            **stored["data"],
        },
    }


def print_table(found: dict[str, Any]) -> None:
    """The same for people."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for key, value in flatten(found):
        table.add_row(Text(key), Text(shown(value)))
    console().print(table)


def shown(value: Any) -> str:
    """A value as people read it: 1,234 and 0.9123."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def flatten(found: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """Nested keys as lines."""
    lines: list[tuple[str, Any]] = []
    for key, value in found.items():
        name = prefix + (key if prefix.endswith(OF_LABELS) else key.replace("_", " "))  # labels as they are
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
