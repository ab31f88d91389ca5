"""Words as the bytes of a dictionary, and back."""

from __future__ import annotations

import contextlib
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capsulet.text.packed_dictionary import RAW, pack_words, unpack_words, varint

WORDS = ["apple", "applet", "application", "b", "你", "你好", "é", "☃", "x" * 300, "x" * 200 + "y" * 200]


def test_words_come_back_in_the_order_of_their_bytes() -> None:
    assert unpack_words(pack_words(WORDS), len(WORDS)) == sorted(WORDS, key=str.encode)


@given(st.sets(st.text(min_size=1, alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\n"))))
def test_any_words_come_back(words: set[str]) -> None:
    assert unpack_words(pack_words(words), len(words)) == sorted(words, key=str.encode)


def test_the_bytes_are_those_of_the_format() -> None:
    """Written down in docs/reference/format.md: other readers rely on it."""
    stream = zlib.decompress(pack_words(["car", "cart", "b" * 130]), RAW)
    assert stream == bytes([0, 130, 1]) + b"b" * 130 + bytes([0, 3]) + b"car" + bytes([3, 1]) + b"t"
    assert [varint(number) for number in (0, 127, 128, 300)] == [b"\x00", b"\x7f", b"\x80\x01", b"\xac\x02"]


def test_damage_is_noticed() -> None:
    data = pack_words(WORDS)
    for count in (len(WORDS) - 1, len(WORDS) + 1):
        with pytest.raises(ValueError, match=f"expected {count}"):
            unpack_words(data, count)
    for place in range(len(data)):
        for broken in (data[:place], data[:place] + bytes([data[place] ^ 255]) + data[place + 1 :]):
            with contextlib.suppress(ValueError):  # with a reason, and nothing else is raised
                assert len(unpack_words(broken, len(WORDS))) == len(WORDS)
