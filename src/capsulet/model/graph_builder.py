"""Collect the nodes and constants of an ONNX graph."""

from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from capsulet.model.quantisation import FIELDS, Rounded, grouped

EPSILON = 1e-12  # as in model/routing.py
OPSET = 17
Matrix = NDArray[Any] | Rounded
Weights = dict[str, Any]  # name to Matrix


class GraphBuilder:
    """Nodes and constants of a graph; every method returns the name of its result."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, onnx.TensorProto] = {}

    def constant(self, name: str, value: Any) -> str:
        """Add a constant; adding the same name and value again has no effect."""
        tensor = numpy_helper.from_array(np.ascontiguousarray(value), name)
        assert self.constants.setdefault(name, tensor) == tensor, f"{name} is two constants"
        return name

    def integers(self, *values: int) -> str:
        """Add a constant vector of integers, such as axes or shapes."""
        return self.constant("int_" + "_".join(map(str, values)), np.array(values, dtype=np.int64))

    def number(self, value: float) -> str:
        """Add a constant float."""
        return self.constant(f"number_{value:g}", np.float32(value))

    def matrix(self, name: str, value: Matrix, *shape: int) -> str:
        """Add a constant matrix, stored as floats or rounded, and reshape it."""
        if not isinstance(value, Rounded):
            return self.constant(name, value.reshape(shape))
        rows, columns = value.levels.shape
        if value.bits == 8:
            levels = self.constant(f"{name}_bytes", value.levels)
        else:
            packed = self.constant(f"{name}_bits", grouped(value.levels, value.bits))  # (G, bits)
            levels = self.unpack(packed, FIELDS, value.bits)  # (G, 8)
            if rows * columns % FIELDS:
                flat = self.add("Reshape", levels, self.integers(-1))
                levels = self.add("Slice", flat, self.integers(0), self.integers(rows * columns))
            levels = self.add("Reshape", levels, self.integers(rows, columns))
        centred = self.add("Sub", self.add("Cast", levels, to=TensorProto.FLOAT), self.number(2 ** (value.bits - 1)))
        scales = self.constant(f"{name}_scales", value.scales[:, None])
        values = self.add("Mul", centred, self.add("Cast", scales, to=TensorProto.FLOAT))
        return self.add("Reshape", values, self.integers(*shape), name=name)

    def unpack(self, packed: str, count: int, bits: int) -> str:
        """Unpack fields of `bits` bits from bytes of the last axis: uint8 (…, bytes) -> int32 (…, count)."""
        starts = bits * np.arange(count)
        first, last, divisors = starts // 8, (starts + bits - 1) // 8, 2 ** (starts % 8)  # bytes of a field, its shift
        wide = self.add("Cast", packed, to=TensorProto.INT32)
        fields = self.add("Gather", wide, self.integers(*first), axis=-1)
        if (first != last).any():  # some fields end in the next byte
            higher = self.add("Gather", wide, self.integers(*last), axis=-1)
            fields = self.add("Add", fields, self.add("Mul", higher, self.constant("byte", np.int32(256))))
        fields = self.add("Div", fields, self.constant(f"divisors_{count}_{bits}", divisors.astype(np.int32)))
        return self.add("Mod", fields, self.constant(f"mask_{bits}", np.int32(2**bits)))

    def add(self, kind: str, *inputs: str, name: str = "", **attributes: Any) -> str:
        """Add a node with one result."""
        name = name or f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name=f"node_{name}", **attributes))
        return name

    def sum(self, value: str, axis: int, keep: bool = False) -> str:
        """Sum over one axis."""
        return self.add("ReduceSum", value, self.integers(axis), keepdims=int(keep))

    def norm(self, value: str) -> str:
        """Euclidean norms over the last axis, which stays with size 1."""
        squares = self.sum(self.add("Mul", value, value), -1, keep=True)
        return self.add("Sqrt", self.add("Add", squares, self.number(EPSILON)))
