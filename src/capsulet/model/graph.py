"""The network as an ONNX graph for other programs, built from the weights without PyTorch.

docs/reference/format.md lists the inputs and outputs.

Softmax over codes is computed here, and discrete codes are stored as small integers. The GRU is ONNX's own operator
with `sequence_lens`, so padding is never read; it requires time before batch.

A compressed model has matrices of few bits and codes packed into bytes. Operators that every runtime has unpack them,
on 32-bit integers. Constants are unpacked once, when the graph is loaded, by `Cast`, `Sub` and `Mul`: ONNX Runtime
would repeat `DequantizeLinear` in every run.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper

from capsulet.config import POOLINGS, ModelOptions, decided
from capsulet.model import outputs
from capsulet.model.graph_builder import OPSET, GraphBuilder, Matrix, Weights
from capsulet.model.graph_heads import add_capsules, add_features, add_linear
from capsulet.model.graph_words import add_embedding
from capsulet.model.quantisation import Rounded
from capsulet.model.shapes import BIAS, CHECKS, LEVEL_BITS, LEVELS, SCALES

NGRAM_WEIGHTS = {LEVELS, SCALES, CHECKS, BIAS, LEVEL_BITS}
IR_VERSION = 8  # like OPSET, old enough for runtimes of recent years, browsers included

Shape = tuple[int | str, ...]


def build_graph(weights: Weights, options: ModelOptions) -> onnx.ModelProto:
    """Build the ONNX model of these weights; weights of n-gram features only have a graph of their scores."""
    graph = GraphBuilder()
    float32, int64 = TensorProto.FLOAT, TensorProto.INT64
    if set(weights) <= NGRAM_WEIGHTS:
        num_classes = add_features(graph, weights, options)
        return model_of(graph, {outputs.NGRAMS: (float32, ("batch", num_classes))}, {
            outputs.LENGTHS: ("batch", num_classes), outputs.NORMS: ("batch", num_classes),
            outputs.COUPLING: ("batch", 1, num_classes),
        })  # fmt: skip
    embedded = add_embedding(graph, weights, options)  # (B, T, D)
    states = add_encoder(graph, weights, options, embedded)  # (T, B, H), zero after the end of a text
    pooled, parts = add_pooling(graph, options, states)  # (B, H), (B, T, H)
    ngrams = outputs.NGRAMS if LEVELS in weights else None  # (B, C): other programs take them from the core
    add_head = add_capsules if options.head == "capsule" else add_linear
    num_primary, num_classes = add_head(graph, weights, options, pooled, parts, ngrams)
    inputs: dict[str, tuple[int, Shape]] = {
        outputs.IDS: (int64, ("batch", "time")), outputs.TOKEN_COUNTS: (int64, ("batch",)),
        **({ngrams: (float32, ("batch", num_classes))} if ngrams else {}),
    }  # fmt: skip
    return model_of(graph, inputs, {
        outputs.LENGTHS: ("batch", num_classes),
        outputs.NORMS: ("batch", num_classes),
        outputs.COUPLING: ("batch", num_primary, num_classes),
        outputs.CONTRIBUTIONS: ("batch", "time", num_classes),
    })  # fmt: skip


def model_of(
    graph: GraphBuilder, inputs: Mapping[str, tuple[int, Shape]], results: Mapping[str, Shape]
) -> onnx.ModelProto:
    """The ONNX model of a graph with inputs of these types and shapes, and float results of these shapes."""
    value = helper.make_tensor_value_info
    graph_inputs = [value(name, kind, shape) for name, (kind, shape) in inputs.items()]
    graph_outputs = [value(name, TensorProto.FLOAT, shape) for name, shape in results.items()]
    proto = helper.make_graph(graph.nodes, "capsulet", graph_inputs, graph_outputs, list(graph.constants.values()))
    model = helper.make_model(
        proto, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION, producer_name="capsulet"
    )
    onnx.checker.check_model(model)
    return model


def add_encoder(graph: GraphBuilder, weights: Weights, options: ModelOptions, embedded: str) -> str:
    """Encode vectors (B, T, D) as states (T, B, H): the sum of both directions, zero after the end of a text."""
    sequence_lens = graph.add("Cast", outputs.TOKEN_COUNTS, to=TensorProto.INT32)
    inputs = graph.add("Transpose", embedded, perm=[1, 0, 2])
    output, hidden = "", decided(options.hidden_size)
    for layer in range(decided(options.num_layers)):
        if layer:  # (T, 2, B, H) -> (T, B, 2H)
            inputs = graph.add("Transpose", output, perm=[0, 2, 1, 3])
            inputs = graph.add("Reshape", inputs, graph.integers(0, 0, -1))
        output = graph.add(
            "GRU", inputs,
            graph.matrix(f"gru{layer}_input_weights", both(weights, layer, "weight_ih"), 2, 3 * hidden, -1),
            graph.matrix(f"gru{layer}_recurrent_weights", both(weights, layer, "weight_hh"), 2, 3 * hidden, hidden),
            graph.matrix(f"gru{layer}_bias_weights", both(weights, layer, "bias_ih", "bias_hh"), 2, 6 * hidden),
            sequence_lens, direction="bidirectional", hidden_size=hidden,
            linear_before_reset=1,  # the reset gate acts on the recurrent product, as in PyTorch
        )  # fmt: skip
    states = graph.sum(output, 1)  # (T, B, H)
    # The operator should give zeros after the end of a text; the mask guards against runtimes that do not.
    time = graph.add("Gather", graph.add("Shape", states), graph.constant("zero", np.int64(0)))
    steps = graph.add("Range", graph.constant("zero", 0), time, graph.constant("one", np.int64(1)), name="steps")
    real = graph.add("Less", graph.add("Unsqueeze", steps, graph.integers(1)), outputs.TOKEN_COUNTS)  # (T, B)
    mask = graph.add("Cast", real, to=TensorProto.FLOAT)
    return graph.add("Mul", states, graph.add("Unsqueeze", mask, graph.integers(2), name="mask"))


def add_pooling(graph: GraphBuilder, options: ModelOptions, states: str) -> tuple[str, str]:
    """Pool states (T, B, H) to one per text (B, H); also return the part of each token (B, T, H), which sum to it."""
    share = POOLINGS[options.pooling]
    counts = graph.add("Cast", outputs.TOKEN_COUNTS, to=TensorProto.FLOAT)
    counts = graph.add("Unsqueeze", counts, graph.integers(1))  # (B, 1)
    weight = graph.add("Div", graph.number(share), counts)
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


def both(weights: Weights, layer: int, *kinds: str) -> Matrix:
    """Concatenate weights of both directions of a layer, gates in the order of ONNX."""
    parts = [weights[f"encoder.gru.{kind}_l{layer}{end}"] for end in ("", "_reverse") for kind in kinds]
    if isinstance(parts[0], Rounded):
        levels, scales = update_first(part.levels for part in parts), update_first(part.scales for part in parts)
        return Rounded(levels, scales, parts[0].bits)
    return update_first(parts)


def update_first(parts: Iterable[NDArray[Any]]) -> NDArray[Any]:
    """Concatenate rows, gates reordered from PyTorch's reset, update, new to ONNX's update, reset, new."""
    return np.concatenate([np.split(part, 3)[gate] for part in parts for gate in (1, 0, 2)])
