"""Names of `tw.libdevice`: powers, remainders, parts and distances of floats."""

# Kernel code follows the type rules of the language, not those of Python:
# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportIndexIssue=false, reportOptionalMemberAccess=false
# pyright: reportAttributeAccessIssue=false, reportGeneralTypeIssues=false, reportReturnType=false
from __future__ import annotations

from ..language.dtypes import float32, float64, int32, tensor
from ..language.elementwise import abs, cbrt, fma, sqrt
from ..language.elementwise import pow as _pow
from ..language.marks import library_function
from ..library.math import INFINITY
from ..language.static import constexpr
from ..language.tile import Value, cast, div_rn, maximum, minimum, static_assert, to_tensor, where
from .rounding import (
    above,
    below,
    exact_type,
    exponent_of,
    is_negative,
    power_of_two,
    scaled,
    two_sum,
)
from .special import NAN, floating


@library_function
def signbit(x: Value) -> tensor:
    """1 where the sign bit is set, of -0 and NaN too, else 0; int32."""
    return is_negative(floating(x)).to(int32)


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

__all__ = [
    "exp10", "fast_exp10f", "fdim", "fmod", "hypot", "ilogb", "ldexp", "logb", "nextafter",
    "norm3d", "norm4d", "pow", "rcbrt", "remainder", "rhypot", "rnorm3d", "rnorm4d", "saturatef",
    "scalbn", "signbit",
]  # fmt: skip
