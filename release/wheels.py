"""Build the source archive and the wheels of a release: `python -m release.wheels`, or `make wheels`.

The wheels are made from the source archive, so it is complete. Each is cross-compiled on this machine with the compiler
of the package `ziglang`, and is one file for CPython 3.10 and newer (stable ABI). Kernels for training that the C
library of a system does not allow are left out, and torch does their work.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from release.audit import audit
from release.targets import TARGETS, Target

ROOT = Path(__file__).parents[1]
CORE = "_core"  # the module without which a wheel is useless


def commit_time() -> str:
    """When the last commit was made; the same sources give the same bytes."""
    done = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() or "315532800"


def build_archive(out: Path, environment: dict[str, str]) -> Path:
    """Build the source archive."""
    command = [sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", str(out), str(ROOT)]
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    return newest(out, "*.tar.gz")


def unpack(archive: Path, folder: Path) -> Path:
    """Unpack the source archive and return its only folder."""
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    (sources,) = folder.iterdir()
    return sources


def build_wheel(target: Target, sources: Path, out: Path, environment: dict[str, str]) -> Path:
    """Build the wheel of one target; the compiler's messages are printed if it fails."""
    command = [sys.executable, "-m", "release.cross", target.name, str(sources), str(out)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    found = list(out.glob(f"*-{target.tag}.whl"))
    if done.returncode or not found:
        raise SystemExit(f"release: the wheel for {target.name} failed:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return newest(out, f"*-{target.tag}.whl")


def newest(folder: Path, pattern: str) -> Path:
    """The newest file of this pattern."""
    return max(folder.glob(pattern), key=lambda path: path.stat().st_mtime)


def modules(wheel: Path) -> list[str]:
    """Names of the compiled modules in a wheel."""
    with zipfile.ZipFile(wheel) as file:
        names = [Path(name).name for name in file.namelist() if name.endswith((".so", ".pyd"))]
    return sorted(name.split(".")[0] for name in names)


def main() -> int:
    """Build, check and list the packages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [target.name for target in TARGETS]
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="TARGET", help=", ".join(names))
    parser.add_argument("--out", type=Path, default=ROOT / "dist", metavar="DIR", help="default: dist")
    arguments = parser.parse_args()
    out = arguments.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    cache = os.environ.get("ZIG_GLOBAL_CACHE_DIR", str(ROOT / "build" / "zig"))
    environment = {**os.environ, "SOURCE_DATE_EPOCH": commit_time(), "ZIG_GLOBAL_CACHE_DIR": cache}
    packages, expected = [build_archive(out, environment)], set[str]()
    print(f"{packages[0].name}: {packages[0].stat().st_size:,} bytes")
    with tempfile.TemporaryDirectory() as folder:
        sources = unpack(packages[0], Path(folder))
        for target in (target for target in TARGETS if target.name in arguments.only):
            wheel = build_wheel(target, sources, out, environment)
            packages.append(wheel)
            found = modules(wheel)
            expected |= set(found)
            missing = f", without {', '.join(sorted(expected - set(found)))}" if expected - set(found) else ""
            print(f"{wheel.name}: {wheel.stat().st_size:,} bytes{missing}", flush=True)
            if CORE not in found:
                raise SystemExit(f"release: {wheel.name} has no {CORE}")
    problems = audit(packages)
    print("\n".join(problems) or f"checked: {len(packages)} packages, no problem")
    return 1 if problems else 0


if __name__ == "__main__":
    raise SystemExit(main())
