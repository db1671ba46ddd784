"""Where two models that should compute the same begin to differ.

A value inside of a model becomes visible when it is made an output. Values are matched by name: those of the main graph
that nodes of both models compute. (Bodies of If, Loop and Scan and of functions cannot be looked into; there the node
that runs them is named.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import onnx_ir as ir

from advisor.fuse.difference import Difference, compare_values
from advisor.fuse.model import clone
from advisor.measure.session import NotRunnable, run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import onnxruntime as ort  # type: ignore[import-untyped]

    from advisor.measure.inputs import InputSet

    Open = Callable[[ir.Model], ort.InferenceSession]
    """Loads a model; raises NotRunnable."""

__all__ = ["Departure", "NodeName", "Pair", "bisect_departure", "exposing", "first_departure"]

FIRST_PASS = 16
GROWTH = 4
PASS_BYTES = 256 * 1024 * 1024
"""Values that are looked at in one pass hold about as many bytes at most, in each model."""


@dataclass(frozen=True)
class NodeName:
    """A node as people find it in a model.

    Attributes:
        name: Its name; many models leave it empty.
        op_type: Its operator, such as `Add`.
        domain: The operator's domain; empty for the standard one.
    """

    name: str
    op_type: str
    domain: str

    def to_dict(self) -> dict[str, Any]:
        """One entry of `a` or `b` of `departure` in advisor.verification/1."""
        return {"name": self.name, "op_type": self.op_type, "domain": self.domain}


@dataclass(frozen=True)
class Departure:
    """The first value that differs.

    Attributes:
        value: Its name in both models.
        a: The node of the first model that computes it, then the nodes before that as far as no value that both models
            have lies between, the nearest first.
        b: The same of the second model.
        reason: How it differs, for people.
        input_set: The set of inputs on which it differs most.
        max_abs_error: Largest |difference| there; None where it cannot be told (another dtype or shape).
        max_rel_error: Largest |difference| ÷ size there, as a tolerance limits it.
        equal_before: How many values that both models have come before it; each is equal.
        weights: Constants of these nodes that have one name in both models and other values.
    """

    value: str
    a: tuple[NodeName, ...]
    b: tuple[NodeName, ...]
    reason: str
    input_set: str
    max_abs_error: float | None
    max_rel_error: float | None
    equal_before: int
    weights: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """`departure` of advisor.verification/1."""
        return {
            "value": self.value,
            "a": [node.to_dict() for node in self.a],
            "b": [node.to_dict() for node in self.b],
            "reason": self.reason,
            "input_set": self.input_set,
            "max_abs_error": self.max_abs_error,
            "max_rel_error": self.max_rel_error,
            "equal_before": self.equal_before,
            "weights": list(self.weights),
        }


@dataclass(frozen=True)
class Pair:
    """Two models and how each is run.

    Attributes:
        a: The model that is right.
        b: The one that is compared with it.
        open_a: Loads a model derived from A.
        open_b: Loads a model derived from B.
        arithmetic: What A computes a value in, by its name, as for `compare_values`.
    """

    a: ir.Model
    b: ir.Model
    open_a: Open
    open_b: Open
    arithmetic: Callable[[str], str | None]

    def shared(self) -> list[str]:
        """Names of values that nodes of both models compute, in an order in which A may compute them."""
        ordered = clone(self.a)
        ordered.graph.sort()
        in_b = {value.name for value in _computed(self.b.graph)}
        return [value.name for value in _computed(ordered.graph) if value.name and value.name in in_b]

    def compare(self, names: Sequence[str], inputs: InputSet, *, also_outputs: bool = False) -> _Compared:
        """Run both models and compare the values NAMES, and say how large they are.

        Raises:
            NotRunnable: One of the models does not run with these values as outputs.
        """
        expected = run(self.open_a(exposing(self.a, names, also_outputs=also_outputs)), inputs.feed)
        actual = run(self.open_b(exposing(self.b, names, also_outputs=also_outputs)), inputs.feed)
        size = sum(getattr(expected[name], "nbytes", 0) for name in names)
        differences = [compare_values(expected[name], actual[name], arithmetic=self.arithmetic(name)) for name in names]
        return _Compared(tuple(differences), size)


@dataclass(frozen=True)
class _Compared:
    differences: tuple[Difference, ...]
    bytes: int


def first_departure(
    pair: Pair, sets: Sequence[InputSet], *, failing: InputSet, say: Callable[[str], None]
) -> Departure | None:
    """The first value, in an order in which A computes them, that differs on the inputs FAILING.

    Values are looked at in passes, a few in the first one and more in the next ones as far as memory allows. Values
    that cannot be made outputs are left out.

    Args:
        pair: The models; neither may be optimised while it is loaded, or it has other values than its file.
        sets: All sets of inputs: the error is that of the set with the largest.
        failing: The set on which outputs differ.
        say: Called with a few words at every pass.
    """
    names = pair.shared()
    equal: list[str] = []
    start, count = 0, FIRST_PASS
    while start < len(names):
        chunk = names[start : start + count]
        say(f"looking for the first value that differs: {start:,} of {len(names):,}")
        passed = list(_passes(pair, chunk, failing))
        for name, difference, _ in passed:
            if difference.reason:
                return _described(pair, name, difference, equal, sets, failing)
            equal.append(name)
        start += len(chunk)
        size = max((size for _, _, size in passed), default=0)
        count = max(1, min(GROWTH * count, PASS_BYTES * len(chunk) // max(size, 1)))
    return None


def bisect_departure(pair: Pair, failing: InputSet, *, say: Callable[[str], None]) -> Departure | None:
    """A value that differs where the one before it does not, found by bisection.

    For models that ONNX Runtime optimises while it loads them: every value that is made an output keeps some fusion
    from happening, so each step exposes one value alone, beside the outputs. None where the difference is gone then.

    Args:
        pair: The models.
        failing: The set on which outputs differ.
        say: Called with a few words at every step.
    """
    names = pair.shared()
    low, high, found = -1, len(names), None
    while high - low > 1:
        middle = (low + high) // 2
        say(f"looking for the first value that differs, by bisection: {high - low:,} left")
        try:
            difference = pair.compare([names[middle]], failing, also_outputs=True).differences[0]
        except NotRunnable:
            difference = Difference(None, None)  # what cannot be looked at counts as equal
        if difference.reason:
            high, found = middle, difference
        else:
            low = middle
    if found is None:
        return None
    return _described(pair, names[high], found, names[:high], (), failing)


def _passes(pair: Pair, names: Sequence[str], inputs: InputSet) -> Iterator[tuple[str, Difference, int]]:
    """Each value with its difference and the bytes of all of one pass; in halves where a model does not run so."""
    try:
        compared = pair.compare(names, inputs)
    except NotRunnable:
        if len(names) > 1:
            half = len(names) // 2
            yield from _passes(pair, names[:half], inputs)
            yield from _passes(pair, names[half:], inputs)
        return
    for name, difference in zip(names, compared.differences, strict=True):
        yield name, difference, compared.bytes


def exposing(model: ir.Model, names: Sequence[str], *, also_outputs: bool) -> ir.Model:
    """A copy of MODEL with the values NAMES as its outputs, in this order, before its own or in their place."""
    copy = clone(model)
    values = {value.name: value for value in _computed(copy.graph)}
    own = [value for value in copy.graph.outputs if value.name not in names] if also_outputs else []
    exposed = [values[name] for name in names]
    kept = {id(value) for value in copy.graph.outputs}
    copy.graph.outputs.clear()
    copy.graph.outputs.extend([*exposed, *own])
    for value in exposed:
        if id(value) not in kept:
            value.shape = None  # declared shapes of values inside may be stale; ONNX Runtime finds them itself
    return copy


def _computed(graph: ir.Graph) -> Iterator[ir.Value]:
    """Results of the graph's nodes, in their order; constants are none."""
    for node in graph:
        if node.op_type != "Constant":
            yield from (value for value in node.outputs if value.name)


def _described(
    pair: Pair, name: str, difference: Difference, equal: Sequence[str], sets: Sequence[InputSet], failing: InputSet
) -> Departure:
    worst, where = difference, failing
    for inputs in sets:
        if inputs is failing:
            continue
        try:
            other = pair.compare([name], inputs).differences[0]
        except NotRunnable:
            continue
        if other.reason and (other.relative or 0.0) > (worst.relative or 0.0):
            worst, where = other, inputs
    before = set(equal)
    a, b = _behind(pair.a.graph, name, before), _behind(pair.b.graph, name, before)
    return Departure(
        value=name,
        a=tuple(_named(node) for node in a),
        b=tuple(_named(node) for node in b),
        reason=worst.reason,
        input_set=where.name,
        max_abs_error=worst.absolute,
        max_rel_error=worst.relative,
        equal_before=len(equal),
        weights=tuple(_other_weights(a, pair.b.graph)),
    )


def _named(node: ir.Node) -> NodeName:
    return NodeName(node.name or "", node.op_type, node.domain)


def _behind(graph: ir.Graph, name: str, equal: set[str]) -> list[ir.Node]:
    """The node that computes NAME, and those before it up to values that are EQUAL, the nearest first."""
    value = next(value for value in _computed(graph) if value.name == name)
    first = value.producer()
    assert first is not None
    nodes, waiting = [first], [first]
    while waiting:
        node = waiting.pop(0)
        for source in node.inputs:
            producer = None if source is None or source.name in equal else source.producer()
            if producer is not None and producer.op_type != "Constant" and producer not in nodes:
                nodes.append(producer)
                waiting.append(producer)
    return nodes


def _other_weights(nodes: Sequence[ir.Node], other: ir.Graph) -> Iterator[str]:
    """Names of constants of NODES that have other values in another model's graph."""
    twins = _constants(other)
    seen = set()
    for node in nodes:
        for value in node.inputs:
            name = None if value is None else value.name
            if value is None or name is None or name in seen or name not in twins:
                continue
            seen.add(name)
            own, twin = ir.convenience.get_const_tensor(value), twins[name]
            if own is not None and not _same(own, twin):
                yield name


def _constants(graph: ir.Graph) -> dict[str, ir.TensorProtocol]:
    """Name to value of every initialiser and Constant node."""
    made = [value for node in graph if node.op_type == "Constant" for value in node.outputs]
    tensors = {value.name: ir.convenience.get_const_tensor(value) for value in (*graph.initializers.values(), *made)}
    return {name: tensor for name, tensor in tensors.items() if name and tensor is not None}


def _same(one: ir.TensorProtocol, other: ir.TensorProtocol) -> bool:
    if one.dtype != other.dtype or tuple(one.shape) != tuple(other.shape):
        return False
    if one.dtype is ir.DataType.STRING:
        return bool((one.numpy() == other.numpy()).all())
    return one.tobytes() == other.tobytes()
