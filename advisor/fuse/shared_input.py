"""Products of one input, such as the queries, keys and values of attention, as one product with all their weights.

Each product, with what is done to its columns behind it (bias, scale), is a branch. The branches are followed side by
side for as long as they do the same; their constants are put beside each other, and Split gives each its columns back.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from advisor.fuse import legality
from advisor.fuse.edits import remove, unique, values_in
from advisor.fuse.rewrite import Site, label
from advisor.fuse.scope import OVERRIDABLE_SINCE, Facts, Scope, attribute
from advisor.fuse.transform import Applied

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from advisor.fuse.rule import Family

__all__ = ["SHARED_INPUT"]

PRODUCTS = frozenset({"MatMul", "Gemm", "MatMulInteger"})
COLUMNWISE = frozenset({"Add", "Cast", "Div", "Mul", "Sub"})
"""Operators that do the same to every column, given their constants."""
SPLIT_INPUT_SINCE = 13
"""The opset from which on Split's sizes are an input."""


@dataclass(frozen=True)
class Side:
    """A node of the merged branches: like NODE of one of them, with these inputs."""

    node: ir.Node
    inputs: tuple[Operand | None, ...]


Operand = ir.Value | ir.TensorProtocol | Side
"""What the merged branches have in common, or their constants beside each other, or what is computed of such."""


@dataclass(frozen=True)
class Merge:
    """Branches that go together.

    Attributes:
        branches: The nodes of each, first to last.
        sizes: Number of columns of each.
        result: What they all compute, beside each other.
    """

    branches: tuple[tuple[ir.Node, ...], ...]
    sizes: tuple[int, ...]
    result: Side


class _SharedInput:
    id = "shared-input"
    family: Family = "gemm"
    description = "products of one input with constant weights, as of queries, keys and values, become one"

    def apply(self, model: ir.Model, *, provider: str, accept: Callable[[Site], bool]) -> Applied:
        """Merge what ACCEPT takes; the order of the nodes decides which branch comes first."""
        facts, sites = Facts(model), []
        if model.ir_version < OVERRIDABLE_SINCE:
            return Applied(model, ())
        names = Counter(node.name for graph in model.graphs() for node in graph if node.name)
        taken = {value.name or "" for graph in model.graphs() for value in values_in(graph)} | set(names)
        for graph in list(model.graphs()):
            scope = Scope(graph, model, provider, facts)
            for merge in list(_merges(scope)):
                nodes = tuple(label(node, names) for branch in merge.branches for node in branch)
                first = merge.branches[0]
                shapes = (first[0].inputs[0], *(branch[0].inputs[1] for branch in merge.branches))
                group = " ".join(legality.dims_text(scope.shape(value)) for value in shapes if value is not None)
                value = first[-1].outputs[0].name or ""
                site = Site(self.id, self.family, nodes, value, "applied", "", group)
                if accept(site):
                    _write(merge, scope, taken)
                    sites.append(site)
        return Applied(model, tuple(sites))


SHARED_INPUT = _SharedInput()


def _merges(scope: Scope) -> Iterator[Merge]:
    """Every two or more products of one value that can be one."""
    order = {node: index for index, node in enumerate(scope.graph) if _mergeable(node, scope)}
    kinds: dict[object, list[ir.Node]] = {}
    for node in order:
        kinds.setdefault((node.inputs[0], _kind(node)), []).append(node)
    for nodes in kinds.values():
        if len(nodes) > 1 and (merge := _merge(nodes, scope)) is not None:
            yield merge


def _kind(node: ir.Node) -> tuple[object, ...]:
    """What must be the same of nodes that are to be one."""
    attributes = tuple(sorted((name, repr(given.value)) for name, given in node.attributes.items()))  # 0.0 is not -0.0
    return node.op_type, node.domain, len(node.inputs), attributes


def _mergeable(node: ir.Node, scope: Scope) -> bool:
    """Whether NODE multiplies by a constant matrix of floats, or of integers to be scaled afterwards."""
    if node.op_type not in PRODUCTS or node.domain or len(node.inputs) < 2 or node.inputs[0] is None:
        return False
    producer = node.inputs[0].producer()
    weight = _tensor(node.inputs[1], scope)
    return (
        weight is not None
        and len(weight.shape) == 2
        and (weight.dtype in legality.FLOATS or node.op_type == "MatMulInteger")
        and (producer is None or producer.op_type != "DequantizeLinear")
    )


def _tensor(value: ir.Value | None, scope: Scope) -> ir.TensorProtocol | None:
    """The tensor of a constant that no caller may override."""
    return None if value is None or scope.overridable(value) else scope.default(value)


def _merge(nodes: Sequence[ir.Node], scope: Scope) -> Merge | None:
    """NODES as one, with all that can be taken along."""
    axis = 0 if nodes[0].op_type == "Gemm" and attribute(nodes[0], "transB", scope.opset) else 1
    weights = [_tensor(node.inputs[1], scope) for node in nodes]
    tensors = [tensor for tensor in weights if tensor is not None]
    if len({(tensor.dtype, int(tensor.shape.numpy()[1 - axis])) for tensor in tensors}) != 1:
        return None
    sizes = tuple(int(tensor.shape.numpy()[axis]) for tensor in tensors)
    rank = 2 if nodes[0].op_type == "Gemm" else _certain_rank(nodes[0].inputs[0], scope)
    others = _sides([node.inputs[2:] for node in nodes], sizes, rank, scope)
    if others is None:
        return None
    result = Side(nodes[0], (nodes[0].inputs[0], _beside(tensors, axis), *others))
    branches = [[node] for node in nodes]
    while (step := _next([branch[-1] for branch in branches], result, sizes, rank, scope)) is not None:
        followers, result = step
        for branch, node in zip(branches, followers, strict=True):
            branch.append(node)
    if nodes[0].op_type == "MatMulInteger" and len(branches[0]) < 3:
        return None  # integers alone: ONNX Runtime fuses each product with its scale, which would come apart
    return Merge(tuple(tuple(branch) for branch in branches), sizes, result)


def _next(
    ends: Sequence[ir.Node], result: Side, sizes: tuple[int, ...], rank: int, scope: Scope
) -> tuple[list[ir.Node], Side] | None:
    """What follows on all branches, if it is the same."""
    uses = [tuple(node.outputs[0].uses()) for node in ends]
    if any(len(of_one) != 1 or node.outputs[0].is_graph_output() for of_one, node in zip(uses, ends, strict=True)):
        return None
    followers = [of_one[0].node for of_one in uses]
    positions = {of_one[0].idx for of_one in uses}
    first = followers[0]
    if (
        first.op_type not in COLUMNWISE
        or first.domain
        or len(set(followers)) != len(followers)
        or len({_kind(node) for node in followers}) != 1
        or any(node.graph is not scope.graph for node in followers)
        or len(positions) != 1
    ):
        return None
    position = positions.pop()
    others = _sides([[v for i, v in enumerate(node.inputs) if i != position] for node in followers], sizes, rank, scope)
    if others is None:
        return None
    inputs = (*others[:position], result, *others[position:])
    return followers, Side(first, inputs)


def _sides(
    inputs: Sequence[Sequence[ir.Value | None]], sizes: tuple[int, ...], rank: int, scope: Scope
) -> tuple[Operand | None, ...] | None:
    """The further inputs of nodes that become one, position by position; None where they do not go together."""
    found: list[Operand | None] = []
    for values in zip(*inputs, strict=True):
        if all(value is None for value in values):
            found.append(None)
            continue
        given = [value for value in values if value is not None]
        side = _side(given, sizes, rank, scope) if len(given) == len(values) else None
        if side is None:
            return None
        found.append(side)
    return tuple(found)


def _side(values: Sequence[ir.Value], sizes: tuple[int, ...], rank: int, scope: Scope) -> Operand | None:
    """One operand in the place of VALUES, one of each branch."""
    dims = scope.shape(values[0])
    if len(set(values)) == 1 and dims is not None and dims[-1:] in {(), (1,)}:
        return values[0]
    tensors = [tensor for tensor in (_tensor(value, scope) for value in values) if tensor is not None]
    if len(tensors) == len(values):
        fits = (_is_row(tuple(t.shape.numpy()), size, rank) for t, size in zip(tensors, sizes, strict=True))
        if len({tensor.dtype for tensor in tensors}) == 1 and all(fits):
            return _beside(tensors, 0, sizes)
        return None
    nodes = [node for node in (value.producer() for value in values) if node is not None]
    if (
        len(nodes) == len(values)
        and nodes[0].op_type in COLUMNWISE
        and not nodes[0].domain
        and all(node.graph is scope.graph for node in nodes)
        and len({_kind(node) for node in nodes}) == 1
        and (inputs := _sides([node.inputs for node in nodes], sizes, rank, scope)) is not None
    ):
        return Side(nodes[0], inputs)
    return None


def _certain_rank(value: ir.Value | None, scope: Scope) -> int:
    """How many dimensions the products have at least: as many as what they multiply."""
    return (None if value is None else scope.rank(value)) or 1


def _is_row(shape: tuple[int, ...], size: int, rank: int) -> bool:
    """Whether a constant of SHAPE is one number, or one for each of SIZE columns."""
    return len(shape) <= rank and all(dim == 1 for dim in shape[:-1]) and shape[-1:] in {(), (1,), (size,)}


def _beside(tensors: Sequence[ir.TensorProtocol], axis: int, sizes: tuple[int, ...] | None = None) -> ir.LazyTensor:
    """TENSORS one beside the other, read when needed; with SIZES, each is a row that is widened to its size first."""

    def joined() -> ir.TensorProtocol:
        arrays: list[Any] = [tensor.numpy() for tensor in tensors]
        if sizes is not None:
            arrays = [np.broadcast_to(a.reshape(-1), (size,)) for a, size in zip(arrays, sizes, strict=True)]
        return ir.tensor(np.concatenate(arrays, axis=axis), dtype=tensors[0].dtype)

    dims = [int(size) for size in tensors[0].shape.numpy()] if sizes is None else [0]
    dims[axis] = sum(sizes) if sizes is not None else sum(int(tensor.shape.numpy()[axis]) for tensor in tensors)
    return ir.LazyTensor(joined, dtype=tensors[0].dtype, shape=ir.Shape(dims), cache=True)


def _write(merge: Merge, scope: Scope, taken: set[str]) -> None:
    """Put the merged branches, and a Split, in the place of the branches."""
    ends = {branch[-1] for branch in merge.branches}
    before = next(node for node in scope.graph if node in ends)  # all that the ends read is there by then
    base = f"{merge.branches[0][-1].outputs[0].name}/shared"

    def constant(tensor: ir.TensorProtocol) -> ir.Value:
        name = unique(f"{base}/constant", taken)
        value = ir.Value(
            name=name, type=ir.TensorType(tensor.dtype), shape=ir.Shape(tensor.shape.numpy()), const_value=tensor
        )
        tensor.name = name
        scope.graph.register_initializer(value)
        return value

    def written(operand: Operand | None) -> ir.Value | None:
        if operand is None or isinstance(operand, ir.Value):
            return operand
        if not isinstance(operand, Side):
            return constant(operand)
        like = operand.node
        node = ir.node(like.op_type, [written(source) for source in operand.inputs], attributes=like.attributes)
        return add(node, 1)[0]

    def add(node: ir.Node, outputs: int) -> Sequence[ir.Value]:
        node.name = unique(f"{base}/{node.op_type}", taken)
        for value in node.outputs:
            value.name = unique(f"{base}/{node.op_type}/output", taken)
        assert len(node.outputs) == outputs
        scope.graph.insert_before(before, node)
        return node.outputs

    total = written(merge.result)
    sizes, axis = list(merge.sizes), -1
    if scope.opset >= SPLIT_INPUT_SINCE:
        inputs = [total, constant(ir.tensor(np.array(sizes, np.int64)))]
        split = ir.node("Split", inputs, attributes={"axis": axis}, num_outputs=len(sizes))
    else:
        split = ir.node("Split", [total], attributes={"axis": axis, "split": sizes}, num_outputs=len(sizes))
    for branch, part in zip(merge.branches, add(split, len(sizes)), strict=True):
        old = branch[-1].outputs[0]
        name = old.name
        part.type, part.shape, part.doc_string = old.type, old.shape, old.doc_string
        scope.facts[part] = scope.facts[old]
        old.replace_all_uses_with(part, replace_graph_outputs=True)
        old.name, part.name = None, name
        remove(branch)
