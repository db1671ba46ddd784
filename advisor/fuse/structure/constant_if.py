"""An If whose condition is the same in every run becomes the branch that is taken."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx_ir as ir

from advisor.fuse.scope import OVERRIDABLE_SINCE
from advisor.fuse.structure.constants import Constants
from advisor.fuse.structure.structure import Structure

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["CONSTANT_IF"]


def _fold(model: ir.Model, _: str) -> None:
    folded = True
    while folded:  # more is known after each round: what was an If's output has a shape
        constants = Constants(model)
        graphs = (model.graph, *model.graph.subgraphs())
        folded = any([_fold_in(graph, model, constants) for graph in graphs])  # noqa: C419 - all of them


def _fold_in(graph: ir.Graph, model: ir.Model, constants: Constants) -> bool:
    """Put the branches in the place of the constant If nodes of GRAPH; whether there were any."""
    conditions = [node for node in graph if node.op_type == "If" and not node.domain]
    folded = False
    for node in conditions:
        condition = None if node.inputs[0] is None else constants[node.inputs[0]]
        if condition is None or condition.size != 1:
            continue
        branch = node.attributes["then_branch" if condition.item() else "else_branch"]
        if not branch.is_ref() and not _needs_inputs(branch.as_graph(), model):
            _replace(node, branch.as_graph(), graph)
            folded = True
    return folded


def _needs_inputs(branch: ir.Graph, model: ir.Model) -> bool:
    """Whether BRANCH has weights for which GRAPH would need an input, as before IR version 4."""
    return bool(branch.initializers) and model.ir_version < OVERRIDABLE_SINCE


def _replace(node: ir.Node, branch: ir.Graph, graph: ir.Graph) -> None:
    """Move what is in BRANCH before NODE, which goes. Names that clash are made unique afterwards."""
    results = list(branch.outputs)
    branch.outputs.clear()
    for value in list(branch.initializers.values()):
        del branch.initializers[value.name or ""]
        _register(value, graph)
    nodes = list(branch)
    branch.remove(nodes)
    graph.insert_before(node, nodes)
    for old, result in zip(node.outputs, results, strict=True):
        new = result if _may_be_renamed(result, nodes, results) else _copy(result, node, graph)
        new.type = old.type or new.type
        new.shape = old.shape or new.shape
        name = old.name
        old.replace_all_uses_with(new, replace_graph_outputs=True)
        old.name = None
        new.name = name or new.name
    graph.remove(node, safe=True)


def _register(value: ir.Value, graph: ir.Graph) -> None:
    """Make VALUE a weight of GRAPH, under a name that no other weight has."""
    name = base = value.name or "weight"
    number = 1
    while name in graph.initializers:
        number += 1
        name = f"{base}_{number}"
    value.name = name
    graph.register_initializer(value)


def _may_be_renamed(result: ir.Value, nodes: Sequence[ir.Node], results: Sequence[ir.Value]) -> bool:
    """Whether RESULT is computed in the branch, and for one output only."""
    return result.producer() in nodes and sum(other is result for other in results) == 1


def _copy(value: ir.Value, node: ir.Node, graph: ir.Graph) -> ir.Value:
    """VALUE under another name: a weight or outer value that a branch gives as it is, or one that it gives twice."""
    identity = ir.node("Identity", [value])
    graph.insert_before(node, identity)
    return identity.outputs[0]


CONSTANT_IF = Structure(
    "constant-if", "An If whose condition is the same in every run becomes the branch that is taken.", _fold
)
