"""The scikit-learn estimator: scikit-learn's own checks, its tools, labels of every kind, weights and pickles."""

from __future__ import annotations

import copy
import pickle
import re
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import validate_data

import capsulet
from capsulet.sklearn import PARAMETERS, CapsuletClassifier
from tests.conftest import SETS, TEXTS, TINY

X = [text for _, text in TEXTS]
Y = [label for label, _ in TEXTS]
MORE, LABELS = 2 * X, 2 * Y
FLAGS = np.array([[int(name in labels) for name in ("food", "money", "sport")] for labels, _ in SETS])


def small(**values: Any) -> CapsuletClassifier:
    return CapsuletClassifier(**{"linear_only": True, "n_jobs": 1, **values})


@pytest.fixture(scope="module")
def fitted() -> CapsuletClassifier:
    return small().fit(MORE, LABELS)


class Numbers(CapsuletClassifier):
    """Reads rows of numbers as texts of rounded numbers: the checks of scikit-learn have no texts."""

    def _texts(self, X: Any, fitting: bool = False) -> list[str]:  # noqa: N803
        rows = validate_data(self, X, reset=fitting)
        return [" ".join(f"c{place}v{round(float(cell))}" for place, cell in enumerate(row)) for row in rows]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array, tags.input_tags.one_d_array = False, True, False
        return tags


NOT_PASSED = {
    "check_sample_weight_equivalence_on_dense_data": (
        "a weight multiplies the loss of a text; a repeated text also changes the number of texts that have a feature, "
        "and the folds of the cross-validation"
    ),
}


@parametrize_with_checks([Numbers(linear_only=True, n_jobs=1)], expected_failed_checks=lambda estimator: NOT_PASSED)
@pytest.mark.filterwarnings("ignore:.*:RuntimeWarning")  # casts of infinite numbers in the checks
def test_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)


def test_the_page_lists_the_checks_that_do_not_pass() -> None:
    page = (Path(__file__).parent.parent / "docs" / "how-to" / "scikit-learn.md").read_text(encoding="utf-8")
    assert all(name in page for name in NOT_PASSED)


def test_the_page_runs() -> None:
    pytest.importorskip("pandas")
    page = (Path(__file__).parent.parent / "docs" / "how-to" / "scikit-learn.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", page, flags=re.S):
        exec(block, names)
    assert names["classifier"].predict(["The team won"]).tolist() == ["sport"]


def test_parameters_only_store() -> None:
    estimator = CapsuletClassifier(epochs="many", random_state=-5)  # refused by fit, not here
    assert (estimator.epochs, estimator.random_state) == ("many", -5)
    assert estimator.get_params() == {**PARAMETERS, "epochs": "many", "random_state": -5}
    for values, problem in (
        ({"epochs": "many"}, "epochs is 'many'"),
        ({"random_state": -1}, "random_state is -1: expected "),
        ({"n_jobs": 0}, "n_jobs is 0: expected 1 to 1024 or None"),
        ({"class_weight": "balance"}, "class_weight is 'balance': expected 'balanced', a dictionary or None"),
    ):
        with pytest.raises(ValueError, match=problem):
            small(**values).fit(X, Y)
    with pytest.raises(TypeError, match="no parameter 'epoch'"):
        CapsuletClassifier(epoch=3)
    assert repr(small()) == "CapsuletClassifier(linear_only=True, n_jobs=1)"


def test_answers_are_those_of_the_model(fitted: CapsuletClassifier) -> None:
    assert fitted.classes_.tolist() == ["food", "money", "sport"]
    assert fitted.score(X, Y) == 1.0
    assert fitted.predict(X).tolist() == [answer.label for answer in fitted.model_.predict(X)]
    np.testing.assert_allclose(fitted.predict_proba(X), fitted.model_.predict_proba(X), atol=1e-8)
    scores = fitted.decision_function(X)
    assert scores.shape == (12, 3) and fitted.classes_[scores.argmax(1)].tolist() == fitted.predict(X).tolist()
    assert fitted.predict([]).shape == (0,) and fitted.predict_proba([]).shape == (0, 3)


@pytest.mark.parametrize(
    "labels", [[7, 3, 11], [True, False], [1.0, 2.0], ["b", "a"], [" a", "a"], ["", "x"]], ids=repr
)
def test_labels_of_every_kind(labels: list[Any]) -> None:
    y = np.array([labels[place % len(labels)] for place in range(len(MORE))])
    estimator = small().fit(MORE, y)
    assert estimator.classes_.dtype == y.dtype and estimator.classes_.tolist() == sorted(labels)
    assert estimator.predict(X).dtype == y.dtype
    two = len(labels) == 2
    assert estimator.decision_function(X).shape == ((12,) if two else (12, 3))


def test_forms_of_texts(fitted: CapsuletClassifier) -> None:
    pandas = pytest.importorskip("pandas")
    expected = fitted.predict(X).tolist()
    frame = pandas.DataFrame({"text": X, "title": [""] * 12})
    for texts in (tuple(X), iter(X), np.array(X), np.array(X, object), frame["text"], frame[["text"]], frame):
        assert fitted.predict(texts).tolist() == expected
    small().fit(frame["text"], pandas.Series(Y, index=range(5, 17)))  # the index does not matter


@pytest.mark.parametrize(
    ("texts", "problem"),
    [("a text", r"write \[text\]"), ([b"a"], "type bytes"), (["a", 2], "text 1"), ([["a", 3.5]], "type float"),
     (np.empty((2, 2, 2), object), "shape")],
)  # fmt: skip
def test_what_is_no_text(fitted: CapsuletClassifier, texts: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        fitted.predict(texts)


def test_missing_texts_are_empty(fitted: CapsuletClassifier) -> None:
    pandas = pytest.importorskip("pandas")
    texts = pandas.Series(["", None, float("nan"), pandas.NA, *X], dtype=object)
    assert len({tuple(row) for row in fitted.predict_proba(texts)[:4].tolist()}) == 1
    small().fit(texts, [*Y[:4], *Y])


def test_messages_name_no_folder_that_is_gone(capsys: pytest.CaptureFixture[str]) -> None:
    small(verbose=True).fit(X, Y)
    told = capsys.readouterr().out
    assert "linear model: accuracy " in told and "saved in" not in told and tempfile.gettempdir() not in told


def test_empty_texts_are_trained_on() -> None:
    estimator = small().fit(["", " \n", *MORE], ["none", "none", *LABELS])
    assert estimator.predict([""]).shape == (1,)


def test_wrong_targets() -> None:
    for y, problem in ((Y[:-1], "12 texts and y has 11"), (["a"] * 12, "two classes"), ([0.5, 1.2] * 6, "continuous")):
        with pytest.raises(ValueError, match=problem):
            small().fit(X, y)
    with pytest.raises(NotFittedError):
        small().predict(X)


def test_pickle_and_copy(fitted: CapsuletClassifier) -> None:
    expected = fitted.predict_proba(X)
    for again in (pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted)):
        assert again.get_params() == fitted.get_params()
        assert (again.predict_proba(X) == expected).all()
    with pytest.raises(NotFittedError):
        clone(fitted).predict(X)


def test_a_classifier_pickles_as_its_file(model: Path) -> None:
    from capsulet.storage.model_file import MODEL

    classifier = capsulet.load(model, threads=1, precision="float32")
    data = pickle.dumps(classifier)
    assert (model / MODEL).read_bytes() in data
    again = pickle.loads(data)
    assert again.predict(X) == classifier.predict(X) and again.session.precision == "float32"
    assert again.lengths(X).tolist() == classifier.lengths(X).tolist()


def test_a_pickle_with_a_damaged_model_is_refused(fitted: CapsuletClassifier) -> None:
    function, (data, *rest) = fitted.model_.__reduce__()
    damaged = data[:-1] + bytes([data[-1] ^ 1])
    with pytest.raises(capsulet.CapsuletError, match="checksum"):
        function(damaged, *rest)


def test_equal_fits_are_equal_models_and_leave_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    first, second = (small(class_weight={"food": 2.0}).fit(MORE, LABELS) for _ in range(2))
    assert list(tmp_path.iterdir()) == []
    assert pickle.dumps(first) == pickle.dumps(second)
    assert str(tmp_path).encode() not in pickle.dumps(first)


def test_multi_label() -> None:
    texts = [text for _, text in SETS]
    flags = np.column_stack([FLAGS, np.zeros(12, int)])  # the last label is on no text
    estimator = small().fit(2 * texts, np.concatenate([flags, flags]))
    assert estimator.classes_.tolist() == [0, 1, 2, 3]
    found, probability = estimator.predict(texts), estimator.predict_proba(texts)
    assert found.shape == probability.shape == (12, 4) and not found[:, 3].any() and not probability[:, 3].any()
    assert (found[:, :3] == FLAGS).mean() > 0.8
    assert ((estimator.decision_function(texts) >= 0) == (found > 0)).all()
    given = [{int(label) for label, _ in answer.labels or ()} for answer in estimator.model_.predict(texts)]
    assert [set(np.flatnonzero(row).tolist()) for row in found] == given


NETWORK = {name: value for name, value in TINY.items() if name not in ("threads", "epochs")}


@pytest.mark.parametrize("values", [{}, {**NETWORK, "linear_only": False, "ngram_features": 0, "epochs": 12}], ids=len)
def test_a_weight_decides_between_contradicting_labels(values: dict[str, Any]) -> None:
    texts, labels = [*X, *X], [*Y, *np.roll(Y, 4)]  # every text has two labels
    first, second = (
        small(**values).fit(texts, labels, sample_weight=weights).score(X, Y)
        for weights in ([9] * 12 + [1] * 12, [1] * 12 + [9] * 12)
    )
    assert first > second + 0.3


def test_only_ratios_of_weights_matter_and_zero_removes() -> None:
    weights = np.arange(24) % 5
    kept = np.flatnonzero(weights)
    first = small().fit(MORE, LABELS, weights)
    second = small().fit([MORE[row] for row in kept], [LABELS[row] for row in kept], 8.0 * weights[kept])
    assert pickle.dumps(first.model_) == pickle.dumps(second.model_)
    equal, without = small().fit(MORE, LABELS, np.full(24, 3.0)), small().fit(MORE, LABELS)
    assert pickle.dumps(equal.model_) == pickle.dumps(without.model_)
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        small().fit(MORE, LABELS, -np.ones(24))


def test_class_weight() -> None:
    texts, y = [*X, *X], ["a"] * 22 + ["b"] * 2
    plain, balanced, given = (
        small(class_weight=weight).fit(texts, y) for weight in (None, "balanced", {"b": 12.0, "unknown": 1.0})
    )
    shares = [estimator.decision_function(X[-2:]).mean() for estimator in (plain, balanced, given)]
    assert shares[0] < min(shares[1:])
    assert given.model_.config.data.class_weights == {"a": 1.0, "b": 12.0}
    with pytest.raises(ValueError, match="class_weight has 'c': expected labels of y, a, b"):
        small(class_weight={"c": 2.0}).fit(texts, y)


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_a_missing_label(missing: object) -> None:
    with pytest.raises(ValueError, match="y has no label in row 1"):
        small().fit(MORE, [LABELS[0], missing, *LABELS[2:]])


def test_in_the_tools_of_scikit_learn() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"number": range(24), "message": MORE})
    columns = ColumnTransformer([("text", "passthrough", ["message"])])
    pipeline = Pipeline([("columns", columns), ("classify", small())])
    assert pipeline.fit(frame, LABELS).score(frame, LABELS) == 1.0
    lower = make_pipeline(FunctionTransformer(lambda texts: [text.upper() for text in texts]), small())
    assert cross_val_score(lower, MORE, LABELS, cv=2).shape == (2,)
    grid = GridSearchCV(pipeline, {"classify__pieces": [0, 4], "classify__class_weight": [None, "balanced"]}, cv=2)
    grid.fit(frame, LABELS)
    assert grid.best_params_.keys() == {"classify__pieces", "classify__class_weight"}
    assert grid.predict(frame[:2]).shape == (2,)
    calibrated = CalibratedClassifierCV(small(), cv=2).fit(MORE, LABELS)
    np.testing.assert_allclose(calibrated.predict_proba(X).sum(1), 1.0)
