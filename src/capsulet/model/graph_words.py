"""Words in the ONNX graph: embeddings and packed codes."""

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from capsulet.config import ModelOptions
from capsulet.model import outputs
from capsulet.model.graph_builder import GraphBuilder, Weights
from capsulet.model.quantisation import Rounded, pack_bits


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
