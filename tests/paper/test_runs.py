"""Tables from end to end on generated texts, resumed without repeating, and the two protocols."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

import capsulet
from benchmarks.paired import unpack
from capsulet.model.network import initialise
from capsulet.training.loop import Silence
from paper import __main__ as command
from paper import published, queue, runs
from paper.network import network_of
from paper.rows import TABLES
from paper.runs import best_look
from paper.summary import cell, grid, groups


def read(folder: Path, name: str) -> dict:
    return json.loads((folder / "results" / f"{name}.json").read_text())


@pytest.mark.parametrize("name", ["losses", "routing", "components"])
def test_a_table_is_made_once(
    name: str, call: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [row.name for row in TABLES[name].rows]
    assert command.main([name, *call, "--rows", *names[:1]]) == 0
    first = read(tmp_path, name)["runs"]
    assert [run["row"] for run in first] == names[:1]
    assert command.main([name, *call]) == 0
    made = read(tmp_path, name)["runs"]
    assert sorted(run["row"] for run in made) == sorted(names)
    assert first[0] in made, "made by the first command, not again"
    assert all(run["rows"] == [90, 30] and len(run["epochs"]) == 2 and run["protocol"] == "ours" for run in made)
    assert all(sum(map(sum, run["confusion"])) == 30 for run in made if not run["frozen"])
    assert all("--recipe published" in run["train_command"] for run in made if not run["frozen"])
    assert all(round(30 * run["accuracy"]) == sum(unpack(run["right"])) for run in made)

    monkeypatch.setattr(queue, "made", lambda *_: pytest.fail("made again"))
    capsys.readouterr()
    assert command.main([name, *call, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"] == made
    with pytest.raises(pytest.fail.Exception):  # another budget is another run
        command.main([name, *call, "--budget", "rows=60", "epochs=2"])


def test_a_row_of_two_tables_is_run_once(call: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert command.main(["routing", *call, "--rows", "kmeans"]) == 0
    monkeypatch.setattr(queue, "made", lambda *_: pytest.fail("made again"))
    assert command.main(["sota", *call, "--rows", "paper"]) == 0
    assert command.main(["components", *call, "--rows", "cwc-capsule"]) == 0
    (first,) = read(tmp_path, "routing")["runs"]
    for name, row in (("sota", "paper"), ("components", "cwc-capsule")):
        assert read(tmp_path, name)["runs"] == [{**first, "row": row}]


def test_a_training_that_diverges_does_not_end_the_table(
    call: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        *call,
        "code_learning_rate=3e38",
        "--rows",
        "cwc-linear",
        "cc-linear-drawn",
    ]
    assert command.main(["components", *words]) == 1
    said = capsys.readouterr().err
    assert "components tiny published cwc-linear 1 epochs=2 rows=90 (ours): training diverged" in said
    assert said.splitlines()[-1] == "paper: 1 of 2 runs failed (cwc-linear 1); the others are written"
    assert [run["row"] for run in read(tmp_path, "components")["runs"]] == ["cc-linear-drawn"]


def test_the_rows_are_those_of_the_paper() -> None:
    losses = {row.name: row for row in TABLES["losses"].rows}
    assert losses.keys() == {*published.LOSSES, "focal-capsule"} and len(published.LOSSES) == 7
    baseline = {"embedding": "plain", "head": "linear"}
    assert all(baseline.items() <= losses[name].options.items() for name in published.LOSSES)
    options = [dict(row.options) for row in TABLES["components"].rows]
    assert len(options) == 8
    assert {(one["embedding"], one["head"]) for one in options} == set(published.COMPONENTS)
    assert [one["embedding"] for one in options if one.get("code_draws") == 50] == ["cc", "cc"]


def test_codes_that_are_never_trained_stay_as_they_were_drawn(tiny: Path, tmp_path: Path) -> None:
    small = {"hidden_size": 16, "embedding_size": 8, "num_codebooks": 2, "threads": 1, "epochs": 1, "seed": 5}
    row = next(row for row in TABLES["components"].rows if row.name == "cc-linear-drawn")
    capsulet.train(tiny / "tiny" / "train.jsonl", tmp_path / "model", recipe="paper", **{**small, **row.options})
    trained, config = network_of(tmp_path / "model")
    drawn, _ = network_of(tmp_path / "model")
    options = config.options.training
    initialise(drawn, 5, options.code_deviation, options.transform_scale, options.centre_codebooks)
    assert trained.embedding.codes.equal(drawn.embedding.codes)
    assert not trained.embedding.codebooks.equal(drawn.embedding.codebooks)


def test_the_published_protocol_reports_the_best_of_its_looks(call: list[str], tmp_path: Path) -> None:
    words = ["routing", *call, "--rows", "kmeans", "--budget", "rows=90", "epochs=4"]
    assert command.main(words) == 0
    assert command.main([*words, "--protocol", "published"]) == 0
    ours, looking = read(tmp_path, "routing")["runs"]
    assert (ours["protocol"], looking["protocol"]) == ("ours", "published")
    assert "looks" not in ours and len(looking["looks"]) == 4
    assert looking["accuracy"] == max(looking["looks"]) == max(one["valid_accuracy"] for one in looking["epochs"])
    assert looking["last_look"] == looking["looks"][-1]
    assert "--valid" in looking["train_command"] and "--valid" not in ours["train_command"]
    assert looking["rows"] == [90, 30]

    table = TABLES["routing"]
    titles = [grid(table, group)[0][3] for group in groups([ours, looking], table)]
    assert titles == ["ours", "ours, best epoch on test"], "never together, never unlabelled"


def test_published_figures_of_others_stand_beside_their_sets_alone() -> None:
    table = TABLES["sota"]
    about = {"row": "paper", "seed": 1, "accuracy": 0.9, "protocol": "ours", "budget": {}, "options": {}}
    stored = json.loads((Path(command.__file__).parent / "results" / "sota.json").read_text())["runs"][0]
    for name, expected in (("trec6", 0), ("ag_news_61k", len(table.others))):
        group = groups([{**stored, **about, "set": name}], table)[0]
        lines = [line for line in grid(table, group)[1] if line[0] in table.others]
        assert len(lines) == expected
        assert ["XLNet*", "", "95.55", "not run: needs a download", ""] in lines or not expected


def test_the_best_look() -> None:
    assert best_look([0.7, 0.9, 0.8]) == {"accuracy": 0.9, "looks": [0.7, 0.9, 0.8], "last_look": 0.8}


@pytest.mark.parametrize("name", TABLES)
def test_the_published_protocol_is_never_the_default(name: str) -> None:
    assert command.build_parser().parse_args([name, "--data", "x"]).protocol == "ours"


def test_differences_are_to_the_cell_of_the_set() -> None:
    table, row = TABLES["routing"], TABLES["routing"].rows[1]
    run = {
        "row": "kmeans", "options": {"routing": "kmeans"}, "budget": {}, "protocol": "ours", "seed": 1,
        "set": "dbpedia", "recipe": "published", "rows": [560_000, 70_000], "bytes": [1, 1], "accuracy": 0.98,
    }  # fmt: skip
    second = {**run, "seed": 2, "accuracy": 0.99}
    (group,) = groups([run, second], table)
    found = cell(table, row, group)
    assert (found.published, found.ours, found.difference) == (98.72, "98.50 ± 0.71", "-0.22")
    (part,) = groups([{**run, "rows": [1000, 70_000]}], table)
    assert cell(table, row, part).difference == "-0.72 (other rows)"


def test_a_training_that_ctrl_c_ends_is_no_run(
    call: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Interrupting(Silence):
        def epoch(self, report: object) -> None:
            os.kill(os.getpid(), signal.SIGINT)

    train = capsulet.train
    monkeypatch.setattr(capsulet, "train", lambda *files, **options: train(*files, monitor=Interrupting(), **options))
    words = ["routing", *call, "--rows", "kmeans"]
    assert command.main(words) == 130
    assert "interrupted" in capsys.readouterr().err
    assert not (tmp_path / "results" / "routing.json").exists()
    monkeypatch.setattr(capsulet, "train", train)
    assert command.main(words) == 0
    assert len(read(tmp_path, "routing")["runs"][0]["epochs"]) == 2


def test_what_is_stored_is_shown_whatever_made_it(
    call: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    results = ["--results", str(tmp_path / "results")]
    assert command.main(["routing", "--show", *results]) == 2
    assert "holds no runs yet" in capsys.readouterr().err
    assert command.main(["routing", *call, "--rows", "kmeans"]) == 0
    printed = capsys.readouterr().out
    monkeypatch.setattr(runs, "digest", lambda: "another source")
    assert command.main(["routing", "--show", *results]) == 0
    assert capsys.readouterr().out == printed
    with pytest.raises(SystemExit):
        command.main(["routing", *results])


def test_odd_results_are_refused_before_any_training(
    call: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(queue, "made", lambda *_: pytest.fail("trained"))
    (tmp_path / "results").mkdir()
    for content in ("{", "[]", '{"runs": 1}'):
        (tmp_path / "results" / "routing.json").write_text(content)
        assert command.main(["routing", *call]) == 2
        assert "routing.json is no results file" in capsys.readouterr().err
    assert command.main(["routing", *call, "--results", "/proc/nowhere"]) == 2
    assert "no file can be created in" in capsys.readouterr().err
    assert command.main(["losses", *call, "loss=margin"]) == 2
    assert "--options loss: the rows of the table differ in this option" in capsys.readouterr().err


def test_runs_of_other_passes_or_files_are_no_seeds_of_one_table() -> None:
    run = {
        "row": "kmeans", "options": {"epochs": 3}, "budget": {"epochs": 3}, "protocol": "ours", "seed": 1,
        "set": "mine", "recipe": "published", "rows": [10, 10], "bytes": [1, 1], "accuracy": 0.26,
        "labels": list("abcd"),
        "command": "python -m paper routing", "commit": "0",
    }  # fmt: skip
    table, row = TABLES["routing"], TABLES["routing"].rows[1]
    others = [{**run, "seed": 2, "budget": {}, "options": {"epochs": 5}}, {**run, "seed": 3, "bytes": [2, 1]}]
    found = groups([run, *others], table)
    assert [group.title for group in found] == [
        "mine: 3 epochs; seeds 1", "mine: all rows, the recipe's epochs, epochs=5; seeds 2", "mine: 3 epochs; seeds 3"
    ]  # fmt: skip
    assert cell(table, row, found[0]).ours == "26.00, chance"
    assert found[0].commands == {("python -m paper routing", "0"): [1]}
