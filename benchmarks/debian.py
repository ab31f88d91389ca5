"""Descriptions of Debian packages: real texts that every Debian machine has after `apt-get update`."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Iterator


def packages() -> Iterator[dict[str, str]]:
    """Fields of every package in the package lists, such as Package, Section, Description and Tag."""
    try:
        done = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"the package lists of Debian cannot be read ({error}): run apt-get update")
    return parse(done.stdout)


def parse(lists: str) -> Iterator[dict[str, str]]:
    """Parse blocks of `Field: value` lines; lines that start with a blank continue a field.

    Blocks without a description are skipped.
    """
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
    """Source package of a package; packages of one source have similar descriptions."""
    return package.get("Source", package["Package"]).split()[0]


def tenth(source: str) -> int:
    """Number from 0 to 9 of a source package, by a digest of its name."""
    return int(hashlib.sha256(source.encode()).hexdigest(), 16) % 10
