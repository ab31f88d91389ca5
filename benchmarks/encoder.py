"""Compare the training time of the native encoder with that of torch.

    python -m benchmarks.encoder [--json] [--write] [--repeats N]

The task is a forward and backward pass of two bidirectional layers, 64 -> 128, on texts of 45 tokens. It is run by
`bidirectional_gru` in compiled code, by `nn.GRU` on the padded batch, and by `nn.GRU` on the packed batch. Speed is the
number of floating-point operations for real tokens per second. It is also given as a share of the peak: the speed of a
1024 x 1024 x 1024 matrix product of torch with the same number of threads, measured in the same run. Calls are
interleaved and repeated; a figure is a median. The command prints every missed bound and then exits with status 1. The
bounds hold for two threads on two idle cores.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from benchmarks import record
from benchmarks.timing import interleave
from capsulet.cores import available_cores
from capsulet.model.gru import bidirectional_gru
from capsulet.native import available, gru

TOKENS, INPUT_SIZE, HIDDEN_SIZE = 45, 64, 128
PRODUCT = 1024
SPEEDUP_BOUND, SHARE_BOUND = 2.5, 0.55


def main() -> int:
    """Run the benchmark, print the figures and, with --write, store them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=15, help="rounds of each kind (default: 15)")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument("--write", action="store_true", help="write benchmarks/results/encoder.json")
    arguments = parser.parse_args()
    if not available(gru):
        parser.error("the compiled GRU is not built, or CAPSULET_NATIVE=0; there is nothing to measure")
    cases = [
        report(measure(threads, batch, mixed, arguments.repeats))
        for threads in sorted({1, min(2, available_cores())})
        for batch in (32, 64)
        for mixed in (False, True)
    ]
    bounds = {
        f"{name}, batch {case['batch']}": held
        for case in cases
        if case["threads"] == 2 and case["lengths"] == "all 45"
        for name, held in (
            ("speedup over nn.GRU", case["batch"] != 32 or case["speedup_over_padded"] >= SPEEDUP_BOUND),
            ("share of sgemm peak", case["share_of_peak"] >= SHARE_BOUND),
        )
    }
    return record.conclude(
        "encoder",
        {
            "instruction_set": gru.instruction_set() if gru else None,
            "cases": cases,
        },
        bounds,
        arguments,
    )


def measure(threads: int, batch: int, mixed: bool, repeats: int) -> dict[str, Any]:
    """Figures for one number of threads, one batch size, and equal or mixed text lengths."""
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    lengths = torch.randint(20, TOKENS + 1, (batch,)) if mixed else torch.full((batch,), TOKENS)
    lengths[0] = TOKENS
    module = nn.GRU(INPUT_SIZE, HIDDEN_SIZE, 2, batch_first=True, bidirectional=True)
    inputs = torch.randn(batch, TOKENS, INPUT_SIZE, requires_grad=True)
    direction = torch.randn(batch, TOKENS, 2 * HIDDEN_SIZE)
    layers = [[*module.all_weights[at], *module.all_weights[at + 1]] for at in (0, 2)]
    left, product = torch.randn(PRODUCT, PRODUCT), torch.empty(PRODUCT, PRODUCT)

    def native() -> Tensor:
        states = inputs
        for weights in layers:
            states = bidirectional_gru(states, lengths, weights)
        return states

    def padded() -> Tensor:
        outputs: Tensor = module(inputs)[0]
        return outputs

    def packed() -> Tensor:
        packed = pack_padded_sequence(inputs, lengths, batch_first=True, enforce_sorted=False)
        return pad_packed_sequence(module(packed)[0], batch_first=True)[0]

    def train(forward: Callable[[], Tensor]) -> Callable[[], None]:
        def call() -> None:
            module.zero_grad()
            inputs.grad = None
            forward().backward(direction)

        return call

    torch.testing.assert_close(native(), packed(), atol=1e-5, rtol=0)
    seconds = interleave(
        {
            "native": train(native),
            "product": lambda: torch.mm(left, left, out=product),
            "padded": train(padded),
            "packed": train(packed),
        },
        repeats,
        turn=4,
    )
    flops = float(lengths.sum()) * flops_of_token()
    speed, peak = flops / seconds["native"], 2 * PRODUCT**3 / seconds["product"]
    return {
        "threads": threads,
        "batch": batch,
        "lengths": f"20 to {TOKENS}" if mixed else f"all {TOKENS}",
        **{f"{name}_milliseconds": 1000 * seconds[name] for name in ("native", "padded", "packed")},
        "speedup_over_padded": seconds["padded"] / seconds["native"],
        "speedup_over_packed": seconds["packed"] / seconds["native"],
        "native_gflops": speed / 1e9,
        "sgemm_peak_gflops": peak / 1e9,
        "share_of_peak": speed / peak,
    }


def flops_of_token() -> int:
    """Floating-point operations per token: 2 per weight forward, and 2 per weight for each of the two gradients."""
    sizes = (INPUT_SIZE + HIDDEN_SIZE, 2 * HIDDEN_SIZE + HIDDEN_SIZE)  # inputs and states of the two layers
    return sum(3 * 2 * (2 * 3 * HIDDEN_SIZE) * size for size in sizes)


def report(case: dict[str, Any]) -> dict[str, Any]:
    """Print a case as one line on standard error and return it."""
    print(
        f"threads {case['threads']}  batch {case['batch']}  lengths {case['lengths']:>8}:"
        f"  native {case['native_milliseconds']:6.1f} ms  nn.GRU {case['speedup_over_padded']:5.2f} x padded,"
        f" {case['speedup_over_packed']:5.2f} x packed"
        f"  {case['native_gflops']:5.0f} GFLOP/s = {case['share_of_peak']:.0%} of {case['sgemm_peak_gflops']:.0f}",
        file=sys.stderr,
    )
    return case


if __name__ == "__main__":
    raise SystemExit(main())
