"""A model of plain Python in the place of the runtime: words vote for classes. It needs no package but capsulet.

`main` evaluates it with a report and tests texts for drift, while other packages cannot be imported.
"""

from __future__ import annotations

import importlib.abc
import json
import math
import re
import sys
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

FORBIDDEN = {"numpy", "torch", "rich", "pyarrow", "onnx", "onnxruntime", "tokenizers", "safetensors"}
WORDS = ("[PAD]", "[UNK]", "match", "goal", "bank", "shares", "soup", "bread")
LABELS = ("food", "money", "sport")
CLASS_OF = {2: 2, 3: 2, 4: 1, 5: 1, 6: 0, 7: 0}  # class of each known word


class Forbidden(importlib.abc.MetaPathFinder):
    """Refuses to import packages that an installation without extras does not have."""

    def find_spec(self, name: str, *_: object) -> None:
        if name.split(".")[0] in FORBIDDEN:
            raise ModuleNotFoundError(f"{name} was imported", name=name)


class Session:
    """Reads words, and knows how each of them is coded."""

    codes, codebooks = 6, 2

    def __init__(self, config: Any) -> None:
        from capsulet.text.vocabulary import WordIds

        self.config, self.word_ids = config, WordIds(len(WORDS))

    def tokens(self, text: str) -> list[tuple[int, int, int]]:
        found = [(word.group(), *word.span()) for word in re.finditer(r"\w+", text.lower())]
        return [(WORDS.index(word) if word in WORDS else 1, *span) for word, *span in found] or [(1, 0, 0)]

    def encode(self, texts: Sequence[str], spelled: bool = False) -> list[array[int]]:
        return [array("i", [number for number, *_ in self.tokens(text)]) for text in texts]

    def usage(self, encoded: Sequence[array[int]]) -> Any:
        from capsulet.runtime.matrix import Matrix

        rows = []
        for ids in encoded:
            known = [number - 2 for number in ids if number > 1]
            rows.append([known.count(code) / len(known) if known else math.nan for code in range(self.codes)])
        return Matrix.of_rows(rows, self.codes)

    def classify(self, texts: Sequence[str], spelled: bool = False) -> tuple[Any, array[float]]:
        from capsulet.runtime.matrix import Matrix

        rows, encoded = [], self.encode(texts)
        for ids in encoded:
            votes = [0.1] * 3
            for number in ids:
                if number in CLASS_OF:
                    votes[CLASS_OF[number]] += 1
            rows.append([0.9 * vote / sum(votes) for vote in votes])
        return Matrix.of_rows(rows, 3, "f"), array("f", unknown_shares(encoded, self))

    def certainty(self, lengths: Any, unknown: Sequence[float]) -> array[float]:
        return array("d", [max(row) - share for row, share in zip(lengths, unknown, strict=True)])


class Classifier:
    """Class lengths are shares of the words of each class; probabilities are in proportion to them."""

    def __init__(self, config: Any, path: str, multi_label: bool = False) -> None:
        self.session, self.config, self.path, self.labels = Session(config), config, path, LABELS
        self.multi_label, self.calibrated = multi_label, True
        self.thresholds = self.probability_thresholds = (0.25,) * 3 if multi_label else None

    def probabilities(self, lengths: Any) -> Any:
        from capsulet.runtime.matrix import Matrix

        return Matrix.of_rows(([value / sum(row) for value in row] for row in lengths), 3)

    def explain(self, text: str, label: str, spelled: bool = False) -> Any:
        from capsulet.results import Explanation, TokenContribution

        tokens = [
            TokenContribution(text[start:end], start, end, 1.0 if CLASS_OF.get(number) == LABELS.index(label) else 0.0)
            for number, start, end in self.session.tokens(text)
        ]
        return Explanation(label, 0.9, 0.9, 1.0, tuple(tokens))


def unknown_shares(encoded: Sequence[array[int]], session: Session) -> list[float]:
    return [session.word_ids.count_unknown(ids) / len(ids) for ids in encoded]


def checked(texts: Iterable[str], first: int = 0) -> Iterator[str]:
    yield from texts


def take_the_place_of_the_runtime() -> None:
    """Put the modules of the runtime that need other packages aside."""
    own = {
        "classifier": {
            "Classifier": Classifier, "load": None, "checked": checked, "unknown_shares": unknown_shares,
            "LARGEST_WINDOW": 4096,
        },
        "session": {"Session": Session},
    }  # fmt: skip
    for name, values in own.items():
        module = ModuleType(f"capsulet.runtime.{name}")
        vars(module).update(values)
        sys.modules[module.__name__] = module


def model_config(histograms: Any = None) -> Any:
    """The configuration of a small model."""
    from capsulet.config import build_options
    from capsulet.storage.model_config import ModelConfig, TrainingData, TrainingMetrics

    return ModelConfig(
        "0", LABELS, "default", build_options(num_codewords=3, ngram_features=0), len(WORDS), 100,
        TrainingData(10, 0, 100, dict.fromkeys(LABELS, 4)), TrainingMetrics(0.9, 0.1, 1, 1, "finished"), "",
        histograms=histograms,
    )  # fmt: skip


def main(folder: Path) -> None:
    """Evaluate single-label and multi-label, with reports, and compare texts with histograms."""
    sys.meta_path.insert(0, Forbidden())
    take_the_place_of_the_runtime()
    from capsulet.drifting.drift import describe, drift
    from capsulet.evaluation.evaluate import evaluate

    texts = ["match goal qzx", "bank shares", "soup", "bread match match", "goal bank"] * 20
    labels = ["sport", "money", "food", "sport", "sport"] * 20
    rows = folder / "rows.jsonl"
    rows.write_text(
        "".join(json.dumps({"text": t, "label": label}) + "\n" for t, label in zip(texts, labels, strict=True))
    )
    plain = Classifier(model_config(), "plain")
    found = evaluate(plain, rows, report=folder / "single.html")
    several = Classifier(model_config(), "several", multi_label=True)
    more = evaluate(several, rows, report=folder / "several.html")
    encoded = plain.session.encode(texts)
    lengths, _ = plain.session.classify(texts)
    histograms = describe(plain, encoded, lengths.tolist(), plain.probabilities(lengths).tolist())
    known = Classifier(model_config(json.loads(json.dumps(histograms))), "known")
    same, other = drift(known, texts=texts[:40]), drift(known, texts=["soup bread soup"] * 40, window=20)
    results = {
        "accuracy": found.accuracy, "confusions": [(pair.truth, pair.predicted) for pair in found.confusions],
        "bins": sum(entry.count for entry in found.reliability.bins_after), "micro_f1": more.micro_f1,
        "drifted": [same.drifted, other.drifted], "parts": [part.name for part in other.parts],
        "unknown": same.unknown_words, "loaded": sorted(FORBIDDEN & {name.split(".")[0] for name in sys.modules}),
    }  # fmt: skip
    sys.stdout.write(json.dumps(results))
