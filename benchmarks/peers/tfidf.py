"""TF-IDF of words and word pairs, and optionally of characters, with logistic regression (scikit-learn).

The characters are n-grams inside words, of at least two training texts: n-grams of one text would take most of the
memory. C is chosen on the validation rows. Every regression starts from zero: one that starts from the weights of the
previous C is within scikit-learn's tolerance at once and stays there.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.peers.protocol import Model, Rows, Training, accuracy
from benchmarks.peers.words import WORD

if TYPE_CHECKING:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression

Lengths = Sequence[int]  # shortest and longest n-gram of characters; empty: words and word pairs only


class TfIdf:
    """TF-IDF vectorisers and logistic regression."""

    def __init__(self, vectorisers: Sequence[TfidfVectorizer], regression: LogisticRegression) -> None:
        self.vectorisers, self.regression = list(vectorisers), regression

    @property
    def parameters(self) -> int:
        """Number of coefficients, intercepts and inverse document frequencies."""
        sizes = (self.regression.coef_.size, self.regression.intercept_.size)
        return int(sum(sizes) + sum(vectoriser.idf_.size for vectoriser in self.vectorisers))

    def predict(self, texts: Sequence[str]) -> list[str]:
        """Predict the label of each text."""
        features = beside([vectoriser.transform(texts) for vectoriser in self.vectorisers])
        return [str(label) for label in self.regression.predict(features)]

    def save(self, folder: Path) -> None:
        """Write the weights in single precision, and the n-grams as JSON."""
        np.savez(
            folder / "weights.npz",
            coefficients=self.regression.coef_.astype(np.float32),  # (C, V), or (1, V) with two classes
            intercepts=self.regression.intercept_.astype(np.float32),
            idf=np.concatenate([vectoriser.idf_ for vectoriser in self.vectorisers]).astype(np.float32),
        )
        names = {
            "characters": [*self.vectorisers[1].ngram_range] if len(self.vectorisers) > 1 else [],
            "grams": [sorted(one.vocabulary_, key=one.vocabulary_.__getitem__) for one in self.vectorisers],
            "labels": [str(label) for label in self.regression.classes_],
        }
        (folder / "names.json").write_text(json.dumps(names, ensure_ascii=False), encoding="utf-8")


def build_vectorisers(characters: Lengths, grams: Sequence[Sequence[str] | None] = (None, None)) -> list[Any]:
    """Vectorisers of words and pairs, and of characters: (1 + log tf) · idf, normalised to length one."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=WORD, vocabulary=grams[0])
    if not characters:
        return [words]
    shortest, longest = characters
    inside = TfidfVectorizer(
        analyzer="char_wb", ngram_range=(shortest, longest), sublinear_tf=True, min_df=2, vocabulary=grams[1]
    )
    return [words, inside]


def beside(features: Sequence[Any]) -> Any:
    """Join the columns of sparse matrices."""
    from scipy.sparse import hstack

    return hstack(features, format="csr") if len(features) > 1 else features[0]


def train(
    train: Rows,
    valid: Rows,
    seed: int,
    *,
    characters: Lengths = (),
    strengths: Sequence[float] = (1.0, 3.0, 10.0, 30.0, 100.0),
) -> Training:
    """Train one regression per strength and return the best on the validation rows; the seed has no effect."""
    from sklearn.linear_model import LogisticRegression

    started = time.process_time()
    vectorisers = build_vectorisers(characters)
    features = beside([vectoriser.fit_transform([text for text, _ in train]) for vectoriser in vectorisers])
    counting = time.process_time() - started
    trainings = []
    for strength in strengths:
        started = time.process_time()
        regression = LogisticRegression(C=strength, max_iter=1000).fit(features, [label for _, label in train])
        seconds = counting + time.process_time() - started
        model = TfIdf(vectorisers, regression)
        trainings.append(Training(model, accuracy(model, valid), seconds, {"C": strength}))
    return max(trainings, key=lambda training: training.valid_accuracy)


def load(folder: Path) -> Model:
    """Load a model that `save` wrote."""
    from sklearn.linear_model import LogisticRegression

    names = json.loads((folder / "names.json").read_text(encoding="utf-8"))
    weights = np.load(folder / "weights.npz")
    vectorisers = build_vectorisers(names["characters"], names["grams"])
    start = 0
    for vectoriser, grams in zip(vectorisers, names["grams"], strict=True):
        vectoriser.idf_ = weights["idf"][start : start + len(grams)]
        start += len(grams)
    regression = LogisticRegression()
    regression.coef_, regression.intercept_ = weights["coefficients"], weights["intercepts"]
    regression.classes_ = np.array(names["labels"])
    return TfIdf(vectorisers, regression)
