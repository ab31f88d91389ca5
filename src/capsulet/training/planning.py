"""Plan the training of the network: its size, epochs, adversarial passes and rounds of cross-validation."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from capsulet.automatic import FEWEST_EPOCHS
from capsulet.config import Options, decided
from capsulet.model.network import Network
from capsulet.results import Epoch
from capsulet.text.corpus import choose_rows
from capsulet.training.checkpoint import Checkpoints
from capsulet.training.loop import ALONE, Task, train_network

MOST_ROUNDS, ROUND_TOKENS = 5, 2_000_000  # rounds of cross-validation, and tokens that all of them may read
LEFT_OUT = 0.2  # share of the texts that a round leaves out
PROBE_SECONDS, PROBE_TEXTS = 1.5, 2_000  # length and texts of the trial that measures the speed
WARM_UP = 0.3  # share of the trial that is not counted
MARGIN = 0.85  # share of the available time that a plan may use
SPEEDUP = 1.6  # factor of the speed if there are no adversarial passes
Candidate = tuple[Options, Callable[[], float]]  # options, and a function that measures tokens per second


@dataclass(frozen=True)
class NetworkPlan:
    """The plan of the network training: options, rounds of cross-validation, estimated time."""

    options: Options
    rounds: int  # of cross-validation
    seconds: float | None = None  # that it takes; None: not measured


class Probe:
    """Measures the speed of a few training steps."""

    def __init__(self) -> None:
        self.speed = 0.0  # tokens per second
        self.began = self.epoch_began = time.perf_counter()
        self.tokens = 0.0  # read in the epochs before this one
        self.warm: tuple[float, float] | None = None  # seconds and tokens when the first, slow steps are over

    def reading(self, rows: int) -> None: ...

    def begin(self, epochs: int, steps: int, done: int) -> None:
        """Start the clock."""
        self.began = self.epoch_began = time.perf_counter()

    def step(self, epoch: int, step: int, loss: float, tokens_per_second: float) -> None:
        """Keep the mean speed since the first steps."""
        now = time.perf_counter()
        seconds = now - self.began
        # tokens_per_second is the mean of this epoch only
        tokens, self.speed = self.tokens + tokens_per_second * (now - self.epoch_began), tokens_per_second
        if self.warm is None:
            self.warm = (seconds, tokens) if seconds > WARM_UP * PROBE_SECONDS else None
        elif seconds > self.warm[0]:
            self.speed = (tokens - self.warm[1]) / (seconds - self.warm[0])

    def epoch(self, report: Epoch) -> None:
        """Count the tokens of an epoch that is over."""
        self.tokens, self.epoch_began = self.tokens + report.tokens, time.perf_counter()

    def stop(self) -> bool:
        """Whether the trial has taken long enough."""
        return time.perf_counter() - self.began >= PROBE_SECONDS


def measured_speed(network: Network, task: Task) -> float:
    """Tokens per second of this training in one process, measured in a short trial whose result is discarded."""
    rows = np.random.default_rng(0).permutation(len(task.train))[:PROBE_TEXTS]
    few, probe = choose_rows(task.train, np.sort(rows)), Probe()
    trial = replace(
        task, train=few, valid=choose_rows(few, np.arange(min(len(few), 8))), monitor=probe, stop=probe.stop,
        keep=lambda epochs, best: None, checkpoints=Checkpoints(), workers=ALONE, resume=False, measured=(),
        keep_last=True,
    )  # fmt: skip
    train_network(network, trial)
    return probe.speed


def usual_rounds(options: Options, tokens: int, held_out: bool) -> int:
    """Number of rounds of cross-validation: none with held-out texts, else as many as `ROUND_TOKENS` allows."""
    if held_out:
        return 0
    whole = tokens * decided(options.training.epochs)
    return max(1, min(MOST_ROUNDS, int(ROUND_TOKENS / max(whole * (1 - LEFT_OUT), 1))))


def passes(epochs: int, rounds: int) -> float:
    """Number of passes over the training texts, by the final training and by the cross-validation."""
    return epochs * (1 + rounds * (1 - LEFT_OUT))


def fitting(options: Options, tokens: int, rounds: int, seconds: float, speed: float) -> NetworkPlan | None:
    """The plan with the fewest reductions that fits into this many seconds at this speed; None: there is none.

    First the rounds of cross-validation are reduced, then the epochs; at last the adversarial passes are left out, too.
    """
    if seconds <= 0 or speed <= 0:
        return None
    epochs, adversarial = decided(options.training.epochs), decided(options.training.adversarial)
    for strength in (adversarial, 0.0) if adversarial else (0.0,):
        fewest = FEWEST_EPOCHS if strength else 1
        speedup = SPEEDUP if strength < adversarial else 1.0
        for fewer_epochs, fewer_rounds in reductions(epochs, rounds, fewest):
            needed = tokens * passes(fewer_epochs, fewer_rounds) / (speed * speedup)
            if needed <= MARGIN * seconds:
                training = replace(options.training, epochs=fewer_epochs, adversarial=strength)
                return NetworkPlan(replace(options, training=training), fewer_rounds, needed)
    return None


def reductions(epochs: int, rounds: int, fewest: int) -> Iterator[tuple[int, int]]:
    """Yield numbers of epochs and rounds, from the usual ones down: first fewer rounds, then fewer epochs.

    At least one round remains if there are any, and `fewest` epochs.
    """
    for fewer_rounds in range(rounds, min(rounds, 1) - 1, -1):
        yield epochs, fewer_rounds
    for fewer_epochs in range(epochs - 1, min(epochs, fewest) - 1, -1):
        yield fewer_epochs, min(rounds, 1)


def planned(
    candidates: Callable[[], Iterator[Candidate]], tokens: int, held_out: bool, seconds: float | None
) -> NetworkPlan | None:
    """The plan of the first candidate that fits into the time without reductions, else a reduced plan of the last one.

    None: no reduced plan fits. Without a limit (`seconds` is None) it is the first candidate, and nothing is measured.
    """
    plan = None
    for options, speed in candidates():
        rounds = usual_rounds(options, tokens, held_out)
        if seconds is None:
            return NetworkPlan(options, rounds)
        began = time.perf_counter()
        plan = fitting(options, tokens, rounds, seconds, speed())
        seconds -= time.perf_counter() - began
        if plan and plan.options == options:  # no epochs and no adversarial passes had to be left out
            return plan
    return plan


def described(plan: NetworkPlan, limit: str | None) -> str:
    """Describe a plan in one line."""
    options, seconds = plan.options, round(plan.seconds or 0)
    clock = f"{seconds // 60}:{seconds % 60:02}"
    rounds = "1 round" if plan.rounds == 1 else f"up to {plan.rounds} rounds"
    return (
        ("network" if limit is None else f"network, planned for {limit}")
        + f": size {options.model.size}, {decided(options.training.epochs)} epochs"
        + (f", {rounds} of cross-validation" if plan.rounds else "")
        + ("" if options.training.adversarial else ", no adversarial passes")
        + f", about {clock}"
    )
