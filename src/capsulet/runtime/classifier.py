"""The classifier: texts in, labels and scores out, in order and in bounded memory."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from capsulet import metrics
from capsulet.errors import InputError
from capsulet.results import Evaluation, Explanation, Prediction, TokenContribution
from capsulet.runtime.session import Session, open_session
from capsulet.text.batch import pad
from capsulet.text.tokens import check_text, encode, encodings

Observe = Callable[[Sequence[tuple[str, str]], NDArray[np.float32]], None]  # pairs, their class lengths (B, C)
FIRST_WINDOW, LARGEST_WINDOW = 16, 4096  # texts read ahead: few at first, so that the first answer comes soon
BATCH = 64
LARGEST_BATCH = 64 * 512  # tokens, padding included: long texts go in smaller batches
LARGEST_VOTES = 64 * 256  # texts times classes, likewise


class Classifier:
    """A trained model that predicts without PyTorch."""

    def __init__(self, session: Session, path: str) -> None:
        self.session, self.path = session, path
        self.config: dict[str, Any] = session.config
        self.labels: tuple[str, ...] = tuple(session.config["labels"])

    def __repr__(self) -> str:
        return f"<capsulet.Classifier {self.path!r}: {len(self.labels)} labels>"

    @overload
    def predict(self, texts: Sequence[str], top_k: int = 1) -> list[Prediction]: ...
    @overload
    def predict(self, texts: Iterable[str], top_k: int = 1) -> Iterable[Prediction]: ...
    def predict(self, texts: Iterable[str], top_k: int = 1) -> Iterable[Prediction]:
        """A prediction a text, in order. A list or tuple gives a list; any other iterable is streamed."""
        if isinstance(texts, (str, bytes)):
            raise InputError(f"predict got one {type(texts).__name__}, expected several texts: write predict([text])")
        if not isinstance(top_k, int) or top_k < 1:
            raise InputError(f"top_k is {top_k!r}: expected an integer of at least 1")
        stream = self.stream(texts, top_k)
        return list(stream) if isinstance(texts, (list, tuple)) else stream

    def stream(self, texts: Iterable[str], top_k: int = 1, first_window: int = FIRST_WINDOW) -> Iterator[Prediction]:
        """Predictions one by one, reading ahead at most a window of texts."""
        for window in windows(checked(texts), first_window):
            for lengths in self.lengths(window):
                order = np.argsort(-lengths, kind="stable")[:top_k]
                top = tuple((self.labels[index], float(lengths[index])) for index in order)
                yield Prediction(*top[0], top=top)

    def lengths(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Class lengths of each text: (len(texts), C)."""
        encoded = encode(self.session.tokenizer, texts)
        order = np.argsort([len(ids) for ids in encoded], kind="stable")
        found = np.empty((len(encoded), len(self.labels)), dtype=np.float32)
        for rows in batches([len(encoded[row]) for row in order], order, len(self.labels)):
            found[rows] = self.session.run(["lengths"], *pad([encoded[row] for row in rows]))[0]
        return found

    def explain(self, text: str, label: str | None = None) -> Explanation:
        """What each token contributed to a label (default: the predicted one)."""
        if label is not None and label not in self.labels:
            raise InputError(f"label {label!r} is unknown to the model: expected one of {some(self.labels)}")
        check_text(text, 0)
        (encoding,) = encodings(self.session.tokenizer, [text])
        ids, counts = pad(encode(self.session.tokenizer, [text]))
        lengths, norms, contributions = self.session.run(["lengths", "norms", "contributions"], ids, counts)
        chosen = int(lengths[0].argmax()) if label is None else self.labels.index(label)
        places = encoding.offsets or [(0, 0)]  # a text without tokens is read as one unknown word
        tokens = tuple(
            TokenContribution(text[start:end], start, end, float(share))
            for (start, end), share in zip(places, contributions[0, :, chosen], strict=True)
        )
        return Explanation(self.labels[chosen], float(lengths[0, chosen]), float(norms[0, chosen]), tokens)

    def evaluate(self, pairs: Iterable[tuple[str, str]], observe: Observe | None = None) -> Evaluation:
        """How the predictions compare with the labels of these (text, label) pairs; `observe` sees them pass."""
        places = {label: index for index, label in enumerate(self.labels)}
        truth: list[int] = []
        predicted: list[int] = []
        source = iter(pairs)
        while window := list(itertools.islice(source, LARGEST_WINDOW)):
            for _, label in window:
                if label not in places:
                    raise InputError(f"label {label!r} is unknown to the model: expected one of {some(self.labels)}")
                truth.append(places[label])
            texts = list(checked((text for text, _ in window), first=len(predicted)))
            lengths = self.lengths(texts)
            predicted.extend(lengths.argmax(1).tolist())
            if observe:
                observe(window, lengths)
        return metrics.evaluate(np.array(truth, dtype=np.int64), np.array(predicted, dtype=np.int64), self.labels)


def load(path: str | Path, threads: int = 0) -> Classifier:
    """The classifier in a model folder or file."""
    return Classifier(open_session(Path(path), threads), str(path))


def some(labels: Sequence[str]) -> str:
    """A few labels, for messages."""
    return ", ".join(label if len(label) <= 40 else label[:39] + "…" for label in labels[:8]) + (
        f" … ({len(labels)} in all)" if len(labels) > 8 else ""
    )


def checked(texts: Iterable[str], first: int = 0) -> Iterator[str]:
    """The same texts; the first that is none is refused by its number (the tokenizer would take a pair of texts)."""
    for index, text in enumerate(texts, first):
        check_text(text, index)
        yield text


def windows(texts: Iterable[str], first: int) -> Iterator[list[str]]:
    """The texts in lists that grow from `first` to the largest window."""
    source, size = iter(texts), first
    while window := list(itertools.islice(source, size)):
        yield window
        size = min(max(2 * size, 1), LARGEST_WINDOW) if first > 1 else 1


def batches(lengths: Sequence[int], rows: NDArray[np.int64], num_classes: int) -> Iterator[NDArray[np.int64]]:
    """Rows, shortest text first, cut so that neither padded tokens nor votes of a batch grow large."""
    start = 0
    while start < len(rows):
        size = min(BATCH, len(rows) - start, max(1, LARGEST_VOTES // num_classes))
        # the last row of a batch is its longest
        while size > 1 and size * lengths[start + size - 1] > LARGEST_BATCH:
            size = (size + 1) // 2
        yield rows[start : start + size]
        start += size
