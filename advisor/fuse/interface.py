"""What callers see of two models: inputs and outputs, and how those of one correspond to those of the other.

Exporters call outputs differently (`34` and `log_softmax`). What has one name in both models is the same; of the rest,
what stands at the same place, with one type and shapes that may be equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import onnx_ir as ir

    Signature = Sequence[tuple[str, str, str]]
    """Kind, name and type of everything that callers see, as `advisor.fuse.verify.signature` tells."""

__all__ = ["Renamed", "differences", "name_alike"]

KINDS = {"input": "input", "initialiser": "overridable initialiser", "output": "output"}


@dataclass(frozen=True)
class Renamed:
    """An input or output that two models call differently.

    Attributes:
        kind: `input` or `output`.
        a: Its name in the first model.
        b: Its name in the second one.
    """

    kind: str
    a: str
    b: str

    def to_dict(self) -> dict[str, str]:
        """One entry of `renamed` in advisor.verification/1."""
        return {"kind": self.kind, "a": self.a, "b": self.b}


def name_alike(a: ir.Model, b: ir.Model) -> tuple[Renamed, ...]:
    """Call inputs and outputs of B as in A where they correspond by their place, and tell which these are.

    Inputs are renamed only if every one of them then has a counterpart, and so are outputs: with one more or less, a
    place says little.
    """
    sides = ((_asked_for(a), _asked_for(b)), (a.graph.outputs, b.graph.outputs))
    pairs = [*_pairs("input", *sides[0]), *_pairs("output", *sides[1])]
    wanted = {renamed.a for _, renamed in pairs}
    taken = {value.name for value in _values(b)}
    free = (name for name in (f"renamed_{number}" for number in count()) if name not in taken | wanted)
    for value in [value for value in _values(b) if value.name in wanted]:
        value.name = next(free)  # one name may mean different things in two models
    for value, renamed in pairs:
        value.name = renamed.a
    return tuple(renamed for _, renamed in pairs)


def _asked_for(model: ir.Model) -> list[ir.Value]:
    """Inputs that a caller has to give."""
    return [value for value in model.graph.inputs if not value.is_initializer()]


def _pairs(kind: str, a: Sequence[ir.Value], b: Sequence[ir.Value]) -> list[tuple[ir.Value, Renamed]]:
    """Values of B that correspond to one of A by their place alone; none where not all that is left do."""
    names_a, names_b = {value.name for value in a}, {value.name for value in b}
    if len(a) != len(b) or len(names_a) != len(a) or len(names_b) != len(b):
        return []
    pairs = []
    for one, other in zip(a, b, strict=True):
        if one.name == other.name:
            continue
        is_known = one.name in names_b or other.name in names_a
        is_computed = kind == "input" or (other.producer() is not None and not other.is_graph_input())
        if is_known or not is_computed or one.type != other.type or not _may_be_equal(one.shape, other.shape):
            return []
        pairs.append((other, Renamed(kind, one.name or "", other.name or "")))
    return pairs


def _may_be_equal(one: ir.Shape | None, other: ir.Shape | None) -> bool:
    """Whether no two dimensions are numbers that differ."""
    if one is None or other is None:
        return True
    return len(one) == len(other) and all(
        left == right or not isinstance(left, int) or not isinstance(right, int)
        for left, right in zip(one, other, strict=True)
    )


def _values(model: ir.Model) -> Iterator[ir.Value]:
    """Every value of the model's main graph and of bodies in it."""
    for graph in (model.graph, *model.graph.subgraphs()):
        yield from graph.inputs
        yield from (value for value in graph.initializers.values() if not value.is_graph_input())
        yield from (value for node in graph for value in node.outputs if value.name)


def differences(a: Signature, b: Signature) -> Iterator[str]:
    """How what callers see of B differs from A."""
    types_a, types_b = ({(kind, name): type_ for kind, name, type_ in side} for side in (a, b))
    for (kind, name), type_ in types_a.items():
        other = types_b.get((kind, name))
        if other is None:
            yield f"the second model lacks the {KINDS[kind]} {name!r}"
        elif other != type_:
            yield f"the {KINDS[kind]} {name!r} is {other} in place of {type_}"
    for kind, name in types_b:
        if (kind, name) not in types_a:
            yield f"the second model has the {KINDS[kind]} {name!r}, the first one has not"
    for kind in KINDS:
        order_a, order_b = ([name for its_kind, name, _ in side if its_kind == kind] for side in (a, b))
        if order_a != order_b and sorted(order_a) == sorted(order_b):
            yield f"the {KINDS[kind]}s are in another order: {', '.join(order_b)} in place of {', '.join(order_a)}"
