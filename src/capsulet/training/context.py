"""What connects a training to the user and to the other processes that train the same model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from capsulet.option_names import translated
from capsulet.text.labelled import Tell, silent
from capsulet.text.preparation import Listener
from capsulet.training.interruption import Interruption
from capsulet.training.monitor import Monitor, Silence
from capsulet.training.progress import progress_monitor
from capsulet.training.workers import Alone, join_workers


@dataclass(frozen=True)
class Context:
    """The user, who sees messages and progress and may stop the training, and the other processes."""

    tell: Tell  # prints a line
    monitor: Monitor
    stop: Callable[[], bool]  # whether the user wants to stop
    workers: Alone

    @property
    def is_first(self) -> bool:
        """Whether this is the first process. It has the linear model, makes the decisions and writes the files."""
        return not self.workers.rank

    @property
    def listener(self) -> Listener:
        """Callbacks for the preparation of the texts."""
        return Listener(self.tell, self.monitor.reading, self.stop)

    def check_stop(self) -> None:
        """Raise KeyboardInterrupt if the user wants to stop; for the time when there is no model to keep."""
        if self.stop():
            raise KeyboardInterrupt


@contextmanager
def open_context(device: str, tell: Tell, monitor: Monitor | None, progress: bool | None) -> Iterator[Context]:
    """Join the other processes, handle Ctrl-C and show progress, until the training ends.

    `progress` shows messages and progress if `tell` and `monitor` are not given; None: in a notebook and at the prompt.
    """
    with Interruption() as interruption, join_workers(device) as workers:
        if workers.rank:  # only the first process prints
            yield Context(silent, Silence(), interruption.requested, workers)
            return
        view = progress_monitor(progress) if monitor is None and tell is silent else None
        if view is None:
            yield Context(translated(tell), monitor or Silence(), interruption.requested, workers)
            return
        with view:
            yield Context(translated(view.tell), view, interruption.requested, workers)
