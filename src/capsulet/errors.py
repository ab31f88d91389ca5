"""Errors with messages for users: what was found, what was expected, what to do.

A message names an option by its flag. `str(error)` names the argument of Python instead (`option_names.py`).
"""

from __future__ import annotations

import os

from capsulet.option_names import for_python

TYPE_CHECKING = False  # as in typing, which takes long to import
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any


class CapsuletError(Exception):
    """A command or function failed; the command line prints the message in one line and exits with `status`."""

    status = 1

    @property
    def message(self) -> str:
        """The message with the flags of the command line."""
        return str(self.args[0]) if self.args else ""

    def __str__(self) -> str:
        return for_python(self.message)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle message and attributes, not the arguments: worker processes send errors to their parent."""
        return restored, (type(self), self.message, self.__dict__)


def restored(kind: type[CapsuletError], message: str, attributes: dict[str, Any]) -> CapsuletError:
    """Rebuild a pickled error."""
    error = kind.__new__(kind, message)
    error.__dict__.update(attributes)
    return error


class InputError(CapsuletError):
    """The call or the input was wrong."""

    status = 2


def model_path(model: object) -> str:
    """The path of a model as a string; InputError for anything else, such as a loaded classifier."""
    if not isinstance(model, (str, os.PathLike)):
        kind = type(model).__name__
        raise InputError(f"the model is of type {kind}: expected the path of a model folder or file")
    return str(os.fspath(model))


class RowError(InputError):
    """One row of a file cannot be used; `--on-bad-row skip` skips it."""

    def __init__(self, source: str, line: int, problem: str, remedy: str = "", unit: str = "line") -> None:
        self.source, self.line, self.problem, self.remedy = source, line, problem, remedy
        self.place = f"{source} {unit} {line}"
        self.record: Mapping[str, object] | None = None  # the row by column, if it could be read
        super().__init__(f"{self.place}: {problem}." + (f" {remedy}." if remedy else ""))


class ModelError(InputError):
    """A model folder or file is missing, damaged, not of capsulet or too new."""


class MissingExtraError(InputError):
    """A package of an optional extra is not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(f'{purpose} needs {package}, which is not installed: pip install "capsulet[{extra}]"')


def unknown_label(label: object, labels: Sequence[str]) -> InputError:
    """The error for a label that is not among the `labels` of a model."""
    return InputError(f"label {label!r} is unknown to the model: expected one of {some(labels)}")


def some(labels: Sequence[str]) -> str:
    """The first labels, for messages."""
    shown = ", ".join(label if len(label) <= 40 else label[:39] + "…" for label in labels[:8])
    return shown + (f" … ({len(labels)} in all)" if len(labels) > 8 else "")
