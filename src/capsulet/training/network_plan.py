"""Decide whether a network is trained, and with which size, epochs and rounds of cross-validation."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from capsulet.automatic import FEWEST_ROWS, resolve
from capsulet.config import ALWAYS, Options, decided, seconds_of
from capsulet.model.network import Network, build_network
from capsulet.text.corpus import Corpora
from capsulet.training.context import Context
from capsulet.training.loop import Task
from capsulet.training.measured_model import MeasuredModel
from capsulet.training.messages import no_time_left
from capsulet.training.planning import NetworkPlan, described, measured_speed, passes, planned, usual_rounds
from capsulet.training.resuming import Resuming
from capsulet.training.setup import Setup

# at this accuracy on this many texts, a network cannot be clearly better
MANY_VALIDATION_TEXTS, NEARLY_ALL = 1_000, 0.995
WORTH_A_TRIAL = 1_000_000  # tokens; if a training reads more, a short trial estimates its time first


def new_network(options: Options, corpora: Corpora) -> Network:
    """A network of these options for the words and classes of the corpora."""
    training = options.training
    return build_network(
        options.model, corpora.vocab_size, len(corpora.labels), training.dropout, training.embedding_dropout,
        training.head_dropout, corpora.train.spellings,
    )  # fmt: skip


def task_of(setup: Setup, options: Options, context: Context) -> Task:
    """The training of a network on the texts, without checkpoints."""
    corpora = setup.corpora
    valid = corpora.valid if len(corpora.valid) else None
    return Task(
        corpora.train,
        valid,
        options.training,
        setup.weights,
        context.monitor,
        stop=context.stop,
        workers=context.workers,
    )


@dataclass(frozen=True)
class NetworkPlanner:
    """Plans the network of a training. In a distributed training, the first process tells its plan to the others."""

    setup: Setup
    linear: MeasuredModel | None  # in the first process, if there are n-gram features
    context: Context
    resuming: Resuming
    started: float  # when the training started, by `time.perf_counter`

    def plan(self) -> NetworkPlan | str:
        """The plan of the network, or why no network is trained and the model is linear."""
        corpora, workers = self.setup.corpora, self.context.workers
        optional = self.linear is not None and self.setup.options.training.network != ALWAYS
        if workers.add(optional and len(corpora.train) < FEWEST_ROWS)[0]:
            return f"fewer than {FEWEST_ROWS} texts are too few to tell whether a network helps: the model is linear"
        if workers.add(optional and self.solved)[0]:
            return "the linear model is nearly always right, so no network is trained: the model is linear"
        limit = self.setup.asked.training.time
        held_out = len(corpora.valid) > 0
        before = self.unfinished() if self.resuming.resume and limit is not None else None
        if before is not None:  # a resumed training keeps its plan
            return NetworkPlan(before, usual_rounds(before, self.setup.size.tokens, held_out))
        plan = None
        if self.context.is_first:
            left = None if limit is None else seconds_of(limit) - (time.perf_counter() - self.started)
            plan = planned(self.candidates, self.setup.size.tokens, held_out, left)
            if plan is not None and plan.seconds is None:
                plan = self.estimated(plan)
        plan = self.shared(plan)
        if plan is None:
            return no_time_left(decided(limit))
        if plan.seconds is not None:
            self.context.tell(described(plan, limit))
        return plan

    @property
    def solved(self) -> bool:
        """Whether the linear model classifies nearly all of many validation texts correctly."""
        if self.linear is None or len(self.linear.validation or ()) < MANY_VALIDATION_TEXTS:
            return False
        return self.linear.history.best.epoch.valid_accuracy >= NEARLY_ALL

    def estimated(self, plan: NetworkPlan) -> NetworkPlan:
        """The plan with its estimated time if the training is long enough to be worth a trial, else the plan itself."""
        tokens = self.setup.size.tokens * passes(decided(plan.options.training.epochs), plan.rounds)
        if tokens < WORTH_A_TRIAL or self.context.workers.size > 1:
            return plan
        return replace(plan, seconds=tokens / max(self.speed(plan.options), 1.0))

    def candidates(self) -> Iterator[tuple[Options, Callable[[], float]]]:
        """Yield options by size, the largest first, with functions that measure their speed.

        Several sizes are candidates only if the user gives a time and no size.
        """
        asked = self.setup.asked
        free = asked.training.time is not None and asked.model.size is None
        sizes = ["base", self.setup.options.model.size, "tiny"] if free else [self.setup.options.model.size]
        for size in sizes:
            options = self.of_size(decided(size))
            yield options, partial(self.speed, options)

    def speed(self, options: Options) -> float:
        """Tokens per second of a training with these options."""
        return measured_speed(new_network(options, self.setup.corpora), task_of(self.setup, options, self.context))

    def of_size(self, size: str) -> Options:
        """The options that are resolved from those of the user with another size."""
        asked = replace(self.setup.asked, model=replace(self.setup.asked.model, size=size))
        resolved = resolve(asked, self.setup.size)
        training = replace(resolved.training, valid_fraction=self.setup.options.training.valid_fraction)
        return replace(resolved, training=training)

    def unfinished(self) -> Options | None:
        """The options of the training that is resumed; None: there is none."""
        stored = json.loads(self.context.workers.broadcast(json.dumps(dict(self.resuming.stored_options())).encode()))
        if "size" not in stored:  # no checkpoint, or one of an older version, which is refused later
            return None
        options = self.of_size(stored["size"])
        training = replace(options.training, epochs=stored["epochs"], adversarial=stored["adversarial"])
        return replace(options, training=training)

    def shared(self, plan: NetworkPlan | None) -> NetworkPlan | None:
        """Give the plan of the first process to all processes; only the first one has it in `plan`."""
        sent = {}
        if plan is not None:
            training = plan.options.training
            sent = {
                "size": plan.options.model.size, "epochs": training.epochs, "adversarial": training.adversarial,
                "rounds": plan.rounds, "seconds": plan.seconds,
            }  # fmt: skip
        received = json.loads(self.context.workers.broadcast(json.dumps(sent).encode()))
        if not received:
            return None
        options = self.of_size(received["size"])
        training = replace(options.training, epochs=received["epochs"], adversarial=received["adversarial"])
        return NetworkPlan(replace(options, training=training), received["rounds"], received["seconds"])
