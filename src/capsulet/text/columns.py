"""Find the columns of the text and the label: set by the caller, stored in the model, by standard names, or guessed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from capsulet.errors import InputError
from capsulet.text.files import printable

TEXT, LABEL = "text", "label"
# usual names of columns, the most likely first
TEXT_NAMES = (
    "message", "body", "review", "sentence", "comment", "content", "utterance", "query", "question", "tweet", "post",
    "document", "description", "abstract", "texts", "review_text", "text_content", "title", "headline", "subject",
)  # fmt: skip
LABEL_NAMES = (
    "category", "sentiment", "target", "class", "intent", "topic", "labels", "class_name", "label_name", "label_text",
)  # fmt: skip


@dataclass(frozen=True)
class Columns:
    """Names of the columns of the text, which are joined by spaces, and of the label."""

    text: tuple[str, ...] = (TEXT,)
    label: str | None = None

    @property
    def usual(self) -> bool:
        """Whether the columns have the default names."""
        return self.text == (TEXT,) and self.label in (None, LABEL)


def listing(names: Iterable[str], separator: str = ", ") -> str:
    """Return the first ten names, for messages."""
    shown = [printable(str(name)) for name in islice(names, 11)]
    return separator.join(shown[:10]) + (separator + "…" if len(shown) > 10 else "")


def plain(name: str) -> str:
    """Return a name without surrounding blanks, in lower case."""
    return name.strip().lower()


def has_column(names: Iterable[str], wanted: str) -> bool:
    """Whether a column has this name, in upper or lower case."""
    return any(plain(name) == plain(wanted) for name in names)


def named(names: Sequence[str], wanted: Iterable[str]) -> Iterator[str]:
    """Yield the columns with these names, in upper or lower case, in the order of `wanted`."""
    found = {plain(name): name for name in reversed(names)}
    yield from (found[name] for name in wanted if name in found)


def is_header(names: Sequence[str], remembered: Columns | None) -> bool:
    """Whether the cells of a first row are names of columns: one of them is that of a text column.

    A usual name may also be a text: it does not make a row with a number a header.
    """
    known = (TEXT, *map(plain, remembered.text if remembered else ()))
    numbers = any(name.strip().removeprefix("-").isdecimal() for name in names)
    return next(named(names, known if numbers else (*known, *TEXT_NAMES)), None) is not None


def text_columns(names: Sequence[str], remembered: Columns | None) -> tuple[str, ...]:
    """Return the columns of the text among these: those of the model, `text`, or the first usual name."""
    if remembered and all(has_column(names, name) for name in remembered.text):
        return remembered.text
    return (TEXT if has_column(names, TEXT) else next(named(names, TEXT_NAMES), TEXT),)


def label_column(
    names: Sequence[str], source: str, texts: Sequence[str], remembered: Columns | None, multi_label: bool
) -> str | None:
    """Return the column of the label among these: that of the model, `label`, or the only usual name; else None."""
    if remembered and remembered.label and has_column(names, remembered.label):
        return remembered.label
    if has_column(names, LABEL):
        return LABEL
    rest = [name for name in names if plain(name) not in map(plain, texts)]
    if multi_label and has_column(rest, "labels"):
        return next(named(rest, ("labels",)))
    found = [name for name in named(rest, LABEL_NAMES) if multi_label or plain(name) != "labels"]
    if len(found) > 1:
        raise InputError(
            f"{source}: no column 'label', and the label could be in any of {listing(found)}. Name its column with "
            "--label-column"
        )
    return found[0] if found else None


def find_column(names: Sequence[str], wanted: str, source: str, flag: str) -> int:
    """Return the index of a column, by its exact name, or else ignoring case and surrounding blanks."""
    lower = [plain(name) for name in names]
    places = [place for place, name in enumerate(names) if name == wanted]
    places = places or [place for place, name in enumerate(lower) if name == plain(wanted)]
    if len(places) == 1:
        return places[0]
    wanted = printable(wanted)
    if places:
        raise InputError(f"{source}: {len(places)} columns are called '{wanted}'. Rename all but one")
    import difflib

    near = difflib.get_close_matches(wanted.lower(), lower, n=1)
    hint = f" Did you mean '{printable(names[lower.index(near[0])])}'?" if near else ""
    raise InputError(f"{source}: no column '{wanted}', found: {listing(names)}.{hint} Name the column with {flag}")


def find_columns(
    names: Sequence[str], source: str, *, labelled: bool, text_columns: Sequence[str], label_column: str | None
) -> tuple[tuple[int, ...], int | None]:
    """Return the indices of the text columns and of the label column."""
    texts = tuple(find_column(names, name, source, "--text-column") for name in text_columns or (TEXT,))
    if not (labelled or label_column is not None or has_column(names, LABEL)):
        return texts, None
    label = find_column(names, label_column or LABEL, source, "--label-column")
    if label in texts:
        raise InputError(
            f"{source}: the column '{printable(names[label])}' is both text and label. Name another with --label-column"
        )
    return texts, label
