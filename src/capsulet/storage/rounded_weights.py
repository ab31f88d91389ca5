"""Weights of a compressed model file: rounded matrices, codes and n-gram tables of few bits, packed into bytes.

docs/reference/format.md describes the tensors. The values stay rounded: `capsulet.model.quantisation` computes them.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from capsulet.errors import ModelError
from capsulet.model.quantisation import Rounded, grouped, pack_bits, unpack_bits
from capsulet.model.shapes import KEYS, LEVEL_BITS, LEVELS, SCALES, parameter_shapes
from capsulet.storage.model_file import ModelFile
from capsulet.storage.tensors import Tensor, damaged, from_array

CHOICES, CODEBOOKS = "embedding.choices", "embedding.codebooks"
CODEWORDS, CODE_BITS = 16, 4  # of each codebook


def pack_weights(weights: Mapping[str, Any]) -> dict[str, Tensor]:
    """Tensors of weights by name: choices (V, M), rounded matrices, and the parts of an n-gram table."""
    tensors = {}
    for name, value in weights.items():
        if isinstance(value, Rounded):
            tensors[f"{name}.scales"] = from_array(value.scales)
            tensors[name] = from_array(grouped(value.levels, value.bits))
        elif name == CHOICES:
            tensors[name] = from_array(pack_bits(value, CODE_BITS))
        elif name == LEVELS:
            bits = weights[LEVEL_BITS]
            tensors[name] = from_array(pack_bits((value.astype(np.int16) + (1 << (bits - 1))).astype(np.uint8), bits))
        elif name != LEVEL_BITS:  # that is in the configuration
            tensors[name] = from_array(value)
    return tensors


def unpack_weights(model: ModelFile) -> dict[str, Any]:
    """Weights of a model file by name, as `build_graph` takes them. A whole model has arrays, which are not copied."""
    config, arrays, source = model.config, model.weights, model.source
    if config.dictionary_words is None:
        return dict(arrays)
    try:
        codebooks, rest = divmod(len(arrays[f"{CODEBOOKS}.scales"]), CODEWORDS)
        if rest or not codebooks:
            damaged(source, f"{CODEBOOKS}.scales has {codebooks * CODEWORDS + rest} rows, expected 16 per codebook")
        weights: dict[str, Any] = {CHOICES: unpack_bits(arrays[CHOICES], CODE_BITS, codebooks)}
        for name, shape in parameter_shapes(config.network, config.vocab_size, len(config.labels)).items():
            if name.startswith(("encoder.", "head.")):
                weights[name] = rounded_matrix(model, name, math.prod(shape))
        weights[CODEBOOKS] = rounded_matrix(
            model, CODEBOOKS, codebooks * CODEWORDS * config.options.model.embedding_size
        )
        if config.ngrams:
            bits, classes = config.ngrams.bits, len(config.labels)
            levels = unpack_bits(arrays[LEVELS], bits, classes).astype(np.int16) - (1 << (bits - 1))
            weights |= {LEVELS: levels.astype(np.int8), SCALES: arrays[SCALES], KEYS: arrays[KEYS], LEVEL_BITS: bits}
        return weights
    except ModelError:
        raise
    except (KeyError, ValueError, TypeError, IndexError) as error:  # missing, or of another shape or type
        damaged(source, f"its weights cannot be read ({error!s:.80})")


def rounded_matrix(model: ModelFile, name: str, size: int) -> Rounded:
    """A rounded matrix of `size` numbers."""
    packed, scales = model.weights[name], model.weights[f"{name}.scales"]
    bits, rows = packed.shape[1], len(scales)
    flat = unpack_bits(packed, bits, 8).reshape(-1)
    if flat.size - size not in range(8) or size % rows:
        damaged(model.source, f"{name} has {flat.size} numbers in {rows} rows, expected {size}")
    return Rounded(flat[:size].reshape(rows, -1), scales, bits)
