"""The comparison of two models in a terminal: verdict first, then where they part, and what to know besides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.console import Group
from rich.panel import Panel
from rich.text import Text

from advisor.words import counted, plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import RenderableType

    from advisor.fuse.compare import ModelComparison
    from advisor.fuse.departure import NodeName
    from advisor.fuse.interface import Renamed

__all__ = ["render_verification"]

LISTED = 8
"""So many nodes behind a value, or differences of inputs and outputs, are listed."""


def render_verification(comparison: ModelComparison) -> RenderableType:
    """What `advisor verify` prints."""
    notes = [Text(f"note: {plain(note)}", style="yellow") for note in comparison.notes]
    return Group(_summary(comparison), *(Text(line) for line in _departure(comparison)), *notes)


def _summary(comparison: ModelComparison) -> Panel:
    text = Text()
    if comparison.equal:
        text.append("Equal: no difference beyond rounding was found.", style="bold")
    else:
        text.append("Different: the second model does not compute what the first one does.", style="bold")
    for line in comparison.interface[:LISTED]:
        text.append(f"\n{plain(line)}")
    if len(comparison.interface) > LISTED:
        text.append(f"\nand {len(comparison.interface) - LISTED:,} more such differences")
    if comparison.interface:
        text.append("\nInputs and outputs differ, so values were not compared.")
    if comparison.renamed:
        text.append(f"\n{_renamed(comparison.renamed)}", style="yellow")
    for level, check in comparison.checks.items():
        if check.passed:
            sets = f"{counted(check.inputs, 'set')} of inputs"
            error = "no difference at all"
            if check.max_abs_error:
                error = f"largest difference {check.max_abs_error:.1e} (output {plain(check.worst_output or '')})"
            text.append(f"\n{level.value}: equal on {sets}; {error}.")
        else:
            text.append(f"\n{level.value}: {plain(check.reason)}.")
    for mark, model in (("first", comparison.a), ("second", comparison.b)):
        text.append(f"\n{mark}: {plain(str(model.path))} ({counted(model.nodes, 'node')})")
    shapes = ", ".join(f"{plain(name)} {list(shape)}" for name, shape in list(comparison.shapes.items())[:4])
    text.append(f"\nRun on {comparison.provider}, onnxruntime {comparison.onnxruntime}{shapes and f', {shapes}'}.")
    return Panel(text, border_style="green" if comparison.equal else "red", box=box.ROUNDED)


def _renamed(renamed: Sequence[Renamed]) -> str:
    """Which inputs and outputs were compared by their place."""
    names = ", ".join(f"{each.kind} {plain(each.a)} is {plain(each.b)}" for each in renamed[:LISTED])
    more = f" and {len(renamed) - LISTED:,} more" if len(renamed) > LISTED else ""
    return f"Compared by place, not by name: {names}{more} in the second model. Programs that use names notice."


def _departure(comparison: ModelComparison) -> Iterator[str]:
    """Where the models part."""
    departure = comparison.departure
    if departure is None:
        return
    before = "no value that both models name comes before it"
    if departure.equal_before:
        count = departure.equal_before
        before = f"{counted(count, 'value')} before it {'are' if count != 1 else 'is'} equal"
    yield f"First value that differs: {plain(departure.value)} ({before})"
    yield f"  it {plain(departure.reason)} ({departure.input_set} inputs)"
    yield f"  first model:  {_nodes(departure.a)}"
    yield f"  second model: {_nodes(departure.b)}"
    if departure.weights:
        names = ", ".join(plain(name) for name in departure.weights[:LISTED])
        yield f"  constants with other values in the second model: {names}"


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
