"""`capsulet VERB …`: parse the verb and turn errors into one line and an exit status. Imports nothing heavy."""

import argparse
import difflib
import errno
import io
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from capsulet import __version__
from capsulet.cli import calibrate, check, compress, demo, drift, evaluate, explain, export, info, predict, train
from capsulet.cli.options import add_verb
from capsulet.cli.output import tell
from capsulet.errors import CapsuletError
from capsulet.text.visible import visible

VERBS = (check, train, evaluate, predict, explain, drift, calibrate, compress, export, info, demo)
INTERRUPTED = 130
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
NOT_WRITABLE = (errno.EBADF, errno.EIO)  # standard output is open for reading only, or its terminal is gone

EXAMPLES = """\
examples:
  capsulet check reviews.csv                    duplicates, contradictions, encoding damage
  capsulet train reviews.csv --out model        from a CSV file with columns text and label
  capsulet evaluate model test.csv              accuracy, F1 per class, confusions
  capsulet predict model --text "what a match"  label and score, as JSON
  capsulet explain model --text "what a match"  contributions of the words
  capsulet drift model new.csv                  do new texts differ from the training texts?
  capsulet demo                                 all of these, on the docstrings of your Python
"""


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {visible(message)}; see `{self.prog} --help`\n")


class Help(argparse.RawDescriptionHelpFormatter):
    """Help with enough room for the longest verb; argparse does not count the indentation of verbs."""

    def add_argument(self, action: argparse.Action) -> None:
        super().add_argument(action)
        self._action_max_length += 2 if action.dest == "verb" else 0


def build_parser() -> argparse.ArgumentParser:
    """The parser of all verbs."""
    purpose = "Small text classifiers, trained from scratch and run without PyTorch."
    parser = Parser(prog="capsulet", description=purpose, epilog=EXAMPLES, formatter_class=Help)
    parser.add_argument("--version", action="version", version=f"capsulet {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    for verb in VERBS:
        name = verb.__name__.rsplit(".", 1)[-1]
        assert verb.__doc__ is not None
        summary, _, rest = verb.__doc__.partition("\n")
        child = verbs.add_parser(
            name, help=summary[0].lower() + summary[1:].rstrip("."), description=summary, epilog=rest.strip("\n"),
            formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False,
        )  # fmt: skip
        child.add_argument("--debug", action="store_true", help="show the traceback of an error")
        add_verb(child, verb)
        child.usage = " ".join(["capsulet", name, *short_usage(child), "[options]"])
        child.set_defaults(run=verb.run, parser=child)
    return parser


def short_usage(parser: argparse.ArgumentParser) -> list[str]:
    """The positional and the required arguments of a verb; the usage of argparse would list every option."""
    patterns: dict[Any, str] = {None: "{}", "+": "{}…", "*": "[{}…]", "?": "[{}]"}
    positional = [patterns[action.nargs].format(action.metavar) for action in parser._get_positional_actions()]
    required = [
        f"{action.option_strings[0]} {action.metavar}" for action in parser._get_optional_actions() if action.required
    ]
    return [*positional, *required]


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse the arguments; refuse unknown ones in one line, with the nearest flag of the verb."""
    parsed, unknown = build_parser().parse_known_args(arguments)
    if unknown:
        verb: argparse.ArgumentParser = parsed.parser
        if not unknown[0].startswith("-"):
            verb.error(f"unexpected argument {unknown[0]}: put files before options")
        near = difflib.get_close_matches(unknown[0].split("=")[0], verb._option_string_actions, n=1, cutoff=0.8)
        verb.error(f"unrecognized argument {unknown[0]}" + (f" (did you mean {near[0]}?)" if near else ""))
    return parsed


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    open_streams()
    try:
        return run(parse(arguments))
    finally:
        let_go_of_streams()


def run(parsed: argparse.Namespace) -> int:
    """Run a verb and return its exit status; print any error in one line, with --debug after the traceback."""
    try:
        status: int = parsed.run(parsed) or 0
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of the output has closed it
        return 0
    except (Exception, KeyboardInterrupt) as error:
        if parsed.debug:
            for row in traceback.format_exc().splitlines():
                tell(row)
        line, status = describe(error)
        tell(f"capsulet: {' '.join(line.split())}")
    return status


def describe(error: BaseException) -> tuple[str, int]:
    """The message and the exit status of an error."""
    if isinstance(error, CapsuletError):
        return str(error), error.status
    if isinstance(error, MemoryError):
        return "out of memory: try a smaller --batch-size or --max-words, or fewer rows", 1
    if was_interrupted(error):
        return "interrupted", INTERRUPTED
    what = f"{type(error).__name__}: {error}"
    if isinstance(error, OSError) and error.errno in NO_ROOM:
        place = error.filename or "the output"
        return f"{place} cannot be written: {error.strerror}; free space, or write elsewhere", 1
    if isinstance(error, OSError) and error.errno in NOT_WRITABLE and not error.filename:
        return f"the output cannot be written: {error.strerror}; write to a file or a pipe", 1
    if isinstance(error, OSError) and error.strerror:
        what = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return f"unexpected error ({what}); --debug shows the traceback", 1


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
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - stays open
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def let_go_of_streams() -> None:
    """Discard output that cannot be written: Python would try again at exit and change the exit status."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:  # noqa: PERF203 - two streams
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
