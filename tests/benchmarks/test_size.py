"""The table of sizes."""

from __future__ import annotations

import pytest

from benchmarks import size

RUNS = [
    {"set": "some", "seed": seed, "kind": kind, "bytes": number, "accuracy": accuracy}
    for seed, kind, number, accuracy in [
        (1, "uncompressed", 6_000_000, 0.92), (2, "uncompressed", 6_000_000, 0.90), (3, "uncompressed", 6_000_000, 0.5),
        (1, "600KB", 599_000, 0.918), (2, "600KB", 597_000, 0.901), (1, size.FTZ, 1_600_000, 0.91),
    ]
]  # fmt: skip
RUNS[3] |= {"calibration_error": 0.0123, "answered": 0.905}


def test_losses_are_of_the_seeds_that_have_both() -> None:
    assert size.loss(RUNS, "some", "600KB") == pytest.approx(0.05)  # 0.2 and -0.1; the third seed has no small file
    assert size.loss(RUNS, "some", "300KB") is None
    assert size.loss(RUNS, "other", "600KB") is None


def test_rows() -> None:
    assert size.rows(RUNS)[1:] == [
        ("some", "600KB", "598 KB", "90.95 ± 1.20", "+0.05", "0.012", "0.905", "2"),
        ("some", size.FTZ, "1,600 KB", "91.00", "+1.00", "", "", "1"),
    ]
