"""Languages of single texts."""

from __future__ import annotations

import pytest

from capsulet.checking.languages import Languages, exclusive_words
from capsulet.choices import UNICODE
from capsulet.text.numbering import Words


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("The man is in the house and it was late when they came", "English"),
        ("Der Mann ist in dem Haus und es wird nicht besser, sie sind auch da", "German"),
        ("Le chat est dans la maison avec les enfants pour une heure", "French"),
        ("El perro es muy grande pero no hay una casa para los gatos del barrio", "Spanish"),
        ("Il gatto non sono nella casa che di notte anche gli amici della mamma", "Italian"),
        ("Oscar de la Hoya", ""),
        ("card arrival tracking", ""),
        ("", ""),
    ],
)
def test_language(text: str, name: str) -> None:
    words = Words(UNICODE)
    languages = Languages(words)
    (code,) = languages.codes_of(*words.scan([text], 100))
    assert languages.names[code] == name


def test_a_function_word_belongs_to_one_language() -> None:
    words = [word for own in exclusive_words().values() for word in own]
    assert len(words) == len(set(words))
    assert all(len(own) >= 10 for own in exclusive_words().values())
