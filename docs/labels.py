"""Writes the multi-label figures into docs/results/multi-label.md: `python -m docs.labels`."""

from __future__ import annotations

import textwrap

from docs.pages import DOCS, circumstances, read, rewrite

PAGE = DOCS / "results" / "multi-label.md"
NAMES = {"ours": "capsulet", "tf-idf": "TF-IDF + one logistic regression per label"}
FIGURES = {
    "micro_f1": "micro-F1",
    "macro_f1": "macro-F1",
    "precision_at_1": "precision@1",
    "precision_at_3": "precision@3",
    "subset_accuracy": "subset accuracy",
}


def parts() -> dict[str, str]:
    """The marked part of the page: the data, the table, the command."""
    result = read("multilabel")
    texts = result["texts"]
    words = (
        f"Data: one-line descriptions of Debian packages and their tags (`apt-cache dumpavail`); {texts['train']:,} "
        f"training texts, {texts['valid']:,} validation texts, {texts['test']:,} test texts, {result['labels']} "
        f"labels, {result['labels_a_text']:.1f} labels per text. The same function fits the thresholds of both "
        f"classifiers on the same validation texts. C of the regressions ({result['tf-idf']['C']:g}) was chosen "
        "there too. The test texts were read once. capsulet uses the default recipe unless options are named."
    )
    head = ["test, %", *FIGURES.values(), "micro-F1 on validation", "parameters", "CPU seconds"]
    lines = [*textwrap.wrap(words, 118), "", f"| {' | '.join(head)} |", "| --- |" + " ---: |" * (len(head) - 1)]
    for name, title in NAMES.items():
        run = result[name]
        cells = [f"{100 * run['test'][figure]:.2f}" for figure in FIGURES] + [f"{100 * run['valid_micro_f1']:.2f}"]
        lines.append(f"| {title} | {' | '.join(cells)} | {run['parameters']:,} | {run['cpu_seconds']:.0f} |")
    options = result["ours"].get("options") or {}
    if options:
        lines += ["", f"capsulet with {', '.join(f'`{name}={value}`' for name, value in options.items())}."]
    if not result["bounds_held"]["micro_f1_above_tf_idf"]:
        lines += ["", "**capsulet does not reach the linear model's micro-F1 here**, which was the goal."]
    seed = f"One seed ({result['ours']['seed']}), one thread, load average {result['load_average']:.1f} at the end. "
    return {"multilabel": "\n".join([*lines, "", seed + circumstances("multilabel")])}


def write() -> None:
    """Write the page."""
    rewrite(PAGE, parts())


if __name__ == "__main__":
    write()
