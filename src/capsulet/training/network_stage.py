"""Second stage of a training: plan and train the network, and add it to the linear model if that helps."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from capsulet.automatic import MANY_TEXTS
from capsulet.config import ALWAYS, Options, decided
from capsulet.model.kernels import training_threads
from capsulet.text.batch import true_labels
from capsulet.text.corpus import Corpora
from capsulet.training.checkpoint import Checkpoints, tensors_of
from capsulet.training.context import Context
from capsulet.training.cross_validation import Rounds, cross_validate, values_of
from capsulet.training.folds import FOLDS, Rows, fold_numbers
from capsulet.training.history import History
from capsulet.training.linear_stage import LinearStage, measured_snapshot, shifted, usual_share
from capsulet.training.loop import train_network
from capsulet.training.measured_model import NO_MODEL, MeasuredModel, interrupted
from capsulet.training.mixture import GAIN_OF_FEW, GAIN_OF_MANY, Mixture, Output, choose_mixture, linear_alone, verdict
from capsulet.training.model_writer import ModelWriter
from capsulet.training.network_plan import NetworkPlanner, new_network, task_of
from capsulet.training.ngram_table import table_of
from capsulet.training.planning import NetworkPlan
from capsulet.training.resuming import Resuming
from capsulet.training.setup import Setup
from capsulet.training.validation_texts import ValidationTexts
from capsulet.training.workers import Alone

# gains, in standard errors, below and above which cross-validation ends early; a win also needs ENOUGH_TEXTS texts
LOST, WON, ENOUGH_TEXTS = -2.0, 3.0, 500


@dataclass
class NetworkStage:
    """The network of a training, and the decision whether to use it.

    The processes of a distributed training all run this stage. Only the first of them has the linear model, so it makes
    the decisions and tells them to the others. training/linear_stage.py says which texts the validation texts are.
    """

    setup: Setup
    linear_stage: LinearStage | None  # None: no n-gram features, or this is not the first process
    linear: MeasuredModel | None  # the model of the linear stage
    writer: ModelWriter
    context: Context
    resuming: Resuming
    started: float  # when the training started, by `time.perf_counter`
    decision: str = ""  # why the model has the network, or why it does not

    def run(self) -> MeasuredModel:
        """Return the model to keep: with the network if it helps. `writer` then has the options of this model."""
        with training_threads(self.options.training.threads):
            plan = NetworkPlanner(self.setup, self.linear, self.context, self.resuming, self.started).plan()
            if isinstance(plan, str):
                self.decide(plan)
                return self.linear or NO_MODEL
            self.setup = replace(self.setup, options=plan.options)
            self.writer = replace(self.writer, start=replace(self.writer.start, options=plan.options))
            checkpoints = self.resuming.checkpoints(self.writer.start)
            model = self.train(plan, checkpoints)
            if model.history.stopped != "interrupted":
                checkpoints.remove()
            return model

    @property
    def corpora(self) -> Corpora:
        """The texts."""
        return self.setup.corpora

    @property
    def options(self) -> Options:
        """The options; those of the plan as soon as there is one."""
        return self.setup.options

    @property
    def workers(self) -> Alone:
        """The processes that train the network."""
        return self.context.workers

    @property
    def always(self) -> bool:
        """Whether the user wants the network in any case."""
        return self.options.training.network == ALWAYS

    def train(self, plan: NetworkPlan, checkpoints: Checkpoints) -> MeasuredModel:
        """Train the network and return the combined model, or the linear model if the network does not help."""
        options, corpora, linear = plan.options, self.corpora, self.linear
        task, mixture = task_of(self.setup, options, self.context), None
        answers: Rounds | None = None  # predictions for texts that the network was not trained on
        # with n-gram features, the folder has the linear model until it is known whether the network helps
        writes_epochs = linear is None and self.context.is_first
        if plan.rounds:
            folds = fold_numbers(corpora.train, np.arange(len(corpora.train)), options.training.seed, FOLDS)
            untrained = partial(new_network, options, corpora)
            answers = cross_validate(untrained, task, folds, plan.rounds, self.context.tell, self.settled)
            if answers is None and self.workers.add(linear is not None)[0]:
                return interrupted(linear)
            if answers is not None:
                answers = self.validation_part(answers)
                mixture = self.mixture(answers)
                self.decide_by_mixture(mixture, len(answers.rows))
                if self.workers.add(mixture is not None and mixture.strength is None)[0]:
                    return linear or NO_MODEL
                task = replace(task, measured=answers.measured, keep_last=True)
        keep = self.writer.write_epoch if writes_epochs else task.keep
        network = new_network(options, corpora)
        task = replace(task, keep=keep, checkpoints=checkpoints, resume=self.resuming.resume)
        history = train_network(network, task)
        if not self.context.is_first:
            return MeasuredModel(history)
        if answers and history.stopped == "interrupted":  # cross-validation did not measure a network of fewer epochs
            return interrupted(linear) if linear else MeasuredModel(history)
        if not answers and task.valid is not None:
            network.to("cpu").load_state_dict(tensors_of(history.best.weights))
            rows = np.arange(len(task.valid))
            answers = Rounds(rows, values_of(network, task.valid), ())
            mixture = self.mixture(answers)
            self.decide_by_mixture(mixture, len(rows))
        if mixture is None or answers is None:
            return MeasuredModel(history)
        return self.mixed(mixture, answers.rows, history, plan.rounds)

    def decide_by_mixture(self, mixture: Mixture | None, texts: int) -> None:
        """Print and store whether a mixture uses the network, and why; it was chosen on this many texts."""
        if mixture is not None and self.linear_stage is not None:
            self.decide(verdict(mixture, texts, self.always))

    def decide(self, decision: str) -> None:
        """Print and store a decision."""
        self.decision = decision
        self.context.tell(decision)

    def mixture(self, rounds: Rounds) -> Mixture | None:
        """The mixture of n-gram features and network; None in other processes than the first."""
        if not self.context.is_first:
            return None
        model = self.options.model
        output = Output(model.head == "capsule", model.multi_label)
        if self.linear_stage is None:
            return Mixture(0.0, rounds.values, output)
        if not len(rounds.rows):
            return linear_alone(rounds.values, model.multi_label)
        linear = self.linear_stage
        places = np.full(len(linear.corpus), -1)  # of each text of the corpus among the validation texts
        places[linear.rows] = np.arange(len(linear.rows))
        scores, truth = linear.scores[places[rounds.rows]], true_labels(linear.corpus, rounds.rows)
        usual = usual_share(len(self.corpora.train), len(self.corpora.labels))
        needed = GAIN_OF_MANY if len(self.corpora.train) >= MANY_TEXTS else GAIN_OF_FEW
        return choose_mixture(scores, rounds.values, truth, output, usual, -math.inf if self.always else needed)

    def validation_part(self, rounds: Rounds) -> Rounds:
        """The predictions for the validation texts of the linear model, without the only text of a class."""
        if self.linear_stage is None:
            return rounds
        kept = np.isin(rounds.rows, self.linear_stage.rows)
        return replace(rounds, rows=rounds.rows[kept], values=rounds.values[kept])

    def settled(self, rounds: Rounds) -> bool:
        """Whether it is clear after these rounds that the network helps, or that it does not."""
        part = self.validation_part(rounds)
        mixture = self.mixture(part)
        if mixture is None or self.linear_stage is None:
            return self.workers.add(0)[0] > 0
        lost = mixture.strength is None and mixture.gain < LOST
        won = mixture.gain > WON and len(part.rows) >= ENOUGH_TEXTS
        return self.workers.add(lost or won)[0] > 0

    def mixed(self, mixture: Mixture, rows: Rows, history: History, rounds: int) -> MeasuredModel:
        """The combined model and its validation texts; the linear model if the mixture has no network."""
        if mixture.strength is None:
            assert self.linear is not None
            linear = replace(self.linear.history, epochs=history.epochs, stopped=history.stopped)
            return replace(self.linear, history=linear)
        corpus, folds = self.corpora.valid, None
        weights, ngrams = dict(history.best.weights), None
        if self.linear_stage is not None:
            corpus, folds = self.linear_stage.corpus, self.linear_stage.folds
            mixture, offsets = shifted(mixture, self.linear_stage, rows, self.options)
            table = table_of(
                self.linear_stage.linear, mixture.strength or 0.0, offsets, decided(self.options.model.ngram_features)
            )
            weights |= table.weights()
            ngrams = {"rows": len(table.checks), "strength": mixture.strength or 0.0, "counts": table.counts}
        elif rounds:
            corpus = self.corpora.train
        best = replace(measured_snapshot(mixture, corpus, rows, history.best.epoch), weights=weights)
        validation = ValidationTexts(corpus, self.corpora.vocab_size, rows, mixture.lengths if rounds else None, folds)
        return MeasuredModel(replace(history, best=best, ngrams=ngrams, folds=FOLDS if rounds else 0), validation)
