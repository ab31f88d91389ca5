"""Texts of a corpus, spelled as the model reads them, for the measures of a training."""

from array import array
from collections.abc import Iterator

import numpy as np

from capsulet.evaluation.labels import LabelledTexts
from capsulet.runtime.classifier import LARGEST_WINDOW, Classifier
from capsulet.text.batch import true_labels
from capsulet.text.corpus import Corpus

MOST_TEXTS = 5_000  # validation texts that are measured after a training: enough for every metric, and quick


def corpus_texts(corpus: Corpus, classifier: Classifier) -> Iterator[LabelledTexts]:
    """Texts of a corpus as the model reads them, with a sign for unknown words. Of many texts, a regular sample."""
    session, word_ids = classifier.session, classifier.session.word_ids
    signs = map(chr, range(0x25A1, 0x2600))
    unknown = next(sign for sign in signs if word_ids.is_unknown(session.encode([sign])[0][0]))
    words = {word_ids.unknown: unknown}
    every = np.arange(0, len(corpus), max(len(corpus) / MOST_TEXTS, 1)).astype(np.int64)
    for start in range(0, len(every), LARGEST_WINDOW):
        rows = every[start : start + LARGEST_WINDOW]
        encoded = [array("i", corpus.ids[corpus.starts[row] : corpus.starts[row + 1]].tolist()) for row in rows]
        read = [[word_ids.read_as(number) for number in ids] for ids in encoded]
        for number in {number for ids in read for number in ids} - words.keys():
            words[number] = session.word(number)
        texts = [" ".join(words[number] for number in ids) for ids in read]
        truth = [tuple(np.flatnonzero(flags).tolist()) for flags in true_labels(corpus, rows)]
        yield LabelledTexts(texts, encoded, truth)
