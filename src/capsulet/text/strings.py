"""Check that a value is a text that can be read."""

from capsulet.errors import InputError


def check_text(text: object, index: int) -> None:
    """Raise an InputError if `text` cannot be tokenised."""
    if not isinstance(text, str):
        raise InputError(f"text {index} is of type {type(text).__name__}: expected str")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        problem = f"text {index} has an unpaired surrogate {text[error.start]!r} at character {error.start}"
        raise InputError(f"{problem}: it was decoded wrongly; read it as UTF-8") from None
