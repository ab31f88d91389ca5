"""Which words, bits and codebooks: ways to compress a model, tried on texts that it was not trained on."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from capsulet.compression.adaptation import Rounding, Student, adapt, answers, numbered
from capsulet.compression.codes import Floats, compose, fit_codes
from capsulet.compression.description import calibration_room, few_values, kept_histograms
from capsulet.compression.file import build_file
from capsulet.compression.merit import merit_of
from capsulet.compression.ngrams import BITS as NGRAM_BITS
from capsulet.compression.ngrams import FewBits, in_few_bits, key_type
from capsulet.compression.setting import CODE_BITS, CODEWORDS, Setting, bits_of, round_weights
from capsulet.compression.source import Source
from capsulet.drifting.histograms import FEWEST_TEXTS, largest_json
from capsulet.errors import CapsuletError, InputError, some
from capsulet.evaluation.describe import chosen_rows, describe_corpus
from capsulet.model.heads import Classes
from capsulet.model.network import Network, load_network
from capsulet.model.ngrams import NgramFeatures
from capsulet.model.quantisation import Rounded, as_rows, best_scales, from_rows
from capsulet.model.shapes import KEYS, LEVEL_BITS, LEVELS, SCALES
from capsulet.results import CurvePoint
from capsulet.runtime.classifier import Classifier
from capsulet.runtime.session import Session
from capsulet.text.batch import ordered_batches
from capsulet.text.corpus import Corpora, Corpus, choose_rows, word_counts
from capsulet.text.packed_dictionary import pack_words
from capsulet.text.vocabulary import FIRST_WORD, UNKNOWN_ID, WordIds
from capsulet.training.loop import EVALUATION_BATCH, batch_size

BITS = (8, 6, 5, 4, 3)
CODEBOOKS = (8, 6, 4)
SHARES = (1.0, 0.5, 0.25, 0.1)  # of the words, for the curve
USUAL_CODEBOOKS = 6  # for the curve
FEWEST_WORDS = 256
FEW_BITS = 5  # weights of so few bits need a short adaptation before they can be judged
HEAT_STEPS = 40
PASSES, FEWEST_STEPS, MOST_STEPS = 1.25, 300, 3000
TRIAL_TEXTS, TRIAL_TOKENS, CHECKED_TEXTS = 1500, 120_000, 64
TOLERANCE = 1e-4  # between a file and the weights in it
MADE_UP_TEXTS, MADE_UP_LENGTH = 512, 40
NEARLY = 0.9  # sizes are estimated with room to spare: so near to the smallest only making it can tell
SPARE = 400  # bytes for what is said of the compression, and for numbers that become longer

Answering = Callable[[Tensor, Tensor], Classes]  # ids (B, T) and lengths (B,) to classes


@dataclass(frozen=True)
class Sample:
    """Texts to choose on and, where there are files, to adapt to."""

    train: Corpus | None
    valid: Corpus
    numbers: NDArray[np.int64]  # for each word of the corpora its id to the model
    counts: Floats  # (V,) how often each word of the model occurs
    unseen: bool = False  # whether the model was not trained on the texts to choose on

    @property
    def describes(self) -> bool:
        """Whether there are enough texts that were not trained on to describe a file by."""
        return self.unseen and self.valid is not self.train and len(self.valid) >= FEWEST_TEXTS


@dataclass(frozen=True)
class Trial:
    """How a way to compress fared."""

    setting: Setting
    accuracy: float
    agreement: float
    error: float  # mean squared distance of the class lengths from those of the whole model
    bytes: int
    adapted: bool

    def point(self, chosen: bool = False) -> CurvePoint:
        """The same for the report."""
        setting = self.setting
        return CurvePoint(
            self.bytes,
            self.accuracy,
            setting.words,
            setting.bits,
            setting.codebooks,
            self.adapted,
            chosen,
            setting.ngram_bits,
        )


def file_sample(source: Source, corpora: Corpora, unseen: bool) -> Sample:
    """The texts of files, their words and labels numbered as the model does."""
    labels = source.config["labels"]
    strange = [label for label in corpora.labels if label not in labels]
    if strange:
        raise InputError(
            f"label {strange[0]!r} is unknown to the model, which has {some(labels)}: give the files it was trained on"
        )
    places = {word: number for number, word in enumerate(source.words)}
    vocabulary = json.loads(corpora.tokenizer)["model"]["vocab"]
    numbers = np.zeros(len(vocabulary), np.int64)
    similar = source.similar_words(np.arange(FIRST_WORD, len(source.words)))
    for word, number in vocabulary.items():
        nearest = similar.nearest(word) if similar and word not in places else word
        numbers[number] = places.get(nearest or "", UNKNOWN_ID)
    classes = np.array([labels.index(label) for label in corpora.labels], np.int32)
    train, valid = (
        dataclasses.replace(corpus, targets=classes[corpus.targets], num_classes=len(labels))
        for corpus in (corpora.train, corpora.valid)
    )
    counts = np.bincount(numbers, word_counts(train, len(vocabulary)), len(source.words)).astype(np.float32)
    return Sample(train, valid if len(valid) else train, numbers, counts, unseen)


def made_up_sample(source: Source) -> Sample:
    """Without files: texts of the model's own words, each as frequent as its rank has it; they have no labels."""
    generator = np.random.default_rng(0)
    chances = source.zipf().astype(np.float64)
    ids = generator.choice(len(chances), MADE_UP_TEXTS * MADE_UP_LENGTH, p=chances / chances.sum())
    starts = np.arange(0, len(ids) + 1, MADE_UP_LENGTH, dtype=np.int64)
    corpus = Corpus(ids.astype(np.int32), starts, np.zeros(MADE_UP_TEXTS, np.int32))
    return Sample(None, corpus, np.arange(len(chances)), source.zipf())


class Compressor:
    """Ways to compress one model, tried out."""

    def __init__(self, source: Source, sample: Sample, progress: Callable[[int, int], None]) -> None:
        self.source, self.sample, self.progress = source, sample, progress
        self.num_classes = len(source.config["labels"])
        self.order = source.importance(sample.counts)
        self.teacher = self.plain_network(source.network_weights, source.vectors)
        self.whole_ngrams: NgramFeatures | None = None
        self.few_bits: dict[int, FewBits] = {}
        if source.has_ngrams:
            levels, scales = source.weights[LEVELS].astype(np.int8), source.weights[SCALES]
            self.whole_ngrams = NgramFeatures(torch.from_numpy(levels), torch.from_numpy(scales))
            self.few_bits = {bits: in_few_bits(levels, scales, bits) for bits in NGRAM_BITS}
        self.wanted = answers(
            self.extended(self.teacher, self.whole_ngrams), sample.valid, sample.numbers, self.num_classes
        )
        self.merit = merit_of(source.config, None if sample.train is None else sample.valid, self.wanted)
        self.accuracy = self.merit.share_right(self.wanted)
        texts = min(TRIAL_TEXTS, TRIAL_TOKENS * len(sample.valid) // len(sample.valid.ids) + 1)
        self.trial_rows = np.unique(np.linspace(0, len(sample.valid) - 1, texts).astype(np.int64))
        self.trial_texts = choose_rows(sample.valid, self.trial_rows)
        self.trial_accuracy = self.merit.share_right(self.wanted[self.trial_rows], self.trial_rows)
        self.fitted: dict[int, tuple[NDArray[np.uint8], Floats]] = {}
        self.warm: dict[int, Student] = {}
        self.sizes: dict[Setting, int] = {}  # without words
        self.dictionary_sizes: dict[int, int] = {}

    # what a way to compress is

    @property
    def num_words(self) -> int:
        """Words that the model knows."""
        return len(self.source.words) - FIRST_WORD

    def largest(self) -> Setting:
        """The way that loses least."""
        return Setting(self.num_words, max(CODEBOOKS), max(BITS), self.choices[0])

    @property
    def choices(self) -> tuple[int, ...]:
        """Bits of the ngrams, the most first; none last."""
        return (*self.few_bits, 0)

    def ngrams(self, setting: Setting, keys: Tensor | None = None) -> NgramFeatures | None:
        """The ngrams in its bits, if there is one; keys are the old ids of words that are numbered anew."""
        if not setting.ngram_bits:
            return None
        levels, scales, _ = self.few_bits[setting.ngram_bits]
        return NgramFeatures(torch.from_numpy(levels), torch.from_numpy(scales), keys)

    def extended(self, network: Answering, ngrams: NgramFeatures | None) -> Answering:
        """A network, and what words and pairs say by themselves on top."""
        if ngrams is None:
            return network
        return lambda ids, lengths: self.teacher.head.extended(network(ids, lengths), ngrams(ids))

    def smallest(self) -> Setting:
        """The way that needs fewest bytes."""
        words = min(FEWEST_WORDS, max(round(min(SHARES) * self.num_words), 1))
        return Setting(words, min(CODEBOOKS), min(BITS))

    def kept(self, setting: Setting) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Old ids of the kept words, the unknown one first, and the new id of every old one."""
        return self.source.numbers(self.order[: setting.words])

    def numbers(self, setting: Setting) -> NDArray[np.int64]:
        """For each word of the corpora its id to a student, which knows every word of the model by its old id."""
        found: NDArray[np.int64] = self.source.read_as(self.order[: setting.words])[self.sample.numbers]
        return found

    def size(self, setting: Setting) -> int:
        """Bytes of the file, without making it: they do not depend on the values of the weights."""
        around = dataclasses.replace(setting, words=0)
        if around not in self.sizes:
            shapes = {**self.source.network_weights}
            size = self.source.vectors.shape[1]
            shapes["embedding.codebooks"] = np.zeros((setting.codebooks, CODEWORDS, size), np.float32)
            weights: dict[str, Any] = {}
            for name, value in shapes.items():
                rows = as_rows(name, value)
                scales = np.zeros(len(rows), np.float16)
                weights[name] = Rounded(np.zeros(rows.shape, np.uint8), scales, bits_of(name, setting))
            weights["embedding.choices"] = np.zeros((1, setting.codebooks), np.uint8)
            weights |= self.ngrams_weights(setting, np.zeros(1, np.int64))
            self.sizes[around] = len(self.build(weights, around, {}, self.room(setting))) + SPARE
        if setting.words not in self.dictionary_sizes:
            words = (self.source.words[number] for number in self.order[: setting.words])
            self.dictionary_sizes[setting.words] = len(pack_words(words))
        each = -(-setting.codebooks * CODE_BITS // 8)  # a word's bytes besides its letters
        each += key_type(len(self.source.words))().nbytes if setting.ngram_bits else 0
        return self.sizes[around] + each * setting.words + self.dictionary_sizes[setting.words]

    def ngrams_weights(self, setting: Setting, old: NDArray[np.int64]) -> dict[str, Any]:
        """The ngrams as the graph of a file has it, whose words are these old ones."""
        if not setting.ngram_bits:
            return {}
        keys = old.astype(key_type(len(self.source.words)))
        levels, scales, bits = self.few_bits[setting.ngram_bits]
        return {LEVELS: levels, SCALES: scales, KEYS: keys, LEVEL_BITS: bits}

    def describe(self, session: Session, setting: Setting) -> dict[str, Any]:
        """What a file, with the words and codes it has, says of the validation texts: calibration and histograms."""
        if not self.sample.describes:
            return self.kept_description(setting)
        old, new = self.kept(setting)
        few = choose_rows(self.sample.valid, chosen_rows(len(self.sample.valid)))
        assert few.word_ids is not None
        words = few.word_ids.read_as(few.ids)
        # a word that is read as another one is still an unknown word
        unknown = few.word_ids.is_similar(few.ids) | ~np.isin(self.sample.numbers, old)[words]
        word_ids = WordIds(len(old), unknown=0)
        ids = word_ids.mark_unknown(new[self.sample.numbers][words], unknown)
        numbered = dataclasses.replace(few, ids=ids.astype(np.int32), word_ids=word_ids)
        found = describe_corpus(Classifier(session, "the new file"), numbered)
        fitted = few_values(found, self.calibration_room)
        return {key: value for key, value in found.items() if key != "calibration"} | fitted

    def kept_description(self, setting: Setting) -> dict[str, Any]:
        """Without such texts: the calibration of the whole model, and of its histograms what stays true."""
        return few_values(self.source.config) | kept_histograms(self.source.config, setting.words == self.num_words)

    def room(self, setting: Setting) -> dict[str, Any]:
        """Something as long as a description of the file may become."""
        if not self.sample.describes:
            return self.kept_description(setting)
        return {"room": "x" * (largest_json(self.num_classes, len(self.sample.valid)) + self.calibration_room)}

    @property
    def calibration_room(self) -> int:
        """Bytes for a calibration by the validation texts."""
        return calibration_room(len(self.sample.valid), self.source.options.model.multi_label)

    def build(
        self, weights: Mapping[str, Any], setting: Setting, figures: Mapping[str, Any], described: Mapping[str, Any]
    ) -> bytes:
        """The file of these weights; `described` is calibration and histograms."""
        source, (old, _) = self.source, self.kept(setting)
        compression = {**dataclasses.asdict(setting), **figures}
        words = [source.words[number] for number in old[1:]]
        config = {key: value for key, value in source.config.items() if key not in ("calibration", "histograms")}
        config |= {"compression": compression, **described}
        if not setting.ngram_bits:
            config.pop("ngrams", None)
        card = source.card + compression_card(setting, source.has_ngrams)
        return build_file(weights, source.options.model, words, config, source.tokenizer, card)

    def file(
        self, student: Student, setting: Setting, figures: Mapping[str, Any], described: Mapping[str, Any]
    ) -> tuple[bytes, Network]:
        """The file of a student, and a network of the very weights that are in it."""
        old, _ = self.kept(setting)
        weights: dict[str, Any] = {**round_weights(student.weights(), setting, student.scales())}
        choices = student.choices[old]
        codebooks = weights["embedding.codebooks"].values().reshape(setting.codebooks, CODEWORDS, -1)
        plain = {
            name: from_rows(name, weights[name].values(), value.shape)
            for name, value in self.source.network_weights.items()
        }
        network = self.plain_network(plain, compose(choices, codebooks))
        network.ngrams = self.ngrams(setting, torch.from_numpy(old))
        weights |= {"embedding.choices": choices, **self.ngrams_weights(setting, old)}
        return self.build(weights, setting, figures, described), network

    # students

    def plain_network(self, weights: Mapping[str, Floats], vectors: Floats) -> Network:
        """A network with a table of these vectors."""
        options = dataclasses.replace(self.source.options.model, embedding="plain")
        state = {name: np.ascontiguousarray(value) for name, value in {**weights, "embedding.table": vectors}.items()}
        return load_network(options, len(vectors), self.num_classes, state)

    def codes(self, num_codebooks: int) -> tuple[NDArray[np.uint8], Floats]:
        """Choices of every word, and codebooks; worked out once."""
        if num_codebooks not in self.fitted:
            # the square root: rare words are many, and what a text is about is often one of them
            mass = np.sqrt(self.sample.counts + 0.1)
            mass[0] = 1e-6 * mass.sum()  # padding is never read
            self.fitted[num_codebooks] = fit_codes(
                self.source.vectors, mass.astype(np.float32), num_codebooks, CODEWORDS, self.source.metric
            )
        return self.fitted[num_codebooks]

    def student(self, setting: Setting, start: Student | None = None) -> Student:
        """A student of these bits and codebooks that knows every word, not yet adapted or as far as another is."""
        choices, codebooks = self.codes(setting.codebooks)
        weights = start.weights() if start else self.source.network_weights
        weights = {**weights, "embedding.codebooks": codebooks}
        scales = start.scales() if start else {}
        roundings = {}
        for name, value in weights.items():
            if ".bias_" not in name:  # eight bits do nothing to them
                rows, bits = as_rows(name, value), bits_of(name, setting)
                known = scales.get(name) if name != "embedding.codebooks" else None
                roundings[name] = Rounding(best_scales(rows, bits) if known is None else known, bits)
        network = {name: value for name, value in weights.items() if not name.startswith("embedding.")}
        return Student(self.plain_network(network, self.source.vectors), choices, codebooks.copy(), roundings)

    def adapted(self, setting: Setting, steps: int) -> Student:
        """A student after so many steps on the training texts."""
        student = self.student(setting)
        train = self.sample.train
        assert train is not None
        training = self.source.options.training
        # what a ngrams of fewer bits no longer says, or all of it where there is none, the network is to say itself
        teacher = self.extended(self.teacher, self.whole_ngrams)
        adapt(
            student, self.extended(student, self.ngrams(setting)), teacher, train,
            (self.numbers(setting), self.sample.numbers), batch_size(training, len(train)), steps, training.seed,
            lambda done, _: self.progress(done, steps),
        )  # fmt: skip
        return student

    @cached_property
    def steps(self) -> int:
        """Steps of an adaptation: little more than one pass, more over few texts."""
        assert self.sample.train is not None
        texts = len(self.sample.train)
        a_pass = texts / batch_size(self.source.options.training, texts)
        return round(min(MOST_STEPS, max(FEWEST_STEPS, PASSES * a_pass)))

    # trials

    def measure(self, student: Student, setting: Setting, adapted: bool = False) -> Trial:
        """How a student fares on the trial texts."""
        (trial,) = self.measure_each(student, [setting], adapted)
        return trial

    @torch.no_grad()
    def measure_each(self, student: Student, settings: Sequence[Setting], adapted: bool) -> list[Trial]:
        """The same for ways that differ in their ngrams alone: the student is asked once."""
        found = [np.zeros((len(self.trial_texts), self.num_classes), np.float32) for _ in settings]
        ngramss, numbers = [self.ngrams(setting) for setting in settings], self.numbers(settings[0])
        for rows, batch in ordered_batches(self.trial_texts, EVALUATION_BATCH):
            ids = numbered(batch, numbers)
            classes = student(ids, torch.from_numpy(batch.lengths))
            for lengths, ngrams in zip(found, ngramss, strict=True):
                said = classes if ngrams is None else self.teacher.head.extended(classes, ngrams(ids))
                lengths[rows] = said.lengths.numpy()
        return [
            self.judge(lengths, self.trial_rows, setting, adapted, self.size(setting))
            for lengths, setting in zip(found, settings, strict=True)
        ]

    def judge(self, found: Floats, rows: NDArray[np.int64], setting: Setting, adapted: bool, size: int) -> Trial:
        """Class lengths of these validation texts against those of the whole model and against the labels."""
        wanted = self.wanted[rows]
        agreement = self.merit.agreement(found, wanted)
        error = float(np.square(found - wanted).sum(1).mean())
        return Trial(setting, self.merit.share_right(found, rows), agreement, error, size, adapted)

    def run(self, session: Session, network: Network, setting: Setting) -> Floats:
        """Class lengths of every validation text by a file, which must be those of its own weights."""
        old, new = self.kept(setting)
        numbers = new[self.sample.numbers]

        def through_file(ids: Tensor, lengths: Tensor) -> Classes:
            (found,) = session.run(["lengths"], ids.numpy(), lengths.numpy())
            answer = torch.from_numpy(found)
            return Classes(answer, answer, answer)

        found = answers(through_file, self.sample.valid, numbers, self.num_classes)
        few = choose_rows(self.sample.valid, np.arange(min(CHECKED_TEXTS, len(self.sample.valid))))
        difference = float(np.abs(answers(network, few, numbers, self.num_classes) - found[: len(few)]).max())
        words = {self.source.words[kept]: number for number, kept in enumerate(old) if number}
        if difference > TOLERANCE or any(session.tokenizer.token_to_id(word) != words[word] for word in words):
            raise CapsuletError(
                f"the compressed file answers differently from its own weights (by {difference:g}); nothing was written"
            )
        return found

    def warmed(self, bits: int) -> Student | None:
        """Weights that a short adaptation has made used to so few bits; None where that is not needed."""
        if bits > FEW_BITS or self.sample.train is None:
            return None
        if bits not in self.warm:
            setting = Setting(self.num_words, USUAL_CODEBOOKS, bits, self.choices[0])
            self.warm[bits] = self.adapted(setting, min(HEAT_STEPS, self.steps))
        return self.warm[bits]

    @cached_property
    def curve(self) -> list[Trial]:
        """Trials of several bits and numbers of words, smallest first."""
        trials = []
        for bits in BITS:
            start = self.warmed(bits)
            student = self.student(Setting(self.num_words, USUAL_CODEBOOKS, bits), start)
            for words in sorted({max(round(share * self.num_words), 1) for share in SHARES}):
                settings = [Setting(words, USUAL_CODEBOOKS, bits, ngrams) for ngrams in self.choices]
                trials += self.measure_each(student, settings, adapted=start is not None)
        return sorted(trials, key=lambda trial: trial.bytes)

    def fit_size(self, target: int) -> Setting:
        """Of the ways that fit into so many bytes the one whose answers are nearest to the whole model's."""
        smallest = self.size(self.smallest())  # a little more than it will have
        if smallest > target:
            if target < NEARLY * smallest:
                raise self.too_small(target, f"up to {smallest:,}")
            return self.smallest()
        trials: list[Trial] = []
        for ngrams in self.choices:
            for bits in BITS:
                for codebooks in CODEBOOKS:
                    words = self.most_words(Setting(0, codebooks, bits, ngrams), target)
                    if words < self.smallest().words:
                        continue
                    setting = Setting(words, codebooks, bits, ngrams)
                    trials.append(self.measure(self.student(setting, self.warmed(bits)), setting))
                    if words == self.num_words:
                        break  # fewer codebooks would only lose
                if trials and trials[-1].setting == Setting(self.num_words, max(CODEBOOKS), bits, ngrams):
                    break  # everything fits: fewer bits would only lose
            if trials and trials[-1].setting == self.largest():
                break  # and so would a smaller ngrams, or none
        return min(trials, key=lambda trial: trial.error).setting

    def too_small(self, target: int, smallest: str) -> InputError:
        """What to say of a size that no file has."""
        setting = self.smallest()
        return InputError(
            f"--target-size {target:,} bytes cannot be reached: the smallest file of this model has {smallest} "
            f"({setting.bits}-bit weights, {setting.words:,} words); ask for that or more"
        )

    def most_words(self, setting: Setting, target: int) -> int:
        """How many words fit into so many bytes besides all else; 0 if none do."""
        low, high = 0, self.num_words
        while low < high:
            middle = (low + high + 1) // 2
            if self.size(dataclasses.replace(setting, words=middle)) <= target:
                low = middle
            else:
                high = middle - 1
        return low


def compression_card(setting: Setting, had_ngrams: bool) -> str:
    """What the card says of a compressed file."""
    return (
        f"\n## Compressed\n\nThis file knows the {setting.words:,} words that matter most. A word is the sum of "
        f"{setting.codebooks} of {setting.codebooks * CODEWORDS} codewords; weights have {setting.bits} bits.\n"
        + (f"The ngrams has {setting.ngram_bits} bits.\n" if setting.ngram_bits else "")
        + ("The ngrams is left out.\n" if had_ngrams and not setting.ngram_bits else "")
    )
