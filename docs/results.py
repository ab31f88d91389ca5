"""Writes the accuracy figures into docs/results/accuracy.md and the README: `python -m docs.results`."""

from __future__ import annotations

import statistics
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.peers import OURS, PEERS, RIVALS
from benchmarks.peers.summary import Summary, ratio, summaries, with_seeds
from docs.pages import DOCS, ROOT, circumstances, has, made_at, read, rewrite

PAGE, README = DOCS / "results" / "accuracy.md", ROOT / "README.md"
RIVAL_TITLES = dict(
    zip(RIVALS, ("TF-IDF, words", "TF-IDF, characters", "fastText, words", "fastText, characters"), strict=True)
)
NUMBERS = ("no", "one", "two", "three", "four")
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
LANGUAGES = {
    "ar_arsarcasm_sent": "Arabic: tweets, sentiment, 3 classes",
    "de_germeval18": "German: tweets, offensive or not",
    "fi_sent": "Finnish: social media, sentiment, 2 classes",
    "hi_news_titles": "Hindi: headlines, 6 sections",
    "ko_nsmc": "Korean: film reviews, sentiment, 2 classes",
    "pl_allegro": "Polish: product reviews, 5 ratings",
    "pt_toldbr": "Portuguese: tweets, toxic or not",
    "ru_rusentiment": "Russian: posts, sentiment, 5 classes",
    "th_wisesight": "Thai: social media, sentiment, 4 classes",
    "tr_reviews": "Turkish: reviews, sentiment, 2 classes",
    "vi_vsfc_topic": "Vietnamese: student feedback, 4 topics",
    "zh_shopping10": "Chinese: reviews, 10 product categories",
}
SPEED_SETS = ("trec6", "ag_news_61k")  # of the README's table of costs
EQUAL = 0.05  # a ratio of speeds that differs less from 1 is called equal
SPEED_PEERS = (OURS, "ours-small", "tf-idf", "fasttext", "fasttext-ftz", "minilm")


@dataclass(frozen=True)
class Row:
    """One data set: runs of capsulet, test accuracies of the rivals in per cent."""

    name: str
    ours: list[dict[str, Any]]
    rivals: Mapping[str, list[float]]

    @property
    def values(self) -> list[float]:
        """Test accuracies of capsulet, in per cent."""
        return [100 * run["accuracy"] for run in self.ours]

    @property
    def mean(self) -> float:
        """Mean accuracy of capsulet."""
        return statistics.mean(self.values)

    @property
    def megabytes(self) -> float:
        """Size of the model file."""
        size: int = self.ours[0].get("model_bytes") or self.ours[0]["onnx_bytes"]  # older runs: the graph
        return size / 1e6

    @property
    def best_rival(self) -> str:
        """The rival with the highest accuracy."""
        return max((rival for rival in RIVALS if self.rivals[rival]), key=lambda one: statistics.mean(self.rivals[one]))

    @property
    def ahead_by(self) -> float:
        """Difference to the best rival, in points."""
        return self.mean - statistics.mean(self.rivals[self.best_rival])


def parts() -> dict[str, str]:
    """The marked parts of docs/results/accuracy.md."""
    rows = accuracy_rows()
    f1 = [f"{row.name} {statistics.mean(100 * run['macro_f1'] for run in row.ours):.2f}" for row in rows]
    accuracy = [*accuracy_table(rows), "", count_ahead(rows), "", f"Macro-F1 of capsulet: {', '.join(f1)}."]
    languages = accuracy_rows(names=LANGUAGES)
    return {
        "accuracy": "\n".join(accuracy),
        "languages": "\n".join([*accuracy_table(languages), "", count_ahead(languages), *made_by(names=LANGUAGES)]),
        "commands": "\n".join([f"The last command: {circumstances('accuracy')}", *made_by()]),
        **{file: "\n".join(other_sets(file)) for file in ("fresh", "public")},
        "dense adam": "\n".join([*dense_adam_table(), "", circumstances("dense_adam")]),
    }


def readme_parts() -> dict[str, str]:
    """The marked parts of the README."""
    return {"numbers": summary(), "results": readme_accuracy(), "costs": readme_costs()}


def accuracy_rows(file: str = "accuracy", names: Mapping[str, str] = NAMES) -> list[Row]:
    """The data sets of a results file that have names; runs of rivals that it lacks come from peers.json."""
    runs = read(file)["runs"]
    peers = [run for run in read("peers")["runs"] if "accuracy" in run]
    return [
        Row(
            title,
            [run for run in runs if run["set"] == name and isinstance(run["seed"], int)],
            {rival: rival_values(name, rival, runs, peers) for rival in RIVALS},
        )
        for name, title in names.items()
        if any(run["set"] == name for run in runs)
    ]


def rival_values(name: str, rival: str, runs: Sequence[dict[str, Any]], peers: Sequence[dict[str, Any]]) -> list[float]:
    """Test accuracies of a rival on a data set, in per cent."""
    own = [run for run in runs if (run["set"], run["seed"]) == (name, rival)]
    usual = (name, rival, dict(PEERS[rival].options))
    others = [run for run in peers if (run["set"], run["peer"], run["options"]) == usual]
    return [100 * run["accuracy"] for run in own or others]


def mean_cell(values: Sequence[float]) -> str:
    """Mean and one standard deviation; one run has no deviation, and no run has an empty cell."""
    if not values:
        return ""
    deviation = f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.2f}{deviation}"


def rivals_of(rows: Sequence[Row]) -> list[str]:
    """Rivals that were run on at least one of the data sets."""
    return [rival for rival in RIVALS if any(row.rivals[rival] for row in rows)]


def accuracy_table(rows: Sequence[Row], sizes: bool = True) -> list[str]:
    """Accuracy beside the rivals, optionally with sizes."""
    rivals = rivals_of(rows)
    head = ["capsulet", *(RIVAL_TITLES[rival] for rival in rivals), "seeds", *["parameters", "model file"] * sizes]
    lines = [f"| test accuracy, % | {' | '.join(head)} |", f"| --- |{' ---: |' * len(head)}"]
    for row in rows:
        cells = [row.name, mean_cell(row.values), *(mean_cell(row.rivals[rival]) for rival in rivals)]
        cells.append(str(len(row.ours)) if row.ours else "")
        if sizes:
            cells += [f"{row.ours[0]['parameters']:,}", f"{row.megabytes:.1f} MB"] if row.ours else ["", ""]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def compared(rows: Sequence[Row]) -> list[Row]:
    """Data sets that have runs of capsulet and of every rival of the table."""
    rivals = rivals_of(rows)
    return [row for row in rows if row.ours and all(row.rivals[rival] for rival in rivals)]


def count_ahead(rows: Sequence[Row]) -> str:
    """On how many data sets capsulet is at least as accurate as the best rival, and the mean difference."""
    both = compared(rows)
    if not both:
        return "No data set has runs of capsulet and of all rivals yet."
    missing = len(rows) - len(both)
    return (
        f"capsulet is at least as accurate as the best of {count_rivals(rows)} on {ahead(both)} data sets; "
        f"mean difference {statistics.mean(row.ahead_by for row in both):+.2f} points."
        + (f" Not counted, because runs are missing: {missing}." if missing else "")
    )


def count_rivals(rows: Sequence[Row]) -> str:
    """The number of rivals in words, such as `four baselines`."""
    return f"{NUMBERS[len(rivals_of(rows))]} baselines"


def ahead(rows: Sequence[Row]) -> str:
    """On how many data sets capsulet is at least as accurate as the best rival."""
    return f"{sum(row.ahead_by >= 0 for row in rows)} of {len(rows)}"


def dense_adam_table() -> list[str]:
    """Accuracy when Adam updates the codes of every word at every step, beside the words of the batch only."""
    dense = read("dense_adam")["runs"]
    rowwise = read("accuracy")["runs"]
    lines = ["| test accuracy, % | row-wise | dense | seeds |", "| --- | ---: | ---: | ---: |"]
    for name in dict.fromkeys(run["set"] for run in dense):
        cells = []
        for runs in (rowwise, dense):
            values = [100 * run["accuracy"] for run in runs if run["set"] == name and isinstance(run["seed"], int)]
            deviation = statistics.stdev(values) if len(values) > 1 else 0.0
            cells.append(f"{statistics.mean(values):.2f} ± {deviation:.2f}")
        lines.append(f"| {NAMES[name]} | {' | '.join(cells)} | {len(values)} |")
    return lines


def made_by(file: str = "accuracy", names: Mapping[str, str] = NAMES) -> list[str]:
    """Which command and commit made the runs of each data set."""
    made: dict[tuple[str, str], set[str]] = {}
    for run in read(file)["runs"]:
        if "commit" in run and run["set"] in names:
            made.setdefault((run["command"], run["commit"]), set()).add(run["set"])
    lines = [f"- {', '.join(sorted(sets))}: {made_at(*key)}" for key, sets in made.items()]
    return ["", *lines, *put_back(file, names)]


def put_back(file: str, names: Mapping[str, str]) -> list[str]:
    """Which networks were trained at an earlier commit: no single command made their figures."""
    runs = [run for run in read(file)["runs"] if "network_commit" in run and run["set"] in names]
    if not runs:
        return []
    sets = ", ".join(name for name in names if name in {run["set"] for run in runs})
    commits = ", ".join(f"`{commit}`" for commit in sorted({run["network_commit"] for run in runs}))
    note = (
        f"The networks of {sets} were trained at commit {commits}. A script that is not in the repository loaded them; "
        "n-gram features, calibration and test were run at the commit listed above. The listed command as a whole was "
        "not run for them. [The log](log.md#how-often-test-files-were-read) describes the comparison that justifies it."
    )
    return ["", *textwrap.wrap(note, 118)]


def summary() -> str:
    """The figures of the first lines of the README."""
    news = next(row for row in accuracy_rows() if row.name == NAMES["ag_news_61k"])
    figures = read("engine")["figures"]
    return "\n".join(
        [
            f"- **Accuracy**: {news.mean:.1f} % on the test set of AG News, trained on about half of its training rows "
            f"({news.ours[0]['parameters'] / 1e6:.1f} million parameters, {news.megabytes:.0f} MB).",
            f"- **Compression**: {small_files()}.",
            f"- **Start-up**: a new process loads a model and predicts in {figures['cold_predict_over_python']:.1f} "
            "times the time of `python -c pass`.",
            f"- **Installation** for prediction: {figures['installed_megabytes']:.1f} MB, no other package.",
        ]
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
        costs.append(f"{kilobytes:.0f} KB loses {lost:.2f} points ({len(seeds)} seed{'s' * (len(seeds) > 1)})")
    return f"compression to {', to '.join(costs)}"


def readme_accuracy() -> str:
    """The tables of the README: English data sets, and those of other languages that have runs of capsulet."""
    rows = accuracy_rows()
    counts = [count_ahead(rows)]
    for file, what in ELSEWHERE.items():
        if has(file):
            others = accuracy_rows(file)
            counts.append(f"On {what}, against {count_rivals(others)}: {ahead(compared(others))}.")
    lines = [*accuracy_table(rows, sizes=False), "", *textwrap.wrap(" ".join(counts), 118)]
    languages = [row for row in accuracy_rows(names=LANGUAGES) if row.ours]
    if languages:
        lines += ["", *accuracy_table(languages, sizes=False), "", *textwrap.wrap(count_ahead(languages), 118)]
    return "\n".join(lines)


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
            f"On {short}, fastText trains {ratio(1 / fast.train_ratio)} times faster than capsulet, "
            f"{prediction_speed(fast.predict_ratio)}."
        )
        if rows[OURS].parameters not in {run["parameters"] for run in read("accuracy")["runs"] if run["set"] == name}:
            sentences.append(f"The capsulet rows of {short} were measured with an earlier recipe.")
    return "\n".join([*lines, "", *textwrap.wrap("**Training is slower.** " + " ".join(sentences), 118)])


def prediction_speed(times: float) -> str:
    """How fast fastText predicts, as a clause; `times` as many texts per second as capsulet."""
    if abs(times - 1) < EQUAL:
        return "and both predict equally fast"
    return f"and predicts {ratio(times)} times faster" if times > 1 else f"and predicts {ratio(1 / times)} times slower"


def cost_cells(row: Summary) -> list[str]:
    """A row of the table of costs."""
    accuracy = f"{row.accuracy:.2f}" + (f" ± {row.deviation:.2f}" if row.seeds > 1 else "")
    seconds = f"{row.train_seconds:,.1f}" if row.train_seconds < 10 else f"{row.train_seconds:,.0f}"
    return [row.title, accuracy, seconds, f"{row.texts_per_second:,.0f}", row.size]


ELSEWHERE = {
    "public": "public data sets that were not used to choose any option",
    "fresh": "public data sets first run with an earlier recipe",
}


def other_sets(file: str) -> list[str]:
    """The table of data sets on which no option was chosen."""
    rows = accuracy_rows(file)
    return [*accuracy_table(rows), "", count_ahead(rows), "", circumstances(file), *made_by(file)]


def write() -> None:
    """Write both pages."""
    rewrite(PAGE, parts())
    rewrite(README, readme_parts())


if __name__ == "__main__":
    write()
