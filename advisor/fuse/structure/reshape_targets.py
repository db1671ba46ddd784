"""Targets of Reshape that are computed in every run, written as constants where sizes allow it.

Exporters write Concat(Gather(Shape(x), 0), Gather(Shape(x), 1), -1, 64): a dispatch for each of its nodes, and on a GPU
some wait for the host. In a constant target 0 copies a size of the input, so that of a size which stays in its place
nothing has to be known. ONNX Runtime does the same while loading, but only of the simplest targets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx_ir as ir
from onnx_ir.passes.common import RemoveUnusedNodesPass

from advisor.fuse.edits import unique, values_in
from advisor.fuse.scope import OVERRIDABLE_SINCE, attribute
from advisor.fuse.structure.structure import Structure, scopes

if TYPE_CHECKING:
    from advisor.fuse.scope import Scope
    from advisor.fuse.sizes import Elements, Sizes

__all__ = ["RESHAPE_TARGETS"]

INPUT_SINCE = 5
"""The opset from which on a target is an input."""


def _write(model: ir.Model, provider: str) -> None:
    if model.ir_version < OVERRIDABLE_SINCE:  # its initialisers would have to be inputs, too
        return
    taken = {value.name or "" for graph in model.graphs() for value in values_in(graph)}
    for scope in scopes(model, provider):
        constants: dict[tuple[int, ...], ir.Value] = {}
        for node in scope.graph:
            target = _constant(node, scope)
            if target is None:
                continue
            if target not in constants:
                tensor = ir.tensor(np.asarray(target, np.int64), name=unique(f"{node.outputs[0].name}/target", taken))
                constants[target] = ir.Value(
                    name=tensor.name,
                    type=ir.TensorType(tensor.dtype),
                    shape=ir.Shape([len(target)]),
                    const_value=tensor,
                )
                scope.graph.register_initializer(constants[target])
            node.replace_input_with(1, constants[target])
            node.attributes.pop("allowzero", None)  # a size of 0 is copied as well
    RemoveUnusedNodesPass()(model)


def _constant(node: ir.Node, scope: Scope) -> tuple[int, ...] | None:
    """What may stand in the place of the target that NODE, a Reshape, is given; None where it must be computed."""
    if node.op_type != "Reshape" or node.domain or scope.opset < INPUT_SINCE or len(node.inputs) != 2:
        return None
    source, target = node.inputs
    if source is None or target is None or scope.constant(target) is not None:
        return None
    elements = scope.elements(target)
    if elements is None:
        return None
    found = _copying(elements, scope.sizes(source) or (), scope.sizes(node.outputs[0]))
    if found is not None and attribute(node, "allowzero", scope.opset) and (0 in elements or {0, -1} <= set(found)):
        return None  # a 0 that is none of the input's, or what is left beside sizes of 0
    return found


def _copying(elements: Elements, before: Sizes, after: Sizes | None) -> tuple[int, ...] | None:
    """A target of the same meaning as one of ELEMENTS, for an input of sizes BEFORE; None where there is none."""
    found: list[int | None] = []
    for axis, element in enumerate(elements):
        size = after[axis] if after is not None and len(after) == len(elements) else None
        if isinstance(element, str):
            found.append(0 if before[axis : axis + 1] == (element,) else None)
        elif element == -1 and isinstance(size, int) and size > 0:
            found.append(size)
        else:
            found.append(None if isinstance(element, bool) else element)
    open_axes = [axis for axis, size in enumerate(found) if size is None]
    # One that is not known is what the others leave, which is no answer only where these may be 0.
    if len(open_axes) == 1 and all(size is None or size > 0 for size in found):
        found[open_axes[0]] = -1
    known = tuple(size for size in found if size is not None)
    return known if len(known) == len(found) else None


RESHAPE_TARGETS = Structure(
    "reshape-targets", "Targets of Reshape that the run computes become constants where sizes allow it.", _write
)
