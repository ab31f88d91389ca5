"""Counters of all worker processes in shared memory, and their Prometheus text.

Every process has its own cells and writes no others, so there are no locks. The answer of any process has the sums.
"""

from __future__ import annotations

import mmap
import os
from bisect import bisect_left
from collections.abc import Iterable, Sequence

from capsulet import __version__
from capsulet.serve.messages import STATUSES

BOUNDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)  # seconds of a request
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """Numbers of requests, seconds and texts. `cells` has the index of each number in the block of a process."""

    def __init__(self, routes: Sequence[str], models: Sequence[str], processes: int = 1) -> None:
        names = [("requests", route, status) for route in routes for status in STATUSES]
        names += [("seconds", route, bound) for route in routes for bound in range(len(BOUNDS) + 1)]
        names += [("sum", route, 0) for route in routes]
        names += [("texts", model, 0) for model in models]
        names += [("reloads", model, taken) for model in models for taken in (0, 1)]
        names += [(gauge, "", 0) for gauge in ("queue", "connections", "memory", "descriptors")]
        self.cells = {name: place for place, name in enumerate(names)}
        self.processes = processes
        self.memory = memoryview(mmap.mmap(-1, 8 * len(names) * processes)).cast("d")
        self.first = 0

    def use(self, process: int) -> None:
        """Write to the cells of this process."""
        self.first = process * len(self.cells)

    def add(self, kind: str, name: str, detail: int, value: float = 1.0) -> None:
        """Add to a number."""
        self.memory[self.first + self.cells[kind, name, detail]] += value

    def count_request(self, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        self.add("requests", route, status)
        self.add("seconds", route, bisect_left(BOUNDS, seconds))
        self.add("sum", route, 0, seconds)

    def count_texts(self, model: str, texts: int) -> None:
        """Count texts that a model has answered."""
        self.add("texts", model, 0, texts)

    def count_reload(self, model: str, taken: bool) -> None:
        """Count a new model that was loaded, or refused."""
        self.add("reloads", model, int(taken))

    def set_gauges(self, waiting: int, connections: int) -> None:
        """Set the gauges of this process."""
        values = {"queue": waiting, "connections": connections, "memory": resident(), "descriptors": descriptors()}
        for name, value in values.items():
            self.memory[self.first + self.cells[name, "", 0]] = value

    def total(self, kind: str, name: str = "", detail: int = 0) -> float:
        """The sum of a number over the processes."""
        place, step = self.cells[kind, name, detail], len(self.cells)
        return sum(self.memory[place + process * step] for process in range(self.processes))

    def text(self) -> str:
        """All numbers in the Prometheus format."""
        lines = [*block("build_info", "gauge", "Version of capsulet", [(f'version="{__version__}"', 1.0)])]
        counted = {name: self.total(*name) for name in self.cells}
        requests = [
            (f'route="{escape(name)}",status="{status}"', value)
            for (kind, name, status), value in counted.items()
            if kind == "requests" and value
        ]
        lines += block("requests_total", "counter", "Requests", requests)
        lines += self.histogram()
        texts = [(f'model="{escape(name)}"', value) for (kind, name, _), value in counted.items() if kind == "texts"]
        lines += block("texts_total", "counter", "Texts answered", texts)
        reloads = [
            (f'model="{escape(name)}",result="{("refused", "taken")[taken]}"', value)
            for (kind, name, taken), value in counted.items()
            if kind == "reloads"
        ]
        lines += block("reloads_total", "counter", "New models loaded or refused", reloads)
        gauges = {
            "queue": ("queue_texts", "Texts that wait or run"), "connections": ("connections", "Open connections"),
            "memory": ("resident_memory_bytes", "Memory of all processes"),
            "descriptors": ("open_descriptors", "Open file descriptors of all processes"),
        }  # fmt: skip
        for kind, (metric, words) in gauges.items():
            lines += block(metric, "gauge", words, [("", counted[kind, "", 0])])
        return "\n".join(lines) + "\n"

    def histogram(self) -> Iterable[str]:
        """The times of the requests by route."""
        name = "capsulet_request_seconds"
        yield f"# HELP {name} Time from the head of a request to its answer"
        yield f"# TYPE {name} histogram"
        for route in dict.fromkeys(route for kind, route, _ in self.cells if kind == "sum"):
            counts = [self.total("seconds", route, place) for place in range(len(BOUNDS) + 1)]
            if not sum(counts):
                continue
            below = 0.0
            for bound, count in zip([*BOUNDS, "+Inf"], counts, strict=True):
                below += count
                yield f'{name}_bucket{{route="{escape(route)}",le="{bound}"}} {below:g}'
            yield f'{name}_sum{{route="{escape(route)}"}} {self.total("sum", route)!r}'
            yield f'{name}_count{{route="{escape(route)}"}} {below:g}'


def block(metric: str, kind: str, words: str, values: Iterable[tuple[str, float]]) -> Iterable[str]:
    """The lines of one metric."""
    name = f"capsulet_{metric}"
    return [
        f"# HELP {name} {words}",
        f"# TYPE {name} {kind}",
        *(f"{name}{'{' + labels + '}' if labels else ''} {value!r}" for labels, value in values),
    ]


def escape(value: str) -> str:
    """A value of a Prometheus label."""
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def resident() -> int:
    """Bytes of memory of this process; 0 if the system does not report them."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123
            return int(file.read().split()[1]) * mmap.PAGESIZE
    except (OSError, ValueError, IndexError):
        return 0


def descriptors() -> int:
    """Open file descriptors of this process; 0 if the system does not report them."""
    try:
        return len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    except OSError:
        return 0
