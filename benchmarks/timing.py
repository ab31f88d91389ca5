"""Measure the seconds of several calls in turns, in one process, so that they can be compared."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

WARM_UP = 2  # rounds that do not count


def interleave(calls: dict[str, Callable[[], object]], repeats: int, turn: int = 1) -> dict[str, float]:
    """Return the median seconds of each call; every round runs each call `turn` times.

    Torch's threads spin for some milliseconds after their work and block a core that the next call needs. Where torch
    and compiled code are compared, several calls per turn reduce this effect.
    """
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for repeat in range(WARM_UP + repeats):
        for name, call in calls.items():
            started = time.perf_counter()
            for _ in range(turn):
                call()
            if repeat >= WARM_UP:
                seconds[name].append((time.perf_counter() - started) / turn)
    return {name: statistics.median(values) for name, values in seconds.items()}
