"""The model card: what a model is, how it was trained and how it fares, for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from capsulet.config import SIMILAR, UNKNOWN_WORDS

MOST_LABELS = 30
ONE = (
    "It knows the labels above and gives one of them to every text, also to texts that belong to none. Its scores order"
    " its\nanswers; they are not calibrated probabilities."
)
SEVERAL = (
    "It is a multi-label classifier: it knows the labels above and gives a text each of them whose score reaches the\n"
    "label's threshold (`thresholds` in config.json, for class lengths), several or none."
)


def model_card(config: Mapping[str, Any]) -> str:
    """The README.md of a model folder."""
    labels, data, metrics = config["labels"], config["data"], config["metrics"]
    options = config["options"]["model"]
    counts = data["label_counts"]
    f1 = metrics.get("valid_f1", {})
    shown = [
        f"| {cell(label)} | {counts[label]:,} | {100 * f1[label]:.1f} % |" if label in f1 else
        f"| {cell(label)} | {counts[label]:,} | |"
        for label in labels[:MOST_LABELS]
    ]  # fmt: skip
    if len(labels) > MOST_LABELS:
        shown.append(f"| … and {len(labels) - MOST_LABELS} more | | |")
    macro_f1 = f"{100 * metrics['valid_macro_f1']:.2f} %" if f1 else "not measured"
    if f1 and metrics["valid_measured"] < data["valid_rows"]:
        macro_f1 += f" on {metrics['valid_measured']:,} of them"
    several = options.get("multi_label") is True
    macro_line = "" if several else f"| macro-F1 | {macro_f1} |\n"
    head = options["routing"] + " routing" if options["head"] == "capsule" else "linear head"
    if "ngrams" in config:
        head += f", and a ngrams for words and pairs ({config['ngrams']['rows']:,} rows)"
    accuracy = f"{100 * metrics['valid_accuracy']:.2f} %"
    if several:
        accuracy = f"micro-F1 {100 * metrics['valid_micro_f1']:.2f} %, macro-F1 {100 * metrics['valid_macro_f1']:.2f} %"
        accuracy += f", subset accuracy {100 * metrics['valid_accuracy']:.2f} %"
        if data["valid_rows"]:
            accuracy += f" on the {data['valid_rows']:,} validation texts, on which epoch and thresholds were chosen"
        else:
            accuracy += " on its own training texts, as there were too few for a validation part"
    elif data["valid_rows"]:
        accuracy += f" of the {data['valid_rows']:,} validation texts, on which the epoch was chosen"
    else:
        accuracy += " of its own training texts, as there were too few for a validation part"
    limits = SEVERAL if several else ONE
    if several:
        limits += (
            f" A score is the probability that the\nlabel is there, for texts like the "
            f"{config['calibration']['texts']:,} validation texts it is calibrated on."
            if "calibration" in config
            else " Its scores are not calibrated probabilities."
        )
    elif "calibration" in config:
        limits = (
            "It knows the labels above. Without `--abstain` it gives one of them to every text, also to texts that\n"
            "belong to none. Its scores are probabilities that hold for texts like the "
            f"{config['calibration']['texts']:,} validation\ntexts they are calibrated on."
        )
    drift = ""
    if "histograms" in config:
        drift = "\n`capsulet drift` says whether other texts still look like its validation texts."
    unknown = "Words it has not seen in training count as one unknown word."
    if config.get(UNKNOWN_WORDS) == SIMILAR:
        unknown = "A word it has not seen in training is read as one it has seen that begins alike, if there is one."
    return f"""# A text classifier with {len(labels)} labels

Trained with [capsulet](https://pypi.org/project/capsulet/) {config["capsulet_version"]}.

| | |
| --- | --- |
| {"several labels a text" if several else "accuracy"} | {accuracy} |
{macro_line}{calibration_line(config)}| training texts | {data["train_rows"]:,} ({data["train_tokens"]:,} tokens) |
| words known | {config["vocab_size"]:,} |
| parameters | {config["parameters"]:,} |
| network | {options["embedding"]} embedding, {options["num_layers"]}-layer bidirectional GRU, {head} |
| best epoch | {metrics["best_epoch"]} of {metrics["epochs"]} |
| command | `{cell(config["command"])}` |

## Use

    capsulet predict THIS_FOLDER --text "…"

    import capsulet
    capsulet.load("THIS_FOLDER").predict(["…"])

## Labels

| label | training texts | F1 |
| --- | ---: | ---: |
{chr(10).join(shown)}

## Limits

{limits} {unknown}{drift}
"""


def calibration_line(config: Mapping[str, Any]) -> str:
    """How far scores are from what they say, where they were made to say something."""
    found = config.get("calibration", {})
    if not {"error_before", "error_after", "texts"} <= found.keys():
        return ""
    before, after = found["error_before"], found["error_after"]
    return (
        f"| calibration error | {after:.4f}, {before:.4f} before, on the {found['texts']:,} texts it was fitted on |\n"
    )


def cell(words: str) -> str:
    """Words that stay within their cell of a table."""
    return " ".join(words.split()).replace("|", "\\|")
