"""Rows of numbers from the core, without NumPy."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Any


class Matrix:
    """Numbers in rows of equal length: (n, C). `numpy.asarray` reads it without a copy."""

    def __init__(self, values: Any, columns: int, kind: str = "f") -> None:
        """Wrap the bytes of numbers of a kind of the module `array`: f is 32-bit, d is 64-bit."""
        self.values = memoryview(values).cast("B").cast(kind)
        self.columns = columns

    @classmethod
    def of_rows(cls, rows: list[list[float]], columns: int) -> Matrix:
        """A matrix of these rows in 64 bits."""
        return cls(array("d", [value for row in rows for value in row]), columns, "d")

    def __len__(self) -> int:
        return len(self.values) // self.columns

    def __getitem__(self, row: int) -> memoryview:
        if not -len(self) <= row < len(self):
            raise IndexError(f"row {row} of {len(self)}")
        start = row % len(self) * self.columns
        return self.values[start : start + self.columns]

    def __iter__(self) -> Iterator[memoryview]:
        return (self[row] for row in range(len(self)))

    @property
    def __array_interface__(self) -> dict[str, Any]:
        import numpy

        return dict(numpy.asarray(self.values).reshape(len(self), self.columns).__array_interface__)
