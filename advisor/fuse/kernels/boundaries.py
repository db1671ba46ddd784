"""Operators that are not for generated kernels: ONNX Runtime merges them into a neighbour, or they compute shapes."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from advisor.fuse.kernels.formula import FLOATS

if TYPE_CHECKING:
    from collections.abc import Iterable

    import onnx_ir as ir

    from advisor.fuse.scope import Scope

__all__ = ["are_small", "belongs_to_neighbour", "computes_sizes"]

SMALLEST = 32
"""Elements; below them a kernel is all launch, and fusing cannot save memory traffic."""
CONVOLUTIONS = frozenset({"Conv", "FusedConv", "BatchNormalization"})
"""A normalisation is folded into the convolution before it."""
CONVOLUTION_ACTIVATIONS = frozenset({"Clip", "HardSigmoid", "LeakyRelu", "Relu", "Sigmoid", "Tanh"})
GEMM_ACTIVATIONS = frozenset(
    {"Elu", "HardSigmoid", "LeakyRelu", "Relu", "Selu", "Sigmoid", "Softplus", "Softsign", "Tanh", "ThresholdedRelu"}
)
ARITHMETIC = frozenset({"Add", "Div", "Mul", "Sub"})
INTEGER_PRODUCTS = frozenset({"ConvInteger", "MatMulInteger"})


def belongs_to_neighbour(node: ir.Node, scope: Scope) -> bool:
    """Whether ONNX Runtime computes NODE together with the convolution, product or quantisation beside it."""
    if any(user.op_type == "QuantizeLinear" for value in node.outputs for user, _ in value.uses()):
        return True
    if node.op_type == "Transpose" and node.inputs[0] is not None and scope.default(node.inputs[0]) is not None:
        return True  # computed once, while the model is loaded
    return any(
        (producer := value.producer()) is not None and _takes(producer, value, node, scope)
        for value in node.inputs
        if value is not None
    )


def _takes(producer: ir.Node, value: ir.Value, node: ir.Node, scope: Scope) -> bool:
    """Whether ONNX Runtime merges NODE into PRODUCER, whose output VALUE it reads."""
    if producer.op_type == "DequantizeLinear":
        return True
    if _scales_integers(producer, node):
        return True
    if len(value.uses()) > 1 or value.is_graph_output():
        return False
    others = [other for other in node.inputs if other is not None and other is not value]
    is_constant = all(scope.default(other) is not None for other in others)
    if producer.op_type in CONVOLUTIONS:
        # ConvAdd and ConvMul take constants, ConvAddActivation a residual.
        is_merged = node.op_type == "Add" or (node.op_type in ARITHMETIC and is_constant)
        return node.op_type in CONVOLUTION_ACTIVATIONS or is_merged
    if producer.op_type == "Add" and node.op_type == "Relu":
        sources = [source.producer() for source in producer.inputs if source is not None]
        return any(source is not None and source.op_type in CONVOLUTIONS for source in sources)
    if producer.op_type == "Gemm":
        return node.op_type in GEMM_ACTIVATIONS
    # MatMulAdd makes a Gemm of the two.
    return producer.op_type == "MatMul" and node.op_type == "Add" and is_constant and scope.rank(value) == 2


def _scales_integers(producer: ir.Node, node: ir.Node) -> bool:
    """MatMulInteger, Cast, Mul and Add are one operator."""
    steps = {"Add": "Mul", "Mul": "Cast"}
    if node.op_type == "Cast":
        return producer.op_type in INTEGER_PRODUCTS
    if steps.get(node.op_type) != producer.op_type:
        return False
    sources = (value.producer() for value in producer.inputs if value is not None)
    return any(source is not None and _scales_integers(source, producer) for source in sources)


def computes_sizes(node: ir.Node, scope: Scope) -> bool:
    """Whether NODE computes a few integers, most likely sizes and indices."""
    values = [value for value in (*node.inputs, *node.outputs) if value is not None]
    if any(scope.dtype(value) in FLOATS for value in values):
        return False
    dims = [scope.shape(value) for value in node.outputs]
    return any(known is None or len(known) < 2 for known in dims)


def are_small(values: Iterable[ir.Value], scope: Scope) -> bool:
    """Whether VALUES all have few elements, for certain."""
    dims = [scope.shape(value) for value in values]
    return all(known is not None and prod(dim or SMALLEST for dim in known) < SMALLEST for known in dims)
