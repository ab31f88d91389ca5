"""The model to compress: its weights, its words and their vectors, and which words matter."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from capsulet.compression.codes import Floats, gate_metric
from capsulet.config import SIMILAR, UNKNOWN_WORDS, ModelOptions, Options, TextOptions, TrainingOptions, check
from capsulet.errors import InputError, ModelError
from capsulet.model.shapes import LEVELS
from capsulet.runtime.session import open_session
from capsulet.storage.folder import CARD, TOKENIZER, WEIGHTS, read_config, read_file
from capsulet.text.vocabulary import FIRST_WORD, UNKNOWN_ID, SimilarWords

HEAD_OF_ZIPF = 10  # without counts the word of rank r is taken to occur in proportion to 1 / (r + 10)


@dataclass(frozen=True)
class Source:
    """A model folder in memory."""

    config: dict[str, Any]
    options: Options
    weights: dict[str, Floats]
    tokenizer: str
    card: str
    words: list[str]  # by id, padding and the unknown word first
    vectors: Floats  # (V, D)

    @property
    def network_weights(self) -> dict[str, Floats]:
        """The weights of encoder and head."""
        return {name: value for name, value in self.weights.items() if name.startswith(("encoder.", "head."))}

    @property
    def has_ngrams(self) -> bool:
        """Whether words and pairs speak for themselves, too."""
        return LEVELS in self.weights

    @property
    def unknown_words(self) -> str:
        """How the model reads words that it does not know, whatever its options left open."""
        return SIMILAR if self.config.get(UNKNOWN_WORDS) == SIMILAR else "apart"

    @property
    def metric(self) -> Floats:
        """How errors in a word's vector count: by what they do to the gates of the first layer."""
        names = ("encoder.gru.weight_ih_l0", "encoder.gru.weight_ih_l0_reverse")
        return gate_metric(np.concatenate([self.weights[name] for name in names]))

    def zipf(self) -> Floats:
        """How often each word may occur, from its rank alone, which is its id: (V,)."""
        found: Floats = (1 / (np.arange(len(self.words)) + HEAD_OF_ZIPF)).astype(np.float32)
        found[0] = 0  # padding
        return found

    def importance(self, counts: Floats) -> NDArray[np.int64]:
        """Ids of the words, those that matter most first: often met, and far from what is read in their stead."""
        moves = np.square((self.vectors - self.vectors[UNKNOWN_ID]) @ self.metric).sum(1)
        # by its square root a count weighs less than the distance: benchmarks of it are in docs/log.md
        scores = (np.sqrt(counts + 0.1) * moves)[FIRST_WORD:]
        found: NDArray[np.int64] = FIRST_WORD + np.argsort(-scores, kind="stable")
        return found

    def numbers(self, kept: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Old ids in the order of the new ones, the unknown word first; and the new id of every old one."""
        spelled = sorted(kept.tolist(), key=lambda number: self.words[number].encode())
        old = np.array([UNKNOWN_ID, *spelled], np.int64)
        new = np.zeros(len(self.words), np.int64)
        new[old[1:]] = np.arange(1, len(old))
        return old, new[self.read_as(kept)]

    def read_as(self, kept: NDArray[np.int64]) -> NDArray[np.int64]:
        """The id of the word as which each word is read where only these are known: (V,)."""
        found = np.full(len(self.words), UNKNOWN_ID, np.int64)
        found[kept] = kept
        if similar := self.similar_words(kept):
            for number in np.flatnonzero(found == UNKNOWN_ID)[FIRST_WORD:].tolist():  # those two stay what they are
                found[number] = similar.ids.get(similar.nearest(self.words[number]) or "", UNKNOWN_ID)
        return found

    def similar_words(self, kept: NDArray[np.int64]) -> SimilarWords | None:
        """How unknown words are read where only these are known, if the model reads them as others."""
        if self.unknown_words != SIMILAR:
            return None
        known = {self.words[number]: number for number in kept.tolist()}
        return SimilarWords(lambda: known)


def read_source(path: Path) -> Source:
    """A model folder, checked."""
    if not path.exists():
        raise ModelError(f"{path} does not exist: expected a model folder; `capsulet train … --out {path}` makes one")
    if path.is_file():
        open_session(path)  # says what is wrong with a file that is none of ours
        raise InputError(f"{path} is a file: compress takes the folder that `capsulet train` wrote, with its weights")
    from safetensors.numpy import load

    config = read_config(path)
    try:
        stored = config["options"]
        kinds = {"model": ModelOptions, "text": TextOptions, "training": TrainingOptions}
        options = Options(**{name: check(kind(**stored[name])) for name, kind in kinds.items()})
    except (KeyError, TypeError, InputError) as error:
        raise ModelError(f"{path} is damaged: its options cannot be read ({error})") from None
    try:
        weights = load(read_file(path, WEIGHTS, config))
        tokenizer = read_file(path, TOKENIZER, config).decode()
        vocabulary = json.loads(tokenizer)["model"]["vocab"]
        words = sorted(vocabulary, key=vocabulary.__getitem__)
        vectors = word_vectors(weights, options.model)
    except ModelError:
        raise
    except Exception as error:  # safetensors raises its own class
        raise ModelError(f"{path} is damaged: its weights or words cannot be read ({error})") from None
    if len(vectors) != len(words):
        raise ModelError(f"{path} is damaged: {len(words)} words and {len(vectors)} vectors")
    card = read_file(path, CARD, config).decode(errors="replace")
    return Source(config, options, weights, tokenizer, card, words, vectors)


def word_vectors(weights: dict[str, Floats], options: ModelOptions) -> Floats:
    """What the embedding makes of every word: (V, D)."""
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
    found: Floats = shares.reshape(len(codes), -1) @ codebooks.reshape(-1, size)
    return found
