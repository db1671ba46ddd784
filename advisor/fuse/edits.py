"""What every rewrite does to a graph: take nodes out with what only they needed, and find names that are free."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Iterator

    import onnx_ir as ir

__all__ = ["remove", "unique", "values_in"]


def remove(nodes: Iterable[ir.Node]) -> None:
    """Take out NODES that nothing uses any more, and then what only they needed: other nodes, constants, weights."""
    unneeded = list(nodes)
    while unneeded:
        node = unneeded.pop()
        if node.graph is None or any(value.uses() or value.is_graph_output() for value in node.outputs):
            continue
        inputs = [value for value in node.inputs if value is not None]
        node.graph.remove(node, safe=True)
        for value in inputs:
            producer = value.producer()
            if producer is not None:
                unneeded.append(producer)
            elif value.is_initializer() and not (value.uses() or value.is_graph_input() or value.is_graph_output()):
                assert value.graph is not None, "an initialiser belongs to a graph"
                del value.graph.initializers[value.name or ""]


def unique(name: str, taken: set[str] | Counter[str]) -> str:
    """NAME, with a number where something else has it, marked as taken."""
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    taken.update([free])
    return free


def values_in(graph: ir.Graph) -> Iterator[ir.Value]:
    """The values that GRAPH itself has: inputs, initialisers, and what its nodes compute."""
    yield from chain(graph.inputs, graph.initializers.values(), *(node.outputs for node in graph))
