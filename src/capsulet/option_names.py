"""Names of options in messages: a message names an option by its flag, and Python shows the argument instead.

`--text-column` becomes `text_columns=…`, `--on-bad-row skip` becomes `on_bad_row='skip'`, and `or auto` becomes
`or None`. The command line prints messages as they are written; `str(error)` and the lines that a Python caller is told
are translated here.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing, which takes long to import
if TYPE_CHECKING:
    import re
    from collections.abc import Callable

# flags whose argument has another name
NAMES = {"text-column": "text_columns", "format": "file_format", "from": "from_model"}
SWITCHES = frozenset({
    "abstain", "centre-codebooks", "json", "labels", "linear-only", "multi-label", "lengths", "raw-cells", "resume",
    "rowwise", "scale-coupling", "strict", "sum-margin", "allow-subset",
})  # fmt: skip
RESETS = frozenset({"no-cache", "no-report"})  # they set None; another --no-NAME sets False
CHOICES = frozenset({"skip", "fail", "balanced", "macro-f1", "margin+focal", "ray", "auto", "jsonl", "csv"})
FLAG = r"(?<![\w\-'\"])--(?P<name>[a-z][a-z-]*[a-z])(?P<value> [^\s,;:)`]*[^\s,;:)`.])?"
COMMAND = r"`capsulet (\w+)((?: [^`]+)?)`"


def for_python(message: str) -> str:
    """Return a message with the arguments of Python in place of the flags of the command line."""
    if "--" not in message and "capsulet " not in message:
        return message
    import re

    message = re.sub(r"\bor auto\b", "or None", re.sub(COMMAND, called, message))
    # commands of other programs keep their flags
    return re.sub(
        rf"`[^`]*`|pip install [^;]*|{FLAG}", lambda match: argument(match) if match["name"] else match[0], message
    )


def argument(match: re.Match[str]) -> str:
    """The argument of a flag, with its value if one follows."""
    flag, value = match["name"], (match["value"] or "").strip()
    name = NAMES.get(flag, flag).replace("-", "_")
    if flag in SWITCHES:
        return f"{name}{'' if value == 'is' else '=True'}{match['value'] or ''}"
    if flag.startswith("no-"):
        return f"{name[3:]}={'None' if flag in RESETS else 'False'}{match['value'] or ''}"
    if is_value(value):
        return f"{name}={value if is_plain(value) else repr(value)}"
    return f"{name}{'' if value in ('is', 'has', 'ends', 'are') else '=…'}{match['value'] or ''}"


def is_value(word: str) -> bool:
    """Whether the word after a flag is its value, and not the next word of the sentence."""
    return word in CHOICES or any(letter.isdigit() or letter in "/\\.'|" for letter in word) or is_plain(word)


def is_plain(word: str) -> bool:
    """Whether a value is a number, a quoted string or a placeholder such as FILE."""
    return (
        word[:1] == "'" or word.replace(",", "").replace(".", "", 1).isdecimal() or (len(word) > 1 and word.isupper())
    )


def called(match: re.Match[str]) -> str:
    """A command in backquotes as a call of the function of the same name."""
    parts = list[str]()
    for word in match[2].split():
        if word.startswith("--"):
            parts.append(NAMES.get(word[2:], word[2:]).replace("-", "_") + "=")
        elif parts and parts[-1].endswith("="):
            parts[-1] += quoted(word)
        else:
            parts.append(quoted(word))
    return f"`capsulet.{match[1]}({', '.join(parts)})`" if parts else f"`capsulet.{match[1]}`"


def quoted(word: str) -> str:
    """A word of a command as an argument: placeholders stay, other words are strings."""
    return word if word == "…" or word.isupper() or word[:1] in "'\"" else repr(word)


def names_flags(tell: Callable[[str], None]) -> Callable[[str], None]:
    """Mark a function `tell` whose messages keep their flags: that of the command line."""
    tell.__dict__["flags"] = True
    return tell


def translator(tell: Callable[[str], None]) -> Callable[[str], str]:
    """Return the function that translates messages for the caller with this `tell`; flags stay on the command line."""
    return str if getattr(tell, "flags", False) else for_python


def translated(tell: Callable[[str], None]) -> Callable[[str], None]:
    """Return a `tell` that first translates its messages for the caller; flags stay on the command line."""
    return tell if getattr(tell, "flags", False) else lambda line: tell(for_python(line))
