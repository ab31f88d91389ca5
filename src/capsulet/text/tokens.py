"""Text to tokens by the paper's rule, through the Rust `tokenizers` library: one `tokenizer.json` is the whole truth.

Lower-case; a run of letters a-z that may go on with digits is a word; every digit and every other visible character is
a token of its own. Chinese, Korean and emoji therefore go character by character. Offsets into the original text are
kept.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Regex, Tokenizer
from tokenizers.models import WordLevel
from tokenizers.normalizers import Lowercase
from tokenizers.pre_tokenizers import Split

from capsulet.errors import InputError
from capsulet.text.vocabulary import Likeness

TOKEN = r"[a-z][a-z0-9]*|[0-9]|[^\sa-z0-9]"
PATTERN = re.compile(TOKEN)
ODD_SPACE = re.compile(r"[\x1c-\x1f]")  # a space to Python, a character to the library
# The pattern can never make a token of these, so no text can name them.
PADDING, UNKNOWN = "[PAD]", "[UNK]"
PADDING_ID, UNKNOWN_ID = 0, 1
LONG = 1 << 20  # characters


class Numbered(str):
    """A text whose ids are known, as one that was put together from them."""

    ids: NDArray[np.int32]

    def __new__(cls, text: str, ids: NDArray[np.int32]) -> Numbered:
        found = super().__new__(cls, text)
        found.ids = ids
        return found


def build_tokenizer(words: Sequence[str], max_tokens: int) -> Tokenizer:
    """A tokenizer that knows these words; every other word is unknown."""
    vocabulary = {word: index for index, word in enumerate([PADDING, UNKNOWN, *words])}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token=UNKNOWN))
    tokenizer.normalizer = Lowercase()
    tokenizer.pre_tokenizer = Split(Regex(TOKEN), behavior="removed", invert=True)  # inverted: keep what matches
    tokenizer.enable_truncation(max_tokens)
    return tokenizer


def encode(tokenizer: Tokenizer, texts: Sequence[str], likeness: Likeness | None = None) -> list[NDArray[np.int32]]:
    """Ids of each text; a text without any token is read as one unknown word.

    With a likeness unknown words have ids of their own, which say what they are read as.
    """
    unknown: int = tokenizer.token_to_id(UNKNOWN) or 0  # compressed models number it differently
    found = encodings(tokenizer, texts, offsets=False)
    encoded = [np.array(encoding.ids or [unknown], dtype=np.int32) for encoding in found]
    if likeness:
        for text, ids in zip(texts, encoded, strict=True):
            if unknown in ids:
                likeness.fill(ids, split(tokenizer, text), unknown)
    return encoded


def split(tokenizer: Tokenizer, text: str) -> list[str]:
    """The words of a text, as many as are read or more."""
    text = beginning(tokenizer, text)
    if is_plain(text):
        return PATTERN.findall(text.lower())
    return [word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(tokenizer.normalizer.normalize_str(text))]


def is_plain(text: str) -> bool:
    """Whether Python's `re`, which is faster, finds the same words in a text as the library."""
    return text.isascii() and not ODD_SPACE.search(text)


def encodings(tokenizer: Tokenizer, texts: Sequence[str], offsets: bool = True) -> list[Encoding]:
    """Tokens of each text with ids and, unless they are not wanted, offsets, on all cores."""
    encode_all = tokenizer.encode_batch if offsets else tokenizer.encode_batch_fast
    try:
        found: list[Encoding] = encode_all([beginning(tokenizer, text) for text in texts], add_special_tokens=False)
    except (TypeError, UnicodeEncodeError):
        for index, text in enumerate(texts):
            check_text(text, index)
        raise
    return found


def beginning(tokenizer: Tokenizer, text: str) -> str:
    """So much of a text as holds all tokens that are read: those of a line of 60 MB would take gigabytes."""
    if not isinstance(text, str) or len(text) <= LONG or not tokenizer.truncation:
        return text
    end = max(text.rfind(blank, 0, LONG) for blank in " \n\t")  # no token goes on behind a blank
    found = tokenizer.encode(text[: max(end, 0)], add_special_tokens=False)
    return text[:end] if len(found.ids) >= tokenizer.truncation["max_length"] else text


def check_text(text: object, index: int) -> None:
    """Say what is wrong with something that cannot be tokenised."""
    if not isinstance(text, str):
        raise InputError(f"text {index} is of type {type(text).__name__}: expected str")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"text {index} has an unpaired surrogate {text[error.start]!r} at character {error.start}: "
            "it was decoded wrongly; read it as UTF-8"
        ) from None
