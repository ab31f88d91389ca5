"""Types of a text and its labels, and checks of values that should be a text or a label."""

from collections.abc import Sequence

from capsulet.errors import InputError, unknown_label

Labels = str | Sequence[str]  # of one text; multi-label: a list or tuple


def known_label(label: object, labels: Sequence[str]) -> str:
    """Return a label as the model names it; like a label of a training row, it may be a number."""
    name = label
    if not isinstance(label, str):
        from capsulet.text.tables import label_name, plain_value

        name = label_name(plain_value(label))
    if not isinstance(name, str) or name not in labels:
        raise unknown_label(label, labels)
    return name


def check_text(text: object, index: int) -> None:
    """Raise an InputError if `text` cannot be tokenised."""
    if not isinstance(text, str):
        raise InputError(f"text {index} is of type {type(text).__name__}: expected str")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        problem = f"text {index} has an unpaired surrogate {text[error.start]!r} at character {error.start}"
        raise InputError(f"{problem}: it was decoded wrongly; read it as UTF-8") from None
