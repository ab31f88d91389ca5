"""Weights of a model file: arrays of a whole model; rounded matrices, codes and n-gram tables of a compressed one.

docs/reference/format.md describes the tensors. The values of a compressed model stay rounded:
`capsulet.model.quantisation` computes them.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from capsulet.model.quantisation import FIELDS, Rounded, as_rows, grouped, pack_bits, unpack_bits
from capsulet.model.shapes import BIAS, CHECKS, LEVEL_BITS, LEVELS, PIECE_CODES, SCALES, parameter_shapes
from capsulet.storage.model_file import ModelFile
from capsulet.storage.tensors import Tensor, as_array, damaged, from_array

CHOICES, CODEBOOKS = "embedding.choices", "embedding.codebooks"
CODEWORDS, CODE_BITS = 16, 4  # of each codebook
WHOLE_BITS = 8  # per number of an n-gram table that is not packed
TYPES = {LEVELS: "I8", CHECKS: "U8", PIECE_CODES: "F16"}  # of the tensors of a whole model; all others are F32


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
            fields = (value.astype(np.int16) + (1 << (bits - 1))).astype(np.uint8)
            tensors[name] = from_array(value if bits == WHOLE_BITS else pack_bits(fields, bits))
        elif name != LEVEL_BITS:  # that is in the configuration
            tensors[name] = from_array(value)
    return tensors


def unpack_weights(model: ModelFile) -> dict[str, Any]:
    """Weights of a model file by name, as `build_graph` takes them; ModelError unless every type and shape is right.

    Arrays are views of the file. Tensors that the configuration does not ask for are left out.
    """
    config = model.config
    if config.dictionary_words is None:
        return {name: tensor_of(model, name, TYPES.get(name, "F32"), shape) for name, shape in config.shapes.items()}
    return {**({} if config.linear_only else packed_network(model)), **packed_ngrams(model)}


def packed_network(model: ModelFile) -> dict[str, Any]:
    """Embedding, encoder and head of a compressed file."""
    config = model.config
    shapes = parameter_shapes(config.network, config.vocab_size, len(config.labels))
    scales = tensor_of(model, f"{CODEBOOKS}.scales", "F16")
    codebooks = max(len(scales) // CODEWORDS, 1)
    choices = tensor_of(model, CHOICES, "U8", (config.vocab_size, -(-codebooks * CODE_BITS // 8)))
    weights: dict[str, Any] = {CHOICES: unpack_bits(choices, CODE_BITS, codebooks)}
    matrices = {name: shape for name, shape in shapes.items() if name.startswith(("encoder.", "head."))}
    matrices[CODEBOOKS] = (codebooks, CODEWORDS, config.options.model.embedding_size)
    for name, shape in matrices.items():
        # a matrix without values gives the shape of its rows
        weights[name] = rounded_matrix(model, name, as_rows(name, np.broadcast_to(np.float32(0), shape)).shape)
    return weights


def packed_ngrams(model: ModelFile) -> dict[str, Any]:
    """The n-gram table of a compressed file; nothing if it has none."""
    ngrams, classes = model.config.ngrams, len(model.config.labels)
    if ngrams is None:
        return {}
    if ngrams.bits == WHOLE_BITS:
        levels = tensor_of(model, LEVELS, TYPES[LEVELS], (ngrams.rows, classes))
    else:
        packed = tensor_of(model, LEVELS, "U8", (ngrams.rows, -(-classes * ngrams.bits // 8)))
        half = 1 << (ngrams.bits - 1)
        levels = (unpack_bits(packed, ngrams.bits, classes).astype(np.int16) - half).astype(np.int8)
    return {
        LEVELS: levels,
        SCALES: tensor_of(model, SCALES, "F32", (classes,)),
        CHECKS: tensor_of(model, CHECKS, "U8", (ngrams.rows,)),
        BIAS: tensor_of(model, BIAS, "F32", (classes,)),
        LEVEL_BITS: ngrams.bits,
    }


def rounded_matrix(model: ModelFile, name: str, shape: tuple[int, ...]) -> Rounded:
    """A rounded matrix of this shape."""
    rows, columns = shape
    packed = tensor_of(model, name, "U8")
    bits = packed.shape[-1]
    if packed.ndim != 2 or not 1 <= bits <= 8 or len(packed) != -(-rows * columns // FIELDS):
        problem = f"{name} is {list(packed.shape)}, expected 1 to 8 bits for {rows} rows of {columns} numbers"
        damaged(model.source, problem)
    levels = unpack_bits(packed, bits, FIELDS).reshape(-1)[: rows * columns].reshape(rows, columns)
    return Rounded(levels, tensor_of(model, f"{name}.scales", "F16", (rows,)), bits)


def tensor_of(model: ModelFile, name: str, dtypes: str, shape: tuple[int, ...] | None = None) -> NDArray[Any]:
    """A tensor as an array; ModelError unless it has one of these types and, if it is given, this shape."""
    tensor = model.tensors.get(name)
    if tensor is None or tensor.dtype not in dtypes.split() or shape not in (None, tensor.shape) or not tensor.shape:
        found = "missing" if tensor is None else f"{tensor.dtype} {list(tensor.shape)}"
        wanted = "" if shape is None else f" {list(shape)}"
        damaged(model.source, f"{name} is {found:.80}, expected {dtypes.replace(' ', ' or ')}{wanted}")
    return as_array(tensor)
