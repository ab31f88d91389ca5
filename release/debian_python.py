"""A Python of Debian in a folder, for another processor or of another version: `python -m release.debian_python DIR`.

Nothing is installed: the packages are unpacked into a folder. A Python for another processor runs with qemu-user.
"""

from __future__ import annotations

import argparse
import hashlib
import lzma
import re
import subprocess
import urllib.request
from pathlib import Path

MIRROR = "http://deb.debian.org/debian"
PROCESSORS = {"amd64": "x86_64", "arm64": "aarch64"}  # Debian's names, and those of qemu
Records = dict[str, dict[str, str]]


def package_list(suite: str, processor: str, mirror: str) -> Records:
    """The packages of a suite: name to fields."""
    with urllib.request.urlopen(f"{mirror}/dists/{suite}/main/binary-{processor}/Packages.xz") as stream:
        text = lzma.decompress(stream.read()).decode()
    records = Records()
    for block in text.split("\n\n"):
        fields = dict(re.findall(r"^([\w-]+): (.*)$", block, re.MULTILINE))
        if "Package" in fields:
            records[fields["Package"]] = fields
    return records


def needed(names: list[str], records: Records) -> list[str]:
    """These packages and all that they depend on, the first of alternatives."""
    found, waiting = list[str](), list(names)
    while waiting:
        name = waiting.pop()
        if name in found or name not in records:
            continue
        found.append(name)
        fields = records[name]
        words = f"{fields.get('Depends', '')},{fields.get('Pre-Depends', '')}"
        waiting += re.findall(r"(?:^|,)\s*([a-z0-9][a-z0-9.+-]*)", words)
    return found


def unpack(fields: dict[str, str], folder: Path, mirror: str) -> None:
    """Download one package, check its digest and unpack it."""
    with urllib.request.urlopen(f"{mirror}/{fields['Filename']}") as stream:
        content = stream.read()
    if hashlib.sha256(content).hexdigest() != fields["SHA256"]:
        raise SystemExit(f"release: {fields['Filename']} has another digest than its list says")
    archive = folder / "package.deb"
    archive.write_bytes(content)
    subprocess.run(["dpkg-deb", "--extract", archive, folder], check=True)
    archive.unlink()


def runner(folder: Path, version: str, processor: str) -> list[str]:
    """The command that runs the Python of a folder."""
    program = str(folder / "usr" / "bin" / f"python{version}")
    if processor == "amd64":  # with its own C library, which may be newer than that of this system
        libraries = f"{folder}/usr/lib/x86_64-linux-gnu:{folder}/lib/x86_64-linux-gnu"
        loader = next(
            path for name in ("lib64", "usr/lib64") if (path := folder / name / "ld-linux-x86-64.so.2").exists()
        )
        return [str(loader), "--library-path", libraries, program]
    return [f"qemu-{PROCESSORS[processor]}", "-L", str(folder), program]


def main() -> int:
    """Unpack a Python and print the command that runs it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="DIR", help="folder to unpack into")
    parser.add_argument("--suite", default="bookworm", help="suite of Debian (default: bookworm)")
    parser.add_argument("--python", default="3.11", metavar="VERSION", help="version of Python (default: 3.11)")
    parser.add_argument("--processor", choices=PROCESSORS, default="arm64", help="(default: arm64)")
    parser.add_argument("--mirror", default=MIRROR, help=f"(default: {MIRROR})")
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    records = package_list(arguments.suite, arguments.processor, arguments.mirror)
    names = [f"python{arguments.python}-minimal", f"libpython{arguments.python}-stdlib"]
    if names[0] not in records:
        raise SystemExit(f"release: {arguments.suite} has no {names[0]}")
    for loose in ("bin", "lib", "lib64", "sbin"):  # as in every Debian since 12: links to usr
        if not (folder / loose).exists():
            (folder / "usr" / loose).mkdir(parents=True, exist_ok=True)
            (folder / loose).symlink_to(f"usr/{loose}")
    for name in needed(names, records):
        unpack(records[name], folder, arguments.mirror)
    print(" ".join(runner(folder, arguments.python, arguments.processor)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
