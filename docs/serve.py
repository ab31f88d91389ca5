"""Writes the limits and the figures of the server into docs/how-to/serve.md: `python -m docs.serve`."""

from __future__ import annotations

from typing import Any

from capsulet.serve.settings import LIMITS
from docs.pages import DOCS, circumstances, has, markdown_table, not_measured, read, rewrite

PAGE = DOCS / "how-to" / "serve.md"


def parts() -> dict[str, str]:
    """The marked parts of the page."""
    return {"limits": limits(), "figures": figures(), "labelling": labelling()}


def limits() -> str:
    """The limits with their flags and defaults."""
    lines = ["| flag | default | meaning |", "| --- | ---: | --- |"]
    lines += [f"| `--{name.replace('_', '-')}` | {value:,} | {words} |" for name, (value, words) in LIMITS.items()]
    return "\n".join(lines)


def figures() -> str:
    """Speed, latency and memory."""
    if not has("serve"):
        return not_measured("benchmarks.serve")
    result = read("serve")
    found = result["figures"]
    columns = (
        "load", "texts per second", "in process", "overhead", "overhead in processor time", "p50, ms", "p95, ms",
        "p99, ms",
    )  # fmt: skip
    names = {"one": "32 clients, one text each", "batch": "4 clients, 64 texts each", "alone": "1 client, one text"}
    table = markdown_table(columns, [row(found, name, words) for name, words in names.items()])
    busy = result["load_average"] > result["machine"]["cores"]
    note = ["", "Other programs used the machine at the same time, so the rates are too low and vary."] if busy else []
    again = ["", "Other servers, a second time: " + circumstances("serve_peers")] if has("serve_peers") else []
    return "\n".join([*table, *note, "", *facts(found), "", circumstances("serve"), *again])


def labelling() -> str:
    """Accuracy after labels of selected and of random texts."""
    if not has("labelling"):
        return not_measured("benchmarks.labelling")
    found = read("labelling")["figures"]
    names = ("selected", "uncertain", "random")
    values = {name: f"{100 * found[f'{name}_mean_accuracy']:.1f} %" for name in names}
    seeds = len(found["curves"]["random"])
    return (
        f"On TREC, a linear model of 100 rows got labels for 20 further texts at a time. The mean accuracy of the "
        f"rounds, on held-out rows of the training file, is {values['selected']} "
        f"with texts of this order, {values['uncertain']} with the most uncertain texts and "
        f"{values['random']} with random texts ({seeds} seeds).\n\n{circumstances('labelling')}"
    )


def row(found: dict[str, Any], name: str, words: str) -> list[str]:
    """The figures of one load."""
    times = [f"{found[f'http_{name}_{share}_milliseconds']:.1f}" for share in ("p50", "p95", "p99")]
    rates = [f"{found[f'{kind}_{name}_texts_per_second']:,.0f}" for kind in ("http", "direct")]
    overheads = [f"{found[f'http_{name}_{kind}']:.2f}" for kind in ("overhead", "cpu_overhead")]
    return [words, *rates, *overheads, *times]


def facts(found: dict[str, Any]) -> list[str]:
    """Sentences about start, memory, other servers, overload and attacks."""
    lines = [
        f"One process is ready after {found['ready_seconds']:.2f} seconds and takes "
        f"{found['memory_megabytes']:.0f} MB. A request with one text takes "
        f"{found['http_one_cpu_microseconds_per_text']:.0f} microseconds of a core, the model included."
    ]
    beside = [found, read("serve_peers")["figures"]] if has("serve_peers") else [found]
    for name, words in (("litserve", "LitServe"), ("starlette", "Starlette with uvicorn")):
        ratios = [f"{own[f'ours_over_{name}']:.1f}" for own in beside if f"ours_over_{name}" in own]
        if ratios:
            times = [f"{own[f'{name}_cpu_over_ours']:.1f}" for own in beside if f"{name}_cpu_over_ours" in own]
            line = f"The same model behind {words} answers {' and '.join(ratios)} times fewer requests per second"
            lines.append(line + (f", and a request takes {times[-1]} times the processor time." if times else "."))
    if "overload_seconds" in found:
        lines.append(
            f"At twice the load that it holds, for {found['overload_seconds']:,.0f} seconds, it answered "
            f"{found['overload_answers_per_second']:,.0f} requests per second, 99 % of them within "
            f"{found['overload_p99_milliseconds']:,.0f} ms, and refused {found['overload_refused_percent']:.0f} % "
            f"with 503, with room for 256 waiting texts. Lost: {found['overload_lost']}, "
            f"wrong: {found['overload_wrong']}. Memory grew by {found['overload_memory_growth_percent']:.1f} %."
        )
    if "attack_seconds" in found:
        lines.append(
            f"{found['attack_seconds']:,.0f} seconds of attacks beside {found['attack_idle_connections']:,} idle "
            f"connections: {found['attack_server_errors']} server errors, memory grew by "
            f"{found['attack_memory_growth_percent']:.1f} %, file descriptors left open: "
            f"{found['attack_descriptors_left']:.0f}."
        )
    if "reloads" in found and "ends" in found:
        lines.append(
            f"{found['reloads']} new models under load: {found['reload_lost']} of {found['reload_requests']:,} lost. "
            f"{found['ends']} SIGTERMs under load: {found['end_lost']} of {found['end_requests']:,} lost."
        )
    return lines


def write() -> None:
    """Write the page."""
    rewrite(PAGE, parts())


if __name__ == "__main__":
    write()
