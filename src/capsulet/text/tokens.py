"""Split texts into tokens with the Rust library `tokenizers`; the file `tokenizer.json` contains the whole rule.

Text is lower-cased. A letter a-z with the letters and digits that follow it is a word. Every other digit or visible
character is a token of its own, so Chinese, Korean and emoji are read character by character. Offsets refer to the
original text. The rule is the one of the paper.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from tokenizers import Encoding, Regex, Tokenizer
from tokenizers.models import WordLevel
from tokenizers.normalizers import Lowercase
from tokenizers.pre_tokenizers import Split

from capsulet.text.strings import check_text
from capsulet.text.vocabulary import PADDING, UNKNOWN, SimilarWords

if TYPE_CHECKING:
    from capsulet.text.vocabulary import Ids

TOKEN = r"[a-z][a-z0-9]*|[0-9]|[^\sa-z0-9]"
PATTERN = re.compile(TOKEN)
ODD_SPACE = re.compile(r"[\x1c-\x1f]")  # white space in Python, tokens in the library
LONG = 1 << 20  # characters


def build_tokenizer(words: Sequence[str], max_tokens: int) -> Tokenizer:
    """Build a tokenizer that knows `words`; every other word is unknown."""
    vocabulary = {word: index for index, word in enumerate([PADDING, UNKNOWN, *words])}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token=UNKNOWN))
    tokenizer.normalizer = Lowercase()
    tokenizer.pre_tokenizer = Split(Regex(TOKEN), behavior="removed", invert=True)  # inverted: keep what matches
    tokenizer.enable_truncation(max_tokens)
    return tokenizer


def encode(tokenizer: Tokenizer, texts: Sequence[str], similar_words: SimilarWords | None = None) -> list[Ids]:
    """Ids of each text; a text without tokens is read as one unknown word.

    With `similar_words`, the id of an unknown word also names the known word that it is read as.
    """
    unknown: int = tokenizer.token_to_id(UNKNOWN) or 0  # 0 in compressed models
    encoded = [np.array(encoding.ids or [unknown], np.int32) for encoding in encodings(tokenizer, texts, offsets=False)]
    for text, ids in zip(texts, encoded, strict=True) if similar_words else ():
        if similar_words and unknown in ids:
            similar_words.replace_unknown(ids, split(tokenizer, text), unknown)
    return encoded


def split(tokenizer: Tokenizer, text: str) -> list[str]:
    """Words of a text: all tokens that the model reads, possibly more."""
    text = beginning(tokenizer, text)
    if is_plain(text):
        return PATTERN.findall(text.lower())
    return [word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(tokenizer.normalizer.normalize_str(text))]


def is_plain(text: str) -> bool:
    """Whether Python's `re`, which is faster, finds the same words as the library."""
    return text.isascii() and not ODD_SPACE.search(text)


def encodings(tokenizer: Tokenizer, texts: Sequence[str], offsets: bool = True) -> list[Encoding]:
    """Tokens of each text with ids and, by default, offsets; runs on all cores."""
    encode_all = tokenizer.encode_batch if offsets else tokenizer.encode_batch_fast
    try:
        encoded: list[Encoding] = encode_all([beginning(tokenizer, text) for text in texts], add_special_tokens=False)
    except (TypeError, UnicodeEncodeError):
        for index, text in enumerate(texts):
            check_text(text, index)
        raise
    return encoded


def beginning(tokenizer: Tokenizer, text: str) -> str:
    """Beginning of a text with all tokens that are read: to tokenise 60 MB of text would take gigabytes."""
    if not isinstance(text, str) or len(text) <= LONG or not tokenizer.truncation:
        return text
    end = max(text.rfind(blank, 0, LONG) for blank in " \n\t")  # no token contains a blank
    encoding = tokenizer.encode(text[: max(end, 0)], add_special_tokens=False)
    return text[:end] if len(encoding.ids) >= tokenizer.truncation["max_length"] else text
