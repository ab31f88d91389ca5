"""Batches at the same time."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import capsulet
from capsulet.errors import InputError
from capsulet.runtime import classifier as module
from capsulet.runtime import session as session_module
from capsulet.runtime.session import count_workers, open_session
from tests.conftest import TEXTS


def test_any_number_of_threads_gives_the_same(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BATCH", 2)
    texts = [text for _, text in TEXTS] * 5
    one, three = (capsulet.load(model, threads=threads) for threads in (1, 3))
    assert (one.session.workers, three.session.workers) == (1, 3)
    assert np.array_equal(one.lengths(texts), three.lengths(texts))
    assert one.predict(texts) == three.predict(texts)


def test_batches_run_at_the_same_time(model: Path) -> None:
    """Each of two parts waits for the other to have begun: one after the other they would wait forever."""
    session = open_session(model, threads=2)
    barrier = threading.Barrier(2, timeout=30)
    done: list[int] = []

    def work(part: int) -> None:
        barrier.wait()
        done.append(part)

    session.for_each([1, 2], work)
    assert sorted(done) == [1, 2]


@pytest.mark.parametrize("threads", [1, 2])
def test_what_goes_wrong_in_a_batch_is_raised_and_the_rest_left(model: Path, threads: int) -> None:
    begun: list[int] = []

    def work(part: int) -> None:
        begun.append(part)
        if part == 0:
            raise ValueError("part 0")
        time.sleep(0.02)

    with pytest.raises(ValueError, match="part 0"):
        open_session(model, threads).for_each(range(500), work)
    assert len(begun) < 500


def test_a_second_interruption_does_not_leave_threads_behind(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To end while a graph runs in a thread aborts the process."""
    begun = threading.Event()
    done: list[int] = []

    class Impatient(session_module.ThreadPoolExecutor):
        interruptions = 2

        def shutdown(self, *arguments: object, **more: object) -> None:
            if self.interruptions:
                self.interruptions -= 1
                raise KeyboardInterrupt
            super().shutdown(*arguments, **more)

    def work(part: int) -> None:
        if part == 0:
            begun.wait(10)
            raise KeyboardInterrupt
        begun.set()
        time.sleep(0.3)
        done.append(part)

    monkeypatch.setattr(session_module, "ThreadPoolExecutor", Impatient)
    with pytest.raises(KeyboardInterrupt):
        open_session(model, threads=2).for_each([0, 1], work)
    assert done == [1]


def test_memory_does_not_grow_with_the_threads() -> None:
    lengths, rows = [500] * 256, np.arange(256)
    for at_once in (1, 2, 16):
        found = list(module.batches(lengths, rows, 4, at_once))
        assert sum(len(part) for part in found) == 256
        assert at_once * max(len(part) for part in found) * 500 <= module.LARGEST_BATCH
        many = list(module.batches([5] * 256, rows, 1000, at_once))
        assert at_once * max(len(part) for part in many) * 1000 <= module.LARGEST_VOTES


def test_as_many_workers_as_cores_unless_said() -> None:
    assert count_workers(5) == 5
    assert 1 <= count_workers(None) <= (os.cpu_count() or 1)
    for wrong in (-1, 0, 1.5, "2", True):
        with pytest.raises(InputError, match="threads is"):
            count_workers(wrong)
