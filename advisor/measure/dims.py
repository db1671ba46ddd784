"""Sizes for the dynamic dimensions of a model's inputs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from advisor.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import onnx_ir as ir

__all__ = ["Sizes", "resolve_sizes"]

BATCH = re.compile(r"batch|^(n|b|bs)$", re.IGNORECASE)
DEFAULTS = (
    (re.compile(r"height|width|^[hw]$", re.IGNORECASE), 224),
    (re.compile(r"chan|^c$", re.IGNORECASE), 3),
    # Together with the new tokens, within the shortest contexts that people use.
    (re.compile(r"past", re.IGNORECASE), 32),
    (re.compile(r"seq|len|token|time|frame|^[tsl]$", re.IGNORECASE), 128),
)
IMAGE_SIZE = 224
SEQUENCE = 128
OTHER = 64
"""Of a dimension whose name and place say nothing: large enough to cost something, small enough to run at once."""
CHANNELS = {1, 3, 4}


@dataclass(frozen=True)
class Sizes:
    """The shape of every input.

    Attributes:
        shapes: Input name to shape.
        assumed: Dimension to size, for each that nobody gave, spelled as `--dim` takes it.
        batch: The dimensions that are the batch.
        sizes: Every dynamic dimension to its size.
    """

    shapes: dict[str, tuple[int, ...]]
    assumed: dict[str, int] = field(default_factory=dict)
    batch: tuple[str, ...] = ()
    sizes: dict[str, int] = field(default_factory=dict)

    @property
    def length(self) -> int:
        """What a length counts: the second axis of the first input that has one."""
        return next((shape[1] for shape in self.shapes.values() if len(shape) > 1), 1)


def resolve_sizes(inputs: Sequence[ir.Value], given: Mapping[str, int], batch: int | None) -> Sizes:
    """Choose the sizes of dynamic dimensions: given by name, else the batch, else by name and place.

    A dimension is called by its name (`sequence_length`), or `INPUT:AXIS` where the model does not name it. A name
    that is a sum (`past_length + 1`) is computed. The batch is 1 unless given: the dimensions called so, the leading
    ones whose names mean nothing else, and the second one of a recurrent layer's state.

    Args:
        inputs: The model's inputs, each with a known rank.
        given: Dimension to size.
        batch: Size of the batch.

    Raises:
        BadInput: A given dimension does not exist, or a batch is given to a model with a fixed one.
    """
    keys = {value.name or "": _keys(value) for value in inputs}
    dynamic = [(key, axis, row) for row in keys.values() for axis, key in enumerate(row) if isinstance(key, str)]
    names = {key for key, _, _ in dynamic}
    for name in given:
        if name not in names and not any(name in _terms(key) for key in names):
            has = f"it has {', '.join(sorted(names))}" if names else "all its dimensions are fixed"
            raise BadInput(f"the model has no dynamic dimension {name!r}: {has}")
    known: dict[str, int] = dict(given)
    assumed: dict[str, int] = {}
    batches: list[str] = []
    # Sums come last, when what they add up has its size.
    for key, axis, row in sorted(dynamic, key=lambda place: len(_terms(place[0]))):
        terms = _terms(key)
        is_batch = len(terms) == 1 and _is_batch(key, axis, row)
        if is_batch and key not in batches:
            batches.append(key)
        for term in terms:
            if term in known or term.isdigit():
                continue
            known[term] = (1 if batch is None else batch) if is_batch else _default(term, axis, row)
            if not is_batch or batch is None:
                assumed[term] = known[term]
        if key not in known:
            known[key] = sum(int(term) if term.isdigit() else known[term] for term in terms)
    if batch is not None and not batches:
        fixed = sorted({row[0] for row in keys.values() if row and isinstance(row[0], int)})
        if fixed != [batch]:
            raise BadInput(f"the model's batch is fixed ({', '.join(map(str, fixed))}): leave --batch away")
    shapes = {name: tuple(known[key] if isinstance(key, str) else key for key in row) for name, row in keys.items()}
    return Sizes(shapes, assumed, tuple(batches), {key: known[key] for key, _, _ in dynamic})


def _keys(value: ir.Value) -> list[int | str]:
    """Each axis: its fixed size, or what the dimension is called."""
    assert value.shape is not None
    row: list[int | str] = []
    for axis, dim in enumerate(value.shape.dims):
        if isinstance(dim, int):
            # Some exporters write -1 where they mean any size.
            row.append(dim if dim >= 0 else f"{value.name}:{axis}")
        else:
            name = dim.value or ""
            row.append(name if name.strip("?") else f"{value.name}:{axis}")
    return row


def _terms(key: str) -> list[str]:
    """The summands of a name such as `past_length + 1`; just the name for any other."""
    terms = [term.strip() for term in key.split("+")]
    return terms if all(re.fullmatch(r"\w+", term) for term in terms) else [key]


def _is_batch(key: str, axis: int, row: Sequence[int | str]) -> bool:
    if BATCH.search(key):
        return True
    if ":" in key and axis == 1 and len(row) == 3 and isinstance(row[0], int):
        return True  # the state of a recurrent layer: layers, batch, features
    return axis == 0 and not any(pattern.search(key) for pattern, _ in DEFAULTS)


def _default(key: str, axis: int, row: Sequence[int | str]) -> int:
    """A size for a dimension from its name, else from its place."""
    for pattern, size in DEFAULTS:
        if pattern.search(key):
            return size
    if len(row) == 4 and ((row[1] in CHANNELS and axis > 1) or (row[3] in CHANNELS and 0 < axis < 3)):
        return IMAGE_SIZE
    if ":" in key and axis == 1:
        return SEQUENCE
    return OTHER
