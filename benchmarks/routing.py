"""Compare the training time of the compiled k-means routing with that of torch.

    python -m benchmarks.routing [--json] [--write] [--repeats N]

The task is a forward and backward pass of a batch of 32, with 16 primary capsules, class capsules of length 16 and
three iterations, for few and many classes. It is run in compiled code and with torch's element-wise operations. Calls
are interleaved and repeated; a figure is a median. The command prints every missed bound and then exits with status 1.
The bounds hold for two idle cores.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

import torch

from benchmarks import record
from benchmarks.timing import interleave
from capsulet.cores import available_cores
from capsulet.model.routing import kmeans_routing, torch_kmeans_routing
from capsulet.native import available, routing

BATCH, PRIMARY, LENGTH, ITERATIONS = 32, 16, 16, 3
SPEEDUP_BOUNDS = {4: 1.0, 77: 3.0, 1000: 10.0}  # by number of classes


def main() -> int:
    """Run the benchmark, print the figures and, with --write, store them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=15, help="rounds of each kind (default: 15)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--write", action="store_true", help="write benchmarks/results/routing.json")
    arguments = parser.parse_args()
    if not available(routing):
        parser.error("the compiled routing is not built, or CAPSULET_NATIVE=0; there is nothing to measure")
    cases = [
        report(measure(threads, classes, arguments.repeats))
        for threads in sorted({1, min(2, available_cores())})
        for classes in SPEEDUP_BOUNDS
    ]
    bounds = {
        f"speedup over torch, {case['classes']} classes": case["speedup"] >= SPEEDUP_BOUNDS[case["classes"]]
        for case in cases
        if case["threads"] == cases[-1]["threads"]
    }
    return record.conclude(
        "routing",
        {
            "instruction_set": routing.instruction_set() if routing else None,
            "cases": cases,
        },
        bounds,
        arguments,
    )


def measure(threads: int, classes: int, repeats: int) -> dict[str, Any]:
    """Figures for one number of threads and one number of classes."""
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    # primary capsules come first in memory, as after the product with the transformation matrices
    votes = torch.randn(PRIMARY, BATCH, classes, LENGTH).transpose(0, 1).requires_grad_()
    direction = torch.randn(BATCH, classes, LENGTH)

    def train(function: Callable[..., Any]) -> Callable[[], object]:
        return lambda: torch.autograd.grad(function(votes, ITERATIONS, True)[0], votes, direction)

    expected = torch_kmeans_routing(votes, ITERATIONS, True)[0]
    torch.testing.assert_close(kmeans_routing(votes, ITERATIONS, True)[0], expected, atol=1e-5, rtol=0)
    seconds = interleave({"native": train(kmeans_routing), "torch": train(torch_kmeans_routing)}, repeats, turn=4)
    return {
        "threads": threads,
        "classes": classes,
        **{f"{name}_milliseconds": 1000 * seconds[name] for name in seconds},
        "speedup": seconds["torch"] / seconds["native"],
    }


def report(case: dict[str, Any]) -> dict[str, Any]:
    """Print a case as one line on standard error and return it."""
    print(
        f"threads {case['threads']}  classes {case['classes']:>4}:  native {case['native_milliseconds']:7.2f} ms"
        f"  torch {case['torch_milliseconds']:7.2f} ms  speedup {case['speedup']:5.2f}",
        file=sys.stderr,
    )
    return case


if __name__ == "__main__":
    raise SystemExit(main())
