"""Writes the accuracy figures into docs/results/accuracy.md and the README: `python -m docs.results`."""

from __future__ import annotations

import statistics
import textwrap
from typing import Any

from benchmarks.peers import OURS
from benchmarks.peers.summary import Summary, ratio, summaries, with_seeds
from docs.pages import DOCS, ROOT, circumstances, has, made_at, read, rewrite

PAGE, README = DOCS / "results" / "accuracy.md", ROOT / "README.md"
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
    "mpqa": "MPQA, phrases from news",
    "webkb": "WebKB, stemmed university web pages, 7 classes",
    "ohsumed": "Ohsumed, medical abstracts, 23 diseases",
    "emotion": "TweetEval, emotion, 4 classes",
    "irony": "TweetEval, irony",
    "offensive": "TweetEval, offensive",
    "snips": "SNIPS, 7 intents",
    "atis": "ATIS, 22 intents",
    "hate": "TweetEval, hate",
    "hwu64": "HWU64, 64 intents",
    "sms": "SMS spam",
}
SPEED_SETS = ("trec6", "ag_news_61k")  # of the README's table of costs
SPEED_PEERS = (OURS, "ours-small", TF_IDF, "fasttext", "fasttext-ftz", "minilm")
# data sets that were last run before a change of the recipe
OLDER = {"before the strength of the n-gram features was scaled to the network": ("ag_news_61k",)}


def parts() -> dict[str, str]:
    """The marked parts of docs/results/accuracy.md."""
    macro_f1 = ", ".join(f"{row['name']} {row['macro_f1']:.2f}" for row in accuracy_rows())
    accuracy = [*accuracy_table(), "", count_ahead(), "", f"Macro-F1 of capsulet: {macro_f1}."]
    made = [circumstances("accuracy"), "The runs of fastText are listed in [peers.md](peers.md).", *made_by()]
    return {
        "accuracy": "\n".join([*accuracy, "", earlier()]),
        "commands": "\n".join(made),
        **{file: "\n".join(other_sets(file)) for file in ("fresh", "public")},
        "dense adam": "\n".join([*dense_adam_table(), "", circumstances("dense_adam")]),
    }


def readme_parts() -> dict[str, str]:
    """The marked parts of the README."""
    return {"numbers": summary(), "results": readme_accuracy(), "costs": readme_costs()}


def accuracy_rows(file: str = "accuracy") -> list[dict[str, Any]]:
    """Mean and deviation over the seeds of each data set, beside the two rivals."""
    rows = []
    runs = read(file)["runs"]
    peers = [run for run in read("peers")["runs"] if "accuracy" in run]
    for name in sorted({run["set"] for run in runs}, key=list(NAMES).index):
        ours = [run for run in runs if run["set"] == name and run["seed"] != TF_IDF]
        other = next((run for run in runs if run["set"] == name and run["seed"] == TF_IDF), None)
        other = other or next((run for run in peers if run["set"] == name and run["peer"] == TF_IDF), None)
        if not ours:
            continue
        values = [100 * run["accuracy"] for run in ours]
        usual = [run for run in peers if (run["set"], run["peer"]) == (name, "fasttext") and not run["options"]]
        fasttext = [100 * run["accuracy"] for run in usual]
        rivals = [statistics.mean(own) for own in (fasttext, [100 * other["accuracy"]] if other else []) if own]
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
                "megabytes": ours[0].get("model_bytes", ours[0].get("onnx_bytes", 0)) / 1e6,
            }
        )
    return rows


def spread(values: list[float]) -> str:
    """One standard deviation; one run has none."""
    return f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else ""


def accuracy_table(file: str = "accuracy") -> list[str]:
    """Accuracy beside the rivals, with sizes."""
    lines = [
        "| test accuracy, % | capsulet | TF-IDF + logistic regression | fastText, word pairs | seeds | parameters | "
        "`model.onnx` |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    cells = "| {name} | {mean:.2f}{spread} | {tf_idf} | {fasttext} | {seeds} | {parameters:,} | {megabytes:.1f} MB |"
    return lines + [cells.format_map(row) for row in accuracy_rows(file)]


def count_ahead(file: str = "accuracy") -> str:
    """On how many sets capsulet is at least as accurate as the better rival, where both were run."""
    ahead = [row["ahead"] for row in accuracy_rows(file) if row["ahead"] is not None]
    if not ahead:
        return "No data set has a run of both rivals."
    return f"capsulet is at least as accurate as the better rival on {sum(ahead)} of {len(ahead)} data sets."


def dense_adam_table() -> list[str]:
    """Accuracy when Adam updates the codes of every word at every step, beside the words of the batch only."""
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
    """Which command and commit made the runs of each data set."""
    made: dict[tuple[str, str], set[str]] = {}
    for run in read(file)["runs"]:
        if "commit" in run:
            made.setdefault((run["command"], run["commit"]), set()).add(run["set"])
    lines = [f"- {', '.join(sorted(sets))}: {made_at(*key)}" for key, sets in made.items()]
    return ["", *lines, *put_back(file)]


def put_back(file: str) -> list[str]:
    """Which networks were trained at an earlier commit: no single command made their figures."""
    runs = [run for run in read(file)["runs"] if "network_commit" in run]
    if not runs:
        return []
    sets = ", ".join(name for name in NAMES if name in {run["set"] for run in runs})
    commits = ", ".join(f"`{commit}`" for commit in sorted({run["network_commit"] for run in runs}))
    note = (
        f"The networks of {sets} were trained at commit {commits}. A script that is not in the repository loaded them; "
        "n-gram features, calibration and test were run at the commit listed above. The listed command as a whole was "
        "not run for them. [The log](log.md#how-often-test-files-were-read) describes the comparison that justifies it."
    )
    return ["", *textwrap.wrap(note, 118)]


def summary() -> str:
    """The figures of the first lines of the README."""
    news = next(row for row in accuracy_rows() if row["name"] == NAMES["ag_news_61k"])
    figures = read("engine")["figures"]
    return (
        f"On AG News, trained on about half of its training rows, it reaches {news['mean']:.1f} % test accuracy with "
        f"{news['parameters'] / 1e6:.1f} million parameters in {news['megabytes']:.0f} MB. {small_files()} A new "
        f"process loads a model and answers in {figures['cold_predict_over_python']:.1f} times the time of "
        f"`python -c pass`. The installation takes {figures['installed_megabytes']:.1f} MB and needs no other package."
    )


def small_files() -> str:
    """What compression to 600 KB and to 300 KB costs."""
    runs = [run for run in read("size")["runs"] if run["set"] == "ag_news_61k"]
    kinds = ("uncompressed", "600KB", "300KB")
    whole, *small = ({run["seed"]: run for run in runs if run["kind"] == kind} for kind in kinds)
    costs = []
    for files in small:
        seeds = sorted(set(whole) & set(files))
        kilobytes = statistics.mean(files[seed]["bytes"] for seed in seeds) / 1000
        lost = 100 * statistics.mean(whole[seed]["accuracy"] - files[seed]["accuracy"] for seed in seeds)
        costs.append(f"{kilobytes:.0f} KB costs {lost:.2f} points ({len(seeds)} seed{'s' * (len(seeds) > 1)})")
    return f"Compression to {' and to '.join(costs)}."


def earlier() -> str:
    """Which data sets were last run before a change of the recipe."""
    present = {run["set"] for run in read("accuracy")["runs"]}
    notes = [
        f"{', '.join(NAMES[name] for name in names if name in present)}: last run {when}"
        for when, names in OLDER.items()
        if present & set(names)
    ]
    return f"{'; '.join(notes)}." if notes else ""


def readme_accuracy() -> str:
    """The accuracy table of the README."""
    lines = [
        "| test accuracy, % | capsulet | TF-IDF + logistic regression | fastText | seeds |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    cells = "| {name} | {mean:.2f}{spread} | {tf_idf} | {fasttext} | {seeds} |"
    lines += [cells.format_map(row) for row in accuracy_rows()]
    counts = [count_ahead(), *(f"On {what}: {ahead(file)}." for file, what in ELSEWHERE.items() if has(file))]
    return "\n".join([*lines, "", *textwrap.wrap(" ".join(counts), 118)])


def ahead(file: str) -> str:
    """On how many data sets of a file capsulet is at least as accurate as the better rival."""
    flags = [row["ahead"] for row in accuracy_rows(file) if row["ahead"] is not None]
    return f"{sum(flags)} of {len(flags)}"


def readme_costs() -> str:
    """Training time, speed and size beside the rivals, and the ratios to fastText."""
    runs = with_seeds(read("peers")["runs"], read("accuracy")["runs"])
    lines = [
        "| data set | classifier | test accuracy, % | training, CPU seconds | texts per CPU second | size on disk |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    sentences = []
    for name in SPEED_SETS:
        rows = {row.peer: row for row in summaries(runs, name) if row.peer in SPEED_PEERS and not row.failure}
        short = NAMES[name].split(",")[0]
        lines += [f"| {short} | {' | '.join(cost_cells(rows[peer]))} |" for peer in SPEED_PEERS if peer in rows]
        fast = rows["fasttext"]
        assert fast.train_ratio and fast.predict_ratio
        sentences.append(
            f"On {short}, fastText trains {ratio(1 / fast.train_ratio)} times faster than capsulet and predicts "
            f"{ratio(fast.predict_ratio)} times faster."
        )
        if rows[OURS].parameters not in {run["parameters"] for run in read("accuracy")["runs"] if run["set"] == name}:
            sentences.append(f"The capsulet rows of {short} are of an earlier recipe.")
    return "\n".join([*lines, "", *textwrap.wrap("**capsulet is slower.** " + " ".join(sentences), 118)])


def cost_cells(row: Summary) -> list[str]:
    """A row of the table of costs."""
    accuracy = f"{row.accuracy:.2f}" + (f" ± {row.deviation:.2f}" if row.seeds > 1 else "")
    seconds = f"{row.train_seconds:,.1f}" if row.train_seconds < 10 else f"{row.train_seconds:,.0f}"
    return [row.title, accuracy, seconds, f"{row.texts_per_second:,.0f}", row.size]


ELSEWHERE = {
    "public": "public data sets on which no option was chosen",
    "fresh": "public data sets that were run for the first time with the final recipe",
}


def other_sets(file: str) -> list[str]:
    """The table of data sets on which no option was chosen."""
    return [*accuracy_table(file), "", count_ahead(file), "", circumstances(file), *made_by(file)]


def write() -> None:
    """Write both pages."""
    rewrite(PAGE, parts())
    rewrite(README, readme_parts())


if __name__ == "__main__":
    write()
