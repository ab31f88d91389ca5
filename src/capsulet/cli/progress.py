"""Progress on standard error: lines, or a bar on a terminal if rich is installed."""

from __future__ import annotations

import sys
import time

from capsulet.cli.output import clock, percent, tell

TYPE_CHECKING = False  # as in typing, which takes long to import
if TYPE_CHECKING:
    from capsulet.results import Epoch

SECONDS_BETWEEN_LINES = 10


def validation(report: Epoch) -> str:
    """Describe how an epoch performs on the validation texts."""
    accuracy, micro_f1, macro_f1 = report.valid_accuracy, report.valid_micro_f1, report.valid_macro_f1
    first = percent(accuracy) if micro_f1 is None else f"micro-F1 {percent(micro_f1)}"
    return first if macro_f1 is None else f"{first}, macro-F1 {percent(macro_f1)}"


class LineMonitor:
    """Progress without a terminal: one line per epoch, and a line every few seconds while texts are read."""

    def __init__(self) -> None:
        self.read_since = self.printed = time.perf_counter()

    def reading(self, rows: int) -> None:
        now = time.perf_counter()
        if now - self.printed > SECONDS_BETWEEN_LINES:
            self.printed = now
            tell(f"{rows:,} texts read, {rows / (now - self.read_since):,.0f} per second")

    def begin(self, epochs: int, steps: int, done: int) -> None:
        self.epochs, self.started, self.speed = epochs, time.perf_counter(), 0.0
        self.done = done / steps  # epochs of an earlier run

    def step(self, epoch: int, step: int, loss: float, tokens_per_second: float) -> None:
        self.speed = tokens_per_second

    def epoch(self, report: Epoch) -> None:
        made = max(report.epoch - self.done, 1 / report.steps)
        left = (time.perf_counter() - self.started) / made * (self.epochs - report.epoch)
        tell(
            f"epoch {report.epoch}/{self.epochs}  loss {report.loss:.4f}  valid {validation(report)}"
            f"{'  kept' if report.best else '      '}  {self.speed:,.0f} tokens/s  about {clock(left)} left"
        )


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


def bar_monitor() -> BarMonitor | None:
    """A bar, if standard error is a terminal and rich is installed."""
    if not sys.stderr.isatty():
        return None
    try:
        return BarMonitor()
    except ModuleNotFoundError:
        return None


class BarMonitor:
    """Progress on a terminal: a bar with loss, validation accuracy, speed and remaining time."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        figures = "{task.percentage:>3.0f} %  loss {task.fields[loss]:.4f}  valid {task.fields[valid]}  "
        figures += "{task.fields[speed]:,.0f} tokens/s  left"
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

    def reading(self, rows: int) -> None:
        seconds = time.perf_counter() - self.started
        self.status.update(f"{rows:,} texts read" + (f", {rows / seconds:,.0f} per second" if seconds > 1 else ""))

    def begin(self, epochs: int, steps: int, done: int) -> None:
        self.status.stop()
        self.bar.start()
        self.epochs, self.steps = epochs, steps
        first = f"{min(done // steps + 1, epochs)}/{epochs}"
        self.task = self.bar.add_task(
            "", total=epochs * steps, completed=done, epoch=first, loss=0.0, valid="…", speed=0.0
        )

    def step(self, epoch: int, step: int, loss: float, tokens_per_second: float) -> None:
        done = (epoch - 1) * self.steps + step
        self.bar.update(self.task, completed=done, epoch=f"{epoch}/{self.epochs}", loss=loss, speed=tokens_per_second)

    def epoch(self, report: Epoch) -> None:
        valid, kept = validation(report), "[bold]kept[/bold]" if report.best else ""
        self.bar.update(self.task, valid=valid)
        self.bar.console.print(f"epoch {report.epoch}  loss {report.loss:.4f}  valid {valid}  {kept}", highlight=False)
