"""Writes the figures of the drift test into docs/results/drift.md: `python -m docs.drift`."""

from __future__ import annotations

from capsulet.results import DRIFT_PARTS
from docs.pages import DOCS, circumstances, read, rewrite

PAGE = DOCS / "results" / "drift.md"


def parts() -> dict[str, str]:
    """The marked parts of the page."""
    return {"alarms": alarms(), "power": power()}


def alarms() -> str:
    """The share of samples from the same source that raised an alarm."""
    result = read("drift")
    lines = [
        "| model | validation texts | bytes | texts per sample | stored, rate 0.01 | stored, rate 0.05 | "
        "redrawn, rate 0.01 | redrawn, rate 0.05 |",
        "| --- |" + " ---: |" * 7,
    ]
    for row in result["alarms"]:
        stored = result["histograms"][row["model"]]
        rates = [row[f"{kind}_at_{rate}"] for kind in ("stored", "redrawn") for rate in (0.01, 0.05)]
        cells = " | ".join(f"{rate:.3f}" for rate in rates)
        lines.append(f"| {row['model']} | {stored['texts']:,} | {stored['bytes']:,} | {row['texts']:,} | {cells} |")
    missed = [name.replace("_", " ") for name, held in result["bounds_held"].items() if not held]
    words = (
        f"Each figure is a share of {result['draws']:,} samples. Its standard error is {error(0.01, result['draws'])} "
        f"at a rate of 0.01 and {error(0.05, result['draws'])} at 0.05. "
    )
    words += (
        f"More than three standard errors above the stated rate: {', '.join(missed)}."
        if missed
        else "No figure is more than three standard errors above the stated rate."
    )
    return "\n".join([*lines, "", words, *missed_parts(), "", circumstances("drift")])


def error(rate: float, draws: int) -> str:
    """The standard error of a share."""
    return f"{(rate * (1 - rate) / draws) ** 0.5:.4f}"


def missed_parts() -> list[str]:
    """Which histograms raised the alarms of the samples that raised too many."""
    result = read("drift")
    lines = []
    for row in result["alarms"]:
        names = [f"{row['model']}_{row['texts']}_stored_at_{rate}" for rate in (0.01, 0.05)]
        if not all(result["bounds_held"][name] for name in names):
            shares = row["stored_by_part_at_0.05"].items()
            listed = ", ".join(f"{DRIFT_PARTS[part]} {share:.3f}" for part, share in shares if share > 0)
            lines.append(f"- Alarms by histogram, {row['model']}, {row['texts']:,} texts, stored, rate 0.05: {listed}.")
    return ["", *lines] if lines else []


def power() -> str:
    """The share of changed samples that raised an alarm."""
    result = read("drift")
    lines = [
        "| model | change | alarms, 200 texts | histograms | alarms, 1,000 texts | histograms |",
        "| --- | --- | ---: | --- | ---: | --- |",
    ]
    rows = {(row["model"], row["change"], row["texts"]): row for row in result["power"]}
    for model, change in dict.fromkeys((row["model"], row["change"]) for row in result["power"]):
        cells = []
        for texts in (200, 1000):
            row = rows[model, change, texts]
            raised = [DRIFT_PARTS[part] for part, share in row["by_part_at_0.01"].items() if share >= 0.5]
            cells.append(f"{row['alarms_at_0.01']:.2f} | {', '.join(raised)}")
        lines.append(f"| {model} | {change} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", f"Each figure is a share of {result['power_draws']} samples; same command."])


def write() -> None:
    """Write the page."""
    rewrite(PAGE, parts())


if __name__ == "__main__":
    write()
