"""Ctrl-C at a chosen step of the network, whatever else asks for it before."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from capsulet.training.interruption import Interruption
from capsulet.training.optimiser import Optimiser


@contextmanager
def interrupted_after(steps: int) -> Iterator[list[int]]:
    """Press Ctrl-C in this step of the network, counted over all trainings; the list has the steps that were made."""
    done, step = [0], Optimiser.step
    with pytest.MonkeyPatch.context() as patch:

        def counted(self: Optimiser, *arguments: Any) -> None:
            step(self, *arguments)
            done[0] += 1
            if done[0] == steps:
                patch.setattr(Interruption, "pressed", True)

        patch.setattr(Optimiser, "step", counted)
        yield done
