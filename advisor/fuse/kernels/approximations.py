"""Transcendental functions as straight-line IR: selects instead of branches, so that LLVM vectorises the loop around.

Within 2 units in the last place for `float` (sigmoid, elu and softplus 2.5) and a few for `double`; for powers of
`double` see `pow_`. NaN, infinities and signed zeros as IEEE 754 has them, also denormals. Only operations that every
target has: the same text serves CPUs and GPUs.

Polynomials "fitted here" are minimax fits by Remez's exchange in 60 digits, weighted so that the relative error of the
function is least, with coefficients then rounded to the type.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, nan
from math import log as _ln
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from advisor.fuse.kernels.builder import Builder, Value

__all__ = ["cos", "elu", "erf", "exp", "log", "pow_", "sigmoid", "sin", "softplus", "tanh"]


@dataclass(frozen=True)
class _Exponential:
    """Constants of exp and expm1 for one type.

    Attributes:
        magic: 1.5 * 2^(bits of the mantissa): adding it rounds to an integer, which then lies in the lowest bits.
        bias, mantissa: Of the format's exponent, and how many bits lie right of it.
        least, most: Arguments beyond these give 0 and infinity.
        ln2_high, ln2_low: ln 2 in two parts; the first has trailing zeros, so that its products with n are exact.
        exp: (e^r - 1 - r) / r^2 for |r| <= ln 2, fitted here.
        expm1: The same for |r| <= ln 2 / 2.
    """

    magic: float
    bias: int
    mantissa: int
    least: float
    most: float
    ln2_high: float
    ln2_low: float
    exp: tuple[float, ...]
    expm1: tuple[float, ...]


# fmt: off
_EXPONENTIAL = {
    "float": _Exponential(
        magic=1.5 * 2**23, bias=127, mantissa=23, least=-104.0, most=89.0,
        ln2_high=0.693359375, ln2_low=-2.12194440e-4,  # Cephes, expf.c
        exp=(1.961090456461534e-04, 1.4105094596743584e-03, 8.33611935377121e-03, 4.166123643517494e-02,
             1.6666613519191742e-01, 5.000003576278687e-01),
        expm1=(1.3882493367418647e-03, 8.36664717644453e-03, 4.166720435023308e-02, 1.6666541993618011e-01,
               4.999999701976776e-01),
    ),
    "double": _Exponential(
        magic=1.5 * 2**52, bias=1023, mantissa=52, least=-746.0, most=710.0,
        ln2_high=6.93147180369123816490e-01, ln2_low=1.90821492927058770002e-10,  # fdlibm, e_exp.c
        exp=(1.5935227706353452e-10, 2.106299626345162e-09, 2.5055052858680833e-08, 2.755614975940603e-07,
             2.755730046127034e-06, 2.4801590867485096e-05, 1.9841269893487238e-04, 1.388888888350236e-03,
             8.33333333326882e-03, 4.16666666667027e-02, 1.6666666666666943e-01, 4.999999999999993e-01),
        expm1=(2.0875356195267554e-09, 2.5109196462642232e-08, 2.755740318805973e-07, 2.7557243800159603e-06,
               2.480158717114523e-05, 1.9841269886481552e-04, 1.3888888888963467e-03, 8.333333333321511e-03,
               4.1666666666666505e-02, 1.6666666666666677e-01, 5.0e-01),
    ),
}
_ERF_DOUBLE = (
    1.1793477401561796e-14, -4.75227185194663e-13, 8.71631869239805e-12, -9.542904947654068e-11, 6.806828865658015e-10,
    -3.1507959541169018e-09, 7.772531807310802e-09, 8.403740180364003e-09, -1.7417585069336854e-07,
    8.53876358422798e-07, -2.430044068935722e-06, 3.5649792246952275e-06, 2.7955912542561476e-06,
    -2.9323343395874867e-05, 6.428990344445439e-05, 2.5955251697358032e-05, -5.901468266840747e-04,
    1.6962105328290102e-03, -2.0919523069004803e-04, -1.9128446963036165e-02, 1.0277260330005931e-01,
    6.366197723676116e-01, 0.12837916709551256)
"""-ln(1 - erf x) / x - 1 for 0 <= x <= 6: fitted here."""
_ERF_NEAR = 1.0
_ERF_END = 4.19  # where the polynomial is least: its fourth power is lost beside 1, so that the result is 1
_ERF_NEAR_0 = (-5.631939275190234e-04, 4.9176509492099285e-03, -2.6711352169513702e-02, 1.1280178278684616e-01,
               -3.7612324953079224e-01, 1.2837912142276764e-01)
"""erf(x) / x - 1 by x^2, for |x| <= 1: fitted here."""
_ERF_ROOT = (-1.5709208673797548e-04, 2.927927765995264e-03, -2.0459918305277824e-02, 6.066950410604477e-02,
             -4.053031653165817e-02, -7.408573478460312e-02, -3.025718927383423e-01, 1.0039770603179932)
"""(1 - erf x)^(1/4) for 1 <= x <= 3.92: fitted here."""
_TANH_NEAR = 0.7
_TANH_NEAR_0 = (-5.140467546880245e-03, 2.0094336941838264e-02, -5.3559962660074234e-02, 1.332913190126419e-01,
                -3.333319127559662e-01)
"""(tanh(x) / x - 1) / x^2 by x^2, for |x| <= 0.7: fitted here."""
_SHORT_EXP = (8.31228494644165e-03, 4.1894540190696716e-02, 1.6667130589485168e-01, 4.999920129776001e-01, 1.0, 1.0)
_HALF_EXP = (1.382077345624566e-03, 8.369249291718006e-03, 4.1668280959129333e-02, 1.6666516661643982e-01,
             4.999999403953552e-01, 1.0, 1.0)
"""e^x for |x| <= ln 2 / 2, to 2^-23 and to 2^-28: fitted here."""
_NEGATED_EXP = {
    type_: tuple(c * (-1) ** n for n, c in enumerate(reversed(powers)))[::-1]
    for type_, powers in (("float", _HALF_EXP), ("double", (*_EXPONENTIAL["double"].exp, 1.0, 1.0)))
}
"""e^-x."""
_TANH_EXP = tuple(c * 2**n for n, c in zip(reversed(range(6)), _SHORT_EXP, strict=True))
"""e^2x."""
_LOG_FLOAT = (7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
              2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1)  # Cephes, logf.c
_LOG1P_FLOAT = (-3.3183936029672623e-03, 2.0204238593578339e-02, -5.7663820683956146e-02, 1.0680495947599411e-01,
                -1.5355363488197327e-01, 1.9695390760898590e-01, -2.4958586692810059e-01, 3.3330512046813965e-01,
                -4.9999931454658508e-01)
"""(ln(1 + x) - x) / x^2 for 0 <= x <= 1, to 2^-27: fitted here."""
_LOG_DOUBLE = (1.479819860511658591e-01, 1.531383769920937332e-01, 1.818357216161805012e-01, 2.222219843214978396e-01,
               2.857142874366239149e-01, 3.999999999940941908e-01, 6.666666666666735130e-01)  # fdlibm, e_log.c
_SINE = (1.58969099521155010221e-10, -2.50507602534068634195e-08, 2.75573137070700676789e-06,
         -1.98412698298579493134e-04, 8.33333333332248946124e-03, -1.66666666666666324348e-01)  # fdlibm, k_sin.c
_COSINE = (-1.13596475577881948265e-11, 2.08757232129817482790e-09, -2.75573143513906633035e-07,
           2.48015872894767294178e-05, -1.38888888888741095749e-03, 4.16666666666666019037e-02)  # fdlibm, k_cos.c
_HALF_PI = (1.57079632673412561417, 6.07710050630396597660e-11, 2.02226624879595063154e-21)  # fdlibm, e_rem_pio2.c
_HALF_PI_FUSED = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33)
"""pi / 2 in three parts of 53 bits."""
FARTHEST_ANGLE, FARTHEST_ANGLE_UNFUSED = 1e12, 1e6
"""Where sine and cosine end, with and without fused multiply-add: beyond, the three parts do not tell how far the next
multiple of pi / 2 is, and NaN is better than digits of which none is right."""
_SINE_FLOAT = (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)  # Cephes, sinf.c
_COSINE_FLOAT = (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)  # Cephes, sinf.c
_LOG2 = (0.3407301247999729, 0.41167271763169316, 0.5770835849975293, 0.9617966733415587, 2.8853900817900864)
"""log2((1 + s) / (1 - s)) / s by s^2, for |s| <= (sqrt 2 - 1) / (sqrt 2 + 1), to 2^-37: fitted here."""
_EXP2 = (1.534583265618889e-04, 1.3399931136418935e-03, 9.618488881739455e-03, 5.5503287773925755e-02,
         2.4022646891266947e-01, 6.931472057368893e-01, 1.000000000554097)
"""2^x for |x| <= 1/2, to 2^-29: fitted here."""
# fmt: on


def exp(b: Builder, x: Value) -> Value:
    """The exponential e^x, also where the result is denormal.

    x = 2n ln 2 + r with |r| <= ln 2; the even multiple lets 2^2n be applied as two factors 2^n, of which neither over-
    nor underflows, and which are the same bits.
    """
    c = _EXPONENTIAL[x.type]
    x = b.at_most(b.at_least(x, c.least), c.most)
    r, scale = _reduce(b, x, c, 2)
    series = b.polynomial(r, (*c.exp, 1.0, 1.0))
    return b.mul(b.mul(series, scale), scale)


def _reduce(b: Builder, x: Value, c: _Exponential, step: int) -> tuple[Value, Value]:
    """The small rest x - n (step ln 2), and 2^n; x must not be beyond the range of `exp`."""
    shifted = b.fma(x, 1 / (step * _ln(2)), c.magic + c.bias)
    n = b.sub(shifted, c.magic + c.bias)
    r = b.fma(n, -step * c.ln2_high, x)
    return b.fma(n, -step * c.ln2_low, r), _power_of_two(b, shifted, c)


def _power_of_two(b: Builder, shifted: Value, c: _Exponential) -> Value:
    """2^n from n + magic + bias."""
    return b.number(b.bit("shl", b.bits(shifted), c.mantissa))


def _expm1(b: Builder, x: Value) -> Value:
    """The difference e^x - 1 where e^x is a normal number, with relative accuracy near 0, too."""
    c = _EXPONENTIAL[x.type]
    r, scale = _reduce(b, x, c, 1)
    curve = b.mul(b.mul(r, r), b.polynomial(r, c.expm1))
    # scale e^r - 1, the larger parts first: each of the two additions rounds once
    return b.fma(scale, curve, b.fma(scale, r, b.sub(scale, 1.0)))


def elu(b: Builder, x: Value) -> Value:
    """e^x - 1 below 0, where it is as accurate near 0 as elsewhere, and x above."""
    return b.select(b.compare("olt", x, 0.0), _expm1(b, b.at_least(x, -40.0)), x)


def softplus(b: Builder, x: Value) -> Value:
    """ln(1 + e^x) as max(x, 0) + ln(1 + e^-|x|): nothing overflows, and far below 0 it is e^x."""
    power = exp(b, b.neg(b.unary("fabs", x)))
    if x.type == "double":
        # what the sum of 1 and a small power loses is put back
        total = b.add(power, 1.0)
        lost = b.sub(power, b.sub(total, 1.0))
        rest = b.add(log(b, total), b.div(lost, total))
    else:
        rest = b.fma(b.mul(power, power), b.polynomial(power, _LOG1P_FLOAT), power)
    return b.add(b.at_least(x, 0.0), rest)


def tanh(b: Builder, x: Value) -> Value:
    """Hyperbolic tangent; an odd polynomial near 0, elsewhere 1 - 2 / (e^(2|x|) + 1)."""
    magnitude = b.unary("fabs", x)
    if x.type == "double":
        # m / (m + 2) with m = e^(2|x|) - 1 weakens the errors of m
        m = _expm1(b, b.mul(b.at_most(magnitude, 20.0), 2.0))
        return b.copysign(b.div(m, b.add(m, 2.0)), x)
    c = _EXPONENTIAL["float"]
    t = b.at_most(magnitude, 9.1)
    shifted = b.fma(t, 2 / _ln(2), c.magic + c.bias)
    n = b.sub(shifted, c.magic + c.bias)
    rest = b.fma(n, -_ln(2) / 2, t)
    large = b.sub(1.0, b.div(2.0, b.fma(b.polynomial(rest, _TANH_EXP), _power_of_two(b, shifted, c), 1.0)))
    z = b.mul(x, x)
    small = b.fma(x, b.mul(z, b.polynomial(z, _TANH_NEAR_0)), x)
    return b.copysign(b.select(b.compare("olt", magnitude, _TANH_NEAR), small, large), x)  # tanh(-0) is -0


def erf(b: Builder, x: Value) -> Value:
    """Error function; an odd polynomial near 0, elsewhere 1 - p(|x|)^4 with p fitted to the fourth root of erfc."""
    magnitude = b.unary("fabs", x)
    if x.type == "double":
        # 1 - e^-(t + t q(t)): one range
        t = b.at_most(magnitude, 6.0)
        m = _expm1(b, b.neg(b.fma(t, b.polynomial(t, _ERF_DOUBLE), t)))
        return b.copysign(m, x)
    root = b.polynomial(b.at_most(magnitude, _ERF_END), _ERF_ROOT)
    square = b.mul(root, root)
    large = b.fma(b.neg(square), square, 1.0)
    z = b.mul(x, x)
    small = b.fma(x, b.polynomial(z, _ERF_NEAR_0), x)
    return b.select(b.compare("olt", magnitude, _ERF_NEAR), small, b.copysign(large, x))


def sigmoid(b: Builder, x: Value) -> Value:
    """1 / (1 + e^-x), also where the result is denormal: with s = 2^-(half of all exponents), s / (s + s e^-x)."""
    c = _EXPONENTIAL[x.type]
    half = (c.bias + 1) // 2
    x = b.at_most(b.at_least(x, c.least), 40.0)
    shifted = b.fma(x, -1 / _ln(2), c.magic + c.bias - half)
    n = b.sub(shifted, c.magic + c.bias - half)
    rest = b.fma(n, c.ln2_low, b.fma(n, c.ln2_high, x))
    power = _power_of_two(b, shifted, c)
    return b.div(2.0**-half, b.fma(b.polynomial(rest, _NEGATED_EXP[x.type]), power, 2.0**-half))


def log(b: Builder, x: Value) -> Value:
    """Natural logarithm: -infinity at 0, NaN below."""
    single = x.type == "float"
    mantissa, least = (23, 2.0**-126) if single else (52, 2.0**-1022)
    denormal = b.compare("olt", x, least)
    bits = b.bits(b.select(denormal, b.mul(x, 2.0**mantissa), x))
    half_root = 0x3F3504F3 if single else 0x3FE6A09E667F3BCD  # the bits of sqrt(1/2)
    above = b.bit("sub", bits, half_root)
    exponent = b.bit("ashr", above, mantissa)
    if not single:
        exponent = b.convert("trunc", exponent, "i32")  # few CPUs convert vectors of i64
    exponent = b.convert("sitofp", exponent, x.type)
    exponent = b.sub(exponent, b.select(denormal, b.value(float(mantissa), x.type), 0.0))
    f = b.sub(b.number(b.bit("add", b.bit("and", above, (1 << mantissa) - 1), half_root)), 1.0)
    c = _EXPONENTIAL[x.type]
    square = b.mul(f, f)
    if single:
        result = b.mul(b.mul(b.polynomial(f, _LOG_FLOAT), f), square)
        result = b.fma(exponent, c.ln2_low, result)
        result = b.add(f, b.fma(square, -0.5, result))
    else:
        s = b.div(f, b.add(f, 2.0))
        z = b.mul(s, s)
        half = b.mul(square, 0.5)
        series = b.add(half, b.mul(z, b.polynomial(z, _LOG_DOUBLE)))
        result = b.sub(f, b.sub(half, b.fma(s, series, b.mul(exponent, c.ln2_low))))
    result = b.fma(exponent, c.ln2_high, result)
    result = b.select(b.compare("oeq", x, inf), x, result)
    result = b.select(b.compare("oeq", x, 0.0), -inf, result)
    return b.select(b.compare("ult", x, 0.0), nan, result)


def sin(b: Builder, x: Value) -> Value:
    """Sine; NaN beyond `FARTHEST_ANGLE`."""
    return _sine(b, x, 0)


def cos(b: Builder, x: Value) -> Value:
    """Cosine; NaN beyond `FARTHEST_ANGLE`."""
    return _sine(b, x, 1)


def _sine(b: Builder, x: Value, quarter: int) -> Value:
    """sin(x + quarter * pi / 2): x less a multiple of pi / 2 is taken in `double` (Cody and Waite)."""
    single = x.type == "float"
    wide = b.convert("fpext", x, "double") if single else x
    magic = _EXPONENTIAL["double"].magic
    shifted = b.add(b.mul(wide, 0.6366197723675814), magic)
    n = b.sub(shifted, magic)
    low, rest = _less_half_pi(b, wide, n)
    quadrant = b.bits(shifted)
    if single:
        low = b.convert("fptrunc", b.add(low, rest), "float")
        quadrant = b.convert("trunc", quadrant, "i32")
    if quarter:
        quadrant = b.bit("add", quadrant, quarter)
    z = b.mul(low, low)
    if single:
        sine = b.fma(b.mul(b.polynomial(z, _SINE_FLOAT), z), low, low)
        cosine = b.fma(b.mul(b.polynomial(z, _COSINE_FLOAT), z), z, b.fma(z, -0.5, 1.0))
    else:
        sine = b.add(low, b.fma(b.mul(b.polynomial(z, _SINE), z), low, rest))
        half = b.mul(z, 0.5)
        one = b.sub(1.0, half)
        lost = b.sub(b.sub(1.0, one), half)
        # which product is fused is said here, or a row's last columns may be rounded in another way than the others
        tail = b.fma(b.mul(z, z), b.polynomial(z, _COSINE), b.neg(b.mul(low, rest)))
        cosine = b.add(one, b.add(lost, tail))
    result = b.select(b.compare("ne", b.bit("and", quadrant, 1), 0), cosine, sine)
    sign = b.bit("shl", b.bit("and", quadrant, 2), result.bits - 2)
    result = b.number(b.bit("xor", b.bits(result), sign))
    farthest = FARTHEST_ANGLE if b.fused else FARTHEST_ANGLE_UNFUSED
    result = b.select(b.compare("ogt", b.unary("fabs", x), farthest), nan, result)
    # sin(-0) is -0, which the reduction loses
    return result if quarter else b.select(b.compare("oeq", x, 0.0), x, result)


def _less_half_pi(b: Builder, x: Value, n: Value) -> tuple[Value, Value]:
    """The difference x - n pi / 2 of `double`, and what it is too small by."""
    if b.fused:
        # exact: it is a multiple of the last place of the first part, and less than 2
        r = b.fma(n, -_HALF_PI_FUSED[0], x)
        low = b.fma(n, -_HALF_PI_FUSED[1], r)
        rest = b.fma(n, -_HALF_PI_FUSED[1], b.sub(r, low))
        return low, b.fma(n, -_HALF_PI_FUSED[2], rest)
    # the products are exact: 33 bits of pi / 2 times 20 bits of n
    r = b.sub(x, b.mul(n, _HALF_PI[0]))
    second = b.mul(n, _HALF_PI[1])
    low = b.sub(r, second)
    # what the last subtraction rounded away, and the third part of pi / 2
    rest = b.sub(b.sub(r, low), second)
    return low, b.sub(rest, b.mul(n, _HALF_PI[2]))


def pow_(b: Builder, x: Value, y: Value) -> Value:
    """x^y with the special cases of C's pow; `float` is computed in `double`, so that it rounds well.

    `double` loses digits as |y ln x| grows: a relative error of about |y ln x| 2^-53.
    """
    magnitude = b.unary("fabs", x)
    if x.type == "float":
        result = b.convert("fptrunc", _exp2(b, b.mul(b.convert("fpext", y, "double"), _log2(b, magnitude))), "float")
    else:
        result = exp(b, b.mul(y, log(b, magnitude)))
    # a negative base has a result only for whole exponents; odd ones keep the sign
    whole = b.compare("oeq", b.unary("floor", y), y)
    halved = b.mul(y, 0.5)
    odd = b.bit("and", whole, b.compare("une", b.unary("floor", halved), halved))
    negative = b.compare("slt", b.bits(x), 0)
    signed = b.select(b.bit("and", negative, odd), b.neg(result), result)
    finite = b.compare("one", magnitude, inf)
    undefined = b.bit("and", b.bit("and", b.compare("olt", x, 0.0), finite), b.bit("xor", whole, True))
    signed = b.select(undefined, nan, signed)
    # (-1)^(+-infinity), 1^anything and anything^0 are 1, even of NaN
    endless = b.compare("oeq", b.unary("fabs", y), inf)
    one = b.bit("and", b.compare("oeq", magnitude, 1.0), endless)
    one = b.bit("or", one, b.bit("or", b.compare("oeq", x, 1.0), b.compare("oeq", y, 0.0)))
    return b.select(one, 1.0, signed)


def _log2(b: Builder, x: Value) -> Value:
    """The logarithm to base 2 of a `float` that is not negative, as a `double` of 37 right bits."""
    denormal = b.compare("olt", x, 2.0**-126)
    bits = b.bits(b.select(denormal, b.mul(x, 2.0**23), x))
    half_root = 0x3F3504F3  # the bits of sqrt(1/2)
    above = b.bit("sub", bits, half_root)
    exponent = b.bit("sub", b.bit("ashr", above, 23), b.select(denormal, b.value(23, "i32"), 0))
    f = b.sub(b.number(b.bit("add", b.bit("and", above, (1 << 23) - 1), half_root)), 1.0)
    f = b.convert("fpext", f, "double")
    s = b.div(f, b.add(f, 2.0))
    result = b.fma(s, b.polynomial(b.mul(s, s), _LOG2), b.convert("sitofp", exponent, "double"))
    result = b.select(b.compare("olt", x, inf), result, b.convert("fpext", x, "double"))  # infinity and NaN stay
    return b.select(b.compare("oeq", x, 0.0), -inf, result)


def _exp2(b: Builder, x: Value) -> Value:
    """2^x of a `double`, to 29 bits; beyond the range of `float` any number that is, too."""
    c = _EXPONENTIAL["double"]
    x = b.at_most(b.at_least(x, -160.0), 160.0)
    shifted = b.add(x, c.magic + c.bias)
    rest = b.sub(x, b.sub(shifted, c.magic + c.bias))
    return b.mul(b.polynomial(rest, _EXP2), _power_of_two(b, shifted, c))
