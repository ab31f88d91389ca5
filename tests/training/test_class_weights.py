"""Weights of classes: balanced, and from files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from capsulet.errors import InputError
from capsulet.training.class_weights import check_weights, class_weights

COUNTS = {"a": 60, "b": 30, "c": 10}


def test_none() -> None:
    assert class_weights("none", COUNTS) is None
    check_weights("none")


def test_balanced_classes_weigh_the_same_and_all_together_as_before() -> None:
    weights = class_weights("balanced", COUNTS)
    counts = np.array(list(COUNTS.values()))
    np.testing.assert_allclose(weights * counts, [100 / 3] * 3, rtol=1e-6)
    assert weights.dtype == np.float32


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("w.json", '{"c": 2.5, "a": 1}'),
        ("w.csv", "label,weight\nc,2.5\na,1\n"),
        ("w.csv", "\ufeffLabel, Weight\r\nc,2.5\r\n"),
        ("w.csv", "c,2.5\n\n"),
        ("weights", "c,2.5\n"),
    ],
)
def test_a_file_says_which_classes_count_more(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    assert class_weights(str(tmp_path / name), COUNTS).tolist() == [1.0, 1.0, 2.5]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"d": 2}', "a weight for 'd', expected a label of the training texts (a, b, c)"),
        ('{"a": 0}', "the weight of 'a' is '0', expected a number above 0"),
        ('{"a": true}', "expected a number above 0"),
        ('{"a": [1]}', "expected a number above 0"),
        ('{"a": 1e999}', "expected a number above 0"),
        ("a,much", "the weight of 'a' is 'much'"),
        ("a,nan", "expected a number above 0"),
        ('{"a": 1, "a": 2}', "'a' has two weights"),
        ('{"a": 1', "cannot be read as weights"),
        ("a\n", "1 columns in 'a'"),
        ("a,1,2\n", "3 columns"),
        ("", "no weights"),
        ("label,weight\n", "no weights"),
    ],
)
def test_files_that_cannot_be_weights(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "w").write_text(content)
    with pytest.raises(InputError) as refused:
        class_weights(str(tmp_path / "w"), COUNTS)
    assert message in str(refused.value) and str(tmp_path / "w") in str(refused.value)


def test_bytes_that_are_no_text_and_paths_that_are_no_file(tmp_path: Path) -> None:
    (tmp_path / "w").write_bytes(b"a,\xff\n")
    for path, message in ((tmp_path / "w", "cannot be read as weights"), (tmp_path, "a folder")):
        with pytest.raises(InputError, match=message):
            check_weights(str(path))
    with pytest.raises(InputError, match="class_weight is 'balancd': expected balanced, none, or a file"):
        check_weights("balancd")


@pytest.mark.parametrize("content", ["[1, 2", "[1, 2]", "3"])
def test_a_json_file_is_read_as_json(tmp_path: Path, content: str) -> None:
    (tmp_path / "w.json").write_text(content)
    with pytest.raises(InputError, match="cannot be read as weights"):
        class_weights(str(tmp_path / "w.json"), COUNTS)
