"""Writes the model folder of a training: after each best epoch, and once more when the training has ended."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from capsulet.evaluation.calibrate import describe_corpus
from capsulet.evaluation.evaluate import evaluate_texts
from capsulet.report.measures import Measures, Recorder
from capsulet.results import Epoch, Evaluation
from capsulet.runtime.classifier import Classifier
from capsulet.runtime.session import session_of
from capsulet.storage.card import model_card
from capsulet.storage.folder import CARD, GRAPH, LOG, TOKENIZER, WEIGHTS, write_folder
from capsulet.storage.model_config import ModelConfig, NgramTable, TrainingMetrics
from capsulet.text.corpus import Corpora
from capsulet.training.checkpoint import Snapshot
from capsulet.training.loop import History
from capsulet.training.measured_texts import corpus_texts


@dataclass(frozen=True)
class ModelWriter:
    """The folder of a model that is being trained."""

    path: Path
    start: ModelConfig  # what is known before the first epoch; the rest is replaced
    corpora: Corpora

    def write_epoch(self, epochs: Sequence[Epoch], best: Snapshot) -> None:
        """Write the best model so far."""
        self.write(self.config_of(History(tuple(epochs), best, "running")), self.files_of(best), epochs)

    def finish(self, history: History) -> Measures | None:
        """Calibrate, measure and write the model of a training that has ended; return what a report shows of it."""
        config, files = self.config_of(history), self.files_of(history.best)
        config = dataclasses.replace(config, **describe_corpus(self.classifier(config, files), self.corpora.valid))
        measures = None
        if history.stopped != "interrupted":
            classifier = self.classifier(config, files)
            recorder, corpora = Recorder(classifier), self.corpora
            corpus = corpora.valid if len(corpora.valid) else corpora.train  # the texts that selected the epoch
            measures = recorder.finish(evaluate_texts(classifier, corpus_texts(corpus, classifier), recorder))
            config = dataclasses.replace(config, metrics=with_measures(config.metrics, measures.evaluation))
        self.write(config, files, history.epochs)
        return measures

    def config_of(self, history: History) -> ModelConfig:
        """The configuration of a model with the best weights."""
        epoch, thresholds, ngrams = history.best.epoch, history.best.thresholds, history.ngrams
        metrics = TrainingMetrics(
            epoch.valid_accuracy, epoch.valid_loss, epoch.epoch, len(history.epochs), history.stopped,
            epoch.valid_macro_f1, epoch.valid_micro_f1,
        )  # fmt: skip
        return dataclasses.replace(
            self.start, metrics=metrics, parameters=sum(value.size for value in history.best.weights.values()),
            thresholds=None if thresholds is None else tuple(thresholds.tolist()),
            ngrams=None if ngrams is None else NgramTable(int(ngrams["rows"]), ngrams["strength"]),
        )  # fmt: skip

    def files_of(self, best: Snapshot) -> dict[str, bytes]:
        """Tokenizer, weights and graph as the bytes of their files."""
        from safetensors.numpy import save

        from capsulet.model.graph import build_graph

        graph = build_graph(dict(best.weights), self.start.options.model).SerializeToString(deterministic=True)
        return {TOKENIZER: self.corpora.tokenizer.encode(), WEIGHTS: save(dict(best.weights)), GRAPH: graph}

    def classifier(self, config: ModelConfig, files: Mapping[str, bytes]) -> Classifier:
        """The model in memory."""
        threads = config.options.training.threads
        return Classifier(session_of(files[GRAPH], files[TOKENIZER], config, threads), "the new model")

    def write(self, config: ModelConfig, files: Mapping[str, bytes], epochs: Sequence[Epoch]) -> None:
        """Write the folder with its log and its card."""
        log = "".join(json.dumps(epoch.record()) + "\n" for epoch in epochs)
        write_folder(self.path, {**files, LOG: log.encode(), CARD: model_card(config).encode()}, config)


def with_measures(metrics: TrainingMetrics, evaluation: Evaluation) -> TrainingMetrics:
    """Add the F1 of every label; macro-F1 of a multi-label model is known from all validation texts."""
    macro = metrics.valid_macro_f1 if metrics.valid_micro_f1 is not None else evaluation.macro_f1
    f1 = {scores.label: scores.f1 for scores in evaluation.classes}
    return dataclasses.replace(metrics, valid_macro_f1=macro, valid_f1=f1, valid_measured=evaluation.count)
