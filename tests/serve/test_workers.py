"""The exit status of a group of processes that a signal ends."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

pytest.importorskip("httptools")

GROUP = """
import signal, socket, sys, time
from capsulet.serve.log import Log
from capsulet.serve.workers import Workers

def still_starting(number):
    time.sleep(60)  # the signal has its default action

def fails_at_the_end(number):
    signal.signal(signal.SIGTERM, lambda *_: 1 / 0)
    print("ready", flush=True)
    time.sleep(60)

work = {work}
ready = (lambda: print("ready", flush=True)) if work is still_starting else (lambda: None)
sys.exit(Workers(2, work, Log("none"), socket.socket()).run(ready))
"""


@pytest.mark.parametrize(("work", "status"), [("still_starting", 0), ("fails_at_the_end", 1)])
def test_a_process_that_had_not_begun_to_serve_is_no_failure(work: str, status: int) -> None:
    group = subprocess.Popen(
        [sys.executable, "-c", GROUP.format(work=work)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert group.stdout
    for _ in range(1 if work == "still_starting" else 2):  # processes that print
        assert group.stdout.readline() == "ready\n"
    group.send_signal(signal.SIGTERM)
    assert group.wait(30) == status
    group.stdout.close()
