"""Sets of inputs to run a model with: made from the model, or read from a file."""

from __future__ import annotations

import math
import zipfile
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from advisor.errors import BadInput
from advisor.measure.dims import Sizes, resolve_sizes
from advisor.measure.fills import Fill, Variant, fill_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from advisor.measure.session import Feed

__all__ = ["InputSet", "Inputs", "generate_inputs", "read_inputs"]

ODD_BATCH = 3
MOST_VALUES = 1 << 28
"""In all inputs of one set together: 1 GiB of float32, of which there are several sets at a time."""
FIRST_IR_WITH_DEFAULTS = 4
"""Before, every initialiser had to be listed as an input, and ONNX Runtime takes them as constants."""
FLOATS = {ir.DataType.FLOAT, ir.DataType.DOUBLE, ir.DataType.FLOAT16}
BYTE_FLOATS = {"BFLOAT16", "FLOAT8E4M3FN", "FLOAT8E5M2"}
"""Dtypes of ml_dtypes that a session takes as bits."""


@dataclass(frozen=True)
class InputSet:
    """One feed and what is special about it."""

    name: str
    feed: Feed


@dataclass(frozen=True)
class Inputs:
    """Sets of inputs; the first is the one to measure with.

    Attributes:
        sets: Different in values, and some in shapes.
        assumed: Sizes of dynamic dimensions that nobody gave.
        batch: Dimensions that are the batch.
    """

    sets: tuple[InputSet, ...]
    assumed: dict[str, int] = field(default_factory=dict)
    batch: tuple[str, ...] = ()


def generate_inputs(
    model: ir.Model, *, dims: Mapping[str, int] | None = None, batch: int | None = None, seed: int = 0
) -> Inputs:
    """Make sets of inputs: ordinary, reseeded, large, small, zeros, other sizes, other values of initialisers.

    Indices lie within the tables that they index, masks are 0 or 1, images lie between 0 and 1 (255 when large).

    Args:
        model: The model.
        dims: Size of dynamic dimensions, by name or `INPUT:AXIS`.
        batch: Size of the batch.
        seed: Of the values.

    Raises:
        BadInput: A dimension that the model does not have, sizes beyond any memory, or an input whose values cannot be
            made up.
    """
    given = dict(dims or {})
    required = [value for value in model.graph.inputs if not value.is_initializer()]
    for value in required:
        _check_can_make(value)
    sizes = resolve_sizes(required, given, batch)
    count = sum(math.prod(shape) for shape in sizes.shapes.values())
    if count > MOST_VALUES:
        raise BadInput(f"inputs of these sizes hold {count:,} values, over {MOST_VALUES:,}: choose smaller sizes")
    plans: list[tuple[str, Sizes, Variant]] = [(variant.value, sizes, variant) for variant in Variant]
    if sizes.batch:
        plans.append(("odd batch", _resized(required, sizes, given, ODD_BATCH), Variant.ORDINARY))
    others = {name: _odd(size) for name, size in sizes.assumed.items() if name not in sizes.batch}
    if others:
        plans.append(("odd sizes", resolve_sizes(required, given | others, batch), Variant.RESEEDED))
    sets: list[InputSet] = []
    for number, (name, plan, variant) in enumerate(plans):
        rng = np.random.default_rng((seed, number))
        feed = {value.name or "": _draw(value, plan, variant, rng) for value in required}
        if not any(_equal(feed, known.feed) for known in sets):
            sets.append(InputSet(name, feed))
    sets += _overridden(model, sets[0].feed, np.random.default_rng((seed, len(plans))))
    return Inputs(tuple(sets), sizes.assumed, sizes.batch)


def read_inputs(path: Path, model: ir.Model) -> Inputs:
    """Read a feed from an .npz file, and derive sets from it whose floating-point inputs are large, small and zero.

    Raises:
        BadInput: The file cannot be read, or does not fit the model: names, dtypes or shapes.
    """
    arrays = _load(path)
    known = {value.name or "": value for value in model.graph.inputs}
    missing = [name for name, value in known.items() if name not in arrays and not value.is_initializer()]
    if missing:
        raise BadInput(f"{path} lacks the input {', '.join(missing)}: it holds {', '.join(arrays) or 'nothing'}")
    feed: dict[str, NDArray[Any]] = {}
    for name, array in arrays.items():
        if name not in known:
            raise BadInput(f"{path} holds {name!r}, which is no input: the model takes {', '.join(known)}")
        feed[name] = _fitted(path, known[name], array)
    sets = [InputSet("given", feed)]
    for variant, scale in ((Variant.LARGE, 10.0), (Variant.SMALL, 1e-3), (Variant.ZEROS, 0.0)):
        scaled = {name: _scaled(array, scale) for name, array in feed.items()}
        if not any(_equal(scaled, other.feed) for other in sets):
            sets.append(InputSet(f"given, {variant.value}", scaled))
    return Inputs(tuple(sets))


def _check_can_make(value: ir.Value) -> None:
    """Refuse inputs whose values nobody can guess."""
    instead = "give real inputs with --inputs FILE.npz"
    unsupported = "models with such inputs are not supported"
    if not isinstance(value.type, ir.TensorType):
        kind = "no tensor" if value.type is not None else "of unknown type"
        raise BadInput(f"the input {value.name!r} is {kind} ({value.type}): {unsupported}")
    if value.dtype is ir.DataType.STRING:
        raise BadInput(f"the input {value.name!r} is text, which cannot be made up: {instead}")
    assert value.dtype is not None
    if value.dtype.numpy().kind not in "fiub" and value.dtype.name not in BYTE_FLOATS:
        raise BadInput(
            f"the input {value.name!r} is {value.dtype.name.lower()}: models with such inputs are not supported"
        )
    if value.shape is None:
        raise BadInput(f"the model does not tell the rank of its input {value.name!r}: {instead}")


def _resized(required: list[ir.Value], sizes: Sizes, given: Mapping[str, int], batch: int) -> Sizes:
    """The same sizes at another batch."""
    fixed = {name: size for name, size in sizes.sizes.items() if name not in sizes.batch and "+" not in name}
    kept = {name: size for name, size in given.items() if name not in sizes.batch}
    return resolve_sizes(required, fixed | kept, batch)


def _odd(size: int) -> int:
    """Another size, smaller and odd: neither a power of two nor a multiple of a vector's width."""
    return (5 * size // 8) | 1


def _draw(value: ir.Value, sizes: Sizes, variant: Variant, rng: np.random.Generator) -> NDArray[Any]:
    assert value.dtype is not None
    fill: Fill = fill_for(value, sizes.length)
    values = np.asarray(fill(sizes.shapes[value.name or ""], variant, rng))
    return np.ascontiguousarray(values.astype(value.dtype.numpy())).reshape(values.shape)


def _overridden(model: ir.Model, feed: Feed, rng: np.random.Generator) -> Iterator[InputSet]:
    """A set that gives initialisers which are inputs too another value: a fused model may not have folded them."""
    if model.ir_version < FIRST_IR_WITH_DEFAULTS:
        return
    others: dict[str, NDArray[Any]] = {}
    for value in model.graph.inputs:
        if value.is_initializer() and value.const_value is not None and value.dtype in FLOATS:
            default = value.const_value.numpy()
            others[value.name or ""] = (default * rng.uniform(0.5, 1.5, default.shape)).astype(default.dtype)
    if others:
        yield InputSet("other initialisers", {**feed, **others})


def _load(path: Path) -> dict[str, NDArray[Any]]:
    try:
        archive = np.load(path, allow_pickle=False)
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise BadInput(f"{path} is one array: write it with numpy.savez(FILE, input_name=array)")
        with archive:
            return {name: archive[name] for name in archive.files}
    except FileNotFoundError:
        raise BadInput(f"no such file: {path}") from None
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror or error}") from None
    except (ValueError, EOFError, zipfile.BadZipFile, zlib.error):
        raise BadInput(f"{path} is no .npz file of plain arrays: write it with numpy.savez") from None


def _fitted(path: Path, value: ir.Value, array: NDArray[Any]) -> NDArray[Any]:
    """The array, checked against what the model declares."""
    place = f"{path}: the input {value.name!r}"
    if not isinstance(value.type, ir.TensorType) or value.dtype is None:
        raise BadInput(f"{place} is no tensor: models with such inputs are not supported")
    if value.dtype is ir.DataType.STRING:
        if array.dtype.kind not in "US":
            raise BadInput(f"{place} is {array.dtype}, the model takes text")
        array = array.astype(object)
    else:
        wanted = np.dtype(value.dtype.numpy())
        if array.dtype.kind == "V" and wanted.kind == "V" and array.dtype.itemsize == wanted.itemsize:
            array = array.view(wanted)  # NumPy's format has no name for bfloat16
        if array.dtype != wanted:
            raise BadInput(f"{place} is {array.dtype}, the model takes {wanted}")
    if value.shape is not None:
        fits = len(value.shape) == array.ndim and all(
            not isinstance(dim, int) or dim < 0 or dim == size
            for dim, size in zip(value.shape.dims, array.shape, strict=True)
        )
        if not fits:
            declared = ", ".join(str(dim) for dim in value.shape.dims)
            raise BadInput(f"{place} has the shape {list(array.shape)}, the model takes [{declared}]")
    return np.ascontiguousarray(array).reshape(array.shape)


def _scaled(array: NDArray[Any], scale: float) -> NDArray[Any]:
    return (array * scale).astype(array.dtype) if array.dtype.kind == "f" else array


def _equal(one: Feed, other: Feed) -> bool:
    return all(np.array_equal(array, other[name]) for name, array in one.items())
