"""Parse the plain calls of a verb without argparse, whose import takes longer than a prediction by a small model.

A plain call has only known flags, each followed by its value, and all positional arguments in one place. Every other
call, wrong or unusual, is left to argparse, which reads the same tables.
"""

from __future__ import annotations

from types import SimpleNamespace

from capsulet.cli.options import DEBUG, specs

TYPE_CHECKING = False  # as in typing, which takes long to import
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, TypeAlias

    Settings: TypeAlias = Mapping[str, Any]  # what argparse must know about an argument

VERBS = (
    "check", "train", "evaluate", "predict", "explain", "drift", "calibrate", "compress", "export", "serve", "tune",
    "curve", "info", "demo", "doctor", "completion",
)  # fmt: skip


def verb_module(name: str) -> Any:
    """The module of a verb."""
    return __import__(f"capsulet.cli.{name}", fromlist=["ARGUMENTS"])  # importlib takes longer to import than a verb


def plain_call(name: str, words: Sequence[str]) -> Any | None:
    """The arguments of a plain call of a verb, as argparse would return them; None if argparse must parse the call."""
    verb = verb_module(name)
    if hasattr(verb, "add_options"):
        return None
    known = {spec.name: spec.settings for spec in specs({**DEBUG, **verb.ARGUMENTS})}
    try:
        flag_values, positional = parsed_flags(words, {name: known[name] for name in known if is_flag(name)})
        values = flag_values | positional_values(positional, {name: known[name] for name in known if not is_flag(name)})
    except UnusualCallError:
        return None
    return SimpleNamespace(verb=name, run=verb.run, **values)


class UnusualCallError(Exception):
    """A call that is not plain: argparse must parse it, or word the error."""


def is_flag(name: str) -> bool:
    """Whether a name of the table or a word of the call is a flag; - alone is standard input."""
    return name.startswith("-") and name != "-"


def parsed_flags(words: Sequence[str], flags: Mapping[str, Settings]) -> tuple[dict[str, Any], list[str]]:
    """The values that the flags of a call set, defaults included, and its positional words."""
    values: dict[str, Any] = {}
    for flag, settings in flags.items():
        switch = settings.get("action") == "store_true"
        values.setdefault(dest(flag, settings), False if switch else settings.get("default"))
    positional = list[str]()
    missing = {flag for flag, settings in flags.items() if settings.get("required")}
    place = 0  # of the next word
    while place < len(words):
        word = words[place]
        if not is_flag(word):
            positional.append(word)
            place += 1
            continue
        if word not in flags:
            raise UnusualCallError
        missing.discard(word)
        settings, target = flags[word], dest(word, flags[word])
        place += 1
        if "action" in settings and settings["action"] != "append":
            values[target] = settings.get("const", True)
        elif place < len(words) and not is_flag(words[place]):
            value = parsed_value(words[place], settings)
            values[target] = [*values[target], value] if settings.get("action") == "append" else value
            place += 1
        elif settings.get("nargs") == "?":
            values[target] = settings["const"]
        else:
            raise UnusualCallError
    if missing:
        raise UnusualCallError
    return values, positional


def parsed_value(word: str, settings: Settings) -> Any:
    """The value of a flag: one of its choices, converted to its type."""
    if word not in settings.get("choices", (word,)):
        raise UnusualCallError
    try:
        return settings.get("type", str)(word)
    except Exception:
        raise UnusualCallError from None


def positional_values(words: Sequence[str], names: Mapping[str, Settings]) -> dict[str, Any]:
    """The values of the positional arguments, in their order; a list takes all words that are left."""
    values: dict[str, Any] = {}
    rest = list(words)
    for name, settings in names.items():
        nargs = settings["nargs"]
        if nargs == "*" or (nargs == "+" and rest):
            values[name], rest = rest, []
        elif nargs != "+" and rest:
            values[name] = rest.pop(0)
        elif nargs == "?":
            values[name] = None
        else:
            raise UnusualCallError
    if rest:
        raise UnusualCallError
    return values


def dest(flag: str, settings: Settings) -> str:
    """The name of the argument that a flag sets."""
    name: str = settings.get("dest") or flag.lstrip("-").replace("-", "_")
    return name
