"""The files of deploy/: their linters find nothing, and their calls of `capsulet serve` are valid."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from capsulet.cli.parser import parse

DEPLOY = Path(__file__).parents[1] / "deploy"
FILES = sorted(path.name for path in DEPLOY.iterdir())


def run(*words: object) -> subprocess.CompletedProcess[str]:
    """Run a linter, which is skipped if it is not installed."""
    folder = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    program = shutil.which(str(words[0]), path=folder)
    if program is None:
        pytest.skip(f"{words[0]} is not installed")
    return subprocess.run([program, *map(str, words[1:])], capture_output=True, text=True)


def test_every_file_is_linted() -> None:
    assert FILES == ["Dockerfile", "capsulet.service", "compose.yaml", "kubernetes.yaml"]


def test_container() -> None:
    done = run("hadolint", DEPLOY / "Dockerfile")
    assert (done.returncode, done.stdout) == (0, "")


def test_the_container_copies_only_what_docker_sends_it() -> None:
    ignored, *sent = (DEPLOY.parent / ".dockerignore").read_text().split()
    assert ignored == "*"
    lines = re.findall(r"^COPY (?!--from)(.*) \S+$", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)
    copied = [name for line in lines for name in line.split()]
    assert "pyproject.toml" in copied and all((DEPLOY.parent / name).exists() for name in copied)
    assert {f"!{name}" for name in copied} <= set(sent)


@pytest.mark.parametrize("name", ["compose.yaml", "kubernetes.yaml"])
def test_yaml(name: str) -> None:
    rules = "{extends: default, rules: {line-length: {max: 120}, document-start: disable, octal-values: disable}}"
    done = run("yamllint", "--strict", "-d", rules, DEPLOY / name)
    assert done.returncode == 0, done.stdout


def test_kubernetes() -> None:
    done = run("kubernetes-validate", "--strict", DEPLOY / "kubernetes.yaml")
    assert done.returncode == 0, done.stdout + done.stderr


def test_unit() -> None:
    done = run("systemd-analyze", "verify", DEPLOY / "capsulet.service")
    problems = [line for line in done.stderr.splitlines() if "not executable" not in line]  # it is not installed here
    assert not [line for line in problems if "capsulet.service" in line]


def calls() -> dict[str, list[str]]:
    """The arguments of `capsulet serve` in each file."""
    yaml = pytest.importorskip("yaml")
    container = (DEPLOY / "Dockerfile").read_text()
    entry, command = (json.loads(re.findall(rf"^{word} (\[.*\])", container, re.MULTILINE)[-1]) for word in
                      ("ENTRYPOINT", "CMD"))  # fmt: skip
    prefix = entry[entry.index("serve") :]
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]["capsulet"]["command"]
    pods = next(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text()))["spec"]["template"]["spec"]
    (unit,) = re.findall(r"^ExecStart=\S+ (.*)$", (DEPLOY / "capsulet.service").read_text(), re.MULTILINE)
    return {
        "Dockerfile": prefix + command, "compose.yaml": prefix + compose,
        "kubernetes.yaml": prefix + pods["containers"][0]["args"], "capsulet.service": unit.split(),
    }  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_calls_are_valid(name: str) -> None:
    parsed = parse(calls()[name])
    assert parsed.verb == "serve" and len(parsed.files) == 1 and parsed.workers == 0
    assert parsed.host == ("127.0.0.1" if name == "capsulet.service" else "0.0.0.0")
