"""Random small graphs of the operators that patterns are made of: whatever is fused in them, they compute the same."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import helper

from tests.fuse.graphs import Arrays, assert_same, rewritten

FLOAT = onnx.TensorProto.FLOAT
NUMBERS = (0.0, 0.5, 1.0, 2.0, 3.0, 6.0, 1 / 6, 0.044715, 0.7978845608, 2**-0.5, 2**0.5, 1e-5)
UNARY = ("Sigmoid", "Erf", "Tanh", "Sqrt", "Reciprocal", "Relu", "Neg", "HardSigmoid")
BINARY = ("Add", "Mul", "Sub", "Div", "Max", "Min")
SIZE = 4


@dataclass
class Sketch:
    """A graph under construction; every value is a float tensor of known shape."""

    draw: Any
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    weights: Arrays = field(default_factory=dict)
    values: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def pick(self) -> str:
        """A value, the latest ones more often."""
        names = list(self.values)
        return str(self.draw(st.sampled_from(names + names[-3:])))

    def number(self) -> str:
        """A constant of one element, of a shape that exporters write."""
        value, shape = self.draw(st.sampled_from(NUMBERS)), self.draw(st.sampled_from([(), (), (1,), (1, 1)]))
        return self.weight(np.full(shape, value, "float32"))

    def weight(self, array: np.ndarray[Any, Any]) -> str:
        name = f"w{len(self.weights)}"
        self.weights[name] = array
        return name

    def shape(self, name: str) -> tuple[int, ...]:
        return self.weights[name].shape if name in self.weights else self.values[name]

    def add(self, op_type: str, *inputs: str, shape: tuple[int, ...] | None = None, **attributes: Any) -> str:
        output = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op_type, inputs, [output], **attributes))
        if shape is None:
            shape = np.broadcast_shapes(*(self.shape(name) for name in inputs))
        self.values[output] = shape
        return output

    def swapped(self, op_type: str, left: str, right: str) -> str:
        """A commutative operator with its operands in either order."""
        return self.add(op_type, *((left, right) if self.draw(st.booleans()) else (right, left)))

    def anything(self) -> None:
        """One operator on what is there."""
        kind = self.draw(st.sampled_from(["unary", "binary", "number", "mean", "matmul"]))
        value = self.pick()
        if kind == "unary":
            self.add(self.draw(st.sampled_from(UNARY)), value)
        elif kind == "binary":
            other = self.pick()
            try:
                np.broadcast_shapes(self.shape(value), self.shape(other))
            except ValueError:
                return
            self.add(self.draw(st.sampled_from(BINARY)), value, other)
        elif kind == "number":
            self.swapped(self.draw(st.sampled_from(["Add", "Mul", "Max", "Min"])), value, self.number())
        elif kind == "mean" and self.shape(value):
            axis = self.draw(st.integers(-len(self.shape(value)), len(self.shape(value)) - 1))
            shape = list(self.shape(value))
            shape[axis] = 1
            self.add("ReduceMean", value, shape=tuple(shape), axes=[axis])
        elif kind == "matmul" and len(self.shape(value)) == 2:
            columns = self.draw(st.sampled_from([1, SIZE]))
            factor = self.weight(
                np.random.default_rng(columns).standard_normal((self.shape(value)[1], columns)).astype("f4")
            )
            self.add("MatMul", value, factor, shape=(self.shape(value)[0], columns))

    def pattern(self) -> None:
        """Something that a rule looks for, perhaps with a part of it replaced by another value or constant."""
        kind = self.draw(st.sampled_from(["silu", "hard-swish", "gelu", "norm", "norm", "gemm"]))
        x = self.pick()
        y = x if self.draw(st.integers(0, 5)) else self.pick()
        if y != x and self.shape(y) != self.shape(x):
            return
        if kind == "silu":
            self.swapped("Mul", y, self.add("Sigmoid", x))
        elif kind == "hard-swish":
            shifted = self.swapped("Add", x, self.scalar(3))
            limits = (self.weight(np.array(limit, "float32")) for limit in (0, 6))
            clipped = self.add("Clip", shifted, *limits, shape=self.shape(shifted))
            self.add("Div", self.swapped("Mul", y, clipped), self.scalar(6))
        elif kind == "gelu":
            inner = self.swapped("Add", self.add("Erf", self.add("Div", x, self.scalar(2**0.5))), self.scalar(1))
            self.swapped("Mul", self.swapped("Mul", y, inner), self.scalar(0.5))
        elif kind == "gemm" and len(self.shape(x)) == 2:
            factor = self.weight(np.random.default_rng(1).standard_normal((self.shape(x)[1], SIZE)).astype("f4"))
            product = self.add("MatMul", x, factor, shape=(self.shape(x)[0], SIZE))
            self.swapped("Add", product, self.draw(st.sampled_from([self.number(), self.per_feature(SIZE)])))
        elif kind == "norm" and self.shape(x):
            self.normalisation(x, y, centre=self.draw(st.booleans()))

    def normalisation(self, x: str, y: str, *, centre: bool) -> None:
        axis = self.draw(st.sampled_from([-1, -1, -1, len(self.shape(x)) - 1, 0]))
        reduced = list(self.shape(x))
        reduced[axis] = 1
        kept = tuple(reduced)
        centred = self.add("Sub", x, self.add("ReduceMean", x, shape=kept, axes=[axis])) if centre else x
        variance = self.add("ReduceMean", self.add("Mul", centred, centred), shape=kept, axes=[axis])
        root = self.add("Sqrt", self.add("Add", variance, self.scalar(1e-3)))
        if self.draw(st.booleans()):
            normalised = self.add("Div", centred if y == x else y, root)
        else:
            normalised = self.swapped("Mul", centred if y == x else y, self.add("Reciprocal", root))
        if self.draw(st.booleans()):
            normalised = self.swapped("Mul", normalised, self.per_feature(self.shape(x)[-1]))
            if self.draw(st.booleans()):
                self.swapped("Add", normalised, self.per_feature(self.shape(x)[-1]))

    def scalar(self, value: float) -> str:
        """VALUE, most often; of shape [] or [1]."""
        if self.draw(st.integers(0, 9)) == 0:
            return self.number()
        return self.weight(np.full(self.draw(st.sampled_from([(), (1,)])), value, "float32"))

    def per_feature(self, size: int) -> str:
        shape = self.draw(st.sampled_from([(size,), (size,), (1, size), (1,), ()]))
        return self.weight(np.random.default_rng(size).standard_normal(shape).astype("float32"))


@st.composite
def graphs(draw: st.DrawFn) -> tuple[onnx.ModelProto, Arrays]:
    """A model with up to three inputs, some values besides the last as outputs, and inputs for it."""
    sketch = Sketch(draw)
    shapes = draw(
        st.lists(st.sampled_from([(3, SIZE), (2, 3, SIZE), (SIZE,), (1, SIZE), (3, 1)]), min_size=1, max_size=3)
    )
    inputs = {f"x{index}": shape for index, shape in enumerate(shapes)}
    sketch.values.update(inputs)
    for _ in range(draw(st.integers(1, 4))):
        sketch.pattern()
        for _ in range(draw(st.integers(0, 2))):
            sketch.anything()
    if not sketch.nodes:
        sketch.add("Neg", "x0")
    computed = [name for name in sketch.values if name not in inputs]
    outputs = {computed[-1], *draw(st.lists(st.sampled_from(computed), max_size=2))}
    dynamic = draw(st.booleans())
    graph = helper.make_graph(
        sketch.nodes,
        "random",
        [
            helper.make_tensor_value_info(
                name, FLOAT, [f"{name}_rows", *dims[1:]] if dynamic and len(dims) > 1 else dims
            )
            for name, dims in inputs.items()
        ],
        [helper.make_tensor_value_info(name, FLOAT, None) for name in sorted(outputs)],
        [onnx.numpy_helper.from_array(array, name) for name, array in sketch.weights.items()],
    )
    generator = np.random.default_rng(0)
    feeds = {name: generator.standard_normal(dims).astype("float32") for name, dims in inputs.items()}
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), feeds


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(graphs())
def test_a_random_graph_computes_the_same_after_it_was_rewritten(drawn: tuple[onnx.ModelProto, Arrays]) -> None:
    proto, feeds = drawn
    before = ir.from_proto(proto)
    after, sites = rewritten(before)
    assert len(set(sites)) == len(sites)
    assert_same(before, after, feeds, optimisation=(False,))
