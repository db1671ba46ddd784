"""A change of a model's structure: the same numbers from fewer nodes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from onnx_ir.passes.common import NameFixPass, RemoveUnusedNodesPass

from advisor.fuse.model import clone
from advisor.fuse.rewrite import Site, label
from advisor.fuse.scope import Facts, Scope
from advisor.fuse.transform import Applied, NotApplicable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import onnx_ir as ir

__all__ = ["Structure", "scopes"]


@dataclass(frozen=True)
class Structure:
    """A transform of structure; every node that it takes out is a site, and all of them are taken out or none.

    Attributes:
        id: Short, stable name.
        description: One sentence for people.
        change: Changes a model in place.
        family: Where reports put it.
    """

    id: str
    description: str
    change: Callable[[ir.Model, str], None]
    family: Literal["structure"] = "structure"

    def apply(self, model: ir.Model, *, provider: str, accept: Callable[[Site], bool]) -> Applied:
        """Change a copy of MODEL; inputs, outputs, their names, types and dimensions stay.

        Raises:
            NotApplicable: The change failed on this model.
        """
        changed = clone(model)
        outputs = [(value.name, value.type, value.shape) for value in changed.graph.outputs]
        nodes = list(changed.graph.all_nodes())
        names = Counter(node.name for node in nodes if node.name)
        # A node that is taken out may lose the names of what it computed.
        known = {node: (label(node, names), _value(node)) for node in nodes if node.op_type != "Constant"}
        try:
            self.change(changed, provider)
            if all(node.graph is not None for node in known):
                return Applied(model, ())
            RemoveUnusedNodesPass()(changed)
            _make_names_unique(changed)
        except NotApplicable:
            raise
        except Exception as error:  # of onnx-ir, onnx or ONNX Runtime, on a model that they did not expect
            raise NotApplicable(f"it failed on this model: {_first_line(error)}") from None
        for value, (name, type_, shape) in zip(changed.graph.outputs, outputs, strict=True):
            if value.name != name:
                raise NotApplicable(f"it would rename the output '{name}'")
            value.type, value.shape = type_, shape
        sites = tuple(
            Site(self.id, self.family, (text,), value, "applied", "")
            for node, (text, value) in known.items()
            if node.graph is None
        )
        # Each is asked about, also after one was not accepted.
        return Applied(changed, sites) if all([accept(site) for site in sites]) else Applied(model, ())  # noqa: C419


def scopes(model: ir.Model, provider: str) -> Iterator[Scope]:
    """The main graph of MODEL and every body in it, outer ones first."""
    facts = Facts(model)
    for graph in (model.graph, *model.graph.subgraphs()):
        yield Scope(graph, model, provider, facts)


def _value(node: ir.Node) -> str:
    return next((value.name for value in node.outputs if value.name), "")


def _make_names_unique(model: ir.Model) -> None:
    """Give values that came into another graph a name of their own there; an absent output keeps having none."""
    absent = [value for node in model.graph.all_nodes() for value in node.outputs if not (value.name or value.uses())]
    unnamed = [node for node in model.graph.all_nodes() if not node.name]
    NameFixPass()(model)
    for value in absent:
        if not value.is_graph_output():
            value.name = ""
    for node in unnamed:
        node.name = ""


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), "") or type(error).__name__
