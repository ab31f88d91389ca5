"""A scikit-learn estimator: `CapsuletClassifier` trains in memory and behaves like the classifiers of scikit-learn.

Every option of a training (docs/reference/options.md) is a parameter. Four have the names of scikit-learn:
`random_state` is the seed, `n_jobs` the number of threads, `class_weight` may be a dictionary, and multi-label follows
from the shape of y.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capsulet.config import GROUPS
from capsulet.errors import CapsuletError, MissingExtraError
from capsulet.option_names import for_python
from capsulet.runtime.classifier import Classifier
from capsulet.runtime.matrix import Matrix
from capsulet.runtime.session import session_of
from capsulet.text.columns import listing
from capsulet.text.records import missing_text
from capsulet.text.strings import check_text

try:
    import numpy as np
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils.multiclass import check_classification_targets, type_of_target
    from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d
except ImportError as missing:
    raise MissingExtraError(missing.name or "scikit-learn", "sklearn", "capsulet.sklearn") from None

if TYPE_CHECKING:
    from numpy.typing import NDArray

# options that have another name here, follow from y, or concern what a training writes to the disk
REPLACED = {"seed", "threads", "class_weight", "multi_label", "checkpoint_seconds"}
OPTIONS = {
    spec.name: spec.default
    for kind in GROUPS.values()
    for spec in dataclasses.fields(kind)
    if spec.name not in REPLACED
}
OTHER_PARAMETERS = {"recipe": "default", "class_weight": None, "random_state": None, "n_jobs": None, "verbose": False}
PARAMETERS = OTHER_PARAMETERS | OPTIONS
FLAGS = {"--seed": "--random-state", "--threads": "--n-jobs"}  # options that have another name here, in messages
ROWS, WEIGHTS = "rows.jsonl", "weights.json"  # files of a training, in a temporary folder
TIE = 1e-9  # a smaller difference of probabilities is none
SMALLEST = 1e-12  # a class length of 0 has no finite logarithm
WITHOUT_WORDS = "\u200b"  # a text without a visible character is read as one unknown word


class CapsuletClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Text classifier: n-gram features, and a capsule network where it helps.

    X is a sequence of texts: a list, an array or a pandas Series. In a table, the text columns of a row are joined
    by spaces. A missing text is empty. y has one label per text, or is an indicator matrix (n, C) for multi-label.
    After `fit`, `classes_` are the labels and `model_` is the `capsulet.Classifier`.
    """

    def __init__(self, **parameters: Any) -> None:
        if unknown := next((name for name in parameters if name not in PARAMETERS), None):
            raise TypeError(f"CapsuletClassifier has no parameter {unknown!r}: docs/reference/options.md lists them")
        for name, default in PARAMETERS.items():
            setattr(self, name, parameters.get(name, default))

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> CapsuletClassifier:  # noqa: N803
        """Train on texts and labels; `sample_weight` multiplies the loss of each text."""
        texts = self._texts(X, fitting=True)
        y = np.asarray(y) if hasattr(y, "__array__") else y
        self._set_classes(y, len(texts))
        labels = self._labels(y)
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, texts, ensure_non_negative=True)
            kept = np.flatnonzero(weights)  # texts of weight 0 are left out
            texts, labels, weights = [texts[row] for row in kept], [labels[row] for row in kept], weights[kept]
            weights = None if (weights == weights[:1]).all() else weights
        used = set(chain.from_iterable(labels))
        if len(used) < 2:
            raise ValueError(
                f"y has {len(used)} class{'es' * (len(used) != 1)}: CapsuletClassifier needs at least two classes"
            )
        self.model_ = self._train(texts, labels, weights)
        return self

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """The label of each text; multi-label: an indicator matrix (n, C)."""
        scores = self._scores(X)
        if self.multi_label_:
            return np.asarray(scores >= 0, np.int64)
        found: NDArray[Any] = self.classes_[scores.argmax(1)]
        return found

    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Calibrated probability of each class: (n, C)."""
        lengths = self._lengths(X)
        found = np.array(self.model_.probabilities(Matrix(lengths.tobytes(), lengths.shape[1])), np.float64)
        if not self.multi_label_ and len(found):  # of two equally probable classes, the predicted one comes first
            rows, best = np.arange(len(found)), lengths.argmax(1)
            found[rows, best] += TIE * (found.argmax(1) != best)
            found /= found.sum(1, keepdims=True)
        return self._by_class(found, 0.0)

    def decision_function(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Logarithms of the class lengths: (n, C). Two classes: their difference (n,).

        Multi-label: the class lengths minus the thresholds of their labels.
        """
        scores = self._scores(X)
        two = len(self.classes_) == 2 and not self.multi_label_
        return scores[:, 1] - scores[:, 0] if two else scores

    def _lengths(self, X: Any) -> NDArray[np.float32]:  # noqa: N803
        """Class lengths of texts, in the order of the labels of the model."""
        check_is_fitted(self)
        found = np.asarray(self.model_.lengths(self._texts(X)), np.float32)
        return found.reshape(-1, len(self.model_.labels))

    def _scores(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Scores of the classes: (n, C). Multi-label: above 0 if the class is predicted."""
        found = self._lengths(X).astype(np.float64)
        if self.multi_label_:
            return self._by_class(found - np.array(self.model_.thresholds), -1.0)
        return np.log(np.maximum(self._by_class(found, 0.0), SMALLEST))

    def _by_class(self, values: NDArray[np.float64], missing: float) -> NDArray[np.float64]:
        """Columns of the model in the order of `classes_`; a class without a text has the value `missing`."""
        found = np.full((len(values), len(self.classes_)), missing)
        places = {name: place for place, name in enumerate(self.label_names_)}
        found[:, [places[label] for label in self.model_.labels]] = values
        return found

    def _texts(self, X: Any, fitting: bool = False) -> list[str]:  # noqa: N803
        """The texts of X, checked."""
        if isinstance(X, (str, bytes)):
            raise ValueError(f"X is one {type(X).__name__}, expected a list of texts: write [text]")
        cells = np.asarray(X if hasattr(X, "__array__") else list(X), dtype=object)
        if cells.ndim not in (1, 2) or (cells.ndim == 2 and not cells.shape[1]):
            raise ValueError(f"X has the shape {cells.shape}, expected texts (n,) or columns of texts (n, k)")
        if not len(cells) and fitting:
            raise ValueError("X has 0 sample(s), expected labelled texts")
        rows = (cells[:, None] if cells.ndim == 1 else cells).tolist()
        rows = [list(map(missing_text, row)) for row in rows]
        try:
            for place, row in enumerate(rows):
                for cell in row:
                    check_text(cell, place)
        except CapsuletError as error:
            raise ValueError(str(error)) from None
        return [row[0] if len(row) == 1 else " ".join(row) for row in rows]

    def _set_classes(self, y: Any, texts: int) -> None:
        """Find the classes of y, and a name for each in the model."""
        if y is None:
            raise ValueError("y is None: CapsuletClassifier requires y to be passed, but the target y is None")
        if (missing := first_missing(y)) is not None:
            raise ValueError(f"y has no label in row {missing}: give one, or leave the row out")
        check_classification_targets(y)
        kind = type_of_target(y, input_name="y", raise_unknown=True)
        self.multi_label_ = kind == "multilabel-indicator"
        if not self.multi_label_ and kind not in ("binary", "multiclass"):
            raise ValueError(f"y is {kind}: expected one label per text, or an indicator matrix (n, C)")
        rows = y.shape[0] if hasattr(y, "shape") else len(y)
        if rows != texts:
            raise ValueError(f"X has {texts} texts and y has {rows} rows: expected the same number")
        if self.multi_label_:
            self.classes_ = np.arange(dense(y).shape[1])
        else:
            self.classes_ = np.unique(column_or_1d(y, warn=True))
        self.label_names_ = label_names(self.classes_)

    def _labels(self, y: Any) -> list[tuple[str, ...]]:
        """Names of the labels of each text."""
        if self.multi_label_:
            return [tuple(self.label_names_[place] for place in np.flatnonzero(row)) for row in dense(y)]
        places = np.searchsorted(self.classes_, column_or_1d(y))
        return [(self.label_names_[place],) for place in places]

    def _train(
        self, texts: Sequence[str], labels: Sequence[Sequence[str]], weights: NDArray[np.float64] | None
    ) -> Classifier:
        """Train in a temporary folder and return the model in memory."""
        from capsulet.training.run import train

        values = {name: getattr(self, name) for name in OPTIONS if getattr(self, name) != OPTIONS[name]}
        values |= {} if self.random_state is None else {"seed": seed_of(self.random_state)}
        with tempfile.TemporaryDirectory(prefix="capsulet-") as folder:
            saved = f"; saved in {Path(folder) / 'model'}"  # which is gone after the training

            def tell(line: str) -> None:
                if self.verbose:
                    print(line.removesuffix(saved))  # noqa: T201 - the user asked for it

            try:
                training = train(
                    labelled_file(Path(folder), texts, labels, self.multi_label_), Path(folder) / "model",
                    recipe=self.recipe, cache=None, report=None, multi_label=self.multi_label_,
                    sample_weight=None if weights is None else weights.tolist(),
                    threads=threads_of(self.n_jobs), tell=tell,
                    class_weight=self._class_weight(Path(folder), set(chain.from_iterable(labels))), **values,
                )  # fmt: skip
            except CapsuletError as error:
                raise ValueError(for_sklearn(error.message)) from error
            if training.stopped == "interrupted":
                raise KeyboardInterrupt
            call = f"{' '.join(repr(self).split())}.fit(X, y)"
            return Classifier(session_of(in_memory(Path(folder) / "model", call), threads_of(self.n_jobs)), call)

    def _class_weight(self, folder: Path, used: set[str]) -> str:
        """The weights of the classes as the option of a training."""
        if self.class_weight is None or self.class_weight == "balanced":
            return self.class_weight or "none"
        if not isinstance(self.class_weight, Mapping):
            raise ValueError(f"class_weight is {self.class_weight!r}: expected 'balanced', a dictionary or None")
        names = dict(zip(self.classes_.tolist(), self.label_names_, strict=True))
        if self.class_weight and not any(label in names for label in self.class_weight):  # a fold may lack some labels
            raise ValueError(
                f"class_weight has {next(iter(self.class_weight))!r}: expected labels of y, {listing(names)}"
            )
        by_name = {names.get(label): weight for label, weight in self.class_weight.items()}
        weights = {name: float(weight) for name, weight in by_name.items() if name in used}
        path = folder / WEIGHTS
        path.write_text(json.dumps(weights), encoding="utf-8")
        return str(path) if weights else "none"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array, tags.input_tags.one_d_array = True, False, True
        tags.classifier_tags.multi_label = True
        return tags


# scikit-learn reads the parameters of an estimator from the signature of its constructor
CapsuletClassifier.__init__.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
    [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    + [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=PARAMETERS[name]) for name in PARAMETERS]
)


def dense(y: Any) -> NDArray[Any]:
    """An indicator matrix as an array."""
    return np.asarray(y.toarray() if hasattr(y, "toarray") else y)


def first_missing(y: Any) -> int | None:
    """The first row of y whose label is missing: None, NaN or NA of pandas; None if there is none."""
    if getattr(y, "ndim", 1) != 1 or not isinstance(y, Iterable):
        return None
    return next((place for place, label in enumerate(y) if is_missing(label)), None)


def is_missing(label: object) -> bool:
    """Whether a label is None, NaN or NA of pandas, none of which equals itself."""
    return label is None or type(label).__name__ == "NAType" or (isinstance(label, float) and label != label)


def label_names(classes: NDArray[Any]) -> list[str]:
    """A name in the model for each class: the class as a string, or its number if a string cannot be a label."""
    names = [str(label) for label in classes.tolist()]
    usable = all(name and name == name.strip() and name.isprintable() for name in names)
    return names if usable and len(set(names)) == len(names) else [str(place) for place in range(len(names))]


def for_sklearn(message: str) -> str:
    """A message of a training, with the parameters of the estimator in place of the flags."""
    for flag, parameter in FLAGS.items():
        message = message.replace(flag, parameter)
    return for_python(message)


def seed_of(random_state: Any) -> int:
    """The seed of a training from an integer or a generator of NumPy."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    return int(random_state)


def threads_of(n_jobs: int | None) -> int | None:
    """The number of threads; None and negative numbers: one per core."""
    return None if n_jobs is None or n_jobs < 0 else int(n_jobs)


def labelled_file(folder: Path, texts: Sequence[str], labels: Sequence[Sequence[str]], multi_label: bool) -> Path:
    """Write texts and labels to a file that `capsulet.train` reads."""
    path = folder / ROWS
    with path.open("w", encoding="utf-8") as file:
        for text, text_labels in zip(texts, labels, strict=True):
            label = {"labels": list(text_labels)} if multi_label else {"label": text_labels[0]}
            file.write(json.dumps({**label, "text": text if text.strip() else WITHOUT_WORDS}) + "\n")
    return path


def in_memory(path: Path, call: str) -> bytes:
    """The bytes of a model folder, with this call instead of the command: they do not name the temporary folder."""
    from capsulet.storage.card import model_card
    from capsulet.storage.model_file import pack_model, read_model

    model = read_model(path)
    config, options = model.config, model.config.options
    if options.training.class_weight.endswith(WEIGHTS):
        options = dataclasses.replace(options, training=dataclasses.replace(options.training, class_weight=WEIGHTS))
    config = dataclasses.replace(config, command=call, options=options)
    return pack_model(model.tensors, config, model_card(config))
