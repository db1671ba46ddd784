"""Which connected nodes of a graph become one kernel, and which expression that kernel computes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from advisor.fuse.kernels.boundaries import are_small, belongs_to_neighbour, computes_sizes
from advisor.fuse.kernels.expression import MOST_TENSORS, REDUCTIONS, Access, Operation, Output
from advisor.fuse.kernels.flow import Flow
from advisor.fuse.kernels.formula import Formula, NotExpressible, Term
from advisor.fuse.kernels.lowering import Call, lower
from advisor.fuse.kernels.operators import APPROXIMATED
from advisor.fuse.kernels.space import Space
from advisor.fuse.kernels.view import MOST_AXES, PLAIN, View, copies_nothing, views_of

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Sequence

    import onnx_ir as ir

    from advisor.fuse.kernels.expression import Expression
    from advisor.fuse.scope import Scope
    from advisor.fuse.sizes import Sizes

    Seen = tuple[ir.Value, View]
    """A value and how it is looked at."""
    OwnViews = dict[ir.Value, View]
    """How the results of a node are seen in its first input, where that is all that it does; else empty."""
    Read = Callable[[ir.Node, ir.Value], Term]
    """Gives what a node reads as a term."""

__all__ = ["Group", "express", "find_groups"]

MOST_NODES = 64
MOST_OPERATIONS = 256
MOST_APPROXIMATIONS = 3
"""Of functions such as exp, for each element, because in a longer chain less of neighbouring elements is computed
meanwhile. Measured against three and one, four take 0 to 25 % less time, but with a logarithm among them up to 50 %
more; nine take up to 45 % more than three times three."""
MOST_STAGES = 4
"""Reductions of which each needs the one before: the row is read again for each."""


@dataclass(frozen=True)
class Group:
    """Nodes that one kernel can compute.

    Attributes:
        nodes: In the graph's order.
        inputs: What the kernel reads, in the order of the expression's inputs.
        outputs: What it writes, in the order of the expression's outputs.
        expression: What it computes.
    """

    nodes: tuple[ir.Node, ...]
    inputs: tuple[ir.Value, ...]
    outputs: tuple[ir.Value, ...]
    expression: Expression

    @property
    def loads(self) -> int:
        """Tensors that it reads for every element, those with one value for a row left out."""
        tensors = zip(self.inputs, self.expression.inputs, strict=True)
        return len({value for value, tensor in tensors if tensor.access is Access.COLUMNS})

    @property
    def stores(self) -> int:
        """Tensors that it writes, those with one value for a row left out."""
        return sum(output.access is Access.COLUMNS for output in self.expression.outputs)


def find_groups(scope: Scope, *, reductions: bool = True, within: Iterable[ir.Node] | None = None) -> tuple[Group, ...]:
    """The groups of a graph, in its order, each as large as it may be.

    A group is legal where one kernel computes the same: no way leads out of it and back, every value that something
    outside needs is an output, and all its values are those of one iteration space.

    Args:
        scope: The graph.
        reductions: Whether groups may reduce.
        within: The nodes to choose from; None takes all.
    """
    flow = Flow(scope.graph)
    allowed = flow.place if within is None else set(within)
    former = _Former(scope, flow, reductions, allowed)
    for node in scope.graph:
        if node in allowed:
            former.add(node)
    clusters = {id(nodes): nodes for nodes in former.cluster.values() if len(nodes) > 1 or _moves(nodes)}
    groups = (express(nodes, scope, flow) for nodes in flow.without_cycles(clusters.values()))
    return tuple(group for group in groups if _may_pay(group, scope, flow))


def express(nodes: Sequence[ir.Node], scope: Scope, flow: Flow) -> Group:
    """NODES, in the graph's order, as one kernel.

    Raises:
        NotExpressible: No kernel computes them together, or not certainly the same.
    """
    formula = Formula()
    terms: dict[Seen, Term] = {}
    inputs: dict[Seen, Term] = {}

    def reader(view: View) -> Read:
        def read(node: ir.Node, value: ir.Value) -> Term:
            seen = value, view
            if seen in terms:
                return terms[seen]
            if seen not in inputs:
                if (constant := _constant(node, value, scope, formula)) is not None:
                    return constant
                dtype = scope.dtype(value)
                if dtype is None:
                    raise NotExpressible(f"the element type of '{value.name}' is not certain")
                inputs[seen] = formula.input(dtype, Access.COLUMNS, view)
            return inputs[seen]

        return read

    needed = _needed_outside(nodes, flow)
    outputs: dict[ir.Value, Term] = {}
    for node, own, asked in _asked(nodes, needed, scope):
        for (value, view), term in _results(node, own, asked, scope, formula, reader):
            if term is None:
                if value in needed or value.uses():
                    raise NotExpressible(f"kernels do not compute '{value.name}'")
                continue
            terms[value, view] = term
            if value in needed and view == PLAIN:
                outputs[value] = term
    if not inputs or not outputs:
        raise NotExpressible("nothing is read or nothing is used")
    if len(inputs) + len(outputs) > MOST_TENSORS:
        raise NotExpressible(f"more than {MOST_TENSORS} inputs and outputs")
    space = Space(formula, {term.place: _sizes(*seen, scope) for seen, term in inputs.items()})
    space.settle_accesses()
    space.check_reductions()
    for (value, view), term in terms.items():
        if not (value in outputs and view == PLAIN) and term not in inputs.values() and space.is_smaller(term):
            raise NotExpressible(f"'{value.name}' would be computed again for every row")
    expression = formula.expression(Output(term.place, *space.output(term)) for term in outputs.values())
    is_long = len(nodes) > 1 and _approximations(expression) > MOST_APPROXIMATIONS
    if is_long or len(expression.operations) > MOST_OPERATIONS or _stages(expression) > MOST_STAGES:
        raise NotExpressible("too large")
    return Group(tuple(nodes), tuple(value for value, _ in inputs), tuple(outputs), expression)


def _asked(
    nodes: Sequence[ir.Node], needed: set[ir.Value], scope: Scope
) -> Iterator[tuple[ir.Node, OwnViews, list[Seen]]]:
    """NODES, each with the views that it gives of its first input, and its results as they are needed: in which views.

    Raises:
        NotExpressible: Two views one after the other are none that kernels have.
    """
    wanted: dict[ir.Value, dict[View, None]] = {value: {PLAIN: None} for value in needed}
    found: list[tuple[ir.Node, OwnViews, list[Seen]]] = []
    for node in reversed(nodes):
        own = dict(zip(node.outputs, views_of(node, scope) or (), strict=False))
        results = [(value, view) for value in node.outputs for view in wanted.get(value, {})]
        results = results or [(value, PLAIN) for value in node.outputs]
        found.append((node, own, results))
        for value, view in results:
            for source in node.inputs[:1] if own else node.inputs:
                if source is not None:
                    wanted.setdefault(source, {})[_through(own[value], view) if own else view] = None
    yield from reversed(found)


def _results(
    node: ir.Node,
    own: OwnViews,
    asked: list[Seen],
    scope: Scope,
    formula: Formula,
    reader: Callable[[View], Read],
) -> Iterator[tuple[Seen, Term | None]]:
    """The terms of what is ASKED of NODE, which gives its OWN views or computes."""
    if own:
        source = node.inputs[0]
        assert source is not None
        yield from (((value, view), reader(_through(own[value], view))(node, source)) for value, view in asked)
        return
    for view in dict.fromkeys(view for _, view in asked):
        formula.in_place = view.untouched
        terms = lower(Call(node, scope, reader(view)))
        yield from (((value, view), term) for value, term in zip(node.outputs, terms, strict=True))


def _through(seen: View, view: View) -> View:
    both = seen.then(view)
    if both is None:
        raise NotExpressible("a view of a view that kernels do not have")
    return both


def _sizes(value: ir.Value, view: View, scope: Scope) -> Sizes | None:
    """The shape of a kernel's input, as the kernel sees it; what only the run knows has the value's name."""
    dims = scope.shape(value)
    sizes = None
    if dims is not None:
        named = tuple(f"{value.name}[{axis}]" if dim is None else dim for axis, dim in enumerate(dims))
        sizes = view.sizes(named)
    if view != PLAIN and (sizes is None or len(sizes) > MOST_AXES):
        raise NotExpressible(f"the shape of '{value.name}' is not certain enough to be seen otherwise")
    return sizes


def _needed_outside(nodes: Sequence[ir.Node], flow: Flow) -> set[ir.Value]:
    """The results of NODES that something else reads, or the graph gives."""
    inside = set(nodes)
    return {
        value
        for node in nodes
        for value in node.outputs
        if value.is_graph_output() or any(user not in inside for user in flow.users_of(value))
    }


def _constant(node: ir.Node, value: ir.Value, scope: Scope, formula: Formula) -> Term | None:
    """The number that VALUE is in every run; None where it is a tensor, or gives the result more dimensions."""
    tensor = None if scope.overridable(value) else scope.default(value)
    if tensor is None or tensor.size != 1:
        return None
    rank = len(tensor.shape)
    others = [scope.rank(other) for other in node.inputs if other is not None and other is not value]
    if rank > 0 and not any(other is not None and other >= rank for other in others):
        return None
    dtype = scope.dtype(value)
    return None if dtype is None else formula.constant(tensor.numpy().item(), dtype)


def _approximations(expression: Expression) -> int:
    """How many costly functions are computed for each element."""
    return sum(
        APPROXIMATED.get(value.op_type, 0)
        for value, on_row in zip(expression.values, expression.on_rows, strict=True)
        if isinstance(value, Operation) and not on_row
    )


def _stages(expression: Expression) -> int:
    """How many reductions wait for one another."""
    depth: list[int] = []
    for value in expression.values:
        operands = value.operands if isinstance(value, Operation) else ()
        before = max((depth[operand] for operand in operands), default=0)
        depth.append(before + (isinstance(value, Operation) and value.op_type in REDUCTIONS))
    return max(depth, default=0)


def _may_pay(group: Group, scope: Scope, flow: Flow) -> bool:
    """Whether the kernel reads and writes fewer tensors than the nodes one by one, or moves elements.

    It moves them once, row by row: for heads of one sequence in 0.3 to 0.9 of the time of ONNX Runtime's Transpose.
    """
    if are_small((*group.inputs, *group.outputs), scope):
        return False
    alone = [express([node], scope, flow) for node in group.nodes if not copies_nothing(node)]
    before = sum(single.loads + single.stores for single in alone)
    return _moves(group.nodes) or group.loads + group.stores < before


def _moves(nodes: Sequence[ir.Node]) -> bool:
    return any(node.op_type == "Transpose" for node in nodes)


class _Former:
    """Puts nodes together, one after the other in the graph's order.

    Attributes:
        cluster: The nodes that each node seen so far is together with.
    """

    def __init__(self, scope: Scope, flow: Flow, reductions: bool, allowed: Container[ir.Node]) -> None:
        self.cluster: dict[ir.Node, tuple[ir.Node, ...]] = {}
        self._scope, self._flow, self._reductions, self._allowed = scope, flow, reductions, allowed

    def add(self, node: ir.Node) -> None:
        """Put NODE together with as many of the clusters that it reads from as is legal, the nearest first."""
        if copies_nothing(node) or computes_sizes(node, self._scope) or belongs_to_neighbour(node, self._scope):
            return
        chosen = self._seed(node)
        if not self._is_legal(chosen):
            return
        clusters = list(self._producers(chosen))
        everything = self._flow.in_order(set(chosen).union(*clusters))
        if len(clusters) > 1 and self._is_legal(everything):
            chosen = everything
        else:
            for cluster in clusters:
                larger = self._flow.in_order({*chosen, *cluster})
                if self._is_legal(larger):
                    chosen = larger
        chosen = self._with_pieces(chosen)
        for member in chosen:
            self.cluster[member] = chosen

    def _seed(self, node: ir.Node) -> tuple[ir.Node, ...]:
        """NODE and the Reshape whose result it alone moves: by itself that one costs nothing."""
        source = node.inputs[0] if node.op_type == "Transpose" else None
        before = None if source is None or source.is_graph_output() else source.producer()
        if before is None or not copies_nothing(before) or before not in self._allowed:
            return (node,)
        if any(user is not node for user in self._flow.users_of(before.outputs[0])):
            return (node,)
        return (before, node) if self._is_legal((before, node)) else (node,)

    def _with_pieces(self, nodes: tuple[ir.Node, ...]) -> tuple[ir.Node, ...]:
        """NODES and, where they read a piece of a Split, it and what reads the others: only together do they fit."""
        sources = {value.producer(): None for node in nodes for value in node.inputs if value is not None}
        for split in sources:
            if split is None or split.op_type != "Split" or split in nodes or split not in self.cluster:
                continue
            users = {user for value in split.outputs for user in self._flow.users_of(value)}
            if all(user in nodes or user in self.cluster for user in users):
                others = (member for user in (split, *users) for member in self.cluster.get(user, ()))
                larger = self._flow.in_order({*nodes, *others})
                nodes = larger if self._is_legal(larger) else nodes
        return nodes

    def _producers(self, nodes: tuple[ir.Node, ...]) -> Iterator[tuple[ir.Node, ...]]:
        producers = {value.producer() for node in nodes for value in node.inputs if value is not None}
        clusters = {id(self.cluster[source]): self.cluster[source] for source in producers if source in self.cluster}
        yield from sorted(clusters.values(), key=lambda nodes: -self._flow.place[nodes[-1]])

    def _is_legal(self, nodes: tuple[ir.Node, ...]) -> bool:
        if len(nodes) > MOST_NODES or not self._flow.is_convex(frozenset(nodes)):
            return False
        try:
            group = express(nodes, self._scope, self._flow)
        except NotExpressible:
            return False
        return self._reductions or group.expression.reduced == 0
