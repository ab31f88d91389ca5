"""Writes figures on calibration, abstention and explanations into docs/results/trust.md: `python -m docs.trust`."""

from __future__ import annotations

from typing import Any

from docs.pages import DOCS, circumstances, read, rewrite

PAGE = DOCS / "results" / "trust.md"


def parts() -> dict[str, str]:
    """The marked parts of the page."""
    return {"trust": trust(), "scope": scope(), "faithfulness": faithfulness()}


def trust() -> str:
    """Calibration, coverage, label sets and error rates."""
    columns = (
        ("accuracy", "accuracy"),
        ("calibration error of class lengths", "calibration_error_before"),
        ("calibration error of probabilities", "calibration_error_after"),
        ("share answered, `--coverage 0.9`", "coverage_got_at_0.9"),
        ("accuracy of the answers", "accuracy_at_coverage_0.9"),
        ("sets with the true label, `--sets 0.9`", "sets_right_at_0.9"),
        ("labels per set", "mean_set_at_0.9"),
        ("error rate, `--max-error 0.05`", "error_got_at_0.05"),
        ("share answered", "answered_at_error_0.05"),
    )
    lines = [
        f"| data set | seed | validation texts | {' | '.join(title for title, _ in columns)} | "
        "largest error of a sum of contributions |",
        "| --- |" + " ---: |" * (len(columns) + 3),
    ]
    for run in read("trust")["trust_runs"]:
        cells = " | ".join(figure(run[key]) for _, key in columns)
        source = run.get("calibrated_on", "a part of train").removeprefix("a part of ")
        texts = f"{run['valid_rows']:,} of {source}"
        lines.append(f"| {run['set']} | {run['seed']} | {texts} | {cells} | {run['largest_sum_error']:.1e} |")
    return "\n".join([*lines, "", circumstances("trust")])


def scope() -> str:
    """How well texts of no class are recognised, beside TF-IDF with logistic regression."""
    lines = [
        "| data set | seed | classifier | area under the ROC curve | accuracy | accuracy of the most certain 90 % |",
        "| --- | ---: | --- | ---: | ---: | ---: |",
    ]
    for row in read("trust")["scope"]:
        classifiers: dict[str, Any] = {"capsulet": row["ours"], "TF-IDF + logistic regression": row["tf_idf"]}
        for name, values in classifiers.items():
            if values:
                cells = " | ".join(figure(values[key]) for key in ("auroc", "accuracy", "accuracy_at_90"))
                lines.append(f"| {row['set']} | {row['seed']} | {name} | {cells} |")
    return "\n".join(lines)


def faithfulness() -> str:
    """How much the class length falls when the words that contribute most are deleted."""
    lines = [
        "| data set | words chosen by | texts | mean fall of the class length | times random | milliseconds per text |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    lines += [
        f"| {case['set']} | {case['order']} | {case['texts']} | {case['mean_fall_of_the_length']:.3f} | "
        f"{case['times_random']:.2f} | {case['milliseconds_a_text']:.1f} |"
        for case in read("faithfulness")["cases"]
    ]
    return "\n".join([*lines, "", circumstances("faithfulness")])


def figure(value: float | None) -> str:
    """Four digits, or none where nothing could be promised."""
    return "none" if value is None else f"{value:.4f}"


def write() -> None:
    """Write the page."""
    rewrite(PAGE, parts())


if __name__ == "__main__":
    write()
