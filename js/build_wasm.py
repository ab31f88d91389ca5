"""Compile core/ to WebAssembly, src/capsulet.wasm: `python js/build_wasm.py`, or `make wasm`.

The compiler is that of the package ziglang (`pip install ziglang`), or clang with lld 14 or newer. Zig's module is
faster, because its LLVM is newer. Both give the same answers.
"""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

JS = Path(__file__).parent
CORE, OWN = JS.parent / "core", JS / "wasm"
MODULE = JS / "src" / "capsulet.wasm"
FAST = {"kernels.c", "network.c", "head.c", "features.c"}  # where the time is spent; others are compiled for size
FLAGS = [
    "-std=c11", "-msimd128", "-mbulk-memory", "-mnontrapping-fptoint", "-nostdlib", "-fvisibility=hidden",
    "-ffp-contract=off", "-fno-math-errno", f"-I{OWN / 'include'}", f"-I{CORE}",
]  # fmt: skip
# The stack is below the data, so that a stack that is too large stops the program. Addresses below 2^31 are
# positive numbers in JavaScript.
LINK = ["--no-entry", "--strip-all", "--gc-sections", "-z,stack-size=131072", f"--max-memory={1 << 31}"]


def compiler(name: str | None) -> tuple[list[str], list[str]] | None:
    """The command of a compiler and its own options for linking; None if it is not installed."""
    if name in (None, "zig") and importlib.util.find_spec("ziglang"):
        zig = [sys.executable, "-m", "ziglang", "cc"]
        return [*zig, "-target", "wasm32-freestanding"], []  # the stack is always first
    if name in (None, "clang") and shutil.which("clang") and shutil.which("wasm-ld"):
        return ["clang", "--target=wasm32"], ["--stack-first"]
    return None


def build(module: Path, name: str | None = None) -> None:
    """Compile and link the module; RuntimeError if there is no compiler or if it fails."""
    found = compiler(name)
    if found is None:
        raise RuntimeError("no compiler for WebAssembly: `pip install ziglang`, or install clang and lld")
    command, more = found
    with tempfile.TemporaryDirectory() as folder:
        caches = {f"ZIG_{kind}_CACHE_DIR": str(Path(folder) / "cache") for kind in ("GLOBAL", "LOCAL")}

        def run(*arguments: str) -> None:
            done = subprocess.run([*command, *arguments], env={**os.environ, **caches}, capture_output=True, text=True)
            if done.returncode:
                raise RuntimeError(f"{command[0]} failed:\n{done.stderr.strip()}")

        objects = []
        for source in sorted([*CORE.glob("*.c"), *OWN.glob("*.c")]):
            level = "-O3" if source.name in FAST else "-Os"
            own = ["-fno-builtin"] if source.parent == OWN else []  # else malloc may become a call of itself
            objects.append(str(Path(folder) / f"{source.parent.name}-{source.stem}.o"))
            run(*FLAGS, level, *own, "-c", str(source), "-o", objects[-1])
        linked = Path(folder) / "capsulet.wasm"
        run("-nostdlib", *objects, *(f"-Wl,{option}" for option in [*LINK, *more]), "-o", str(linked))
        module.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(linked, module)


def main() -> int:
    """Build the module and print its size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", choices=["zig", "clang"], help="default: zig if it is installed, else clang")
    parser.add_argument("--out", type=Path, default=MODULE, metavar="FILE", help="default: js/src/capsulet.wasm")
    arguments = parser.parse_args()
    try:
        build(arguments.out, arguments.compiler)
    except RuntimeError as error:
        print(f"js/: {error}", file=sys.stderr)
        return 1
    data = arguments.out.read_bytes()
    print(f"{arguments.out}: {len(data):,} bytes, {len(gzip.compress(data, mtime=0)):,} with gzip")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
