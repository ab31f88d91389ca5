"""Ctrl-C: the first one asks training to stop after this step, the second one stops at once."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any


class Interruption:
    """While it is entered, `asked()` says whether Ctrl-C was pressed."""

    def __init__(self) -> None:
        self.pressed = False
        self.previous: Any = None

    def __enter__(self) -> Interruption:
        # only the main thread may set handlers; elsewhere whoever started the thread decides
        if threading.current_thread() is threading.main_thread():
            self.previous = signal.signal(signal.SIGINT, self.handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.previous is not None:
            signal.signal(signal.SIGINT, self.previous)

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Remember the first signal, raise at the second."""
        if self.pressed:
            raise KeyboardInterrupt
        self.pressed = True

    def asked(self) -> bool:
        """Whether to stop."""
        return self.pressed
