"""The command that is stored in a model: it trains the same model again."""

import shlex
from collections.abc import Sequence

from capsulet.config import AUTO, Options, explicit_values
from capsulet.text.preparation import LabelledFiles

OUT_PLACEHOLDER = "--out MODEL"  # the same training then writes the same bytes in any folder


def command_line(files: LabelledFiles, recipe: str, options: Options, more: Sequence[str] = ()) -> str:
    """The command that trains this model, with a placeholder for --out; `more` are further flags and their values."""
    words = ["capsulet", "train", *map(str, files.train), *OUT_PLACEHOLDER.split(), *more]
    words += [word for file in files.valid for word in ("--valid", str(file))]
    words += [*(["--recipe", recipe] if recipe != "default" else []), *files.reading.flags()]
    for name, value in explicit_values(options, recipe).items():
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{flag}" if value else f"--no-{flag}")
        else:
            words += [f"--{flag}", AUTO if value is None else str(value)]
    # the bytes of a file name that is not UTF-8 are escaped
    return shlex.join(words).encode(errors="backslashreplace").decode()
