"""A text and its labels: their types, and the check that a value is a text that can be read."""

from collections.abc import Sequence

from capsulet.errors import InputError

Labels = str | Sequence[str]  # of one text; multi-label: a list or tuple


def check_text(text: object, index: int) -> None:
    """Raise an InputError if `text` cannot be tokenised."""
    if not isinstance(text, str):
        raise InputError(f"text {index} is of type {type(text).__name__}: expected str")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        problem = f"text {index} has an unpaired surrogate {text[error.start]!r} at character {error.start}"
        raise InputError(f"{problem}: it was decoded wrongly; read it as UTF-8") from None
