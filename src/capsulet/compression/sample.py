"""Texts that a compressed model is chosen on and adapted to: from files, or made up from the model's words."""

import dataclasses
from dataclasses import dataclass

import numpy as np

from capsulet.compression.codes import Floats
from capsulet.compression.source import Ids, Source
from capsulet.config import decided
from capsulet.drifting.histograms import FEWEST_TEXTS
from capsulet.errors import InputError, some
from capsulet.text.corpus import Corpora, Corpus, spell, word_counts
from capsulet.text.vocabulary import FIRST_WORD, PADDING, PADDING_ID, UNKNOWN

MADE_UP_TEXTS, MADE_UP_LENGTH = 512, 40
HEAD_OF_ZIPF = 10  # without counts, the frequency of the word of rank r is estimated as 1 / (r + 10) (Zipf's law)


@dataclass(frozen=True)
class Sample:
    """Training and validation texts, and the ids of their words in the model."""

    train: Corpus | None  # None: the texts are made up and have no labels
    valid: Corpus
    words: list[str]  # of the corpora by id; padding and the unknown word come first
    model_ids: Ids  # id in the model of each of them
    counts: Floats  # (V,) occurrences of each word of the model
    unseen: bool = False  # whether the model was not trained on the validation texts

    @property
    def held_out(self) -> bool:
        """Whether there are validation texts; else the training texts take their place, or made-up texts."""
        return self.train is not None and self.valid is not self.train

    @property
    def can_describe(self) -> bool:
        """Whether the validation texts are enough, and unseen, to fit calibration and histograms on them."""
        return self.unseen and self.held_out and len(self.valid) >= FEWEST_TEXTS


def file_sample(source: Source, corpora: Corpora, unseen: bool) -> Sample:
    """Texts of files, with the classes of the model."""
    labels = source.config.labels
    if unknown := [label for label in corpora.labels if label not in labels]:
        raise InputError(
            f"label {unknown[0]!r} is unknown to the model, which has {some(labels)}: give the files it was trained on"
        )
    spellings = decided(corpora.train.spellings)
    # also words of no vocabulary, so the corpora need not say what these are read as
    words = [PADDING, UNKNOWN, *(spellings[number] for number in range(FIRST_WORD, len(spellings.ends)))]
    model_ids = source.read_as(np.arange(FIRST_WORD, len(source.words)), words)
    classes = np.array([labels.index(label) for label in corpora.labels], np.int32)
    train, valid = (
        dataclasses.replace(corpus, targets=classes[corpus.targets], num_classes=len(labels), read_as=None)
        for corpus in (corpora.train, corpora.valid)
    )
    counts = np.bincount(model_ids, word_counts(train, len(model_ids)), len(source.words)).astype(np.float32)
    return Sample(train, valid if len(valid) else train, words, model_ids, counts, unseen)


def made_up_sample(source: Source) -> Sample:
    """Random texts of the model's words, with frequencies by rank, which is the id; they have no labels."""
    frequencies: Floats = (1 / (np.arange(len(source.words)) + HEAD_OF_ZIPF)).astype(np.float32)
    frequencies[PADDING_ID] = 0
    shares = frequencies.astype(np.float64)
    size = MADE_UP_TEXTS * MADE_UP_LENGTH
    ids = np.random.default_rng(0).choice(len(shares), size, p=shares / shares.sum())
    starts = np.arange(0, size + 1, MADE_UP_LENGTH, dtype=np.int64)
    corpus = Corpus(
        ids.astype(np.int32), starts, np.zeros(MADE_UP_TEXTS, np.int32), num_classes=len(source.config.labels),
        spellings=spell(source.words[FIRST_WORD:]),
    )  # fmt: skip
    return Sample(None, corpus, source.words, np.arange(len(shares)), frequencies)
