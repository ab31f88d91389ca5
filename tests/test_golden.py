"""The golden model: a stored model loads and answers as it did, and training makes the same model again.

It guards behaviour while the code changes. From the first release on, the stored folder must load in every version.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from capsulet.storage.model_file import CARD, CONFIG, read_model
from tests.golden import make

STORED = json.loads(make.ANSWERS.read_text())


def test_the_stored_model_answers_as_it_did() -> None:
    answers = make.answers(make.MODEL)
    np.testing.assert_allclose(answers["lengths"], STORED["lengths"], atol=1e-5)
    np.testing.assert_allclose(answers["probabilities"], STORED["probabilities"], atol=1e-5)
    assert answers["labels"] == STORED["labels"]
    for own, stored in zip(answers["contributions"], STORED["contributions"], strict=True):
        np.testing.assert_allclose(own, stored, atol=1e-5)


def test_training_makes_the_same_model(tmp_path: Path) -> None:
    make.train(tmp_path / "model")
    made, stored = (read_model(folder).tensors for folder in (tmp_path / "model", make.MODEL))
    shapes = [
        {name: (tensor.dtype, tensor.shape) for name, tensor in tensors.items() if name not in (CONFIG, CARD)}
        for tensors in (made, stored)
    ]
    assert shapes[0] == shapes[1]
    answers = make.answers(tmp_path / "model")
    assert answers["labels"][:12] == STORED["labels"][:12]
    if make.machine() != STORED["machine"]:
        pytest.skip("another processor or library than that of the golden model: weights differ in their last bits")
    assert all(bytes(made[name].data) == bytes(stored[name].data) for name in shapes[0])
    assert {name: answers[name] for name in answers} == {name: STORED[name] for name in answers}
