"""The golden models: stored models load and answer as they did, and training makes the same model again.

They guard behaviour while the code changes. From the first release on, the stored files must load in every version.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from capsulet.storage.model_file import CARD, CONFIG, read_model
from tests.golden import make

STORED = json.loads(make.ANSWERS.read_text())


@pytest.mark.parametrize("path", [make.MODEL, make.SMALL], ids=lambda path: path.stem)
def test_the_stored_models_answer_as_they_did(path: Path) -> None:
    answers, stored = make.answers(path), STORED[path.stem]
    np.testing.assert_allclose(answers["lengths"], stored["lengths"], atol=1e-5)
    np.testing.assert_allclose(answers["probabilities"], stored["probabilities"], atol=1e-5)
    assert answers["labels"] == stored["labels"]
    for own, before in zip(answers["contributions"], stored["contributions"], strict=True):
        np.testing.assert_allclose(own, before, atol=1e-5)


def test_training_makes_the_same_model(tmp_path: Path) -> None:
    make.train(tmp_path / "model")
    made, stored = (read_model(folder).tensors for folder in (tmp_path / "model", make.MODEL))
    shapes = [
        {name: (tensor.dtype, tensor.shape) for name, tensor in tensors.items() if name not in (CONFIG, CARD)}
        for tensors in (made, stored)
    ]
    assert shapes[0] == shapes[1]
    answers = make.answers(tmp_path / "model")
    assert answers["labels"][:12] == STORED["model"]["labels"][:12]
    if make.machine() != STORED["machine"]:
        pytest.skip("another processor or library than that of the golden model: weights differ in their last bits")
    assert all(bytes(made[name].data) == bytes(stored[name].data) for name in shapes[0])
    assert answers == STORED["model"]
