"""`capsulet VERB …`: parse the call and turn errors into one line and an exit status.

A new process should answer at once, so a module is imported only where it is needed.
"""

from __future__ import annotations

import errno
import io
import os
import sys

from capsulet.cli.calls import VERBS, plain_call
from capsulet.cli.output import tell
from capsulet.errors import CapsuletError

TYPE_CHECKING = False  # as in typing, which takes long to import
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

INTERRUPTED = 130  # exit status after Ctrl-C, as in a shell: 128 plus the number of SIGINT
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # full disk, quota, limit of the file size
OPTIONAL = {"numpy": "train", "torch": "train", "pyarrow": "train"}  # packages and their extras
NOT_WRITABLE = (errno.EBADF, errno.EIO)  # standard output is open for reading only, or its terminal is gone


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    open_streams()
    try:
        return run(parse(sys.argv[1:] if arguments is None else arguments))
    except KeyboardInterrupt:  # while the call was parsed
        tell("capsulet: interrupted")
        return INTERRUPTED
    finally:
        flush_streams()


def parse(arguments: Sequence[str]) -> Any:
    """The parsed arguments. Exit with a message if they are wrong."""
    parsed = plain_call(arguments[0], arguments[1:]) if arguments and arguments[0] in VERBS else None
    if parsed is None:
        from capsulet.cli import parser

        parsed = parser.parse(arguments)
    return parsed


def run(parsed: Any) -> int:
    """Run a verb and return its exit status; print any error in one line, with --debug after the traceback."""
    try:
        status: int = parsed.run(parsed) or 0
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of the output has closed it
        return int(getattr(parsed, "status", 0))
    except (Exception, KeyboardInterrupt) as error:
        if parsed.debug:
            import traceback

            for row in traceback.format_exc().splitlines():
                tell(row)
        line, status = describe(error)
        tell(f"capsulet: {' '.join(line.split())}")
    return status


def describe(error: BaseException) -> tuple[str, int]:
    """The message and the exit status of an error."""
    if isinstance(error, CapsuletError):
        return error.message, error.status
    if isinstance(error, MemoryError):
        return "out of memory: try a smaller --batch-size or --max-words, or fewer rows", 1
    if was_interrupted(error):
        return "interrupted", INTERRUPTED
    if isinstance(error, ModuleNotFoundError) and error.name in OPTIONAL:
        return f"{error.name} is not installed: pip install 'capsulet[{OPTIONAL[error.name]}]'", 2
    cause = f"{type(error).__name__}: {error}"
    if isinstance(error, OSError) and error.errno in NO_ROOM:
        place = error.filename or "the output"
        return f"{place} cannot be written: {error.strerror}; free space, or write elsewhere", 1
    if isinstance(error, OSError) and error.errno in NOT_WRITABLE and not error.filename:
        return f"the output cannot be written: {error.strerror}; write to a file or a pipe", 1
    if isinstance(error, OSError) and error.strerror:
        cause = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return f"unexpected error ({cause}); --debug shows the traceback", 1


def was_interrupted(error: BaseException) -> bool:
    """Whether Ctrl-C caused an error; libraries may raise another error during import."""
    chain: list[BaseException] = []
    while error not in chain:
        chain.append(error)
        error = error.__cause__ or error.__context__ or error
    return any(isinstance(cause, KeyboardInterrupt) for cause in chain)


def open_streams() -> None:
    """Make standard output and error usable if they are closed or cannot encode every character.

    The null device replaces closed streams. Otherwise the next file would get the number of a stream, and a library
    that writes to the stream would damage the file. `sys.stdin` stays None if standard input is closed.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:  # noqa: PERF203 - three streams
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by the parent process
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8"))
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def flush_streams() -> None:
    """Write the rest of the output, or discard it: Python would try again at exit and change the exit status."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:  # noqa: PERF203 - two streams
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
