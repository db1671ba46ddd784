"""Zeros around an image that a convolution, or an average, can add by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.fuse import legality
from advisor.fuse.pattern import OneOf, Op, Pattern, Scalar, Var
from advisor.fuse.rule import New, Rule
from advisor.fuse.rules.linear import attributes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from advisor.fuse.pattern import Match

__all__ = ["PAD"]

x, weight, bias = Var("x"), Var("weight"), Var("bias")
zeros: Pattern = OneOf(
    Op("Pad", x, Var("pads"), Scalar(0.0), mode="constant"),
    Op("Pad", x, Var("pads"), mode="constant"),
    Op("Pad", x, mode="constant"),
)


def check(match: Match) -> str | None:
    """Constant, not negative, along the spatial axes only, and counted by an average as the zeros were."""
    reason = legality.first(legality.not_of_types(match, "x", legality.FLOATS), legality.quantised(match, ["x"]))
    if reason is not None:
        return reason
    before, behind = _pads(match)
    window, pad = match.nodes[0], match.nodes[1]
    if "pads" in match.values and match.scope.constant(match["pads"]) is None:
        return f"the sizes of {legality.label(pad)} are known at run time only"
    if match.attribute(pad, "value"):
        return f"{legality.label(pad)} does not add zeros"
    if len(before) < 3 or any((*before[:2], *behind[:2])) or min(*before, *behind) < 0:
        return f"{legality.label(pad)} does more than to add to the spatial axes"
    if match.attribute(window, "auto_pad") not in {None, "NOTSET", "VALID"}:
        return f"{legality.label(window)} chooses its own padding by the size of its input"
    if window.op_type == "AveragePool":
        own = match.attribute(window, "pads")
        if own is not None and any(own) and not match.attribute(window, "count_include_pad"):
            return f"{legality.label(window)} does not count its own padding, but the zeros of {legality.label(pad)}"
        if match.attribute(window, "ceil_mode"):
            return f"{legality.label(window)} rounds its size up: what it counts at the border would change"
        size = list(match.attribute(window, "kernel_shape"))
        if any(amount >= limit for amount, limit in zip(_both(match), size * 2, strict=True)):
            return f"{legality.label(pad)} adds more than the window of {legality.label(window)}"
    return None


def rewrite(match: Match) -> Iterator[New]:
    """The operator with larger pads."""
    window = match.nodes[0]
    given = attributes(window) | {"auto_pad": "NOTSET", "pads": _both(match)}
    if window.op_type == "AveragePool":
        given["count_include_pad"] = 1
    yield New(window.op_type, *(match[name] for name in ("x", "weight", "bias") if name in match.values), **given)


def _pads(match: Match) -> tuple[list[int], list[int]]:
    """What is added before and behind each axis; empty where it is not constant."""
    if "pads" in match.values:
        array = match.scope.constant(match["pads"])
        sizes = [] if array is None else [int(size) for size in array.reshape(-1)]
    else:
        sizes = [int(size) for size in match.attribute(match.nodes[1], "pads") or ()]
    return sizes[: len(sizes) // 2], sizes[len(sizes) // 2 :]


def _both(match: Match) -> list[int]:
    """The spatial pads of both nodes together, in the order of the attribute."""
    before, behind = _pads(match)
    outer = (*before[2:], *behind[2:])
    own = match.attribute(match.nodes[0], "pads") or [0] * len(outer)
    return [first + second for first, second in zip(own, outer, strict=True)]


PAD = Rule(
    id="pad",
    family="gemm",
    description="Pad with zeros becomes the padding of the Conv or AveragePool behind it",
    patterns=(Op("Conv", zeros, weight, bias), Op("Conv", zeros, weight), Op("AveragePool", zeros)),
    check=check,
    rewrite=rewrite,
)
