"""Measure the peak memory of a process; name of the file with the training cost of a kept model."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

SPENT = "spent.json"  # next to a kept model: CPU seconds and memory of its training, its epoch and accuracy


def peak_memory() -> int:
    """Peak memory of this process in bytes."""
    try:
        # Linux's getrusage starts from the size of the process that started this one; VmHWM does not
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return largest if sys.platform == "darwin" else largest * 1024
