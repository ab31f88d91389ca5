"""Output: messages on standard error, JSON, and the progress of training."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capsulet.errors import InputError
from capsulet.results import Epoch
from capsulet.storage.atomic import check_place

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress


SECONDS_BETWEEN_LINES = 10


def tell(line: str) -> None:
    """Print a message on standard error."""
    with contextlib.suppress(BrokenPipeError):  # a closed standard error must not stop the work
        print(line, file=sys.stderr, flush=True)


def print_json(value: Any) -> None:
    """Print one JSON object on standard output."""
    print(json_line(value))


def print_json_list(name: str, values: Iterable[Any]) -> None:
    """Print one JSON object with a list, value by value, so that long lists need no memory."""
    before = opening = f'{{"{name}": ['  # printed with the first value, so that an error before it leaves no output
    for value in values:
        sys.stdout.write(before + json_line(value))
        before = ", "
    sys.stdout.write((opening if before == opening else "") + "]}\n")


def json_line(value: Any) -> str:
    """JSON on one line, in ASCII if standard output cannot encode the characters."""
    line = json.dumps(value, ensure_ascii=False)
    try:
        line.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        line = json.dumps(value)
    return line


def check_text_file(path: Path, ending: str) -> None:
    """Refuse a file that cannot be written, before any work is done."""
    if path.suffix != ending:
        raise InputError(
            f"{path} does not end in {ending}: name the file to write, such as {path.stem or 'file'}{ending}"
        )
    if path.is_dir():
        raise InputError(f"{path} is a folder: name the file to write")
    if not path.resolve().parent.is_dir():
        raise InputError(f"{path.parent} is not an existing folder: create it, or choose another path")
    check_place(path)


def console() -> Console:
    """A console for tables; 100 columns wide if standard output is not a terminal."""
    from rich.console import Console

    return Console() if sys.stdout.isatty() else Console(width=100, color_system=None)


def clock(seconds: float) -> str:
    """Format seconds: 75 as 1:15."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def validation(report: Epoch) -> str:
    """Describe how an epoch performs on the validation texts."""
    figures = [] if report.valid_micro_f1 is None else [f"micro-F1 {100 * report.valid_micro_f1:.2f} %"]
    figures = figures or [f"{100 * report.valid_accuracy:.2f} %"]
    return ", ".join(
        figures + ([] if report.valid_macro_f1 is None else [f"macro-F1 {100 * report.valid_macro_f1:.2f} %"])
    )


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


class BarMonitor:
    """Progress on a terminal: a bar with loss, validation accuracy, speed and remaining time."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self.bar: Progress = Progress(
            TextColumn("epoch {task.fields[epoch]}"),
            BarColumn(bar_width=None),
            TextColumn("{task.percentage:>3.0f} %  loss {task.fields[loss]:.4f}  valid {task.fields[valid]}  "
                       "{task.fields[speed]:,.0f} tokens/s  left"),
            TimeRemainingColumn(compact=True),
            console=Console(stderr=True),
            transient=True,
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
        accuracy = validation(report)
        self.bar.update(self.task, valid=accuracy)
        star = "[bold]kept[/bold]" if report.best else ""
        self.bar.console.print(
            f"epoch {report.epoch}  loss {report.loss:.4f}  valid {accuracy}  {star}", highlight=False
        )
