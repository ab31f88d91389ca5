"""The packages of a Debian machine: real texts that every such machine has after `apt-get update`."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Iterator


def packages() -> Iterator[dict[str, str]]:
    """The fields of every package that this machine knows of, such as Package, Section, Description and Tag."""
    try:
        done = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"this needs the package lists of Debian ({error}): apt-get update")
    return parse(done.stdout)


def parse(lists: str) -> Iterator[dict[str, str]]:
    """Blocks of `Field: value` lines, continued by lines that start with a blank; only those with a description."""
    for block in lists.split("\n\n"):
        fields: dict[str, str] = {}
        key = ""
        for line in block.splitlines():
            if line[:1].isspace():
                fields[key] += " " + line.strip()
            else:
                key, _, value = line.partition(":")
                fields[key] = value.strip()
        if {"Package", "Description"} <= fields.keys():
            yield fields


def source_of(package: dict[str, str]) -> str:
    """What a package is built from; those of one source have descriptions that are alike."""
    return package.get("Source", package["Package"]).split()[0]


def tenth(source: str) -> int:
    """Which tenth of all sources one is in."""
    return int(hashlib.sha256(source.encode()).hexdigest(), 16) % 10
