"""The page that `capsulet info MODEL` prints: purpose, quality, size, use and training of a model."""

from __future__ import annotations

import shlex
from typing import Any

from capsulet.cli.output import console

MAX_LABELS, MAX_LETTERS, NUM_WORST = 12, 40, 5
NUM_COMMAND_LETTERS = 300


def print_page(description: dict[str, Any]) -> None:
    """Print what `describe_model` returned, on one screen."""
    from rich.text import Text

    screen = console()
    for heading, rows in sections(description):
        screen.print(Text(heading, "bold"), soft_wrap=True)
        for name, value in rows:  # no table: commands must stay on one line to be copied
            screen.print(Text.assemble((f"  {name:<17}", "dim"), f"  {value}"), soft_wrap=True)
    screen.print(Text("--all lists every option and count, --json prints them as JSON", "dim"))


def sections(description: dict[str, Any]) -> list[tuple[str, list[tuple[str, str]]]]:
    """Headings, each with rows of names and values."""
    labels, trained, path = description["labels"], description["trained"], shlex.quote(description["model"])
    kind = "any number of labels per text" if description["multi_label"] else "one label per text"
    length = trained["train_tokens"] / max(trained["train_rows"], 1)
    return [
        (
            f"{description['model']}: a text classifier with {len(labels):,} labels, {kind}",
            [
                ("labels", label_list(labels)),
                ("texts", f"{length:,.0f} tokens per training text on average"),
            ],
        ),
        quality(description),
        (
            "Size",
            [
                ("bytes", f"{description['bytes']:,}"),
                ("parameters", f"{description['parameters']:,}"),
                ("vocabulary", f"{description['vocab_size']:,} words"),
                ("trained on", f"{trained['train_rows']:,} texts, {trained['train_tokens']:,} tokens"),
            ],
        ),
        (
            "Use",
            [
                ("label texts", f'capsulet predict {path} --text "…"'),
                ("explain a label", f'capsulet explain {path} --text "…"'),
                ("test it", f"capsulet evaluate {path} test.csv"),
            ],
        ),
        (
            "Training",
            [
                ("command", cut(trained["command"], NUM_COMMAND_LETTERS)),
                ("recipe, seed", f"{trained['recipe']}, {trained['seed']}"),
                ("epoch", f"{trained['best_epoch']} of {trained['epochs']} kept"),
                ("capsulet", trained["capsulet_version"]),
            ],
        ),
    ]


def quality(description: dict[str, Any]) -> tuple[str, list[tuple[str, str]]]:
    """Accuracy or micro-F1, calibration error and the labels with the lowest F1."""
    from capsulet.report.measures import interval

    trained, count = description["trained"], description["trained"]["valid_rows"]
    texts = f"on {count:,} validation texts" if count else "on its own training texts, no validation texts"
    rows: list[tuple[str, str]] = []
    if description["multi_label"]:
        rows.append(("micro-F1", f"{100 * trained['valid_micro_f1']:.2f} %"))
    else:
        accuracy = f"{100 * trained['valid_accuracy']:.2f} %"
        if count:
            low, high = interval(round(trained["valid_accuracy"] * count), count)
            accuracy += f"   95 % interval {100 * low:.1f} to {100 * high:.1f} %"
        rows.append(("accuracy", accuracy))
    if "valid_macro_f1" in trained:
        rows.append(("macro-F1", f"{100 * trained['valid_macro_f1']:.2f} %"))
    calibration = description["calibration"]
    if "error_after" in calibration:
        errors = f"{calibration['error_after']:.4f}, {calibration['error_before']:.4f} before calibration"
        rows.append(("calibration error", errors))
    else:
        rows.append(("calibration", "none: scores are class lengths, not probabilities"))
    if f1 := trained.get("valid_f1"):
        worst = sorted(f1, key=lambda label: f1[label])[:NUM_WORST]
        rows.append(("lowest F1", ", ".join(f"{cut(label, MAX_LETTERS)} {100 * f1[label]:.1f} %" for label in worst)))
    return f"Quality {texts}", rows


def label_list(labels: list[str]) -> str:
    """The first labels, separated by commas."""
    shown = ", ".join(cut(label, MAX_LETTERS) for label in labels[:MAX_LABELS])
    return f"{shown}, … {len(labels) - MAX_LABELS:,} more" if len(labels) > MAX_LABELS else shown


def cut(text: str, length: int) -> str:
    """The text, shortened to this many letters."""
    return text if len(text) <= length else f"{text[: length - 1]}…"
