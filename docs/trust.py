"""Writes the figures of benchmarks.trust and benchmarks.faithfulness into docs/trust.md: `python -m docs.trust`."""

from __future__ import annotations

from typing import Any

from docs.results import RESULTS, ROOT, circumstances, read, replace_marked

PAGE = ROOT / "docs" / "trust.md"


def render_page(text: str) -> str:
    """docs/trust.md with its marked parts replaced."""
    return replace_marked(text, {"trust": trust(), "faithfulness": faithfulness()})


def trust() -> str:
    """Calibration, promises, and texts out of scope."""
    if not (RESULTS / "trust.json").exists():
        return "Not measured yet: `python -m benchmarks.trust --write`."
    found = read("trust")
    columns = (
        ("accuracy", "accuracy"),
        ("calibration error before", "calibration_error_before"),
        ("after", "calibration_error_after"),
        ("answered at 0.9", "coverage_got_at_0.9"),
        ("accuracy of those", "accuracy_at_coverage_0.9"),
        ("sets right at 0.9", "sets_right_at_0.9"),
        ("labels in a set", "mean_set_at_0.9"),
        ("errors at 0.05", "error_got_at_0.05"),
        ("answered then", "answered_at_error_0.05"),
    )
    lines = [
        f"| set, seed | validation texts | {' | '.join(title for title, _ in columns)} | largest error of a sum |",
        "| --- |" + " ---: |" * (len(columns) + 2),
    ]
    for run in found["trust_runs"]:
        cells = " | ".join(figure(run[key]) for _, key in columns)
        name = f"{run['set']}, {run['seed']}"
        texts = f"{run['valid_rows']:,} of {run.get('calibrated_on', 'a part of train').removeprefix('a part of ')}"
        lines.append(f"| {name} | {texts} | {cells} | {run['largest_sum_error']:.1e} |")
    if found["scope"]:
        lines += ["", "Texts out of scope:", "", *scope(found["scope"])]
    return "\n".join([*lines, "", circumstances("trust")])


def scope(rows: list[dict[str, Any]]) -> list[str]:
    """Ours beside TF-IDF with logistic regression."""
    lines = [
        "| set, seed | | area under the ROC curve | accuracy | of the most certain 90 % |",
        "| --- | --- | ---: | ---: | ---: |",
    ]
    for row in rows:
        who = {"ours": row["ours"], "TF-IDF + logistic regression": row["tf_idf"]}
        for name, values in who.items():
            if values:
                cells = " | ".join(figure(values[key]) for key in ("auroc", "accuracy", "accuracy_at_90"))
                lines.append(f"| {row['set']}, {row['seed']} | {name} | {cells} |")
    return lines


def faithfulness() -> str:
    """How much deleting the words that count most lowers the score."""
    if not (RESULTS / "faithfulness.json").exists():
        return "Whether these words decide is not measured yet: `python -m benchmarks.faithfulness --write`."
    lines = [
        "Whether these words decide: the mean fall of the score (class length) when three words are deleted.",
        "",
        "| set | order | texts | mean fall | times random | milliseconds a text |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    lines += [
        f"| {case['set']} | {case['order']} | {case['texts']} | {case['mean_fall_of_the_score']:.3f} | "
        f"{case['times_random']:.2f} | {case['milliseconds_a_text']:.1f} |"
        for case in read("faithfulness")["cases"]
    ]
    return "\n".join([*lines, "", circumstances("faithfulness")])


def figure(value: float | None) -> str:
    """Four digits, or that nothing could be promised."""
    return "none" if value is None else f"{value:.4f}"


if __name__ == "__main__":
    PAGE.write_text(render_page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
