"""The model to compress: its weights, its words by importance, and the words that a compressed file keeps."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from capsulet.choices import APART, UNICODE
from capsulet.compression.codes import Floats, gate_weighting
from capsulet.config import ModelOptions
from capsulet.errors import InputError
from capsulet.native import core_module
from capsulet.storage.folder import read_card
from capsulet.storage.model_config import ModelConfig
from capsulet.storage.model_file import read_model
from capsulet.storage.tensors import damaged
from capsulet.storage.weights import unpack_weights
from capsulet.text.packed_dictionary import pack_words
from capsulet.text.vocabulary import FIRST_WORD, PADDING, UNKNOWN, UNKNOWN_ID, SimilarWords, WordIds

LONGEST_WORD = 255  # bytes of a word in a compressed file

Ids = NDArray[np.int64]


@dataclass(frozen=True)
class Source:
    """A whole model in memory: V words, vectors of D numbers."""

    config: ModelConfig
    weights: dict[str, Floats]
    card: str
    words: list[str]  # by id; padding and the unknown word come first
    vectors: Floats  # (V, D); (V, 0) without a network
    file: bytes  # the model file

    @property
    def num_words(self) -> int:
        """Number of known words."""
        return len(self.words) - FIRST_WORD

    @property
    def most_words(self) -> int:
        """Number of words that a compressed file can have."""
        return int(self.can_keep.sum())

    @cached_property
    def can_keep(self) -> NDArray[np.bool_]:
        """Which words (V,) a compressed file can have."""
        short = [len(word.encode()) <= LONGEST_WORD for word in self.words]
        return np.array(short) & (np.arange(len(self.words)) >= FIRST_WORD)

    @property
    def network_weights(self) -> dict[str, Floats]:
        """Weights of encoder and head."""
        return {name: value for name, value in self.weights.items() if name.startswith(("encoder.", "head."))}

    @property
    def gate_weighting(self) -> Floats:
        """Matrix (D, D) that weights errors of word vectors by their effect on the gates of the first layer."""
        names = ("encoder.gru.weight_ih_l0", "encoder.gru.weight_ih_l0_reverse")
        return gate_weighting(np.concatenate([self.weights[name] for name in names]))

    def importance(self, counts: Floats) -> Ids:
        """Ids of the words that a file can have, most important first, by their counts (V,) and vectors.

        A word is important if it is frequent and its vector differs from that of the unknown word. Without a network, a
        word only counts as known or unknown, and the most frequent words come first.
        """
        if self.config.linear_only:
            order = np.argsort(-counts, kind="stable")
            return order[self.can_keep[order]]
        distances = np.square((self.vectors - self.vectors[UNKNOWN_ID]) @ self.gate_weighting).sum(1)
        # square root: the distance counts more than the frequency (measured in docs/results/log.md)
        order = np.argsort(-np.sqrt(counts + 0.1) * distances, kind="stable")
        return order[self.can_keep[order]]

    def read_as(self, kept: Ids, words: Sequence[str]) -> Ids:
        """Id of the word that each of these words is read as, if only the words `kept` are known.

        The words are listed by id, so padding and the unknown word come first. The result has one id per word. The core
        reads unknown words in the same way: by their shape, then as a similar word, unless the model reads unknown
        words apart or has no network.
        """
        known = {self.words[number]: number for number in kept.tolist()}
        apart = self.config.linear_only or self.config.options.text.unknown_words == APART
        similar = None if apart else SimilarWords(lambda: known)
        ids = np.full(len(words), UNKNOWN_ID, np.int64)
        ids[:FIRST_WORD] = np.arange(FIRST_WORD)
        for place in range(FIRST_WORD, len(words)):
            word = words[place]
            if word not in known and (shape := self.shape(word)):
                word = shape
            elif word not in known and similar:
                word = similar.nearest(word) or ""
            ids[place] = known.get(word, UNKNOWN_ID)
        return ids

    def shape(self, word: str) -> str | None:
        """The shape of a word, None if it has none or the model has another token rule."""
        by_rule = self.config.options.text.tokens == UNICODE
        shape: str | None = core_module().shape(word) if by_rule else None
        return shape


def read_source(path: Path) -> Source:
    """Read and check a whole model."""
    model = read_model(path)
    config = model.config
    if config.dictionary_words is not None:
        raise InputError(f"{path} is a compressed file: compress takes the model folder that `capsulet train` wrote")
    words = [PADDING, UNKNOWN, *model.words]
    weights = {name: value.copy() for name, value in unpack_weights(model).items()}  # the file itself is read-only
    for name, values in weights.items():
        if not np.isfinite(values).all():
            damaged(model.source, f"{name} has a number that is not finite")
    card = read_card(path).decode(errors="replace")
    empty = np.zeros((len(words), 0), np.float32)
    vectors = empty if config.linear_only else word_vectors(weights, config.options.model)
    return Source(config, weights, card, words, vectors, bytes(model.data))


def word_vectors(weights: dict[str, Floats], options: ModelOptions) -> Floats:
    """Vector of every word: (V, D)."""
    if options.embedding == "plain":
        return weights["embedding.table"]
    codebooks = weights["embedding.codebooks"]
    num_codebooks, num_codewords, size = codebooks.shape
    codes = weights["embedding.codes"].reshape(-1, num_codebooks, num_codewords)
    if options.embedding == "cwc":
        powers = np.exp(codes - codes.max(-1, keepdims=True))
        shares = powers / powers.sum(-1, keepdims=True)
    else:
        shares = (np.arange(num_codewords) == codes.argmax(-1)[..., None]).astype(np.float32)
    return np.asarray(shares.reshape(len(codes), -1) @ codebooks.reshape(-1, size))


class KeptWords:
    """Some words of a model, which a compressed file has."""

    def __init__(self, source: Source, kept: Ids) -> None:
        self.source, self.kept = source, kept

    @cached_property
    def model_ids(self) -> Ids:
        """Ids in the model, by id in the file: the unknown word, then the kept words by spelling."""
        by_spelling = sorted(self.kept.tolist(), key=lambda number: self.source.words[number].encode())
        return np.array([UNKNOWN_ID, *by_spelling], np.int64)

    @cached_property
    def words(self) -> list[str]:
        """Kept words, by id in the file from 1 on."""
        return [self.source.words[number] for number in self.model_ids[1:]]

    def read_as(self, words: Sequence[str]) -> Ids:
        """Id in the model of the word that the file reads each of these words as; the words are listed by id."""
        return self.source.read_as(self.kept, words)

    def file_ids(self, words: Sequence[str]) -> Ids:
        """Id in the file of the word that it reads each of these words as; the words are listed by id."""
        ids = np.zeros(len(self.source.words), np.int64)
        ids[self.model_ids[1:]] = np.arange(1, len(self.model_ids))
        return ids[self.read_as(words)]

    @property
    def word_ids(self) -> WordIds:
        """Ids of the file: no padding, the unknown word is 0."""
        return WordIds(len(self.model_ids), unknown=0)


class WordRanking:
    """Words of a model by importance; a compressed file keeps the first ones."""

    def __init__(self, source: Source, counts: Floats) -> None:
        self.source, self.order = source, source.importance(counts)
        self.packed_sizes: dict[int, int] = {}

    def keep(self, count: int) -> KeptWords:
        """The `count` most important words."""
        return KeptWords(self.source, self.order[:count])

    def packed_size(self, count: int) -> int:
        """Bytes of the packed dictionary of the `count` most important words."""
        if count not in self.packed_sizes:
            self.packed_sizes[count] = len(pack_words(self.source.words[number] for number in self.order[:count]))
        return self.packed_sizes[count]
