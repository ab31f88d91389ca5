"""How results are shown: in one line, as a dictionary, as a pandas table, as HTML in a notebook."""

from __future__ import annotations

import sys

from capsulet.option_names import names_flags
from capsulet.text.visible import visible

TYPE_CHECKING = False  # as in typing, which takes long to import
if TYPE_CHECKING:
    from typing import Any

MOST_NAMED = 40  # characters of a label or of a text in a short description
# endings of a noun and of a verb, and words, in the singular and in the plural
ONE = {"s": "", "es": "", "verb": "s", "a": "a ", "are": "is", "have": "has", "them": "it"}
MANY = {"s": "s", "es": "es", "verb": "", "a": "", "are": "are", "have": "have", "them": "them"}


class Result:
    """Base of all results. A result is a dataclass; `__repr__` describes it on one line."""

    def to_dict(self) -> dict[str, Any]:
        """Return all values as dictionaries, lists and numbers."""
        import dataclasses

        values: dict[str, Any] = dataclasses.asdict(self)  # type: ignore[call-overload]
        return values


class Table(Result):
    """A result with rows: its most important part as a table."""

    def records(self) -> list[dict[str, Any]]:
        """Return the rows of the table by the names of its columns."""
        raise NotImplementedError

    def to_pandas(self) -> Any:
        """Return the table as a DataFrame."""
        try:
            import pandas
        except ModuleNotFoundError:
            from capsulet.errors import InputError

            raise InputError("to_pandas needs pandas, which is not installed: pip install pandas") from None
        return pandas.DataFrame(self.records())

    def _repr_html_(self) -> str:
        """Return the result as HTML for a notebook."""
        import importlib

        html: str = importlib.import_module("capsulet.report.notebook").notebook_html(self)
        return html


@names_flags
def tell(line: str) -> None:
    """Print a message on standard error."""
    try:  # noqa: SIM105 - contextlib takes long to import
        print(visible(line), file=sys.stderr, flush=True)  # noqa: T201 - this is the place that prints
    except OSError:  # a closed or unusable standard error must not stop the work
        pass


def named(words: str) -> str:
    """Return a label or a word for a description on one line."""
    shown = visible(words)
    return shown if len(shown) <= MOST_NAMED else f"{shown[: MOST_NAMED - 1]}…"


def percent(share: float | None, digits: int = 2) -> str:
    """Format a share: 0.5 as 50.00 %."""
    return f"{100 * (share or 0):.{digits}f} %"


def count(number: int, noun: str) -> str:
    """Format a number and its noun: 1 row, 1,000 rows, 2 classes."""
    ending = "" if number == 1 else "es" if noun.endswith("s") else "s"
    return f"{number:,} {noun}{ending}"


def agreed(words: str, number: int, **values: object) -> str:
    """Words in the singular for 1, else in the plural: "row{s} that {are} empty". Other fields are `values`."""
    return words.format(**(ONE if number == 1 else MANY), **values)


def cut(text: str, length: int) -> str:
    """Shorten a text to this many characters."""
    return text if len(text) <= length else f"{text[: length - 1]}…"


def clock(seconds: float) -> str:
    """Format seconds: 75 as 1:15."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
