r"""The rule that splits texts into tokens. Standard library only.

Text is lower-cased character by character. A letter a-z with the letters and digits that follow it is a word. Every
other digit or visible character is a token of its own, so Chinese, Korean and emoji are read character by character.
White space is what Unicode calls so. The rule is the one of the paper.
"""

import re

from capsulet.errors import InputError

TOKEN = r"[a-z][a-z0-9]*|[0-9]|[^\sa-z0-9]"
PATTERN = re.compile(TOKEN + r"|[\x1c-\x1f]")  # white space in Python's `re`, but not in Unicode
ODD_SPACE = re.compile(r"[\x1c-\x1f]")


def split(text: str) -> list[str]:
    """The tokens of a text in lower case."""
    # a capital sigma is lowered without regard to its place in the word
    return PATTERN.findall(text.lower() if text.isascii() else "".join(map(str.lower, text)))


def is_plain(text: str) -> bool:
    """Whether a text is ASCII without separators that some libraries read as white space."""
    return text.isascii() and not ODD_SPACE.search(text)


def check_text(text: object, index: int) -> None:
    """Raise an InputError if `text` cannot be tokenised."""
    if not isinstance(text, str):
        raise InputError(f"text {index} is of type {type(text).__name__}: expected str")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        problem = f"text {index} has an unpaired surrogate {text[error.start]!r} at character {error.start}"
        raise InputError(f"{problem}: it was decoded wrongly; read it as UTF-8") from None
