"""Parse the plain calls of a verb without argparse, whose import takes longer than a prediction by a small model.

A plain call has only known flags, each followed by its value, and all positional arguments in one place. Every other
call, wrong or unusual, is left to argparse, which reads the same tables.
"""

from __future__ import annotations

from types import SimpleNamespace

from capsulet.cli.options import DEBUG, specs

TYPE_CHECKING = False  # as in typing, which takes long to import
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

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
    values: dict[str, Any] = {}
    for flag, settings in known.items():
        if flag.startswith("-"):
            switch = settings.get("action") == "store_true"
            values.setdefault(dest(flag, settings), False if switch else settings.get("default"))
    positional = list[str]()
    missing = {flag for flag, settings in known.items() if settings.get("required")}
    place, last = 0, -1  # the next word, and the last positional one
    while place < len(words):
        word = words[place]
        place += 1
        if word == "-" or not word.startswith("-"):
            if positional and last != place - 2:
                return None
            positional.append(word)
            last = place - 1
            continue
        if word not in known:
            return None
        missing.discard(word)
        settings, target = known[word], dest(word, known[word])
        has_value = place < len(words) and (words[place] == "-" or not words[place].startswith("-"))
        if "action" in settings and settings["action"] != "append":
            values[target] = settings.get("const", True)
        elif has_value:
            value = words[place]
            place += 1
            if value not in settings.get("choices", (value,)):
                return None
            try:
                value = settings.get("type", str)(value)
            except Exception:  # argparse words the message
                return None
            values[target] = [*values[target], value] if settings.get("action") == "append" else value
        elif settings.get("nargs") == "?":
            values[target] = settings["const"]
        else:
            return None
    for flag, settings in known.items():
        if flag.startswith("-"):
            continue
        nargs = settings["nargs"]
        if nargs in ("*", "+"):
            if nargs == "+" and not positional:
                return None
            values[flag], positional = positional, []
        elif positional:
            values[flag] = positional.pop(0)
        elif nargs == "?":
            values[flag] = None
        else:
            return None
    if positional or missing:
        return None
    return SimpleNamespace(verb=name, run=verb.run, **values)


def dest(flag: str, settings: dict[str, Any]) -> str:
    """The name of the argument that a flag sets."""
    name: str = settings.get("dest") or flag.lstrip("-").replace("-", "_")
    return name
