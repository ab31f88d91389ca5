"""What a compressed model spends its bytes on, and its weights rounded accordingly."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from capsulet.errors import InputError
from capsulet.model.quantisation import Rounded, as_rows, best_scales, rounded

CODEWORDS, CODE_BITS = 16, 4
CODEBOOK_BITS = BIAS_BITS = 8
UNITS = {"": 1, "B": 1, "KB": 1000, "MB": 1000**2, "GB": 1000**3, "KIB": 1024, "MIB": 1024**2, "GIB": 1024**3}

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Setting:
    """One way to compress."""

    words: int  # in the dictionary
    codebooks: int  # choices of four bits a word
    bits: int  # of a weight of encoder and head
    ngram_bits: int = 0  # bits per number of the n-gram table; 0: none


def parse_size(said: str | int | float) -> int:
    """`500KB`, `0.5MB`, `512KiB` or a number as bytes."""
    text = str(said).strip()
    match = re.fullmatch(r"([0-9]*\.?[0-9]+(?:[eE]\+?[0-9]{1,2})?)\s*([A-Za-z]*)", text)
    if isinstance(said, bool) or not match or match[2].upper() not in UNITS:
        raise InputError(f"--target-size is {text!r:.40}: expected bytes or a size such as 500KB, 0.5MB or 512KiB")
    size = float(match[1]) * UNITS[match[2].upper()]
    if not 1 <= size < 2**63:
        raise InputError(
            f"--target-size is {text!r:.40}: expected at least one byte, and fewer than there are disks for"
        )
    return math.floor(size)


def bits_of(name: str, setting: Setting) -> int:
    """How many bits a weight gets."""
    if name == "embedding.codebooks":
        return CODEBOOK_BITS
    return BIAS_BITS if ".bias_" in name else setting.bits


def round_weights(
    weights: dict[str, Floats], setting: Setting, scales: dict[str, Floats] | None = None
) -> dict[str, Rounded]:
    """Every weight rounded, at these scales or at the ones with the smallest error."""
    found = {}
    for name, weight in weights.items():
        rows, bits = np.ascontiguousarray(as_rows(name, weight)), bits_of(name, setting)
        known = scales[name] if scales and name in scales else best_scales(rows, bits)
        found[name] = rounded(rows, known, bits)
    return found


def part_of(name: str) -> str:
    """Which part of the report the bytes of a constant of the graph belong to."""
    for prefix, part in PARTS.items():
        if name.startswith(prefix):
            return part
    return "graph"


PARTS = {
    "codes": "codes", "code_": "codes", "codebooks": "codebooks", "table": "codes", "gru": "GRU", "votes": "capsules",
    "transforms": "capsules", "classes": "capsules", "projection": "capsules", "words": "dictionary",
    "ngrams": "n-grams",
}  # fmt: skip
