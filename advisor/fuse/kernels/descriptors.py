"""The tables by which the run-time side knows its kernels, as LLVM IR: the structures of glue.c, field by field."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import onnx_ir as ir

from advisor.errors import BadInput
from advisor.fuse.kernels.expression import DOMAIN, MOST_TENSORS, REDUCTIONS, Access, Expression, Input, Operation
from advisor.fuse.kernels.view import MOST_AXES, PLAIN, View

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["Operator", "cost", "tables"]

LEVELS = 3
"""Places for a kernel's levels in a descriptor."""
BYTES = {
    ir.DataType.FLOAT: 4,
    ir.DataType.FLOAT16: 2,
    ir.DataType.BFLOAT16: 2,
    ir.DataType.DOUBLE: 8,
    ir.DataType.INT32: 4,
    ir.DataType.INT64: 8,
    ir.DataType.BOOL: 1,
    ir.DataType.INT8: 1,
    ir.DataType.UINT8: 1,
    ir.DataType.INT16: 2,
    ir.DataType.UINT16: 2,
    ir.DataType.UINT32: 4,
    ir.DataType.UINT64: 8,
}
"""Of an element in memory; the types' numbers are those of ONNX Runtime."""
DEAR = {"Cos": 8, "Div": 2, "Elu": 3, "Erf": 4, "Exp": 3, "Log": 7, "Mod": 50, "Pow": 24, "Sigmoid": 3, "Sin": 8,
        "Softplus": 5, "Tanh": 4}  # fmt: skip
"""Operations that take more than about one instruction a vector: how many times as long, measured with AVX2."""


@dataclass(frozen=True)
class Operator:
    """One operator of a library.

    Attributes:
        expression: What it computes.
        provider: The execution provider that it is registered for; None for the CPU.
        ptx: The kernel for NVIDIA GPUs, with an entry of the expression's name; None for a CPU kernel.
    """

    expression: Expression
    provider: str | None = None
    ptx: str | None = None


def tables(operators: Iterable[Operator], levels: Mapping[str, int]) -> str:
    """The IR text that defines the tables of these operators.

    Args:
        operators: In the order in which they are registered.
        levels: The suffix of a kernel's functions for each level, and its number (that `cpu_level` of the glue gives).

    Raises:
        BadInput: An expression that no kernel can be called for.
    """
    lines: list[str] = []
    rows: list[str] = []
    views: dict[View, str] = {}
    declared: set[str] = set()
    for number, operator in enumerate(operators):
        expression = operator.expression
        _check(expression)
        fast, general = (_functions(expression, levels, variant, operator.ptx is None) for variant in ("", "_any"))
        declared |= {name for name in (*fast, *general) if name != "null"}
        texts = [
            _text(lines, f"{what}_{number}", text)
            for what, text in (("name", expression.name), ("provider", operator.provider), ("ptx", operator.ptx))
        ]
        functions = "@functions_on_gpu" if operator.ptx is not None else "@functions_on_cpu"
        counts = (len(expression.inputs), len(expression.outputs), expression.reduced, cost(expression))
        rows.append(
            f"%Descriptor {{ {', '.join(f'ptr {name}' for name in (*texts, functions))}, "
            f"{_pointers(fast)}, {_pointers(general)}, {', '.join(f'i32 {count}' for count in counts)}, "
            f"[{MOST_TENSORS} x %Tensor] [{', '.join(_tensors(expression, views))}] }}"
        )
    _text(lines, "domain_name", DOMAIN, linkage="hidden")
    count = len(rows)
    pointers = ", ".join(["ptr"] * 4)
    return "\n".join(
        (
            "%Tensor = type { i32, i32, i32, i32, ptr }",
            f"%View = type {{ i64, i64, i32, i32, [{MOST_AXES} x i64], [{MOST_AXES} x i32] }}",
            f"%Descriptor = type {{ {pointers}, [{LEVELS} x ptr], [{LEVELS} x ptr], i32, i32, i32, i32, "
            f"[{MOST_TENSORS} x %Tensor] }}",
            "%Operator = type { i32, [21 x ptr], ptr }",
            *(f"declare void {name}(ptr, ptr, ptr, ptr, i64, i64)" for name in sorted(declared)),
            "@functions_on_cpu = external hidden constant ptr",
            "@functions_on_gpu = external hidden constant ptr",
            *lines,
            *(f"{name} = internal constant {_view(view)}" for view, name in views.items()),
            f"@descriptor_count = hidden constant i32 {count}",
            f"@descriptors = hidden constant [{count} x %Descriptor] [{', '.join(rows)}]",
            f"@operators = hidden global [{count} x %Operator] zeroinitializer",
            "",
        )
    )


def cost(expression: Expression) -> int:
    """About the time that a column takes: its operations and what it reads and writes.

    A unit is 0.03 to 0.1 ns with AVX2 (measured over the groups of `benchmarks/kernels.py`, in and beyond the cache).
    """
    steps = sum(
        DEAR.get(value.op_type, 1) * (2 if value.dtype.itemsize > 4 else 1)
        for value, on_row in zip(expression.values, expression.on_rows, strict=True)
        if isinstance(value, Operation) and (not on_row or value.op_type in REDUCTIONS)
    )
    moved = sum(BYTES[value.dtype] for value in expression.inputs if value.access is Access.COLUMNS) + sum(
        BYTES[expression.dtype(output.value)] for output in expression.outputs if output.access is Access.COLUMNS
    )
    return max(1, steps + moved // 4)


def _check(expression: Expression) -> None:
    name, written = expression.name, [expression.dtype(output.value) for output in expression.outputs]
    if not expression.inputs or not expression.outputs:
        raise BadInput(f"{name} reads or writes no tensor")
    if len(expression.inputs) + len(written) > MOST_TENSORS:
        raise BadInput(f"{name} has more than {MOST_TENSORS} inputs and outputs")
    for dtype in (*(value.dtype for value in expression.inputs), *written):
        if dtype not in BYTES:
            raise BadInput(f"{name}: a kernel can not read or write {dtype.name.lower()}")
    if not expression.reduced and any(output.access is Access.ROW for output in expression.outputs):
        raise BadInput(f"{name} writes one value a row, but reduces no axes")


def _functions(expression: Expression, levels: Mapping[str, int], variant: str, on_cpu: bool) -> Sequence[str]:
    names = ["null"] * LEVELS
    if on_cpu:
        for suffix, place in levels.items():
            names[place] = f"@{expression.name}_{suffix}{variant}"
    return names


def _pointers(names: Sequence[str]) -> str:
    return f"[{LEVELS} x ptr] [{', '.join(f'ptr {name}' for name in names)}]"


def _tensors(expression: Expression, views: dict[View, str]) -> list[str]:
    """Type, bytes of an element, whether it is (2: must be) one value a row, whether that keeps the reduced axes, view.

    VIEWS are the names of views; those that are new are added.
    """
    needed = _needed_on_rows(expression)
    places = [place for place, value in enumerate(expression.values) if isinstance(value, Input)]
    fields = [
        (value.dtype, 2 if place in needed else int(value.access is Access.ROW), True, value.view)
        for place, value in zip(places, expression.inputs, strict=True)
    ]
    fields += [
        (expression.dtype(output.value), int(output.access is Access.ROW), output.keepdims, PLAIN)
        for output in expression.outputs
    ]
    rows = [(dtype.value, BYTES[dtype], on_row, int(keep), _named(view, views)) for dtype, on_row, keep, view in fields]
    rows += [(0, 0, 0, 0, "null")] * (MOST_TENSORS - len(rows))
    return [f"%Tensor {{ {', '.join(f'i32 {number}' for number in numbers)}, ptr {view} }}" for *numbers, view in rows]


def _named(view: View, views: dict[View, str]) -> str:
    return "null" if view == PLAIN else views.setdefault(view, f"@view_{len(views)}")


def _view(view: View) -> str:
    """The structure of a view."""
    lengths = [*view.lengths, *(0,) * (MOST_AXES - len(view.lengths))]
    order = [*view.order, *(0,) * (MOST_AXES - len(view.order))]
    return (
        f"%View {{ i64 {view.last}, i64 {view.start}, i32 {len(view.lengths)}, i32 {len(view.order)}, "
        f"[{MOST_AXES} x i64] [{', '.join(f'i64 {length}' for length in lengths)}], "
        f"[{MOST_AXES} x i32] [{', '.join(f'i32 {axis}' for axis in order)}] }}"
    )


def _needed_on_rows(expression: Expression) -> set[int]:
    """Places of what outputs of one value a row are made of, but through reductions."""
    found: set[int] = set()
    waiting = [output.value for output in expression.outputs if output.access is Access.ROW]
    while waiting:
        place = waiting.pop()
        value = expression.values[place]
        if place not in found and not (isinstance(value, Operation) and value.op_type in REDUCTIONS):
            found.add(place)
            waiting += value.operands if isinstance(value, Operation) else ()
    return found


def _text(lines: list[str], name: str, text: str | None, linkage: str = "internal") -> str:
    """A constant of that text with a zero byte behind it; its name, or null where there is none."""
    if text is None:
        return "null"
    data = text.encode() + b"\0"
    escaped = "".join(f"\\{byte:02X}" for byte in data)
    lines.append(f'@{name} = {linkage} constant [{len(data)} x i8] c"{escaped}"')
    return f"@{name}"
