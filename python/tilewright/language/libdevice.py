"""The namespace `tw.libdevice`: the names of CUDA's device math library, on every target.

Functions of float32 and float64 are computed in the argument's type, those of float16 and bfloat16
in float32; the result has the argument's type. Names that end in f or start with fast_ take every
float and have no lower precision here. What the largest errors are, LIBDEVICE.md says; names with
_rn, _rz, _rd and _ru are exact: to nearest, toward zero, down, up. Conversions to integers
saturate, and NaN gives 0.
"""

# Kernel code follows the type rules of the language, not those of Python:
# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportIndexIssue=false, reportOptionalMemberAccess=false
# pyright: reportAttributeAccessIssue=false, reportGeneralTypeIssues=false, reportReturnType=false
from __future__ import annotations

from . import conversions, directed, elementwise
from .conversions import *  # noqa: F403
from .directed import *  # noqa: F403
from .dtypes import float32, float64, int32, int64, tensor, uint32, uint64
from .elementwise import *  # noqa: F403
from .elementwise import clz as _clz
from .elementwise import popc as _popc
from .elementwise import pow as _pow
from .marks import builtin_alias, library_function
from .rounding import (
    INFINITY,
    above,
    add_rn,
    below,
    exact_type,
    exponent_of,
    is_negative,
    mul_rn,
    power_of_two,
    scaled,
    sub_rn,
    two_sum,
)
from .special import (
    NAN,
    erfcinv_double,
    erfcx_double,
    erfinv_double,
    floating,
    i0_double,
    i1_double,
    in_double,
    j0_double,
    j1_double,
    jn_double,
    lgamma_double,
    normcdf_double,
    normcdfinv_double,
    sine_cosine_pi,
    tgamma_double,
    y0_double,
    y1_double,
    yn_double,
)
from .static import constexpr
from .tile import (
    Value,
    cast,
    div_rn,
    fdiv,
    maximum,
    minimum,
    static_assert,
    to_tensor,
    umulhi,
    where,
)

fast_expf = builtin_alias("fast_expf", exp)
fast_logf = builtin_alias("fast_logf", log)
fast_log2f = builtin_alias("fast_log2f", log2)
fast_log10f = builtin_alias("fast_log10f", log10)
fast_sinf = builtin_alias("fast_sinf", sin)
fast_cosf = builtin_alias("fast_cosf", cos)
fast_tanf = builtin_alias("fast_tanf", tan)
fast_tanhf = builtin_alias("fast_tanhf", tanh)
fast_powf = builtin_alias("fast_powf", pow)
fast_dividef = builtin_alias("fast_dividef", fdiv)
fabs = builtin_alias("fabs", abs)
nearbyint = builtin_alias("nearbyint", rint)
fma_rn = builtin_alias("fma_rn", fma)
fmax = builtin_alias("fmax", maximum)
fmin = builtin_alias("fmin", minimum)

# Questions.


@library_function
def isnan(x: Value) -> tensor:
    """Where x is not a number."""
    return x != x


@library_function
def isinf(x: Value) -> tensor:
    """Where x is infinite, of either sign."""
    return abs(x) == INFINITY


@library_function
def finitef(x: Value) -> tensor:
    """Where x is neither infinite nor NaN."""
    return abs(x) < INFINITY


isfinited = finitef


@library_function
def signbit(x: Value) -> tensor:
    """1 where the sign bit is set, of -0 and NaN too, else 0; int32."""
    return is_negative(floating(x)).to(int32)


# Powers, remainders and parts of floats.


@library_function
def pow(x: Value, y: Value) -> tensor:
    """x to the power y; y may be an integer of at most 32 bits."""
    y = to_tensor(y)
    if y.dtype.is_floating():
        return _pow(x, y)
    static_assert(y.dtype.primitive_bitwidth <= 32, "an integer exponent is an int32")
    kind: constexpr = float64 if to_tensor(x).dtype == float64 else float32
    base = cast(x, kind)
    size = _pow(abs(base), y.to(kind))
    return where((base < 0.0) & ((y & 1) == 1), -size, size).to(to_tensor(x).dtype)


@library_function
def exp10(x: Value) -> tensor:
    """10 to the power x."""
    return _pow(10.0, x)


@library_function
def fast_exp10f(x: Value) -> tensor:
    """10 to the power x."""
    return _pow(10.0, x)


@library_function
def rcbrt(x: Value) -> tensor:
    """1 / the cube root of x."""
    return div_rn(1.0, cbrt(x))


@library_function
def fmod(x: Value, y: Value) -> tensor:
    """The remainder of x / y with the sign of x."""
    return x % y


@library_function
def remainder(x: Value, y: Value) -> tensor:
    """x - n y for the integer n nearest to x / y, even of two: exact."""
    kind: constexpr = to_tensor(x + y).dtype
    x, y = floating(cast(x, kind)), floating(cast(y, kind))
    a, b = abs(x), abs(y)
    # From [0, 2 b) to [-b / 2, b / 2], by halves where twice b would be infinite.
    rest = where(b + b < INFINITY, a % (b + b), a)
    is_small = b < 1.0
    half_a = where(is_small, rest + rest, rest)
    half_b = where(is_small, b, 0.5 * b)
    rest = where(half_a > half_b, rest - b, rest)
    again = where(is_small, rest + rest, rest)
    rest = where((half_a > half_b) & (again >= half_b), rest - b, rest)
    rest = where(b == INFINITY, a, rest)
    sign = where(is_negative(x), -1.0, 1.0)
    rest = where(rest == 0.0, abs(rest), rest) * sign
    is_wrong = (a == INFINITY) | (b == 0.0) | (y != y)
    return where(is_wrong, NAN, rest).to(kind)


@library_function
def fdim(x: Value, y: Value) -> tensor:
    """x - y where that is positive, else 0."""
    return where(x <= y, 0.0, x - y)


@library_function
def saturatef(x: Value) -> tensor:
    """x limited to [0, 1]; NaN gives 0."""
    return where(x > 0.0, minimum(x, 1.0), 0.0)


@library_function
def nextafter(x: Value, y: Value) -> tensor:
    """The float next to x on the way to y; y where they are equal. float32 and float64."""
    x, y = exact_type(x, y)
    moved = where(y > x, above(x), below(x))
    return where(x == y, y, where((x != x) | (y != y), NAN, moved))


@library_function
def ldexp(x: Value, n: Value) -> tensor:
    """x * 2^n, rounded once."""
    x = to_tensor(x)
    return scaled(floating(x), to_tensor(n).to(int32)).to(x.dtype)


scalbn = ldexp


@library_function
def ilogb(x: Value) -> tensor:
    """The exponent of x as int32: of 0 and NaN -2^31, of infinity 2^31 - 1."""
    x = floating(x)
    exponent = where(abs(x) < INFINITY, exponent_of(x), 0x7FFFFFFF)
    return where((x == 0.0) | (x != x), -0x80000000, exponent).to(int32)


@library_function
def logb(x: Value) -> tensor:
    """The exponent of x as a float: of 0 -infinity, of infinity infinity."""
    kind: constexpr = to_tensor(x).dtype
    x = floating(x)
    size = where(abs(x) < INFINITY, exponent_of(x).to(x.dtype), abs(x))
    return where(x == 0.0, -INFINITY, size).to(kind)


# Distances.


@library_function
def _scale_of(largest: Value) -> tensor:
    """2^-e for e about the exponent of a number >= 0, so that the square of neither overflows."""
    if largest.dtype == float64:
        limit: constexpr = 1000
    else:
        limit: constexpr = 120
    is_plain = (largest > 0.0) & (largest < INFINITY)
    exponent = where(is_plain, exponent_of(largest), 0)
    return power_of_two(minimum(maximum(-exponent, -limit), limit), largest.dtype)


@library_function
def _scaled_norm(a: Value, b: Value, c: Value, d: Value) -> tuple[tensor, tensor]:
    """sqrt(a^2 + b^2 + c^2 + d^2) times a power of two, and that power; floats of one type."""
    a, b, c, d = abs(a), abs(b), abs(c), abs(d)
    scale = _scale_of(maximum(maximum(a, b), maximum(c, d)))
    a, b, c, d = a * scale, b * scale, c * scale, d * scale
    if a.dtype == float32:
        wide = a.to(float64)
        sum = wide * wide
        for part in (b, c, d):
            sum += part.to(float64) * part.to(float64)
        norm = sqrt(sum).to(float32)
    else:
        high = fma(a, a, -0.0)
        low = fma(a, a, -high)
        for part in (b, c, d):
            square = fma(part, part, -0.0)
            high, lost = two_sum(high, square)
            low += lost + fma(part, part, -square)
        norm = sqrt(high + where(high < INFINITY, low, 0.0))
    is_infinite = (a == INFINITY) | (b == INFINITY) | (c == INFINITY) | (d == INFINITY)
    return where(is_infinite, INFINITY, norm), scale


@library_function
def _norm(a: Value, b: Value, c: Value, d: Value) -> tensor:
    kind: constexpr = to_tensor(a + b + c + d).dtype
    a, b = floating(cast(a, kind)), floating(cast(b, kind))
    c, d = floating(cast(c, kind)), floating(cast(d, kind))
    norm, scale = _scaled_norm(a, b, c, d)
    return where(norm < INFINITY, div_rn(norm, scale), norm).to(kind)


@library_function
def _inverse_norm(a: Value, b: Value, c: Value, d: Value) -> tensor:
    kind: constexpr = to_tensor(a + b + c + d).dtype
    a, b = floating(cast(a, kind)), floating(cast(b, kind))
    c, d = floating(cast(c, kind)), floating(cast(d, kind))
    norm, scale = _scaled_norm(a, b, c, d)
    return (div_rn(1.0, norm) * scale).to(kind)


@library_function
def hypot(x: Value, y: Value) -> tensor:
    """sqrt(x^2 + y^2) without overflow; infinite where one of them is."""
    return _norm(x, y, 0.0, 0.0)


@library_function
def rhypot(x: Value, y: Value) -> tensor:
    """1 / sqrt(x^2 + y^2)."""
    return _inverse_norm(x, y, 0.0, 0.0)


@library_function
def norm3d(x: Value, y: Value, z: Value) -> tensor:
    """sqrt(x^2 + y^2 + z^2)."""
    return _norm(x, y, z, 0.0)


@library_function
def rnorm3d(x: Value, y: Value, z: Value) -> tensor:
    """1 / sqrt(x^2 + y^2 + z^2)."""
    return _inverse_norm(x, y, z, 0.0)


@library_function
def norm4d(x: Value, y: Value, z: Value, w: Value) -> tensor:
    """sqrt(x^2 + y^2 + z^2 + w^2)."""
    return _norm(x, y, z, w)


@library_function
def rnorm4d(x: Value, y: Value, z: Value, w: Value) -> tensor:
    """1 / sqrt(x^2 + y^2 + z^2 + w^2)."""
    return _inverse_norm(x, y, z, w)


# Angles.


@library_function
def sinpi(x: Value) -> tensor:
    """sin(pi x)."""
    x = to_tensor(x)
    sine, _ = sine_cosine_pi(floating(x))
    return where(sine == 0.0, copysign(sine, floating(x)), sine).to(x.dtype)


@library_function
def cospi(x: Value) -> tensor:
    """cos(pi x)."""
    x = to_tensor(x)
    _, cosine = sine_cosine_pi(floating(x))
    return where(cosine == 0.0, 0.0, cosine).to(x.dtype)


@library_function
def sincos(x: Value) -> tuple[tensor, tensor]:
    """sin(x) and cos(x)."""
    return sin(x), cos(x)


@library_function
def sincospi(x: Value) -> tuple[tensor, tensor]:
    """sin(pi x) and cos(pi x)."""
    return sinpi(x), cospi(x)


# Special functions.


@library_function
def erfinv(x: Value) -> tensor:
    """The number whose error function is x."""
    return in_double(erfinv_double, x, True)


@library_function
def erfcinv(x: Value) -> tensor:
    """The number whose complementary error function is x."""
    return in_double(erfcinv_double, x)


@library_function
def erfcx(x: Value) -> tensor:
    """exp(x^2) erfc(x)."""
    return in_double(erfcx_double, x)


@library_function
def normcdf(x: Value) -> tensor:
    """The probability that a standard normal variable is below x."""
    return in_double(normcdf_double, x)


@library_function
def normcdfinv(x: Value) -> tensor:
    """The number that a standard normal variable is below with probability x."""
    return in_double(normcdfinv_double, x)


@library_function
def lgamma(x: Value) -> tensor:
    """log(|gamma(x)|)."""
    return in_double(lgamma_double, x, True)


@library_function
def tgamma(x: Value) -> tensor:
    """The gamma function; NaN for negative integers."""
    return in_double(tgamma_double, x)


@library_function
def j0(x: Value) -> tensor:
    """The Bessel function of the first kind of order 0."""
    return in_double(j0_double, x, True)


@library_function
def j1(x: Value) -> tensor:
    """The Bessel function of the first kind of order 1."""
    return in_double(j1_double, x, True)


@library_function
def y0(x: Value) -> tensor:
    """The Bessel function of the second kind of order 0; NaN for negative x."""
    return in_double(y0_double, x)


@library_function
def y1(x: Value) -> tensor:
    """The Bessel function of the second kind of order 1; NaN for negative x."""
    return in_double(y1_double, x)


@library_function
def cyl_bessel_i0(x: Value) -> tensor:
    """The modified Bessel function of the first kind of order 0."""
    return in_double(i0_double, x)


@library_function
def cyl_bessel_i1(x: Value) -> tensor:
    """The modified Bessel function of the first kind of order 1."""
    return in_double(i1_double, x)


@library_function
def jn(n: Value, x: Value) -> tensor:
    """The Bessel function of the first kind of int32 order n; takes as many steps as the largest n."""
    x = to_tensor(x)
    return jn_double(n, floating(x).to(float64)).to(x.dtype)


@library_function
def yn(n: Value, x: Value) -> tensor:
    """The Bessel function of the second kind of int32 order n; takes as many steps as the largest n."""
    x = to_tensor(x)
    return yn_double(n, floating(x).to(float64)).to(x.dtype)


# Integers.


@library_function
def clz(x: Value) -> tensor:
    """The number of leading 0 bits, as int32."""
    return _clz(x).to(int32)


@library_function
def popc(x: Value) -> tensor:
    """The number of bits that are 1, as int32."""
    return _popc(x).to(int32)


@library_function
def ffs(x: Value) -> tensor:
    """The position of the lowest bit that is 1, counted from 1; 0 where x is 0. int32."""
    return where(x == 0, 0, _popc((x & -x) - 1) + 1).to(int32)


@library_function
def _swapped(x: Value, shift: constexpr, mask: constexpr) -> tensor:
    return ((x >> shift) & mask) | ((x & mask) << shift)


@library_function
def brev(x: Value) -> tensor:
    """The bits in reverse order, of 32 or 64-bit integers."""
    kind: constexpr = to_tensor(x).dtype
    static_assert(kind.is_int() and kind.primitive_bitwidth >= 32, "brev takes int32 and int64")
    x = to_tensor(x).to(uint64 if kind.primitive_bitwidth == 64 else uint32)
    x = _swapped(x, 1, 0x5555555555555555 if kind.primitive_bitwidth == 64 else 0x55555555)
    x = _swapped(x, 2, 0x3333333333333333 if kind.primitive_bitwidth == 64 else 0x33333333)
    x = _swapped(x, 4, 0x0F0F0F0F0F0F0F0F if kind.primitive_bitwidth == 64 else 0x0F0F0F0F)
    x = _swapped(x, 8, 0x00FF00FF00FF00FF if kind.primitive_bitwidth == 64 else 0x00FF00FF)
    if kind.primitive_bitwidth == 64:
        x = _swapped(x, 16, 0x0000FFFF0000FFFF)
        return ((x >> 32) | (x << 32)).to(kind)
    return ((x >> 16) | (x << 16)).to(kind)


@library_function
def byte_perm(x: Value, y: Value, selector: Value) -> tensor:
    """Four bytes of the eight in y:x, each chosen by 3 bits of a nibble of `selector`."""
    low = to_tensor(x).to(int64) & 0xFFFFFFFF
    bytes = low.to(uint64) | (to_tensor(y).to(int64) << 32).to(uint64)
    selector = to_tensor(selector).to(uint64)
    result = (bytes >> ((selector & 7) * 8)) & 0xFF
    result |= ((bytes >> (((selector >> 4) & 7) * 8)) & 0xFF) << 8
    result |= ((bytes >> (((selector >> 8) & 7) * 8)) & 0xFF) << 16
    result |= ((bytes >> (((selector >> 12) & 7) * 8)) & 0xFF) << 24
    return result.to(uint32).to(to_tensor(x).dtype)


@library_function
def mulhi(x: Value, y: Value) -> tensor:
    """The upper half of the product of 32 or 64-bit integers, signed where they are."""
    kind: constexpr = to_tensor(x + y).dtype
    static_assert(kind.is_int() and kind.primitive_bitwidth >= 32, "mulhi takes int32 and int64")
    x, y = cast(x, kind), cast(y, kind)
    high = umulhi(x, y)
    if kind.is_int_signed():
        high = high - where(x < 0, y, 0) - where(y < 0, x, 0)
    return high


@library_function
def mul24(x: Value, y: Value) -> tensor:
    """The lower 32 bits of the product of the lower 24 bits, signed where the numbers are."""
    kind: constexpr = to_tensor(x + y).dtype
    static_assert(kind.is_int() and kind.primitive_bitwidth == 32, "mul24 takes int32 and uint32")
    return ((cast(x, kind) << 8) >> 8) * ((cast(y, kind) << 8) >> 8)


@library_function
def sad(x: Value, y: Value, z: Value) -> tensor:
    """|x - y| + z, modulo 2^32."""
    kind: constexpr = to_tensor(x + y).dtype
    static_assert(kind.is_int() and kind.primitive_bitwidth == 32, "sad takes int32 and uint32")
    return maximum(x, y) - minimum(x, y) + to_tensor(z).to(kind)


@library_function
def hadd(x: Value, y: Value) -> tensor:
    """(x + y) / 2 rounded down, without overflow."""
    return (x & y) + ((x ^ y) >> 1)


@library_function
def rhadd(x: Value, y: Value) -> tensor:
    """(x + y + 1) / 2 rounded down, without overflow."""
    return (x | y) - ((x ^ y) >> 1)


mul64hi, umul64hi = mulhi, mulhi
umul24, usad, uhadd, urhadd = mul24, sad, hadd, rhadd

__all__ = [
    "add_rn", "brev", "byte_perm", "clz", "cospi", "cyl_bessel_i0", "cyl_bessel_i1", "div_rn",
    "erfcinv", "erfcx", "erfinv", "exp10", "fabs", "fast_cosf", "fast_dividef", "fast_exp10f",
    "fast_expf", "fast_log10f", "fast_log2f", "fast_logf", "fast_powf", "fast_sinf", "fast_tanf",
    "fast_tanhf", "fdim", "ffs", "finitef", "fma_rn", "fmax", "fmin", "fmod", "hadd", "hypot",
    "ilogb", "isfinited", "isinf", "isnan", "j0", "j1", "jn", "ldexp", "lgamma", "logb", "mul24",
    "mul64hi", "mul_rn", "mulhi", "nearbyint", "nextafter", "norm3d", "norm4d", "normcdf",
    "normcdfinv", "popc", "pow", "rcbrt", "remainder", "rhadd", "rhypot", "rnorm3d", "rnorm4d",
    "sad", "saturatef", "scalbn", "signbit", "sincos", "sincospi", "sinpi", "sub_rn", "tgamma",
    "uhadd", "umul24", "umul64hi", "umulhi", "urhadd", "usad", "y0", "y1", "yn",
]  # fmt: skip
__all__ += conversions.__all__
__all__ += directed.__all__
__all__ += [name for name in elementwise.__all__ if name not in __all__]
