"""Students: compressed networks that learn to answer like the whole model, by quantisation-aware training.

Weights are rounded in every forward pass, and rounding passes gradients straight through (Bengio et al. 2013). Each row
has a scale that is learned as well (learned step size quantisation, Esser et al. 2020). The loss is the squared
distance between the class lengths of student and teacher on the same texts; labels are not needed.
"""

import dataclasses
from collections.abc import Callable, Iterator, Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.func import functional_call

from capsulet.compression.codes import Floats, fit_codes
from capsulet.compression.ngrams import NgramTables
from capsulet.compression.sample import Sample
from capsulet.compression.setting import Setting
from capsulet.compression.source import Ids, Source, WordRanking
from capsulet.config import decided
from capsulet.model.embedding import FixedCodes
from capsulet.model.heads import Classes, Head
from capsulet.model.network import Network, load_network
from capsulet.model.quantisation import as_rows, best_scales, from_rows
from capsulet.storage.weights import CODEBOOKS, CODEWORDS
from capsulet.text.batch import Batch, Plan, gather, ordered_batches
from capsulet.text.corpus import Corpus
from capsulet.training.loop import EVALUATION_BATCH, finite
from capsulet.training.optimiser import DenseAdam, learning_rate_factor

LEARNING_RATE, WARMUP, LARGEST_GRADIENT = 5e-4, 0.05, 1.0
SCALE_RATE = 2.0  # learning rate of the logarithm of a scale, relative to that of a weight
PASSES, FEWEST_STEPS, MOST_STEPS = 1.25, 300, 3000  # of an adaptation
FEW_BITS = 5  # weights of this precision or less are adapted for a few steps before they are compared
WARM_STEPS, WARM_CODEBOOKS = 40, 6

Answering = Callable[[Tensor, Tensor], Classes]  # ids (B, T) and lengths (B,) to classes


class Rounding:
    """Rounds one weight to a number of bits, with a learned scale per row."""

    def __init__(self, scales: Floats, bits: int) -> None:
        self.offset = 2 ** (bits - 1)
        self.start = torch.from_numpy(scales).unsqueeze(1)  # (R, 1)
        self.growth = torch.zeros_like(self.start, requires_grad=True)  # logarithm of scale / start

    @property
    def scales(self) -> Tensor:
        """Scales (R, 1)."""
        return self.start * self.growth.exp()

    def __call__(self, rows: Tensor) -> Tensor:
        """Rounded rows (R, n); gradients pass through rounding but not through clipping."""
        scales = self.scales
        steps = (rows / scales).clamp(-self.offset, self.offset - 1)
        return (steps + (steps.round() - steps).detach()) * scales


class Student:
    """A network with fixed codes for words and rounded weights."""

    def __init__(
        self, network: Network, choices: NDArray[np.uint8], codebooks: Floats, roundings: dict[str, Rounding]
    ) -> None:
        embedding = FixedCodes(torch.from_numpy(choices.astype(np.int64)), torch.from_numpy(codebooks))
        self.network = Network(embedding, network.encoder, network.pooling, network.head, 0.0, 0.0)
        self.choices, self.roundings = choices, roundings  # choices (V, M)

    def __call__(self, ids: Tensor, lengths: Tensor) -> Classes:
        weights: dict[str, Tensor] = dict(self.network.named_parameters())
        for name, rounding in self.roundings.items():
            rows = rounding(as_rows(name, weights[name]))
            weights[name] = from_rows(name, rows, tuple(weights[name].shape))
        classes: Classes = functional_call(self.network, weights, (ids, lengths))
        return classes

    def weights(self) -> dict[str, Floats]:
        """Weights before rounding, by name."""
        return {name: value.detach().numpy() for name, value in self.network.named_parameters()}

    def scales(self) -> dict[str, Floats]:
        """Scales (R,) of the rounded weights, by name."""
        return {name: rounding.scales.detach().numpy()[:, 0] for name, rounding in self.roundings.items()}


class Students:
    """Makes and adapts students of one model; each knows every word of the model by its id in the model."""

    def __init__(
        self, source: Source, sample: Sample, ranking: WordRanking, ngrams: NgramTables,
        progress: Callable[[int, int], None],
    ) -> None:  # fmt: skip
        self.source, self.sample, self.ranking, self.ngrams, self.progress = source, sample, ranking, ngrams, progress
        self.training = source.config.options.training
        self.teacher = plain_network(source, source.network_weights, source.vectors)
        # results that are used again
        self.fitted: dict[int, tuple[NDArray[np.uint8], Floats]] = {}  # choices and codebooks, by number of codebooks
        self.warm: dict[int, Student] = {}  # students after a short adaptation, by bits
        self.read: dict[int, Ids] = {}  # what each word of the corpora is read as, by number of kept words

    def ids(self, setting: Setting) -> Ids:
        """Id that a student of this setting reads for each word of the corpora."""
        if setting.words not in self.read:
            self.read[setting.words] = self.ranking.keep(setting.words).read_as(self.sample.words)
        return self.read[setting.words]

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
        weights = {**(start.weights() if start else self.source.network_weights), CODEBOOKS: codebooks}
        start_scales = {**(start.scales() if start else {}), CODEBOOKS: None}  # the codebooks are new
        roundings = {}
        for name, value in weights.items():
            if ".bias_" not in name:  # eight bits hardly change them
                scales, bits = start_scales.get(name), setting.bits_of(name)
                roundings[name] = Rounding(best_scales(as_rows(name, value), bits) if scales is None else scales, bits)
        del weights[CODEBOOKS]
        network = plain_network(self.source, weights, self.source.vectors)
        return Student(network, choices, codebooks.copy(), roundings)

    def adapted(self, setting: Setting, steps: int) -> Student:
        """A student that was trained for `steps` steps on the training texts to answer like the whole model."""
        student, student_ids, train = self.student(setting), self.ids(setting), self.sample.train
        assert train is not None
        weights = [parameter for parameter in student.network.parameters() if parameter.requires_grad]
        scales = [rounding.growth for rounding in student.roundings.values()]
        adam = DenseAdam([(weights, LEARNING_RATE), (scales, SCALE_RATE * LEARNING_RATE)])
        batches = training_batches(train, decided(self.training.batch_size), steps, self.training.seed)
        for step, (rows, batch) in enumerate(batches):
            lengths, head = torch.from_numpy(batch.lengths), self.teacher.head
            # the teacher has all n-gram features: the student learns to replace those that it does not have
            whole, few = self.ngrams.whole_scores(train, rows), self.ngrams.scores(setting.ngram_rows, train, rows)
            with torch.no_grad():
                taught = self.teacher(renumbered(batch, self.sample.model_ids), lengths)
                wanted = with_ngrams(head, taught, whole).lengths  # (B, C)
            adam.zero()
            answered = with_ngrams(head, student(renumbered(batch, student_ids), lengths), few).lengths
            loss = (answered - wanted).square().sum(1).mean()
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(weights, LARGEST_GRADIENT)
            adam.step(learning_rate_factor("linear", WARMUP, step, steps))
            finite(float(loss.item()))
            self.progress(step + 1, steps)
        return student

    def warmed(self, bits: int) -> Student | None:
        """A student of few bits after a short adaptation; None if these bits need none, or without texts."""
        if bits > FEW_BITS or self.sample.train is None:
            return None
        if bits not in self.warm:
            setting = Setting(self.source.most_words, WARM_CODEBOOKS, bits, self.ngrams.choices[0])
            self.warm[bits] = self.adapted(setting, min(WARM_STEPS, self.steps))
        return self.warm[bits]

    @property
    def steps(self) -> int:
        """Steps of an adaptation: little more than one pass over the training texts, more passes over few texts."""
        assert self.sample.train is not None
        steps = PASSES * (len(self.sample.train) / decided(self.training.batch_size))
        return round(min(MOST_STEPS, max(FEWEST_STEPS, steps)))


def training_batches(
    corpus: Corpus, batch_size: int, steps: int, seed: int
) -> Iterator[tuple[NDArray[np.int64], Batch]]:
    """Rows and batch of each step; every pass over the corpus has a new random order."""
    for step in range(steps):
        done, place = divmod(step, -(-len(corpus) // batch_size))
        if place == 0:
            plan = Plan(corpus, batch_size, np.random.default_rng([seed, done]))
        yield plan[place], gather(corpus, plan[place])


def renumbered(batch: Batch, ids: Ids) -> Tensor:
    """Words of a batch (B, T) with other ids."""
    return torch.from_numpy(ids[batch.ids])


def with_ngrams(head: Head, classes: Classes, added: Floats | None) -> Classes:
    """Classes extended by scores of n-gram features (B, C), if there are any."""
    return classes if added is None else head.extended(classes, torch.from_numpy(added))


@torch.no_grad()
def class_lengths(network: Answering, head: Head, corpus: Corpus, ids: Ids, added: Floats | None) -> Floats:
    """Class lengths of every text: (n, C).

    `ids` are those that the network reads for each word of the corpus, `added` the scores of n-gram features (n, C).
    """
    lengths = np.zeros((len(corpus), corpus.num_classes), np.float32)
    for rows, batch in ordered_batches(corpus, EVALUATION_BATCH):
        classes = network(renumbered(batch, ids), torch.from_numpy(batch.lengths))
        lengths[rows] = with_ngrams(head, classes, None if added is None else added[rows]).lengths.numpy()
    return lengths


def plain_network(source: Source, weights: Mapping[str, Floats], vectors: Floats) -> Network:
    """A network with these weights and a table of word vectors."""
    options = dataclasses.replace(source.config.options.model, embedding="plain")
    state = {name: np.ascontiguousarray(value) for name, value in {**weights, "embedding.table": vectors}.items()}
    return load_network(options, len(vectors), len(source.config.labels), state)
