"""Validation texts: texts that a model was not trained on, held out or left out in cross-validation."""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from capsulet.evaluation.arrays import Flags
from capsulet.evaluation.labels import LabelledTexts
from capsulet.runtime.classifier import LARGEST_WINDOW, Classifier
from capsulet.runtime.matrix import Matrix
from capsulet.text.batch import true_labels
from capsulet.text.corpus import Corpus, spelled_texts
from capsulet.text.vocabulary import UNKNOWN_ID
from capsulet.training.features import Floats
from capsulet.training.folds import Rows

MOST_TEXTS = 5_000  # texts that are evaluated after a training: enough for every metric, and fast


@dataclass(frozen=True)
class ValidationTexts:
    """Texts of a corpus that were held out, or left out in cross-validation, and their class lengths."""

    corpus: Corpus
    vocab_size: int
    rows: Rows  # (n,) indices of the texts in the corpus
    # class lengths (n, C) from cross-validation; None: the model was not trained on the texts and computes them itself
    lengths: Floats | None = None
    folds: NDArray[np.int64] | None = None  # fold of every text of the corpus; None: no cross-validation

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def truth(self) -> Flags:
        """Which labels the texts have: (n, C)."""
        return true_labels(self.corpus, self.rows)

    @property
    def texts(self) -> list[str]:
        """The texts as their tokens with a space between them."""
        return spelled_texts(self.corpus, self.rows)

    @property
    def encoded(self) -> "list[array[int]]":
        """Ids of the words of each text. Words that only occur in texts of the same fold are unknown."""
        corpus, encoded = self.corpus, []
        folds = np.zeros(len(corpus), np.int64) if self.folds is None else self.folds
        known = None if self.folds is None else self.known_words(self.folds)
        for row in self.rows:
            ids = corpus.ids[corpus.starts[row] : corpus.starts[row + 1]]
            ids = ids if corpus.read_as is None else corpus.read_as[ids]
            ids = np.where(ids < self.vocab_size, ids, UNKNOWN_ID)
            if known is not None:
                ids = np.where(known[ids, folds[row]], ids, UNKNOWN_ID)
            encoded.append(array("i", ids.astype(np.int32).tobytes()))
        return encoded

    def known_words(self, folds: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether each word occurs in a text of another fold than this one: (V, folds)."""
        corpus = self.corpus
        ids = corpus.ids if corpus.read_as is None else corpus.read_as[corpus.ids]
        owners = np.repeat(folds, corpus.lengths)
        inside = ids < self.vocab_size
        occurs = np.zeros((self.vocab_size, int(folds.max(initial=0)) + 1), bool)
        occurs[ids[inside], owners[inside]] = True
        return np.asarray(occurs.sum(1, keepdims=True) > occurs)

    def sample(self, most: int = MOST_TEXTS) -> "ValidationTexts":
        """These texts, or every k-th of them if there are more than `most`."""
        chosen = np.arange(0, len(self), max(len(self) / most, 1)).astype(np.int64)
        lengths = None if self.lengths is None else self.lengths[chosen]
        return ValidationTexts(self.corpus, self.vocab_size, self.rows[chosen], lengths, self.folds)

    def answers(self, classifier: Classifier) -> Matrix:
        """Class lengths (n, C): those of the cross-validation if there are any, otherwise those of this model."""
        if self.lengths is None:
            return classifier.session.classify(self.texts, spelled=True)[0]
        return Matrix(np.ascontiguousarray(self.lengths), self.lengths.shape[1])

    def windows(self, classifier: Classifier) -> Iterator[LabelledTexts]:
        """The texts with their labels and class lengths, in windows of bounded size."""
        for start in range(0, len(self), LARGEST_WINDOW):
            part = slice(start, start + LARGEST_WINDOW)
            window = replace(self, rows=self.rows[part], lengths=None if self.lengths is None else self.lengths[part])
            truth = [tuple(np.flatnonzero(row).tolist()) for row in window.truth]
            yield LabelledTexts(
                window.texts, window.encoded, truth, spelled=True, lengths=window.answers(classifier)
            )  # fmt: skip
