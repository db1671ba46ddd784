"""What each ONNX operator computes, as formulas of the few operations that kernels have: one line of a table each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from math import inf, pi, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx_ir as ir

from advisor.fuse.kernels.formula import BOOL, FLOATS, INTEGERS, NUMBERS, NotExpressible, Term, where
from advisor.fuse.scope import attribute

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from advisor.fuse.scope import Scope

    Results = tuple[Term | None, ...]
    Lowering = Callable[["Call"], Term | Results]

__all__ = ["LOWERINGS", "Call", "lower"]

RUNTIME = "com.microsoft"
"""Domain of ONNX Runtime's own operators."""
BROADCASTING_OPSET = 7
"""Before it, Add, Mul and others broadcast by attributes."""
QUICK_GELU_ALPHA = 1.702
SELU_ALPHA, SELU_GAMMA = 1.67326319217681884765625, 1.05070102214813232421875
SKIP_EPSILON = 1e-12
"""What SkipLayerNormalization takes where the model says nothing (ONNX Runtime, ContribOperators.md)."""
MISH_END = 20.0
"""From here on the quotient in Mish is 1, also of `double`; the square of eˣ would overflow later on."""
FLOAT_MAX = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class Call:
    """A node under translation.

    Attributes:
        node: The node.
        scope: The graph and what is certain about it.
        read: Gives the term of one of the node's inputs.
    """

    node: ir.Node
    scope: Scope
    read: Callable[[ir.Node, ir.Value], Term]

    def __getitem__(self, index: int) -> Term:
        """The term of an input."""
        value = self._input(index)
        if value is None:
            raise NotExpressible(f"{self.node.op_type} lacks its input {index}")
        return self.read(self.node, value)

    def optional(self, index: int) -> Term | None:
        """The term of an input that may be left out."""
        value = self._input(index)
        return None if value is None else self.read(self.node, value)

    @property
    def terms(self) -> list[Term]:
        """All inputs of an operator that takes any number of them."""
        return [self[index] for index in range(len(self.node.inputs))]

    def attribute(self, name: str, default: Any = None) -> Any:
        """An attribute, or the operator's default, or DEFAULT."""
        given = self.node.attributes.get(name)
        if given is not None and given.is_ref():
            raise NotExpressible(f"the attribute {name} belongs to a function")
        value = attribute(self.node, name, self.scope.opset)
        return default if value is None else value

    def last_axes(self, axes: tuple[int, ...]) -> int:
        """How many axes AXES are, which must be the last ones of the first input."""
        rank = None if self.node.inputs[0] is None else self.scope.rank(self.node.inputs[0])
        if any(axis >= 0 for axis in axes):
            if rank is None:
                raise NotExpressible("an axis is counted from the front of a tensor whose rank is not certain")
            axes = tuple(axis if axis < 0 else axis - rank for axis in axes)
        if sorted(axes) != list(range(-len(axes), 0)):
            raise NotExpressible("only the last axes can be reduced")
        return len(axes)

    def axes(self) -> int:
        """How many axes a Reduce… takes together, an attribute of the older operators and an input of the newer."""
        given = self.attribute("axes")
        value = self._input(1)
        if value is not None:
            array = self.scope.constant(value)
            if array is None:
                raise NotExpressible("axes are known at run time only")
            given = [int(axis) for axis in array.reshape(-1)]
        if not given:
            source = self.node.inputs[0]
            rank = None if source is None else self.scope.rank(source)
            if self.attribute("noop_with_empty_axes", 0) or not rank:
                raise NotExpressible("no axes, or all axes of a tensor whose rank is not certain")
            given = list(range(rank))
        return self.last_axes(tuple(given))

    def axes_from(self, axis: int) -> int:
        """How many axes there are from AXIS of the first input to the last."""
        if axis < 0:
            return -axis
        rank = None if self.node.inputs[0] is None else self.scope.rank(self.node.inputs[0])
        if rank is None:
            raise NotExpressible("an axis is counted from the front of a tensor whose rank is not certain")
        return rank - axis

    def _input(self, index: int) -> ir.Value | None:
        return self.node.inputs[index] if index < len(self.node.inputs) else None


def lower(call: Call) -> Results:
    """The terms that a node's outputs are; None for an output that kernels do not give.

    Raises:
        NotExpressible: Kernels do not compute what the node does.
    """
    lowering = LOWERINGS.get((call.node.domain, call.node.op_type))
    if lowering is None or call.node.overload:
        raise NotExpressible(f"no kernel computes {call.node.op_type}")
    if not call.node.domain and call.scope.opset < BROADCASTING_OPSET:
        raise NotExpressible(f"opset {call.scope.opset} is too old: its operators broadcast differently")
    results = lowering(call)
    results = results if isinstance(results, tuple) else (results,)
    return (*results, *(None for _ in call.node.outputs[len(results) :]))


def _floats(term: Term) -> Term:
    return _of(term, FLOATS)


def _of(term: Term, allowed: frozenset[ir.DataType]) -> Term:
    if term.dtype not in allowed:
        raise NotExpressible(f"not computed for {term.dtype.name.lower()}")
    return term


def _plain(op_type: str, count: int, allowed: frozenset[ir.DataType], result: ir.DataType | None = None) -> Lowering:
    """An operator that is an operation."""

    def lowering(call: Call) -> Term:
        first, *others = (_of(call[index], allowed) for index in range(count))
        return first.apply(op_type, *others, dtype=result)

    return lowering


def _unary(formula: Callable[[Term], Term]) -> Lowering:
    """An operator of one float input and no attributes."""
    return lambda call: formula(_floats(call[0]))


def _fold(formula: Callable[[Term, Term], Term], allowed: frozenset[ir.DataType]) -> Lowering:
    """An operator of any number of inputs, two at a time."""
    return lambda call: reduce(formula, [_of(term, allowed) for term in call.terms])


def maximum(left: Term, right: Term | float) -> Term:
    """The larger one; NaN where either is."""
    return left.apply("Max", right)


def minimum(left: Term, right: Term | float) -> Term:
    """The smaller one; NaN where either is."""
    return left.apply("Min", right)


def sigmoid(x: Term) -> Term:
    """1 / (1 + e⁻ˣ)."""
    return x.apply("Sigmoid")


def exp(x: Term) -> Term:
    """The exponential."""
    return x.apply("Exp")


def log(x: Term) -> Term:
    """The natural logarithm."""
    return x.apply("Log")


def root(x: Term) -> Term:
    """√x."""
    return x.apply("Sqrt")


def gelu(x: Term) -> Term:
    """Hendrycks & Gimpel 2016, exact."""
    return 0.5 * x * (1.0 + (x * sqrt(0.5)).apply("Erf"))


def tanh_gelu(x: Term) -> Term:
    """Hendrycks & Gimpel 2016, the approximation by tanh."""
    return 0.5 * x * (1.0 + (sqrt(2 / pi) * (x + 0.044715 * x * x * x)).apply("Tanh"))


def elu(x: Term) -> Term:
    """Clevert et al. 2016: eˣ - 1 below 0."""
    return x.apply("Elu")


def mish(x: Term) -> Term:
    """Misra 2019, x · tanh(ln(1 + eˣ)), which is x · n / (n + 2) with n = eˣ (eˣ + 2)."""
    power = exp(minimum(x, MISH_END))
    n = power * (power + 2.0)
    return x * (n / (n + 2.0))


def _pow(call: Call) -> Term:
    base, exponent = call[0], call[1]
    number = exponent.number
    if base.dtype in INTEGERS:
        if number not in {1, 2, 3} or exponent.dtype not in INTEGERS:
            raise NotExpressible("powers of integers, except small ones")
        return (base, base * base, base * base * base)[int(number) - 1]
    _of(exponent, NUMBERS)
    power = None if number is None else SMALL_POWERS.get(float(number))
    return power(_floats(base)) if power else _floats(base).apply("Pow", exponent.cast(base.dtype))


def _principal_root(x: Term) -> Term:
    """The power of one half: 0 for -0, and ∞ for -∞, other than the square root."""
    return where(x.compared("Equal", -inf), inf, root(x + 0.0))


SMALL_POWERS: Mapping[float, Callable[[Term], Term]] = {
    1.0: lambda x: x * 1.0,
    2.0: lambda x: x * x,
    3.0: lambda x: x * x * x,
    4.0: lambda x: (x * x) * (x * x),
    0.5: _principal_root,
    -0.5: lambda x: 1.0 / _principal_root(x),
    -1.0: lambda x: 1.0 / x,
}
"""Exponents for which a few operations do; others go through logarithm and exponential."""


def _clip(call: Call) -> Term:
    x = _of(call[0], NUMBERS)
    if call.scope.opset < 11:  # bounds are attributes, and finite unless given
        low, high = call.attribute("min", -FLOAT_MAX), call.attribute("max", FLOAT_MAX)
        return minimum(maximum(x, float(low)), float(high))
    low, high = call.optional(1), call.optional(2)
    lowest, highest = (None, None) if x.dtype in INTEGERS else (float(x.dtype.min), float(x.dtype.max))
    below, above = (lowest if low is None else low), (highest if high is None else high)
    if below is not None:
        x = maximum(x, below)
    return x if above is None else minimum(x, above)


def _cast(call: Call) -> Term:
    to = ir.DataType(call.attribute("to"))
    if to not in NUMBERS and to is not BOOL:
        raise NotExpressible(f"kernels do not compute with {to.name.lower()}")
    return call[0].cast(to)


def _where(call: Call) -> Term:
    return where(_of(call[0], frozenset({BOOL})), call[1], call[2])


def _mod(call: Call) -> Term:
    left, right = _of(call[0], NUMBERS), _of(call[1], NUMBERS)
    fmod = call.attribute("fmod", 0)
    if left.dtype in FLOATS and not fmod:
        raise NotExpressible("Mod of floats needs fmod=1")
    return left.formula.operation("Mod", left, right, attributes=(("fmod", int(fmod)),))


def _is_inf(call: Call) -> Term:
    x = _floats(call[0])
    positive, negative = call.attribute("detect_positive", 1), call.attribute("detect_negative", 1)
    if positive and negative:
        return x.apply("IsInf", dtype=BOOL)
    if not (positive or negative):
        raise NotExpressible("IsInf that looks for neither sign")
    return x.compared("Equal", inf if positive else -inf)


def _leaky_relu(call: Call) -> Term:
    x = _floats(call[0])
    return where(x.compared("GreaterOrEqual", 0.0), x, call.attribute("alpha") * x)


def _prelu(call: Call) -> Term:
    x, slope = _of(call[0], NUMBERS), call[1]
    return where(x.compared("Less", 0.0), slope * x, x)


def _elu(call: Call) -> Term:
    x = _floats(call[0])
    return where(x.compared("GreaterOrEqual", 0.0), x, call.attribute("alpha") * elu(x))


def _selu(call: Call) -> Term:
    x = _floats(call[0])
    alpha, gamma = call.attribute("alpha", SELU_ALPHA), call.attribute("gamma", SELU_GAMMA)
    return where(x.compared("Greater", 0.0), gamma * x, gamma * alpha * elu(x))


def _celu(call: Call) -> Term:
    x, alpha = _floats(call[0]), call.attribute("alpha")
    if alpha <= 0:
        raise NotExpressible("Celu whose alpha is not positive")
    return maximum(x, 0.0) + minimum(alpha * elu(x / alpha), 0.0)


def _hard_sigmoid(call: Call) -> Term:
    x = _floats(call[0])
    return maximum(minimum(call.attribute("alpha") * x + call.attribute("beta"), 1.0), 0.0)


def _thresholded_relu(call: Call) -> Term:
    x = _floats(call[0])
    return where(x.compared("Greater", call.attribute("alpha")), x, 0.0)


def _shrink(call: Call) -> Term:
    x, bias, edge = _floats(call[0]), call.attribute("bias"), call.attribute("lambd")
    return where(x.compared("Less", -edge), x + bias, where(x.compared("Greater", edge), x - bias, 0.0))


def _gelu(call: Call) -> Term:
    formulas = {"none": gelu, "tanh": tanh_gelu}
    if (kind := call.attribute("approximate", "none")) not in formulas:
        raise NotExpressible(f"Gelu approximated by {kind}")
    return formulas[kind](_floats(call[0]))


def _fast_gelu(call: Call) -> Term:
    x, bias = _floats(call[0]), call.optional(1)
    return tanh_gelu(x if bias is None else x + bias)


def _swish(call: Call) -> Term:
    x = _floats(call[0])
    return x * sigmoid(call.attribute("alpha", 1.0) * x)


def _quick_gelu(call: Call) -> Term:
    x = _floats(call[0])
    return x * sigmoid(call.attribute("alpha", QUICK_GELU_ALPHA) * x)


def _mean_of_inputs(call: Call) -> Term:
    terms = [_floats(term) for term in call.terms]
    return sum(terms[1:], terms[0]) / float(len(terms))


def _reduce(op_type: str, before: Callable[[Term], Term] = lambda x: x) -> Lowering:
    """A reduction, of what BEFORE makes of each element."""

    def lowering(call: Call) -> Term:
        x = _of(call[0], NUMBERS)
        return x.formula.reduction(op_type, before(x), call.axes(), keepdims=bool(call.attribute("keepdims", 1)))

    return lowering


def _reduce_mean(call: Call) -> Term:
    x, axes = _floats(call[0]), call.axes()
    total = x.formula.reduction("ReduceSum", x, axes, keepdims=bool(call.attribute("keepdims", 1)))
    return total / x.formula.row_length(x, axes)


def _reduce_l2(call: Call) -> Term:
    x = _floats(call[0])
    keepdims = bool(call.attribute("keepdims", 1))
    return root(x.formula.reduction("ReduceSum", x * x, call.axes(), keepdims=keepdims))


def _softmax_axes(call: Call) -> int:
    if call.scope.opset < 13:  # all axes from this one on together
        return call.axes_from(call.attribute("axis", 1))
    return call.last_axes((call.attribute("axis", -1),))


def _softmax(call: Call) -> Term:
    x, axes = _floats(call[0]), _softmax_axes(call)
    powers = exp(x - x.formula.reduction("ReduceMax", x, axes))
    return powers * (1.0 / powers.sum(axes))


def _log_softmax(call: Call) -> Term:
    x, axes = _floats(call[0]), _softmax_axes(call)
    shifted = x - x.formula.reduction("ReduceMax", x, axes)
    return shifted - log(exp(shifted).sum(axes))


def layer_norm(x: Term, scale: Term | None, bias: Term | None, axes: int, epsilon: float) -> Term:
    """Ba et al. 2016; the variance from differences, never from squares of large numbers."""
    centred = x - x.mean(axes)
    y = centred * (1.0 / root((centred * centred).mean(axes) + epsilon))
    y = y if scale is None else y * scale
    return y if bias is None else y + bias


def rms_norm(x: Term, scale: Term | None, axes: int, epsilon: float) -> Term:
    """Zhang & Sennrich 2019."""
    y = x * (1.0 / root((x * x).mean(axes) + epsilon))
    return y if scale is None else y * scale


def _layer_norm(call: Call) -> Term:
    axes = call.axes_from(call.attribute("axis", -1))
    return layer_norm(_floats(call[0]), call[1], call.optional(2), axes, call.attribute("epsilon", 1e-5))


def _rms_norm(call: Call) -> Term:
    axes = call.axes_from(call.attribute("axis", -1))
    x, scale = _floats(call[0]), call[1]
    if x.dtype is not scale.dtype:
        raise NotExpressible("input and scale differ in type")
    return rms_norm(x, scale, axes, call.attribute("epsilon", 1e-5))


def _skip_layer_norm(call: Call) -> Results:
    total = _floats(call[0]) + call[1]
    if (bias := call.optional(4)) is not None:
        total = total + bias
    return layer_norm(total, call[2], call.optional(3), 1, call.attribute("epsilon", SKIP_EPSILON)), None, None, total


def _skip_rms_norm(call: Call) -> Results:
    total = _floats(call[0]) + call[1]
    if (bias := call.optional(3)) is not None:
        total = total + bias
    return rms_norm(total, call[2], 1, call.attribute("epsilon", SKIP_EPSILON)), None, None, total


_BOOLS = frozenset({BOOL})

LOWERINGS: Mapping[tuple[str, str], Lowering] = {
    ("", "Abs"): _plain("Abs", 1, NUMBERS),
    ("", "Add"): _plain("Add", 2, NUMBERS),
    ("", "And"): _plain("And", 2, _BOOLS),
    ("", "Cast"): _cast,
    ("", "Ceil"): _plain("Ceil", 1, FLOATS),
    ("", "Celu"): _celu,
    ("", "Clip"): _clip,
    ("", "Cos"): _plain("Cos", 1, FLOATS),
    ("", "Div"): _plain("Div", 2, NUMBERS),
    ("", "Elu"): _elu,
    ("", "Equal"): _plain("Equal", 2, NUMBERS | _BOOLS, BOOL),
    ("", "Erf"): _plain("Erf", 1, FLOATS),
    ("", "Exp"): _plain("Exp", 1, FLOATS),
    ("", "Floor"): _plain("Floor", 1, FLOATS),
    ("", "Gelu"): _gelu,
    ("", "Greater"): _plain("Greater", 2, NUMBERS, BOOL),
    ("", "GreaterOrEqual"): _plain("GreaterOrEqual", 2, NUMBERS, BOOL),
    ("", "HardSigmoid"): _hard_sigmoid,
    ("", "HardSwish"): _unary(lambda x: x * maximum(minimum((1 / 6) * x + 0.5, 1.0), 0.0)),
    ("", "IsInf"): _is_inf,
    ("", "IsNaN"): _plain("IsNaN", 1, FLOATS, BOOL),
    ("", "LayerNormalization"): _layer_norm,
    ("", "LeakyRelu"): _leaky_relu,
    ("", "Less"): _plain("Less", 2, NUMBERS, BOOL),
    ("", "LessOrEqual"): _plain("LessOrEqual", 2, NUMBERS, BOOL),
    ("", "Log"): _plain("Log", 1, FLOATS),
    ("", "LogSoftmax"): _log_softmax,
    ("", "Max"): _fold(maximum, NUMBERS),
    ("", "Mean"): _mean_of_inputs,
    ("", "Min"): _fold(minimum, NUMBERS),
    ("", "Mish"): _unary(mish),
    ("", "Mod"): _mod,
    ("", "Mul"): _plain("Mul", 2, NUMBERS),
    ("", "Neg"): _plain("Neg", 1, NUMBERS),
    ("", "Not"): _plain("Not", 1, _BOOLS),
    ("", "Or"): _plain("Or", 2, _BOOLS),
    ("", "PRelu"): _prelu,
    ("", "Pow"): _pow,
    ("", "RMSNormalization"): _rms_norm,
    ("", "Reciprocal"): _unary(lambda x: 1.0 / x),
    ("", "ReduceL1"): _reduce("ReduceSum", abs),
    ("", "ReduceL2"): _reduce_l2,
    ("", "ReduceMax"): _reduce("ReduceMax"),
    ("", "ReduceMean"): _reduce_mean,
    ("", "ReduceMin"): _reduce("ReduceMin"),
    ("", "ReduceSum"): _reduce("ReduceSum"),
    ("", "ReduceSumSquare"): _reduce("ReduceSum", lambda x: x * x),
    ("", "Relu"): lambda call: maximum(_of(call[0], NUMBERS), 0),
    ("", "Round"): _plain("Round", 1, FLOATS),
    ("", "Selu"): _selu,
    ("", "Shrink"): _shrink,
    ("", "Sigmoid"): _plain("Sigmoid", 1, FLOATS),
    ("", "Sign"): _plain("Sign", 1, NUMBERS),
    ("", "SimplifiedLayerNormalization"): _rms_norm,
    ("", "Sin"): _plain("Sin", 1, FLOATS),
    ("", "Softmax"): _softmax,
    ("", "Softplus"): _plain("Softplus", 1, FLOATS),
    ("", "Softsign"): _unary(lambda x: x / (1.0 + abs(x))),
    ("", "Sqrt"): _plain("Sqrt", 1, FLOATS),
    ("", "Sub"): _plain("Sub", 2, NUMBERS),
    ("", "Sum"): _fold(lambda left, right: left + right, FLOATS),
    ("", "Swish"): _swish,
    ("", "Tanh"): _plain("Tanh", 1, FLOATS),
    ("", "ThresholdedRelu"): _thresholded_relu,
    ("", "Where"): _where,
    ("", "Xor"): _plain("Xor", 2, _BOOLS),
    (RUNTIME, "BiasGelu"): lambda call: gelu(_floats(call[0]) + call[1]),
    (RUNTIME, "FastGelu"): _fast_gelu,
    (RUNTIME, "Gelu"): _unary(gelu),
    (RUNTIME, "QuickGelu"): _quick_gelu,
    (RUNTIME, "SkipLayerNormalization"): _skip_layer_norm,
    (RUNTIME, "SkipSimplifiedLayerNormalization"): _skip_rms_norm,
}
"""By domain and operator."""
