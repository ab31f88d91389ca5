"""Lines on standard error about the progress of work other than a training."""

from __future__ import annotations

import time

from capsulet.cli.output import clock, tell
from capsulet.training.progress import SECONDS_BETWEEN_LINES


class StepMonitor:
    """Progress in steps: a line every few seconds."""

    def __init__(self, what: str) -> None:
        self.what, self.printed, self.done = what, time.perf_counter(), 0
        self.started, self.first = self.printed, 0  # start of the current task: time and step

    def __call__(self, done: int, steps: int) -> None:
        now = time.perf_counter()
        if not self.done or done <= self.done:  # a new task begins
            self.started, self.first = now, done
        self.done = done
        if done > self.first and now - self.printed > SECONDS_BETWEEN_LINES:
            self.printed = now
            left = (now - self.started) / (done - self.first) * (steps - done)
            tell(f"{self.what}: step {done:,} of {steps:,}, about {clock(left)} left")
