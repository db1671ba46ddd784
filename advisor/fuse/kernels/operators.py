"""What each operation means, as IR: the semantics of the ONNX operators, element by element.

Values in registers: float16, bfloat16 and float32 are `float`, float64 is `double`, integers are themselves and bool is
`i1`. Where ONNX leaves a result open, it is what ONNX Runtime gives on a CPU where that is defined, and never undefined
behaviour: a cast out of range gives the least integer, a division of integers by 0 gives 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

import onnx_ir as ir

from advisor.fuse.kernels import approximations as approximate
from advisor.fuse.kernels.builder import Builder, Number, Value

if TYPE_CHECKING:
    from advisor.fuse.kernels.expression import Operation

__all__ = [
    "APPROXIMATED",
    "EXPENSIVE",
    "MEMORY",
    "REGISTER",
    "apply",
    "combine",
    "load",
    "neutral",
    "store",
    "supports",
]

_D = ir.DataType
MEMORY = {
    _D.FLOAT: "float", _D.FLOAT16: "half", _D.BFLOAT16: "i16", _D.DOUBLE: "double", _D.INT32: "i32", _D.INT64: "i64",
    _D.BOOL: "i8", _D.INT8: "i8", _D.UINT8: "i8",
}  # fmt: skip
"""Type of an element in memory."""
REGISTER = MEMORY | {_D.FLOAT16: "float", _D.BFLOAT16: "float", _D.BOOL: "i1"}
"""Type of a value while it is computed."""
FLOATING = frozenset({_D.FLOAT, _D.FLOAT16, _D.BFLOAT16, _D.DOUBLE})
INTEGERS = frozenset({_D.INT32, _D.INT64})
LOGICAL = frozenset({_D.BOOL})
SMALL = frozenset({_D.INT8, _D.UINT8})
EXPENSIVE = {"Cos": 20, "Div": 6, "Elu": 15, "Erf": 25, "Exp": 15, "Log": 25, "Mod": 40, "Pow": 40, "Sigmoid": 20,
             "Sin": 20, "Softplus": 30, "Sqrt": 6, "Tanh": 20}  # fmt: skip
"""Cost of operations that take much more than one addition, in additions."""
APPROXIMATED = dict.fromkeys(("Cos", "Elu", "Erf", "Exp", "Log", "Pow", "Sigmoid", "Sin", "Tanh"), 1) | {"Softplus": 2}
"""Those that are long chains of instructions, each of which waits for the one before; softplus is as long as two."""


@dataclass(frozen=True)
class _Context:
    """What an operator's IR depends on besides its operands: the element types and the attributes."""

    operands: tuple[ir.DataType, ...]
    result: ir.DataType
    attributes: dict[str, float | int | str]


_Emit = Callable[[Builder, list[Value], _Context], Value]


def supports(op_type: str, *dtypes: ir.DataType) -> bool:
    """Whether a kernel can compute an operation, element-wise or reduction, on operands of these element types."""
    allowed = REDUCED if op_type in _COMBINE else _OPERATORS[op_type][0] if op_type in _OPERATORS else frozenset()
    if op_type == "Where":
        return dtypes[0] is _D.BOOL and all(dtype in allowed for dtype in dtypes)
    if op_type == "Mod" and _D.DOUBLE in dtypes:
        return False  # no exact remainder without a loop
    return all(dtype in allowed for dtype in dtypes)


def apply(b: Builder, operation: Operation, operands: list[Value], dtypes: list[ir.DataType]) -> Value:
    """Append what an element-wise operation computes.

    Args:
        b: Where to.
        operation: Of ELEMENTWISE.
        operands: Their values, each of the register type of its element type.
        dtypes: Element types of the operands.
    """
    context = _Context(tuple(dtypes), operation.dtype, dict(operation.attributes))
    return _OPERATORS[operation.op_type][1](b, operands, context)


# ---- memory


def load(b: Builder, pointer: Value, dtype: ir.DataType, metadata: str = "") -> Value:
    """Read one element and bring it into its register type."""
    x = b.load(pointer, MEMORY[dtype], f"{metadata}")
    if dtype is _D.FLOAT16:
        return _from_half(b, x)
    if dtype is _D.BFLOAT16:
        return b.number(b.bit("shl", b.convert("zext", x, "i32"), 16))
    return b.compare("ne", x, 0) if dtype is _D.BOOL else x


def store(b: Builder, x: Value, pointer: Value, dtype: ir.DataType, metadata: str = "") -> None:
    """Write one element, rounded to nearest even where its type in memory is narrower."""
    if dtype is _D.FLOAT16:
        x = _to_half(b, x)
    elif dtype is _D.BFLOAT16:
        x = b.convert("trunc", b.bit("lshr", _rounded_to_bfloat16(b, x), 16), "i16")
    elif dtype is _D.BOOL:
        x = b.convert("zext", x, "i8")
    b.store(x, pointer, metadata)


def _from_half(b: Builder, x: Value) -> Value:
    if b.halves:
        return b.convert("fpext", x, "float")
    # exponent and mantissa move to their places; a multiplication corrects the bias and makes denormals normal
    bits = b.convert("zext", b.bits(x), "i32")
    magnitude = b.number(b.bit("shl", b.bit("and", bits, 0x7FFF), 13))
    scaled = b.mul(magnitude, 2.0**112)
    endless = b.compare("sge", b.bits(scaled), 0x47800000)  # 65536 and more: infinity or NaN
    result = b.select(endless, b.bit("or", b.bits(scaled), 0x7F800000), b.bits(scaled))
    return b.number(b.bit("or", result, b.bit("shl", b.bit("and", bits, 0x8000), 16)))


def _to_half(b: Builder, x: Value) -> Value:
    if b.halves:
        return b.convert("fptrunc", x, "half")
    bits = b.bits(x)
    magnitude = b.bit("and", bits, 0x7FFFFFFF)
    sign = b.bit("lshr", b.bit("and", bits, -(2**31)), 16)
    # normal: rebias and round to nearest even in integers; a carry into the exponent is right, up to infinity
    odd = b.bit("and", b.bit("lshr", magnitude, 13), 1)
    normal = b.bit("lshr", b.add(b.add(magnitude, 0xFFF - (112 << 23)), odd), 13)
    # denormal: the addition of 1/2 rounds at the right place
    denormal = b.sub(b.bits(b.add(b.number(magnitude), 0.5)), 0x3F000000)
    result = b.select(b.compare("slt", magnitude, 113 << 23), denormal, normal)
    result = b.select(b.compare("sge", magnitude, 0x477FF000), b.value(0x7C00, "i32"), result)
    result = b.select(b.compare("sgt", magnitude, 0x7F800000), b.value(0x7E00, "i32"), result)
    return b.number(b.convert("trunc", b.bit("or", result, sign), "i16"))


def _rounded_to_bfloat16(b: Builder, x: Value) -> Value:
    """The bits of a `float` whose upper 16 are the nearest bfloat16."""
    bits = b.bits(x)
    odd = b.bit("and", b.bit("lshr", bits, 16), 1)
    rounded = b.add(bits, b.add(odd, 0x7FFF))
    return b.select(b.compare("uno", x, x), b.bit("or", bits, 0x400000), rounded)


# ---- arithmetic


def _divide(b: Builder, v: list[Value], _: _Context) -> Value:
    if v[0].is_float:
        return b.div(*v)
    # division by 0, and the least number by -1, would trap
    zero, minus = b.compare("eq", v[1], 0), b.compare("eq", v[1], -1)
    quotient = b.div(v[0], b.select(b.bit("or", zero, minus), b.value(1, v[1].type), v[1]))
    return b.select(zero, b.value(0, v[0].type), b.select(minus, b.neg(v[0]), quotient))


def _remainder(b: Builder, v: list[Value], context: _Context) -> Value:
    x, y = v
    if x.is_float:
        result = _float_remainder(b, x, y)
    else:
        trapping = b.compare("ule", b.add(y, 1), 1)  # 0 and -1
        result = b.define(x.type, f"srem {x}, {b.select(trapping, b.value(1, y.type), y).name}")
    if context.attributes.get("fmod", 0):
        return result  # the sign of the dividend, as in C
    if x.is_float:
        apart = b.compare("olt", b.mul(b.copysign(b.value(1.0, x.type), result), y), 0.0)
        apart = b.bit("and", apart, b.compare("one", result, 0.0))
    else:
        apart = b.bit("and", b.compare("slt", b.bit("xor", result, y), 0), b.compare("ne", result, 0))
    return b.select(apart, b.add(result, y), result)


def _float_remainder(b: Builder, x: Value, y: Value) -> Value:
    """C's fmod of two `float`: exact, by long division in `double` with quotients of 28 bits.

    The exponents of two floats differ by at most 277, so ten steps end it.
    """
    rest, divisor = (b.convert("fpext", b.unary("fabs", value), "double") for value in (x, y))
    for step in reversed(range(10)):
        part = b.mul(divisor, 2.0 ** (28 * step))
        quotient = b.unary("trunc", b.div(rest, part))
        # 28 bits of the quotient times 24 of the divisor are exact
        rest = b.sub(rest, b.mul(quotient, part))
    result = b.copysign(b.convert("fptrunc", rest, "float"), x)
    endless = b.bit("and", b.compare("oeq", b.unary("fabs", y), inf), b.compare("one", b.unary("fabs", x), inf))
    return b.select(endless, x, result)


def _absolute(b: Builder, v: list[Value], _: _Context) -> Value:
    return b.unary("fabs", v[0]) if v[0].is_float else b.select(b.compare("slt", v[0], 0), b.neg(v[0]), v[0])


def _sign(b: Builder, v: list[Value], _: _Context) -> Value:
    x = v[0]
    order = "o" if x.is_float else "s"
    below = b.select(b.compare(f"{order}lt", x, 0), b.value(-1, x.type), x)  # 0 and NaN stay
    return b.select(b.compare(f"{order}gt", x, 0), b.value(1, x.type), below)


def _larger(b: Builder, v: list[Value], context: _Context) -> Value:
    return _extreme(b, v, context, "lt")


def _smaller(b: Builder, v: list[Value], context: _Context) -> Value:
    return _extreme(b, v, context, "gt")


def _extreme(b: Builder, v: list[Value], _: _Context, worse: str) -> Value:
    """The second where the first is worse, else the first; NaN where one of them is."""
    first, second = v
    if not first.is_float:
        return b.select(b.compare(f"s{worse}", first, second), second, first)
    other = b.select(b.compare("uno", second, second), second, first)
    return b.select(b.compare(f"o{worse}", first, second), second, other)


def _power(b: Builder, v: list[Value], context: _Context) -> Value:
    x, y = v
    if not x.is_float:
        y = _cast(b, [y], _Context((context.operands[1],), context.operands[0], {}))
        return _integer_power(b, x, y)
    y = _cast(b, [y], _Context((context.operands[1],), context.operands[0], {}))
    return approximate.pow_(b, x, y)


def _integer_power(b: Builder, x: Value, y: Value) -> Value:
    """By squaring, with the low bits of the result where it overflows; the whole part of a negative power."""
    last = x.bits - 1
    # powers beyond the width of the type are 0 of an even base; an odd one repeats
    exponent = b.select(b.compare("sgt", y, last), b.bit("or", b.bit("and", y, 1), last - 1), y)
    result, square = b.value(1, x.type), x
    for place in range(last.bit_length()):
        taken = b.compare("ne", b.bit("and", exponent, 1 << place), 0)
        result = b.select(taken, b.mul(result, square), result)
        square = b.mul(square, square)
    odd = b.compare("ne", b.bit("and", y, 1), 0)
    unit = b.select(b.compare("eq", x, -1), b.select(odd, b.value(-1, x.type), b.value(1, x.type)), b.value(0, x.type))
    unit = b.select(b.compare("eq", x, 1), b.value(1, x.type), unit)
    return b.select(b.compare("slt", y, 0), unit, result)


# ---- casts


def _cast(b: Builder, v: list[Value], context: _Context) -> Value:
    x, source, target = v[0], context.operands[0], context.result
    if source is target:
        return x
    if target is _D.BOOL:
        return b.compare("une" if x.is_float else "ne", x, 0)
    if target in FLOATING:
        return _to_float(b, x, source, target)
    if x.is_float:
        return _to_integer(b, x, REGISTER[target])
    if source in (_D.BOOL, _D.UINT8):
        return b.convert("zext", x, REGISTER[target]) if x.bits < _bits(target) else x
    if x.bits == _bits(target):
        return x
    return b.convert("sext" if x.bits < _bits(target) else "trunc", x, REGISTER[target])


def _bits(dtype: ir.DataType) -> int:
    return Value(REGISTER[dtype], "").bits


def _to_float(b: Builder, x: Value, source: ir.DataType, target: ir.DataType) -> Value:
    type_ = REGISTER[target]
    if not x.is_float:
        x = b.convert("uitofp" if source in (_D.BOOL, _D.UINT8) else "sitofp", x, type_)
    elif x.type != type_:
        x = b.convert("fpext" if type_ == "double" else "fptrunc", x, type_)
    if target is _D.FLOAT16:
        return _from_half(b, _to_half(b, x))
    if target is _D.BFLOAT16:
        return b.number(b.bit("and", _rounded_to_bfloat16(b, x), -65536))
    return x


def _to_integer(b: Builder, x: Value, type_: str) -> Value:
    """Towards zero; NaN and what is out of range give the least number, as CPUs do. Small types wrap around."""
    wide = "i64" if type_ == "i64" else "i32"
    limit = 2.0 ** (int(wide[1:]) - 1)
    inside = b.bit("and", b.compare("oge", x, -limit), b.compare("olt", x, limit))
    result = b.convert("fptosi", b.select(inside, x, -limit), wide)
    return result if type_ == wide else b.convert("trunc", result, type_)


# ---- comparisons


def _comparison(floating: str, integer: str) -> _Emit:
    def emit(b: Builder, v: list[Value], _: _Context) -> Value:
        return b.compare(floating if v[0].is_float else integer, *v)

    return emit


def _is_infinite(b: Builder, v: list[Value], context: _Context) -> Value:
    positive = bool(context.attributes.get("detect_positive", 1))
    negative = bool(context.attributes.get("detect_negative", 1))
    if positive and negative:
        return b.compare("oeq", b.unary("fabs", v[0]), inf)
    if not positive and not negative:
        return b.value(False, "i1")
    return b.compare("oeq", v[0], inf if positive else -inf)


def _bitwise(instruction: str) -> _Emit:
    return lambda b, v, _: b.bit(instruction, *v)


def _unary(intrinsic: str) -> _Emit:
    return lambda b, v, _: b.unary(intrinsic, v[0])


def _approximation(function: Callable[[Builder, Value], Value]) -> _Emit:
    return lambda b, v, _: function(b, v[0])


_NUMBERS = FLOATING | INTEGERS
_OPERATORS: dict[str, tuple[frozenset[ir.DataType], _Emit]] = {
    "Abs": (_NUMBERS, _absolute),
    "Add": (_NUMBERS, lambda b, v, _: b.add(*v)),
    "And": (LOGICAL, _bitwise("and")),
    "Cast": (_NUMBERS | LOGICAL | SMALL, _cast),
    "Ceil": (FLOATING, _unary("ceil")),
    "Cos": (FLOATING, _approximation(approximate.cos)),
    "Div": (_NUMBERS, _divide),
    "Elu": (FLOATING, _approximation(approximate.elu)),
    "Equal": (_NUMBERS | LOGICAL, _comparison("oeq", "eq")),
    "Erf": (FLOATING, _approximation(approximate.erf)),
    "Exp": (FLOATING, _approximation(approximate.exp)),
    "Floor": (FLOATING, _unary("floor")),
    "Greater": (_NUMBERS, _comparison("ogt", "sgt")),
    "GreaterOrEqual": (_NUMBERS, _comparison("oge", "sge")),
    "IsInf": (FLOATING, _is_infinite),
    "IsNaN": (FLOATING, lambda b, v, _: b.compare("uno", v[0], v[0])),
    "Less": (_NUMBERS, _comparison("olt", "slt")),
    "LessOrEqual": (_NUMBERS, _comparison("ole", "sle")),
    "Log": (FLOATING, _approximation(approximate.log)),
    "Max": (_NUMBERS, _larger),
    "Min": (_NUMBERS, _smaller),
    "Mod": (_NUMBERS, _remainder),
    "Mul": (_NUMBERS, lambda b, v, _: b.mul(*v)),
    "Neg": (_NUMBERS, lambda b, v, _: b.neg(v[0])),
    "Not": (LOGICAL, lambda b, v, _: b.bit("xor", v[0], True)),
    "Or": (LOGICAL, _bitwise("or")),
    "Pow": (_NUMBERS, _power),
    "Round": (FLOATING, _unary("roundeven")),
    "Sigmoid": (FLOATING, _approximation(approximate.sigmoid)),
    "Sign": (_NUMBERS, _sign),
    "Sin": (FLOATING, _approximation(approximate.sin)),
    "Softplus": (FLOATING, _approximation(approximate.softplus)),
    "Sqrt": (FLOATING, _unary("sqrt")),
    "Sub": (_NUMBERS, lambda b, v, _: b.sub(*v)),
    "Tanh": (FLOATING, _approximation(approximate.tanh)),
    "Where": (_NUMBERS | LOGICAL, lambda b, v, _: b.select(v[0], v[1], v[2])),
    "Xor": (LOGICAL, _bitwise("xor")),
}
"""For each operation, the element types that its operands may have, and its IR."""

# ---- reductions

REDUCED = _NUMBERS
_COMBINE = {"ReduceSum": ("", ""), "ReduceMax": ("maximum", "smax"), "ReduceMin": ("minimum", "smin")}


def neutral(op_type: str, dtype: ir.DataType) -> Number:
    """Result of a reduction over nothing."""
    if op_type == "ReduceSum":
        return 0
    if dtype in FLOATING:
        return -inf if op_type == "ReduceMax" else inf
    limit = 1 << (_bits(dtype) - 1)
    return -limit if op_type == "ReduceMax" else limit - 1


def combine(b: Builder, op_type: str, total: Value, x: Value) -> Value:
    """One step of a reduction. Sums may be taken in any order; a NaN anywhere gives NaN."""
    if op_type == "ReduceSum":
        return b.define(x.type, f"{'fadd reassoc' if x.is_float else 'add'} {total}, {x.name}")
    floating, integer = _COMBINE[op_type]
    if x.is_float:
        # which of two zeros is open, so "nsz": fewer instructions
        return b.call(x.type, f"llvm.{floating}.{'f32' if x.type == 'float' else 'f64'}", total, x, flags="nsz")
    return b.call(x.type, f"llvm.{integer}.{x.type}", total, x)
