"""A model rewritten by rules: a place where a pattern is found is fused, or reported with the reason why not."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import onnx_ir as ir
from onnx_ir.passes.common import InlinePass

from advisor.fuse import legality
from advisor.fuse.edits import remove, unique
from advisor.fuse.kernel_support import missing_kernel
from advisor.fuse.opsets import opset_for
from advisor.fuse.pattern import find, needs, roots
from advisor.fuse.rule import New
from advisor.fuse.rules import RULES
from advisor.fuse.scope import CERTAIN, OVERRIDABLE_SINCE, Facts, Known, Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from advisor.fuse.kernels.traffic import Traffic
    from advisor.fuse.pattern import Match, Pattern
    from advisor.fuse.rule import Family, Rule

Status = Literal["applied", "illegal", "unsupported"]

__all__ = ["Site", "label", "rewrite"]


@dataclass(frozen=True)
class Site:
    """One place in a model where a rule's pattern was found.

    Attributes:
        rule: Id of the rule.
        family: Of the rule.
        nodes: Names of the nodes that the pattern covers, first to last; for a node without a name, or with one that
            others have too, its operator and what it computes.
        value: Name of the value that they compute; a fused node's output keeps it.
        status: `applied`; `illegal`, the fusion would not compute the same; `unsupported`, it could not run.
        reason: Why it was not applied, for people to read; empty otherwise.
        group: Shapes of what it reads; sites of one rule that have the same are worth the same.
        traffic: What a generated kernel saves there; None for other fusions.
    """

    rule: str
    family: Family
    nodes: tuple[str, ...]
    value: str
    status: Status
    reason: str
    group: str = ""
    traffic: Traffic | None = None


def rewrite(
    model: ir.Model,
    rules: Sequence[Rule] = RULES,
    *,
    provider: str,
    accept: Callable[[Site], bool] = lambda _: True,
) -> tuple[Site, ...]:
    """Apply RULES to MODEL, in place and until none applies any more, and say where and where not.

    Bodies of If, Loop and Scan are rewritten too, each by itself. Calls of local functions are first replaced by the
    functions' bodies, as ONNX Runtime does when it loads a model.

    Args:
        model: Changed; give a clone to keep the original. Inputs, outputs and their names stay.
        rules: The earlier ones win where two fit.
        provider: Execution provider that will run the model, as ONNX Runtime names it.
        accept: Whether a legal site is to be fused; one that is not accepted is left as it is, and out of the answer.
    """
    _inline_functions(model)
    writer = _Writer(model, Facts(model))
    applied: list[Site] = []
    while True:
        refused: list[Site] = []
        before = len(applied)
        for graph in list(model.graphs()):
            scope = Scope(graph, model, provider, writer.facts)
            by_root = _candidates(rules, {node.op_type for node in graph})
            for node in reversed(list(graph)):  # backwards: the largest pattern has the last root
                for rule, patterns in by_root.get(node.op_type, {}).items():
                    if node.graph is not graph:
                        break
                    site = _apply(rule, patterns, node, scope, writer, accept)
                    if site is not None:
                        (applied if site.status == "applied" else refused).append(site)
        if len(applied) == before:
            return (*applied, *_largest(refused))


def _candidates(rules: Sequence[Rule], present: set[str]) -> dict[str, dict[Rule, list[Pattern]]]:
    """The rules and patterns to try at a node, by its operator, in a graph of these operators."""
    by_root: dict[str, dict[Rule, list[Pattern]]] = {}
    for rule in rules:
        for pattern in rule.patterns:
            if needs(pattern) <= present:
                for op_type in roots(pattern):
                    by_root.setdefault(op_type, {}).setdefault(rule, []).append(pattern)
    return by_root


def _apply(
    rule: Rule, patterns: list[Pattern], node: ir.Node, scope: Scope, writer: _Writer, accept: Callable[[Site], bool]
) -> Site | None:
    """Fuse what RULE finds at NODE; None if it finds nothing, or what it would write is there already."""
    refused: Site | None = None
    for match in chain.from_iterable(find(pattern, node, scope) for pattern in patterns):
        if not rule.where(match):
            continue
        status, outcome = _judge(rule, match)
        if outcome is None:
            continue
        names = tuple(writer.name_of(node) for node in _in_order(match))
        value = match.output.name or ""
        group = _shapes(match)
        if isinstance(outcome, tuple):
            site = Site(rule.id, rule.family, names, value, status, "", group)
            if not accept(site):
                continue
            writer.replace(match, outcome)
            return site
        refused = refused or Site(rule.id, rule.family, names, value, status, outcome, group)
    return refused


def _shapes(match: Match) -> str:
    """What decides how long MATCH takes: the shapes of the values that it reads, constants of one element left out."""
    values = dict.fromkeys(value for value in match.values.values() if value not in match.scalars)
    return " ".join(legality.dims_text(match.scope.shape(value)) for value in values)


def _judge(rule: Rule, match: Match) -> tuple[Status, tuple[New | None, ...] | str | None]:
    """What to write in the place of MATCH, by output, or why not; None if it is there already."""
    if (reason := legality.old_operators(match)) is not None:
        return "unsupported", reason
    reason = legality.first(legality.kept_values(match), legality.overridable_constants(match), rule.check(match))
    if reason is not None:
        return "illegal", reason
    present = Counter(node.op_type for node in match.nodes)
    for replacement in rule.rewrite(match):
        results = (replacement,) if isinstance(replacement, New) else tuple(replacement)
        if (reason := legality.lost_outputs(match, results)) is not None:
            return "illegal", reason
        nodes = list(dict.fromkeys(node for result in results if result is not None for node in _nodes(result)))
        if Counter(node.op_type for node in nodes) == present:
            return "applied", None
        reason = legality.first(*(_missing(node, match.scope) for node in nodes))
        if reason is None:
            return "applied", results
    return "unsupported", reason


def _in_order(match: Match) -> list[ir.Node]:
    """The nodes of MATCH, each after those that it needs."""
    ordered: dict[ir.Node, None] = {}

    def visit(node: ir.Node) -> None:
        for value in node.inputs:
            producer = None if value is None else value.producer()
            if producer in match.nodes and producer not in ordered:
                visit(producer)
        ordered[node] = None

    visit(match.nodes[0])
    return list(ordered)


def _nodes(new: New) -> Iterator[New]:
    """NEW and the new nodes under it."""
    yield new
    for source in new.inputs:
        if isinstance(source, New):
            yield from _nodes(source)


def _missing(new: New, scope: Scope) -> str | None:
    """Why ONNX Runtime could not run NEW."""
    opset = scope.opset if new.domain else opset_for(new.op_type, scope.model)
    if isinstance(opset, str):
        return opset
    dtypes: list[ir.DataType | None] = []
    for source in new.inputs:
        dtype = None if source is None else _dtype(source, scope)
        if source is not None and dtype is None:
            return "the element types are not certain"
        dtypes.append(dtype)
    attributes = tuple((name, tuple(v) if isinstance(v, list) else v) for name, v in sorted(new.attributes.items()))
    return missing_kernel(scope.provider, new.domain, new.op_type, opset, tuple(dtypes), attributes)


def _dtype(source: New | ir.Value | NDArray[Any] | ir.LazyTensor, scope: Scope) -> ir.DataType | None:
    """Element type of an input of a new node; new nodes give what their first input is."""
    if isinstance(source, ir.Value):
        return scope.dtype(source)
    if isinstance(source, ir.LazyTensor):
        return source.dtype
    if isinstance(source, np.ndarray):
        return ir.DataType.from_numpy(source.dtype)
    first = source.inputs[0]
    return None if first is None else _dtype(first, scope)


def _largest(sites: Iterable[Site]) -> list[Site]:
    """SITES without those that lie inside of another one."""
    kept: list[Site] = []
    for site in sorted(sites, key=lambda site: -len(site.nodes)):
        if not any(set(site.nodes) <= set(other.nodes) for other in kept):
            kept.append(site)
    return kept


def _inline_functions(model: ir.Model) -> None:
    """Replace calls of local functions by their bodies, except of functions written for other opset versions."""

    def same_opsets(function: ir.Function) -> bool:
        imports = model.opset_imports
        return all(imports.get(domain, version) == version for domain, version in function.opset_imports.items())

    if model.functions:
        InlinePass(criteria=same_opsets)(model)


def label(node: ir.Node, names: Counter[str]) -> str:
    """How reports name NODE: readable and its own even where the model gives no name, or one to several nodes.

    Args:
        node: The node.
        names: How many nodes of the model have each name.
    """
    if node.name and names[node.name] == 1:
        return node.name
    return f"{node.name or node.op_type} → {next((value.name for value in node.outputs if value.name), '?')}"


@dataclass
class _Writer:
    """Puts new nodes into the model under names that nothing else has.

    Attributes:
        model: What is written to.
        facts: About its values, kept up to date for those that are written.
    """

    model: ir.Model
    facts: Facts
    values: set[str] = field(init=False)
    nodes: Counter[str] = field(init=False)

    def __post_init__(self) -> None:
        graphs = list(self.model.graphs())
        everything = (
            value
            for graph in graphs
            for value in chain(graph.inputs, graph.initializers.values(), *(node.outputs for node in graph))
        )
        self.values = {value.name for value in everything if value.name}
        self.nodes = Counter(node.name for graph in graphs for node in graph if node.name)

    def name_of(self, node: ir.Node) -> str:
        """The name of NODE for reports; readable and its own even where the model gives none."""
        return label(node, self.nodes)

    def replace(self, match: Match, results: tuple[New | None, ...]) -> None:
        """Put RESULTS in the place of MATCH's nodes; each takes over the name, type and users of its output."""
        root = match.nodes[0]
        written: dict[New, ir.Value] = {}
        outputs = [None if result is None else self._write(result, match, written) for result in results]
        for old, output in zip(root.outputs, outputs, strict=False):
            if output is None or not old.name:
                continue
            name = old.name
            output.type, output.shape, output.doc_string = old.type, old.shape, old.doc_string
            output.metadata_props.update(old.metadata_props)
            output.meta[CERTAIN] = self.facts[output] = self.facts[old]
            old.replace_all_uses_with(output, replace_graph_outputs=True)
            old.name, output.name = None, name
        remove([root])

    def _write(self, new: New, match: Match, written: dict[New, ir.Value]) -> ir.Value:
        """Insert the node NEW, and those that it needs, before the root of MATCH, and return its output."""
        if new in written:
            return written[new]
        inputs: list[ir.Value | None] = []
        for source in new.inputs:
            if isinstance(source, New):
                inputs.append(self._write(source, match, written))
            elif isinstance(source, np.ndarray | ir.LazyTensor):
                inputs.append(self._constant(source, new, match))
            else:
                inputs.append(source)
        root = match.nodes[0]
        node = ir.node(new.op_type, inputs, attributes=new.attributes, domain=new.domain)
        node.name = unique(f"{root.name or match.output.name}/{new.op_type}", self.nodes)
        node.metadata_props.update(root.metadata_props)
        dtype = _dtype(new, match.scope)
        output = node.outputs[0]
        output.name = unique(f"{match.output.name}/{new.op_type}", self.values)
        output.type = None if dtype is None else ir.TensorType(dtype)
        self.facts[output] = Known(dtype, None)
        match.scope.graph.insert_before(root, node)
        self._import(new)
        written[new] = output
        return output

    def _import(self, new: New) -> None:
        """Say that the model uses the operator set of NEW."""
        if new.domain:
            self.model.opset_imports.setdefault(new.domain, 1)
        else:
            opset = opset_for(new.op_type, self.model)
            assert isinstance(opset, int), "checked"
            self.model.opset_imports[""] = opset

    def _constant(self, content: NDArray[Any] | ir.LazyTensor, new: New, match: Match) -> ir.Value:
        """A new weight in the graph of MATCH."""
        name = unique(f"{match.output.name}/{new.op_type}/constant", self.values)
        tensor = ir.tensor(content, name=name) if isinstance(content, np.ndarray) else content
        tensor.name = name
        dims = tuple(tensor.shape.numpy())
        value = ir.Value(name=name, type=ir.TensorType(tensor.dtype), shape=ir.Shape(dims))
        if self.model.ir_version < OVERRIDABLE_SINCE:  # where every initialiser has to be a graph input too
            node = ir.Node("", "Constant", [], [ir.AttrTensor("value", tensor)], outputs=[value])
            node.name = unique(name, self.nodes)
            match.scope.graph.insert_before(match.nodes[0], node)
        else:
            value.const_value = tensor
            match.scope.graph.register_initializer(value)
        self.facts[value] = Known(tensor.dtype, dims)
        return value
