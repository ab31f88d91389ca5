"""Control characters and directions of texts that are shown."""

from capsulet.text.visible import isolated, visible


def test_controls_of_direction_are_escapes() -> None:
    assert visible("a\u202eb\u2066\t") == "a\\u202eb\\u2066\\t"
    assert visible("a\u202eb\t", keep="\t") == "a\\u202eb\t"


def test_a_text_between_other_words_is_isolated() -> None:
    assert isolated("sport\x1b") == "sport\\x1b", "ASCII has one direction"
    assert isolated("רוץ\u2069\u202e") == "\u2068רוץ\\u2069\\u202e\u2069", "a text cannot end its isolation"
