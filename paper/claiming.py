"""Locks between commands that work at the same time. A lock ends with its process, even if that is killed."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: one command at a time
    fcntl = None  # type: ignore[assignment]


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Wait until no other command has locked this folder."""
    descriptor = os.open(folder, os.O_RDONLY) if fcntl else -1
    try:
        if fcntl:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        if fcntl:
            os.close(descriptor)


@contextlib.contextmanager
def claimed(model: Path, wait: bool = False) -> Iterator[bool]:
    """Claim the folder of a model; yield whether no other command has it. `wait` until that is so."""
    model.parent.mkdir(parents=True, exist_ok=True)
    with model.with_suffix(".lock").open("w") as file:
        try:
            if fcntl:
                fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
            return
        yield True
