"""Writes the figures of benchmarks/results/multilabel.json into docs/labels.md: `python -m docs.labels`."""

from __future__ import annotations

import textwrap

from docs.results import ROOT, circumstances, read, replace_marked

PAGE = ROOT / "docs" / "labels.md"
NAMES = {"ours": "capsulet", "tf-idf": "TF-IDF + one logistic regression a label"}
FIGURES = {
    "micro_f1": "micro-F1",
    "macro_f1": "macro-F1",
    "precision_at_1": "precision@1",
    "precision_at_3": "precision@3",
    "subset_accuracy": "subset accuracy",
}


def render_page(text: str) -> str:
    """The page with its marked part replaced."""
    return replace_marked(text, {"multilabel": section()})


def section() -> str:
    """What was measured on what, the table, the circumstances."""
    found = read("multilabel")
    texts = found["texts"]
    words = (
        f"Tags of Debian's packages from their one-line descriptions (`apt-cache dumpavail`): {texts['train']:,} texts "
        f"to train on, {texts['valid']:,} to validate on, {texts['test']:,} to test on, {found['labels']} labels, "
        f"{found['labels_a_text']:.1f} a text. Both have thresholds fitted by the same function on the same validation "
        f"texts; C of the regressions ({found['tf-idf']['C']:g}) was chosen there too. The test texts were read once. "
        "Ours is the default recipe unless options are named."
    )
    head = ["test, %", *FIGURES.values(), "micro-F1 on validation", "parameters", "processor seconds"]
    lines = [*textwrap.wrap(words, 118), "", f"| {' | '.join(head)} |", "| --- |" + " ---: |" * (len(head) - 1)]
    for name, title in NAMES.items():
        run = found[name]
        cells = [f"{100 * run['test'][figure]:.2f}" for figure in FIGURES] + [f"{100 * run['valid_micro_f1']:.2f}"]
        lines.append(f"| {title} | {' | '.join(cells)} | {run['parameters']:,} | {run['cpu_seconds']:.0f} |")
    options = found["ours"].get("options") or {}
    if options:
        lines += ["", f"Ours with {', '.join(f'`{name}={value}`' for name, value in options.items())}."]
    if not found["bounds_held"]["micro_f1_above_tf_idf"]:
        lines += ["", "**Ours does not reach the linear model's micro-F1 here**, which was the goal."]
    seed = f"One seed ({found['ours']['seed']}), one thread, load average {found['load_average']:.1f} at the end. "
    return "\n".join([*lines, "", seed + circumstances("multilabel")])


if __name__ == "__main__":
    PAGE.write_text(render_page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
