"""Rotary position embedding (Su et al. 2021) with the halves of the features turned: x · cos + [-x₂, x₁] · sin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from advisor.fuse import legality
from advisor.fuse.pattern import OneOf, Op, Pattern, Var
from advisor.fuse.rule import New, Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from advisor.fuse.pattern import Match
    from advisor.fuse.scope import Scope
    from advisor.fuse.sizes import Sizes

__all__ = ["ROTARY"]

TYPES = frozenset({ir.DataType.FLOAT, ir.DataType.FLOAT16})
ELEMENTWISE = frozenset({"Cast", "Cos", "Identity", "Sin", "Unsqueeze"})
"""What exporters do with angles that were put twice behind one another; the two halves stay the same."""

x, cos, sin = Var("x"), Var("cos"), Var("sin")


def part(name: str) -> Pattern:
    """A slice of x; the steps may be left out."""
    bounds = (Var(f"{name} start"), Var(f"{name} end"), Var(f"{name} axes"))
    return OneOf(Op("Slice", x, *bounds), Op("Slice", x, *bounds, Var(f"{name} steps")))


turned = Op("Concat", Op("Neg", part("second")), part("first"))


def check(match: Match) -> str | None:
    """Halves of the last of four axes; angles that are the same in both halves and for every sequence and head."""
    reason = legality.first(
        legality.not_of_types(match, "x", TYPES),
        *(
            f"the element type of '{match[name].name}' is another one, or not certain"
            for name in ("cos", "sin")
            if match.scope.dtype(match[name]) != match.scope.dtype(match["x"])
        ),
    )
    if reason is not None:
        return reason
    sizes = match.scope.sizes(match["x"])
    if sizes is None or len(sizes) != 4 or not isinstance(sizes[3], int) or sizes[3] % 2:
        return f"the sizes of '{match['x'].name}' are not four, the last of them even and certain"
    return legality.first(
        _halves(match, sizes[3]),
        *(_angles(match.scope, match[name], sizes) for name in ("cos", "sin")),
    )


def rewrite(match: Match) -> Iterator[New]:
    """RotaryEmbedding of ONNX Runtime, from position 0 on."""
    tables = (_half(match, match[name]) for name in ("cos", "sin"))
    first_position = np.zeros(1, np.int64)
    yield New("RotaryEmbedding", match["x"], first_position, *tables, domain="com.microsoft")


def _halves(match: Match, features: int) -> str | None:
    """Why the slices are not the second and the first half of the last axis."""
    concat = next(node for node in match.nodes if node.op_type == "Concat")
    if match.attribute(concat, "axis") not in (-1, 3):
        return f"{legality.label(concat)} is not along the features"
    for name, slice_of in zip(("second", "first"), _slices(concat), strict=True):
        axes = match.scope.constant(match[f"{name} axes"])
        steps = match.scope.constant(match[f"{name} steps"]) if f"{name} steps" in match.values else np.ones(1)
        # One end tells where the half lies, its size the other, which TorchScript computes.
        bound = match.scope.constant(match[f"{name} {'start' if name == 'first' else 'end'}"])
        if axes is None or steps is None or bound is None or bound.size != 1:
            return f"the bounds of {legality.label(slice_of)} are known at run time only"
        at_edge = bound.item() == 0 if name == "first" else bound.item() >= features
        size = match.scope.sizes(slice_of.outputs[0])
        is_half = size is not None and len(size) == 4 and size[3] == features // 2
        if axes.tolist() not in ([3], [-1]) or steps.tolist() != [1] or not at_edge or not is_half:
            return f"{legality.label(slice_of)} is not, or not certain to be, the {name} half of the features"
    return None


def _slices(concat: ir.Node) -> tuple[ir.Node, ir.Node]:
    """The slices that CONCAT puts together, the negated one first."""
    negated, plain = concat.inputs
    assert negated is not None and plain is not None, "matched"  # noqa: PT018
    negation, first = negated.producer(), plain.producer()
    assert negation is not None and first is not None, "matched"  # noqa: PT018
    assert negation.inputs[0] is not None, "matched"
    second = negation.inputs[0].producer()
    assert second is not None, "matched"
    return second, first


def _angles(scope: Scope, value: ir.Value, of: Sizes) -> str | None:
    """Why VALUE is not one row of angles for each position, the second half of them like the first."""
    sizes = scope.sizes(value)
    described = f"'{value.name}' is {legality.dims_text(scope.shape(value))}"
    if sizes is None or not 2 <= len(sizes) <= 4 or sizes[-2:] != of[2:] or any(size != 1 for size in sizes[:-2]):
        return f"{described}: it is not certain to be one row of angles for each position"
    if (array := scope.constant(value)) is not None:
        first, second = np.split(array, 2, axis=-1)
        return None if np.array_equal(first, second) else f"the halves of '{value.name}' differ"
    return None if _doubled(scope, value, of[3]) else f"{described}: it is not certain that its halves are the same"


def _doubled(scope: Scope, value: ir.Value | None, features: int | str) -> bool:
    """Whether VALUE is known to be the same twice along its last axis."""
    while value is not None and (node := value.producer()) is not None and not node.domain:
        sizes = scope.sizes(value)
        if sizes is None or sizes[-1] != features:
            return False
        if node.op_type == "Concat":
            axis = node.attributes.get_int("axis")
            return axis in (-1, len(sizes) - 1) and len(node.inputs) == 2 and node.inputs[0] is node.inputs[1]
        if node.op_type == "Mul":
            factors = [source for source in node.inputs if source is not None and not _is_number(scope, source)]
            if len(factors) != 1:
                return False
            value = factors[0]
        elif node.op_type in ELEMENTWISE:
            value = node.inputs[0]
        else:
            return False
    return False


def _is_number(scope: Scope, value: ir.Value) -> bool:
    array = scope.constant(value)
    return array is not None and array.size == 1


def _half(match: Match, angles: ir.Value) -> New | NDArray[Any]:
    """The first half of ANGLES, one row for each position."""
    sizes = match.scope.sizes(match["x"])
    assert sizes is not None and isinstance(sizes[3], int), "checked"  # noqa: PT018
    half = sizes[3] // 2
    if (array := match.scope.constant(angles)) is not None:
        return np.ascontiguousarray(array[..., :half].reshape(-1, half))
    zero, end, last = (np.array([number], np.int64) for number in (0, half, -1))
    return New("Reshape", New("Slice", angles, zero, end, last), np.array([-1, half], np.int64))


ROTARY = Rule(
    id="rotary",
    family="attention",
    description="x · cos + [-x₂, x₁] · sin becomes RotaryEmbedding",
    patterns=(Op("Add", Op("Mul", x, cos), Op("Mul", turned, sin)),),
    check=check,
    rewrite=rewrite,
)
