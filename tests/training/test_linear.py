"""The logistic regression of n-gram features: its features against plain Python, its solution against scikit-learn."""

from __future__ import annotations

import dataclasses
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from capsulet.native import core_module
from capsulet.text.corpus import Corpus, choose_rows, spelled_texts
from capsulet.training import feature_values, features, linear, solver
from capsulet.training.features import Floats, Matrix, Truth, count_features, matrix_of, truth_of
from capsulet.training.folds import fold_numbers
from capsulet.training.linear import (
    COSTS,
    Comparison,
    OutOfFold,
    Regression,
    Setting,
    fit_corpus,
    log_losses,
    lower_loss,
    more_right,
)
from capsulet.training.solver import INTERCEPT, Solver
from tests.core import ngram_oracle
from tests.training.spelled import corpus_of, spelled
from tests.training.test_multi_label import sets_corpus

TEXTS = [
    "the cat sat on the mat", "the the the", "中 文 字 the 中 文", "ภ า ษ า cat", "a", "", "naïve Größe " + "x" * 100,
    "y" * 255 + " cat sat " + "y" * 254, "cat sat",
]  # fmt: skip


def never() -> bool:
    return False


def all_rows(corpus: Corpus) -> NDArray[np.int64]:
    return np.arange(len(corpus), dtype=np.int64)


def fit_table(
    matrix: Matrix, truth: Truth, cost: float, seed: int, stop: Callable[[], bool] = never, intercept: float = INTERCEPT
) -> tuple[Floats, Floats] | None:
    """Table of features (F, C) and bias (C,) of the regression with this cost of an error. None: stopped."""
    fitted = Solver(matrix, truth, np.arange(len(matrix), dtype=np.int64), intercept, seed)
    return (fitted.table, fitted.bias) if fitted.fit(cost, stop) else None


def words_of(corpus: Corpus) -> list[list[str]]:
    return [text.split() for text in spelled_texts(corpus, range(len(corpus)))]


# ---- features ----


@pytest.mark.parametrize("pieces", [0, 1, 2, 5, 8])
def test_features_are_those_of_plain_python(pieces: int) -> None:
    corpus = corpus_of(TEXTS, [0] * len(TEXTS), 2)
    wanted = [{feature.hash for feature in ngram_oracle.features(words, pieces)} for words in words_of(corpus)]
    vocabulary = count_features(corpus, pieces, 10**6)
    counts = Counter(value for own in wanted for value in own)
    assert dict(zip(vocabulary.hashes.tolist(), vocabulary.counts.tolist(), strict=True)) == counts
    matrix = matrix_of(corpus, all_rows(corpus), vocabulary)
    for place, own in enumerate(wanted):
        columns = matrix.columns[matrix.starts[place] : matrix.starts[place + 1]]
        assert len(set(columns.tolist())) == len(columns), "a feature has one place"
        times = Counter(feature.hash for feature in ngram_oracle.features(words_of(corpus)[place], pieces))
        own_times = matrix.times[matrix.starts[place] : matrix.starts[place + 1]].tolist()
        assert own_times == [min(times[int(vocabulary.hashes[column])], 255) for column in columns]
        assert {int(vocabulary.hashes[column]) for column in columns} == own


def test_words_and_pairs_come_first_and_rare_features_are_worth_more() -> None:
    corpus = corpus_of(TEXTS, [0] * len(TEXTS), 2)
    vocabulary = count_features(corpus, 3, 10**6)
    blocks = (vocabulary.hashes & np.uint64(1)).tolist()
    assert blocks == sorted(blocks) and blocks.index(1) == vocabulary.pieces
    for block in (slice(0, vocabulary.pieces), slice(vocabulary.pieces, None)):
        assert (np.diff(vocabulary.counts[block].astype(np.int64)) <= 0).all(), "most frequent first"
        assert (np.diff(vocabulary.weights[block]) >= 0).all()
    assert np.average(vocabulary.weights, weights=vocabulary.counts) == pytest.approx(1, rel=1e-5)
    few = count_features(corpus, 3, 7)
    assert len(few) == 7 and few.pieces == 4, "half of them are words and pairs"
    for block in (slice(0, few.pieces), slice(few.pieces, None)):
        every = vocabulary.counts[: vocabulary.pieces] if block.stop else vocabulary.counts[vocabulary.pieces :]
        assert few.counts[block].tolist() == every[: len(few.counts[block])].tolist()
    assert len(count_features(corpus, 3, len(vocabulary) - 2)) == len(vocabulary) - 2


def test_features_of_one_of_many_texts_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = corpus_of(["one two", "two three"], [0, 1], 2)
    assert count_features(corpus, 0, 100).counts.tolist() == [2, 1, 1, 1, 1]
    monkeypatch.setattr(feature_values, "FEW_TEXTS", 2)
    assert count_features(corpus, 0, 100).counts.tolist() == [2]


def test_bounded_counting_finds_the_frequent_features(monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts have two of ten frequent words and five rare ones; only 300 features are counted at the same time.

    One word begins in the second half, when many features have already been dropped for having too few texts.
    """
    dice = random.Random(1)
    texts = []
    for place in range(2000):
        words = [*dice.sample([f"often{n}" for n in range(10)], 2), *(f"w{dice.randrange(10**6)}" for _ in range(5))]
        texts.append(" ".join(words + ["late"] * (place > 1000 and place % 5 == 0)))
    corpus = corpus_of(texts, [0] * len(texts), 2)
    exact = count_features(corpus, 0, 11)
    assert exact.counts.min() == 199 and exact.counts[-2] > 300
    monkeypatch.setattr(features, "MOST_COUNTED", 300)
    bounded = count_features(corpus, 0, 11)
    assert set(bounded.hashes.tolist()) == set(exact.hashes.tolist())
    over = dict(zip(bounded.hashes.tolist(), bounded.counts.tolist(), strict=True))
    for value, count in zip(exact.hashes.tolist(), exact.counts.tolist(), strict=True):
        assert count <= over[value] <= 1.5 * count  # a count is never too small
    assert len(count_features(corpus, 0, 10**6)) <= 300


def test_texts_without_features() -> None:
    corpus = corpus_of(["", "", ""], [0, 1, 0], 2)
    vocabulary = count_features(corpus, 5, 100)
    assert len(vocabulary) == 0
    matrix = matrix_of(corpus, all_rows(corpus), vocabulary)
    fitted = fit_table(matrix, truth_of(corpus, all_rows(corpus), None), 1.0, 1)
    assert fitted is not None
    table, bias = fitted
    assert not table.any()
    assert (matrix.scores(table, bias) == bias).all() and bias[0] > 0 > bias[1], "only the intercept decides"


# ---- the solution ----


def problem(several: bool = False) -> Corpus:
    """Texts whose classes are hard to tell: the solution has errors."""
    dice = random.Random(2)
    topics = [[f"{topic}{n}" for n in range(8)] for topic in ("sea", "hill", "town")]
    shared, texts, labels = [f"word{n}" for n in range(15)], [], []
    for _ in range(150):
        own = [number for number in range(3) if dice.random() < 0.4] if several else [dice.randrange(3)]
        words = [dice.choice(topics[number if dice.random() < 0.7 else dice.randrange(3)]) for number in own * 2]
        texts.append(" ".join([*words, *dice.choices(shared, k=4)]))
        labels.append(own)
    return corpus_of(texts, labels if several else [own[0] for own in labels], 3)


def dense(matrix: Matrix) -> NDArray[np.float64]:
    """The matrix with a value for every feature: weight times factor / norm of the factors of its block."""
    found, pieces = np.zeros((len(matrix), len(matrix.vocabulary))), matrix.vocabulary.pieces
    for place in range(len(matrix)):
        part = slice(matrix.starts[place], matrix.starts[place + 1])
        columns, times = matrix.columns[part], matrix.times[part].astype(np.int64)
        factors = np.array([ngram_oracle.factor(int(own)) if matrix.vocabulary.counted else 1.0 for own in times])
        for chosen in (columns < pieces, columns >= pieces):
            own = columns[chosen]
            found[place, own] = (
                matrix.vocabulary.weights[own] * factors[chosen] / max(np.linalg.norm(factors[chosen]), 1)
            )
    return found


def signs_of(truth: Truth, texts: int, classes: int) -> NDArray[np.float64]:
    signs = np.full((texts, classes), -1.0)
    for place in range(texts):
        signs[place, truth.labels[truth.starts[place] : truth.starts[place + 1]]] = 1
    return signs


def with_constant(
    values: NDArray[np.float64], table: NDArray[np.float32], bias: NDArray[np.float32], intercept: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Values and table with one more feature, the intercept, which is regularised like the others."""
    constant = np.full((len(values), 1), intercept)
    return np.hstack([values, constant]), np.vstack([table, bias / (intercept or 1)]).astype(np.float64)


def objective(
    table: NDArray[np.float64], values: NDArray[np.float64], signs: NDArray[np.float64], costs: NDArray
) -> float:  # type: ignore[type-arg]
    """What the fit of one class minimises: table (F,), values (n, F), signs and costs (n,)."""
    return float(0.5 * np.square(table).sum() + (costs * np.logaddexp(0, -signs * (values @ table))).sum())


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("weights", [None, np.array([4.0, 1.0, 0.25], np.float32)])
@pytest.mark.parametrize("cost", [1.0, 27.0])
@pytest.mark.parametrize(("intercept", "counted"), [(0.0, False), (1.0, False), (1.0, True)])
def test_the_solution_is_that_of_scikit_learn(
    several: bool, weights: NDArray[np.float32] | None, cost: float, intercept: float, counted: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """With class weights: of the class of the text; multi-label: of the labels that the text has."""
    from sklearn.linear_model import LogisticRegression

    monkeypatch.setattr(solver, "effort", lambda texts: (500, 3e-6))
    corpus = problem(several)
    matrix = matrix_of(corpus, all_rows(corpus), count_features(corpus, 4, 10**6))
    matrix = matrix.by_occurrences() if counted else matrix
    truth, values = truth_of(corpus, all_rows(corpus), weights), dense(matrix)
    signs = signs_of(truth, len(corpus), 3)
    fitted = fit_table(matrix, truth, cost, 1, never, intercept)
    assert fitted is not None
    np.testing.assert_allclose(matrix.scores(*fitted), values @ fitted[0] + fitted[1], atol=1e-3)
    assert bool(fitted[1].any()) is bool(intercept)
    values, table = with_constant(values, *fitted, intercept)
    factors = np.ones(3) if weights is None else weights.astype(np.float64)
    for number in range(3):
        own = np.where(signs[:, number] > 0, factors[number], 1.0) if several else factors[corpus.targets]
        regression = LogisticRegression(solver="liblinear", C=cost, fit_intercept=False, tol=1e-8, max_iter=1000)
        regression.fit(values, signs[:, number], sample_weight=own)
        costs = cost * own
        wanted = objective(regression.coef_[0], values, signs[:, number], costs)
        found = objective(table[:, number], values, signs[:, number], costs)
        assert found == pytest.approx(wanted, rel=1e-3)
        np.testing.assert_allclose(values @ table[:, number], values @ regression.coef_[0], atol=0.2)


def test_the_usual_number_of_passes_is_close() -> None:
    corpus = problem()
    matrix = matrix_of(corpus, all_rows(corpus), count_features(corpus, 4, 10**6))
    truth, values = truth_of(corpus, all_rows(corpus), None), dense(matrix)
    signs, usual = signs_of(truth, len(corpus), 3), fit_table(matrix, truth, 9.0, 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(solver, "effort", lambda texts: (500, 1e-6))
        exact = fit_table(matrix, truth, 9.0, 1)
    assert usual is not None and exact is not None
    for number in range(3):
        near, best = (
            objective(table[:, number], own, signs[:, number], np.full(150, 9.0))
            for own, table in (with_constant(values, *found, solver.INTERCEPT) for found in (usual, exact))
        )
        assert best - 1e-3 <= near <= 1.01 * best


def test_texts_with_weights_and_bases_have_the_gradient_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solver, "effort", lambda texts: (500, 1e-6))
    corpus, generator = problem(), np.random.default_rng(0)
    matrix = matrix_of(corpus, all_rows(corpus), count_features(corpus, 4, 10**6))
    worth = generator.choice([0.2, 1.0, 5.0], len(corpus)).astype(np.float32)
    bases = generator.normal(size=(len(corpus), 3)).astype(np.float32)
    truth = replace(truth_of(replace(corpus, worth=worth), all_rows(corpus), None), bases=bases)
    fitted = fit_table(matrix, truth, 3.0, 1)
    assert fitted is not None
    values, table = with_constant(dense(matrix), *fitted, solver.INTERCEPT)
    signs = signs_of(truth, len(corpus), 3)
    errors = 1 / (1 + np.exp(signs * (values @ table + bases)))
    np.testing.assert_allclose(table, values.T @ (3.0 * worth[:, None] * signs * errors), atol=0.05)


def test_a_heavier_class_is_found_more_often() -> None:
    corpus = problem()
    matrix = matrix_of(corpus, all_rows(corpus), count_features(corpus, 4, 10**6))
    found = []
    for weight in (0.05, 1.0, 20.0):
        weights = np.array([weight, 1, 1], np.float32)
        fitted = fit_table(matrix, truth_of(corpus, all_rows(corpus), weights), 1.0, 1)
        assert fitted is not None
        found.append(int((matrix.scores(*fitted).argmax(1) == 0).sum()))
    assert found[0] < found[1] < found[2]


def test_equal_seeds_give_equal_tables_and_a_stop_ends_the_fit() -> None:
    corpus = problem()
    one, same, other = (fit_corpus(corpus, 3, 10**6, seed, None, never) for seed in (1, 1, 2))
    assert one is not None and same is not None and other is not None
    for name in ("table", "bias"):
        np.testing.assert_array_equal(getattr(one, name), getattr(same, name))
        assert not np.array_equal(getattr(one, name), getattr(other, name))
        # a score that all classes share decides nothing
        np.testing.assert_allclose(getattr(one, name).sum(-1), 0, atol=1e-4)
    np.testing.assert_array_equal(one.out_of_fold.scores, same.out_of_fold.scores)
    assert fit_corpus(corpus, 3, 10**6, 1, None, lambda: True) is None


def test_it_learns_several_labels_per_text() -> None:
    train, other = spelled(sets_corpus(400)), spelled(sets_corpus(200, 1))
    fitted = fit_corpus(train, 5, 10**6, 1, None, never)
    assert fitted is not None
    scores, truth = fitted.scores(other), truth_of(other, all_rows(other), None)
    flags = signs_of(truth, 200, 3) > 0
    right = (scores > 0) == flags
    assert right.mean() > 0.97 and flags.any(1).mean() < 1, "some texts have no label"


# ---- cross-validation ----


def validated(corpus: Corpus, pieces: int = 3) -> OutOfFold:
    rows = all_rows(corpus)
    matrix = matrix_of(corpus, rows, count_features(corpus, pieces, 10**6))
    regression = Regression(matrix, truth_of(corpus, rows, None), solver.INTERCEPT, 1, never)
    found = regression.cross_validate(rows, fold_numbers(corpus, rows, 1))
    assert found is not None
    return found


def test_the_cost_has_the_smallest_loss_of_left_out_texts() -> None:
    """Where labels are noise, strong regularisation is better; where every word tells the class, a weak one."""
    noise = problem()
    noise = replace(noise, targets=np.random.default_rng(1).permutation(noise.targets))
    assert validated(noise).setting.cost == min(COSTS)
    dice = random.Random(3)
    numbers = [dice.randrange(2) for _ in range(100)]
    clear = corpus_of(
        [" ".join(dice.choices([f"{'good' if n else 'bad'}{k}" for k in range(5)], k=4)) for n in numbers], numbers, 2
    )
    assert validated(clear).setting.cost == max(COSTS)


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("work", [0, 10**9])
def test_scores_out_of_fold_are_those_of_a_model_of_the_other_folds(
    several: bool, work: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if the first fold alone has chosen the setting."""
    monkeypatch.setattr(solver, "effort", lambda texts: (500, 1e-5))
    monkeypatch.setattr(linear, "MUCH_WORK", work)
    corpus = problem(several)
    found = validated(corpus)
    assert found.losses[found.setting] == min(found.losses.values()) and not found.setting.class_priors
    choosing = found.folds >= 0 if work else found.folds == 0
    flags = truth_of(corpus, found.rows, None).flags(found.rows[choosing], 3)
    assert log_losses(found.scores[choosing], flags).mean() == pytest.approx(found.losses[found.setting])
    for fold in np.unique(found.folds):
        own = found.folds == fold
        train, left_out = (choose_rows(corpus, np.flatnonzero(chosen)) for chosen in (~own, own))
        matrix = matrix_of(train, all_rows(train), count_features(train, 3, 10**6))
        truth = truth_of(train, all_rows(train), None)
        matrix = matrix.known_to(truth, all_rows(train))
        fitted = fit_table(matrix, truth, found.setting.cost, 1)
        assert fitted is not None
        wanted = matrix_of(left_out, all_rows(left_out), matrix.vocabulary).scores(*fitted)
        np.testing.assert_allclose(found.scores[own], wanted, atol=0.05)


@pytest.mark.parametrize("classes", [29, 30])
def test_pieces_are_worth_more_among_many_classes_of_texts_with_one_label(classes: int) -> None:
    """A multi-label model judges each label on its own, however many there are."""
    texts = [f"word{n % classes} and some others" for n in range(2 * classes)]
    corpus = corpus_of(texts, [n % classes for n in range(2 * classes)], classes)
    rows = all_rows(corpus)
    matrix, truth = matrix_of(corpus, rows, count_features(corpus, 3, 10**6)), truth_of(corpus, rows, None)
    shares = []
    for several in (False, True):
        vocabulary = matrix.known_to(dataclasses.replace(truth, multi_label=several), rows).vocabulary
        words, pieces = np.split(vocabulary.weights, [vocabulary.pieces])
        shares.append(pieces.max() / words.max())
    assert shares[0] == pytest.approx(shares[1]) if classes < 30 else shares[0] > 1.5 * shares[1]


def documents(seed: int, texts: int = 40) -> Corpus:
    """Documents of two classes that have the same words: those of the own class occur more often."""
    dice, numbers = random.Random(seed), [place % 2 for place in range(texts)]
    common = [f"word{n}" for n in range(30)]
    own = [[f"{name}{n}" for n in range(10)] for name in ("ship", "tree")]
    found = []
    for number in numbers:
        words = [*own[0], *own[1], *common, *dice.choices(common, k=150), *dice.choices(own[number], k=20)]
        found.append(" the ".join(dice.sample(words, len(words))))  # all documents have the same pairs
    return corpus_of(found, numbers, 2)


def test_occurrences_count_where_they_tell_more() -> None:
    train, other = documents(1), documents(2, 100)
    fitted = fit_corpus(train, 0, 10**6, 1, None, never)
    assert fitted is not None and fitted.vocabulary.counted and fitted.out_of_fold.setting.counted
    assert {setting.counted for setting in fitted.out_of_fold.losses} == {False, True}
    scores = fitted.scores(other)
    assert (scores.argmax(1) == other.targets).mean() > 0.9
    assert abs((scores.argmax(1) == 0).mean() - 0.5) < 0.1, "similar texts need a fitted bias"
    short = fit_corpus(problem(), 3, 10**6, 1, None, never)
    assert short is not None and not short.vocabulary.counted
    assert not any(setting.counted for setting in short.out_of_fold.losses), "nothing is repeated"


def keywords(seed: int) -> Corpus:
    """60 classes of four texts: a keyword of the class among eight words of a common pool."""
    dice, words = random.Random(0), random.Random(seed)
    pool, own = ([f"{dice.getrandbits(32):x}" for _ in range(size)] for size in (240, 60))
    numbers = list(range(60)) * 4
    return corpus_of([" ".join([*words.sample(pool, 8), own[number]]) for number in numbers], numbers, 60)


@pytest.mark.parametrize("margin", [-1e6, 1e6])
def test_priors_per_class_are_taken_if_they_are_clearly_better(margin: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear, "CLEARLY", margin)
    train, other = keywords(1), keywords(2)
    train.targets[:60:4] = 0  # errors, about which the two differ
    fitted = fit_corpus(train, 0, 10**6, 1, None, never)
    assert fitted is not None and fitted.out_of_fold.setting.class_priors is (margin < 0)
    assert {setting.class_priors for setting in fitted.out_of_fold.losses} == {False, True}
    accuracy = (fitted.scores(other).argmax(1) == other.targets).mean()
    assert accuracy > 0.9 if margin < 0 else accuracy < 0.9


def test_a_prior_is_a_scale_of_the_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """Features with the variance p and the value x are features with the variance 1 and the value x √p."""
    from sklearn.linear_model import LogisticRegression

    monkeypatch.setattr(solver, "effort", lambda texts: (500, 1e-5))
    corpus = problem()
    rows = all_rows(corpus)
    matrix, truth = matrix_of(corpus, rows, count_features(corpus, 4, 10**6)), truth_of(corpus, rows, None)
    fitted = Regression(matrix, truth, 0.0, 1, never).solver(rows, Setting(3.0, class_priors=True))
    assert fitted.priors is not None and fitted.fit(3.0, never)
    values = dense(fitted.matrix)
    for number in range(3):
        regression = LogisticRegression(solver="liblinear", C=3.0, fit_intercept=False, tol=1e-8, max_iter=1000)
        scaled = values * np.sqrt(fitted.priors[:, number])
        regression.fit(scaled, corpus.targets == number)
        np.testing.assert_allclose(values @ fitted.table[:, number], scaled @ regression.coef_[0], atol=0.1)


@pytest.mark.parametrize(("texts", "several"), [(["a b", "c d"], False), (["a b", ""], False), (["a b", "c d"], True)])
def test_two_texts_are_enough(texts: list[str], several: bool) -> None:
    corpus = corpus_of(texts, [[0], [0, 1]] if several else [0, 1], 2)
    fitted = fit_corpus(corpus, 3, 10**6, 1, None, never)
    assert fitted is not None and fitted.cost in COSTS and np.isfinite(fitted.out_of_fold.scores).all()
    if not several:
        assert fitted.scores(corpus).argmax(1).tolist() == [0, 1]


def test_of_many_texts_a_part_is_validated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear, "FOLD_TEXTS", 60)
    fitted = fit_corpus(problem(), 3, 10**6, 1, None, never)
    assert fitted is not None
    rows = fitted.out_of_fold.rows
    assert len(rows) == len(fitted.out_of_fold.scores) == 60 and (np.diff(rows) > 0).all() and rows.max() > 90


def test_log_losses() -> None:
    truth = Truth(np.array([0, 1, 3, 3]), np.array([1, 0, 1], np.int32), True, np.ones(3, np.float32))
    scores = np.array([[1.0, 2.0], [-1.0, 0.5], [0.0, 0.0]], np.float32)
    signed = np.array([[-1.0, 2.0], [-1.0, 0.5], [0.0, 0.0]])
    found = log_losses(scores, truth.flags(np.arange(3), 2))
    np.testing.assert_allclose(found, np.log1p(np.exp(-signed)).sum(1), rtol=1e-6)


@pytest.mark.parametrize("better", [lower_loss, more_right])
def test_heavy_texts_decide_what_is_better(better: Comparison) -> None:
    """Half of the texts have better scores, and the other half worse ones."""
    flags = np.tile([True, False], (40, 1))
    before = np.tile(np.array([[-1.0, 1.0], [1.0, -1.0]], np.float32), (20, 1))
    ones, heavy = np.ones(40, np.float32), np.tile(np.array([5.0, 0.1], np.float32), 20)
    assert not better(before, -before, flags, ones)
    assert better(before, -before, flags, heavy) and not better(-before, before, flags, heavy)


# ---- places in a table ----


@pytest.mark.parametrize("rows", [1, 7, 64, 1000])
def test_places_in_a_table_are_those_of_plain_python(rows: int) -> None:
    dice = random.Random(rows)
    hashes = np.array([dice.getrandbits(64) for _ in range(300)], np.uint64)
    places, checks = np.empty(300, np.int64), np.zeros(rows, np.uint8)
    core_module().place(hashes.ctypes.data, 300, rows, places.ctypes.data, checks.ctypes.data)
    wanted, wanted_checks = ngram_oracle.place_all(hashes.tolist(), rows)
    assert places.tolist() == [-1 if row is None else row for row in wanted] and checks.tolist() == wanted_checks
    for value, row in zip(hashes.tolist(), wanted, strict=True):
        assert row is None or ngram_oracle.find_row(value, wanted_checks) == row, "what was placed is found"
