"""Completion scripts of shells, written from the parser of the command line."""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass

from capsulet.cli.completion import SHELLS
from capsulet.cli.parser import build_parser

FILES = re.compile(r"FILE|DIR|MODEL|TRAIN|PATH")  # metavariables of arguments that are files
LONGEST_HELP = 70


@dataclass(frozen=True)
class Flag:
    """A flag: its names, a short help, whether it takes a value, whether that is a file, and its choices."""

    names: list[str]
    help: str
    has_value: bool
    is_file: bool
    choices: list[str]


@dataclass(frozen=True)
class Verb:
    """A verb: its name, a short help, its flags, and the choices of its positional argument."""

    name: str
    help: str
    flags: list[Flag]
    choices: list[str]


def all_verbs() -> list[Verb]:
    """The verbs of the command line."""
    parser = build_parser()
    children = next(action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    verbs = []
    for name, child in children.choices.items():
        flags = [flag_of(action) for action in child._get_optional_actions()]
        verbs.append(Verb(name, short(child.description), flags, list(SHELLS) if name == "completion" else []))
    return verbs


def flag_of(action: argparse.Action) -> Flag:
    """What a shell must know about an argument."""
    metavar = str(action.metavar or "")
    listed = metavar.strip("{}").split(",") if metavar.startswith("{") else []
    choices = [str(choice) for choice in action.choices or listed]
    has_value = action.nargs != 0
    return Flag(list(action.option_strings), short(action.help), has_value, bool(FILES.search(metavar)), choices)


def short(words: str | None) -> str:
    """The first clause of a help text, without its default."""
    plain = re.split(r" \(default|; |: |\. ", (words or "").replace("%%", "%"))[0].rstrip(".")
    return plain if len(plain) <= LONGEST_HELP else plain[: LONGEST_HELP - 1].rstrip() + "…"


def bash(verbs: list[Verb]) -> str:
    """The script for bash."""
    lines = ["# Completion of capsulet for bash, written by `capsulet completion bash`.", "_capsulet() {"]
    lines += [
        '  local current="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD - 1]}" words=""',
        "  COMPREPLY=()",
    ]
    names = " ".join(verb.name for verb in verbs)
    lines += [
        '  if [ "$COMP_CWORD" -eq 1 ]; then',
        "    compopt +o default",
        f'    COMPREPLY=($(compgen -W "{names} --help --version" -- "$current"))',
        "    return",
        "  fi",
        '  case "${COMP_WORDS[1]} $before" in',
    ]
    for verb in verbs:
        unlisted = []  # patterns of flags with values that are neither choices nor files
        for flag in verb.flags:
            pattern = "|".join(f'"{verb.name} {name}"' for name in flag.names)
            if flag.choices:
                lines.append(f'    {pattern}) words="{" ".join(flag.choices)}" ;;')
            elif flag.is_file:
                lines.append(f"    {pattern}) return ;;")
            elif flag.has_value:
                unlisted.append(pattern)
        if unlisted:
            lines.append(f"    {'|'.join(unlisted)}) compopt +o default; return ;;")
    lines += ["  esac", '  if [ -z "$words" ]; then', '    case "${COMP_WORDS[1]} $current" in']
    for verb in verbs:
        flags = " ".join(name for flag in verb.flags for name in flag.names)
        lines.append(f'      "{verb.name} -"*) words="{flags}" ;;')
        if verb.choices:
            lines.append(f'      "{verb.name} "*) words="{" ".join(verb.choices)}" ;;')
    lines += ["    esac", "  fi", '  if [ -n "$words" ]; then', "    compopt +o default"]
    lines += ['    COMPREPLY=($(compgen -W "$words" -- "$current"))', "  fi", "}"]
    return "\n".join([*lines, "complete -o default -F _capsulet capsulet"]) + "\n"


def zsh(verbs: list[Verb]) -> str:
    """The script for zsh."""
    lines = ["#compdef capsulet", "# Completion of capsulet for zsh, written by `capsulet completion zsh`."]
    lines += ["_capsulet() {", "  local -a verbs=("]
    lines += [f"    {zsh_quoted(verb.name + ':' + verb.help)}" for verb in verbs]
    lines += ["  )", "  if (( CURRENT == 2 )); then", "    _describe -t verbs verb verbs", "    return", "  fi"]
    lines += ["  local verb=$words[2]", "  shift words", "  (( CURRENT-- ))", "  case $verb in"]
    for verb in verbs:
        lines.append(f"    {verb.name}) _arguments -S \\")
        for flag in verb.flags:
            value = ""
            if flag.has_value:
                action = f"({' '.join(flag.choices)})" if flag.choices else "_files" if flag.is_file else " "
                value = f":value:{action}"
            words = re.sub(r"([\[\]:\\])", r"\\\1", flag.help)
            lines += [f"      {zsh_quoted(f'*{name}[{words}]{value}')} \\" for name in flag.names]
        rest = f"({' '.join(verb.choices)})" if verb.choices else "_files"
        lines.append(f"      {zsh_quoted(f'*:file:{rest}')} ;;")
    lines += ["  esac", "}"]
    lines += ['if [[ "$funcstack[1]" = "_capsulet" ]]; then _capsulet "$@"; else compdef _capsulet capsulet; fi']
    return "\n".join(lines) + "\n"


def zsh_quoted(words: str) -> str:
    """A word for zsh and fish, in single quotes."""
    return "'" + words.replace("'", "'\\''") + "'"


def fish(verbs: list[Verb]) -> str:
    """The script for fish."""
    lines = ["# Completion of capsulet for fish, written by `capsulet completion fish`."]
    first = "complete -c capsulet -n __fish_use_subcommand"
    lines += [f"{first} -l help -d 'Print the help'", f"{first} -l version -d 'Print the version'"]
    for verb in verbs:
        lines.append(f"{first} -f -a {verb.name} -d {zsh_quoted(verb.help)}")
    for verb in verbs:
        after_verb = f"complete -c capsulet -n '__fish_seen_subcommand_from {verb.name}'"
        for flag in verb.flags:
            names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in flag.names)
            value = f" -x -a '{' '.join(flag.choices)}'" if flag.choices else " -r -F" if flag.is_file else " -x"
            lines.append(f"{after_verb} {names}{value if flag.has_value else ''} -d {zsh_quoted(flag.help)}")
        if verb.choices:
            lines.append(f"{after_verb} -f -a '{' '.join(verb.choices)}'")
    return "\n".join(lines) + "\n"
