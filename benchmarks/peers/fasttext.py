"""fastText (Joulin et al. 2016), word pairs included, and its quantised model (Joulin et al. 2016, FastText.zip).

The lengths of the character n-grams, if any, the learning rate, epochs and dimension are chosen one after the other on
the validation rows. If the largest value is the best, its double is tried as well, and so on. The hash table has twice
as many places as the training rows have distinct pairs and character n-grams, at most 2 million. (fastText's default of
2 million would be mostly empty here and make the file needlessly large.) The quantised model keeps the fewest rows of
that table whose accuracy on the validation rows is within one standard error of the whole model's.
"""

from __future__ import annotations

import json
import math
import re
import tempfile
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.peers.protocol import Model, Rows, Training, accuracy, labels_of
from benchmarks.peers.words import WORD

if TYPE_CHECKING:
    from fasttext.FastText import _FastText

PREFIX = "__label__"
LARGEST_BUCKET = 2_000_000
CODEWORDS, PIECE = 256, 2  # a quantised row is one byte for each 2 dimensions
# In fastText 0.9.2, each thread fills a tenth of the table with random numbers. With fewer than ten threads, the rest
# is uninitialised memory, sometimes NaN. Ten threads without locks make runs of one seed differ a little.
THREADS = 10
MOST = 4  # the search stops at this multiple of the largest value of an option
Lengths = tuple[int, int]  # shortest and longest character n-gram


class FastText:
    """A fastText model and the labels that its numbers stand for."""

    def __init__(self, model: _FastText, labels: Sequence[str], suffix: str, parameters: int) -> None:
        self.model, self.labels, self.suffix, self.parameters = model, list(labels), suffix, parameters

    def predict(self, texts: Sequence[str]) -> list[str]:
        """Predict the label of each text."""
        answers, _ = self.model.predict([line(text) for text in texts])
        # a quantised model that knows no word of a text gives no answer
        return [self.labels[int(best[0].removeprefix(PREFIX)) if best else 0] for best in answers]

    def save(self, folder: Path) -> None:
        """Write fastText's model file, which includes its words, and the labels."""
        self.model.save_model(str(folder / f"model{self.suffix}"))
        (folder / "labels.json").write_text(
            json.dumps({"labels": self.labels, "suffix": self.suffix, "parameters": self.parameters})
        )


def line(text: str) -> str:
    """Lower-case a text and put spaces between its words."""
    return " ".join(re.findall(WORD, text.lower()))


def table_size(lines: Sequence[str], characters: Sequence[Lengths] = ()) -> int:
    """Number of places for word pairs and character n-grams in the hash table."""
    distinct = len({pair for words in lines for pair in pairwise(words.split())})
    if characters:
        shortest, longest = min(least for least, _ in characters), max(most for _, most in characters)
        words = {f"<{word}>" for words in lines for word in words.split()}
        distinct += len(
            {
                word[start : start + length]
                for word in words
                for length in range(shortest, longest + 1)
                for start in range(len(word) - length + 1)
            }
        )
    return min(LARGEST_BUCKET, 2 * distinct + 1)


def train(
    train: Rows,
    valid: Rows,
    seed: int,
    *,
    quantise: bool = False,
    characters: Sequence[Lengths] = (),
    rates: Sequence[float] = (0.5, 0.1, 0.25, 1.0),
    epochs: Sequence[int] = (25, 5, 50),
    sizes: Sequence[int] = (10, 50),
    cutoffs: Sequence[int] = (1_000, 3_000, 10_000, 30_000, 100_000),
) -> Training:
    """Search the best settings, starting from the first value of each option; optionally quantise the model."""
    labels = labels_of(train)
    places = {label: place for place, label in enumerate(labels)}
    lines = [line(text) for text, _ in train]
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "train.txt"
        numbered = zip(lines, (places[label] for _, label in train), strict=True)
        file.write_text("".join(f"{PREFIX}{place} {words}\n" for words, place in numbered), encoding="utf-8")
        fixed = {"input": str(file), "bucket": table_size(lines, characters), "seed": seed}
        searched: dict[str, Sequence[Any]] = {"characters": characters, "lr": rates, "epoch": epochs, "dim": sizes}
        chosen: dict[str, Any] = {name: values[0] for name, values in searched.items() if values}
        best: Training | None = None
        for name in chosen:
            values = searched[name]
            waiting = list(values if best is None else values[1:])
            largest = max(values)
            while waiting:
                training = fit(fixed, {**chosen, name: waiting.pop(0)}, labels, valid)
                if training and (best is None or training.valid_accuracy > best.valid_accuracy):
                    best = training
                if name == "characters" or waiting or best is None:
                    continue
                if best.chosen[name] == largest < MOST * max(values):
                    largest *= 2
                    waiting = [largest]
            chosen = best.chosen if best else chosen
        if best is None:
            raise RuntimeError("fastText diverged with every learning rate, number of epochs and dimension")
        return shrink(best, fixed, cutoffs, valid) if quantise else best


def fit(fixed: dict[str, Any], chosen: dict[str, Any], labels: Sequence[str], valid: Rows) -> Training | None:
    """Train once with these settings; None if the training diverges."""
    import fasttext

    started = time.process_time()
    numbers = {name: value for name, value in chosen.items() if name != "characters"}
    numbers["minn"], numbers["maxn"] = chosen.get("characters", (0, 0))
    try:
        model = fasttext.train_supervised(**fixed, **numbers, wordNgrams=2, thread=THREADS, verbose=0)
    except RuntimeError:  # Encountered NaN
        return None
    rows = len(model.words) + fixed["bucket"] + len(labels)
    trained = FastText(model, labels, ".bin", rows * chosen["dim"])
    return Training(trained, accuracy(trained, valid), time.process_time() - started, {**chosen})


def shrink(whole: Training, fixed: dict[str, Any], cutoffs: Sequence[int], valid: Rows) -> Training:
    """Return the smallest quantised model within one standard error on the validation rows, or else the best one."""
    import fasttext

    share = whole.valid_accuracy
    enough = share - math.sqrt(share * (1 - share) / max(len(valid), 1))
    assert isinstance(whole.model, FastText)
    labels, size = whole.model.labels, whole.chosen["dim"]
    trainings = []
    for cutoff in cutoffs:
        with tempfile.TemporaryDirectory() as scratch:
            whole.model.save(Path(scratch))
            model = fasttext.load_model(str(Path(scratch) / "model.bin"))
        rows = len(model.words) + fixed["bucket"]
        started = time.process_time()
        model.quantize(
            input=fixed["input"], cutoff=cutoff, retrain=True, qnorm=True, dsub=PIECE, thread=THREADS, verbose=0
        )
        seconds = whole.seconds + time.process_time() - started
        # codes of the rows and their norms, codewords of both, and the class weights, which are not quantised
        codes = min(cutoff, rows) * (math.ceil(size / PIECE) + 1)
        trained = FastText(model, labels, ".ftz", codes + CODEWORDS * (size + 1) + len(labels) * size)
        chosen = {**whole.chosen, "cutoff": cutoff}
        trainings.append(Training(trained, accuracy(trained, valid), seconds, chosen))
        if trainings[-1].valid_accuracy >= enough or cutoff >= rows:
            break
    if trainings[-1].valid_accuracy >= enough:
        return trainings[-1]
    return max(trainings, key=lambda training: training.valid_accuracy)


def load(folder: Path) -> Model:
    """Load a model that `save` wrote."""
    import fasttext

    about = json.loads((folder / "labels.json").read_text())
    model = fasttext.load_model(str(folder / f"model{about['suffix']}"))
    return FastText(model, about["labels"], about["suffix"], about["parameters"])
