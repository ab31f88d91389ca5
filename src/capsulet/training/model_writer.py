"""Write the model folder of a training: first the linear model, at the end the final model, calibrated and measured."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from capsulet.config import decided
from capsulet.evaluation.calibrate import MOST_ROWS, describe_answers
from capsulet.evaluation.evaluate import evaluate_texts
from capsulet.model.shapes import PIECE_CODES, num_parameters, shapes_of
from capsulet.report.measures import Measures, Recorder
from capsulet.results import Epoch, Evaluation
from capsulet.runtime.classifier import Classifier
from capsulet.runtime.session import session_of
from capsulet.storage.card import model_card
from capsulet.storage.folder import write_folder
from capsulet.storage.model_config import ModelConfig, NgramTable, TrainingMetrics
from capsulet.storage.model_file import ORDER, pack_model, word_tensors
from capsulet.storage.tensors import Tensor, from_array
from capsulet.text.corpus import Corpora
from capsulet.training.history import History, Snapshot, Weights
from capsulet.training.measured_model import MeasuredModel
from capsulet.training.validation_texts import ValidationTexts


def ngram_table(facts: Mapping[str, float]) -> NgramTable:
    """The part of the configuration that describes the n-gram table."""
    return NgramTable(int(facts["rows"]), facts["strength"], counts=bool(facts["counts"]))


@dataclass(frozen=True)
class ModelWriter:
    """The folder of a model that is being trained."""

    path: Path
    start: ModelConfig  # what is known before the training; the rest is replaced
    corpora: Corpora

    def write_epoch(self, epochs: Sequence[Epoch], best: Snapshot) -> None:
        """Write the best network so far."""
        self.write(self.config_of(History(tuple(epochs), best, "running")), best.weights, epochs)

    def finish(self, model: MeasuredModel, measure: bool = True) -> Measures | None:
        """Calibrate and write a model; with `measure`, also return the data of its report."""
        history, validation, corpora = model.history, model.validation, self.corpora
        config, weights = self.config_of(history), history.best.weights
        if validation is None:  # no texts were held out or left out: the network is measured on the training texts
            corpus = corpora.valid if len(corpora.valid) else corpora.train
            validation = ValidationTexts(corpus, corpora.vocab_size, np.arange(len(corpus)))
        classifier = self.classifier(config, weights)
        if validation.lengths is not None or len(corpora.valid):
            known = validation.sample(MOST_ROWS)
            described = describe_answers(classifier, known.encoded, known.answers(classifier), known.truth)
            config = dataclasses.replace(config, **described)
        measures = None
        if measure:
            classifier = self.classifier(config, weights)
            recorder = Recorder(classifier, spelled=True)
            measures = recorder.finish(evaluate_texts(classifier, validation.sample().windows(classifier), recorder))
            config = dataclasses.replace(config, metrics=with_measures(config.metrics, measures.evaluation))
        self.write(config, weights, history.epochs)
        return measures

    def config_of(self, history: History) -> ModelConfig:
        """The configuration of a model with the best weights."""
        epoch, thresholds, ngrams = history.best.epoch, history.best.thresholds, history.ngrams
        metrics = TrainingMetrics(
            epoch.valid_accuracy, epoch.valid_loss, epoch.epoch, len(history.epochs), history.stopped,
            epoch.valid_macro_f1, epoch.valid_micro_f1, folds=history.folds or None,
        )  # fmt: skip
        return dataclasses.replace(
            self.start, metrics=metrics, parameters=num_parameters(shapes_of(history.best.weights)),
            thresholds=None if thresholds is None else tuple(thresholds.tolist()), linear_only=history.linear_only,
            ngrams=None if ngrams is None else ngram_table(ngrams),
        )  # fmt: skip

    @cached_property
    def dictionary(self) -> dict[str, Tensor]:
        """The tensors of the words, which are the same in every epoch."""
        return word_tensors(self.corpora.words, self.start.reads_similar_words)

    def words_of(self, config: ModelConfig) -> dict[str, Tensor]:
        """The tensors of the words; a model without a network reads no word as a similar one."""
        return {name: tensor for name, tensor in self.dictionary.items() if name != ORDER or config.reads_similar_words}

    def stored(self, weights: Weights) -> Weights:
        """The weights as the file stores them: rows of words include their pieces; pieces also have their own rows."""
        options, spellings = self.start.options.model, self.corpora.train.spellings
        name = "embedding.table" if options.embedding == "plain" else "embedding.codes"
        if not decided(options.piece_codes) or name not in weights:
            return weights
        from capsulet.model.embedding import Pieces, folded  # loads PyTorch

        pieces = Pieces(self.corpora.vocab_size, decided(options.piece_codes), options.pieces, decided(spellings))
        rows, table = folded(weights[name], pieces)
        return {**weights, name: rows, PIECE_CODES: table}

    def file_of(self, config: ModelConfig, weights: Weights) -> bytes:
        """The bytes of the model file."""
        tensors = {name: from_array(value) for name, value in self.stored(weights).items()}
        return pack_model({**tensors, **self.words_of(config)}, config, model_card(config))

    def classifier(self, config: ModelConfig, weights: Weights) -> Classifier:
        """The model in memory."""
        return Classifier(session_of(self.file_of(config, weights), config.options.training.threads), "the new model")

    def write(self, config: ModelConfig, weights: Weights, epochs: Sequence[Epoch]) -> None:
        """Write the folder with its log and its card."""
        log = "".join(json.dumps(epoch.record()) + "\n" for epoch in epochs)
        write_folder(self.path, self.file_of(config, weights), model_card(config).encode(), log.encode())


def with_measures(metrics: TrainingMetrics, evaluation: Evaluation) -> TrainingMetrics:
    """Add the F1 of every label; macro-F1 of a multi-label model is known from all validation texts."""
    macro = metrics.valid_macro_f1 if metrics.valid_micro_f1 is not None else evaluation.macro_f1
    f1 = {scores.label: scores.f1 for scores in evaluation.classes}
    return dataclasses.replace(metrics, valid_macro_f1=macro, valid_f1=f1, valid_measured=evaluation.count)
