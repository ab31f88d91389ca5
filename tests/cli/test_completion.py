"""`capsulet completion SHELL` completes verbs, flags and choices in the real shells."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from capsulet.cli import shell_scripts
from capsulet.cli.calls import VERBS
from capsulet.cli.completion import SHELLS
from capsulet.cli.main import main

# what was typed, and some of the words that the shell offers
CASES = [
    ("capsulet tra", {"train"}),
    ("capsulet predict --thr", {"--threads"}),
    ("capsulet predict --to ", {"jsonl", "csv", "tsv"}),
    ("capsulet train --recipe p", {"paper", "published"}),
    ("capsulet completion ", set(SHELLS)),
]


@pytest.fixture
def scripts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """A folder with the script of each shell."""
    for shell in SHELLS:
        assert main(["completion", shell]) == 0
        (tmp_path / shell).write_text(capsys.readouterr().out)
    return tmp_path


def run(shell: str, code: str, folder: Path) -> str:
    """What a shell prints."""
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    start = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "TERM": "dumb"}
    done = subprocess.run([shell, *start, "-c", code], capture_output=True, text=True, cwd=folder, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize(("typed", "offered"), CASES)
def test_bash(typed: str, offered: set[str], scripts: Path) -> None:
    words = typed.split(" ")
    code = f"compopt() {{ :; }}; . ./bash; COMP_WORDS=({' '.join(word or repr('') for word in words)}); "
    code += f'COMP_CWORD={len(words) - 1}; _capsulet; printf "%s\\n" "${{COMPREPLY[@]}}"'
    assert offered == set(run("bash", code, scripts).split())


def test_bash_leaves_files_to_the_shell(scripts: Path) -> None:
    code = "compopt() { echo $*; }; . ./bash; COMP_WORDS=(capsulet predict model te); COMP_CWORD=3; _capsulet; "
    assert run("bash", code + "echo ${#COMPREPLY[@]}", scripts) == "0\n"


@pytest.mark.parametrize(("typed", "offered"), CASES)
def test_fish(typed: str, offered: set[str], scripts: Path) -> None:
    out = run("fish", f"source fish; complete -C '{typed}'", scripts)
    assert offered <= {line.split("\t")[0] for line in out.splitlines()}


ZSH = """
compdef() {{ [ "$*" = "_capsulet capsulet" ]; }}
_describe() {{ print -rl -- ${{(P)4}} }}
_arguments() {{ print -rl -- $words[1] $CURRENT "$@" }}
. ./zsh
words=({words}) CURRENT={current}
_capsulet
"""


def test_zsh(scripts: Path) -> None:
    """A real zsh runs the script; the functions of its completion system only print what they get."""
    verbs = run("zsh", ZSH.format(words="capsulet ''", current=2), scripts).splitlines()
    assert [line.split(":")[0] for line in verbs] == list(VERBS)
    verb, current, *lines = run("zsh", ZSH.format(words="capsulet predict model --", current=4), scripts).splitlines()
    assert (verb, current) == ("predict", "3")
    (formats,) = [line for line in lines if line.startswith("*--to[")]
    assert formats.endswith(":value:(jsonl csv tsv)")
    assert lines[-1] == "*:file:_files"


def test_every_verb_and_flag_is_in_every_script(scripts: Path) -> None:
    found = shell_scripts.all_verbs()
    assert [verb.name for verb in found] == list(VERBS)
    for shell in SHELLS:
        text = (scripts / shell).read_text()
        for verb in found:
            for flag in verb.flags:
                for name in flag.names:
                    assert name in text or f"-l {name[2:]}" in text or f"-s {name[1:]}" in text, (
                        shell,
                        verb.name,
                        name,
                    )


def test_an_unknown_shell(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "tcsh"]) == 2
    assert capsys.readouterr().err == "capsulet: shell 'tcsh' is unknown: expected one of bash, zsh, fish\n"
