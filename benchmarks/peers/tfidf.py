"""TF-IDF of words and word pairs with logistic regression (scikit-learn); C is chosen on the validation rows."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.peers.protocol import Model, Rows, Training, accuracy
from capsulet.text.tokens import TOKEN

if TYPE_CHECKING:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression


class TfIdf:
    """TF-IDF vectoriser and logistic regression."""

    def __init__(self, vectoriser: TfidfVectorizer, regression: LogisticRegression) -> None:
        self.vectoriser, self.regression = vectoriser, regression

    @property
    def parameters(self) -> int:
        """Number of coefficients, intercepts and inverse document frequencies."""
        return int(self.regression.coef_.size + self.regression.intercept_.size + self.vectoriser.idf_.size)

    def predict(self, texts: Sequence[str]) -> list[str]:
        """Predict the label of each text."""
        return [str(label) for label in self.regression.predict(self.vectoriser.transform(texts))]

    def save(self, folder: Path) -> None:
        """Write the weights in single precision, and words and pairs as JSON."""
        np.savez(
            folder / "weights.npz",
            coefficients=self.regression.coef_.astype(np.float32),  # (C, V), or (1, V) with two classes
            intercepts=self.regression.intercept_.astype(np.float32),
            idf=self.vectoriser.idf_.astype(np.float32),
        )
        words = sorted(self.vectoriser.vocabulary_, key=self.vectoriser.vocabulary_.__getitem__)
        names = {"words": words, "labels": [str(label) for label in self.regression.classes_]}
        (folder / "names.json").write_text(json.dumps(names, ensure_ascii=False), encoding="utf-8")


def build_vectoriser(words: Sequence[str] | None = None) -> TfidfVectorizer:
    """Vectoriser of words by our token rule and of word pairs: (1 + log tf) · idf, normalised to length one."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=TOKEN, vocabulary=words)


def train(
    train: Rows, valid: Rows, seed: int, *, strengths: Sequence[float] = (1.0, 3.0, 10.0, 30.0, 100.0)
) -> Training:
    """Train one regression per strength and return the best on the validation rows; the seed has no effect."""
    from sklearn.linear_model import LogisticRegression

    started = time.process_time()
    vectoriser = build_vectoriser()
    features = vectoriser.fit_transform(text for text, _ in train)
    counting = time.process_time() - started
    trainings = []
    for strength in strengths:
        started = time.process_time()
        regression = LogisticRegression(C=strength, max_iter=1000).fit(features, [label for _, label in train])
        seconds = counting + time.process_time() - started
        model = TfIdf(vectoriser, regression)
        trainings.append(Training(model, accuracy(model, valid), seconds, {"C": strength}))
    return max(trainings, key=lambda training: training.valid_accuracy)


def load(folder: Path) -> Model:
    """Load a model that `save` wrote."""
    from sklearn.linear_model import LogisticRegression

    names = json.loads((folder / "names.json").read_text(encoding="utf-8"))
    weights = np.load(folder / "weights.npz")
    vectoriser = build_vectoriser(names["words"])
    vectoriser.idf_ = weights["idf"]
    regression = LogisticRegression()
    regression.coef_, regression.intercept_ = weights["coefficients"], weights["intercepts"]
    regression.classes_ = np.array(names["labels"])
    return TfIdf(vectoriser, regression)
