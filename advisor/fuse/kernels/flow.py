"""Who needs whom among the nodes of one graph, bodies of If, Loop and Scan counted to the node that holds them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx_ir as ir

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

__all__ = ["Flow"]

FARTHEST = 4096
"""Nodes that a search for a way back into a group looks at; a group that needs more is not formed."""


class Flow:
    """The edges between the nodes of a graph.

    Attributes:
        place: Where each node stands in the graph's order.
        users: The nodes that read an output of a node.
    """

    def __init__(self, graph: ir.Graph) -> None:
        self.place = {node: place for place, node in enumerate(graph)}
        self.users: dict[ir.Node, list[ir.Node]] = {node: [] for node in graph}
        self._holders: dict[ir.Node, ir.Node] = {}
        for node in graph:
            producers = {value.producer(): None for value in self._read(node)}
            for producer in producers:
                if producer in self.users:
                    self.users[producer].append(node)

    def users_of(self, value: ir.Value) -> Iterator[ir.Node]:
        """The nodes of the graph that read VALUE, themselves or in a body."""
        for user, _ in value.uses():
            yield self._holders.get(user, user)

    def in_order(self, nodes: Iterable[ir.Node]) -> tuple[ir.Node, ...]:
        """NODES as they stand in the graph."""
        return tuple(sorted(nodes, key=self.place.__getitem__))

    def is_convex(self, nodes: Collection[ir.Node]) -> bool:
        """Whether no way leads out of NODES and back into them: then one node can stand in their place."""
        last = max(self.place[node] for node in nodes)
        seen: set[ir.Node] = set()
        todo = [user for node in nodes for user in self.users[node] if user not in nodes]
        while todo:
            node = todo.pop()
            if node in seen or self.place[node] > last:
                continue
            seen.add(node)
            if node in nodes or len(seen) > FARTHEST:
                return False
            todo += self.users[node]
        return True

    def without_cycles(self, groups: Iterable[tuple[ir.Node, ...]]) -> list[tuple[ir.Node, ...]]:
        """Those of GROUPS that can all become one node each; where some need each other, the smallest give way."""
        kept = list(groups)
        while (stuck := self._in_cycles(kept)) is not None:
            kept.remove(min(stuck, key=len))
        return kept

    def _in_cycles(self, groups: list[tuple[ir.Node, ...]]) -> list[tuple[ir.Node, ...]] | None:
        """The groups that are in a cycle or behind one; None where there is no cycle."""
        whole: dict[ir.Node, tuple[ir.Node, ...]] = {node: group for group in groups for node in group}
        units = {whole.get(node, (node,)): None for node in self.place}
        targets = {
            unit: {whole.get(user, (user,)) for node in unit for user in self.users[node]} - {unit} for unit in units
        }
        waiting = dict.fromkeys(units, 0)
        for unit in units:
            for target in targets[unit]:
                waiting[target] += 1
        ready = [unit for unit, count in waiting.items() if count == 0]
        while ready:
            unit = ready.pop()
            del waiting[unit]
            for target in targets[unit]:
                waiting[target] -= 1
                if waiting[target] == 0:
                    ready.append(target)
        return [unit for unit in waiting if len(unit) > 1] if waiting else None

    def _read(self, node: ir.Node) -> Iterator[ir.Value]:
        """What NODE reads, itself or in its bodies."""
        yield from (value for value in node.inputs if value is not None)
        for attribute in node.attributes.values():
            if attribute.is_ref() or attribute.type not in {ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS}:
                continue
            bodies = [attribute.as_graph()] if attribute.type is ir.AttributeType.GRAPH else attribute.as_graphs()
            for body in bodies:
                yield from body.outputs
                for inner in body.all_nodes():
                    self._holders[inner] = node
                    yield from (value for value in inner.inputs if value is not None)
