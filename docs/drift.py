"""Writes the figures of benchmarks.drift into docs/drift.md: `python -m docs.drift`."""

from __future__ import annotations

from docs.results import RESULTS, ROOT, circumstances, read, replace_marked

PAGE = ROOT / "docs" / "drift.md"
NOT_YET = "Not measured yet: `python -m benchmarks.drift --write`."
NAMES = {
    "unknown": "unknown words", "length": "lengths", "codes": "codes", "classes": "classes", "score": "scores",
}  # fmt: skip


def render_page(text: str) -> str:
    """docs/drift.md with its marked parts replaced."""
    return replace_marked(text, {"alarms": alarms(), "power": power()})


def alarms() -> str:
    """How often texts of the same source were called drifted."""
    if not (RESULTS / "drift.json").exists():
        return NOT_YET
    found = read("drift")
    lines = [
        "| model | validation texts | bytes | texts | stored, at 0.01 | at 0.05 | redrawn, at 0.01 | at 0.05 |",
        "| --- |" + " ---: |" * 7,
    ]
    for row in found["alarms"]:
        stored = found["histograms"][row["model"]]
        rates = [row[f"{kind}_at_{rate}"] for kind in ("stored", "redrawn") for rate in (0.01, 0.05)]
        cells = " | ".join(f"{rate:.3f}" for rate in rates)
        lines.append(f"| {row['model']} | {stored['texts']:,} | {stored['bytes']:,} | {row['texts']:,} | {cells} |")
    missed = [name.replace("_", " ") for name, held in found["bounds_held"].items() if not held]
    words = f"Shares of {found['draws']:,} samples; their standard error is {error(0.01, found['draws'])} at 0.01 and "
    words += f"{error(0.05, found['draws'])} at 0.05. "
    words += (
        f"Above the stated rate by more than three standard errors: {', '.join(missed)}."
        if missed
        else "None is above the stated rate by more than three standard errors."
    )
    return "\n".join([*lines, "", words, *missed_parts(), "", circumstances("drift")])


def error(rate: float, draws: int) -> str:
    """The standard error of a share."""
    return f"{(rate * (1 - rate) / draws) ** 0.5:.4f}"


def missed_parts() -> list[str]:
    """Which parts raised the alarms of samples that raised too many."""
    found = read("drift")
    lines = []
    for row in found["alarms"]:
        names = [f"{row['model']}_{row['texts']}_stored_at_{rate}" for rate in (0.01, 0.05)]
        if not all(found["bounds_held"][name] for name in names):
            shares = row["stored_by_part_at_0.05"].items()
            told = ", ".join(f"{NAMES[part]} {share:.3f}" for part, share in shares if share > 0)
            lines.append(f"Alarms by part of {row['model']}, {row['texts']:,} texts, stored, at 0.05: {told}.")
    return ["", *lines] if lines else []


def power() -> str:
    """How often changed texts were called drifted."""
    if not (RESULTS / "drift.json").exists():
        return NOT_YET
    found = read("drift")
    lines = ["| model | change | 200 texts | | 1,000 texts | |", "| --- | --- | ---: | --- | ---: | --- |"]
    rows = {(row["model"], row["change"], row["texts"]): row for row in found["power"]}
    for model, change in dict.fromkeys((row["model"], row["change"]) for row in found["power"]):
        cells = []
        for texts in (200, 1000):
            row = rows[model, change, texts]
            parts = [NAMES[part] for part, share in row["by_part_at_0.01"].items() if share >= 0.5]
            cells.append(f"{row['alarms_at_0.01']:.2f} | {', '.join(parts)}")
        lines.append(f"| {model} | {change} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", f"Shares of {found['power_draws']} samples each; same command."])


if __name__ == "__main__":
    PAGE.write_text(render_page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
