"""Labelled texts that every machine with Python has: the docstrings of its standard library.

The question is "which module is this docstring from?". Sources are parsed, never imported or run.
"""

from __future__ import annotations

import ast
import re
import sysconfig
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from capsulet.errors import CapsuletError
from capsulet.text.numbering import Words
from capsulet.text.split import stratified_split

NUM_MODULES = 12
FEWEST_WORDS = 4
TEST_FRACTION = 0.2
SENTENCE_END = re.compile(r"(?<=[.!?])\s(?=[A-Z])")
# not part of the library's own modules
LEFT_OUT = {
    "test",
    "tests",
    "site-packages",
    "dist-packages",
    "idlelib",
    "lib2to3",
    "ensurepip",
    "pydoc_data",
    "turtledemo",
}

Pair = tuple[str, str]  # text, label


def docstrings(library: Path) -> Iterator[Pair]:
    """Every docstring of at least a few words, with the name of its top-level module."""
    for path in sources(library):
        module = path.relative_to(library).with_suffix("").parts[0]
        if module.startswith("_"):
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # old escapes in strings are not our business
                tree = ast.parse(path.read_bytes())
        except (SyntaxError, ValueError, OSError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                text = " ".join((ast.get_docstring(node) or "").split())
                if len(text.split()) >= FEWEST_WORDS:
                    yield text, module


def sources(folder: Path) -> Iterator[Path]:
    """Python files below a folder, in a fixed order."""
    for path in sorted(folder.iterdir()):
        if path.name in LEFT_OUT:
            continue
        if path.is_dir():
            yield from sources(path)
        elif path.suffix == ".py":
            yield path


def library_rows(library: Path | None = None) -> tuple[list[Pair], list[Pair]]:
    """Training and test rows from the modules with the most docstrings; no text is in both."""
    library = library or Path(sysconfig.get_paths()["stdlib"])
    label_of: dict[str, str] = {}
    for text, label in docstrings(library) if library.is_dir() else ():
        label_of.setdefault(text, label)
    modules = [label for label, _ in Counter(label_of.values()).most_common(NUM_MODULES)]
    if len(modules) < 2:
        raise CapsuletError(
            f"{library} holds no Python sources with docstrings: the demo needs the standard library's .py files"
        )
    pairs = [(text, label) for text, label in label_of.items() if label in modules]
    targets = np.array([modules.index(label) for _, label in pairs])
    train_rows, test_rows = stratified_split(targets, TEST_FRACTION)
    return [pairs[row] for row in train_rows], [pairs[row] for row in test_rows]


def first_sentences(pairs: Sequence[Pair]) -> list[Pair]:
    """The first sentence of each module's first docstring that begins with a sentence of at least a few words."""
    examples: dict[str, str] = {}
    for text, label in pairs:
        sentence = SENTENCE_END.split(text, maxsplit=1)[0]
        if len(sentence.split()) >= FEWEST_WORDS:
            examples.setdefault(label, sentence)
    return [(examples[label], label) for label in sorted(examples)]


def majority_accuracy(train: Sequence[Pair], test: Sequence[Pair]) -> float:
    """Accuracy of always naming the most frequent class."""
    ((label, _),) = Counter(label for _, label in train).most_common(1)
    return sum(truth == label for _, truth in test) / len(test)


def word_count_accuracy(train: Sequence[Pair], test: Sequence[Pair]) -> float:
    """Accuracy of multinomial naive Bayes on word counts."""
    words, labels = Words(), sorted({label for _, label in train})
    train_texts, test_texts = ([words_of(words, text) for text, _ in part] for part in (train, test))
    counts = np.zeros((len(labels), len(words) + 1))
    prior = np.zeros(len(labels))
    for ids, (_, label) in zip(train_texts, train, strict=True):
        np.add.at(counts[labels.index(label)], ids, 1)
        prior[labels.index(label)] += 1
    smoothed = counts + 1
    scores: NDArray[np.float64] = np.log(smoothed / smoothed.sum(1, keepdims=True))  # log P(word | class)
    right = sum(
        labels[int((np.log(prior) + scores[:, ids].sum(1)).argmax())] == label
        for ids, (_, label) in zip(test_texts, test, strict=True)
    )
    return right / len(test)


def words_of(words: Words, text: str) -> NDArray[np.int32]:
    """The numbers of a text's words."""
    return words.scan([text], limit=100_000)[0]
