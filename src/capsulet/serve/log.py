"""The log of the server, one line per event on standard error. It has texts only at the level `texts`."""

from __future__ import annotations

import json
import sys
import time
import traceback
from collections.abc import Sequence


class Log:
    """Writes errors, and with the level `requests` also requests, and with `texts` also texts."""

    def __init__(self, level: str = "errors") -> None:
        self.with_requests, self.with_texts = level in ("requests", "texts"), level == "texts"

    def say(self, message: str) -> None:
        """Write an event."""
        self.write({"event": " ".join(message.split())})

    def error(self, error: BaseException) -> None:
        """Write the place and the type of an unexpected error; its message may have parts of a text."""
        frames = [f"{frame.filename}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)[-6:]]
        row: dict[str, object] = {"event": "error", "type": type(error).__name__, "at": frames}
        self.write({**row, "message": str(error)} if self.with_texts else row)

    def request(self, method: str, route: str, status: int, seconds: float, texts: int) -> None:
        """Write a request."""
        if self.with_requests:
            milliseconds = round(1000 * seconds, 3)
            row: dict[str, object] = {"method": method[:20], "route": route, "status": status, "texts": texts}
            self.write({**row, "ms": milliseconds})

    def texts(self, texts: Sequence[str]) -> None:
        """Write texts that were answered."""
        if self.with_texts:
            self.write({"texts": list(texts)})

    def write(self, row: dict[str, object]) -> None:
        """Write one line of JSON."""
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        sys.stderr.write(json.dumps({"time": stamp, **row}) + "\n")
        sys.stderr.flush()
