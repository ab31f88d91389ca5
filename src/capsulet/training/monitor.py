"""The interface of progress displays, and one that shows nothing; training/progress.py has the visible ones."""

from typing import Protocol

from capsulet.results import Epoch


class Monitor(Protocol):
    """Receives the progress of a training."""

    def reading(self, rows: int) -> None:
        """This many texts have been read."""

    def begin(self, epochs: int, steps: int, done: int) -> None:
        """Training starts: epochs, steps per epoch, and steps that an earlier run has done."""

    def step(self, epoch: int, step: int, loss: float, tokens_per_second: float) -> None:
        """A step is done; the loss is a running mean."""

    def epoch(self, report: Epoch) -> None:
        """An epoch is validated."""


class Silence:
    """A monitor that prints nothing."""

    def reading(self, rows: int) -> None: ...
    def begin(self, epochs: int, steps: int, done: int) -> None: ...
    def step(self, epoch: int, step: int, loss: float, tokens_per_second: float) -> None: ...
    def epoch(self, report: Epoch) -> None: ...
