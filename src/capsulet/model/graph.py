"""The network as an ONNX graph, built from the weights without PyTorch.

inputs   ids (B, T) int64, token_counts (B,) int64
outputs  lengths (B, C)           lengths of the class capsules, 0 to 1
         norms (B, C)             the capsules' lengths before squash (linear head: the logits)
         coupling (B, N, C)       coupling of each primary capsule with each class
         contributions (B, T, C)  share of each token in `norms`, at fixed coupling; they sum to it exactly
         shares (B, N, C)         share of each primary capsule in `norms`
         codes (B, T, M, K)       weight of each codeword for each token (cwc and cc)
         embedded (B, T, D)       word vectors
         directions (B, H, C)     factor of each number of the pooled state in `norms`
         ngrams (B, T, C)         share of each token's n-gram features in `norms`, if the model has them: the row of
                                  the word and half of the row of each pair that it is in
         gruN_input, gruN_recurrent, gruN_bias   weights of the encoder; runtime/attribution.py uses them to follow
                                  contributions back to the words
         dictionary (n,) uint8    packed words of a compressed model

Softmax over codes is computed here, once, and discrete codes are stored as small integers. The GRU is ONNX's own with
`sequence_lens`, so padding is never read. Inside the graph time comes before batch, as that operator requires.

A compressed model has matrices of few bits and codes packed into bytes. They are unpacked by operators that every
runtime has, on 32-bit integers. Unpacking of constants runs once, when the graph is loaded (`Cast`, `Sub`, `Mul`: ONNX
Runtime would repeat `DequantizeLinear` in every run).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper

from capsulet.config import POOLINGS, ModelOptions
from capsulet.model import outputs
from capsulet.model.graph_builder import OPSET, GraphBuilder, Matrix, Weights
from capsulet.model.graph_heads import add_capsules, add_linear
from capsulet.model.graph_words import add_embedding, add_ngrams
from capsulet.model.quantisation import Rounded
from capsulet.model.shapes import LEVELS

IR_VERSION = 8  # like OPSET, old enough for runtimes of recent years, browsers included


def build_graph(weights: Weights, options: ModelOptions, dictionary: bytes | None = None) -> onnx.ModelProto:
    """Build the ONNX model of these weights; a packed dictionary becomes one more output."""
    graph = GraphBuilder()
    embedded, code_shape = add_embedding(graph, weights, options)  # (B, T, D)
    states = add_encoder(graph, weights, options, embedded)  # (T, B, H), zero behind the end of a text
    pooled, parts = add_pooling(graph, options, states)  # (B, H), (B, T, H)
    ngrams = add_ngrams(graph, weights) if LEVELS in weights else None  # (B, C)
    add_head = add_capsules if options.head == "capsule" else add_linear
    num_primary, num_classes = add_head(graph, weights, options, pooled, parts, ngrams)
    float32, int64 = TensorProto.FLOAT, TensorProto.INT64
    graph.add("Identity", embedded, name=outputs.EMBEDDED)
    value = helper.make_tensor_value_info
    more = []
    if dictionary is not None:
        words = graph.constant("words", np.frombuffer(dictionary, np.uint8))
        graph.add("Identity", words, name=outputs.DICTIONARY)
        more = [value(outputs.DICTIONARY, TensorProto.UINT8, [len(dictionary)])]
    proto = helper.make_graph(
        graph.nodes,
        "capsulet",
        [value(outputs.IDS, int64, ["batch", "time"]), value(outputs.TOKEN_COUNTS, int64, ["batch"])],
        [
            value(outputs.LENGTHS, float32, ["batch", num_classes]),
            value(outputs.NORMS, float32, ["batch", num_classes]),
            value(outputs.COUPLING, float32, ["batch", num_primary, num_classes]),
            value(outputs.CONTRIBUTIONS, float32, ["batch", "time", num_classes]),
            value(outputs.SHARES, float32, ["batch", num_primary, num_classes]),
            *([value(outputs.CODES, float32, ["batch", "time", *code_shape])] if code_shape else []),
            value(outputs.EMBEDDED, float32, ["batch", "time", options.embedding_size]),
            value(outputs.DIRECTIONS, float32, ["one or batch", options.hidden_size, num_classes]),
            *([value(outputs.NGRAMS, float32, ["batch", "time", num_classes])] if ngrams else []),
            *(value(name, float32, shape) for name, shape in add_encoder_weights(graph, options).items()),
            *more,
        ],
        list(graph.constants.values()),
    )
    model = helper.make_model(
        proto, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION, producer_name="capsulet"
    )
    onnx.checker.check_model(model)
    return model


def add_encoder(graph: GraphBuilder, weights: Weights, options: ModelOptions, embedded: str) -> str:
    """Encode vectors (B, T, D) as states (T, B, H): the sum of both directions, zero behind the end of a text."""
    sequence_lens = graph.add("Cast", outputs.TOKEN_COUNTS, to=TensorProto.INT32)
    inputs = graph.add("Transpose", embedded, perm=[1, 0, 2])
    output = ""
    for layer in range(options.num_layers):
        if layer:  # (T, 2, B, H) -> (T, B, 2H)
            inputs = graph.add("Transpose", output, perm=[0, 2, 1, 3])
            inputs = graph.add("Reshape", inputs, graph.integers(0, 0, -1))

        def both(*kinds: str, layer: int = layer) -> Matrix:
            names = [f"encoder.gru.{kind}_l{layer}{end}" for end in ("", "_reverse") for kind in kinds]
            return joined([update_first(weights[name]) for name in names])

        gates = 3 * options.hidden_size

        output = graph.add(
            "GRU",
            inputs,
            graph.matrix(f"gru{layer}_input_weights", both("weight_ih"), 2, gates, -1),
            graph.matrix(f"gru{layer}_recurrent_weights", both("weight_hh"), 2, gates, options.hidden_size),
            graph.matrix(f"gru{layer}_bias_weights", both("bias_ih", "bias_hh"), 2, 2 * gates),
            sequence_lens,
            direction="bidirectional",
            hidden_size=options.hidden_size,
            linear_before_reset=1,  # the reset gate comes after the recurrent product, as in PyTorch
        )
    states = graph.sum(output, 1)  # (T, B, H)
    # The operator should give zeros behind the end of a text; the mask guards against runtimes that do not.
    time = graph.add("Gather", graph.add("Shape", states), graph.constant("zero", np.int64(0)))
    steps = graph.add("Range", graph.constant("zero", 0), time, graph.constant("one", np.int64(1)), name="steps")
    real = graph.add("Less", graph.add("Unsqueeze", steps, graph.integers(1)), outputs.TOKEN_COUNTS)  # (T, B)
    mask = graph.add("Cast", real, to=TensorProto.FLOAT)
    return graph.add("Mul", states, graph.add("Unsqueeze", mask, graph.integers(2), name="mask"))


def add_pooling(graph: GraphBuilder, options: ModelOptions, states: str) -> tuple[str, str]:
    """Pool states (T, B, H) to one per text (B, H), and give each token's part of it (B, T, H); parts sum to it."""
    share = POOLINGS[options.pooling]
    count = graph.add(
        "Unsqueeze", graph.add("Cast", outputs.TOKEN_COUNTS, to=TensorProto.FLOAT), graph.integers(1)
    )  # (B, 1)
    weight = graph.add("Div", graph.number(share), count)
    pooled = graph.add("Mul", graph.sum(states, 0), weight)
    parts = graph.add("Mul", states, weight)
    if share < 1:
        # states are sums of two directions, between -2 and 2: padding at -4 is never the largest
        padding = graph.add("Mul", graph.add("Sub", "mask", graph.number(1)), graph.number(4))
        real = graph.add("Add", states, padding)  # (T, B, H)
        rest = graph.number(1 - share)
        largest = graph.add("ReduceMax", real, axes=[0], keepdims=0)
        pooled = graph.add("Add", pooled, graph.add("Mul", largest, rest))
        # the maximum belongs to the token that has it
        place = graph.add("ArgMax", real, axis=0, keepdims=1)  # (1, B, H)
        chosen = graph.add("Equal", graph.add("Unsqueeze", "steps", graph.integers(1, 2)), place)
        chosen = graph.add("Mul", graph.add("Cast", chosen, to=TensorProto.FLOAT), rest)
        parts = graph.add("Add", parts, graph.add("Mul", states, chosen))
    return pooled, graph.add("Transpose", parts, perm=[1, 0, 2])


def add_encoder_weights(graph: GraphBuilder, options: ModelOptions) -> dict[str, tuple[int, ...]]:
    """Add the encoder's weights as float outputs, for explanations; returns names and shapes."""
    hidden = options.hidden_size
    shapes: dict[str, tuple[int, ...]] = {}
    for layer in range(options.num_layers):
        inputs = 2 * hidden if layer else options.embedding_size
        own = ((2, 3 * hidden, inputs), (2, 3 * hidden, hidden), (2, 6 * hidden))
        for kind, shape in zip(outputs.ENCODER_KINDS, own, strict=True):
            name = outputs.encoder_output(layer, kind)
            shapes[graph.add("Identity", f"{name}_weights", name=name)] = shape
    return shapes


def update_first(rows: Matrix) -> Matrix:
    """Reorder gates from PyTorch's reset, update, new to ONNX's update, reset, new."""
    if isinstance(rows, Rounded):
        return Rounded(swapped(rows.levels), swapped(rows.scales), rows.bits)
    return swapped(rows)


def swapped(rows: NDArray[Any]) -> NDArray[Any]:
    """Rows in three equal parts, the first two exchanged."""
    reset, update, new = np.split(rows, 3)
    return np.concatenate([update, reset, new])


def joined(parts: Sequence[Matrix]) -> Matrix:
    """Concatenate the rows of matrices."""
    packed = [part for part in parts if isinstance(part, Rounded)]
    if packed:
        levels, scales = np.concatenate([part.levels for part in packed]), [part.scales for part in packed]
        return Rounded(levels, np.concatenate(scales), packed[0].bits)
    return np.concatenate([part for part in parts if not isinstance(part, Rounded)])
