"""Compare two classifiers on the same draws and the same test rows: differences and their standard errors.

The standard error over the draws is of the mean of the differences, one difference per draw. The standard error of the
test rows is of the mean over the rows of: share of draws in which ours is right, minus the same share of the rival. A
difference counts if it is larger than the root of the sum of both squares.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Difference:
    """Mean of ours minus the rival's, in points, with the standard errors that are known."""

    mean: float
    error_of_draws: float | None
    error_of_test: float | None

    @property
    def error(self) -> float | None:
        """Both standard errors together; None if neither is known."""
        known = [error for error in (self.error_of_draws, self.error_of_test) if error is not None]
        return math.hypot(*known) if known else None

    @property
    def below(self) -> bool | None:
        """Whether ours is more than one standard error below the rival; None without a standard error."""
        return None if self.error is None else self.mean < -self.error

    @property
    def shown(self) -> str:
        """The difference and its standard error, such as -1.20 ± 0.45."""
        return f"{self.mean:+.2f}" + ("" if self.error is None else f" ± {self.error:.2f}")


def compare(
    ours: Sequence[float], rival: Sequence[float], our_right: Sequence[str] = (), rival_right: Sequence[str] = ()
) -> Difference:
    """Compare figures of the same draws, between 0 and 1, and which test rows were right, as `pack` writes them."""
    differences = [100 * (one - other) for one, other in zip(ours, rival, strict=True)]
    of_test = None
    if our_right and rival_right:
        pairs = [(unpack(one), unpack(other)) for one, other in zip(our_right, rival_right, strict=True)]
        rows = [
            statistics.mean(one[row] - other[row] for one, other in pairs) for row in range(min(map(len, pairs[0])))
        ]
        of_test = 100 * (standard_error(rows) or 0.0)
    return Difference(statistics.mean(differences), standard_error(differences), of_test)


def standard_error(values: Sequence[float]) -> float | None:
    """Standard error of the mean; None with fewer than two values."""
    return statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None


def pack(right: Sequence[bool]) -> str:
    """Which rows are right, as `count:hexadecimal`, short enough for a results file."""
    return f"{len(right)}:{int('1' + ''.join('01'[one] for one in right), 2):x}"


def unpack(packed: str) -> list[int]:
    """Read what `pack` wrote, as zeros and ones."""
    count, number = packed.split(":")
    digits = f"{int(number, 16):b}"[1:]
    assert len(digits) == int(count)
    return [int(digit) for digit in digits]


def mean_and_error(values: Sequence[float]) -> str:
    """Mean and standard error in per cent, such as 71.30 ± 0.82."""
    error = standard_error(values)
    return f"{100 * statistics.mean(values):.2f}" + (f" ± {100 * error:.2f}" if error is not None else "")
