"""Words in the ONNX graph: embeddings, packed codes and n-gram features."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from capsulet.config import ModelOptions
from capsulet.model import outputs
from capsulet.model.graph_builder import END, GraphBuilder, Weights
from capsulet.model.hashing import FIRST, PAIR, PRIME, SECOND, WORD
from capsulet.model.quantisation import Rounded, pack_bits
from capsulet.model.shapes import KEYS, LEVEL_BITS, LEVELS, SCALES
from capsulet.text.vocabulary import FIRST_WORD


class Ngrams(NamedTuple):
    """Names of the results of the n-gram features."""

    scores: str  # (B, C)
    parts: str  # (B, T, C), the share of each token


def add_embedding(graph: GraphBuilder, weights: Weights, options: ModelOptions) -> str:
    """Add the vectors of the words (B, T, D)."""
    if "embedding.choices" in weights:
        return add_packed_codes(graph, weights["embedding.choices"], weights["embedding.codebooks"])
    if options.embedding == "plain":
        return graph.add("Gather", graph.constant("table", weights["embedding.table"]), outputs.IDS)
    codebooks = weights["embedding.codebooks"]  # (M, K, D)
    num_codebooks, num_codewords, _ = codebooks.shape
    codes = weights["embedding.codes"].reshape(-1, num_codebooks, num_codewords)  # (V, M, K)
    flat = graph.constant("codebooks", codebooks.reshape(num_codebooks * num_codewords, -1))
    if options.embedding == "cwc":
        powers = np.exp(codes - codes.max(-1, keepdims=True))
        shares = (powers / powers.sum(-1, keepdims=True)).reshape(len(codes), -1).astype(np.float32)
        weights_of = graph.add("Gather", graph.constant("code_weights", shares), outputs.IDS)  # (B, T, M * K)
        return graph.add("MatMul", weights_of, flat)
    kind = np.uint8 if num_codewords <= 256 else np.int32
    choices = graph.constant("code_choices", codes.argmax(-1).astype(kind))  # (V, M)
    chosen = graph.add("Cast", graph.add("Gather", choices, outputs.IDS), to=TensorProto.INT64)  # (B, T, M)
    rows = graph.add("Add", chosen, graph.constant("first_rows", np.arange(num_codebooks) * num_codewords))
    return graph.sum(graph.add("Gather", flat, rows), 2)


def add_packed_codes(graph: GraphBuilder, choices: NDArray[np.uint8], codebooks: Rounded) -> str:
    """Add word vectors (B, T, D) from packed choices (V, M) and codewords (M K, D)."""
    num_codebooks = choices.shape[1]
    num_codewords = len(codebooks.levels) // num_codebooks
    bits = max(1, (num_codewords - 1).bit_length())
    packed = graph.add("Gather", graph.constant("code_bits", pack_bits(choices, bits)), outputs.IDS)  # (B, T, bytes)
    first_rows = np.arange(num_codebooks, dtype=np.int32) * np.int32(num_codewords)
    chosen = graph.unpack(packed, num_codebooks, bits)  # (B, T, M)
    rows = graph.add("Add", chosen, graph.constant("first_rows", first_rows))
    flat = graph.matrix("codebooks", codebooks, *codebooks.levels.shape)
    return graph.sum(graph.add("Gather", flat, rows), 2)


def add_ngrams(graph: GraphBuilder, weights: Weights) -> Ngrams:
    """Add the scores of n-gram features and the share of each token."""
    levels: NDArray[np.int8] = weights[LEVELS]  # (S, C)
    rows, num_classes = levels.shape
    ids = outputs.IDS
    if KEYS in weights:  # from ids of a compressed model to ids of the whole model
        ids = graph.add("Gather", graph.constant("ngrams_keys", weights[KEYS]), ids)
        ids = graph.add("Cast", ids, to=TensorProto.INT64)
    # one id of padding after the last word, so that every word has a pair
    longer = graph.add("Pad", ids, graph.integers(0, 0, 0, 1))
    following = graph.add("Slice", longer, graph.integers(1), graph.integers(END), graph.integers(1))  # (B, T)

    def number(value: int) -> str:
        return graph.constant(f"whole_{value}", np.int64(value))

    def known(words: str) -> str:
        return graph.add("Cast", graph.add("GreaterOrEqual", words, number(FIRST_WORD)), to=TensorProto.FLOAT)

    def values(numbers: str) -> str:  # table rows by hash: (B, T) -> (B, T, C)
        places = graph.add("Mod", graph.add("Mod", numbers, number(PRIME)), number(rows))
        return graph.add("Cast", add_levels(graph, levels, places, weights.get(LEVEL_BITS, 8)), to=TensorProto.FLOAT)

    def total(mask: str, values: str) -> str:  # (B, T), (B, T, C) -> (B, 1, C)
        return graph.add("MatMul", graph.add("Unsqueeze", mask, graph.integers(1)), values)

    first = graph.add("Mul", ids, number(FIRST))
    second = graph.add("Add", graph.add("Mul", following, number(SECOND)), number(PAIR))
    words, pairs = values(graph.add("Add", first, number(WORD))), values(graph.add("Add", first, second))
    single = known(ids)
    both = graph.add("Mul", single, known(following))
    count = graph.add("Add", graph.sum(single, 1, keep=True), graph.sum(both, 1, keep=True))  # (B, 1)
    root = graph.add("Unsqueeze", graph.add("Sqrt", graph.add("Max", count, graph.number(1))), graph.integers(2))
    scales = graph.constant("ngrams_scales", weights[SCALES].reshape(1, 1, num_classes))
    factors = graph.add("Div", scales, root)  # (B, 1, C)

    def masked(mask: str, values: str) -> str:  # (B, T), (B, T, C) -> (B, T, C)
        return graph.add("Mul", values, graph.add("Unsqueeze", mask, graph.integers(2)))

    halves = graph.add("Mul", masked(both, pairs), graph.number(0.5))
    later = graph.add("Pad", halves, graph.integers(0, 1, 0, 0, -1, 0))  # move to the second word of each pair
    parts = graph.add("Add", masked(single, words), graph.add("Add", halves, later))
    scores = graph.add("Mul", graph.add("Add", total(single, words), total(both, pairs)), factors)
    return Ngrams(graph.add("Squeeze", scores, graph.integers(1)), graph.add("Mul", parts, factors))


def add_levels(graph: GraphBuilder, levels: NDArray[np.int8], numbers: str, bits: int) -> str:
    """Add rows of the n-gram table, stored as bytes or packed to fewer bits: (B, F) -> (B, F, C)."""
    if bits == 8:
        return graph.add("Gather", graph.constant("ngrams_levels", levels), numbers)
    half = 1 << (bits - 1)
    packed = pack_bits((levels.astype(np.int16) + half).astype(np.uint8), bits)  # (S, bytes)
    fields = graph.unpack(graph.add("Gather", graph.constant("ngrams_bits", packed), numbers), levels.shape[1], bits)
    return graph.add("Sub", fields, graph.constant(f"half_{bits}", np.int32(half)))
