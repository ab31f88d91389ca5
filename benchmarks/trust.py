"""Measure calibration, abstention guarantees, explanations and the detection of out-of-scope texts.

    python -m benchmarks.trust --data DATA --models models --write
    python -m benchmarks.trust --data DATA --sets trec6 --seeds 1

Figures on the test files, which are read once per model, at the end: expected calibration error (15 bins) of class
lengths and of calibrated probabilities; measured values for every requested coverage, set coverage and error rate; and
the largest difference between the sum of word contributions and the number they explain, on 1,000 texts. If
SET_oos/test.jsonl exists (clinc150): area under the ROC curve of in-scope against out-of-scope texts, and accuracy of
the most confident 90 % of the in-scope texts, both also for TF-IDF with logistic regression and its largest softmax
probability.

--models DIR has model folders SET-seedN. Missing models are trained. Models without calibration are calibrated on the
validation part of training. A set with a val.jsonl is also measured with a copy that is calibrated on that file.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import capsulet
from benchmarks import record
from benchmarks.peers import tfidf
from benchmarks.peers.rows import read_test, read_training, split_file
from capsulet.errors import InputError
from capsulet.evaluation.arrays import calibration_error
from capsulet.evaluation.rankings import set_scores
from capsulet.text.reading import read_rows
from capsulet.text.rows import ReadOptions

SETS = ("ag_news_61k", "imdb", "trec6", "clinc150")
LARGEST_ERROR = {"ag_news_61k": 0.02, "imdb": 0.02, "trec6": 0.05}
BASELINE_AUROC = 0.930
COVERAGES, SET_COVERAGES, ERRORS = (0.8, 0.9, 0.95), (0.9, 0.95), (0.02, 0.05)
SUM_TEXTS, SUM_BOUND = 1000, 1e-5


def main() -> int:
    """Run the benchmark, print the figures and, with --write, store them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the data sets")
    parser.add_argument("--sets", nargs="+", default=list(SETS), metavar="NAME")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1], metavar="N")
    parser.add_argument("--models", type=Path, metavar="DIR", help="trained models, SET-seedN (default: train all)")
    parser.add_argument("--strengths", nargs="+", type=float, default=[1.0, 3.0, 10.0, 30.0, 100.0], metavar="C",
                        help="values of C for the logistic regression; chosen on validation texts")  # fmt: skip
    parser.add_argument("--no-tfidf", action="store_true", help="do not run TF-IDF with logistic regression")
    parser.add_argument("--write", action="store_true", help="write benchmarks/results/trust.json")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    arguments = parser.parse_args()
    runs, scopes = [], []
    with tempfile.TemporaryDirectory() as scratch:
        for name in arguments.sets:
            folder, baseline = arguments.data / name, None
            outside = read_texts(arguments.data / f"{name}_oos" / "test.jsonl")
            if outside and not arguments.no_tfidf:
                baseline = tfidf_scope(folder, outside, arguments.strengths)
                say(f"{name} TF-IDF", baseline)
            for seed in arguments.seeds:
                for texts, model in calibrated(folder, seed, arguments.models or Path(scratch), Path(scratch)).items():
                    run, scope = measure(model, folder, outside)
                    runs.append({"set": name, "seed": seed, "calibrated_on": texts, **run})
                    say(f"{name} {seed}, calibrated on {texts}", runs[-1])
                if scope:  # it does not depend on the calibration
                    scopes.append({"set": name, "seed": seed, "ours": scope, "tf_idf": baseline})
                    say(f"{name} {seed} out of scope", scope)
    return record.conclude("trust", {"trust_runs": runs, "scope": scopes}, bounds(runs, scopes), arguments)


def say(title: str, case: dict[str, Any]) -> None:
    """Print figures as one line on standard error."""
    shown = ", ".join(f"{key} {value:.4g}" for key, value in case.items() if isinstance(value, float))
    print(f"{title}: {shown}", file=sys.stderr, flush=True)


def bounds(runs: list[dict[str, Any]], scopes: list[dict[str, Any]]) -> dict[str, bool]:
    """Whether the figures meet their bounds, by the name of the bound."""
    held = {
        f"{run['set']}_{run['seed']}_calibration_error_at_most_{LARGEST_ERROR[run['set']]}": bool(
            run["calibration_error_after"] <= LARGEST_ERROR[run["set"]]
        )
        for run in runs
        if run["set"] in LARGEST_ERROR
    }
    for run in runs:
        kept = abs(run["coverage_got_at_0.9"] - 0.9) <= 0.01
        held[f"{run['set']}_{run['seed']}_coverage_within_a_point_on_{run['calibrated_on']}"] = bool(kept)
        held[f"{run['set']}_{run['seed']}_contributions_add_up"] = bool(run["largest_sum_error"] <= SUM_BOUND)
    for scope in scopes:
        least = scope["tf_idf"]["auroc"] if scope["tf_idf"] else BASELINE_AUROC
        held[f"{scope['set']}_{scope['seed']}_auroc_above_tf_idf"] = bool(scope["ours"]["auroc"] > least)
    return held


def read_texts(path: Path) -> list[str]:
    """Texts of a file; an empty list if the file does not exist."""
    if not path.exists():
        return []
    return [row.text for row in read_rows([str(path)], labelled=False, options=ReadOptions(), allow_empty=True)]


def calibrated(folder: Path, seed: int, models: Path, scratch: Path) -> dict[str, Path]:
    """Model folders of a set and seed, by the texts of their calibration; missing models are trained and calibrated."""
    model, train, valid = models / f"{folder.name}-seed{seed}", split_file(folder, "train"), folder / "val.jsonl"
    if not model.is_dir():
        record.finished(capsulet.train(train, model, seed=seed, threads=1))
    if capsulet.load(model).config.calibration is None:
        capsulet.calibrate(model, train)
    if not valid.exists():
        return {"a part of train": model}
    copy = scratch / f"{model.name}-calibrated"
    shutil.copytree(model, copy)
    capsulet.calibrate(copy, valid=valid)
    return {"a part of train": model, valid.name: copy}


def measure(model: Path, folder: Path, outside: list[str]) -> tuple[dict[str, Any], dict[str, float] | None]:
    """Return all figures of a model, and its figures on out-of-scope texts if the set has them."""
    classifier = capsulet.load(model, threads=1)
    rows = read_test(folder)
    places = {label: place for place, label in enumerate(classifier.labels)}
    truth = np.array([places[label] for _, label in rows])
    lengths, confidence, certainty, probabilities = scored(classifier, [text for text, _ in rows])
    right = lengths.argmax(1) == truth
    stored = classifier.config.calibration
    run: dict[str, Any] = {
        "test_rows": len(rows),
        "valid_rows": stored["texts"],
        "method": f"{stored['method']} of {stored['scale']}",
        "accuracy": float(right.mean()),
        "calibration_error_before": calibration_error(lengths.max(1), right),
        "calibration_error_after": calibration_error(probabilities.max(1), right),
    }
    run["abstain_answered_at_0.95"] = float(
        (confidence >= classifier.abstention_rules(True, None, None, None).least_confidence).mean()
    )
    for share in COVERAGES:
        answered = certainty >= classifier.abstention_rules(False, share, None, None).least_certainty
        run[f"coverage_got_at_{share}"] = float(answered.mean())
        run[f"accuracy_at_coverage_{share}"] = float(right[answered].mean())
    scores = set_scores(lengths)
    for share in SET_COVERAGES:
        inside = scores >= classifier.abstention_rules(False, None, None, share).least_set_score
        run[f"sets_right_at_{share}"] = float(inside[np.arange(len(truth)), truth].mean())
        run[f"mean_set_at_{share}"] = float(inside.sum(1).mean())
    for share in ERRORS:
        run |= kept_error(classifier, share, certainty, right)
    run["largest_sum_error"] = largest_sum_error(classifier, [text for text, _ in rows[:SUM_TEXTS]])
    if not outside:
        return run, None
    _, other_confidence, other_certainty, others = scored(classifier, outside)
    scope = {
        "auroc": auroc(confidence, other_confidence),
        "auroc_of_the_probability": auroc(probabilities.max(1), others.max(1)),
        "accuracy": float(right.mean()),
        "auroc_of_the_certainty": auroc(certainty, other_certainty),
        "abstained_outside": float(
            (other_confidence < classifier.abstention_rules(True, None, None, None).least_confidence).mean()
        ),
        "accuracy_at_90": accuracy_at(0.9, certainty, right),
        "accuracy_at_90_by_the_probability": accuracy_at(0.9, probabilities.max(1), right),
    }
    return run, scope


def scored(classifier: capsulet.Classifier, texts: Sequence[str]) -> tuple[NDArray[Any], ...]:
    """Class lengths (n, C), confidence (n,), certainty (n,) and probabilities (n, C) of texts."""
    session = classifier.session
    lengths, unknown = session.classify(texts)
    values = lengths, session.confidence(lengths, unknown), session.certainty(lengths, unknown)
    return tuple(np.asarray(part) for part in (*values, classifier.probabilities(lengths)))


def kept_error(
    classifier: capsulet.Classifier, share: float, certainty: NDArray[Any], right: NDArray[np.bool_]
) -> dict[str, float | None]:
    """Measured error rate for a requested maximum `share`, and the share of answered texts."""
    names = f"error_got_at_{share}", f"answered_at_error_{share}"
    try:
        answered = certainty >= classifier.abstention_rules(False, None, share, None).least_certainty
    except InputError:  # too few validation texts to guarantee this error rate
        return dict.fromkeys(names)
    return dict(zip(names, (float((~right[answered]).mean()), float(answered.mean())), strict=True))


def largest_sum_error(classifier: capsulet.Classifier, texts: list[str]) -> float:
    """Largest difference between the sum of contributions and the length before squash of the predicted class."""
    explanations = (classifier.explain(text) for text in texts)
    return max(abs(sum(token.contribution for token in why.tokens) - why.length_before_squash) for why in explanations)


def tfidf_scope(folder: Path, outside: list[str], strengths: list[float]) -> dict[str, float]:
    """Out-of-scope figures of TF-IDF with logistic regression, by its largest softmax probability."""
    training = tfidf.train(*read_training(folder), seed=0, strengths=strengths)
    model = training.model
    rows = read_test(folder)
    inside, strange = (
        model.regression.predict_proba(model.vectorisers[0].transform(texts))
        for texts in ([text for text, _ in rows], outside)
    )
    right = model.regression.classes_[inside.argmax(1)] == np.array([label for _, label in rows])
    return {
        "auroc": auroc(inside.max(1), strange.max(1)),
        "accuracy": float(right.mean()),
        "accuracy_at_90": accuracy_at(0.9, inside.max(1), right),
        "strength": training.chosen["C"],
    }


def accuracy_at(share: float, confidence: NDArray[Any], right: NDArray[np.bool_]) -> float:
    """Accuracy on the most confident share of the texts."""
    order = np.argsort(-confidence, kind="stable")[: round(share * len(right))]
    return float(right[order].mean())


def auroc(inside: NDArray[Any], outside: NDArray[Any]) -> float:
    """Probability that an in-scope text has a higher confidence than an out-of-scope text; a tie counts half."""
    _, places, counts = np.unique(np.concatenate([inside, outside]), return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places]
    number = len(inside)
    return float((ranks[:number].sum() - number * (number + 1) / 2) / (number * len(outside)))


if __name__ == "__main__":
    sys.exit(main())
