"""A model that quantises, cut open at its quantisers: what it computes between them is proven tightly.

A last bit decides between two neighbouring integers, so no outputs of such a model can be compared tightly. But a
quantiser that two models both have gives the same where it reads the same. So the second model's quantisers are taken
out, and what they gave in the first model is fed in their place: then all that the others read, and every output, has
to be equal as it is in models that do not quantise. From quantiser to quantiser this shows that the second model
computes what the first one does, but for last bits.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import onnx_ir as ir
from onnx_ir.passes.common import RemoveUnusedNodesPass

from advisor.fuse.arithmetic import Arithmetic, is_quantizer
from advisor.fuse.departure import Pair, exposing
from advisor.fuse.difference import QUANTIZED, TOLERANCES, compare_values
from advisor.fuse.model import clone
from advisor.fuse.rewrite import rewrite
from advisor.fuse.verify import Verification, summed_up
from advisor.measure.inputs import InputSet
from advisor.measure.session import CPU, NotRunnable, run

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
    from typing import Any

    import onnxruntime as ort  # type: ignore[import-untyped]

    from advisor.fuse.departure import Open
    from advisor.fuse.difference import Difference
    from advisor.measure.session import Feed

    Matched = list[tuple[ir.Node, ir.Node]]
    """A quantiser of the right model, and that of the other one which is the same."""

__all__ = ["Quantizers"]


@dataclass(frozen=True)
class _Opened:
    """A model whose quantisers were taken out.

    Attributes:
        model: It: what the quantisers gave are inputs; outputs are its own and what they read.
        twins: For each output its name, the name in the first model, and who reads it (empty for the model's own).
        gives: For each input that stands for what a quantiser gave, what gives it in the first model.
    """

    model: ir.Model
    twins: tuple[tuple[str, str, str], ...]
    gives: dict[str, str]


class Quantizers:
    """The quantisers of a model that is right, and what they read and give there."""

    def __init__(self, model: ir.Model, open_session: Open, *, computes_in: str | None) -> None:
        """Run nothing yet; MODEL is only read.

        Args:
            model: The model that is right.
            open_session: Loads a model derived from it, with optimisation off.
            computes_in: Of a part of a model, the coarsest floating-point type of the whole.
        """
        self._source, self._open, self._computes_in = model, open_session, computes_in

    def verify(self, other: ir.Model, open_session: Open, sets: Sequence[InputSet]) -> Verification | None:
        """Compare what OTHER computes between its quantisers; None where that cannot be told.

        It cannot where OTHER has a quantiser that is none of the model's own, or does not run cut open. Quantisers are
        matched by the names of what they give, or else by their places.

        Args:
            other: The model to compare, with inputs and outputs of the same names; it is only read.
            open_session: Loads a model derived from it, with optimisation off.
            sets: Inputs that the right model runs on.
        """
        return self._compare(other, open_session, sets)[0]

    def pair(self, other: ir.Model, open_session: Open, inputs: InputSet) -> tuple[Pair, InputSet] | None:
        """Both models cut open, and what they read then: to find where they part. None where `verify` gives None."""
        opened = self._compare(other, open_session, [inputs])[1]
        if opened is None:
            return None
        given = set(opened.gives.values())
        source = _inlined(self._source)
        own = [node for node in source.graph if is_quantizer(node) and given.issuperset(filter(None, _gives(node)))]
        cut = self._open_up(source, [(node, node) for node in own])
        if cut is None:
            return None
        pair = Pair(cut.model, opened.model, self._open, open_session, self._precision)
        return pair, InputSet(inputs.name, self._feed(opened, self._run(inputs.feed), inputs.feed))

    def _compare(
        self, other: ir.Model, open_session: Open, sets: Sequence[InputSet]
    ) -> tuple[Verification | None, _Opened | None]:
        """`verify`, and OTHER cut open as it was compared."""
        found: tuple[Verification | None, _Opened | None] = (None, None)
        ways: tuple[Callable[[Sequence[ir.Node]], Matched | None], ...] = (self._by_name, self._by_place)
        for match in ways:
            model = _inlined(other)
            matched = match([node for node in model.graph.all_nodes() if is_quantizer(node)])
            try:
                opened = None if matched is None else self._open_up(model, matched)
                check = None if opened is None else self._verify(opened, open_session, sets)
            except NotRunnable:
                continue
            if check is None:
                continue
            error = check.max_rel_error
            if check.passed or (error is not None and error < TOLERANCES[QUANTIZED].relative):
                return check, opened
            # Values so far apart may not be the same ones: what has the same place only is not taken for another one.
            if match == self._by_name:
                found = check, opened
        return found

    def _verify(self, opened: _Opened, open_session: Open, sets: Sequence[InputSet]) -> Verification:
        differences: dict[tuple[str, str], Difference] = {}
        session = open_session(opened.model)
        for number, inputs in enumerate(sets, 1):
            right = self._run(inputs.feed)
            found = run(session, self._feed(opened, right, inputs.feed))
            for name, twin, reader in opened.twins:
                difference = compare_values(right[twin], found[name], arithmetic=self._precision(twin))
                if difference.reason:
                    what = f"value {twin!r}, which {reader} reads," if reader else f"output {twin!r}"
                    reason = f"between the quantisers {what} {difference.reason} ({inputs.name} inputs)"
                    return Verification(False, number, difference.absolute, difference.relative, twin, reason)
                differences[inputs.name, twin] = difference
        return summed_up(differences, len(sets))

    def _feed(self, opened: _Opened, right: dict[str, Any], feed: Feed) -> Feed:
        return {**feed, **{name: right[own] for name, own in opened.gives.items()}}

    def _precision(self, name: str) -> str | None:
        return self._arithmetic.precision(name) or self._computes_in

    def _by_name(self, nodes: Sequence[ir.Node]) -> Matched | None:
        """The quantiser that gives values of the same names, for each of NODES."""
        matched = [(self._nodes[_gives(node)], node) for node in nodes if _gives(node) in self._nodes]
        return matched if len(matched) == len(nodes) else None

    def _by_place(self, nodes: Sequence[ir.Node]) -> Matched | None:
        """The first of those that compute alike for the first, and so on; None where there are more, or fewer."""
        own: dict[Hashable, list[ir.Node]] = {}
        for node in self._nodes.values():
            own.setdefault(_step(node), []).append(node)
        steps = [_step(node) for node in nodes]
        if Counter(steps) != {step: len(alike) for step, alike in own.items()}:
            return None
        return [(own[step].pop(0), node) for step, node in zip(steps, nodes, strict=True)]

    @cached_property
    def _model(self) -> ir.Model:
        return _inlined(self._source)

    @cached_property
    def _arithmetic(self) -> Arithmetic:
        return Arithmetic(self._model)

    @cached_property
    def _nodes(self) -> dict[tuple[str, ...], ir.Node]:
        """The quantisers by the names of what they give."""
        return {_gives(node): node for node in self._model.graph if is_quantizer(node)}

    @cached_property
    def _session(self) -> ort.InferenceSession:
        """All that quantisers read and give, and the outputs."""
        values = (value for node in self._nodes.values() for value in (*node.inputs, *node.outputs))
        names = dict.fromkeys(value.name or "" for value in values if value is not None and _is_computed(value))
        return self._open(exposing(self._model, list(names), also_outputs=True))

    @cached_property
    def _dtypes(self) -> dict[str, ir.DataType]:
        return {output.name: _DTYPES[output.type] for output in self._session.get_outputs() if output.type in _DTYPES}

    def _run(self, feed: Feed) -> dict[str, Any]:
        return {**feed, **run(self._session, feed)}

    def _open_up(self, other: ir.Model, matched: Matched) -> _Opened | None:
        """OTHER, which is changed, without its quantisers; None where one is not the right model's own."""
        gives = {
            two.name or "": one.name or ""
            for own, node in matched
            for one, two in zip(own.outputs, node.outputs, strict=False)
            if two.name
        }
        own_outputs = [value for value in other.graph.outputs if value.name not in gives]
        twins, exposed = [], []
        for own, node in matched:
            if node.graph is not other.graph or not _is_same_step(own, node):
                return None
            for one, two in zip(own.inputs, node.inputs, strict=True):
                if one is None or two is None:
                    if one is not two:
                        return None
                elif two.name in gives or two.is_graph_input():
                    if one.name != gives.get(two.name or "", two.name):
                        return None
                elif _is_computed(two) and _is_computed(one):
                    exposed.append(two)
                    twins.append((two.name or "", one.name or "", f"{node.op_type} {node.name or ''}".strip()))
                elif not _is_same_constant(one, two):
                    return None
        dtypes = self._dtypes
        if not dtypes.keys() >= set(gives.values()):
            return None
        graph = other.graph
        twins += [(value.name or "", value.name or "", "") for value in own_outputs]
        graph.outputs.clear()
        for value in dict.fromkeys((*exposed, *own_outputs)):
            if value not in own_outputs:
                value.shape = None  # declared shapes of values inside may be stale
            graph.outputs.append(value)
        fed = {}
        for _, node in matched:
            for value in node.outputs:
                if value.name:
                    own_name = gives[value.name]
                    fed[f"{own_name} of the first model"] = own_name
                    given = ir.Value(name=f"{own_name} of the first model", type=ir.TensorType(dtypes[own_name]))
                    value.replace_all_uses_with(given)
                    graph.inputs.append(given)
        graph.remove([node for _, node in matched], safe=True)
        return _Opened(other, tuple(dict.fromkeys(twins)), fed)


_DTYPES = {
    f"tensor({name})": dtype
    for name, dtype in {
        "float": ir.DataType.FLOAT,
        "float16": ir.DataType.FLOAT16,
        "int8": ir.DataType.INT8,
        "uint8": ir.DataType.UINT8,
        "int16": ir.DataType.INT16,
        "uint16": ir.DataType.UINT16,
        "int32": ir.DataType.INT32,
    }.items()
}
"""What quantisers give, as ONNX Runtime calls it."""


def _inlined(model: ir.Model) -> ir.Model:
    """A copy with the bodies of local functions in place of their calls, as every candidate has them.

    What nobody reads is left out: a quantiser there tells nothing of the model.
    """
    copy = clone(model)
    rewrite(copy, (), provider=CPU)
    RemoveUnusedNodesPass()(copy)
    return copy


def _gives(node: ir.Node) -> tuple[str, ...]:
    return tuple(value.name or "" for value in node.outputs)


def _is_computed(value: ir.Value) -> bool:
    """Whether a node that is no Constant gives VALUE."""
    producer = value.producer()
    return producer is not None and producer.op_type != "Constant"


def _is_same_step(one: ir.Node, other: ir.Node) -> bool:
    """Whether two nodes give the same from the same inputs."""
    return (
        one.op_identifier() == other.op_identifier()
        and len(one.inputs) == len(other.inputs)
        and [bool(value.name) for value in one.outputs] == [bool(value.name) for value in other.outputs]
        and list(_attributes(one)) == list(_attributes(other))
    )


def _step(node: ir.Node) -> Hashable:
    """Equal for nodes that compute alike, whatever their names and what they read."""
    constants = []
    for value in node.inputs:
        tensor = None if value is None or value.is_graph_input() else ir.convenience.get_const_tensor(value)
        constants.append(None if tensor is None else (tensor.dtype, tuple(tensor.shape), tensor.tobytes()))
    return node.op_identifier(), tuple(_attributes(node)), tuple(constants)


def _attributes(node: ir.Node) -> Iterator[tuple[str, bytes]]:
    named: Iterable[tuple[str, ir.Attr]] = sorted(node.attributes.items())
    yield from ((name, ir.to_proto(attribute).SerializeToString(deterministic=True)) for name, attribute in named)


def _is_same_constant(one: ir.Value, other: ir.Value) -> bool:
    a, b = ir.convenience.get_const_tensor(one), ir.convenience.get_const_tensor(other)
    return a is not None and b is not None and a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
