"""The model to compress: its weights, its words, their vectors and their importance."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from capsulet.compression.codes import Floats, gate_weighting
from capsulet.config import ModelOptions, Options
from capsulet.errors import InputError, ModelError
from capsulet.model.shapes import LEVELS
from capsulet.runtime.session import open_session
from capsulet.storage.folder import CARD, TOKENIZER, WEIGHTS, read_config, read_file
from capsulet.storage.model_config import ModelConfig
from capsulet.text.vocabulary import FIRST_WORD, PADDING_ID, UNKNOWN_ID, SimilarWords

HEAD_OF_ZIPF = 10  # without counts, the frequency of the word of rank r is taken as 1 / (r + 10)


@dataclass(frozen=True)
class Source:
    """A model folder in memory: V words, vectors of D numbers."""

    config: ModelConfig
    weights: dict[str, Floats]
    tokenizer: str
    card: str
    words: list[str]  # by id; padding and the unknown word come first
    vectors: Floats  # (V, D)

    @property
    def options(self) -> Options:
        """The options of the training."""
        return self.config.options

    @property
    def num_words(self) -> int:
        """Words that the model knows."""
        return len(self.words) - FIRST_WORD

    @property
    def num_classes(self) -> int:
        """Number of labels."""
        return len(self.config.labels)

    @property
    def network_weights(self) -> dict[str, Floats]:
        """Weights of encoder and head."""
        return {name: value for name, value in self.weights.items() if name.startswith(("encoder.", "head."))}

    @property
    def has_ngrams(self) -> bool:
        """Whether the model has n-gram features."""
        return LEVELS in self.weights

    @property
    def gate_weighting(self) -> Floats:
        """Matrix (D, D) that weights errors of word vectors by their effect on the gates of the first layer."""
        names = ("encoder.gru.weight_ih_l0", "encoder.gru.weight_ih_l0_reverse")
        return gate_weighting(np.concatenate([self.weights[name] for name in names]))

    def zipf(self) -> Floats:
        """Expected frequency of each word by its rank, which is its id: (V,)."""
        frequencies: Floats = (1 / (np.arange(len(self.words)) + HEAD_OF_ZIPF)).astype(np.float32)
        frequencies[PADDING_ID] = 0
        return frequencies

    def importance(self, counts: Floats) -> NDArray[np.int64]:
        """Ids of the known words, most important first: frequent words with vectors far from the unknown word's."""
        distances = np.square((self.vectors - self.vectors[UNKNOWN_ID]) @ self.gate_weighting).sum(1)
        # square root: the distance counts more than the frequency (measured in docs/results/log.md)
        scores = (np.sqrt(counts + 0.1) * distances)[FIRST_WORD:]
        order: NDArray[np.int64] = FIRST_WORD + np.argsort(-scores, kind="stable")
        return order

    def similar_words(self, kept: NDArray[np.int64]) -> SimilarWords | None:
        """Similar words among the kept ones; None if the model does not read unknown words as known ones."""
        if not self.config.reads_similar_words:
            return None
        known = {self.words[number]: number for number in kept.tolist()}
        return SimilarWords(lambda: known)


def read_source(path: Path) -> Source:
    """Read and check a model folder."""
    if not path.exists():
        raise ModelError(f"{path} does not exist: expected a model folder; `capsulet train … --out {path}` makes one")
    if path.is_file():
        open_session(path)  # raises if the file is not a capsulet model
        raise InputError(f"{path} is a file: compress takes the folder that `capsulet train` wrote, with its weights")
    from safetensors.numpy import load

    config = read_config(path)
    try:
        weights = load(read_file(path, WEIGHTS, config))
        tokenizer = read_file(path, TOKENIZER, config).decode()
        vocabulary = json.loads(tokenizer)["model"]["vocab"]
        words = sorted(vocabulary, key=vocabulary.__getitem__)
        vectors = word_vectors(weights, config.options.model)
    except ModelError:
        raise
    except Exception as error:  # safetensors raises its own class
        raise ModelError(f"{path} is damaged: its weights or words cannot be read ({error})") from None
    if len(vectors) != len(words):
        raise ModelError(f"{path} is damaged: {len(words)} words and {len(vectors)} vectors, expected as many of each")
    card = read_file(path, CARD, config).decode(errors="replace")
    return Source(config, weights, tokenizer, card, words, vectors)


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
    vectors: Floats = shares.reshape(len(codes), -1) @ codebooks.reshape(-1, size)
    return vectors
