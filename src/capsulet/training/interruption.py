"""Ctrl-C: the first one stops the training after the current step, the second one immediately."""

import signal
import threading
from types import FrameType
from typing import Any


class Interruption:
    """Context that handles Ctrl-C."""

    pressed = False
    previous: Any = None

    def __enter__(self) -> "Interruption":
        if threading.current_thread() is threading.main_thread():  # other threads may not set handlers
            self.previous = signal.signal(signal.SIGINT, self.handle)
        return self

    def __exit__(self, *_: object) -> None:
        if self.previous is not None:
            signal.signal(signal.SIGINT, self.previous)

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Remember the first signal, raise at the second."""
        if self.pressed:
            raise KeyboardInterrupt
        self.pressed = True

    def requested(self) -> bool:
        """Whether Ctrl-C was pressed."""
        return self.pressed
