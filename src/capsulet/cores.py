"""How many cores this process may use, and a setting of OpenMP so that waiting threads use none.

A container may have a CPU quota, which neither the number of cores nor the affinity mask shows: `cpu.max` in version 2
of Linux control groups, `cpu.cfs_quota_us` and `cpu.cfs_period_us` in version 1. Quotas of the groups above hold too.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # as in typing, which takes long to import
if TYPE_CHECKING:
    from collections.abc import Iterator

GROUPS = "sys/fs/cgroup"
# Read by GNU and LLVM OpenMP when torch is loaded, and by Intel OpenMP
PASSIVE = {"OMP_WAIT_POLICY": "passive", "KMP_BLOCKTIME": "0"}


def available_cores(root: str = "/") -> int:
    """The smallest of the cores of the machine, of the affinity mask and of the CPU quota; at least 1."""
    machine = os.cpu_count() or 1
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else machine
    return max(1, int(min(machine, allowed, cpu_quota(root))))


def cpu_quota(root: str = "/") -> float:
    """Cores that the control groups of this process may use, such as 1.5; infinite without a quota."""
    return min((quota_of(folder) for folder in own_groups(root)), default=float("inf"))


def own_groups(root: str) -> Iterator[str]:
    """Folders of the control groups of this process and of the groups above them; some may not exist.

    In a container, the folder of the group may be that of the host, and the container's own group the topmost folder.
    """
    for line in (read(f"{root}proc/self/cgroup") or "").splitlines():
        _, controllers, group = (*line.split(":", 2), "", "")[:3]
        if controllers and "cpu" not in controllers.split(","):
            continue
        mounts = {controllers, "cpu"} if controllers else {"", "unified"}
        for mount in sorted(mounts):
            parts = [part for part in group.split("/") if part]
            for depth in range(len(parts), -1, -1):
                yield "/".join((f"{root}{GROUPS}", mount, *parts[:depth]))


def quota_of(folder: str) -> float:
    """Cores that the control group of a folder may use; infinite without a quota."""
    text = read(f"{folder}/cpu.max")
    if text is None:
        text = f"{read(f'{folder}/cpu.cfs_quota_us') or ''} {read(f'{folder}/cpu.cfs_period_us') or ''}"
    try:
        quota, period = map(int, text.split())
    except ValueError:  # no such file, or `max`
        return float("inf")
    return quota / period if quota > 0 and period > 0 else float("inf")  # -1: none


def read(path: str) -> str | None:
    """Content of a file, None if there is none."""
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123
            return file.read()
    except (OSError, ValueError):
        return None


def let_waiting_threads_sleep() -> None:
    """Tell OpenMP, before torch is imported, that a thread without work sleeps, unless the environment says otherwise.

    By default it looks for work in a busy loop. If another process uses the cores, that loop takes the time of threads
    that do have work, and every operation waits for the slowest of them.
    """
    if not any(name in os.environ for name in (*PASSIVE, "GOMP_SPINCOUNT")):
        os.environ.update(PASSIVE)
