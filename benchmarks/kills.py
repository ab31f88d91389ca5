"""Kill training at random moments, resume it, and compare the model with that of an undisturbed training.

    python -m benchmarks.kills --kills 100

Training processes are ended by SIGKILL while they read, tokenise, train, write a checkpoint or move the model to its
place. In each round, training is killed, resumed, sometimes killed again, and finally runs to its end. Then its model
folder is compared byte by byte with that of a training that was never killed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

import capsulet
from benchmarks import record

OPTIONS: dict[str, Any] = {
    "epochs": 3, "batch_size": 16, "min_count": 1, "hidden_size": 16, "embedding_size": 8, "num_codebooks": 3,
    "network": "always", "class_length": 4, "threads": 1, "checkpoint_seconds": 0.0, "valid_fraction": 0.1,
}  # fmt: skip


def main() -> None:
    """Run the benchmark, print the counts and, with --write, store them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100, metavar="N", help="number of kills (default: 100)")
    parser.add_argument("--seed", type=int, default=0, metavar="N")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--write", action="store_true", help="write benchmarks/results/kills.json")
    arguments = parser.parse_args()
    result = {**record.circumstances(record.command_line("benchmarks.kills")), **run(arguments.kills, arguments.seed)}
    if arguments.write:
        record.write("kills", result)
    if arguments.json:
        print(json.dumps(result))
    else:
        print(f"{result['kills']} kills in {result['rounds']} rounds, {result['identical']} with an identical model")
    sys.exit(result["identical"] != result["rounds"])


def run(kills: int, seed: int) -> dict[str, int]:
    """Run rounds until `kills` processes were killed; count rounds and identical models."""
    # loaded once here: the processes forked below are copies of this one
    import capsulet.model.graph
    import capsulet.training.loop  # noqa: F401 - load only

    generator = random.Random(seed)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        rows = folder / "rows.jsonl"
        rows.write_text("".join(json.dumps({"label": label, "text": text}) + "\n" for label, text in texts(generator)))
        started = time.monotonic()
        assert spawn(rows, folder / "reference", folder / "cache0", None) == 0
        whole = time.monotonic() - started
        expected = contents(folder / "reference")
        done = rounds = identical = 0
        while done < kills:
            rounds += 1
            out, cache = folder / f"model{rounds}", folder / f"cache{rounds}"
            while done < kills and spawn(rows, out, cache, generator.uniform(0, whole)) != 0:
                done += 1
                if generator.random() < 0.7:  # most rounds have one kill, some have several
                    break
            assert spawn(rows, out, cache, None) == 0
            left = [path.name for path in folder.iterdir() if path.name.lstrip(".").startswith(f"{out.name}.")]
            # the only other file is the report: no checkpoint and no partial file
            identical += contents(out) == expected and left == [f"{out.name}.report.html"]
    return {"kills": done, "rounds": rounds, "identical": identical}


def spawn(rows: Path, out: Path, cache: Path, seconds: float | None) -> int:
    """Train in a child process, kill it after `seconds`, and return its exit status or minus the signal."""
    process = os.fork()
    if not process:
        status = 1
        try:
            capsulet.train(rows, out, cache=cache, resume=True, **OPTIONS)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    if seconds is not None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            ended, status = os.waitpid(process, os.WNOHANG)
            if ended:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.001)
        os.kill(process, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def texts(generator: random.Random) -> list[tuple[str, str]]:
    """Generate texts of three classes: one word identifies the class, the others are noise."""
    return [
        (label, " ".join([*(f"w{generator.randrange(60)}" for _ in range(generator.randrange(1, 12))), label]))
        for label in ("red", "green", "blue")
        for _ in range(40)
    ]


def contents(folder: Path) -> dict[str, bytes]:
    """Contents of every file of a model folder, by name."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


if __name__ == "__main__":
    main()
