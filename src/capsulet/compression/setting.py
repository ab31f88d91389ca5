"""Settings of a compression: the number of words and the bits that a file spends on each part."""

import math
import re
from dataclasses import dataclass

from capsulet.errors import InputError

CODEBOOK_BITS = BIAS_BITS = 8
NGRAM_BITS = 4  # per number of the n-gram table of a file with a network
UNITS = {"": 1, "B": 1, "KB": 1000, "MB": 1000**2, "GB": 1000**3, "KIB": 1024, "MIB": 1024**2, "GIB": 1024**3}


@dataclass(frozen=True)
class Setting:
    """Number of words and precision of a compressed model."""

    words: int  # in the dictionary
    codebooks: int  # each word has one code of four bits per codebook; 0: there is no network
    bits: int  # per weight of encoder and head; without a network, per number of the n-gram table
    ngram_rows: int = 0  # rows of the n-gram table; 0: no n-gram features

    def __str__(self) -> str:
        ngrams = f", {self.ngram_rows:,} rows of n-gram features" if self.ngram_rows else ""
        codebooks = f", {self.codebooks} codebooks" if self.codebooks else ""
        return f"{self.words:,} words{codebooks}, {self.bits}-bit weights{ngrams}"

    @property
    def ngram_bits(self) -> int:
        """Bits per number of the n-gram table."""
        return NGRAM_BITS if self.codebooks else self.bits

    def bits_of(self, name: str) -> int:
        """Bits per number of the weight with this name."""
        return CODEBOOK_BITS if name == "embedding.codebooks" else BIAS_BITS if ".bias_" in name else self.bits


def parse_size(size: str | int | float) -> int:
    """Bytes of a size such as `500KB`, `0.5MB`, `512KiB` or a number."""
    text = str(size).strip()
    match = re.fullmatch(r"([0-9]*\.?[0-9]+(?:[eE]\+?[0-9]{1,2})?)\s*([A-Za-z]*)", text)
    if isinstance(size, bool) or not match or match[2].upper() not in UNITS:
        raise InputError(f"--target-size is {text!r:.40}: expected bytes or a size such as 500KB, 0.5MB or 512KiB")
    number = float(match[1]) * UNITS[match[2].upper()]
    if not 1 <= number < 2**63:
        raise InputError(f"--target-size is {text!r:.40}: expected at least 1 byte and less than 2^63 bytes")
    return math.floor(number)
