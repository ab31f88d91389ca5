"""The model card: the README.md of a model folder. Labels and the command are shown as they are, never as markup."""

import re

from capsulet.storage.model_config import ModelConfig
from capsulet.text.scripts import script_shares
from capsulet.text.visible import visible

MOST_LABELS = 30
MARKUP = {"&": "&amp;", "<": "&lt;", ">": "&gt;"} | {letter: f"\\{letter}" for letter in "\\`*[]|~"}


def model_card(config: ModelConfig) -> str:
    """What a model is, how it was trained and how it performs, as Markdown."""
    data = config.data
    return f"""{metadata(config)}# A text classifier with {len(config.labels)} labels

Trained with [capsulet](https://pypi.org/project/capsulet/) {config.capsulet_version}.

| | |
| --- | --- |
{chr(10).join(quality_rows(config))}
| training texts | {data.train_rows:,} ({data.train_tokens:,} tokens) |
{scripts_row(config)}| vocabulary | {config.vocab_size:,} words |
| parameters | {config.parameters:,} |
{chr(10).join(network_rows(config))}
| command | {code(config.command)} |

## Use

    capsulet predict THIS_FOLDER --text "…"

    import capsulet
    capsulet.load("THIS_FOLDER").predict(["…"])

## Labels

| label | training texts | F1 |
| --- | ---: | ---: |
{chr(10).join(label_rows(config))}

## Limits

{limits(config)}
"""


def metadata(config: ModelConfig) -> str:
    """YAML at the head of the card, which the Hugging Face Hub reads: library, task and figures."""
    metrics, validated = config.metrics, config.measured and (config.metrics.folds or config.data.valid_rows)
    how = f"{metrics.folds}-fold cross-validation" if metrics.folds else "validation texts"
    figures = [
        ("accuracy", "Subset accuracy" if config.multi_label else "Accuracy", metrics.valid_accuracy),
        ("f1", "Micro-F1", metrics.valid_micro_f1),
        ("f1", "Macro-F1", metrics.valid_macro_f1 if metrics.valid_f1 else None),
    ]
    lines = ["---", "library_name: capsulet", "pipeline_tag: text-classification", "tags:", "- text-classification"]
    lines += ["- multi-label"] * config.multi_label
    if validated:
        lines += [
            "model-index:", "- name: capsulet", "  results:", "  - task:", "      type: text-classification",
            "      name: Text classification", "    dataset:", "      type: private", f"      name: {how}",
            "    metrics:",
        ]  # fmt: skip
        for kind, name, value in figures:
            if value is not None:
                lines += [f"    - type: {kind}", f"      name: {name}", f"      value: {round(value, 4)}"]
    return "\n".join([*lines, "---", "", ""])


def network_rows(config: ModelConfig) -> list[str]:
    """Table rows with the parts of the network and the epoch of its weights."""
    network, metrics = config.options.model, config.metrics
    features = f"n-gram features ({config.ngrams.rows:,} rows)" if config.ngrams else ""
    if config.linear_only:
        return [f"| network | none: {features} only |"]
    head = f"{network.routing} routing" if network.head == "capsule" else "linear head"
    parts = [f"{network.embedding} embedding", f"{network.num_layers}-layer bidirectional GRU", head]
    return [
        f"| network | {', '.join([*parts, *[features] * bool(features)])} |",
        f"| best epoch | {metrics.best_epoch} of {metrics.epochs} |",
    ]


def scripts_row(config: ModelConfig) -> str:
    """Table row with the scripts of the training texts; empty for models of versions that did not count them."""
    scripts = config.data.scripts
    return "" if scripts is None else f"| scripts | {cell(script_shares(scripts))} of the letters |\n"


def quality_rows(config: ModelConfig) -> list[str]:
    """Table rows with the metrics on the validation texts."""
    metrics, data, calibration = config.metrics, config.data, config.calibration or {}
    if not config.measured:
        return ["| accuracy | not measured: there is one training row per class |"]
    accuracy = f"{100 * metrics.valid_accuracy:.2f} %"
    measured = f"on the {data.valid_rows:,} validation texts"
    measured += "" if config.linear_only else ", which also selected the epoch"
    if metrics.folds:
        measured = f"in {metrics.folds}-fold cross-validation, on {validation_count(config):,} training texts"
    elif not data.valid_rows:
        measured = "on its own training texts, because there were too few for a validation set"
    micro_f1, macro_f1 = (f"{100 * (value or 0):.2f} %" for value in (metrics.valid_micro_f1, metrics.valid_macro_f1))
    if config.multi_label:
        figures = f"micro-F1 {micro_f1}, macro-F1 {macro_f1}, subset accuracy {accuracy}"
        rows = [f"| multi-label | {figures} {measured} |"]
    else:
        if not metrics.valid_f1 or metrics.valid_macro_f1 is None:
            macro_f1 = "not measured"
        elif metrics.valid_measured is not None and metrics.valid_measured < data.valid_rows:
            macro_f1 += f" on {metrics.valid_measured:,} of them"
        rows = [f"| accuracy | {accuracy} {measured} |", f"| macro-F1 | {macro_f1} |"]
    if {"error_before", "error_after", "texts"} <= calibration.keys():
        rows.append(
            f"| calibration error | {calibration['error_after']:.4f} (uncalibrated {calibration['error_before']:.4f}), "
            f"on the {calibration['texts']:,} texts the calibration was fitted on |"
        )
    return rows


def validation_count(config: ModelConfig) -> int:
    """The number of texts that the metrics of the training were measured on."""
    metrics, data = config.metrics, config.data
    return data.valid_rows or metrics.valid_measured or data.train_rows


def label_rows(config: ModelConfig) -> list[str]:
    """Table rows with the training texts and the F1 of the first labels."""
    f1 = (config.metrics.valid_f1 or {}) if config.measured else {}
    rows = [
        f"| {cell(label)} | {config.data.label_counts.get(label, 0):,} | "
        + (f"{100 * f1[label]:.1f} % |" if label in f1 else "|")
        for label in config.labels[:MOST_LABELS]
    ]
    if len(config.labels) > MOST_LABELS:
        rows.append(f"| … and {len(config.labels) - MOST_LABELS} more | | |")
    return rows


def limits(config: ModelConfig) -> str:
    """The limits of the model, as Markdown."""
    calibrated = "Its probabilities are not calibrated: use them only to rank labels."
    if config.calibration:
        kind = "training" if config.metrics.folds else "validation"
        texts = f"{config.calibration['texts']:,} {kind} texts"
        calibrated = f"Its probabilities are calibrated for texts like its {texts}."
    if config.multi_label:
        answer = (
            "It is a multi-label classifier. It gives a text each of the labels above whose class length reaches the\n"
            "threshold of the label (`thresholds` in the configuration): several labels, one or none."
        )
    else:
        answer = "It gives one of the labels above to every text, also to texts that belong to none of them"
        answer += ", unless you use `--abstain`." if config.calibration else "."
    unknown = "It reads all words outside its vocabulary as one unknown word."
    if config.linear_only:
        pieces = ", pairs of words and pieces of words" if config.options.model.pieces else " and pairs of words"
        unknown = f"It has no network: it reads the words{pieces} that it was trained on. Other word order is ignored."
    elif config.reads_similar_words:
        unknown = "It reads a word outside its vocabulary as a known word with the same beginning, if there is one."
    drift = "`capsulet drift` tests whether new texts still look like its validation texts."
    return "\n".join([answer, calibrated, unknown, *[drift] * bool(config.histograms)])


def cell(text: str) -> str:
    """Text for one cell of a Markdown table: one line, without markup, links and HTML."""
    return "".join(MARKUP.get(letter, letter) for letter in one_line(text))


def code(text: str) -> str:
    """A code span for one cell of a Markdown table. Its fence is longer than any run of backticks in the text."""
    line = one_line(text).replace("|", "\\|")
    fence = "`" * (1 + max(map(len, re.findall("`+", line)), default=0))
    space = " " * (len(fence) > 1)
    return f"{fence}{space}{line}{space}{fence}"


def one_line(text: str) -> str:
    """Text on one line, with control characters as escapes."""
    return visible(" ".join(text.split()))
