"""Writes a kernel for NVIDIA GPUs as LLVM IR for the NVPTX target: the same operators and stages as on the CPU.

The parameters of a kernel are pointers to its tensors, the inputs first, and the `Layout` of the glue by value. Where
nothing is reduced each thread computes elements a grid apart. Where rows are reduced a warp takes a row, and its lanes
the columns that are a warp apart; totals travel by shuffles, so no shared memory and no barrier is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from advisor.fuse.kernels import operators
from advisor.fuse.kernels.builder import Builder, Value
from advisor.fuse.kernels.evaluation import constants, evaluate, evaluate_on_rows, on_rows_whatever_the_strides
from advisor.fuse.kernels.expression import MOST_TENSORS, Access, Expression, Input, Operation
from advisor.fuse.kernels.identities import simplified
from advisor.fuse.kernels.stages import Loop, plan
from advisor.fuse.kernels.view import MOST_AXES

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["TARGETS", "TRIPLE", "gpu_module"]

TRIPLE = "nvptx64-nvidia-cuda"
TARGETS = {
    "sm_70": "+ptx64",
    "sm_75": "+ptx64",
    "sm_80": "+ptx70",
    "sm_86": "+ptx71",
    "sm_89": "+ptx78",
    "sm_90": "+ptx78",
}
"""GPUs, and for each a version of PTX that knows it: LLVM ends the process where the two do not go together.

The driver translates PTX for its own GPU, so that of the oldest serves all newer ones."""
WARP = 32
GLOBAL = "ptr addrspace(1)"
_LAYOUT = f"%Layout = type {{ i64, i64, i64, [{MOST_AXES} x i64], [{MOST_TENSORS} x {{ [{MOST_AXES} x i64], i64 }}] }}"
"""As in glue.c: rows, columns, the axes of the rows and their extents; and of each input the strides."""
_SPECIAL = "llvm.nvvm.read.ptx.sreg."


def gpu_module(expressions: Sequence[Expression]) -> str:
    """IR of all expressions, one kernel each, named as the expression."""
    kernels = [_Kernel(expression) for expression in expressions]
    functions = [kernel.text() for kernel in kernels]
    declarations: set[str] = set().union(*(kernel.builder.declarations for kernel in kernels))
    return "\n".join([_LAYOUT, *sorted(declarations), *functions, "attributes #0 = { nounwind }", "!0 = !{}", ""])


class _Kernel:
    """One function."""

    def __init__(self, expression: Expression) -> None:
        self.name = expression.name
        self.expression = expression = simplified(expression)
        self.builder = Builder()
        # One kernel for all strides: a load costs the same with any.
        self.on_rows = on_rows_whatever_the_strides(expression)
        self.plan = plan(expression, self.on_rows)
        places = [place for place, value in enumerate(expression.values) if isinstance(value, Input)]
        self.number = {place: number for number, place in enumerate(places)}
        self.inputs = [Value(GLOBAL, f"%in{number}") for number in range(len(places))]
        self.outputs = [Value(GLOBAL, f"%out{number}") for number in range(len(expression.outputs))]
        self.rows = self.columns = self.threads = Value("i64", "0")
        self.walks = 0

    def text(self) -> str:
        """The definition."""
        b = self.builder
        tensors = [
            *(f"{GLOBAL} noalias readonly {pointer.name}" for pointer in self.inputs),
            *(f"{GLOBAL} noalias {pointer.name}" for pointer in self.outputs),
        ]
        parameters = ", ".join([*tensors, "ptr byval(%Layout) align 8 %layout"])
        b.lines.append(f"define ptx_kernel void @{self.name}({parameters}) #0 {{")
        b.label("entry")
        thread, block, width, blocks = (
            b.convert("zext", b.call("i32", _SPECIAL + name), "i64")
            for name in ("tid.x", "ctaid.x", "ntid.x", "nctaid.x")
        )
        self.rows, self.columns = self._field("0"), self._field("1")
        self.threads = b.mul(blocks, width)
        first = b.add(b.mul(block, width), thread)
        if self.expression.reduced:
            self._rows_by_warps(first, thread)
        else:
            self._elements(first)
        b.lines.append("}")
        return "\n".join(b.lines)

    def _elements(self, first: Value) -> None:
        """A loop over elements, a grid apart."""
        b, expression = self.builder, self.expression
        total = b.mul(self.rows, self.columns)
        element = self._begin_loop("element", first, total)
        row, column = self._row_and_column(element, total)
        known = constants(b, expression, self.columns)
        offsets = self._row_offsets(row)

        def load(place: int) -> Value:
            return self._load(place, offsets, column)

        for output, pointer in zip(expression.outputs, self.outputs, strict=True):
            x = evaluate(b, expression, output.value, known, load)
            dtype = expression.dtype(output.value)
            operators.store(b, x, b.element(pointer, operators.MEMORY[dtype], element), dtype)
        self._end_loop("element", element, total, self.threads)

    def _row_and_column(self, element: Value, total: Value) -> tuple[Value, Value]:
        """Of an element; a division of 32 bits where that is enough: one of 64 takes about a hundred instructions."""
        b = self.builder
        alone = b.compare("eq", self.rows, 1)
        b.emit(f"br {alone}, label %located, label %many.rows")
        b.label("many.rows")
        small = b.compare("slt", total, 1 << 31)
        b.emit(f"br {small}, label %short, label %long")
        b.label("short")
        narrow, width = b.convert("trunc", element, "i32"), b.convert("trunc", self.columns, "i32")
        short_row = b.define("i32", f"udiv {narrow}, {width.name}")
        short = b.convert("zext", short_row, "i64"), b.convert("zext", b.sub(narrow, b.mul(short_row, width)), "i64")
        b.emit("br label %located")
        b.label("long")
        long_row = b.define("i64", f"udiv {element}, {self.columns.name}")
        long = long_row, b.sub(element, b.mul(long_row, self.columns))
        b.emit("br label %located")
        b.label("located")
        row = _phi(b, (Value("i64", "0"), "element"), (short[0], "short"), (long[0], "long"))
        column = _phi(b, (element, "element"), (short[1], "short"), (long[1], "long"))
        return row, column

    def _rows_by_warps(self, first: Value, thread: Value) -> None:
        """A loop over rows, a grid of warps apart; in it a loop over columns for each stage of reductions."""
        b, expression = self.builder, self.expression
        lane = b.bit("and", thread, WARP - 1)
        warps = b.bit("lshr", self.threads, WARP.bit_length() - 1)
        row = self._begin_loop("row", b.bit("lshr", first, WARP.bit_length() - 1), self.rows)
        offsets = self._row_offsets(row)
        known = constants(b, expression, self.columns)
        begin = b.mul(row, self.columns)
        output_rows = [
            b.element(
                pointer,
                operators.MEMORY[expression.dtype(output.value)],
                begin if output.access is Access.COLUMNS else row,
            )
            for output, pointer in zip(expression.outputs, self.outputs, strict=True)
        ]
        for number, loop in enumerate(self.plan.loops):
            self._loop(number, loop, lane, offsets, output_rows, known)
        on_row = [
            (n, evaluate(b, expression, output.value, known, lambda place: self._load(place, offsets, None)))
            for n, output in enumerate(expression.outputs)
            if output.access is Access.ROW
        ]
        if on_row:
            b.emit(f"br {b.compare('eq', lane, 0)}, label %write, label %row.next")
            b.label("write")
            for n, x in on_row:
                operators.store(b, x, output_rows[n], expression.dtype(expression.outputs[n].value))
        self._end_loop("row", row, self.rows, warps)

    def _loop(
        self,
        number: int,
        loop: Loop,
        lane: Value,
        offsets: list[Value],
        output_rows: list[Value],
        known: dict[int, Value],
    ) -> None:
        b, expression = self.builder, self.expression
        body, before, end = f"columns{number}", f"columns{number}.before", f"columns{number}.end"
        operations = {place: _operation(expression, place) for place in loop.reductions}
        targets = [operation.operands[0] for operation in operations.values()]
        targets += [expression.outputs[n].value for n in loop.outputs]
        evaluate_on_rows(
            b, expression, targets, self.on_rows, loop, known, lambda place: self._load(place, offsets, None)
        )
        b.emit(f"br label %{before}")
        b.label(before)
        b.emit(f"br {b.compare('slt', lane, self.columns)}, label %{body}, label %{end}")
        b.label(body)
        column = Value("i64", f"%c{number}")
        b.emit(f"{column.name} = phi i64 [ {lane.name}, %{before} ], [ {column.name}.next, %{body} ]")
        totals, phis = {}, {}
        for place, operation in operations.items():
            totals[place] = Value(operators.REGISTER[operation.dtype], f"%t{place}")
            phis[place] = len(b.lines)
            b.lines.append("")  # names the next total, which is not yet known
        values = dict(known)
        for place, output in loop.loaded.items():
            type_ = operators.REGISTER[expression.dtype(place)]
            values[place] = b.load(b.element(output_rows[output], type_, column), type_)
        computed = [
            evaluate(b, expression, target, values, lambda place: self._load(place, offsets, column))
            for target in targets
        ]
        for place, output in loop.kept.items():
            b.store(values[place], b.element(output_rows[output], values[place].type, column))
        results = {
            place: operators.combine(b, operation.op_type, totals[place], x)
            for (place, operation), x in zip(operations.items(), computed, strict=False)
        }
        for n, x in zip(loop.outputs, computed[len(operations) :], strict=True):
            dtype = expression.dtype(expression.outputs[n].value)
            operators.store(b, x, b.element(output_rows[n], operators.MEMORY[dtype], column), dtype)
        b.emit(f"{column.name}.next = add nuw nsw i64 {column.name}, {WARP}")
        more = b.compare("slt", Value("i64", f"{column.name}.next"), self.columns)
        b.emit(f"br {more}, label %{body}, label %{end}")
        b.label(end)
        of_lane = {}
        for place, operation in operations.items():
            type_ = operators.REGISTER[operation.dtype]
            neutral = b.value(operators.neutral(operation.op_type, operation.dtype), type_)
            phi = f"phi {type_} [ {neutral.name}, %{before} ], [ {results[place].name}, %{body} ]"
            b.lines[phis[place]] = f"  {totals[place].name} = {phi}"
            of_lane[place] = b.define(type_, phi)
        for place, operation in operations.items():
            known[place] = self._across_lanes(operation.op_type, of_lane[place])

    def _across_lanes(self, op_type: str, x: Value) -> Value:
        """The total of all lanes of the warp, in every lane."""
        b, distance = self.builder, WARP // 2
        while distance:
            x = operators.combine(b, op_type, x, self._from_lane(x, distance))
            distance //= 2
        return x

    def _from_lane(self, x: Value, distance: int) -> Value:
        """The value that the lane DISTANCE away (by exclusive or) has."""
        b = self.builder
        if x.bits == 64:
            bits = b.bits(x) if x.is_float else x
            low = self._from_lane(b.convert("trunc", bits, "i32"), distance)
            high = self._from_lane(b.convert("trunc", b.bit("lshr", bits, 32), "i32"), distance)
            both = b.bit("or", b.bit("shl", b.convert("zext", high, "i64"), 32), b.convert("zext", low, "i64"))
            return b.number(both) if x.is_float else both
        kind = "f32" if x.is_float else "i32"
        every, away, clamp = Value("i32", "-1"), Value("i32", str(distance)), Value("i32", str(WARP - 1))
        return b.call(x.type, f"llvm.nvvm.shfl.sync.bfly.{kind}", every, x, away, clamp)

    def _begin_loop(self, name: str, first: Value, end: Value) -> Value:
        """Open a loop from FIRST to END, and give the index."""
        b = self.builder
        index = Value("i64", f"%{name}.index")
        b.emit(f"br {b.compare('slt', first, end)}, label %{name}, label %{name}.done")
        b.label(name)
        b.emit(f"{index.name} = phi i64 [ {first.name}, %entry ], [ {index.name}.next, %{name}.next ]")
        return index

    def _end_loop(self, name: str, index: Value, end: Value, step: Value) -> None:
        """Close the loop, and the function."""
        b = self.builder
        b.emit(f"br label %{name}.next")
        b.label(f"{name}.next")
        b.emit(f"{index.name}.next = add nsw i64 {index.name}, {step.name}")
        b.emit(f"br {b.compare('slt', Value('i64', f'{index.name}.next'), end)}, label %{name}, label %{name}.done")
        b.label(f"{name}.done")
        b.emit("ret void")

    def _field(self, *path: str) -> Value:
        """A number of the layout."""
        b = self.builder
        indices = ", ".join(f"i32 {step}" for step in ("0", *path))
        address = b.define("ptr", f"getelementptr inbounds %Layout, ptr %layout, {indices}")
        return b.load(address, "i64")

    def _row_offsets(self, row: Value) -> list[Value]:
        """For each input where its row begins, in elements.

        The walk over the axes of the rows enters at the innermost that there is: one or none in nearly every launch.
        Each axis has a block of its own, so that the places in the layout are fixed in the code: a place that is known
        at run time only would make the compiler copy the layout into local memory.
        """
        b, count = self.builder, len(self.inputs)
        self.walks += 1
        name = f"walk{self.walks}"
        entry, zero = f"{name}.begin", Value("i64", "0")
        b.emit(f"br label %{entry}")
        b.label(entry)
        choices = " ".join(f"i64 {axis + 1}, label %{name}.{axis}" for axis in range(MOST_AXES))
        b.emit(f"switch {self._field('2')}, label %{name}.end [ {choices} ]")
        rest, offsets, before = row, [zero] * count, ""
        for axis in reversed(range(MOST_AXES)):
            b.label(f"{name}.{axis}")
            if before:
                rest = _phi(b, (row, entry), (rest, before))
                offsets = [_phi(b, (zero, entry), (offset, before)) for offset in offsets]
            at = rest
            if axis:
                extent = self._field("3", str(axis))
                quotient = b.define("i64", f"udiv {rest}, {extent.name}")
                at, rest = b.sub(rest, b.mul(quotient, extent)), quotient
            strides = [self._field("4", str(n), "0", str(axis)) for n in range(count)]
            offsets = [b.add(offset, b.mul(at, stride)) for offset, stride in zip(offsets, strides, strict=True)]
            before = f"{name}.{axis}"
            b.emit(f"br label %{f'{name}.{axis - 1}' if axis else f'{name}.end'}")
        b.label(f"{name}.end")
        return [_phi(b, (zero, entry), (offset, before)) for offset in offsets]

    def _load(self, place: int, offsets: list[Value], column: Value | None) -> Value:
        """Read an input at a column; None: the one value of the row."""
        b, number = self.builder, self.number[place]
        dtype = self.expression.dtype(place)
        index = offsets[number]
        if column is not None:
            index = b.add(index, b.mul(column, self._field("4", str(number), "1")))
        pointer = b.element(self.inputs[number], operators.MEMORY[dtype], index)
        return operators.load(b, pointer, dtype, ", !invariant.load !0")


def _phi(b: Builder, *arrivals: tuple[Value, str]) -> Value:
    """The value that belongs to the block from which this one is entered."""
    type_ = arrivals[0][0].type
    return b.define(type_, f"phi {type_} " + ", ".join(f"[ {value.name}, %{block} ]" for value, block in arrivals))


def _operation(expression: Expression, place: int) -> Operation:
    value = expression.values[place]
    assert isinstance(value, Operation)
    return value
