"""Grow a model by each class of a data set in turn, and measure what happens to the other classes.

    python -m benchmarks.growth --data DATA/trec6

For each class, a linear model is trained on the rows of the other classes and grown by the rows of this class: without
the old rows, and with them (`--replay`). Without them, the old classes may lose one point. DATA has train.jsonl and
test.jsonl, as for benchmarks.accuracy. The test file is read by the finished models only.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path

import capsulet

Rows = list[dict[str, str]]
MOST_LOST = 1.0  # points of accuracy on the old classes


def main() -> int:
    """Print a table of accuracies on old and new classes; return 1 if an old class lost more than it may."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with train.jsonl and test.jsonl")
    parser.add_argument("--network", action="store_true", help="train a small network, too")
    arguments = parser.parse_args()
    train, test = (read(arguments.data / f"{part}.jsonl") for part in ("train", "test"))
    print("| new class | rows | old classes: before | grown | with old rows | new class: grown | with old rows |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    most_lost = 0.0
    for label, count in sorted(Counter(row["label"] for row in train).items()):
        with tempfile.TemporaryDirectory(prefix="capsulet-") as folder:
            cells = grow_by(label, train, test, Path(folder), arguments.network)
        print(f"| {label} | {count:,} | " + " | ".join(f"{100 * cell:.1f}" for cell in cells) + " |", flush=True)
        most_lost = max(most_lost, 100 * (cells[0] - cells[1]))
    print(f"without the old rows, the old classes lose at most {most_lost:.1f} points")
    return int(most_lost > MOST_LOST)


def grow_by(label: str, train: Rows, test: Rows, folder: Path, network: bool) -> list[float]:
    """Accuracy on old classes before, grown and with old rows; and on the new class, grown and with old rows."""
    old, new = ([row for row in train if (row["label"] == label) is own] for own in (False, True))
    for name, rows in (("old", old), ("new", new)):
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    kind = {"size": "tiny", "network": "always"} if network else {"linear_only": True}
    files = folder / "old.jsonl", folder / "new.jsonl"
    capsulet.train(files[0], folder / "model", cache=None, report=None, **kind)
    grown = {"from_model": folder / "model", "cache": None, "report": None}
    capsulet.train(files[1], folder / "grown", **grown)
    capsulet.train(files[1], folder / "replayed", replay=files[0], **grown)
    parts = [[row for row in test if (row["label"] == label) is own] for own in (False, True)]
    before, *after = (capsulet.load(folder / name) for name in ("model", "grown", "replayed"))
    return [
        accuracy(before, parts[0]),
        *(accuracy(one, parts[0]) for one in after),
        *(accuracy(one, parts[1]) for one in after),
    ]


def accuracy(classifier: capsulet.Classifier, rows: Rows) -> float:
    """Share of right answers."""
    answers = classifier.predict([row["text"] for row in rows])
    return sum(one.label == row["label"] for one, row in zip(answers, rows, strict=True)) / max(len(rows), 1)


def read(path: Path) -> Rows:
    """The rows of a JSONL file."""
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


if __name__ == "__main__":
    sys.exit(main())
