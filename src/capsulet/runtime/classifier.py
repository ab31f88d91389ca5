"""`Classifier`: predict, explain and save. Texts are processed in order, in windows of bounded size."""

from __future__ import annotations

import os
import time

from capsulet.errors import InputError
from capsulet.prediction import Prediction
from capsulet.runtime.matrix import Matrix
from capsulet.runtime.session import Session, open_session, session_of

TYPE_CHECKING = False  # as in typing, which takes long to import
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any, overload

    from capsulet.evaluation.abstention import Rules
    from capsulet.results import Explanation
    from capsulet.storage.model_config import ModelConfig

FIRST_WINDOW, LARGEST_WINDOW = 16, 4096  # texts read ahead: few at first, so that the first answer is quick
LONG_WAIT = 0.05  # seconds to wait for one text; a longer wait means that the input is typed, or a slow pipe
ABSTENTION = ("abstain", "coverage", "max_error", "sets")  # options of `predict`
REASONS = "", "low confidence", "unknown words"  # why the model abstains, by the number that the core returns


class Classifier:
    """A trained model that predicts without PyTorch."""

    def __init__(self, session: Session, path: str) -> None:
        self.session, self.path, self.labels = session, path, session.labels
        self.multi_label, self.calibrated = session.multi_label, session.calibrated

    @property
    def config(self) -> ModelConfig:
        """The configuration of the model."""
        return self.session.config

    @property
    def thresholds(self) -> tuple[float, ...] | None:
        """Multi-label: the smallest class length with which each label is predicted (C,)."""
        return self.config.thresholds if self.multi_label else None

    @property
    def probability_thresholds(self) -> tuple[float, ...] | None:
        """Multi-label: the smallest probability with which each label is predicted (C,)."""
        if self.thresholds is None:
            return None
        return tuple(self.probabilities(Matrix.of_rows([self.thresholds], len(self.labels), "f"))[0])

    def __repr__(self) -> str:
        return f"<capsulet.Classifier {self.path!r}: {len(self.labels)} labels>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the bytes of the model file; they are checked when they are loaded, and never run."""
        session = self.session
        return restored, (session.core.file(), self.path, session.threads, session.precision)

    if TYPE_CHECKING:

        @overload
        def predict(self, texts: Iterator[Any], top_k: int = 1, **options: Any) -> Iterator[Prediction]: ...
        @overload
        def predict(self, texts: Any, top_k: int = 1, **options: Any) -> list[Prediction]: ...

    def predict(
        self, texts: Any, top_k: int = 1, *, lengths: bool = False, text_columns: str | Sequence[str] | None = None,
        **options: Any,
    ) -> Iterable[Prediction]:  # fmt: skip
        """Predict one label per text, in order. For an iterator or generator, return an iterator; otherwise, a list.

        Texts are a list, a Series, an array or a column, or rows with a text: a data frame, a table, a list of dicts.
        Probabilities are those of `predict_proba`: calibrated if the model has a calibration. `lengths` adds the class
        length, and gives class lengths in `top` and `labels`.
        `abstain` gives no label to uncertain texts; `coverage` or `max_error` sets how many get a label.
        `sets` adds a set of labels that contains the true one with this probability. See docs/how-to/abstain.md.
        `text_columns` names the columns of the text; the default is those that the model was trained on.
        """
        if isinstance(texts, (str, bytes)):
            raise InputError(f"predict got one {type(texts).__name__}, expected a list of texts: write predict([text])")
        if not isinstance(top_k, int) or top_k < 1:
            raise InputError(f"top_k is {top_k!r}: expected an integer of at least 1")
        if unknown := next((name for name in options if name not in ABSTENTION), None):
            raise InputError(
                f"predict got the unknown option {unknown!r}: expected top_k, lengths, text_columns, "
                f"{', '.join(ABSTENTION)}"
            )
        rules = self.abstention_rules(**options) if options else None
        is_stream = False
        if not isinstance(texts, (list, tuple)) or not all(type(text) is str for text in texts[:1]):
            texts, is_stream = self.texts_of(texts, text_columns)
        if not is_stream:  # the caller waits for all answers: windows are as large as possible
            texts = texts if isinstance(texts, (list, tuple)) else list(texts)
            slices = (texts[start : start + LARGEST_WINDOW] for start in range(0, len(texts), LARGEST_WINDOW))
            return list(self.answers(slices, top_k, lengths, rules))
        return self.answers(windows(texts, FIRST_WINDOW), top_k, lengths, rules)

    def texts_of(self, data: Any, columns: str | Sequence[str] | None = None) -> tuple[Iterable[str], bool]:
        """Return the texts of data that are not a list of strings, and whether they are a stream."""
        if isinstance(data, (list, tuple)) and (not data or not isinstance(data[0], dict)):
            return data, False  # an error will name the first item that is not a text
        from capsulet.text.labelled import texts_of

        return texts_of(data, self.config.columns, columns), hasattr(data, "__next__")

    def answers(
        self, text_windows: Iterable[Sequence[str]], top_k: int, with_lengths: bool, rules: Rules | None
    ) -> Iterator[Prediction]:
        """Yield the predictions for texts, which come in windows (lists); the other arguments have been checked."""
        labels, first = self.labels, 0
        for window in text_windows:
            lengths, unknown = self.classify(window, first)
            first += len(window)
            rows = lengths.tolist()
            probabilities = self.probabilities(lengths).tolist()
            numbers = rows if with_lengths else probabilities
            reasons: Sequence[int] = bytes(len(rows))
            if rules and (rules.least_confidence is not None or rules.least_certainty is not None):
                reasons = self.session.reasons(rules, lengths, unknown)
            sets = self.session.label_sets(rules, lengths) if rules and rules.least_set_score is not None else None
            for text, row in enumerate(rows):
                if top_k == 1:
                    best = row.index(max(row))
                    top: tuple[tuple[str, float], ...] = ((labels[best], numbers[text][best]),)
                else:
                    order = sorted(range(len(row)), key=row.__getitem__, reverse=True)[:top_k]
                    top, best = tuple((labels[place], numbers[text][place]) for place in order), order[0]
                given = self.given(row, numbers[text]) if self.multi_label else None
                label_set = None if sets is None else tuple(labels[place] for place in sets[text])
                reason = REASONS[reasons[text]]
                label, length = None if reason else labels[best], row[best] if with_lengths else None
                yield Prediction(label, probabilities[text][best], top, given, label_set, reason, length)

    def given(self, lengths: Sequence[float], numbers: Sequence[float]) -> tuple[tuple[str, float], ...]:
        """Predicted labels of a text by its class lengths (C,), largest first, with their `numbers` (C,)."""
        from capsulet.evaluation.labels import given_labels

        order = sorted(given_labels(lengths, self.thresholds), key=lengths.__getitem__, reverse=True)
        return tuple((self.labels[index], numbers[index]) for index in order)

    def abstention_rules(
        self, abstain: bool = False, coverage: float | None = None, max_error: float | None = None,
        sets: float | None = None,
    ) -> Rules | None:  # fmt: skip
        """Return the thresholds for these options of `predict`; None if none of them is given."""
        if not abstain and coverage is None and max_error is None and sets is None:
            return None
        if self.multi_label:
            raise InputError(
                f"{self.path} is a multi-label model, which gives each label by its own threshold: leave out "
                "--abstain, --coverage, --max-error and --sets"
            )
        from capsulet.evaluation.abstention import find_rules

        return find_rules(self.session, self.path, self.calibrated, abstain, coverage, max_error, sets)

    def predict_proba(self, texts: Any) -> Any:
        """Return the probability of each label, in the order of `labels`: (len(texts), C).

        Rows sum to one. For a multi-label model each label has a probability of its own, and rows need not sum to one.
        The result is a NumPy array if NumPy is installed, else a list of lists.
        """
        if isinstance(texts, (str, bytes)):
            raise InputError(f"predict_proba got one {type(texts).__name__}, expected a list of texts: write [text]")
        if not isinstance(texts, (list, tuple)) or not all(type(text) is str for text in texts[:1]):
            texts, _ = self.texts_of(texts)
        parts = [self.probabilities(self.lengths(window)) for window in windows(texts, LARGEST_WINDOW)]
        whole = Matrix(b"".join(bytes(part.values) for part in parts), len(self.labels), "d")
        try:
            import numpy as np
        except ImportError:
            return whole.tolist()
        return np.asarray(whole)

    def probabilities(self, lengths: Matrix) -> Matrix:
        """Convert class lengths (B, C) to probabilities, in proportion to the lengths if there is no calibration."""
        return self.session.probabilities(lengths)

    def lengths(self, texts: Sequence[str]) -> Matrix:
        """Return the class lengths of texts: (len(texts), C)."""
        return self.classify(texts)[0]

    def classify(self, texts: Sequence[str], first: int = 0) -> tuple[Matrix, Any]:
        """Return class lengths (n, C) and shares of unknown words (n); `first` is the number of the first text."""
        try:
            return self.session.classify(texts)
        except (TypeError, UnicodeEncodeError):
            for _ in checked(texts, first):
                pass
            raise

    def save_pretrained(self, folder: str | os.PathLike[str]) -> None:
        """Write the model to a folder, as `capsulet train` does: model file, card and log."""
        from pathlib import Path

        from capsulet.storage.folder import CARD, LOG, write_folder
        from capsulet.storage.model_file import MODEL

        files = self.files()
        write_folder(Path(folder), files[MODEL], files[CARD], files[LOG])

    @classmethod
    def from_pretrained(
        cls, name: str | os.PathLike[str], *, revision: str | None = None, token: str | None = None,
        threads: int | None = None, precision: str = "auto",
    ) -> Classifier:  # fmt: skip
        """Load a model folder, or the model OWNER/NAME of the Hugging Face Hub (extra `hub`)."""
        if os.path.exists(name):  # noqa: PTH110 - pathlib takes long to import
            return load(name, threads, precision)
        from capsulet.storage.hub import download_model

        return load(download_model(os.fspath(name), revision, token), threads, precision)

    def push_to_hub(
        self, repo_id: str, *, private: bool | None = None, token: str | None = None, revision: str | None = None,
        commit_message: str = "Upload a capsulet model",
    ) -> str:  # fmt: skip
        """Upload the model to the Hugging Face Hub as OWNER/NAME (extra `hub`); return the address of the commit."""
        from capsulet.storage.hub import upload_model

        return upload_model(repo_id, self.files(), private, token, commit_message, revision)

    def files(self) -> dict[str, bytes]:
        """The files of the model folder by name; the card and the log are those beside the model, if there are any."""
        from pathlib import Path

        from capsulet.storage.folder import CARD, LOG, read_log
        from capsulet.storage.model_file import MODEL, parse_model

        data: bytes = self.session.core.file()
        readme = Path(self.path) / CARD
        beside = (Path(self.path) / MODEL).is_file()
        card = readme.read_bytes() if beside and readme.is_file() else parse_model(data, self.path).card.encode()
        return {MODEL: data, CARD: card, LOG: read_log(Path(self.path)) if beside else b""}

    def explain(
        self, text: str, label: str | int | None = None, contrast: str | int | None = None, check: bool = False,
        spelled: bool = False,
    ) -> Explanation:  # fmt: skip
        """Return the contribution of each token to a label (default: the predicted one).

        `contrast` adds the contributions to this label minus those to `contrast`, or to the next best label if
        `contrast` is predicted. `check` adds the change of the length when a token is left out. A text that is
        `spelled` is tokens separated by spaces, spelled as the model spells them.
        """
        named, other = self.label_of(label), self.label_of(contrast)
        list(checked([text]))
        if other is not None and other == named:
            raise InputError(f"label and contrast are both {other!r}: choose another label to contrast with")
        import dataclasses

        from capsulet.runtime.explanation import explain, occlusion

        explanation = explain(self.session, text, named, other, spelled)
        place = self.labels.index(explanation.label)
        changes: dict[str, Any] = {}
        if (thresholds := self.probability_thresholds) is not None:
            changes["threshold"] = thresholds[place]
        if check:
            changes["occlusion"] = occlusion(self.session, text, place, explanation.length_before_squash)
        return dataclasses.replace(explanation, **changes)

    def label_of(self, label: str | int | None) -> str | None:
        """The label as the model names it, or None."""
        from capsulet.text.strings import known_label  # loads collections, which a prediction does not need

        return None if label is None else known_label(label, self.labels)

    def explain_labels(self, text: str, contrast: str | int | None = None, check: bool = False) -> list[Explanation]:
        """Explain every label that a multi-label model gives, best first. Otherwise explain the best label."""
        other = self.label_of(contrast)
        list(checked([text]))
        lengths = self.lengths([text])[0].tolist()
        given = self.given(lengths, lengths) if self.multi_label else ()
        labels: list[str | None] = [label for label, _ in given if label != other]
        return [self.explain(text, label, other, check) for label in labels or [None]]


def load(path: str | os.PathLike[str], threads: int | None = None, precision: str = "auto") -> Classifier:
    """Load the classifier in a model folder or file.

    `precision` is the arithmetic of the network: int8 (auto) is several times faster and gives the same answers on
    every machine; float32 is closer to the training.
    """
    return Classifier(open_session(path, threads, precision), str(path))


def restored(data: bytes, path: str, threads: int, precision: str) -> Classifier:
    """Rebuild a pickled classifier from the bytes of its model file."""
    return Classifier(session_of(data, threads, precision, path), path)


def unknown_shares(encoded: Sequence[Any], session: Session) -> list[float]:
    """Return the share of unknown words in each text."""
    word_ids = session.word_ids
    return [word_ids.count_unknown(ids) / len(ids) for ids in encoded]


def checked(texts: Iterable[str], first: int = 0) -> Iterator[str]:
    """Yield the texts, and raise an error with its number for one that is not a string."""
    from capsulet.text.strings import check_text  # loads collections, which a prediction does not need

    for index, text in enumerate(texts, first):
        check_text(text, index)
        yield text


def windows(texts: Iterable[str], first: int) -> Iterator[list[str]]:
    """Yield texts in lists that grow from `first` to the largest window; a list ends early after a long wait."""
    size, window, waiting_since = first, list[str](), time.monotonic()
    for text in texts:
        window.append(text)
        if len(window) >= size or time.monotonic() - waiting_since > LONG_WAIT:
            yield window
            window, size = [], min(max(2 * size, 1), LARGEST_WINDOW) if first > 1 else 1
        waiting_since = time.monotonic()
    if window:
        yield window
