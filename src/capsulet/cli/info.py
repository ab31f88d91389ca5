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

from capsulet.cli.options import JSON, add_option_flags, add_recipe_flag, given_values
from capsulet.cli.output import print_json, show, show_table
from capsulet.errors import InputError

TYPE_CHECKING = False  # as in typing, which takes long to import
if TYPE_CHECKING:
    import argparse
    from pathlib import Path
    from typing import Any

OF_LABELS = ("label counts · ", "class weights · ", "thresholds · ", "valid f1 · ")  # keys below these are labels
CALIBRATION = ("method", "texts", "error_before", "error_after")
RECIPE = "paper"  # default of --recipe: with --vocab-size and --classes it counts the networks of the paper's table
ARGUMENTS = {
    "[MODEL]": "model folder or .safetensors file",
    "--vocab-size V": "number of words, with --classes",
    "--classes C": "number of classes, with --vocab-size",
    "--class LABEL": "list the words that count most for this class",
    "--texts FILE…": "with --class: average over these texts (default: each word as a text)",
    **JSON,
    "--all": "list every option and count",
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the recipe and the options of the network."""
    from capsulet.config import ModelOptions

    add_recipe_flag(parser, default=RECIPE)
    group = parser.add_argument_group("the network, with --vocab-size and --classes")
    add_option_flags(group, [ModelOptions], basic=[True, False])


def run(arguments: argparse.Namespace) -> None:
    """Run `capsulet info`."""
    from pathlib import Path

    from capsulet.config import ModelOptions

    label, sizes = getattr(arguments, "class"), (arguments.vocab_size, arguments.classes)
    if arguments.model and (
        sizes != (None, None) or given_values(arguments, ModelOptions) or arguments.recipe != RECIPE
    ):
        raise InputError(
            "info takes MODEL, or --vocab-size and --classes with options of the network: leave one of them out"
        )
    if not arguments.model and (label is not None or arguments.texts):
        raise InputError("--class and --texts need MODEL: name a model, or leave them out")
    if arguments.texts and label is None:
        raise InputError("--texts needs --class: name a class, or leave --texts out")
    if label is not None:
        return describe_class(arguments.model, label, arguments.texts, arguments.json)
    description = describe_model(Path(arguments.model)) if arguments.model else describe_network(*sizes, arguments)
    if arguments.json:
        return print_json(description)
    if arguments.model and not arguments.all:
        from capsulet.cli.info_page import print_page

        return print_page(description)
    from capsulet.cli.plain import aligned, width

    lines = flatten(description)
    columns = max(width(name) for name, _ in lines)
    for name, value in lines:
        show((aligned(name, columns, right=False) + "  ", "bold"), value)
    return None


def describe_class(model: str, label: str, files: list[str], as_json: bool) -> None:
    """Print the words that count most for a class."""
    import dataclasses

    from capsulet.runtime.class_words import class_words
    from capsulet.runtime.classifier import load
    from capsulet.text.reading import read_rows
    from capsulet.text.rows import ReadOptions

    classifier = load(model)
    rows = read_rows(files, labelled=False, options=ReadOptions(), allow_empty=True) if files else ()
    words = class_words(classifier, label, (row.text for row in rows))
    if as_json:
        return print_json({"model": model, "label": label, "words": [dataclasses.asdict(word) for word in words]})
    table = [(word.word, f"{word.contribution:+.3f}", f"{word.count:,}", " ".join(word.nearest)) for word in words]
    columns = ("word", ">contribution", ">count", "words with similar codes")
    number = 4 if any(word.nearest for word in words) else 3
    return show_table(columns[:number], [row[:number] for row in table], frame=False)


def describe_network(vocab_size: int | None, classes: int | None, arguments: argparse.Namespace) -> dict[str, Any]:
    """Parameters of a network with the options of a command; nothing is allocated."""
    import dataclasses

    from capsulet.automatic import resolve_model
    from capsulet.config import ModelOptions, build_options
    from capsulet.model.shapes import num_parameters, parameter_shapes, parameters_by_part

    if vocab_size is None or classes is None:
        raise InputError("info needs MODEL, or --vocab-size V and --classes C: add one of the two")
    if vocab_size < 1 or classes < 1:
        raise InputError(f"--vocab-size {vocab_size} --classes {classes}: expected both to be at least 1")
    options = build_options(arguments.recipe, **given_values(arguments, ModelOptions)).model
    options = resolve_model(options, vocab_size, classes)
    shapes = parameter_shapes(options, vocab_size, classes)
    return {
        "parameters": num_parameters(shapes),
        "parameters_by_part": parameters_by_part(shapes),
        "vocab_size": vocab_size,
        "classes": classes,
        "options": dataclasses.asdict(options),
        **({} if options.embedding == "plain" else {"codewords": options.num_codewords}),
    }


def describe_model(path: Path) -> dict[str, Any]:
    """Labels, size, options and training of a model."""
    from capsulet.model.shapes import parameters_by_part
    from capsulet.storage.folder import FILES, read_config

    config = read_config(path)
    files = [path / name for name in FILES if (path / name).exists()] if path.is_dir() else [path]
    sizes = {file.name: file.stat().st_size for file in files}
    stored, network = config.as_json(), config.network
    parts: dict[str, Any] = {"compression": config.compression}
    if config.compression is None:  # a compressed model has other shapes
        parts = {"parameters_by_part": parameters_by_part(config.shapes)}
        parts |= {} if config.linear_only or network.embedding == "plain" else {"codewords": network.num_codewords}
    return {
        "model": str(path),
        "labels": list(config.labels),
        "multi_label": config.multi_label,
        **({"thresholds": dict(zip(config.labels, config.thresholds, strict=True))} if config.thresholds else {}),
        "vocab_size": config.vocab_size,
        "parameters": config.parameters,
        **parts,
        **({"ngrams": stored["ngrams"]} if config.ngrams else {}),
        **({"linear_only": True} if config.linear_only else {}),
        "calibration": {key: value for key, value in (config.calibration or {}).items() if key in CALIBRATION},
        "bytes": sum(sizes.values()),
        "bytes_by_file": sizes,
        "options": stored["options"]["model"],
        "trained": {
            **{name: stored[name] for name in ("capsulet_version", "command", "recipe")},
            "seed": config.options.training.seed,
            **({} if config.measured else {"not_measured": "one training row per class"}),
            **stored["metrics"],
            **stored["data"],
        },
    }


def flatten(description: dict[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """Names and formatted values of nested dictionaries."""
    lines: list[tuple[str, str]] = []
    for key, value in description.items():
        name = prefix + (key if prefix.endswith(OF_LABELS) else key.replace("_", " "))  # labels keep their underscores
        if isinstance(value, dict) and len(value) <= 40:
            lines += flatten(value, f"{name} · ")
        elif isinstance(value, dict):
            lines.append((name, f"{len(value)} entries"))
        elif isinstance(value, list):
            shown = ", ".join(map(str, value[:20])) + (" …" if len(value) > 20 else "")
            lines.append((name, f"{len(value)}: {shown}"))
        elif isinstance(value, float):
            lines.append((name, f"{value:.4g}"))
        else:
            lines.append((name, f"{value:,}" if type(value) is int else str(value)))
    return lines
