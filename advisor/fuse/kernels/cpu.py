"""Writes a kernel for CPUs as LLVM IR: a loop over rows around one loop over columns for each stage of reductions.

Every function has the signature
    void (ptr ins, ptr outs, ptr row_strides, ptr column_strides, i64 rows, i64 columns)
with arrays of data pointers, one a tensor, and of strides in elements, one an input. The fast variant takes inputs of
access COLUMNS as contiguous and of access ROW as one value a row, and its loops are vectorised. The general variant,
`..._any`, reads every input with its stride, whatever the access says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from advisor.fuse.kernels import operators
from advisor.fuse.kernels.builder import Builder, Value
from advisor.fuse.kernels.evaluation import constants, evaluate, evaluate_on_rows, on_rows_whatever_the_strides
from advisor.fuse.kernels.expression import (
    Access,
    Expression,
    Input,
    Operation,
)
from advisor.fuse.kernels.identities import simplified
from advisor.fuse.kernels.stages import Loop, plan

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["LEVELS", "Level", "function_name", "kernel_module"]


@dataclass(frozen=True)
class Level:
    """A set of instructions that a kernel is compiled for.

    Attributes:
        cpu: LLVM's name of it.
        width: Bits of a vector.
        interleaved: Vectors that go through a loop together, so that none waits for the other: in loops that compute
            functions such as exp, and in others, where more only leave a longer rest of a row.
        fused: Whether it multiplies and adds in one instruction.
        halves: Whether it converts float16.
    """

    cpu: str
    width: int
    interleaved: tuple[int, int] = (4, 2)
    fused: bool = True
    halves: bool = True

    @property
    def attributes(self) -> str:
        """Of a function."""
        return f'nounwind "no-builtins" "target-cpu"="{self.cpu}" "prefer-vector-width"="{self.width}"'


LEVELS: Mapping[str, Level] = {
    "v2": Level("x86-64-v2", 128, (4, 4), fused=False, halves=False),
    "v3": Level("x86-64-v3", 256),
    "v4": Level("x86-64-v4", 512, (2, 2)),
    "v8": Level("generic", 128, (4, 4)),
}
"""x86-64 by the levels of its psABI, and aarch64's first version."""
_VECTORISED, _SCALAR = "!0", "!1"
_ACCESS = ", !llvm.access.group !2"
_METADATA = """\
!2 = distinct !{}
!3 = !{!"llvm.loop.parallel_accesses", !2}
!4 = !{!"llvm.loop.vectorize.enable", i1 true}
!5 = !{!"llvm.loop.vectorize.enable", i1 false}
!6 = !{!"llvm.loop.unroll.disable"}
!7 = !{!"llvm.loop.interleave.count", i32 2}
!8 = !{!"llvm.loop.interleave.count", i32 4}
"""
_INTERLEAVED = {2: "!7", 4: "!8"}
_FIRST_LOOP = 9


def function_name(expression: Expression, level: str, *, general: bool = False) -> str:
    """Name of the function that computes an expression at a level."""
    return f"{expression.name}_{level}{'_any' if general else ''}"


def kernel_module(expressions: Sequence[Expression], levels: Iterable[str]) -> str:
    """IR of all expressions, each in a fast and a general variant at each level.

    Args:
        expressions: What to compute; all names differ.
        levels: Of LEVELS.
    """
    declarations: set[str] = set()
    functions: list[str] = []
    loops: list[str] = []
    used = list(levels)
    for number, name in enumerate(used):
        for expression in expressions:
            for general in (False, True):
                kernel = _Kernel(expression, name, general=general, attributes=number, first_loop=len(loops))
                functions.append(kernel.text())
                declarations |= kernel.builder.declarations
                loops += kernel.loops
    attributes = [f"attributes #{number} = {{ {LEVELS[name].attributes} }}" for number, name in enumerate(used)]
    return "\n".join([*sorted(declarations), *functions, *attributes, _METADATA, *loops, ""])


class _Kernel:
    """One function."""

    def __init__(self, expression: Expression, level: str, *, general: bool, attributes: int, first_loop: int) -> None:
        self.name = function_name(expression, level, general=general)
        self.expression = expression = simplified(expression)
        self.general = general
        self.attributes = attributes
        self.first_loop = first_loop
        self.loops: list[str] = []
        self.level = LEVELS[level]
        self.builder = Builder(fused=self.level.fused, halves=self.level.halves)
        self.on_rows = on_rows_whatever_the_strides(expression) if general else expression.on_rows
        self.plan = plan(expression, self.on_rows)
        inputs = [place for place, value in enumerate(expression.values) if isinstance(value, Input)]
        self.input_numbers = {place: number for number, place in enumerate(inputs)}
        self.known: dict[int, Value] = {}  # what is computed once a row
        self.input_rows: list[Value] = []
        self.output_rows: list[Value] = []
        self.column_strides: list[Value] = []

    def text(self) -> str:
        """The definition."""
        b = self.builder
        expression = self.expression
        rows, columns = Value("i64", "%rows"), Value("i64", "%columns")
        b.lines.append(
            f"define hidden void @{self.name}(ptr noalias readonly %ins, ptr noalias readonly %outs, "
            f"ptr noalias readonly %row_strides, ptr noalias readonly %column_strides, {rows}, {columns}) "
            f"#{self.attributes} {{"
        )
        b.label("entry")
        count = len(expression.inputs)
        inputs = [_item(b, "%ins", "ptr", n) for n in range(count)]
        strides = [_item(b, "%row_strides", "i64", n) for n in range(count)]
        outputs = [_item(b, "%outs", "ptr", n) for n in range(len(expression.outputs))]
        if self.general:
            self.column_strides = [_item(b, "%column_strides", "i64", n) for n in range(count)]
        self.known = constants(b, expression, columns)
        constant = dict(self.known)
        b.emit("br label %row")
        b.label("row")
        b.lines.append("  %r = phi i64 [ 0, %entry ], [ %r.next, %row.end ]")
        row = Value("i64", "%r")
        self.input_rows = [
            b.element(pointer, operators.MEMORY[tensor.dtype], b.mul(row, stride))
            for pointer, stride, tensor in zip(inputs, strides, expression.inputs, strict=True)
        ]
        first = b.mul(row, columns)
        self.output_rows = [
            b.element(
                pointer,
                operators.MEMORY[expression.dtype(output.value)],
                first if output.access is Access.COLUMNS else row,
            )
            for pointer, output in zip(outputs, expression.outputs, strict=True)
        ]
        for number, loop in enumerate(self.plan.loops):
            self._loop(number, loop)
        for output, pointer in zip(expression.outputs, self.output_rows, strict=True):
            if output.access is Access.ROW:
                x = evaluate(b, expression, output.value, self.known, lambda place: self._load(place, None))
                operators.store(b, x, pointer, expression.dtype(output.value))
        self.known = constant
        b.emit("br label %row.end")
        b.label("row.end")
        b.lines.append("  %r.next = add nuw nsw i64 %r, 1")
        b.lines.append("  %r.more = icmp slt i64 %r.next, %rows")
        b.emit("br i1 %r.more, label %row, label %done")
        b.label("done")
        b.emit("ret void")
        b.lines.append("}")
        return "\n".join(b.lines)

    def _loop(self, number: int, loop: Loop) -> None:
        b = self.builder
        expression = self.expression
        body, end, index = f"columns{number}", f"columns{number}.end", f"%c{number}"
        before = f"columns{number}.before"
        targets = [operand for place in loop.reductions for operand in _operation(expression, place).operands] + [
            expression.outputs[n].value for n in loop.outputs
        ]
        evaluate_on_rows(b, expression, targets, self.on_rows, loop, self.known, lambda place: self._load(place, None))
        b.emit(f"br label %{before}")
        b.label(before)
        b.emit(f"{index}.any = icmp sgt i64 %columns, 0")
        b.emit(f"br i1 {index}.any, label %{body}, label %{end}")
        b.label(body)
        b.emit(f"{index} = phi i64 [ 0, %{before} ], [ {index}.next, %{body} ]")
        totals: dict[int, Value] = {}
        begins: dict[int, Value] = {}
        phis: dict[int, int] = {}
        for place in loop.reductions:
            operation = _operation(expression, place)
            type_ = operators.REGISTER[operation.dtype]
            begins[place] = b.value(operators.neutral(operation.op_type, operation.dtype), type_)
            totals[place] = Value(type_, f"%t{place}")
            phis[place] = len(b.lines)
            b.lines.append("")  # names the next total, which is not yet known
        column = Value("i64", index)
        values = dict(self.known)
        for place, output in loop.loaded.items():
            type_ = operators.REGISTER[expression.dtype(place)]
            values[place] = b.load(b.element(self.output_rows[output], type_, column), type_, _ACCESS)
        computed = [
            evaluate(b, expression, target, values, lambda place: self._load(place, column)) for target in targets
        ]
        for place, output in loop.kept.items():
            x = values[place]
            b.store(x, b.element(self.output_rows[output], x.type, column), _ACCESS)
        results: dict[int, Value] = {}
        for place, x in zip(loop.reductions, computed, strict=False):
            results[place] = operators.combine(b, _operation(expression, place).op_type, totals[place], x)
        for n, x in zip(loop.outputs, computed[len(loop.reductions) :], strict=True):
            dtype = expression.dtype(expression.outputs[n].value)
            pointer = b.element(self.output_rows[n], operators.MEMORY[dtype], column)
            operators.store(b, x, pointer, dtype, _ACCESS)
        b.emit(f"{index}.next = add nuw nsw i64 {index}, 1")
        b.emit(f"{index}.more = icmp slt i64 {index}.next, %columns")
        new = (expression.values[place] for place in values.keys() - self.known.keys())
        is_long = any(isinstance(value, Operation) and value.op_type in operators.APPROXIMATED for value in new)
        identity = self._loop_metadata(self.level.interleaved[0 if is_long else 1])
        b.emit(f"br i1 {index}.more, label %{body}, label %{end}, !llvm.loop !{identity}")
        b.label(end)
        for place, result in results.items():
            phi = f"phi {result.type} [ {begins[place].name}, %{before} ], [ {result.name}, %{body} ]"
            b.lines[phis[place]] = f"  {totals[place].name} = {phi}"
            self.known[place] = b.define(result.type, phi)

    def _loop_metadata(self, interleaved: int) -> int:
        identity = _FIRST_LOOP + self.first_loop + len(self.loops)
        hints = "!5, !6" if self.general else f"!3, !4, {_INTERLEAVED[interleaved]}"
        self.loops.append(f"!{identity} = distinct !{{!{identity}, {hints}}}")
        return identity

    def _load(self, place: int, column: Value | None) -> Value:
        """An input at a column, or the one value of the row."""
        b = self.builder
        n = self.input_numbers[place]
        tensor = self.expression.inputs[n]
        index = column or Value("i64", "0")
        if self.general and column:
            index = b.mul(column, self.column_strides[n])
        elif tensor.access is Access.ROW:
            index = Value("i64", "0")
        pointer = b.element(self.input_rows[n], operators.MEMORY[tensor.dtype], index)
        return operators.load(b, pointer, tensor.dtype, _ACCESS if column else "")


def _item(b: Builder, array: str, type_: str, index: int) -> Value:
    return b.load(b.element(Value("ptr", array), type_, index), type_)


def _operation(expression: Expression, place: int) -> Operation:
    value = expression.values[place]
    assert isinstance(value, Operation)
    return value
