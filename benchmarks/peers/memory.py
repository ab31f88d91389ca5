"""How large a process was, and what an earlier one has spent on a model that is kept."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

SPENT = "spent.json"  # beside a model that is kept: CPU seconds and memory of its training, its epoch and accuracy


def peak_memory() -> int:
    """Bytes of this process at its largest."""
    try:
        # Linux's getrusage starts from the size of the process that started this one; VmHWM does not
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return largest if sys.platform == "darwin" else largest * 1024
