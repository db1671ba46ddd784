"""Writes LLVM IR as text: every call of a Builder appends one instruction and gives back the value that it defines."""

from __future__ import annotations

import struct
from dataclasses import dataclass

__all__ = ["FLOATS", "Builder", "Number", "Value"]

FLOATS = {"half": "f16", "float": "f32", "double": "f64"}
"""Floating-point types, and how the names of LLVM's intrinsics spell them."""
Number = float | int | bool


@dataclass(frozen=True, slots=True)
class Value:
    """A typed value of the IR: `%7`, or a literal."""

    type: str
    name: str

    def __str__(self) -> str:
        return f"{self.type} {self.name}"

    @property
    def is_float(self) -> bool:
        """Whether it is a floating-point number."""
        return self.type in FLOATS

    @property
    def bits(self) -> int:
        """Width in bits."""
        return int(self.type[1:]) if self.type[0] == "i" else {"half": 16, "float": 32, "double": 64}[self.type]


Operand = Value | Number


def literal(type_: str, number: Number) -> str:
    """A number as LLVM spells it; floating-point ones by their bits, so that none is rounded twice.

    Numbers beyond the range of `float` are infinite.
    """
    if type_ not in FLOATS:
        return str(int(number))
    exact = float(number)
    if type_ != "double":
        try:
            exact = struct.unpack("<f", struct.pack("<f", exact))[0]
        except OverflowError:
            exact = float("inf") if exact > 0 else float("-inf")
    return f"0x{struct.unpack('<Q', struct.pack('<d', exact))[0]:016X}"


class Builder:
    """The body of one function.

    Operands may be Python numbers wherever the other operand tells the type.

    Attributes:
        lines: The text so far.
        declarations: Intrinsics that the text calls.
        fused: Whether the target multiplies and adds in one instruction.
        halves: Whether the target converts float16 in one instruction.
    """

    def __init__(self, *, fused: bool = True, halves: bool = True) -> None:
        self.lines: list[str] = []
        self.declarations: set[str] = set()
        self.fused = fused
        self.halves = halves
        self._defined = 0

    # ---- text

    def emit(self, instruction: str) -> None:
        """Append an instruction without a result."""
        self.lines.append(f"  {instruction}")

    def define(self, type_: str, instruction: str) -> Value:
        """Append an instruction and name its result."""
        self._defined += 1
        name = f"%v{self._defined}"
        self.lines.append(f"  {name} = {instruction}")
        return Value(type_, name)

    def label(self, name: str) -> None:
        """Begin a basic block."""
        self.lines.append(f"{name}:")

    def value(self, operand: Operand, type_: str) -> Value:
        """The operand itself, or the literal of that type."""
        return operand if isinstance(operand, Value) else Value(type_, literal(type_, operand))

    def call(self, type_: str, intrinsic: str, *arguments: Value, flags: str = "") -> Value:
        """Call an LLVM intrinsic by its full name, such as llvm.fabs.f32."""
        types = ", ".join(argument.type for argument in arguments)
        self.declarations.add(f"declare {type_} @{intrinsic}({types})")
        return self.define(type_, f"call {flags + ' ' if flags else ''}{type_} @{intrinsic}({_list(arguments)})")

    def unary(self, intrinsic: str, x: Value) -> Value:
        """Call an intrinsic of one number that is overloaded by its type: fabs, sqrt, floor, ..."""
        return self.call(x.type, f"llvm.{intrinsic}.{FLOATS.get(x.type, x.type)}", x)

    # ---- arithmetic of floating-point and integer numbers: each rounds as written
    #
    # A product and a sum become one fused multiply-add only where `fma` asks for it: x·x - z·z of equal x and z has to
    # be 0, and what follows (a root, a comparison, rounding to whole numbers) makes any other answer visible.

    def _binary(self, floating: str, integer: str, a: Operand, b: Operand) -> Value:
        a, b = self._alike(a, b)
        return self.define(a.type, f"{floating if a.is_float else integer} {a}, {b.name}")

    def _alike(self, a: Operand, b: Operand) -> tuple[Value, Value]:
        type_ = a.type if isinstance(a, Value) else b.type if isinstance(b, Value) else "i64"
        return self.value(a, type_), self.value(b, type_)

    def add(self, a: Operand, b: Operand) -> Value:
        """The sum."""
        return self._binary("fadd", "add", a, b)

    def sub(self, a: Operand, b: Operand) -> Value:
        """The difference."""
        return self._binary("fsub", "sub", a, b)

    def mul(self, a: Operand, b: Operand) -> Value:
        """The product."""
        return self._binary("fmul", "mul", a, b)

    def div(self, a: Operand, b: Operand) -> Value:
        """The quotient; integers truncate, and the divisor must not be 0."""
        return self._binary("fdiv", "sdiv", a, b)

    def fma(self, a: Operand, b: Operand, c: Operand) -> Value:
        """The sum a * b + c, rounded once where the target can."""
        type_ = next(operand.type for operand in (a, b, c) if isinstance(operand, Value))
        arguments = [self.value(operand, type_) for operand in (a, b, c)]
        return self.call(type_, f"llvm.fmuladd.{FLOATS[type_]}", *arguments)

    def neg(self, x: Value) -> Value:
        """-x."""
        return self.define(x.type, f"fneg {x}") if x.is_float else self.sub(0, x)

    def polynomial(self, x: Value, coefficients: tuple[float, ...]) -> Value:
        """Horner's scheme; the coefficient of the highest power comes first."""
        result: Operand = coefficients[0]
        for coefficient in coefficients[1:]:
            result = self.fma(result, x, coefficient)
        return self.value(result, x.type)

    # ---- choices and bits

    def compare(self, predicate: str, a: Operand, b: Operand) -> Value:
        """An fcmp or icmp, as the type demands; the predicate is LLVM's: olt, uno, slt, eq, ..."""
        a, b = self._alike(a, b)
        return self.define("i1", f"{'fcmp' if a.is_float else 'icmp'} {predicate} {a}, {b.name}")

    def select(self, condition: Value, a: Operand, b: Operand) -> Value:
        """`a` where the condition holds, else `b`; both are computed."""
        a, b = self._alike(a, b)
        return self.define(a.type, f"select {condition}, {a}, {b}")

    def at_least(self, x: Value, low: Operand) -> Value:
        """The larger of x and a number that is not NaN; NaN stays."""
        return self.select(self.compare("olt", x, low), low, x)

    def at_most(self, x: Value, high: Operand) -> Value:
        """The smaller of x and a number that is not NaN; NaN stays."""
        return self.select(self.compare("ogt", x, high), high, x)

    def bit(self, instruction: str, a: Operand, b: Operand) -> Value:
        """and, or, xor, shl, lshr, ashr, of integers or bits."""
        a, b = self._alike(a, b)
        return self.define(a.type, f"{instruction} {a}, {b.name}")

    def bits(self, x: Value) -> Value:
        """The bits of a floating-point number as an integer."""
        return self.convert("bitcast", x, f"i{x.bits}")

    def number(self, x: Value) -> Value:
        """The floating-point number that has these bits."""
        return self.convert("bitcast", x, {16: "half", 32: "float", 64: "double"}[x.bits])

    def copysign(self, magnitude: Value, sign: Value) -> Value:
        """The magnitude with the other number's sign."""
        return self.call(sign.type, f"llvm.copysign.{FLOATS[sign.type]}", magnitude, sign)

    def convert(self, instruction: str, x: Value, type_: str) -> Value:
        """sitofp, fptosi, zext, trunc, bitcast, ..."""
        return self.define(type_, f"{instruction} {x} to {type_}")

    # ---- memory

    def element(self, pointer: Value, type_: str, index: Operand) -> Value:
        """The address of one element of an array."""
        return self.define(pointer.type, f"getelementptr inbounds {type_}, {pointer}, {self.value(index, 'i64')}")

    def load(self, pointer: Value, type_: str, metadata: str = "") -> Value:
        """Read what lies at an address."""
        return self.define(type_, f"load {type_}, {pointer}{metadata}")

    def store(self, x: Value, pointer: Value, metadata: str = "") -> None:
        """Write to an address."""
        self.emit(f"store {x}, {pointer}{metadata}")


def _list(values: tuple[Value, ...]) -> str:
    return ", ".join(str(value) for value in values)
