import json
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.trial import FixedTrial

import capsulet
from capsulet.cli.main import main
from capsulet.errors import InputError
from capsulet.results import Epoch
from capsulet.storage.folder import read_config
from capsulet.text.rows import ReadOptions
from capsulet.tuning import final
from capsulet.tuning import tune as module
from capsulet.tuning.results import Trial
from capsulet.tuning.space import DEFAULTS, LINEAR, allowed_sizes, first_trials, suggest
from capsulet.tuning.study import best_of, open_study
from capsulet.tuning.trade_off import frontier
from capsulet.tuning.trials import Job, Pruner

FIXED: dict[str, Any] = {"linear_only": True, "threads": 1}


def test_the_model_has_the_best_options_and_the_command_that_repeats_it(many_rows: Path, tmp_path: Path) -> None:
    lines: list[str] = []
    result = capsulet.tune(many_rows, tmp_path / "model", time="10m", trials=4, tell=lines.append, **FIXED)
    assert [trial.number for trial in result.trials] == [0, 1, 2, 3]
    assert result.trials[0].options == {}, "the first trial is the default"
    assert all(set(trial.options) <= {"pieces", "ngram_features", "min_count"} for trial in result.trials[1:])
    assert result.trials[1].options and result.trials[1].loss and result.trials[1].texts
    chosen = result.trials[result.chosen].options
    stored = read_config(tmp_path / "model").options
    for name, value in chosen.items():
        assert value == getattr(stored.model, name, getattr(stored.text, name, None)), name
    assert result.confirmation_texts and result.confirmed is not None and result.confirmed_default is not None
    assert all(f"--{name.replace('_', '-')} {value}" in result.commands[0] for name, value in chosen.items())
    assert (tmp_path / "model.tuning.svg").read_text().count("<circle") == 4
    assert not (tmp_path / "model.tuning").exists(), "texts do not stay behind"
    assert repr(result).startswith(f"<Tuning {tmp_path / 'model'}: trial ") and len(result.to_pandas()) == 4
    assert sum(line.startswith("trial ") for line in lines) == 4
    assert capsulet.load(tmp_path / "model").labels == ("food", "money", "sport")


def texts_of(rows: Path) -> set[str]:
    return {json.loads(line)["text"] for line in rows.read_text().splitlines()}


def test_finalists_are_measured_on_rows_that_they_were_not_trained_on(
    many_rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, kept = list[set[str]](), list[set[str]]()
    trial, confirm = final.run_trial, final.quality_and_loss

    def watched(job: Any, rows: Path, *rest: Any) -> Any:
        seen.append(texts_of(rows))
        return trial(job, rows, *rest)

    def watched_confirmation(file: Path, rows: Path, job: Any) -> tuple[float, float | None]:
        kept.append(texts_of(rows))
        return confirm(file, rows, job)

    monkeypatch.setattr(final, "run_trial", watched)
    monkeypatch.setattr(final, "quality_and_loss", watched_confirmation)
    result = capsulet.tune(many_rows, tmp_path / "model", trials=2, plot=None, **FIXED)
    every = texts_of(many_rows)
    assert len(seen) == len(kept) == 4 * 2, "four parts; the default and one other trial"
    assert all(not train & held_out and train | held_out == every for train, held_out in zip(seen, kept, strict=True))
    assert result.confirmation_texts == len(set.union(*kept)) == len(every) - 3, "a row of each class is in no part"


def test_the_default_is_used_if_it_is_the_best_in_the_final(
    many_rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    qualities = iter((0.80, 0.90) * 4)  # of the other trial and the default, in each of four rounds
    monkeypatch.setattr(final, "quality_and_loss", lambda file, rows, job: (next(qualities), 0.5))
    lines = list[str]()
    result = capsulet.tune(many_rows, tmp_path / "model", trials=2, plot=None, tell=lines.append, **FIXED)
    assert (result.chosen, round(result.confirmed or 0, 6)) == (0, 0.9)
    assert sum(line.startswith("final, ") and "trial 1 80.00 %, the default 90.00 %" in line for line in lines) == 4


def test_a_final_goes_on_where_it_was_interrupted(
    many_rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial, calls = final.run_trial, 0

    def interrupted(*rest: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 4:  # the second training of the second round
            raise KeyboardInterrupt
        return trial(*rest)

    monkeypatch.setattr(final, "run_trial", interrupted)
    call: dict[str, Any] = {"trials": 2, "plot": None, **FIXED}
    first = capsulet.tune(many_rows, tmp_path / "model", **call)
    assert 100 < first.confirmation_texts < 200, "one complete round"
    second = capsulet.tune(many_rows, tmp_path / "model", resume=True, **call)
    assert second.confirmation_texts == 597 and second.trials == first.trials
    assert calls == 4 + 5, "nothing is trained twice"


def test_the_best_trials_and_the_default_reach_the_final() -> None:
    trials = [Trial(number, {}, quality, 100, 1.0) for number, quality in enumerate((0.5, 0.7, None, 0.9, 0.6, 0.8))]
    assert [one.number for one in final.finalists_of(trials)] == [3, 5, 1, 0]
    finalists = final.finalists_of(trials)  # of a second each
    numbers = [[one.number for one in final.as_time_allows(finalists, seconds)] for seconds in (8, 7, 1)]
    assert numbers == [[3, 5, 1, 0], [3, 5, 0], [3, 0]]
    assert [final.number_of_parts(rows) for rows in (100, 4_999, 7_000, 50_000)] == [4, 4, 7, 10]


def test_no_options_are_tried_twice_and_a_small_space_ends_the_search(many_rows: Path, tmp_path: Path) -> None:
    fixed: dict[str, Any] = {**FIXED, "ngram_features": 4096, "min_count": 1}  # only the pieces are free
    result = capsulet.tune(many_rows, tmp_path / "model", time="10m", plot=None, **fixed)
    assert sorted(trial.options.get("pieces", 5) for trial in result.trials) == [3, 4, 5, 6]


def test_a_search_continues_after_an_interruption(
    many_rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial, calls = module.run_trial, 0

    def interrupted(*rest: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise KeyboardInterrupt
        return trial(*rest)

    monkeypatch.setattr(module, "run_trial", interrupted)
    first = capsulet.tune(many_rows, tmp_path / "model", trials=4, plot=None, **FIXED)
    assert len(first.trials) == 2, "and the model has the best options so far"
    lines: list[str] = []
    with pytest.raises(InputError, match="other files or options"):
        capsulet.tune(many_rows, tmp_path / "model", resume=True, metric="macro-f1", **FIXED)
    second = capsulet.tune(many_rows, tmp_path / "model", trials=4, resume=True, tell=lines.append, plot=None, **FIXED)
    assert lines[0].startswith("continuing a search")
    assert second.trials[:2] == first.trials
    assert sum(trial.quality is not None for trial in second.trials) >= 3


@pytest.mark.slow
def test_a_target_size_holds_for_every_trial_and_the_model(many_rows: Path, tmp_path: Path) -> None:
    result = capsulet.tune(many_rows, tmp_path / "model", trials=2, target_size="40KB", plot=None, **FIXED)
    assert result.path == str(tmp_path / "model.safetensors")
    assert result.bytes == Path(result.path).stat().st_size <= 40_000
    assert all(trial.bytes <= 40_000 for trial in result.trials if trial.quality is not None)
    assert len(result.commands) == 2 and "--target-size 40000" in result.commands[1]


@pytest.mark.slow
def test_a_time_that_allows_one_training_only(many_rows: Path, tmp_path: Path) -> None:
    lines = list[str]()
    result = capsulet.tune(many_rows, tmp_path / "model", time="0.01s", linear_only=True, tell=lines.append)
    assert len(result.trials) == 1
    assert any("no options can be compared within time=…" in line for line in lines)


def test_networks_are_searched_too(many_rows: Path, tmp_path: Path) -> None:
    network: dict[str, Any] = {"epochs": 2, "threads": 1, "network": "always", "valid_fraction": 0.2}
    result = capsulet.tune(many_rows, tmp_path / "model", trials=3, plot=None, **network)
    assert {"size", "num_codebooks"} <= {name for trial in result.trials for name in trial.options}


def test_a_trial_names_what_it_changes() -> None:
    values = {"size": "tiny", **DEFAULTS, "longer": 1.5, "pooling": "max"}
    options = suggest(FixedTrial(values), ("tiny", "small"), small_file=True, epochs=12)  # type: ignore[arg-type]
    assert options == {"size": "tiny", "pooling": "max", "epochs": 18}
    values = {"size": LINEAR, **DEFAULTS, "pieces": 6}
    options = suggest(FixedTrial(values), (LINEAR,), small_file=False, epochs=12)  # type: ignore[arg-type]
    assert options == {"linear_only": True, "pieces": 6}


def test_an_iterator_is_read_once(many_rows: Path, tmp_path: Path) -> None:
    rows = (json.loads(line) for line in many_rows.read_text().splitlines())
    result = capsulet.tune(rows, tmp_path / "model", trials=1, plot=None, **FIXED)
    assert read_config(tmp_path / "model").data.train_rows == 600 and result.chosen == 0


def test_command_line(many_rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = ["tune", str(many_rows), "--out", str(tmp_path / "model"), "--trials", "2", "--linear-only"]
    assert main([*call, "--threads", "1"]) == 0
    shown = capsys.readouterr()
    assert "the best of 2 trials" in shown.out and "capsulet train" in shown.out
    assert "trial 1: " in shown.err
    assert main([*call, "--metric", "speed"]) == 2
    assert "metric is 'speed': expected one of accuracy, macro-f1, micro-f1" in capsys.readouterr().err
    assert main([*call, "--time", "soon"]) == 2
    assert "--time is 'soon'" in capsys.readouterr().err


def test_sizes_follow_from_the_time_and_the_users_options() -> None:
    assert allowed_sizes({}, 10, 1000) == [LINEAR, "tiny", "small", "base"]
    assert allowed_sizes({}, 10, 50) == [LINEAR, "tiny", "small"]
    assert allowed_sizes({}, 10, 5) == [LINEAR]
    assert allowed_sizes({"size": "base"}, 10, 5) == ["base"]
    assert allowed_sizes({"network": "always"}, 10, 50) == ["tiny", "small"]
    assert allowed_sizes({}, 40, 50, "base") == [LINEAR, "tiny", "small"]


def test_the_first_trials_change_little() -> None:
    sizes = allowed_sizes({}, 10, 1000)
    for values in first_trials(sizes, "small"):
        assert 1 <= sum(value != {"size": "small", **DEFAULTS}[name] for name, value in values.items()) <= 2
    assert {values["size"] for values in first_trials(sizes, "small")} == {"base", "small", LINEAR}
    assert {values["size"] for values in first_trials([LINEAR], LINEAR)} == {LINEAR}
    assert len(first_trials(sizes, "base")) == len(first_trials(sizes, "small")) - 1, "base is the default there"


def test_of_nearly_equal_trials_the_one_of_the_lowest_log_loss_is_best() -> None:
    def trial(number: int, quality: float | None, loss: float | None, size: int = 100) -> Trial:
        return Trial(number, {}, quality, size, 1.0, loss, 400)

    assert (
        best_of([trial(0, 0.90, 0.50), trial(1, 0.895, 0.40), trial(2, 0.80, 0.30), trial(3, None, None)]).number == 1
    )
    assert best_of([trial(0, 0.90, 0.50), trial(1, 0.895, None)]).number == 0
    assert best_of([trial(0, 0.90, 0.50), trial(1, 0.90, 0.50, 90)]).number == 1
    assert best_of([Trial(0, {}, 0.8, 1, 1.0), Trial(1, {}, 0.9, 1, 1.0)]).number == 1


def test_a_thousand_texts_judge_a_trial() -> None:
    compressed, whole = (Job("accuracy", size, {}, ReadOptions()) for size in (500_000, None))
    assert compressed.held_out_share(4_900) == whole.held_out_share(5_000) | {"valid_fraction": 0.204}
    assert compressed.held_out_share(1_000) == {"valid_fraction": 0.25} and whole.held_out_share(1_000) == {}
    assert whole.held_out_share(1_000_000) == {"valid_fraction": 0.1}
    assert compressed.final_share(1_000) == {"valid_fraction": 0.1} and compressed.final_share(10_000) == {}


def test_the_frontier_has_what_no_smaller_file_beats() -> None:
    assert frontier([(3, 0.8), (1, 0.7), (2, 0.6), (4, 0.8), (5, 0.9)]) == [(1, 0.7), (3, 0.8), (5, 0.9)]


def trained(study: optuna.Study, accuracies: list[float], rounds: int = 1) -> int:
    """Epochs of a trial with these accuracies until it is stopped; they are those of each round."""
    trial, done = study.ask(), 0
    pruner = Pruner(trial, "accuracy")
    try:
        for _ in range(rounds):
            pruner.begin(len(accuracies), 10, 0)
            for number, accuracy in enumerate(accuracies, 1):
                done += 1
                pruner.epoch(Epoch(number, 10, 100, 0.1, 0.5, 0.5, accuracy, True))
    except optuna.TrialPruned:
        study.tell(trial, state=optuna.trial.TrialState.PRUNED)
        return done
    study.tell(trial, accuracies[-1])
    return done


def test_trials_are_compared_after_the_same_part_of_their_epochs(tmp_path: Path) -> None:
    study = open_study(tmp_path, 0)
    for _ in range(5):
        assert trained(study, [0.5, 0.6, 0.7, 0.8]) == 4
    slow = [0.3, 0.51, 0.55, 0.61, 0.65, 0.71, 0.8, 0.9]  # half as fast in epochs, better in parts
    assert trained(study, slow) == 8
    assert trained(study, [0.3, 0.49, *slow[2:]]) == 2
    assert trained(study, [0.5, 0.6, 0.69, 0.9]) == 3
    assert trained(study, [0.4, 0.9, 0.9, 0.9]) == 1
    assert trained(study, [0.9]) == 1
    assert trained(study, [0.5, 0.6, 0.7, 0.8], rounds=3) == 12, "later rounds report nothing twice"
