"""Output: messages on standard error, lines, tables and JSON on standard output, and the progress of training.

Labels, texts and names of files may contain escape sequences of a terminal. Everything here shows control characters
as escapes: `visible` for people, `visible_json` in JSON.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from capsulet.errors import InputError
from capsulet.results import Epoch
from capsulet.storage.atomic import check_place
from capsulet.text.visible import visible, visible_json

if TYPE_CHECKING:
    from rich.console import Console

Part = str | tuple[str, str]  # a text, or a text with its style
SECONDS_BETWEEN_LINES = 10


def tell(line: str) -> None:
    """Print a message on standard error."""
    with contextlib.suppress(OSError):  # a closed or unusable standard error must not stop the work
        print(visible(line), file=sys.stderr, flush=True)


def print_json(value: Any) -> None:
    """Print one JSON object on standard output; a dataclass is an object, too."""
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
    line = visible_json(json.dumps(value, ensure_ascii=False, default=dataclasses.asdict))
    try:
        line.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        line = json.dumps(value, default=dataclasses.asdict)
    return line


def check_text_file(path: str | None, ending: str) -> Path | None:
    """The path of a file to write, if one is given; refuse a file that cannot be written, before any work is done."""
    if not path:
        return None
    check_place(Path(path), ending)
    if not Path(path).resolve().parent.is_dir():
        raise InputError(f"{Path(path).parent} is not an existing folder: create it, or choose another path")
    return Path(path)


def console() -> Console:
    """A console on standard output; 100 columns wide if it is not a terminal."""
    from rich.console import Console

    return Console() if sys.stdout.isatty() else Console(width=100, color_system=None)


def show(*parts: Part, style: str = "") -> None:
    """Print one line on standard output."""
    from rich.text import Text

    shown = [(visible(words), own) for words, own in map(styled, parts)]
    console().print(Text.assemble(*shown, style=style), soft_wrap=True)


def show_text(*parts: Part) -> None:
    """Print a text on standard output. It keeps its line breaks and tabs."""
    from rich.text import Text

    console().print(Text.assemble(*((visible(words, keep="\n\t"), style) for words, style in map(styled, parts))))


def styled(part: Part) -> tuple[str, str]:
    """A part as its text and its style."""
    return (part, "") if isinstance(part, str) else part


def show_table(
    titles: Iterable[str], rows: Iterable[Iterable[Part]], title: str | None = None, frame: bool = True
) -> None:
    """Print a table on standard output. Columns whose title starts with > are right-aligned."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", pad_edge=frame)
    if not frame:
        table.box = None
    for name in titles:
        right = name.startswith(">")
        table.add_column(name.lstrip(">"), justify="right" if right else "left", no_wrap=right, overflow="fold")
    for row in rows:
        table.add_row(*(Text(visible(words), style) for words, style in map(styled, row)))
    console().print(table)


def percent(share: float | None, digits: int = 2) -> str:
    """Format a share: 0.5 as 50.00 %."""
    return f"{100 * (share or 0):.{digits}f} %"


def count(number: int, noun: str) -> str:
    """Format a number and its noun: 1 row, 1,000 rows."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def cut(text: str, length: int) -> str:
    """Shorten a text to this many characters."""
    return text if len(text) <= length else f"{text[: length - 1]}…"


def clock(seconds: float) -> str:
    """Format seconds: 75 as 1:15."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


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
