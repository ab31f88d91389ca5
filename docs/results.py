"""Writes the figures of benchmarks/results into docs/results.md and the README: `python -m docs.results`."""

from __future__ import annotations

import json
import re
import statistics
import textwrap
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results"
PAGE, README, SCALE = ROOT / "docs" / "results.md", ROOT / "README.md", ROOT / "docs" / "scale.md"
TF_IDF = "tf-idf"
NAMES = {
    "ag_news_61k": "AG News, 61.5k-row training subset, official test",
    "trec6": "TREC, 6 classes",
    "r8": "Reuters R8",
    "banking77": "Banking77",
    "clinc150": "CLINC150",
    "dbpedia_21k": "DBPedia, 14 classes, 21.5k-row training subset",
    "sst2": "SST-2",
    "imdb": "IMDB",
    "packages": "Debian packages, 51 sections from one-line descriptions",
    "docstrings": "docstrings of installed libraries, 48 libraries",
    "chnsenticorp": "ChnSentiCorp, Chinese reviews",
    "subj": "SUBJ, subjective or objective sentences",
    "cr": "CR, opinions on products",
    "mpqa": "MPQA, phrases of news",
    "webkb": "WebKB, stemmed pages of universities, 7 kinds",
    "ohsumed": "Ohsumed, abstracts of medicine, 23 diseases",
    "emotion": "TweetEval, emotion, 4 classes",
    "irony": "TweetEval, irony",
    "offensive": "TweetEval, offensive",
    "snips": "SNIPS, 7 intents",
    "atis": "ATIS, 22 intents",
    "hate": "TweetEval, hate",
    "hwu64": "HWU64, 64 intents",
    "sms": "SMS spam",
}


# sets that were run before the last changes of the recipe, until they are run again
OLDER = {
    "before the n-gram features (docs/method.md) was given a share": ("ag_news_61k",),
}


def read(name: str) -> dict[str, Any]:
    """One results file."""
    found: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text())
    return found


def has(name: str) -> bool:
    """Whether a results file is there."""
    return (RESULTS / f"{name}.json").exists()


def accuracy_rows(file: str = "accuracy") -> list[dict[str, Any]]:
    """Mean and deviation over the seeds of each data set, and what stands beside them."""
    rows = []
    runs = read(file)["runs"]
    peers = [run for run in read("peers")["runs"] if "accuracy" in run]
    for name in sorted({run["set"] for run in runs}, key=lambda name: list(NAMES).index(name)):
        ours = [run for run in runs if run["set"] == name and run["seed"] != TF_IDF]
        other = next((run for run in runs if run["set"] == name and run["seed"] == TF_IDF), None)
        other = other or next((run for run in peers if run["set"] == name and run["peer"] == TF_IDF), None)
        if not ours:
            continue
        values = [100 * run["accuracy"] for run in ours]
        usual = [run for run in peers if (run["set"], run["peer"]) == (name, "fasttext") and not run["options"]]
        fasttext = [100 * run["accuracy"] for run in usual]
        rivals = [statistics.mean(found) for found in (fasttext, [100 * other["accuracy"]] if other else []) if found]
        rows.append(
            {
                "name": NAMES[name],
                "fasttext": f"{statistics.mean(fasttext):.2f}{spread(fasttext)}" if fasttext else "not run",
                "ahead": statistics.mean(values) >= max(rivals) if len(rivals) == 2 else None,
                "mean": statistics.mean(values),
                "spread": spread(values),
                "macro_f1": statistics.mean(100 * run["macro_f1"] for run in ours),
                "seeds": len(values),
                "tf_idf": f"{100 * other['accuracy']:.2f}" if other else "not run",
                "parameters": ours[0]["parameters"],
                "megabytes": ours[0]["onnx_bytes"] / 1e6,
            }
        )
    return rows


def spread(values: list[float]) -> str:
    """One standard deviation; one run has none."""
    return f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else ""


def accuracy_table(file: str = "accuracy") -> list[str]:
    """The table of the README."""
    lines = [
        "| test accuracy, % | capsulet | TF-IDF + logistic regression | fastText, word pairs | seeds | parameters | "
        "`model.onnx` |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    cells = "| {name} | {mean:.2f}{spread} | {tf_idf} | {fasttext} | {seeds} | {parameters:,} | {megabytes:.1f} MB |"
    return lines + [cells.format_map(row) for row in accuracy_rows(file)]


def count_ahead(file: str = "accuracy") -> str:
    """On how many sets ours is at least as good as the better of the two rivals, where both were run."""
    found = [row["ahead"] for row in accuracy_rows(file) if row["ahead"] is not None]
    if not found:
        return "Both rivals were run on none of them."
    return f"At least as good as the better of the two rivals on {sum(found)} of the {len(found)} sets with both."


def dense_adam_table() -> list[str]:
    """What moving every word's codes at every step would give instead of those of the batch alone."""
    dense = read("dense_adam")["runs"]
    rowwise = [run for run in read("accuracy")["runs"] if run["seed"] != TF_IDF]
    lines = ["| test accuracy, % | row-wise | dense | seeds |", "| --- | ---: | ---: | ---: |"]
    for name in dict.fromkeys(run["set"] for run in dense):
        cells = []
        for runs in (rowwise, dense):
            values = [100 * run["accuracy"] for run in runs if run["set"] == name and run["seed"] != TF_IDF]
            deviation = statistics.stdev(values) if len(values) > 1 else 0.0
            cells.append(f"{statistics.mean(values):.2f} ± {deviation:.2f}")
        lines.append(f"| {NAMES[name]} | {' | '.join(cells)} | {len(values)} |")
    return lines


def made_by(file: str = "accuracy") -> list[str]:
    """Which command and commit made the runs of each data set, where they were not made by one."""
    found: dict[tuple[str, str], set[str]] = {}
    for run in read(file)["runs"]:
        if "commit" in run:
            found.setdefault((run["command"], run["commit"]), set()).add(NAMES[run["set"]])
    lines = [
        line
        for (command, at), names in found.items()
        for line in ("", f"{', '.join(sorted(names))}: `{command}`, commit `{at}`.")
    ]
    return lines + put_back(file)


def put_back(file: str) -> list[str]:
    """Which figures are of networks that an earlier commit had trained, said beside them: no one command made them."""
    runs = [run for run in read(file)["runs"] if "network_commit" in run]
    if not runs:
        return []
    names = ", ".join(NAMES[name] for name in NAMES if name in {run["set"] for run in runs})
    commits = ", ".join(f"`{commit}`" for commit in sorted({run["network_commit"] for run in runs}))
    told = (
        f"{names}: the networks were trained at {commits} and put back by a script that is not in the repository; "
        "n-gram features, calibration and test were done at the commit named above. The whole command was not run there. "
        "[log.md](log.md) says what was compared to see that it makes no difference."
    )
    return ["", *textwrap.wrap(told, 118)]


def circumstances(name: str) -> str:
    """Command, commit and machine of a results file."""
    return circumstances_of(read(name))


def circumstances_of(result: dict[str, Any]) -> str:
    """Command, commit and machine that a result carries."""
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
        f"parameters in {news['megabytes']:.0f} MB{small_file()}; a cold process answers in "
        f"1/{figures['import_torch_over_cold_predict']:.0f} of the time that `import torch` takes."
    )


def small_file() -> str:
    """What compression to 600 and to 300 KB loses."""
    runs = [run for run in read("size")["runs"] if run["set"] == "ag_news_61k"]
    kinds = ("uncompressed", "600KB", "300KB")
    whole, *small = ({run["seed"]: run for run in runs if run["kind"] == kind} for kind in kinds)
    said = []
    for files in small:
        seeds = sorted(set(whole) & set(files))
        kilobytes = statistics.mean(files[seed]["bytes"] for seed in seeds) / 1000
        lost = 100 * statistics.mean(whole[seed]["accuracy"] - files[seed]["accuracy"] for seed in seeds)
        change = f"{lost:.2f} points lost" if lost > 0 else "nothing lost"
        said.append(f"{kilobytes:.0f} KB ({change}, {len(seeds)} seed{'s' * (len(seeds) > 1)})")
    return f", or with discrete codes and few bits in {' or '.join(said)}"


def earlier() -> str:
    """Which sets were run before the last changes of the recipe."""
    there = {run["set"] for run in read("accuracy")["runs"]}
    said = [
        f"{when}: {', '.join(NAMES[name] for name in names if name in there)}"
        for when, names in OLDER.items()
        if there & set(names)
    ]
    return f"Run {'; '.join(said)}." if said else ""


def readme_section() -> str:
    """The results of the README."""
    return "\n".join(
        [
            *accuracy_table(),
            "",
            "![Test accuracy against megabytes on disk, ours and others](benchmarks/results/peers.svg)",
            "",
            "Default recipe, mean ± standard deviation over the seeds. The epoch is chosen on a validation part of",
            "the training file; the test file is read once, at the end. TF-IDF is of words and pairs, its strength and",
            f"fastText's settings chosen on validation too. {count_ahead()}",
            *(f"On {said}: {count_ahead(file).lower()}" for file, said in ELSEWHERE.items() if has(file)),
            earlier(),
            "[docs/results.md](docs/results.md) has commands, machine and other figures, and",
            "[docs/log.md](docs/log.md) says how the recipe was chosen and how often test figures were seen.",
        ]
    )


ELSEWHERE = {
    "public": "public sets on which no option was chosen",
    "fresh": "public sets that were first run when the recipe stood",
}
UNTUNED = {
    "fresh": "Public sets that were run for the first time when the recipe stood (`python -m benchmarks.cloned_sets "
    "--help`). The test tweets of `hate` differ from those to train on: ours has 79.8 on validation.",
    "public": "Public sets from clones of the repositories that hold them (`python -m benchmarks.cloned_sets --help` "
    "says which); a text that stands in both parts is left out of the test part. Ohsumed was run before the n-gram features "
    "was given a share and unknown words were read as known ones.",
    "local": "Texts that a machine already has, cut into two parts by `python -m benchmarks.local_sets --out ../local`."
    " Which packages and libraries there are depends on machine and day.",
}
OTHERS = {
    "browser": (
        "In Node and Chromium",
        "One model file in Python, Node and Chromium, one thread each: labels that differ from Python's, and speed.",
    ),
    "runtime": ("Start-up and latency", "Medians of interleaved runs. Ratios travel between machines; seconds do not."),
    "classes": ("Any number of classes", "Generated texts in which only a pair of words tells the class."),
    "encoder": (
        "The encoder in training",
        "Forward and backward of the two-layer bidirectional GRU, ours against `nn.GRU` and a product of 1024³.",
    ),
    "training": (
        "Training",
        "A step of 32 texts of 45 tokens against a textbook implementation (benchmarks/textbook.py), the encoder, the "
        "numbering of words, a corpus as large as Amazon Polarity, and trainings killed at random moments.",
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
        count_ahead(),
        "",
        f"Macro-F1 of ours: {macro_f1}.",
        "",
        earlier(),
        "",
        circumstances("accuracy") + " fastText's runs are in [peers.md](peers.md).",
        *made_by(),
    ]
    lines += untuned()
    if has("dense_adam"):
        lines += ["", "## Row-wise and dense Adam", "", *dense_adam_table(), "", circumstances("dense_adam")]
    for name, (title, text) in OTHERS.items():
        if has(name):
            lines += ["", f"## {title}", "", text, "", *table_of(read(name)), "", circumstances(name)]
            for part, told in read(name).get("parts", {}).items():
                told_of = f"`{told['command']}`, commit `{told['commit']}`, load {told['load_average']}"
                lines += ["", f"{part}: {told_of}."]
    return "\n".join(lines) + "\n"


def untuned() -> list[str]:
    """Sets that have no part in the choice of the recipe."""
    told = (
        "No option of the recipe was chosen on them. But what to look for, they have told: that words which occur once "
        "count for few texts, that unknown words are read as known ones, and how much the n-gram features count were chosen on "
        "parts of other sets' training files after CR, MPQA and irony had come out below the better rival "
        "([log.md](log.md))."
    )
    lines = ["", "## Accuracy on other public sets", "", *textwrap.wrap(told, 118)]
    for file in (file for file in UNTUNED if has(file)):
        lines += ["", *textwrap.wrap(UNTUNED[file], 118), "", *accuracy_table(file), "", count_ahead(file)]
        lines += ["", circumstances(file), *made_by(file)]
    return lines


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


# the paper's count of training texts; tokens a text are our guess from samples, see the page
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


def costs() -> str:
    """What the paper's data sets and a billion documents cost, from what was measured here."""
    figures = read("training")["figures"]
    if "documents" not in figures:
        return "Not measured yet: `python -m benchmarks.training --write`."
    rows_a_second = figures["documents"] / (figures["first_start_seconds"] - figures["second_start_seconds"])
    bytes_a_token = 1e9 * figures["cache_gigabytes"] / figures["documents"] / 50
    speed = figures["tokens_per_second"]
    text = (
        f"Measured on this machine (`{read('training')['command']}`): {figures['documents']:,.0f} generated documents "
        f"of 50 words were read and numbered at {rows_a_second:,.0f} a second into {figures['cache_gigabytes']:.1f} "
        f"GB, and training read {speed:,.0f} tokens a second on two cores, with at most "
        f"{figures['peak_anonymous_gigabytes']:.2f} GB of memory of its own. The number of texts is the paper's; "
        "tokens a text are guesses from samples of these sets. **All else in the table is computed** from these "
        "figures, for three passes, the least that the default recipe makes; no row of it was run."
    )
    columns = ("data set", "texts", "tokens a text (guessed)", "hours of reading", "GB of cache", "hours of training")
    lines = [*textwrap.wrap(text, 118), "", f"| {' | '.join(columns)} |", "| --- |" + " ---: |" * (len(columns) - 1)]
    for name, (texts, tokens) in DATA_SETS.items():
        reading = texts * tokens / 50 / rows_a_second / 3600
        training = EPOCHS * texts * tokens / speed / 3600
        cache = bytes_a_token * texts * tokens / 1e9
        lines.append(f"| {name} | {texts:,} | {tokens} | {reading:,.2f} | {cache:,.1f} | {training:,.1f} |")
    return "\n".join(lines)


def render_readme(text: str) -> str:
    """The README with its marked parts replaced."""
    return replace_marked(text, {"numbers": summary(), "results": readme_section()})


def render_scale(text: str) -> str:
    """docs/scale.md with its costs."""
    return replace_marked(text, {"costs": costs()})


def replace_marked(text: str, parts: dict[str, str]) -> str:
    """A text with what stands between marks replaced."""
    for mark, content in parts.items():
        pattern = rf"(<!-- {mark} -->\n).*?(\n?<!-- end of {mark} -->)"
        text, found = re.subn(
            pattern, lambda match, content=content: match[1] + content + "\n" + match[2].lstrip("\n"), text, flags=re.S
        )
        assert found == 1, mark
    return text


if __name__ == "__main__":
    PAGE.write_text(render_page(), encoding="utf-8")
    README.write_text(render_readme(README.read_text(encoding="utf-8")), encoding="utf-8")
    SCALE.write_text(render_scale(SCALE.read_text(encoding="utf-8")), encoding="utf-8")
