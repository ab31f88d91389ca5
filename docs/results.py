"""Writes the figures of benchmarks/results into docs/results.md and the README: `python -m docs.results`."""

from __future__ import annotations

import json
import re
import statistics
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results"
PAGE, README = ROOT / "docs" / "results.md", ROOT / "README.md"
TF_IDF = "tf-idf"
NAMES = {
    "ag_news_61k": "AG News, 61.5k-row training subset, official test",
    "trec6": "TREC, 6 classes",
    "r8": "Reuters R8",
    "banking77": "Banking77",
}


def read(name: str) -> dict[str, Any]:
    """One results file."""
    found: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text())
    return found


def accuracy_rows() -> list[dict[str, Any]]:
    """Mean and deviation over the seeds of each data set, and what stands beside them."""
    rows = []
    runs = read("accuracy")["runs"]
    for name in sorted({run["set"] for run in runs}, key=lambda name: list(NAMES).index(name)):
        ours = [run for run in runs if run["set"] == name and run["seed"] != TF_IDF]
        other = next((run for run in runs if run["set"] == name and run["seed"] == TF_IDF), None)
        if not ours:
            continue
        values = [100 * run["accuracy"] for run in ours]
        rows.append(
            {
                "name": NAMES[name],
                "mean": statistics.mean(values),
                "deviation": statistics.stdev(values) if len(values) > 1 else 0.0,
                "macro_f1": statistics.mean(100 * run["macro_f1"] for run in ours),
                "seeds": len(values),
                "tf_idf": f"{100 * other['accuracy']:.2f}" if other else "not run",
                "tf_idf_parameters": f" ({other['parameters']:,})" if other else "",
                "parameters": ours[0]["parameters"],
                "megabytes": ours[0]["onnx_bytes"] / 1e6,
            }
        )
    return rows


def accuracy_table() -> list[str]:
    """The table of the README."""
    lines = [
        "| test accuracy, % | capsulet | TF-IDF + logistic regression | seeds | parameters (theirs) | `model.onnx` |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    cells = (
        "| {name} | {mean:.2f} ± {deviation:.2f} | {tf_idf} | {seeds} | {parameters:,}{tf_idf_parameters} | "
        "{megabytes:.1f} MB |"
    )
    return lines + [cells.format_map(row) for row in accuracy_rows()]


def circumstances(name: str) -> str:
    """Command, commit and machine of a results file."""
    result = read(name)
    versions = ", ".join(f"{package} {version}" for package, version in result["versions"].items() if version)
    machine = result["machine"]
    return (
        f"`{result['command']}`, commit `{result['commit']}`, {machine['processor']}, {machine['cores']} cores, "
        f"Python {result['python']}, {versions}."
    )


def summary() -> str:
    """The sentence with numbers at the top of the README."""
    news = next(row for row in accuracy_rows() if row["name"] == NAMES["ag_news_61k"])
    figures = read("runtime")["figures"]
    return (
        f"{news['mean']:.1f} % on AG News from half of its training rows, with {news['parameters'] / 1e6:.1f} M "
        f"parameters in {news['megabytes']:.0f} MB; a cold process answers in "
        f"1/{figures['import_torch_over_cold_predict']:.0f} of the time that `import torch` takes, and one text is "
        f"labelled {figures['torch_eager_over_runtime']:.1f} times as fast as by PyTorch."
    )


def readme_section() -> str:
    """The results of the README."""
    return "\n".join(
        [
            *accuracy_table(),
            "",
            "Default recipe, mean ± standard deviation over the seeds. The epoch is chosen on a validation part of",
            "the training file; the test file is read once, at the end. TF-IDF is of words and pairs, its strength",
            "chosen on validation too. [docs/results.md](docs/results.md) has commands, machine and other figures, and",
            "[docs/log.md](docs/log.md) says how the recipe was chosen and how often test figures were seen.",
        ]
    )


OTHERS = {
    "runtime": ("Start-up and latency", "Medians of interleaved runs. Ratios travel between machines; seconds do not."),
    "classes": ("Any number of classes", "Generated texts in which only a pair of words tells the class."),
    "encoder": (
        "The encoder in training",
        "Forward and backward of the two-layer bidirectional GRU, ours against `nn.GRU` and a product of 1024³.",
    ),
    "routing": (
        "K-means routing in training",
        "Forward and backward of three iterations for 32 texts, in compiled code and through torch.",
    ),
}


def render_page() -> str:
    """docs/results.md."""
    macro_f1 = ", ".join(f"{row['name']} {row['macro_f1']:.2f}" for row in accuracy_rows())
    lines = ["# Results", "", "Written by `python -m docs.results` from the files in benchmarks/results."]
    lines += [
        "",
        "## Accuracy",
        "",
        *accuracy_table(),
        "",
        f"Macro-F1 of ours: {macro_f1}.",
        "",
        circumstances("accuracy"),
    ]
    for name, (title, text) in OTHERS.items():
        if (RESULTS / f"{name}.json").exists():
            lines += ["", f"## {title}", "", text, "", *table_of(read(name)), "", circumstances(name)]
    return "\n".join(lines) + "\n"


def table_of(result: dict[str, Any]) -> list[str]:
    """Figures as a table of names and values, runs as a table of their keys."""
    if "figures" in result:
        body = [f"| {name.replace('_', ' ')} | {value:.3f} |" for name, value in result["figures"].items()]
        return ["| figure | value |", "| --- | ---: |", *body]
    runs = result.get("runs") or result["cases"]
    keys = list(runs[0])
    body = ["| " + " | ".join(cell(run[key]) for key in keys) + " |" for run in runs]
    return ["| " + " | ".join(key.replace("_", " ") for key in keys) + " |", "| " + "---: | " * len(keys), *body]


def cell(value: Any) -> str:
    """A value of a table."""
    return f"{value:.3f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)


def render_readme(text: str) -> str:
    """The README with its marked parts replaced."""
    for mark, content in (("numbers", summary()), ("results", readme_section())):
        pattern = rf"(<!-- {mark} -->\n).*?(\n<!-- end of {mark} -->)"
        text, found = re.subn(pattern, lambda match, content=content: match[1] + content + match[2], text, flags=re.S)
        assert found == 1, mark
    return text


if __name__ == "__main__":
    PAGE.write_text(render_page(), encoding="utf-8")
    README.write_text(render_readme(README.read_text(encoding="utf-8")), encoding="utf-8")
