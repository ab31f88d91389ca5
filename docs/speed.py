"""Writes speeds into docs/results/speed.md and costs into docs/how-to/scale.md: `python -m docs.speed`."""

from __future__ import annotations

import textwrap
from typing import Any

from docs.pages import DOCS, circumstances, made_at, read, rewrite

PAGE, SCALE = DOCS / "results" / "speed.md", DOCS / "how-to" / "scale.md"
FILES = ("engine", "engine_base", "engine_avx2", "browser", "training", "encoder", "classes")
# training texts as the paper counts them, and tokens per text as estimated from samples
DATA_SETS = {
    "AG's News": (120_000, 50),
    "Sogou News": (450_000, 580),
    "DBPedia": (560_000, 60),
    "Yelp polarity": (560_000, 155),
    "Yelp full": (650_000, 155),
    "Yahoo! Answers": (1_400_000, 110),
    "Amazon full": (3_000_000, 90),
    "Amazon polarity": (3_600_000, 90),
    "a billion documents": (1_000_000_000, 50),
}
EPOCHS = 3


def parts() -> dict[str, str]:
    """The marked parts of docs/results/speed.md."""
    return {name: "\n".join(section(name)) for name in FILES}


def section(name: str) -> list[str]:
    """The table of a results file, and the commands that made it."""
    result = read(name)
    lines = [*table_of(result), "", circumstances(name)]
    for part, made in result.get("parts", {}).items():
        lines += ["", f"{part}: {made_at(made['command'], made['commit'])}, load average {made['load_average']}."]
    return lines


def table_of(result: dict[str, Any]) -> list[str]:
    """Figures as a table of names and values, runs as a table of their keys."""
    if "figures" in result:
        body = [f"| {name.replace('_', ' ')} | {cell(value)} |" for name, value in result["figures"].items()]
        return ["| figure | value |", "| --- | ---: |", *body]
    runs = result.get("runs") or result["cases"]
    keys = list(runs[0])
    body = ["| " + " | ".join(cell(run[key]) for key in keys) + " |" for run in runs]
    return ["| " + " | ".join(key.replace("_", " ") for key in keys) + " |", "| " + "---: | " * len(keys), *body]


def cell(value: Any) -> str:
    """A value of a table."""
    if isinstance(value, float):
        return f"{value:,.0f}" if value.is_integer() else f"{value:,.3f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def costs() -> str:
    """What the paper's data sets and a billion documents cost, computed from what was measured."""
    figures = read("training")["figures"]
    rows_per_second = figures["documents"] / (figures["first_start_seconds"] - figures["second_start_seconds"])
    bytes_per_token = 1e9 * figures["cache_gigabytes"] / figures["documents"] / 50
    speed = figures["tokens_per_second"]
    text = (
        f"Measured (`{read('training')['parts']['corpus']['command']}`): {figures['documents']:,.0f} "
        f"generated documents of 50 words were read and tokenised at {rows_per_second:,.0f} documents per second "
        f"into a cache of {figures['cache_gigabytes']:.1f} GB. Training read {speed:,.0f} tokens per second "
        f"on two cores and used at most {figures['peak_anonymous_gigabytes']:.2f} GB of its own memory. "
        "The number of texts is the paper's; the tokens per text are estimates from samples. **The rest of the table "
        "is computed** from these figures for "
        "three passes, the fewest that the default recipe makes. No row of it was run."
    )
    columns = ("data set", "texts", "tokens per text (estimate)", "hours to read", "GB of cache", "hours to train")
    lines = [*textwrap.wrap(text, 118), "", f"| {' | '.join(columns)} |", "| --- |" + " ---: |" * (len(columns) - 1)]
    for name, (texts, tokens) in DATA_SETS.items():
        reading = texts * tokens / 50 / rows_per_second / 3600
        training = EPOCHS * texts * tokens / speed / 3600
        cache = bytes_per_token * texts * tokens / 1e9
        lines.append(f"| {name} | {texts:,} | {tokens} | {reading:,.2f} | {cache:,.1f} | {training:,.1f} |")
    return "\n".join(lines)


def write() -> None:
    """Write both pages."""
    rewrite(PAGE, parts())
    rewrite(SCALE, {"costs": costs()})


if __name__ == "__main__":
    write()
