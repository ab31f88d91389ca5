"""Print the completion script of a shell: bash, zsh or fish.

The script has the verbs, flags and choices of this version. Completion does not start Python.

examples:
  capsulet completion bash    for ~/.local/share/bash-completion/completions/capsulet
  capsulet completion zsh     for _capsulet in a folder of fpath
  capsulet completion fish    for ~/.config/fish/completions/capsulet.fish
"""

from __future__ import annotations

import sys

from capsulet.errors import InputError

TYPE_CHECKING = False  # as in typing, which takes long to import
if TYPE_CHECKING:
    import argparse

SHELLS = ("bash", "zsh", "fish")
ARGUMENTS = {"SHELL": f"one of {', '.join(SHELLS)}"}


def run(arguments: argparse.Namespace) -> None:
    """Run `capsulet completion`."""
    if arguments.shell not in SHELLS:
        raise InputError(f"shell {arguments.shell!r} is unknown: expected one of {', '.join(SHELLS)}")
    from capsulet.cli import shell_scripts

    sys.stdout.write(getattr(shell_scripts, arguments.shell)(shell_scripts.all_verbs()))
