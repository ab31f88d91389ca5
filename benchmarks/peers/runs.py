"""List the runs of peers, skip those that are done, and measure each of the others in its own processes."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.peers import OURS, PEERS

ROOT = Path(__file__).parents[2]
Result = dict[str, Any]
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "RAYON_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}


@dataclass(frozen=True)
class Run:
    """A data set, a peer with its options, a seed."""

    folder: Path
    peer: str
    seed: int
    options: Mapping[str, Any]
    fraction: float
    source: str

    @property
    def key(self) -> Result:
        """Values that must be equal for a run to count as done."""
        return {
            "set": self.folder.name,
            "peer": self.peer,
            "seed": self.seed,
            "options": dict(self.options),
            "valid_fraction": self.fraction,
            "source": self.source,
        }

    @property
    def training(self) -> str:
        """Name of the training; it is the same for the uncompressed and the compressed model."""
        decides = {name: value for name, value in self.key.items() if name != "peer"}
        decides["options"] = {name: value for name, value in self.options.items() if name != "small"}
        digest = hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()[:12]
        return f"{self.folder.name}-seed{self.seed}-{digest}"


def wanted_runs(
    folders: Sequence[Path], peers: Sequence[str], seeds: Sequence[int], options: Mapping[str, Any], fraction: float
) -> list[Run]:
    """Runs of every data set with every peer and seed, cheap peers first."""
    order = list(PEERS)
    return [
        Run(folder, name, seed, {**PEERS[name].options, **options}, fraction, source_digest(name))
        for folder in folders
        for name in sorted(peers, key=order.index)
        for seed in (seeds if PEERS[name].random else seeds[:1])
    ]


def source_digest(name: str) -> str:
    """Digest of the source of a peer: its module, the files of this repository it imports, and the split of rows."""
    files = imported_files(ROOT / "benchmarks" / "peers" / f"{PEERS[name].module}.py")
    files |= imported_files(ROOT / "src" / "capsulet" / "text" / "split.py")
    if PEERS[name].module == OURS:  # the package imports its modules lazily
        files |= {path for suffix in ("py", "c", "h") for path in (ROOT / "src").rglob(f"*.{suffix}")}
    return files_digest(files)


def files_digest(files: Iterable[Path]) -> str:
    """Digest of the names and contents of files."""
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


def imported_files(path: Path, seen: set[Path] | None = None) -> set[Path]:
    """A file and all files of this repository that it imports, directly or not, without package __init__ files."""
    seen = set() if seen is None else seen
    seen.add(path)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [node.module] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        for name in filter(None, names):
            for base in (ROOT, ROOT / "src"):
                source = base.joinpath(*name.split(".")).with_suffix(".py")
                if source.exists() and source not in seen:
                    imported_files(source, seen)
    return seen


def is_done(run: Run, results: Sequence[Result]) -> bool:
    """Whether the results have this run; a failed run does not count."""
    return any(run.key.items() <= result.items() and "failure" not in result for result in results)


def measure_all(
    runs: Sequence[Run], results: Sequence[Result], jobs: int, models: Path | None = None
) -> Iterator[Result]:
    """Measure the runs that are not done and yield each result when it is ready; `models` keeps our models."""
    with ThreadPoolExecutor(jobs) as pool:
        waiting = [run for run in runs if not is_done(run, results)]
        for future in as_completed([pool.submit(measure, run, models) for run in waiting]):
            yield future.result()


def measure(run: Run, models: Path | None = None) -> Result:
    """Train and predict in two processes; a failed run gives a result with the reason."""
    options = dict(run.options)
    if models is not None and PEERS[run.peer].module == OURS:
        options["kept"] = str(models.resolve() / run.training)
    with tempfile.TemporaryDirectory() as scratch:
        specification = {
            "module": PEERS[run.peer].module,
            "folder": str(run.folder.resolve()),
            "seed": run.seed,
            "options": options,
            "fraction": run.fraction,
            "scratch": scratch,
        }
        result = {**run.key, "load": round(os.getloadavg()[0], 2)}
        for step in ("train", "predict"):
            done = subprocess.run(
                [sys.executable, "-m", "benchmarks.peers.child", step, json.dumps(specification)],
                cwd=ROOT,
                env={**os.environ, **ONE_THREAD},
                capture_output=True,
                text=True,
                errors="replace",
            )
            if done.returncode:
                return {**result, "failure": failure(step, done.returncode, done.stderr)}
            result |= json.loads((Path(scratch) / "result.json").read_text())
        return result


def failure(step: str, status: int, output: str) -> str:
    """Reason why a step failed, on one line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    if status < 0:
        return f"{step} was ended by signal {-status}" + (" (out of memory?)" if status == -9 else "")
    return lines[-1] if lines else f"{step} ended with status {status}"


def merge(results: Sequence[Result], new: Result) -> list[Result]:
    """Add a result; it replaces an older one of the same set, peer, seed and options."""
    same = ("set", "peer", "seed", "options")
    kept = [result for result in results if any(result[name] != new[name] for name in same)]
    return sorted([*kept, new], key=lambda one: (one["set"], list(PEERS).index(one["peer"]), one["seed"]))
