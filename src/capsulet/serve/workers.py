"""Several processes that share one socket: start them, replace those that die, and end them all."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Callable

from capsulet.serve.log import Log

CALM = 1.0  # seconds that a process must live before it is replaced at once
ENDING = (signal.SIGTERM, signal.SIGINT)
KILLED = tuple(-number for number in ENDING)  # exit codes of a process that had not begun to serve: no request is lost


class Workers:
    """A group of processes that run the same function with their numbers."""

    def __init__(self, count: int, work: Callable[[int], None], log: Log, sock: socket.socket) -> None:
        self.count, self.work, self.log, self.sock = count, work, log, sock
        self.numbers: dict[int, int] = {}  # by process id
        self.started: dict[int, float] = {}
        self.ending = False

    def run(self, ready: Callable[[], None]) -> int:
        """Run until a signal ends the group; return the exit status. `ready` is called after all have started."""
        for number in ENDING:
            signal.signal(number, self.end)
        for worker in range(self.count):
            self.start(worker)
        ready()  # the socket listens: requests wait in it until the first process accepts them
        failed = False
        while self.numbers:
            try:
                process, status = os.waitpid(-1, 0)
            except InterruptedError:
                continue
            if process not in self.numbers:
                continue
            worker = self.numbers.pop(process)
            code = os.waitstatus_to_exitcode(status)
            if self.ending:
                failed = failed or code not in (0, *KILLED)
                continue
            self.log.say(f"worker {worker} ended with status {code} and is started again")
            if time.monotonic() - self.started[worker] < CALM:
                time.sleep(CALM)
            if not self.ending:
                self.start(worker)
        return int(failed)

    def start(self, worker: int) -> None:
        """Start the process of a number."""
        self.started[worker] = time.monotonic()
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)  # no signal is lost before the number is known
        process = os.fork()
        if process:
            self.numbers[process] = worker
            signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
            return
        status = 1
        try:
            for number in ENDING:
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
            self.work(worker)
            status = 0
        except BaseException as error:
            self.log.error(error)
        finally:
            os._exit(status)

    def end(self, number: int, frame: object) -> None:
        """Pass a signal on to all processes."""
        self.ending = True
        self.sock.close()  # the processes have their own copies of it
        for process in list(self.numbers):
            os.kill(process, signal.SIGTERM)
