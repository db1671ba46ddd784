"""What the comparison of two models says, in words that every report shares."""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.fuse.difference import QUANTIZED, TOLERANCES
from advisor.words import counted, plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from advisor.fuse.compare import ModelComparison
    from advisor.fuse.departure import NodeName
    from advisor.fuse.interface import Renamed

__all__ = ["departure", "headline", "renamed", "summary"]

LISTED = 8
"""So many nodes behind a value, or differences of inputs and outputs, are listed."""


def headline(comparison: ModelComparison) -> str:
    """The verdict in one sentence."""
    if comparison.is_coarse:
        return (
            f"Equal within {100 * TOLERANCES[QUANTIZED].relative:.0f} % only: the first model quantises, and the second"
            " one's quantisers are not the same."
        )
    if comparison.equal:
        return "Equal: no difference beyond rounding was found."
    return "Different: the second model does not compute what the first one does."


def summary(comparison: ModelComparison) -> Iterator[str]:
    """How it was found: inputs and outputs, each level of optimisation, the models, what they ran on."""
    yield from (plain(line) for line in comparison.interface[:LISTED])
    if len(comparison.interface) > LISTED:
        yield f"and {counted(len(comparison.interface) - LISTED, 'more such difference')}"
    if comparison.interface:
        yield "Inputs and outputs differ, so values were not compared."
    for level, check in comparison.checks.items():
        if check.passed:
            error = "no difference at all"
            if check.max_abs_error:
                error = f"largest difference {check.max_abs_error:.1e} (output {plain(check.worst_output or '')})"
            yield f"{level.value}: equal on {counted(check.inputs, 'set')} of inputs; {error}."
        else:
            yield f"{level.value}: {plain(check.reason)}."
    for mark, model in (("first", comparison.a), ("second", comparison.b)):
        yield f"{mark}: {plain(str(model.path))} ({counted(model.nodes, 'node')})"
    shapes = ", ".join(f"{plain(name)} {list(shape)}" for name, shape in list(comparison.shapes.items())[:4])
    yield f"Run on {comparison.provider}, onnxruntime {comparison.onnxruntime}{shapes and f', {shapes}'}."


def renamed(comparison: ModelComparison) -> str | None:
    """Which inputs and outputs were compared by their place; None where all have one name."""
    pairs: Sequence[Renamed] = comparison.renamed
    if not pairs:
        return None
    names = ", ".join(f"{each.kind} {plain(each.a)} is {plain(each.b)}" for each in pairs[:LISTED])
    more = f" and {len(pairs) - LISTED:,} more" if len(pairs) > LISTED else ""
    return f"Compared by place, not by name: {names}{more} in the second model. Programs that use names notice."


def departure(comparison: ModelComparison) -> Iterator[str]:
    """Where the models part; the first line says where, the others tell more of it."""
    found = comparison.departure
    if found is None:
        return
    before = "no value that both models name comes before it"
    if found.equal_before:
        count = found.equal_before
        before = f"{counted(count, 'value')} before it {'are' if count != 1 else 'is'} equal"
    yield f"First value that differs: {plain(found.value)} ({before})"
    yield f"it {plain(found.reason)} ({found.input_set} inputs)"
    yield f"first model:  {_nodes(found.a)}"
    yield f"second model: {_nodes(found.b)}"
    if found.weights:
        names = ", ".join(plain(name) for name in found.weights[:LISTED])
        yield f"constants with other values in the second model: {names}"


def _nodes(nodes: Sequence[NodeName]) -> str:
    """The node that computes a value, and those that belong to it."""
    first, *others = nodes
    operator = f"{first.domain}.{first.op_type}" if first.domain else first.op_type
    text = f"{plain(operator)} {plain(first.name)}".rstrip()
    if others:
        listed = ", ".join(plain(node.op_type) for node in others[:LISTED])
        more = f" and {len(others) - LISTED:,} more" if len(others) > LISTED else ""
        text += f", after {listed}{more}"
    return text
