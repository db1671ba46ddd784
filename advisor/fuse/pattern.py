"""Patterns as data, and the search for them backwards from a node.

    x = Var("x")
    silu = Op("Mul", x, Op("Sigmoid", x))

A pattern says what a value is computed from. Operands of commutative operators match in either order; the same variable
must be the same value everywhere; an operator that a pattern names twice may be one node or two that compute the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache
from math import isclose
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import onnx_ir as ir

from advisor.fuse.scope import attribute

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from advisor.fuse.scope import Scope

__all__ = ["Match", "Number", "OneOf", "Op", "Pattern", "Product", "Scalar", "Var", "find", "needs", "roots"]

COMMUTATIVE = frozenset({"Add", "Max", "Min", "Mul", "Sum"})
TOLERANCE = MappingProxyType(
    {
        ir.DataType.DOUBLE: 1e-12,
        ir.DataType.FLOAT: 3e-6,
        ir.DataType.FLOAT16: 1e-3,
        ir.DataType.BFLOAT16: 8e-3,
    }
)
"""How far a constant may lie from the pattern's, relatively: its type's rounding; for float32 six digits."""


@dataclass(frozen=True)
class Var:
    """Any value; the same one wherever the name stands."""

    name: str


@dataclass(frozen=True)
class Scalar:
    """A constant of one element that equals VALUE."""

    value: float


@dataclass(frozen=True)
class Number:
    """A constant of one element, whatever its value."""

    name: str


class Op:
    """An operator of the standard set (or DOMAIN) with these inputs, all of them, and at least these attributes."""

    def __init__(self, op_type: str, *inputs: Pattern, domain: str = "", **attributes: float | str | list[int]) -> None:
        self.op_type = op_type
        self.inputs = inputs
        self.domain = domain
        self.attributes = attributes


class OneOf:
    """The first of several spellings that is there."""

    def __init__(self, *options: Pattern) -> None:
        self.options = options


class Product:
    """A product of all factors, in any order and association; division by a constant counts as its inverse."""

    def __init__(self, *factors: Pattern) -> None:
        self.factors = factors


Pattern = Var | Scalar | Number | Op | OneOf | Product


def roots(pattern: Pattern) -> frozenset[str]:
    """The operators that the last node of PATTERN can be."""
    if isinstance(pattern, Op):
        return frozenset({pattern.op_type})
    if isinstance(pattern, OneOf):
        return frozenset().union(*(roots(option) for option in pattern.options))
    if isinstance(pattern, Product):
        return frozenset({"Mul", "Div", "Pow"})
    return frozenset()


@cache
def needs(pattern: Pattern) -> frozenset[str]:
    """Operators without which PATTERN cannot be found, to look only where it can be."""
    if isinstance(pattern, Op):
        return frozenset({pattern.op_type}).union(*(needs(source) for source in pattern.inputs))
    if isinstance(pattern, OneOf):
        return frozenset.intersection(*(needs(option) for option in pattern.options))
    if isinstance(pattern, Product):
        return frozenset().union(*(needs(factor) for factor in pattern.factors))
    return frozenset()


@dataclass(frozen=True)
class Match:
    """Where a pattern was found.

    Attributes:
        scope: The graph and what is certain about it.
        nodes: The nodes that the pattern's operators stand for, the last one (the root) first.
        values: The value of each variable and number by name.
        scalars: Every constant of one element that the pattern fixed or named.
    """

    scope: Scope
    nodes: tuple[ir.Node, ...] = ()
    values: Mapping[str, ir.Value] = field(default_factory=dict)
    scalars: tuple[ir.Value, ...] = ()

    def __getitem__(self, name: str) -> ir.Value:
        return self.values[name]

    @property
    def output(self) -> ir.Value:
        """The value that a replacement must compute."""
        return self.nodes[0].outputs[0]

    def number(self, name: str) -> float:
        """The constant that the Number NAME stands for."""
        tensor = self.scope.default(self.values[name])
        assert tensor is not None, "a Number only ever matches a constant"
        return float(tensor.numpy().item())

    def attribute(self, node: ir.Node, name: str) -> Any:
        """An attribute of NODE, or the operator's default; None where there is neither."""
        return attribute(node, name, self.scope.opset)


def find(pattern: Pattern, root: ir.Node, scope: Scope) -> Iterator[Match]:
    """Every way in which ROOT is what PATTERN says."""
    if root.outputs:
        yield from _value(pattern, root.outputs[0], Match(scope))


def _value(pattern: Pattern, value: ir.Value | None, so_far: Match) -> Iterator[Match]:
    if value is None:
        return
    if isinstance(pattern, Op):
        yield from _operator(pattern, value, so_far)
    elif isinstance(pattern, OneOf):
        for option in pattern.options:
            yield from _value(option, value, so_far)
    elif isinstance(pattern, Product):
        yield from _product(pattern.factors, value, so_far)
    elif isinstance(pattern, Scalar):
        yield from _scalar(pattern.value, value, so_far)
    else:
        if isinstance(pattern, Number):
            if _element(value, so_far.scope) is None:
                return
            so_far = replace(so_far, scalars=(*so_far.scalars, value))
        known = so_far.values.get(pattern.name)
        if known is None:
            yield replace(so_far, values={**so_far.values, pattern.name: value})
        elif known is value:
            yield so_far


def _operator(pattern: Op, value: ir.Value, so_far: Match) -> Iterator[Match]:
    node = _node(value, pattern.op_type, so_far, pattern.domain)
    if node is None or not all(_has(node, *wanted, so_far.scope.opset) for wanted in pattern.attributes.items()):
        return
    inputs = list(node.inputs)
    while inputs and inputs[-1] is None:  # an optional input that is left out may be written as "" or not at all
        inputs.pop()
    if len(inputs) != len(pattern.inputs):
        return
    so_far = _with_node(so_far, node)
    yield from _all(pattern.inputs, inputs, so_far)
    if node.op_type in COMMUTATIVE and len(inputs) == 2 and pattern.inputs[0] is not pattern.inputs[1]:
        yield from _all(pattern.inputs, inputs[::-1], so_far)


def _all(patterns: Sequence[Pattern], values: Sequence[ir.Value | None], so_far: Match) -> Iterator[Match]:
    if not patterns:
        yield so_far
        return
    for match in _value(patterns[0], values[0], so_far):
        yield from _all(patterns[1:], values[1:], match)


def _product(factors: tuple[Pattern, ...], value: ir.Value, so_far: Match) -> Iterator[Match]:
    if len(factors) == 1:
        yield from _value(factors[0], value, so_far)
        return
    if (node := _node(value, "Mul", so_far)) is not None:
        within = _with_node(so_far, node)
        for subset in range(1, 2 ** len(factors) - 1):
            left = tuple(factor for i, factor in enumerate(factors) if subset >> i & 1)
            right = tuple(factor for i, factor in enumerate(factors) if not subset >> i & 1)
            for match in _value(Product(*left), node.inputs[0], within):
                yield from _value(Product(*right), node.inputs[1], match)
    elif (node := _node(value, "Div", so_far)) is not None:
        within = _with_node(so_far, node)
        for i, factor in enumerate(factors):
            if isinstance(factor, Scalar):
                for match in _value(Scalar(1 / factor.value), node.inputs[1], within):
                    yield from _value(Product(*factors[:i], *factors[i + 1 :]), node.inputs[0], match)
    elif (node := _node(value, "Pow", so_far)) is not None and all(factor is factors[0] for factor in factors):
        yield from _all((factors[0], Scalar(len(factors))), node.inputs, _with_node(so_far, node))


def _scalar(wanted: float, value: ir.Value, so_far: Match) -> Iterator[Match]:
    element = _element(value, so_far.scope)
    if element is None:
        return
    tolerance = TOLERANCE.get(element.dtype, 0.0)
    if isclose(float(element.numpy().item()), wanted, rel_tol=tolerance):
        yield replace(so_far, scalars=(*so_far.scalars, value))


def _element(value: ir.Value, scope: Scope) -> ir.TensorProtocol | None:
    """The tensor of a numeric constant of one element, of whatever rank; also of one that a caller may override."""
    tensor = scope.default(value)
    if tensor is None or tensor.size != 1 or tensor.dtype is ir.DataType.STRING:
        return None
    return tensor


def _node(value: ir.Value, op_type: str, so_far: Match, domain: str = "") -> ir.Node | None:
    """The node that computes VALUE, if it is an OP_TYPE inside the scope."""
    node = value.producer()
    if node is None or node.graph is not so_far.scope.graph or value.index() != 0:
        return None
    return node if node.op_type == op_type and node.domain == domain and not node.overload else None


def _with_node(so_far: Match, node: ir.Node) -> Match:
    return so_far if node in so_far.nodes else replace(so_far, nodes=(*so_far.nodes, node))


def _has(node: ir.Node, name: str, wanted: float | str | list[int], opset: int) -> bool:
    """Whether NODE's attribute NAME, or its default, is WANTED."""
    given = attribute(node, name, opset)
    if isinstance(wanted, float):
        return isinstance(given, float | int) and isclose(given, wanted, rel_tol=TOLERANCE[ir.DataType.FLOAT])
    return list(given) == wanted if isinstance(wanted, list) and given is not None else given == wanted
