"""Rows of numbers from the core, without NumPy."""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing, which takes long to import
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, Literal


class Matrix:
    """Numbers in rows of equal length: (n, C). `numpy.asarray` reads it without a copy."""

    def __init__(self, values: Any, columns: int, kind: Literal["f", "d"] = "f") -> None:
        """Wrap the bytes of numbers of a kind of the module `array`: f is 32-bit, d is 64-bit."""
        self.values: memoryview[float] = memoryview(values).cast("B").cast(kind)
        self.columns = columns

    @classmethod
    def of_rows(cls, rows: Iterable[Iterable[float]], columns: int, kind: Literal["f", "d"] = "d") -> Matrix:
        """Copy these rows; the numbers are of a kind of the module `array`."""
        from array import array

        return cls(array(kind, [value for row in rows for value in row]), columns, kind)

    def __len__(self) -> int:
        return len(self.values) // self.columns

    def __getitem__(self, row: int) -> memoryview[float]:
        if not -len(self) <= row < len(self):
            raise IndexError(f"row {row} of {len(self)}")
        start = row % len(self) * self.columns
        return self.values[start : start + self.columns]

    def __iter__(self) -> Iterator[memoryview[float]]:
        return (self[row] for row in range(len(self)))

    def tolist(self) -> list[list[float]]:
        """Return the rows as lists: the fastest way to read all numbers."""
        numbers: list[Any] = self.values.tolist()
        columns = self.columns
        return [numbers[start : start + columns] for start in range(0, len(numbers), columns)]

    def floats(self) -> bytes:
        """The bytes of the numbers in 32 bits."""
        if self.values.format == "f":
            return bytes(self.values)
        from array import array

        return array("f", self.values).tobytes()

    @property
    def __array_interface__(self) -> dict[str, Any]:
        import numpy

        return dict(numpy.asarray(self.values).reshape(len(self), self.columns).__array_interface__)
