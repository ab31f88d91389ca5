"""`python -m paper all` on miniature copies of the eight layouts, its order and its estimate."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path

import pytest

import capsulet
from paper import __main__ as command
from paper import plan, queue
from paper.datasets import DATA_SETS, DataSet, find_source
from paper.plan import STAGES, Size, Speed, measured_speed, planned, seconds_of, size_of
from paper.prepared import Files
from paper.rows import TABLES
from paper.runs import build_run

SMALL = ["--options", "hidden_size=16", "embedding_size=8", "num_codebooks=2", "learning_rate=0.01"]
PINYIN = ["zu2", "qiu2", "gu3", "piao4", "dian4", "ying3", "qi4", "che1", "dian4", "nao3"]


def fields(data_set: DataSet, label: int, dice: random.Random) -> list[str]:
    """Columns of a row in the way of its data set: breaks, quotes, pinyin, empty columns."""
    word = f"w{label}" if data_set.name != "sogou_news" else PINYIN[2 * label] + " " + PINYIN[2 * label + 1]
    text = " ".join([dice.choice(["the", "a", "of"]), word, dice.choice(["soon", "now"]), word])
    return {
        "ag_news": [f"{word} wins", f"{text} at\\{word}s"],
        "dbpedia": [f" {word} ", f' {text} "is" a thing'],
        "yahoo_answers": [f"why {word} ?", "", f"{text}<br />so\\nit is"],
        "sogou_news": [word, f"{text}\\n{word}"],
        "yelp_polarity": [f'{text}.\\n\\nThey said ""{word}"" \\"twice\\"'],
        "yelp_full": [f"{text}!\\nService, {word}"],
        "amazon_polarity": [f"{word}, really", f"{text}; 5/5"],
        "amazon_full": ["", f"{text}\\n{word}"],
    }[data_set.name]


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight folders as Zhang et al. pack them."""
    folder, dice = tmp_path_factory.mktemp("archives"), random.Random(1)
    for data_set in DATA_SETS.values():
        (folder / data_set.folder).mkdir()
        for split, count in (("train", 56), ("test", 28)):
            with (folder / data_set.folder / f"{split}.csv").open("w", newline="", encoding="utf-8") as file:
                writer = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n")
                for place in range(count):
                    label = place % len(data_set.classes)
                    writer.writerow([label + 1, *fields(data_set, label, dice)])
    return folder


def words_of(archives: Path, tmp_path: Path, *more: str) -> list[str]:
    places = ["--results", str(tmp_path / "results"), "--work", str(tmp_path / "work")]
    return ["all", "--data", str(archives), "--allow-subset", "--budget", "epochs=1", *places, *SMALL, *more]


def test_everything_is_run_once_in_the_order_of_cost(
    archives: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = words_of(archives, tmp_path, "--stages", "1")
    assert command.main([*words, "--plan"]) == 0
    said = capsys.readouterr().err
    assert "tokens per second" in said and "together:" in said
    assert said.count("2 runs to make") == 7 + 1, "two networks for each set"
    assert not (tmp_path / "results" / "components.json").exists()

    assert command.main(words) == 0
    runs = json.loads((tmp_path / "results" / "components.json").read_text())["runs"]
    assert {run["set"] for run in runs} == set(DATA_SETS)
    assert all(run["rows"] == [56, 28] and len(run["labels"]) == len(DATA_SETS[run["set"]].classes) for run in runs)
    page = (tmp_path / "results" / "paper.md").read_text(encoding="utf-8")
    assert "## Table 6: components" in page and "AG's News" in page
    said = capsys.readouterr().err
    order = [line.split(" ")[1] for line in said.splitlines() if line.startswith("components ")]
    tokens = {name: size_of(find_source(name, archives)).tokens for name in DATA_SETS}
    assert [tokens[name] for name in order] == sorted(tokens[name] for name in order)
    assert "already run" in said, "a run of two tables is made once"

    monkeypatch.setattr(queue, "made", lambda *_: pytest.fail("made again"))
    assert command.main(words) == 0
    assert capsys.readouterr().err.count("0 runs to make") == 8


def test_the_figures_are_drawn_from_the_models_of_the_runs(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install --group figures")
    made = []
    train = capsulet.train
    monkeypatch.setattr(capsulet, "train", lambda *files, **options: made.append(files) or train(*files, **options))
    words = words_of(tiny, tmp_path, "--sets", "tiny", "--stages", "1", "2", "4")
    assert command.main(words) == 0
    assert len(made) == 2 + 5 + 3 + 2, "no model is trained for a figure"
    for name in ("stability", "codes", "curves", "confusion"):
        assert (tmp_path / "results" / f"{name}.svg").exists()


def test_sets_that_are_not_there_are_named_and_left_out(
    archives: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    alone = tmp_path / "data"
    alone.mkdir()
    (alone / "yelp_review_full_csv").symlink_to(archives / "yelp_review_full_csv")
    assert command.main(words_of(alone, tmp_path, "--plan")) == 0
    said = capsys.readouterr().err
    assert (
        said.count("is left out") == 7 and "ag_news is left out. AG's News: no" in said and "yelp_full: 56 rows" in said
    )
    assert command.main(words_of(tmp_path, tmp_path, "--plan")) == 2
    assert "has none of the data sets" in capsys.readouterr().err


def test_the_most_important_rows_come_first() -> None:
    runs = list(planned("ag_news_61k", 61_513))
    assert [one.stage for one in runs] == sorted(one.stage for one in runs)
    assert {one.stage for one in runs} == set(STAGES) - {7}
    assert [(one.table, one.row) for one in runs[:3:2]] == [
        ("components", "plain-linear"),
        ("components", "cwc-capsule"),
    ]
    assert {one.budget["rows"] for one in runs if one.budget} == {15_000, 30_000}
    assert {one.protocol for one in runs if one.stage == 8} == {"published"}
    seeds = {(one.table, one.row): set() for one in runs}
    for one in runs:
        seeds[one.table, one.row].add(one.seed)
    assert seeds["losses", "margin"] == seeds["routing", "dynamic"] == {1, 2, 3}
    assert seeds["losses", "focal"] == {1}
    assert not any(one.table == "recipes" for one in runs)


def test_a_small_set_has_every_row_with_three_seeds() -> None:
    runs = [one for one in planned("mine", 5000) if (one.recipe, one.protocol) == ("published", "ours")]
    for table in TABLES.values():
        for row in table.rows:
            assert {one.seed for one in runs if (one.table, one.row) == (table.name, row.name)} == {1, 2, 3}, row.name
    assert len({(one.table, one.row, one.seed) for one in runs}) == len(runs)
    assert not any(one.table == "losses" for one in planned("yelp_full", 650_000)), "the paper has it for AG News alone"


def test_the_estimate_follows_tokens_and_parameters(tmp_path: Path) -> None:
    files = Files(tmp_path, tmp_path)
    row = next(row for row in TABLES["components"].rows if row.name == "plain-linear")
    run = build_run("mine", row, 1, files, {"epochs": 1}, {}, "ours", "published")
    size = Size(3200, 50, 10_000, 4)
    tokens, both = seconds_of(run, size, Speed(1000, 1e99)), seconds_of(run, size, Speed(1000, 1e6))
    assert tokens == 160
    assert both - tokens == pytest.approx(100 * (10_000 * 64 + 445_952) / 1e6, rel=0.01)
    half = build_run("mine", row, 1, files, {"epochs": 1}, {"rows": 1600}, "ours", "published")
    assert seconds_of(half, size, Speed(1000, 1e99)) == 80


def test_the_speed_is_measured() -> None:
    small = {"hidden_size": 16, "embedding_size": 8, "num_codebooks": 2}
    slow, fast = measured_speed(1, {}, steps=4), measured_speed(1, small, steps=4)
    assert fast.tokens > slow.tokens > 0 and slow.parameters > 0


def test_sizes_are_counted(archives: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "COUNTED", 20)
    size = size_of(find_source("yelp_full", archives))
    assert (size.rows, size.classes, size.vocab_size) == (56, 5, DATA_SETS["yelp_full"].vocab_size)
    assert 5 < size.tokens < 15
