"""Write the pins of constraints.txt with their hashes: `python requirements/make.py`.

pip accepts only files with one of these hashes. They are those of the package index, for wheels of CPython 3.10 to 3.14
on Linux, macOS and Windows. Source archives are left out: to install one is to run its code. torch is left out, too:
its wheels come from several places and differ (with and without CUDA), so it is installed by its version alone.
"""

from __future__ import annotations

import argparse
import re
import urllib.request
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

from packaging.tags import Tag
from packaging.utils import canonicalize_name, parse_wheel_filename

ROOT = Path(__file__).parents[1]
SECTIONS = ("train", "dev", "serve", "site")
HEAD = "# Written by `python requirements/make.py` from constraints.txt."
OLDEST, NEWEST = 10, 14  # CPython 3.x
PLATFORMS = re.compile(r"any|manylinux.*_(x86_64|aarch64)|macosx_.*|win_(amd64|arm64)")


class Links(HTMLParser):
    """Names of files and their SHA-256 on a page of a package index (PEP 503)."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.files: dict[str, str] = {}
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        address = dict(attributes).get("href") or ""
        path, _, digest = address.partition("#sha256=")
        if tag == "a" and digest:
            self.files[path.rsplit("/", 1)[-1]] = digest


def pins(section: str, constraints: str) -> Iterator[tuple[str, str, str]]:
    """Name, version and marker of each pin of a section of constraints.txt."""
    (lines,) = re.findall(rf"^# {section}: .*\n((?:[^#\n].*\n)+)", constraints, re.MULTILINE)
    for line in lines.splitlines():
        pin, _, marker = line.partition(" ; ")
        name, version = pin.split("==")
        yield name, version, marker


def runs_here(tag: Tag) -> bool:
    """Whether one of the supported versions of CPython can use a wheel with this tag, on a supported system."""
    found = re.fullmatch(r"(cp|py)3(\d*)", tag.interpreter)
    if found is None or not PLATFORMS.fullmatch(tag.platform):
        return False
    minor = int(found[2] or 0)
    if found[1] == "py" or tag.abi == "abi3":
        return minor <= NEWEST
    return OLDEST <= minor <= NEWEST and tag.abi in (tag.interpreter, "none")


def hashes(page: str, name: str, version: str) -> list[str]:
    """The hashes of the wheels of a version, sorted."""
    found = []
    for file, digest in Links(page).files.items():
        if file.endswith(".whl") and f"-{version}-" in file:
            project, released, _, tags = parse_wheel_filename(file)
            if project == canonicalize_name(name) and str(released) == version and any(map(runs_here, tags)):
                found.append(digest)
    if not found:
        raise SystemExit(f"{name} {version} has no wheel for CPython 3.{OLDEST} to 3.{NEWEST}: choose another version")
    return sorted(found)


def main() -> None:
    """Write one file per section."""
    parser = argparse.ArgumentParser(description="Write the pins of constraints.txt with their hashes.")
    parser.add_argument("--index", default="https://pypi.org/simple", help="package index (default: %(default)s)")
    index = parser.parse_args().index
    constraints = (ROOT / "constraints.txt").read_text()
    for section in SECTIONS:
        lines = [HEAD]
        for name, version, marker in pins(section, constraints):
            with urllib.request.urlopen(f"{index}/{canonicalize_name(name)}/") as answer:
                page = answer.read().decode()
            digests = hashes(page, name, version)
            pin = f"{name}=={version}" + f" ; {marker}" * bool(marker)
            lines.append(" \\\n    ".join([pin, *(f"--hash=sha256:{digest}" for digest in digests)]))
        (ROOT / "requirements" / f"{section}.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
