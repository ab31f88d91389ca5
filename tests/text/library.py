"""The Rust library `tokenizers`, which gives the same tokens: an independent reading to compare with."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from tokenizers import Regex, Tokenizer
from tokenizers.models import WordLevel
from tokenizers.normalizers import Lowercase
from tokenizers.pre_tokenizers import Split

from capsulet.text.tokens import TOKEN
from capsulet.text.vocabulary import PADDING, UNKNOWN, UNKNOWN_ID

SPLIT = Split(Regex(TOKEN), behavior="removed", invert=True)


def library_words(text: str) -> list[str]:
    """The tokens of a text in lower case."""
    return [word for word, _ in SPLIT.pre_tokenize_str(Lowercase().normalize_str(text))]


def library_ids(words: Sequence[str], texts: Sequence[str], max_tokens: int = 5000) -> list[list[int]]:
    """The ids of texts with a vocabulary of these words; a text without tokens is one unknown word."""
    vocabulary = {word: index for index, word in enumerate([PADDING, UNKNOWN, *words])}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token=UNKNOWN))
    tokenizer.normalizer, tokenizer.pre_tokenizer = Lowercase(), SPLIT
    tokenizer.enable_truncation(max_tokens)
    return [encoding.ids or [UNKNOWN_ID] for encoding in tokenizer.encode_batch(list(texts))]


def is_known(text: str) -> bool:
    """Whether this Python knows every character: the library may follow a newer version of Unicode."""
    return all(unicodedata.category(character) != "Cn" and not newer(character) for character in text)


def newer(character: str) -> bool:
    """Whether a character got its lower case after this Python's version of Unicode."""
    return bool(character.lower() != Lowercase().normalize_str(character))
