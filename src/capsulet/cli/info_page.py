"""The page that `capsulet info MODEL` prints: purpose, quality, size, use and training of a model."""

import shlex
from typing import Any

from capsulet.choices import NO_NETWORK
from capsulet.cli.output import count, cut, percent, show

MAX_LABELS, MAX_LETTERS, NUM_WORST = 12, 40, 5  # labels, characters of a label, labels with the lowest F1
NUM_COMMAND_LETTERS = 300  # characters of the training command
Rows = dict[str, str]  # names and values


def print_page(description: dict[str, Any]) -> None:
    """Print what `describe_model` returned, on one screen."""
    for heading, rows in sections(description).items():
        show(heading, style="bold")
        for name, value in rows.items():  # no table: commands must stay on one line to be copied
            show((f"  {name:<17}", "dim"), f"  {value}")
    show("--all lists every option and count, --json prints them as JSON", style="dim")


def sections(description: dict[str, Any]) -> dict[str, Rows]:
    """Headings, each with its rows."""
    labels, trained, path = description["labels"], description["trained"], shlex.quote(description["model"])
    kind = "any number of labels per text" if description["multi_label"] else "one label per text"
    length = trained["train_tokens"] / max(trained["train_rows"], 1)
    measured = "on its own training texts, no validation texts"
    if folds := trained.get("folds"):
        measured = f"in {folds}-fold cross-validation, on {count(trained['valid_measured'], 'training text')}"
    elif trained["valid_rows"]:
        measured = f"on {count(trained['valid_rows'], 'validation text')}"
    compressed = description.get("compression") is not None
    before = "of the model before its compression, " if compressed else ""
    return {
        f"{description['model']}: a text classifier with {len(labels):,} labels, {kind}": {
            "labels": label_list(labels),
            "texts": f"{count(round(length), 'token')} per training text on average",
            **script_rows(trained),
        },
        f"Quality {before}{measured}": quality(description),
        "Size": {
            "bytes": f"{description['bytes']:,}",
            "parameters": f"{description['parameters']:,}{' before the compression' * compressed}",
            "vocabulary": f"{description['vocab_size']:,} words",
            **({"network": NO_NETWORK} if "linear_only" in description else {}),
            "trained on": f"{count(trained['train_rows'], 'text')}, {count(trained['train_tokens'], 'token')}",
        },
        "Use": {
            "label texts": f'capsulet predict {path} --text "…"',
            "explain a label": f'capsulet explain {path} --text "…"',
            "test it": f"capsulet evaluate {path} test.csv",
        },
        "Training": {
            "command": cut(trained["command"], NUM_COMMAND_LETTERS),
            "recipe, seed": f"{trained['recipe']}, {trained['seed']}",
            **kept_epoch(description),
            "capsulet": trained["capsulet_version"],
        },
    }


def kept_epoch(description: dict[str, Any]) -> Rows:
    """The epoch of the weights; none without a network."""
    trained = description["trained"]
    return {} if "linear_only" in description else {"epoch": f"{trained['best_epoch']} of {trained['epochs']} kept"}


def script_rows(trained: dict[str, Any]) -> Rows:
    """The scripts of the training texts, if the training counted them."""
    from capsulet.text.scripts import script_shares

    return {"scripts": f"{script_shares(trained['scripts'])} of the letters"} if "scripts" in trained else {}


def quality(description: dict[str, Any]) -> Rows:
    """Accuracy or micro-F1, calibration error and the labels with the lowest F1."""
    from capsulet.report.measures import interval

    trained, texts, calibration = (
        description["trained"],
        description["trained"]["valid_measured" if "folds" in description["trained"] else "valid_rows"],
        description["calibration"],
    )
    if "not_measured" in trained:
        return {"accuracy": f"not measured: {trained['not_measured']}"}
    rows: Rows = {}
    if description["multi_label"]:
        rows["micro-F1"] = percent(trained["valid_micro_f1"])
    else:
        rows["accuracy"] = percent(trained["valid_accuracy"])
        if texts:
            low, high = interval(round(trained["valid_accuracy"] * texts), texts)
            rows["accuracy"] += f"   95 % interval {100 * low:.1f} to {100 * high:.1f} %"
    if "valid_macro_f1" in trained:
        rows["macro-F1"] = percent(trained["valid_macro_f1"])
    if "error_after" in calibration:
        errors = f"{calibration['error_after']:.4f}, {calibration['error_before']:.4f} before calibration"
        if calibration["texts"] != texts:  # `calibrate` was run on other texts
            errors += f", on {calibration['texts']:,} other texts"
        rows["calibration error"] = errors
    else:
        rows["calibration"] = "none: probabilities are class lengths divided by their sum"
    if f1 := trained.get("valid_f1"):
        worst = sorted(f1, key=lambda label: f1[label])[:NUM_WORST]
        rows["lowest F1"] = ", ".join(f"{cut(label, MAX_LETTERS)} {percent(f1[label], 1)}" for label in worst)
    return rows


def label_list(labels: list[str]) -> str:
    """The first labels, separated by commas."""
    shown = ", ".join(cut(label, MAX_LETTERS) for label in labels[:MAX_LABELS])
    return f"{shown}, … {len(labels) - MAX_LABELS:,} more" if len(labels) > MAX_LABELS else shown
