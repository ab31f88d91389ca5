"""Labelled texts for the demo: docstrings of Python's standard library, with their modules as labels.

Sources are parsed, never imported or run.
"""

import ast
import re
import sysconfig
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from capsulet.errors import CapsuletError
from capsulet.text.numbering import Words
from capsulet.text.split import stratified_split

NUM_MODULES = 12
FEWEST_WORDS, MAX_WORDS = 4, 100_000  # of a text
TEST_FRACTION = 0.2
SENTENCE_END = re.compile(r"(?<=[.!?])\s(?=[A-Z])")
# folders that are not modules of the library itself
LEFT_OUT = {
    "test", "tests", "site-packages", "dist-packages", "idlelib", "lib2to3", "ensurepip", "pydoc_data", "turtledemo"
}  # fmt: skip

Pair = tuple[str, str]  # text, label


def docstrings(library: Path) -> Iterator[Pair]:
    """Docstrings of at least FEWEST_WORDS words, each with the name of its top-level module."""
    for path in sources(library):
        module = path.relative_to(library).with_suffix("").parts[0]
        nodes: Iterable[ast.AST] = ()
        if not module.startswith("_"):
            with warnings.catch_warnings(), suppress(SyntaxError, ValueError, OSError):
                warnings.simplefilter("ignore")  # invalid escapes in strings
                nodes = ast.walk(ast.parse(path.read_bytes()))
        for node in nodes:
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                text = " ".join((ast.get_docstring(node) or "").split())
                if len(text.split()) >= FEWEST_WORDS:
                    yield text, module


def sources(folder: Path) -> Iterator[Path]:
    """Python files below a folder, in a fixed order."""
    for path in sorted(path for path in folder.iterdir() if path.name not in LEFT_OUT):
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
            f"{library} has no .py files with docstrings, which the demo needs: use a Python with its standard "
            "library as source files"
        )
    pairs = [(text, label) for text, label in label_of.items() if label in modules]
    targets = np.array([modules.index(label) for _, label in pairs])
    train_rows, test_rows = stratified_split(targets, TEST_FRACTION)
    return [pairs[row] for row in train_rows], [pairs[row] for row in test_rows]


def first_sentences(pairs: Sequence[Pair]) -> list[Pair]:
    """One sentence per module: the first one of a docstring that has at least FEWEST_WORDS words."""
    examples: dict[str, str] = {}
    for text, label in pairs:
        sentence = SENTENCE_END.split(text, maxsplit=1)[0]
        if len(sentence.split()) >= FEWEST_WORDS:
            examples.setdefault(label, sentence)
    return [(examples[label], label) for label in sorted(examples)]


def majority_accuracy(train: Sequence[Pair], test: Sequence[Pair]) -> float:
    """Accuracy of always predicting the most frequent class."""
    ((majority, _),) = Counter(label for _, label in train).most_common(1)
    return sum(label == majority for _, label in test) / len(test)


def word_count_accuracy(train: Sequence[Pair], test: Sequence[Pair]) -> float:
    """Accuracy of multinomial naive Bayes on word counts."""
    words, labels = Words(), sorted({label for _, label in train})
    train_texts, test_texts = ([words.scan([text], MAX_WORDS)[0] for text, _ in part] for part in (train, test))
    counts, prior = np.ones((len(labels), len(words) + 1)), np.zeros(len(labels))  # ones: Laplace smoothing
    for ids, (_, label) in zip(train_texts, train, strict=True):
        np.add.at(counts[labels.index(label)], ids, 1)
        prior[labels.index(label)] += 1
    scores = np.log(counts / counts.sum(1, keepdims=True))  # log P(word | class)
    predicted = [labels[int((np.log(prior) + scores[:, ids].sum(1)).argmax())] for ids in test_texts]
    return sum(guess == label for guess, (_, label) in zip(predicted, test, strict=True)) / len(test)
