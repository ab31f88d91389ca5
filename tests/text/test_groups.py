"""Groups of texts that contain one another."""

from __future__ import annotations

import random

import numpy as np
import pytest

from capsulet.text import groups
from capsulet.text.groups import containments, grouped_split, groups_of


def tokens_of(texts: list[str]) -> tuple[np.ndarray, np.ndarray]:  # type: ignore[type-arg]
    """Texts as numbers of their words, and the starts of the texts."""
    numbers = {word: place for place, word in enumerate(sorted(set(" ".join(texts).split())))}
    ids = np.array([numbers[word] for text in texts for word in text.split()], np.int32)
    return ids, np.concatenate([[0], np.cumsum([len(text.split()) for text in texts])])


def sentences(count: int, seed: int = 1) -> list[list[str]]:
    """Sentences of random words, each with phrases of it."""
    dice = random.Random(seed)
    found = []
    for _ in range(count):
        words = [f"w{dice.randrange(500)}" for _ in range(dice.randrange(18, 30))]
        places = [dice.randrange(10) for _ in range(4)]
        found.append([" ".join(words), *(" ".join(words[at : at + 4 + at]) for at in places)])
    return found


def test_containments_are_those_of_plain_python() -> None:
    texts = [text for own in sentences(30) for text in own] + ["a b c d", "x a b c d y", "a b c", "b c d", "a b c d"]
    spelled = [f" {text} " for text in texts]
    wanted = {
        (one, other)
        for one, outer in enumerate(spelled)
        for other, inner in enumerate(spelled)
        if inner in outer and inner != outer and 4 <= len(inner.split()) <= 16
    }
    left, right = containments(*tokens_of(texts))
    found = {(int(one), texts[other]) for one, other in zip(left, right, strict=True) if texts[one] != texts[other]}
    assert found == {(one, texts[other]) for one, other in wanted} and len(found) > 100


def test_a_sentence_and_its_phrases_are_a_group() -> None:
    made = sentences(40)
    rows = [(number, text) for number, own in enumerate(made) for text in own]
    random.Random(2).shuffle(rows)
    found = groups_of(*tokens_of([text for _, text in rows]))
    assert found is not None
    owners = np.array([number for number, _ in rows])
    assert len(np.unique(found)) == 40 and all(len(np.unique(found[owners == number])) == 1 for number in range(40))


@pytest.mark.parametrize(
    "texts",
    [
        ["one two three four five"] * 50,  # equal texts are no parts of each other
        [own[0] for own in sentences(50)],
        [f"the same four words w{number}" for number in range(30)] + ["the same four words"],  # one group
        ["a", "b"],
    ],
)
def test_texts_without_groups(texts: list[str]) -> None:
    assert groups_of(*tokens_of(texts)) is None


def test_a_common_phrase_is_no_link(monkeypatch: pytest.MonkeyPatch) -> None:
    made = [text for own in sentences(40) for text in own]
    texts = [*made, *(f"{own[0]} as far as i know" for own in sentences(40, 3)), "as far as i know"]
    monkeypatch.setattr(groups, "MOST_OWNERS", 30)
    found = groups_of(*tokens_of(texts))
    assert found is not None and len(np.unique(found[len(made) :])) == 41


def test_the_split_has_whole_groups_and_keeps_rare_classes() -> None:
    owners = np.repeat(np.arange(100), 5)
    numbers = owners * 5
    targets = np.where(owners % 10 == 3, 2, owners % 2)
    targets[7] = 3  # the only row of its class
    train, valid = grouped_split(numbers, targets, 0.2)
    assert sorted([*train, *valid]) == list(range(500)) and 90 <= len(valid) <= 100
    assert not set(owners[train]) & set(owners[valid]) and 7 in train
    again = grouped_split(numbers, targets, 0.2)[1]
    np.testing.assert_array_equal(valid, again)
