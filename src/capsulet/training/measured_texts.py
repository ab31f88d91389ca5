"""Texts of a corpus, spelled as the model spells them, for the measures of a training."""

from collections.abc import Iterator

import numpy as np

from capsulet.evaluation.labels import LabelledTexts
from capsulet.runtime.classifier import LARGEST_WINDOW, Classifier
from capsulet.text.batch import true_labels
from capsulet.text.corpus import Corpus, spelled_texts

MOST_TEXTS = 5_000  # validation texts that are measured after a training: enough for every metric, and quick


def corpus_texts(corpus: Corpus, classifier: Classifier) -> Iterator[LabelledTexts]:
    """Texts of a corpus with their labels. Of many texts, a regular sample."""
    every = np.arange(0, len(corpus), max(len(corpus) / MOST_TEXTS, 1)).astype(np.int64)
    for start in range(0, len(every), LARGEST_WINDOW):
        rows = every[start : start + LARGEST_WINDOW]
        texts = spelled_texts(corpus, rows)
        truth = [tuple(np.flatnonzero(flags).tolist()) for flags in true_labels(corpus, rows)]
        yield LabelledTexts(texts, classifier.session.encode(texts, spelled=True), truth, spelled=True)
