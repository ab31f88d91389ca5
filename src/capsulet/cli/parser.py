"""The parser of the command line, made of the tables and docstrings of the verbs."""

import argparse
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from capsulet import __version__
from capsulet.cli.calls import VERBS, verb_module
from capsulet.cli.options import DEBUG, add, add_verb
from capsulet.text.visible import visible

EXAMPLES = """\
examples:
  capsulet check reviews.csv                    duplicates, contradictions, encoding damage
  capsulet train reviews.csv --out model        from a CSV file with columns text and label
  capsulet evaluate model test.csv              accuracy, F1 per class, confusions
  capsulet predict model --text "what a match"  label and probability, as JSON
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


def build_parser(names: Iterable[str] = VERBS, summaries: bool = False) -> argparse.ArgumentParser:
    """The parser of all verbs, or of some; with `summaries`, the verbs have no arguments, only their first lines."""
    purpose = "Small text classifiers, trained from scratch and run without PyTorch."
    parser = Parser(prog="capsulet", description=purpose, epilog=EXAMPLES, formatter_class=Help)
    parser.add_argument("--version", action="version", version=f"capsulet {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    for name in names:
        verb = verb_module(name)
        summary, _, rest = verb.__doc__.partition("\n")
        child = verbs.add_parser(
            name, help=summary[0].lower() + summary[1:].rstrip("."), description=summary, epilog=rest.strip("\n"),
            formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False,
        )  # fmt: skip
        if summaries:
            continue
        add(child, DEBUG)
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


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the arguments; refuse unknown ones in one line, with the nearest flag of the verb."""
    if arguments[:1] == ["help"]:
        arguments = [*arguments[1:], "--help"]
    first = arguments[0] if arguments else ""
    parser = build_parser([first] if first in VERBS else VERBS, summaries=first in ("", "-h", "--help", "--version"))
    if first not in VERBS:
        if first and first not in parser._option_string_actions:
            kind, known = ("argument", parser._option_string_actions) if first.startswith("-") else ("verb", VERBS)
            parser.error(f"unknown {kind} {first}{did_you_mean(first, known)}")
        return parser.parse_args(arguments)
    verb = verbs_of(parser)[first]
    parsed, unknown = verb.parse_known_intermixed_args(arguments[1:], argparse.Namespace(verb=first))
    if unknown:
        if not unknown[0].startswith("-"):
            verb.error(f"unexpected argument {unknown[0]}")
        near = did_you_mean(unknown[0].split("=")[0], verb._option_string_actions, 0.8)
        verb.error(f"unrecognized argument {unknown[0]}{near}")
    return parsed


def verbs_of(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The parsers of the verbs by name."""
    return next(dict(action.choices) for action in parser._actions if isinstance(action, argparse._SubParsersAction))


def did_you_mean(word: str, known: Iterable[str], cutoff: float = 0.6) -> str:
    """The known word that is nearest to a wrong one, in parentheses; nothing if none is near."""
    import difflib

    near = difflib.get_close_matches(word, list(known), n=1, cutoff=cutoff)
    return f" (did you mean {near[0]}?)" if near else ""
