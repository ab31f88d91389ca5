"""Seconds of several calls that may be compared: measured in turns, in one process."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

WARM_UP = 2  # rounds that do not count


def interleave(calls: dict[str, Callable[[], object]], repeats: int, turn: int = 1) -> dict[str, float]:
    """Median seconds of each call; every round runs each of them `turn` times.

    Torch's threads spin for some milliseconds after their work and then sit on a core that the next call wants. Where
    torch and compiled code are compared, several calls a turn keep that out of the figures.
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
