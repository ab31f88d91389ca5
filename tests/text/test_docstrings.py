"""Docstrings as data, and the two baselines."""

from __future__ import annotations

from pathlib import Path

import pytest

from capsulet.errors import CapsuletError
from capsulet.text import docstrings as demo

MODULE = '''"""{word} is what this module is about."""
class Thing:
    """A thing made of {word} and more words."""
    async def method(self):
        """Do something slow with {word}
        over two lines."""
    def short(self):
        """Too short."""
def function():
    "{word}: a function of four words"
    x = "not a docstring, but a string of many words"
'''


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A standard library of three modules, with much around them that is not to be read."""
    for name, word in (("tea.py", "tea"), ("milk.py", "milk"), ("_hidden.py", "hidden"), ("shop/rice.py", "rice"),
                       ("test/wrong.py", "wrong"), ("site-packages/other.py", "other")):  # fmt: skip
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(MODULE.format(word=word))
    (tmp_path / "shop" / "broken.py").write_text("def (:")
    (tmp_path / "notes.txt").write_text("not Python")
    return tmp_path


def test_docstrings_of_a_small_library(library: Path) -> None:
    found = list(demo.docstrings(library))
    assert [label for _, label in found] == ["milk"] * 4 + ["shop"] * 4 + ["tea"] * 4
    assert ("Do something slow with milk over two lines.", "milk") in found
    assert ("rice: a function of four words", "shop") in found


def test_sources_are_not_run(library: Path, tmp_path: Path) -> None:
    (library / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n" + MODULE.format(word="evil"))
    assert "evil" in {label for _, label in demo.docstrings(library)}
    assert not (tmp_path / "ran").exists()


def test_no_text_is_in_both_parts(library: Path) -> None:
    (library / "zebra.py").write_text((library / "tea.py").read_text())  # a copy: every docstring twice
    train, test = demo.library_rows(library)
    assert len({text for text, _ in train + test}) == len(train + test) == 12
    assert 1 <= len(test) <= 4
    assert {label for _, label in train} == {"milk", "shop", "tea"}


@pytest.mark.slow
def test_the_library_of_this_python() -> None:
    train, test = demo.library_rows()
    labels = {label for _, label in train}
    assert len(labels) == demo.NUM_MODULES
    assert len(train) > 1000
    assert 0.15 < len(test) / len(train + test) < 0.25
    assert not labels & demo.LEFT_OUT
    assert demo.majority_accuracy(train, test) < demo.word_count_accuracy(train, test) < 1


@pytest.mark.parametrize("name", ["", "missing"])
def test_a_python_without_sources(tmp_path: Path, name: str) -> None:
    with pytest.raises(CapsuletError, match=r"has no \.py files with docstrings"):
        demo.library_rows(tmp_path / name)


def test_majority_by_hand() -> None:
    train = [("x", "a"), ("y", "b"), ("z", "b")]
    assert demo.majority_accuracy(train, [("p", "b"), ("q", "a"), ("r", "a"), ("s", "c")]) == 0.25


def test_word_counts_by_hand() -> None:
    train = [("red red wine", "a"), ("blue sea", "b"), ("blue sky", "b")]
    # the last has no known word, so that the larger class wins
    test = [("red", "a"), ("deep blue", "b"), ("wine", "a"), ("green", "b")]
    assert demo.word_count_accuracy(train, test) == 1.0
    assert demo.word_count_accuracy(train, [("red", "b"), ("sea", "b")]) == 0.5


def test_examples_are_chosen_by_a_rule() -> None:
    pairs = [
        ("Too short. The rest of it is long enough", "tea"),
        ("Brew it for three minutes! Then drink it.", "tea"),
        ("Never chosen, because it is the second one.", "tea"),
        ("Warm it e.g. in a pan", "milk"),
    ]
    assert demo.first_sentences(pairs) == [("Warm it e.g. in a pan", "milk"), ("Brew it for three minutes!", "tea")]
