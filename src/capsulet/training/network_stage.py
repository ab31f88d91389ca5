"""Second stage of a training: plan and train the network, and add it to the linear model if that helps."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from capsulet.automatic import FEWEST_ROWS, MANY_TEXTS, DataSize, resolve
from capsulet.config import ALWAYS, Options, decided, seconds_of
from capsulet.model.kernels import training_threads
from capsulet.model.network import Network, build_network
from capsulet.text.batch import true_labels
from capsulet.text.corpus import Corpora
from capsulet.text.labelled import Tell
from capsulet.training.checkpoint import Checkpoints, tensors_of
from capsulet.training.class_weights import Weights
from capsulet.training.cross_validation import Rounds, cross_validate, values_of
from capsulet.training.folds import FOLDS, Rows, fold_numbers
from capsulet.training.history import NOTHING, History, interrupted
from capsulet.training.linear_stage import LinearStage, measured, shifted, usual_share
from capsulet.training.loop import Task, train_network
from capsulet.training.mixture import GAIN_OF_FEW, GAIN_OF_MANY, Mixture, Output, choose_mixture, linear_alone, verdict
from capsulet.training.model_writer import ModelWriter
from capsulet.training.monitor import Monitor
from capsulet.training.ngram_table import table_of
from capsulet.training.planning import NetworkPlan, described, measured_speed, passes, planned, usual_rounds
from capsulet.training.validation_texts import ValidationTexts
from capsulet.training.workers import Alone

MANY_JUDGED, NEARLY_ALL = 1_000, 0.995  # judged texts, and an accuracy on them that no network can clearly raise
# gains, in standard errors, below and above which cross-validation ends early; a win also needs ENOUGH_TEXTS texts
LOST, WON, ENOUGH_TEXTS = -2.0, 3.0, 500
WORTH_A_TRIAL = 1_000_000  # tokens; if a training reads more, a short trial estimates its time first


@dataclass
class NetworkStage:
    """The network of a training, and the decision whether to use it.

    The processes of a distributed training all run this stage. Only the first of them has the linear model, so it makes
    the decisions and `workers` tells them to the others. Judged texts are explained in training/linear_stage.py.
    """

    corpora: Corpora
    asked: Options  # as the user set them
    options: Options  # resolved
    weights: Weights
    first: LinearStage | None  # the first stage; None: no n-gram features, or this is not the first process
    writer: ModelWriter
    monitor: Monitor
    tell: Tell
    stop: Callable[[], bool]  # whether the user wants to stop
    workers: Alone
    resume: bool
    started: float  # when the training started, by `time.perf_counter`
    data: DataSize
    checkpoints: Callable[[ModelWriter], Checkpoints]
    stored: Callable[[], Mapping[str, Any]]  # options of an unfinished training; empty: there is no checkpoint
    decision: str = ""  # why the model has the network, or why it does not

    def run(
        self, linear: History | None, judged: ValidationTexts | None
    ) -> tuple[ModelWriter, History, ValidationTexts | None]:
        """Return the writer, the model to keep and its judged texts.

        `linear` is the linear model and `judged` its judged texts, in the first process; None in the others.
        """
        with ExitStack() as scratch:
            scratch.enter_context(training_threads(self.options.training.threads))
            plan = self.plan(linear)
            if plan is None:
                return self.writer, linear or NOTHING, judged
            self.options = plan.options
            self.writer = replace(self.writer, start=replace(self.writer.start, options=plan.options))
            checkpoints = self.checkpoints(self.writer)
            history, found = self.train(plan, checkpoints, linear, judged)
            if history.stopped != "interrupted":
                checkpoints.remove()
            return self.writer, history, found

    @property
    def always(self) -> bool:
        """Whether the user wants the network in any case."""
        return self.options.training.network == ALWAYS

    def plan(self, linear: History | None) -> NetworkPlan | None:
        """The plan of the network; None: train no network, the model stays linear."""
        few = len(self.corpora.train) < FEWEST_ROWS and not self.always
        if self.workers.add(linear is not None and few)[0]:
            self.decide(
                f"fewer than {FEWEST_ROWS} texts are too few to tell whether a network helps: the model is linear"
            )
            return None
        if self.workers.add(linear is not None and self.solved(linear) and not self.always)[0]:
            self.decide("the linear model is nearly always right, so no network is trained: the model is linear")
            return None
        limit = self.asked.training.time
        held_out = len(self.corpora.valid) > 0
        before = self.unfinished() if self.resume and limit is not None else None
        if before is not None:  # a resumed training keeps its plan
            return NetworkPlan(before, usual_rounds(before, self.data.tokens, held_out))
        plan = None
        if self.workers.rank == 0:
            left = None if limit is None else seconds_of(limit) - (time.perf_counter() - self.started)
            plan = planned(self.candidates, self.data.tokens, held_out, left)
            if plan is not None and plan.seconds is None:
                plan = self.estimated(plan)
        plan = self.shared(plan)
        if plan is None:
            self.decide(f"{limit} is too short to train a network: the model is linear")
        elif plan.seconds is not None:
            self.tell(described(plan, limit))
        return plan

    def solved(self, linear: History) -> bool:
        """Whether the linear model classifies nearly all of many judged texts correctly."""
        judged = 0 if self.first is None else len(self.first.rows)
        return judged >= MANY_JUDGED and linear.best.epoch.valid_accuracy >= NEARLY_ALL

    def estimated(self, plan: NetworkPlan) -> NetworkPlan:
        """The plan with its estimated time if the training is long enough to be worth a trial, else the plan itself."""
        tokens = self.data.tokens * passes(decided(plan.options.training.epochs), plan.rounds)
        if tokens < WORTH_A_TRIAL or self.workers.size > 1:
            return plan
        return replace(plan, seconds=tokens / max(self.speed(plan.options), 1.0))

    def candidates(self) -> Iterator[tuple[Options, Callable[[], float]]]:
        """Yield options by size, the largest first, with functions that measure their speed.

        Several sizes are candidates only if the user gives a time and no size.
        """
        free = self.asked.training.time is not None and self.asked.model.size is None
        sizes = ["base", self.options.model.size, "tiny"] if free else [self.options.model.size]
        for size in sizes:
            options = self.of_size(decided(size))
            yield options, partial(self.speed, options)

    def speed(self, options: Options) -> float:
        """Tokens per second of a training with these options."""
        return measured_speed(self.network(options), self.task(options))

    def of_size(self, size: str) -> Options:
        """The options that are resolved from those of the user with another size."""
        asked = replace(self.asked, model=replace(self.asked.model, size=size))
        found = resolve(asked, self.data)
        training = replace(found.training, valid_fraction=self.options.training.valid_fraction)
        return replace(found, training=training)

    def unfinished(self) -> Options | None:
        """The options of the training that is resumed; None: there is none."""
        stored = json.loads(self.workers.spread(json.dumps(dict(self.stored())).encode()))
        if "size" not in stored:  # no checkpoint, or one of an older version, which is refused later
            return None
        options = self.of_size(stored["size"])
        training = replace(options.training, epochs=stored["epochs"], adversarial=stored["adversarial"])
        return replace(options, training=training)

    def shared(self, plan: NetworkPlan | None) -> NetworkPlan | None:
        """Give the plan of the first process to all processes; only the first one has it in `plan`."""
        made = {}
        if plan is not None:
            training = plan.options.training
            made = {
                "size": plan.options.model.size, "epochs": training.epochs, "adversarial": training.adversarial,
                "rounds": plan.rounds, "seconds": plan.seconds,
            }  # fmt: skip
        found = json.loads(self.workers.spread(json.dumps(made).encode()))
        if not found:
            return None
        options = self.of_size(found["size"])
        training = replace(options.training, epochs=found["epochs"], adversarial=found["adversarial"])
        return NetworkPlan(replace(options, training=training), found["rounds"], found["seconds"])

    def network(self, options: Options) -> Network:
        """A new network of these options."""
        training, corpora = options.training, self.corpora
        return build_network(
            options.model, corpora.vocab_size, len(corpora.labels), training.dropout, training.embedding_dropout,
            training.head_dropout, corpora.train.spellings,
        )  # fmt: skip

    def task(self, options: Options) -> Task:
        """The training of a network on the corpora, without checkpoints."""
        valid = self.corpora.valid if len(self.corpora.valid) else None
        return Task(
            self.corpora.train, valid, options.training, self.weights, self.monitor, stop=self.stop,
            workers=self.workers,
        )  # fmt: skip

    def train(
        self, plan: NetworkPlan, checkpoints: Checkpoints, linear: History | None, judged: ValidationTexts | None
    ) -> tuple[History, ValidationTexts | None]:
        """Train the network and return the combined model, or the linear model if the network does not help."""
        options, corpora = plan.options, self.corpora
        task, mixture = self.task(options), None
        answers: Rounds | None = None  # answers to texts that the network was not trained on
        # with n-gram features, the folder has the linear model until it is known whether the network helps
        writes_epochs = linear is None and self.workers.rank == 0
        if plan.rounds:
            folds = fold_numbers(corpora.train, np.arange(len(corpora.train)), options.training.seed, FOLDS)
            make = partial(self.network, options)
            answers = cross_validate(make, task, folds, plan.rounds, self.tell, self.settled)
            if answers is None and self.workers.add(linear is not None)[0]:
                return interrupted(linear), judged
            if answers is not None:
                answers = self.judged_part(answers)
                mixture = self.mixture(answers)
                self.compare(mixture, len(answers.rows))
                if self.workers.add(mixture is not None and mixture.strength is None)[0]:
                    return linear or NOTHING, judged
                task = replace(task, measured=answers.measured, keep_last=True)
        keep = self.writer.write_epoch if writes_epochs else task.keep
        network = self.network(options)
        history = train_network(network, replace(task, keep=keep, checkpoints=checkpoints, resume=self.resume))
        if self.workers.rank:
            return history, None
        if answers and history.stopped == "interrupted":  # cross-validation did not measure a network of fewer epochs
            return (interrupted(linear), judged) if linear else (history, None)
        if not answers and task.valid is not None:
            network.to("cpu").load_state_dict(tensors_of(history.best.weights))
            rows = np.arange(len(task.valid))
            answers = Rounds(rows, values_of(network, task.valid), ())
            mixture = self.mixture(answers)
            self.compare(mixture, len(rows))
        if mixture is None or answers is None:
            return history, None
        return self.mixed(mixture, answers.rows, history, plan.rounds, linear, judged)

    def compare(self, mixture: Mixture | None, texts: int) -> None:
        """Print and store whether the network is used, and why."""
        if mixture is not None and self.first is not None:
            self.decide(verdict(mixture, texts, self.always))

    def decide(self, decision: str) -> None:
        """Print and store a decision."""
        self.decision = decision
        self.tell(decision)

    def mixture(self, rounds: Rounds) -> Mixture | None:
        """The mixture of n-gram features and network; None in other processes than the first."""
        if self.workers.rank:
            return None
        model = self.options.model
        output = Output(model.head == "capsule", model.multi_label)
        if self.first is None:
            return Mixture(0.0, rounds.values, output)
        if not len(rounds.rows):
            return linear_alone(rounds.values, model.multi_label)
        places = np.full(len(self.first.corpus), -1)  # of each text of the corpus among the judged texts
        places[self.first.rows] = np.arange(len(self.first.rows))
        scores, truth = self.first.scores[places[rounds.rows]], true_labels(self.first.corpus, rounds.rows)
        usual = usual_share(len(self.corpora.train), len(self.corpora.labels))
        needed = GAIN_OF_MANY if len(self.corpora.train) >= MANY_TEXTS else GAIN_OF_FEW
        return choose_mixture(scores, rounds.values, truth, output, usual, -math.inf if self.always else needed)

    def judged_part(self, rounds: Rounds) -> Rounds:
        """The answers to judged texts of the linear model; these do not include the only row of a class."""
        if self.first is None:
            return rounds
        kept = np.isin(rounds.rows, self.first.rows)
        return replace(rounds, rows=rounds.rows[kept], values=rounds.values[kept])

    def settled(self, rounds: Rounds) -> bool:
        """Whether it is clear after these rounds that the network helps, or that it does not."""
        part = self.judged_part(rounds)
        mixture = self.mixture(part)
        if mixture is None or self.first is None:
            return self.workers.add(0)[0] > 0
        lost = mixture.strength is None and mixture.gain < LOST
        won = mixture.gain > WON and len(part.rows) >= ENOUGH_TEXTS
        return self.workers.add(lost or won)[0] > 0

    def mixed(
        self,
        mixture: Mixture,
        rows: Rows,
        history: History,
        rounds: int,
        linear: History | None,
        judged: ValidationTexts | None,
    ) -> tuple[History, ValidationTexts]:
        """The combined model and its judged texts; the linear model if the mixture has no network."""
        if mixture.strength is None:
            assert linear is not None and judged is not None
            return replace(linear, epochs=history.epochs, stopped=history.stopped), judged
        corpus, folds = self.corpora.valid, None
        weights, ngrams = dict(history.best.weights), None
        if self.first is not None:
            corpus, folds = self.first.corpus, self.first.folds
            mixture, offsets = shifted(mixture, self.first, rows, self.options)
            table = table_of(
                self.first.linear, mixture.strength or 0.0, offsets, decided(self.options.model.ngram_features)
            )
            weights |= table.weights()
            ngrams = {"rows": len(table.checks), "strength": mixture.strength or 0.0, "counts": table.counts}
        elif rounds:
            corpus = self.corpora.train
        best = measured(mixture, corpus, rows, history.best.epoch)
        best = replace(best, weights=weights)
        found = ValidationTexts(corpus, self.corpora.vocab_size, rows, mixture.lengths if rounds else None, folds)
        return replace(history, best=best, ngrams=ngrams, folds=FOLDS if rounds else 0), found
