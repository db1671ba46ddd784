"""A model that quantises, cut open at its quantisers: what it computes between them is proven tightly.

A last bit decides between two neighbouring integers, so no outputs of such a model can be compared tightly. But a
quantiser that two models both have gives the same where it reads the same. So the second model's quantisers are taken
out, and what they gave in the first model is fed in their place: then all that the others read, and every output, has
to be equal as it is in models that do not quantise. From quantiser to quantiser this shows that the second model
computes what the first one does, but for last bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import onnx_ir as ir

from advisor.fuse.departure import Pair, exposing
from advisor.fuse.model import clone
from advisor.fuse.rewrite import rewrite
from advisor.fuse.verify import Verification, compare_values
from advisor.measure.inputs import InputSet
from advisor.measure.session import CPU, NotRunnable, run

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    import onnxruntime as ort  # type: ignore[import-untyped]

    from advisor.fuse.departure import Open
    from advisor.measure.session import Feed

__all__ = ["Quantizers", "is_product", "is_quantizer", "precision", "products"]

FUSED = frozenset({"QAttention", "QEmbedLayerNormalization", "QGemm"})
"""Quantisers of ONNX Runtime that the name does not tell."""


def is_quantizer(node: ir.Node) -> bool:
    """Whether NODE rounds to integers, so that a last bit of what it reads decides between two of them."""
    return "Quantize" in node.op_type or node.op_type.startswith("QLinear") or node.op_type in FUSED


def precision(model: ir.Model) -> str | None:
    """The coarsest floating-point type that MODEL computes in, where that may be coarser than its outputs."""
    dtypes: set[int] = set()
    for graph in (model.graph, *(function.graph for function in model.functions.values())):
        for node in graph.all_nodes():
            if node.op_type == "Cast":
                dtypes.add(node.attributes.get_int("to", 0))
        dtypes.update(value.dtype for value in graph.initializers.values() if value.dtype is not None)
    if ir.DataType.BFLOAT16 in dtypes:
        return "bfloat16"
    return "float16" if ir.DataType.FLOAT16 in dtypes else None


def products(model: ir.Model) -> frozenset[str]:
    """Outputs of MODEL that are sums of products of quantised numbers; a part of a model may have some."""
    producers = {value.name or "": value.producer() for value in model.graph.outputs}
    return frozenset(name for name, node in producers.items() if node is not None and is_product(node))


def is_product(node: ir.Node) -> bool:
    """Whether NODE multiplies quantised numbers, exactly: what it gives moves by steps of what it reads."""
    return node.op_type.endswith("Integer")


@dataclass(frozen=True)
class _Opened:
    """A model whose quantisers were taken out.

    Attributes:
        model: It: what the quantisers gave are inputs; outputs are its own and what they read.
        twins: For each output its name, the name in the first model, and who reads it (empty for the model's own).
        gives: What the quantisers gave.
    """

    model: ir.Model
    twins: tuple[tuple[str, str, str], ...]
    gives: tuple[str, ...]


class Quantizers:
    """The quantisers of a model that is right, and what they read and give there."""

    def __init__(self, model: ir.Model, open_session: Open, *, computes_in: str | None) -> None:
        """Run nothing yet; MODEL is only read.

        Args:
            model: The model that is right.
            open_session: Loads a model derived from it, with optimisation off.
            computes_in: As `precision` tells.
        """
        self._source, self._open, self._precision = model, open_session, computes_in

    def verify(self, other: ir.Model, open_session: Open, sets: Sequence[InputSet]) -> Verification | None:
        """Compare what OTHER computes between its quantisers; None where that cannot be told.

        It cannot where OTHER has a quantiser that is none of the model's own, or does not run cut open.

        Args:
            other: The model to compare, with inputs and outputs of the same names; it is only read.
            open_session: Loads a model derived from it, with optimisation off.
            sets: Inputs that the right model runs on.
        """
        errors: dict[tuple[str, str], float] = {}
        largest = 0.0
        try:
            opened = self._open_up(other)
            if opened is None:
                return None
            session = open_session(opened.model)
            for number, inputs in enumerate(sets, 1):
                right = self._run(inputs.feed)
                found = run(session, {**inputs.feed, **{name: right[name] for name in opened.gives}})
                for name, twin, reader in opened.twins:
                    difference = compare_values(right[twin], found[name], arithmetic=self._precision)
                    if difference.reason:
                        what = f"value {twin!r}, which {reader} reads," if reader else f"output {twin!r}"
                        reason = f"between the quantisers {what} {difference.reason} ({inputs.name} inputs)"
                        return Verification(False, number, difference.absolute, difference.relative, twin, reason)
                    largest = max(largest, difference.absolute or 0.0)
                    errors[inputs.name, twin] = difference.relative or 0.0
        except NotRunnable:
            return None
        worst = max(errors, key=lambda key: errors[key], default=None)
        if worst is None:
            return Verification(True, len(sets), 0.0, 0.0)
        return Verification(True, len(sets), largest, errors[worst], worst[1], errors=errors)

    def pair(self, other: ir.Model, open_session: Open, inputs: InputSet) -> tuple[Pair, InputSet] | None:
        """Both models cut open, and what they read then: to find where they part. None where `verify` gives None."""
        opened = self._open_up(other)
        own = None if opened is None else self._open_up(self._source, only=frozenset(opened.gives))
        if opened is None or own is None:
            return None
        right = self._run(inputs.feed)
        feed = {**inputs.feed, **{name: right[name] for name in opened.gives}}
        pair = Pair(own.model, opened.model, self._open, open_session, self._precision)
        return pair, InputSet(inputs.name, feed)

    @cached_property
    def _model(self) -> ir.Model:
        return _inlined(self._source)

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

    def _open_up(self, model: ir.Model, *, only: frozenset[str] | None = None) -> _Opened | None:
        """MODEL without its quantisers, or ONLY those that give these; None where one is not the right model's own."""
        other = _inlined(model)
        nodes = [node for node in other.graph.all_nodes() if is_quantizer(node)]
        if only is not None:
            nodes = [node for node in nodes if only.issuperset(_gives(node))]
        gives = {name for node in nodes for name in _gives(node) if name}
        own_outputs = [value for value in other.graph.outputs if value.name not in gives]
        twins, exposed = [], []
        for node in nodes:
            own = self._nodes.get(_gives(node))
            if own is None or node.graph is not other.graph or not _is_same_step(own, node):
                return None
            for one, two in zip(own.inputs, node.inputs, strict=True):
                if one is None or two is None:
                    if one is not two:
                        return None
                elif two.name in gives or two.is_graph_input():
                    if one.name != two.name:
                        return None
                elif _is_computed(two) and _is_computed(one):
                    exposed.append(two)
                    twins.append((two.name or "", one.name or "", f"{node.op_type} {node.name or ''}".strip()))
                elif not _is_same_constant(one, two):
                    return None
        dtypes = self._dtypes
        if not gives <= dtypes.keys():
            return None
        graph = other.graph
        twins += [(value.name or "", value.name or "", "") for value in own_outputs]
        graph.outputs.clear()
        for value in dict.fromkeys((*exposed, *own_outputs)):
            if value not in own_outputs:
                value.shape = None  # declared shapes of values inside may be stale
            graph.outputs.append(value)
        for node in nodes:
            for value in node.outputs:
                if value.name:
                    fed = ir.Value(name=value.name, type=ir.TensorType(dtypes[value.name]))
                    value.replace_all_uses_with(fed)
                    graph.inputs.append(fed)
        graph.remove(nodes, safe=True)
        return _Opened(other, tuple(dict.fromkeys(twins)), tuple(gives))


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
    """A copy with the bodies of local functions in place of their calls, as every candidate has them."""
    copy = clone(model)
    rewrite(copy, (), provider=CPU)
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
        and list(_attributes(one)) == list(_attributes(other))
    )


def _attributes(node: ir.Node) -> Iterator[tuple[str, bytes]]:
    named: Iterable[tuple[str, ir.Attr]] = sorted(node.attributes.items())
    yield from ((name, ir.to_proto(attribute).SerializeToString(deterministic=True)) for name, attribute in named)


def _is_same_constant(one: ir.Value, other: ir.Value) -> bool:
    a, b = ir.convenience.get_const_tensor(one), ir.convenience.get_const_tensor(other)
    return a is not None and b is not None and a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
