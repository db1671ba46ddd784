"""Nodes that give what they get, and nodes whose results nobody uses."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np
from onnx_ir.passes.common import RemoveUnusedNodesPass

from advisor.fuse.scope import Scope, attribute
from advisor.fuse.structure.structure import Structure, scopes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import onnx_ir as ir

    from advisor.fuse.scope import Dims

__all__ = ["NO_OPS"]

INFERENCE_OPSET = 7
"""From it on, Dropout drops nothing unless it is told to."""
AXES_OPSET = 10
"""From it on, Slice takes starts, ends, axes and steps as inputs."""
PADS_OPSET = 11
"""From it on, Pad takes pads as an input."""


def _remove(model: ir.Model, provider: str) -> None:
    for scope in scopes(model, provider):
        for node in list(scope.graph):
            does_nothing = DOES_NOTHING.get(node.op_type)
            if does_nothing is None or node.domain or not node.inputs or node.inputs[0] is None:
                continue
            if any(value.uses() or value.is_graph_output() for value in node.outputs[1:]):
                continue
            if does_nothing(node, scope):
                _bypass(node, scope.graph)
    RemoveUnusedNodesPass()(model)


def _bypass(node: ir.Node, graph: ir.Graph) -> None:
    """Let the users of NODE's output use its input.

    onnx-ir has a pass for Identity, which renames the input where the output is one of the graph's, also where the
    input is another one of them, or comes from an outer graph.
    """
    source, output = node.inputs[0], node.outputs[0]
    assert source is not None, "checked"
    if output.is_graph_output():
        producer = source.producer()
        if producer is None or producer.graph is not graph or source.is_graph_output():
            return
        name = output.name
        output.replace_all_uses_with(source, replace_graph_outputs=True)
        output.name, source.name = None, name
        source.type, source.shape = output.type or source.type, output.shape or source.shape
    else:
        output.replace_all_uses_with(source)
    graph.remove(node, safe=True)


def _same_type(node: ir.Node, scope: Scope) -> bool:
    dtype = scope.dtype(node.inputs[0])  # type: ignore[arg-type]
    return dtype is not None and dtype == attribute(node, "to", scope.opset)


def _no_training(node: ir.Node, scope: Scope) -> bool:
    if scope.opset < INFERENCE_OPSET:
        return False
    if len(node.inputs) < 3 or node.inputs[2] is None:
        return True
    training = scope.constant(node.inputs[2])
    return training is not None and not training.any()


def _same_order(node: ir.Node, scope: Scope) -> bool:
    order = attribute(node, "perm", scope.opset)
    if order is not None:
        return list(order) == list(range(len(order)))
    rank = scope.rank(node.inputs[0])  # type: ignore[arg-type]
    return rank is not None and rank < 2


def _same_shape(node: ir.Node, scope: Scope) -> bool:
    """Whether input and output have the same dimensions in every run, as far as they are known before."""
    before, after = scope.shape(node.inputs[0]), scope.shape(node.outputs[0])  # type: ignore[arg-type]
    if before is None:
        return False
    sizes = scope.sizes(node.inputs[0])  # type: ignore[arg-type]
    if (before == after and None not in before) or (sizes is not None and sizes == scope.sizes(node.outputs[0])):
        return True
    target = None if len(node.inputs) < 2 or node.inputs[1] is None else scope.constant(node.inputs[1])
    if target is None or len(target) != len(before):
        return False
    wanted = [int(dim) for dim in target]
    return (
        _keeps(wanted, before)
        if node.op_type == "Reshape" and not attribute(node, "allowzero", scope.opset)
        else (node.op_type == "Expand" and all(dim in (1, known) for dim, known in zip(wanted, before, strict=True)))
    )


def _keeps(target: Sequence[int], before: Dims) -> bool:
    """Whether a Reshape to TARGET, in which 0 stands for the same and -1 for the rest, leaves BEFORE as it is."""
    others = [(dim, known) for dim, known in zip(target, before, strict=True) if dim != -1]
    # Where another dimension may be 0, the rest is not determined.
    return all(dim in (0, known) for dim, known in others) and prod(known or 1 for _, known in others) > 0


def _only_input(node: ir.Node, _: Scope) -> bool:
    return len(node.inputs) == 1


def _one(node: ir.Node, scope: Scope) -> bool:
    """Whether a factor (or divisor) is one in every element and does not make the result larger."""
    factor, rank = node.inputs[1], scope.rank(node.inputs[0])  # type: ignore[arg-type]
    if scope.opset < INFERENCE_OPSET or factor is None or rank is None:
        return False
    array = scope.constant(factor)
    return array is not None and array.size == 1 and array.ndim <= rank and array.item() == 1


def _no_padding(node: ir.Node, scope: Scope) -> bool:
    if scope.opset < PADS_OPSET:
        pads = attribute(node, "pads", scope.opset)
        return pads is not None and not any(pads)
    pads = None if len(node.inputs) < 2 or node.inputs[1] is None else scope.constant(node.inputs[1])
    return pads is not None and not pads.any()


def _whole(node: ir.Node, scope: Scope) -> bool:
    """Whether a Slice takes everything: from 0 to beyond every size, in steps of 1."""
    if scope.opset < AXES_OPSET or any(value is None for value in node.inputs[1:3]):
        return False
    arrays = [None if value is None else scope.constant(value) for value in (*node.inputs[1:3], *node.inputs[4:5])]
    if any(array is None for array in arrays):
        return False
    starts, ends, *steps = (array for array in arrays if array is not None)
    return not starts.any() and bool((ends >= np.iinfo(np.int32).max).all()) and all((s == 1).all() for s in steps)


DOES_NOTHING: dict[str, Callable[[ir.Node, Scope], bool]] = {
    "Identity": _only_input,
    "Cast": _same_type,
    "Dropout": _no_training,
    "Transpose": _same_order,
    "Reshape": _same_shape,
    "Expand": _same_shape,
    "Concat": _only_input,
    "Sum": _only_input,
    "Max": _only_input,
    "Min": _only_input,
    "Mean": _only_input,
    "Mul": _one,
    "Div": _one,
    "Pad": _no_padding,
    "Slice": _whole,
}

NO_OPS = Structure(
    "no-ops", "Nodes that give what they get, and nodes whose results nobody uses, are taken out.", _remove
)
