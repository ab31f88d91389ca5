"""Runs: what is done is not done again, what fails is a row, and tables say what they hold."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks import accuracy, record
from benchmarks.peers import PEERS, RIVALS, child, runs, summary
from benchmarks.peers.__main__ import main
from benchmarks.peers.rows import read_training
from capsulet.errors import InputError


def made_up(peer: str, seed: int, **changes: Any) -> dict[str, Any]:
    """A run's result."""
    figures = {
        "accuracy": 0.9 + seed / 100, "macro_f1": 0.8, "valid_accuracy": 0.91, "parameters": 1000, "bytes": 5000,
        "train_seconds": 2.0, "search_seconds": 4.0, "clock_seconds": 5.0, "texts_per_second": 100.0,
        "train_memory": 10**8, "predict_memory": 10**7, "load": 1.0, "commit": "abc", "command": "made up",
    }  # fmt: skip
    key = {"set": "tiny", "peer": peer, "seed": seed, "options": dict(PEERS[peer].options)}
    return {**key, **figures, **changes}


@pytest.fixture
def results(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(record, "RESULTS", tmp_path)
    return tmp_path / "peers.json"


@pytest.mark.slow
def test_a_run_in_its_own_processes_and_no_second_time(
    data: Path, results: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("sklearn")
    words = ["--data", str(data), "--sets", "tiny", "--peers", "tf-idf", "--seeds", "1", "--write", "--json"]
    main(words)
    first = json.loads(capsys.readouterr().out)
    (run,) = first["runs"]
    assert run["accuracy"] >= 0.95
    assert run["train_rows"] + run["valid_rows"] == 240
    assert run["test_rows"] == 90
    assert run["bytes"] > 4 * run["parameters"] > 0
    assert 10**7 < run["predict_memory"] < run["train_memory"] * 1.2
    assert run["chosen"]["C"] > 0
    assert {"command", "commit", "machine", "versions"} <= first.keys()
    assert json.loads(results.read_text()) == first

    def never(run: runs.Run, models: Path | None) -> runs.Result:
        raise AssertionError(run)

    monkeypatch.setattr(runs, "measure", never)
    main(words)
    assert json.loads(capsys.readouterr().out)["runs"] == first["runs"]
    main(words[:-2])  # not to be written: what is stored counts all the same
    main(["--show", "--sets", "tiny"])
    assert "TF-IDF" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="2"):
        main(words[2:])
    assert "--data" in capsys.readouterr().err
    results.write_text("{")
    for odd in (words, ["--show"]):
        with pytest.raises(SystemExit, match="2"):
            main(odd)
        assert "peers.json is no results file" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main([*words, "--jobs", "0"])
    assert "--jobs 0" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main([*words, "--plot", "picture.txt"])
    assert ".svg or .png" in capsys.readouterr().err


@pytest.mark.slow
def test_a_failure_is_a_row_with_its_reason(
    data: Path, results: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["--data", str(data), "--sets", "tiny", "--peers", "dpcnn", "--seeds", "1", "--write"]
    with pytest.raises(SystemExit) as caught:
        main([*words, "--options", "no_such_option=1"])
    assert caught.value.code == 1
    (run,) = json.loads(results.read_text())["runs"]
    assert "no_such_option" in run["failure"]
    shown = capsys.readouterr()
    assert "no_such_option" in shown.out + shown.err
    monkeypatch.setattr(
        runs, "measure", lambda run, models: {**run.key, **made_up("dpcnn", 1, options=dict(run.options))}
    )
    main([*words, "--options", "no_such_option=1"])  # what failed is tried again
    (run,) = json.loads(results.read_text())["runs"]
    assert "failure" not in run


def test_a_missing_package_is_one_line_with_the_pip_command(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "fasttext", None)  # as if it were not installed
    specification = {
        "module": "fasttext", "folder": str(data / "tiny"), "seed": 1, "options": {}, "fraction": 0.05,
        "scratch": str(tmp_path),
    }  # fmt: skip
    monkeypatch.setattr(sys, "argv", ["child", "train", json.dumps(specification)])
    with pytest.raises(SystemExit) as caught:
        child.main()
    assert caught.value.code == "fasttext is not installed: pip install --group peers"


def test_a_failure_on_one_line() -> None:
    assert runs.failure("train", 1, "Traceback\n  ...\nValueError: too few rows\n\n") == "ValueError: too few rows"
    assert "signal 9" in runs.failure("train", -9, "")
    assert runs.failure("predict", 3, "") == "predict ended with status 3"


def test_done_means_the_same_source_options_and_rows(data: Path) -> None:
    (run,) = runs.wanted_runs([data / "tiny"], ["dpcnn"], [1], {}, 0.05)
    result = {**run.key, "accuracy": 0.9}
    assert runs.is_done(run, [result])
    for name, value in (("source", "other"), ("options", {"maps": 8}), ("valid_fraction", 0.1), ("seed", 2)):
        assert not runs.is_done(run, [{**result, name: value}]), name
    assert not runs.is_done(run, [{**result, "failure": "no memory"}])
    again = runs.merge([result], {**result, "source": "newer"})
    assert [one["source"] for one in again] == ["newer"]


def test_a_peer_that_is_not_random_runs_once(data: Path) -> None:
    wanted = runs.wanted_runs([data / "tiny"], ["fasttext", "tf-idf"], [4, 5], {}, 0.05)
    assert [(run.peer, run.seed) for run in wanted] == [("tf-idf", 4), ("fasttext", 4), ("fasttext", 5)]


def test_the_digest_knows_what_a_peer_is_made_of() -> None:
    names = {path.name for path in runs.imported_files(runs.ROOT / "benchmarks" / "peers" / "ulmfit.py")}
    assert {"ulmfit.py", "awd_lstm.py", "network.py", "protocol.py", "tokens.py", "corpus.py", "batch.py"} <= names
    assert not {"dpcnn.py", "loop.py", "classifier.py"} & names
    digests = {name: runs.source_digest(name) for name in PEERS}
    assert digests["region-word-context"] == digests["region-context-word"]  # told apart by their options
    assert len({digests[name] for name in ("ours", "tf-idf", "fasttext", "dpcnn", "ulmfit", "minilm")}) == 6


def test_every_peer_gets_the_same_rows(data: Path) -> None:
    train, valid = read_training(data / "tiny", 0.1)
    assert (train, valid) == read_training(data / "tiny", 0.1)
    assert len(train) == 216
    assert len(valid) == 24


def test_ratios_are_to_ours_or_else_to_tf_idf() -> None:
    found = [made_up("tf-idf", seed) for seed in (1, 2, 3)]
    found += [made_up("dpcnn", 1, train_seconds=8.0, texts_per_second=50.0), made_up("xlnet", 1, failure="no Hub")]
    tf_idf, dpcnn, xlnet = summary.summaries(found, "tiny")
    assert (tf_idf.accuracy, tf_idf.deviation) == (pytest.approx(92), pytest.approx(1))
    assert (dpcnn.train_ratio, dpcnn.predict_ratio) == (4.0, 0.5)
    assert xlnet.failure == "no Hub"
    assert summary.header([tf_idf, dpcnn])[5] == "training (TF-IDF + LR = 1)"
    ours, tf_idf, *_ = summary.summaries([*found, made_up("ours", 1, train_seconds=1.0)], "tiny")
    assert (ours.train_ratio, tf_idf.train_ratio) == (1.0, 2.0)
    short = made_up("ours", 1, train_seconds=0.1, options={"epochs": 1})
    ours, variant, *_ = summary.summaries([*found, short, made_up("ours", 1, train_seconds=1.0)], "tiny")
    assert {ours.title: ours.train_ratio, variant.title: variant.train_ratio} == {
        "capsulet": 1.0,
        "capsulet epochs=1": 0.1,
    }
    ours, tf_idf, *_ = summary.summaries([*found, made_up("ours", 1, train_seconds=1.0)], "tiny")
    assert summary.header([ours, tf_idf])[5] == "training (capsulet = 1)"
    assert all(len(summary.cells(one)) == len(summary.header([])) for one in (ours, dpcnn, xlnet))


def test_the_plot_is_written(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install --group peers")
    from benchmarks.panels import OTHERS, corners, overlap
    from benchmarks.peers.plot import colour, draw

    found = [made_up("ours", 1), made_up("dpcnn", 2, bytes=10**7), made_up("xlnet", 1, failure="no Hub")]
    svg = draw(found, tmp_path / "peers.svg").read_text()
    assert svg == draw(found, tmp_path / "again.svg").read_text()
    more = [*found, made_up("tf-idf", 1, bytes=10**6), made_up("fasttext", 1, set="lonely")]
    assert draw(more, tmp_path / "more.svg").read_text() == draw(more[:-1], tmp_path / "less.svg").read_text()
    assert colour(summary.Summary("ours-small", "")) == colour(summary.Summary("ours", "")) != OTHERS
    one = (0.0, 0.0, 2.0, 1.0)
    assert overlap(one, (1.0, 0.5, 3.0, 2.0))
    assert not overlap(one, (2.0, 0.0, 3.0, 1.0))
    boxes = [(left, bottom, left + 2, bottom + 1) for left, bottom in corners(5.0, 5.0, 2.0, 1.0, 0.5)]
    assert not any(overlap(box, (4.6, 4.6, 5.4, 5.4)) for box in boxes)  # none of the places covers the point


def test_the_page_names_what_is_missing(monkeypatch: pytest.MonkeyPatch, results: Path) -> None:
    from docs import pages, peers

    results.write_text(
        json.dumps(
            {
                **record.circumstances("python -m benchmarks.peers"),
                "runs": [made_up("tf-idf", 1, set="trec6"), made_up("xlnet", 1, set="trec6", failure="no Hub")],
            }
        )
    )
    monkeypatch.setattr(pages, "RESULTS", results.parent)
    page = pages.replace_marked("# Peers\n<!-- results -->\nold\n<!-- end of results -->\nrules\n", peers.parts())
    assert "old" not in page
    assert page.endswith("rules\n")
    assert "| TF-IDF + LR | 91.00 | 1 | 1,000 | 0.01 MB | 1.0 | 2.0 times | 1.0 |" in page
    assert "| XLNet base | failed |" in page
    assert "\nXLNet base: no Hub.\n" in page
    assert "Not run yet: `ours`, `ours-small`, `fasttext`" in page
    assert "Run only for [accuracy.md](accuracy.md): `tf-idf-characters`, `fasttext-characters`." in page
    assert "Ratios are to TF-IDF + LR" in page


def test_further_seeds_of_ours_are_those_of_the_accuracy_benchmark() -> None:
    trained = {"set": "tiny", "options": {}, "macro_f1": 0.8, "valid_accuracy": 0.9, "parameters": 1000}
    others = [
        {**trained, "seed": 1, "accuracy": 0.1},  # measured here: that counts
        {**trained, "seed": 2, "accuracy": 0.93},
        {**trained, "seed": 3, "accuracy": 0.2, "options": {"epochs": 1}},
        {**trained, "seed": "tf-idf", "accuracy": 0.3},
        {**trained, "seed": 2, "accuracy": 0.4, "set": "other"},
        {**trained, "seed": 4, "accuracy": 0.5, "parameters": 2000},  # another network
    ]
    found = summary.with_seeds([made_up("ours", 1), made_up("tf-idf", 1, set="other")], others)
    (ours,) = summary.summaries(found, "tiny")
    assert (ours.seeds, ours.accuracy, ours.bytes, ours.train_ratio) == (2, pytest.approx(92.0), 5000, 1.0)
    assert [one.peer for one in summary.summaries(found, "other")] == ["tf-idf"]
    from docs import peers

    then = [made_up("ours", 1)]
    assert not peers.changed("tiny", then, others) and not peers.changed("other", then, others)
    assert "another network" in peers.changed("tiny", then, others[-1:])[1]
    failed = [made_up("ours", 1, failure="no memory")]
    assert summary.with_seeds(failed, others) == failed, "no time to go with an accuracy"


def test_a_kept_model_is_that_of_the_same_training(data: Path) -> None:
    def named(peer: str, seed: int = 1, fraction: float = 0.05, **options: Any) -> str:
        (run,) = runs.wanted_runs([data / "tiny"], [peer], [seed], options, fraction)
        return run.training

    assert named("ours") == named("ours-small"), "the same network, compressed"
    others = {named("ours", epochs=1), named("ours", seed=2), named("ours", fraction=0.1), named("ours")}
    assert len(others) == 4


def test_runs_of_other_options_are_no_seeds_of_a_mean() -> None:
    def run(name: str, seed: int, source: str, **options: Any) -> dict[str, Any]:
        return {"set": name, "seed": seed, "source": source, "options": options}

    old = [run("a", 1, "old"), run("a", 2, "old"), run("b", 1, "old")]
    assert accuracy.merge(old, run("a", 2, "new")) == [old[0], run("a", 2, "new"), old[2]], "another commit's stay"
    assert accuracy.merge(old, run("a", 2, "new", epochs=1)) == [run("a", 2, "new", epochs=1), old[2]]
    rival = {**run("a", 1, "its own"), "seed": "fasttext"}
    assert accuracy.merge([rival], run("a", 1, "new", epochs=1)) == [run("a", 1, "new", epochs=1), rival]
    assert accuracy.merge([run("a", 1, "old", epochs=1)], rival) == [run("a", 1, "old", epochs=1), rival]
    assert accuracy.merge([rival], {**rival, "source": "newer"}) == [{**rival, "source": "newer"}]


def test_a_set_is_found_below_the_folder_of_languages(tmp_path: Path) -> None:
    for name in ("en", "languages/ru", "languages/de"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "train.jsonl").touch()
    (tmp_path / "languages" / "README.md").touch()
    (tmp_path / "empty").mkdir()
    found = accuracy.find_sets(tmp_path, ["en", "ru", "languages"])
    assert [folder.name for folder in found] == ["en", "ru", "de", "ru"]
    for name, reason in (("fr", "has no folder fr"), ("empty", "no folder in it")):
        with pytest.raises(InputError, match=reason):
            accuracy.find_sets(tmp_path, [name])


def test_a_rival_is_made_of_its_own_files() -> None:
    own = {"words.py", "protocol.py"}
    for name in RIVALS:
        module = runs.ROOT / "benchmarks" / "peers" / f"{PEERS[name].module}.py"
        assert {path.name for path in runs.imported_files(module)} == {module.name, *own}
    assert len({accuracy.rival_digest(name) for name in RIVALS}) == len(RIVALS), "their options count"


@pytest.mark.slow
def test_a_rival_beside_ours(
    data: Path, results: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("sklearn")
    monkeypatch.setattr(accuracy, "RIVALS", ("tf-idf-characters",))
    words = ["accuracy", "--data", str(data), "--sets", "tiny", "--rivals-only", "--jobs", "1", "--write"]
    monkeypatch.setattr(sys, "argv", words)
    accuracy.main()
    (run,) = json.loads((results.parent / "accuracy.json").read_text())["runs"]
    assert (run["seed"], run["test_rows"], run["options"]) == ("tf-idf-characters", 90, {})
    assert run["accuracy"] >= 0.95 and run["chosen"]["C"] > 0
    assert "tf-idf-characters" in capsys.readouterr().err
    accuracy.main()
    assert not capsys.readouterr().err, "it is not run again"
