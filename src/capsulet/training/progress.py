"""Progress of a training for people: lines, a bar on a terminal if rich is installed, or a table in a notebook."""

from __future__ import annotations

import sys
import time

from capsulet.presentation import clock, tell
from capsulet.text.visible import visible

TYPE_CHECKING = False  # as in typing, which takes long to import
if TYPE_CHECKING:
    from typing import Any

    from capsulet.results import Epoch
    from capsulet.text.labelled import Tell

SECONDS_BETWEEN_LINES = 10
SECONDS_BETWEEN_UPDATES = 0.3  # of a notebook
MOST_EPOCHS = 12  # rows in a notebook
BEST = "★ best"


def epoch_line(report: Epoch, epochs: int) -> str:
    """Describe an epoch. It does not say whether the epoch is the best: that is known after the last one."""
    return f"epoch {report.epoch} of {epochs}: {report.metric}, loss {report.loss:.4f}"


class LineMonitor:
    """Progress without a terminal: one line per epoch, and a line every few seconds while texts are read."""

    def __init__(self, tell: Tell = tell) -> None:
        self.tell, self.read_since = tell, time.perf_counter()
        self.printed = self.read_since

    def __enter__(self) -> LineMonitor:
        return self

    def __exit__(self, *_: object) -> None: ...

    def reading(self, rows: int) -> None:
        now = time.perf_counter()
        if now - self.printed > SECONDS_BETWEEN_LINES:
            self.printed = now
            self.tell(f"{rows:,} texts read, {rows / (now - self.read_since):,.0f} per second")

    def begin(self, epochs: int, steps: int, done: int) -> None:
        self.epochs, self.started = epochs, time.perf_counter()
        self.done = done / steps  # epochs of an earlier run

    def step(self, epoch: int, step: int, loss: float, tokens_per_second: float) -> None: ...

    def epoch(self, report: Epoch) -> None:
        epochs_here = max(report.epoch - self.done, 1 / report.steps)  # without those of an earlier run
        left = (time.perf_counter() - self.started) / epochs_here * (self.epochs - report.epoch)
        self.tell(f"{epoch_line(report, self.epochs)}, about {clock(left)} left")


def bar_monitor() -> BarMonitor | None:
    """A bar, if standard error is a terminal and rich is installed."""
    if sys.stderr is None or not sys.stderr.isatty():
        return None
    try:
        return BarMonitor()
    except ModuleNotFoundError:
        return None


class BarMonitor:
    """Progress on a terminal: a bar with the remaining time, and a line per epoch above it."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        figures = "{task.percentage:>3.0f} %  loss {task.fields[loss]:.4f}  left"
        self.bar = Progress(
            TextColumn("epoch {task.fields[epoch]}"), BarColumn(bar_width=None), TextColumn(figures),
            TimeRemainingColumn(compact=True), console=Console(stderr=True), transient=True,
        )  # fmt: skip
        self.status = self.bar.console.status("reading texts")

    def __enter__(self) -> BarMonitor:
        self.status.start()
        self.started = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.status.stop()
        self.bar.stop()

    def tell(self, line: str) -> None:
        """Print a message above the bar."""
        self.status.update("working")  # until texts are read again, or the network is trained
        self.bar.console.print(visible(line), highlight=False, markup=False, soft_wrap=True)

    def reading(self, rows: int) -> None:
        seconds = time.perf_counter() - self.started
        self.status.update(f"{rows:,} texts read" + (f", {rows / seconds:,.0f} per second" if seconds > 1 else ""))

    def begin(self, epochs: int, steps: int, done: int) -> None:
        self.status.stop()
        self.bar.start()
        self.epochs, self.steps = epochs, steps
        for task in self.bar.task_ids:  # of an earlier round of cross-validation
            self.bar.remove_task(task)
        first = f"{min(done // steps + 1, epochs)}/{epochs}"
        self.task = self.bar.add_task("", total=epochs * steps, completed=done, epoch=first, loss=0.0)

    def step(self, epoch: int, step: int, loss: float, tokens_per_second: float) -> None:
        done = (epoch - 1) * self.steps + step
        self.bar.update(self.task, completed=done, epoch=f"{epoch}/{self.epochs}", loss=loss)

    def epoch(self, report: Epoch) -> None:
        self.tell(epoch_line(report, self.epochs))


class NotebookMonitor:
    """Progress in a notebook: messages, a bar with the remaining time, and the epochs with a mark for the best."""

    def __init__(self) -> None:
        import importlib

        kit: Any = importlib.import_module("IPython.display")
        self.html = kit.HTML
        self.handle = kit.display(kit.HTML(""), display_id=True)
        self.lines = list[str]()  # messages
        self.status, self.share = "", 0.0  # what runs now, and the share of the training that is done
        self.epochs: list[Epoch] = []
        self.shown = self.started = time.perf_counter()

    def __enter__(self) -> NotebookMonitor:
        return self

    def __exit__(self, *_: object) -> None:
        self.status = ""
        self.show()

    def tell(self, line: str) -> None:
        """Add a message."""
        self.lines.append(line)
        self.show()

    def reading(self, rows: int) -> None:
        self.update(f"{rows:,} texts read", 0.0)

    def begin(self, epochs: int, steps: int, done: int) -> None:
        self.number, self.steps, self.first = epochs, steps, done / (epochs * steps)
        self.started, self.epochs = time.perf_counter(), []

    def step(self, epoch: int, step: int, loss: float, tokens_per_second: float) -> None:
        share = ((epoch - 1) * self.steps + step) / (self.number * self.steps)
        share_here = max(share - self.first, 1e-9)  # without that of an earlier run
        left = (time.perf_counter() - self.started) / share_here * (1 - share)
        self.update(f"epoch {epoch} of {self.number}, loss {loss:.4f}, about {clock(left)} left", share)

    def epoch(self, report: Epoch) -> None:
        self.epochs.append(report)
        self.show()

    def update(self, status: str, share: float) -> None:
        """Show where the training is, at most every fraction of a second."""
        self.status, self.share = status, share
        if time.perf_counter() - self.shown > SECONDS_BETWEEN_UPDATES:
            self.show()

    def show(self) -> None:
        """Replace what is shown."""
        self.shown = time.perf_counter()
        self.handle.update(self.html(self.content()))

    def content(self) -> str:
        """Return messages, bar and epochs as HTML."""
        from capsulet.report.elements import cell, escape, scrolled, table
        from capsulet.report.notebook import styled

        parts = [f"<div>{escape(line)}</div>" for line in self.lines]
        if self.status:
            bar = f'<progress max="1" value="{self.share:.4f}"></progress>' if self.share else ""
            parts.append(f'<div class="soft">{bar} {escape(self.status)}</div>')
        if self.epochs:
            best = next((one.epoch for one in reversed(self.epochs) if one.best), 0)
            listed = [one for one in self.epochs if one in self.epochs[-MOST_EPOCHS:] or one.epoch == best]
            rows = (
                (cell(str(one.epoch)), cell(one.metric), cell(f"{one.loss:.4f}"), cell(BEST * (one.epoch == best)))
                for one in listed
            )
            parts.append(scrolled(table(("epoch", "on texts it was not trained on", "loss", ""), rows), "fit"))
        return styled(parts)


def progress_monitor(progress: bool | None) -> LineMonitor | BarMonitor | NotebookMonitor | None:
    """The progress display of `capsulet.train`; None: no display.

    By default progress is shown in a notebook and at the prompt of Python, but not in programs.
    """
    if not (hasattr(sys, "ps1") if progress is None else progress):
        return None
    if in_notebook():
        return NotebookMonitor()
    return bar_monitor() or LineMonitor()


def in_notebook() -> bool:
    """Whether the process is the kernel of a notebook."""
    if "IPython" not in sys.modules:
        return False
    from IPython import get_ipython

    return getattr(get_ipython(), "kernel", None) is not None
