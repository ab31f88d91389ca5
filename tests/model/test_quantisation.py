"""Numbers of few bits."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper

from capsulet.model.graph_builder import GraphBuilder
from capsulet.model.quantisation import as_rows, best_scales, from_rows, pack_bits, rounded
from capsulet.storage.onnx_runtime import onnxruntime

GENERATOR = np.random.default_rng(0)


@pytest.mark.parametrize("bits", [3, 4, 5, 6, 8])
def test_more_bits_are_nearer(bits: int) -> None:
    rows = GENERATOR.normal(size=(20, 64)).astype(np.float32) * GENERATOR.uniform(0.01, 3, size=(20, 1))
    error = np.square(rounded(rows, best_scales(rows, bits), bits).values() - rows).mean(1) / np.square(rows).mean(1)
    # a normal variable and the best of 2^b evenly spaced levels: about 6 dB a bit, less a little
    assert (error < 1.6 * 4.0 ** (0.6 - 0.9 * bits)).all()


def test_the_best_scale_is_better_than_the_widest() -> None:
    rows = GENERATOR.normal(size=(8, 256)).astype(np.float32)
    widest = np.abs(rows).max(1) / 7

    def error(scales: np.ndarray) -> float:
        return float(np.square(rounded(rows, scales, 4).values() - rows).sum())

    assert error(best_scales(rows, 4)) < 0.9 * error(widest)


def test_rows_of_zeros_stay_zero() -> None:
    rows = np.zeros((3, 8), np.float32)
    assert (rounded(rows, best_scales(rows, 4), 4).values() == 0).all()


@pytest.mark.parametrize(
    ("name", "shape"),
    [("head.transforms", (2, 3, 5, 4)), ("embedding.codebooks", (4, 16, 6)), ("encoder.gru.bias_ih_l0", (12,)),
     ("encoder.gru.weight_ih_l0", (12, 7)), ("head.weight", (5, 4))],
)  # fmt: skip
def test_rows_and_back(name: str, shape: tuple[int, ...]) -> None:
    weight = GENERATOR.normal(size=shape)
    rows = as_rows(name, weight)
    assert rows.ndim == 2
    assert (from_rows(name, rows, shape) == weight).all()


def evaluate(graph: GraphBuilder, output: str, kind: int) -> np.ndarray:
    """The value of a graph of constants."""
    proto = helper.make_graph(
        graph.nodes,
        "constants",
        [],
        [helper.make_tensor_value_info(output, kind, None)],
        list(graph.constants.values()),
    )
    model = helper.make_model(proto, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {})[0]


@pytest.mark.parametrize("bits", range(1, 9))
@pytest.mark.parametrize("count", [1, 3, 8, 11])
def test_the_graph_unpacks_what_was_packed(bits: int, count: int) -> None:
    levels = GENERATOR.integers(0, 2**bits, size=(50, count), dtype=np.uint8)
    graph = GraphBuilder()
    found = graph.unpack(graph.constant("packed", pack_bits(levels, bits)), count, bits)
    assert (evaluate(graph, found, TensorProto.INT32) == levels).all()
    assert pack_bits(levels, bits).shape == (50, -(-count * bits // 8))


@pytest.mark.parametrize("bits", [3, 4, 5, 6, 8])
def test_the_graph_knows_the_values(bits: int) -> None:
    rows = GENERATOR.normal(size=(6, 7)).astype(np.float32)
    matrix = rounded(rows, best_scales(rows, bits), bits)
    graph = GraphBuilder()
    found = evaluate(graph, graph.matrix("some", matrix, 2, 3, 7), TensorProto.FLOAT)
    assert (found.reshape(6, 7) == matrix.values()).all()
