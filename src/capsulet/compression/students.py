"""Students: compressed networks that learn to answer like the whole model."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from capsulet.compression.adaptation import Answering, Lessons, Rounding, Student, adapt
from capsulet.compression.codes import Floats, fit_codes
from capsulet.compression.kept_words import WordRanking
from capsulet.compression.ngrams import NgramTables
from capsulet.compression.sample import Sample
from capsulet.compression.setting import CODEWORDS, Setting, bits_of
from capsulet.compression.source import Source
from capsulet.config import decided
from capsulet.model.network import Network, load_network
from capsulet.model.ngrams import NgramFeatures
from capsulet.model.quantisation import as_rows, best_scales

PASSES, FEWEST_STEPS, MOST_STEPS = 1.25, 300, 3000  # of an adaptation
FEW_BITS = 5  # weights of this precision or less are adapted for a few steps before they are compared
WARM_STEPS = 40
WARM_CODEBOOKS = 6


class Students:
    """Makes and adapts students of one model; each knows every word of the model by its id in the model."""

    def __init__(
        self,
        source: Source,
        sample: Sample,
        ranking: WordRanking,
        ngrams: NgramTables,
        progress: Callable[[int, int], None],
    ) -> None:
        self.source, self.sample, self.ranking, self.ngrams, self.progress = source, sample, ranking, ngrams, progress
        self.teacher = plain_network(source, source.network_weights, source.vectors)
        self.fitted: dict[int, tuple[NDArray[np.uint8], Floats]] = {}
        self.warm: dict[int, Student] = {}

    @property
    def whole_model(self) -> Answering:
        """The model itself: network and n-gram features."""
        return self.with_ngrams(self.teacher, self.ngrams.whole)

    def with_ngrams(self, network: Answering, ngrams: NgramFeatures | None) -> Answering:
        """A network whose answers are extended by n-gram features."""
        if ngrams is None:
            return network
        return lambda ids, lengths: self.teacher.head.extended(network(ids, lengths), ngrams(ids))

    def ids(self, setting: Setting) -> NDArray[np.int64]:
        """Id that a student of this setting reads for each word of the corpora."""
        read: NDArray[np.int64] = self.ranking.keep(setting.words).read_as[self.sample.model_ids]
        return read

    def codes(self, num_codebooks: int) -> tuple[NDArray[np.uint8], Floats]:
        """Choices (V, M) and codebooks (M, K, D) for all words; fitted once."""
        if num_codebooks not in self.fitted:
            # square root: rare words are many, and a text is often about one of them
            mass = np.sqrt(self.sample.counts + 0.1)
            mass[0] = 1e-6 * mass.sum()  # padding is never read
            self.fitted[num_codebooks] = fit_codes(
                self.source.vectors, mass.astype(np.float32), num_codebooks, CODEWORDS, self.source.gate_weighting
            )
        return self.fitted[num_codebooks]

    def student(self, setting: Setting, start: Student | None = None) -> Student:
        """A student of this precision, with the weights of the model or of the student `start`."""
        choices, codebooks = self.codes(setting.codebooks)
        network_weights = start.network_weights() if start else self.source.network_weights
        scales = start.scales() if start else {}
        roundings = {}
        for name, value in {**network_weights, "embedding.codebooks": codebooks}.items():
            if ".bias_" not in name:  # eight bits hardly change them
                rows, bits = as_rows(name, value), bits_of(name, setting)
                own = scales.get(name) if name != "embedding.codebooks" else None
                roundings[name] = Rounding(best_scales(rows, bits) if own is None else own, bits)
        network = plain_network(self.source, network_weights, self.source.vectors)
        return Student(network, choices, codebooks.copy(), roundings)

    def adapted(self, setting: Setting, steps: int) -> Student:
        """A student after `steps` steps on the training texts."""
        student, train, training = self.student(setting), self.sample.train, self.source.options.training
        assert train is not None
        lessons = Lessons(
            train, self.ids(setting), self.sample.model_ids, decided(training.batch_size), steps, training.seed
        )
        # the teacher has all n-gram features: the student learns what its own, of fewer bits or none, leave out
        answering = self.with_ngrams(student, self.ngrams.features(setting.ngram_bits))
        adapt(student, answering, self.whole_model, lessons, lambda done, _: self.progress(done, steps))
        return student

    def warmed(self, bits: int) -> Student | None:
        """A student of few bits after a short adaptation; None if these bits need none, or without texts."""
        if bits > FEW_BITS or self.sample.train is None:
            return None
        if bits not in self.warm:
            setting = Setting(self.source.num_words, WARM_CODEBOOKS, bits, self.ngrams.choices[0])
            self.warm[bits] = self.adapted(setting, min(WARM_STEPS, self.steps))
        return self.warm[bits]

    @cached_property
    def steps(self) -> int:
        """Steps of an adaptation: little more than one pass over the training texts, more passes over few texts."""
        assert self.sample.train is not None
        texts = len(self.sample.train)
        steps_per_pass = texts / decided(self.source.options.training.batch_size)
        return round(min(MOST_STEPS, max(FEWEST_STEPS, PASSES * steps_per_pass)))


def plain_network(source: Source, weights: Mapping[str, Floats], vectors: Floats) -> Network:
    """A network with these weights and a table of word vectors."""
    options = dataclasses.replace(source.options.model, embedding="plain")
    state = {name: np.ascontiguousarray(value) for name, value in {**weights, "embedding.table": vectors}.items()}
    return load_network(options, len(vectors), source.num_classes, state)
