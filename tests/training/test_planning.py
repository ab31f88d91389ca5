"""`--time`: a plan that fits, from the speed of a short trial."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

import capsulet
from capsulet.automatic import DataSize, resolve
from capsulet.cli.main import main
from capsulet.config import Options, build_options
from capsulet.results import Epoch
from capsulet.storage.folder import read_config
from capsulet.training import planning
from capsulet.training.planning import MARGIN, fitting, measured_speed, passes, planned, reductions, usual_rounds
from tests.conftest import TINY, generated_rows
from tests.training.test_cross_validation import corpus
from tests.training.test_loop import MODEL, OPTIONS

TOKENS = 1_000


def options_of(epochs: int = 10, adversarial: float = 0.6, size: str = "small") -> Options:
    values = {"epochs": epochs, "adversarial": adversarial, "size": size}
    return resolve(build_options(**values), DataSize(100, TOKENS, 50, 3))


def summary(plan: planning.NetworkPlan | None) -> tuple[object, ...] | None:
    """Size, epochs, rounds and noise of a plan."""
    if plan is None:
        return None
    training = plan.options.training
    return plan.options.model.size, training.epochs, plan.rounds, training.adversarial


def test_first_fewer_rounds_then_fewer_epochs() -> None:
    assert list(reductions(5, 2, 3)) == [(5, 2), (5, 1), (4, 1), (3, 1)]
    assert list(reductions(4, 0, 1)) == [(4, 0), (3, 0), (2, 0), (1, 0)]  # with validation texts
    assert list(reductions(2, 1, 3)) == [(2, 1)]


def test_few_tokens_have_all_rounds() -> None:
    options = options_of(epochs=10)
    assert usual_rounds(options, 1_000, held_out=True) == 0
    assert [usual_rounds(options, tokens, False) for tokens in (1, 1_000, 80_000, 10**9)] == [5, 5, 3, 1]
    assert passes(10, 0) == 10 and passes(10, 5) == pytest.approx(50)


SPEED = 1_000.0  # tokens per second: one pass per second


@pytest.mark.parametrize(
    ("seconds", "wanted"),
    [
        (50, ("small", 10, 5, 0.6)), (30, ("small", 10, 2, 0.6)), (18, ("small", 10, 1, 0.6)),
        (9, ("small", 5, 1, 0.6)), (5.4, ("small", 3, 1, 0.6)),
        (4, ("small", 3, 1, 0.0)), (1.2, ("small", 1, 1, 0.0)), (1, None),
    ],
)  # fmt: skip
def test_the_best_plan_that_fits(seconds: float, wanted: tuple[object, ...] | None) -> None:
    plan = fitting(options_of(), TOKENS, 5, seconds / MARGIN + 1e-6, SPEED)
    assert summary(plan) == wanted
    assert plan is None or plan.seconds <= seconds + 1e-6


def test_a_faster_machine_does_more() -> None:
    plans = [summary(fitting(options_of(), TOKENS, 5, 10, speed)) for speed in (50, 500, 5_000, 50_000)]
    assert plans == [None, ("small", 3, 1, 0.0), ("small", 10, 4, 0.6), ("small", 10, 5, 0.6)]


@pytest.mark.parametrize(
    ("speeds", "wanted"),
    [
        ({"base": 10_000}, ("base", 10, 5, 0.6)), ({"base": 2_000, "small": 10_000}, ("small", 10, 5, 0.6)),
        ({"base": 1_000, "small": 2_000, "tiny": 10_000}, ("tiny", 10, 5, 0.6)),
        ({"base": 1_000, "small": 2_000, "tiny": 2_500}, ("tiny", 10, 1, 0.6)),
        ({"base": 1, "small": 1, "tiny": 1}, None),
    ],
)  # fmt: skip
def test_the_largest_size_that_fits_is_taken(speeds: dict[str, float], wanted: tuple[object, ...] | None) -> None:
    measured = []

    def candidates() -> Iterator[planning.Candidate]:
        for size in ("base", "small", "tiny"):
            yield options_of(size=size), lambda size=size: measured.append(size) or speeds[size]

    assert summary(planned(candidates, TOKENS, False, 10.0)) == wanted
    assert measured == list(speeds)  # smaller ones are not tried
    assert summary(planned(candidates, TOKENS, False, None)) == ("base", 10, 5, 0.6) and measured == list(speeds)


def test_the_speed_is_measured_in_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    from capsulet.model.network import build_network
    from capsulet.training.loop import Task

    monkeypatch.setattr(planning, "PROBE_SECONDS", 0.05)
    assert measured_speed(build_network(MODEL, 50, 3), Task(corpus(60), None, OPTIONS)) > 0


QUICK = {name: value for name, value in TINY.items() if name not in ("num_layers", "hidden_size", "valid_fraction")}


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps({"label": label, "text": text}) + "\n" for label, text in generated_rows(60)))
    return path


@pytest.mark.parametrize(("speed", "size", "epochs"), [(1e9, "base", 2), (100.0, "tiny", 1)])
def test_the_plan_is_told_and_stored(
    speed: float, size: str, epochs: int, rows: Path, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setattr("capsulet.training.network_plan.measured_speed", lambda *arguments: speed)
    lines, limit = list[str](), "1m" if speed > 1e6 else "14"
    options = {**QUICK, "epochs": 2, "time": limit}
    training = capsulet.train(rows, tmp_path / "model", tell=lines.append, **options)
    (plan,) = (line for line in lines if line.startswith("network, planned for "))
    rounds = 5 if size == "base" else 1
    several = "1 round" if rounds == 1 else f"up to {rounds} rounds"
    assert plan.startswith(f"network, planned for {limit}: size {size}, {epochs} epochs, {several} of cross-validation")
    stored = read_config(tmp_path / "model").options
    assert (stored.model.size, stored.training.epochs) == (size, epochs) and len(training.epochs) == epochs
    assert sum("cross-validation round" in line for line in lines) == rounds


def test_a_size_that_was_given_is_kept(rows: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("capsulet.training.network_plan.measured_speed", lambda *arguments: 1e9)
    capsulet.train(rows, tmp_path / "model", **{**QUICK, "epochs": 1}, time="1h", size="tiny")
    stored = read_config(tmp_path / "model").options.model
    assert (stored.size, stored.hidden_size, stored.num_layers) == ("tiny", 32, 1)


def test_a_slow_step_after_an_epoch_does_not_turn_the_speed_negative(monkeypatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(planning, "time", SimpleNamespace(perf_counter=lambda: clock[0]))
    probe = planning.Probe()
    probe.begin(2, 1, 0)
    clock[0] = 1.0
    probe.step(1, 1, 0.0, 100.0)
    probe.epoch(Epoch(1, 1, 100, 0.0, 0.0, 0.0, 0.0, True))
    clock[0] = 3.0
    probe.step(2, 1, 0.0, 10.0)  # 20 tokens in two seconds
    assert probe.speed == 10.0


@pytest.mark.parametrize(("seconds", "speed"), [(-1.0, 100.0), (-1.0, -100.0), (1.0, -100.0), (1.0, 0.0)])
def test_nothing_fits_without_time_or_speed(seconds: float, speed: float) -> None:
    options = resolve(Options(), DataSize(60, 600, 100, 3))
    assert fitting(options, 600, 1, seconds, speed) is None


def test_too_short_a_time_gives_the_linear_model(rows: Path, tmp_path: Path, capsys) -> None:
    assert main(["train", str(rows), "--out", str(tmp_path / "model"), "--time", "0.01s", "--network", "always"]) == 0
    said = capsys.readouterr().err
    assert "0.01s is too short to train a network: the model is linear" in said
    assert read_config(tmp_path / "model").linear_only
    assert main(["train", str(rows), "--out", str(tmp_path / "model"), "--time", "soon"]) == 2
    assert "--time is 'soon': expected a time above 0, such as 90s, 2m or 1h" in capsys.readouterr().err
