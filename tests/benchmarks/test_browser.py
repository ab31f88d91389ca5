"""The browser benchmark: its Python side calls the core as the classifier does."""

from pathlib import Path

import numpy as np

import capsulet
from benchmarks.browser import in_python
from capsulet.storage.model_file import MODEL
from tests.conftest import TEXTS


def test_python_side_measures_the_classifiers_lengths(model: Path) -> None:
    texts = [text for _, text in TEXTS]
    result = in_python(model / MODEL, texts)
    assert np.array_equal(result["lengths"], np.asarray(capsulet.load(model).lengths(texts)))
    assert result["texts_per_second"] > 0
