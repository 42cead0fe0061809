"""Arithmetic of floats rounded down, up or toward zero, exact on every device.

The nearest result is computed with its error, and a step to the neighbour follows where the exact
result lies on the other side: two-sum (Knuth, TAOCP 4.2.2, theorem B) and residuals by fma. float32
is computed in float64, where products are exact; float64 on significands, whose products neither
overflow nor underflow. No device's rounding mode is changed.
"""

# Kernel code follows the type rules of the language, not those of Python:
# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportIndexIssue=false, reportOptionalMemberAccess=false
# pyright: reportAttributeAccessIssue=false, reportGeneralTypeIssues=false, reportReturnType=false
from __future__ import annotations

from ..language.dtypes import float32, float64, int32, int64, tensor
from ..language.elementwise import abs, ceil, floor, fma, rint, sqrt, trunc
from ..language.marks import library_function
from ..library.math import INFINITY
from ..language.static import constexpr
from ..language.tile import (
    Value,
    cast,
    maximum,
    minimum,
    static_assert,
    static_range,
    to_tensor,
    where,
)

_FLOATS = constexpr("this function takes float32 and float64: cast with .to(tw.float32)")

# Bits.


@library_function
def bits_of(x: Value) -> tensor:
    """The bits of float32 or float64 as a signed integer."""
    if x.dtype == float64:
        return x.to(int64, bitcast=True)
    return x.to(int32, bitcast=True)


@library_function
def from_bits(bits: Value, kind: constexpr) -> tensor:
    """The float of type `kind` with these bits."""
    if kind == float64:
        return bits.to(int64).to(float64, bitcast=True)
    return bits.to(int32).to(float32, bitcast=True)


@library_function
def is_negative(x: Value) -> tensor:
    """Where the sign bit is 1."""
    return bits_of(x) < 0


@library_function
def above(x: Value) -> tensor:
    """The next larger float; of infinity and NaN nothing of use."""
    bits = bits_of(x)
    moved = where(bits < 0, bits - 1, bits + 1)
    return where(x == 0.0, from_bits(bits * 0 + 1, x.dtype), from_bits(moved, x.dtype))


@library_function
def below(x: Value) -> tensor:
    """The next smaller float; of infinity and NaN nothing of use."""
    return -above(-x)


@library_function
def exponent_of(x: Value) -> tensor:
    """The exponent of a finite number that is not 0, as int32; of others nothing of use."""
    if x.dtype == float64:
        scaled = where(abs(x) < 2.2250738585072014e-308, x * 18014398509481984.0, x)
        field = ((bits_of(scaled) >> 52) & 0x7FF).to(int32)
        return field - where(abs(x) < 2.2250738585072014e-308, 1077, 1023)
    scaled = where(abs(x) < 1.1754943508222875e-38, x * 33554432.0, x)
    field = (bits_of(scaled) >> 23) & 0xFF
    return field - where(abs(x) < 1.1754943508222875e-38, 152, 127)


@library_function
def power_of_two(n: Value, kind: constexpr) -> tensor:
    """2^n in the type `kind` for n from its smallest to its largest normal exponent."""
    if kind == float64:
        return from_bits((n.to(int64) + 1023) << 52, kind)
    return from_bits((n.to(int32) + 127) << 23, kind)


@library_function
def scaled(x: Value, n: Value) -> tensor:
    """x * 2^n, rounded once, for every int32 n."""
    if x.dtype == float64:
        largest: constexpr = 1023
        lowering: constexpr = 969  # subnormal results come of the last product only
    else:
        largest: constexpr = 127
        lowering: constexpr = 102
    for _ in static_range(2):
        step = where(n > largest, largest, where(n < 1 - largest, -lowering, 0))
        x = x * power_of_two(step, x.dtype)
        n = n - step
    n = minimum(maximum(n, 1 - largest), largest)
    return x * power_of_two(n, x.dtype)


@library_function
def significand_of(x: Value) -> tuple[tensor, tensor]:
    """float64 x as m * 2^e with |m| in [1, 2); x and 0 where it is 0, infinite or NaN."""
    is_plain = (abs(x) < INFINITY) & (x != 0.0)
    exponent = where(is_plain, exponent_of(x), 0)
    half = exponent >> 1
    part = x * power_of_two(-half, float64)
    return part * power_of_two(half - exponent, float64), exponent


# Sums and products that no other operation merges with.


@library_function
def exact_type(x: Value, y: Value) -> tuple[tensor, tensor]:
    """Both operands in their common type, float32 or float64."""
    kind: constexpr = to_tensor(x + y).dtype
    static_assert(kind == float32 or kind == float64, _FLOATS)
    return cast(x, kind), cast(y, kind)


@library_function
def add_rn(x: Value, y: Value) -> tensor:
    """x + y rounded to nearest; never part of an fma."""
    x, y = exact_type(x, y)
    return fma(x, 1.0, y)


@library_function
def sub_rn(x: Value, y: Value) -> tensor:
    """x - y rounded to nearest; never part of an fma."""
    x, y = exact_type(x, y)
    return fma(y, -1.0, x)


@library_function
def mul_rn(x: Value, y: Value) -> tensor:
    """x * y rounded to nearest; never part of an fma."""
    x, y = exact_type(x, y)
    return fma(x, y, -0.0)


@library_function
def two_sum(x: Value, y: Value) -> tuple[tensor, tensor]:
    """The nearest sum of two floats of one type and its error, which is a float too."""
    total = fma(x, 1.0, y)
    second = fma(x, -1.0, total)
    first = fma(second, -1.0, total)
    return total, fma(first, -1.0, x) + fma(second, -1.0, y)


# The step to the neighbour.


@library_function
def step(nearest: Value, excess: Value, mode: constexpr) -> tensor:
    """`nearest`, or its neighbour where it is on the wrong side of the exact result.

    `excess` has the sign of nearest - exact. `mode` is "z", "d" or "u".
    """
    if mode == "d":
        return where(excess > 0.0, below(nearest), nearest)
    if mode == "u":
        return where(excess < 0.0, above(nearest), nearest)
    is_far = where(nearest > 0.0, excess > 0.0, (nearest < 0.0) & (excess < 0.0))
    return where(is_far, from_bits(bits_of(nearest) - 1, nearest.dtype), nearest)


@library_function
def narrow(high: Value, low: Value, mode: constexpr) -> tensor:
    """The float64 sum high + low, |low| within half a unit of high, rounded to float32."""
    nearest = high.to(float32)
    return step(nearest, ((nearest.to(float64) - high) - low).to(float64), mode)


@library_function
def scaled_back(high: Value, low: Value, exponent: Value, mode: constexpr) -> tensor:
    """(high + low) * 2^exponent in float64, |low| within half a unit of high in [0.5, 4)."""
    nearest = scaled(high, exponent)
    return step(nearest, (scaled(nearest, -exponent) - high) - low, mode)


@library_function
def zero_of_sum(total: Value, x: Value, y: Value, result: Value, mode: constexpr) -> tensor:
    """`result`, or the 0 that a sum of 0 has: -0 when rounding down, unless both are +0."""
    if mode == "d":
        return where((total == 0.0) & (is_negative(x) | is_negative(y)), -0.0, result)
    return result


# Operations.


@library_function
def add_directed(x: Value, y: Value, mode: constexpr) -> tensor:
    """x + y."""
    x, y = exact_type(x, y)
    if x.dtype == float32:
        high, low = two_sum(x.to(float64), y.to(float64))
        return zero_of_sum(high, x, y, narrow(high, low, mode), mode)
    high, low = two_sum(x, y)
    overflows = (abs(high) == INFINITY) & (abs(x) < INFINITY) & (abs(y) < INFINITY)
    result = step(high, where(overflows, high, -low), mode)
    return zero_of_sum(high, x, y, result, mode)


@library_function
def mul_directed(x: Value, y: Value, mode: constexpr) -> tensor:
    """x * y."""
    x, y = exact_type(x, y)
    if x.dtype == float32:
        return narrow(fma(x.to(float64), y.to(float64), -0.0), 0.0, mode)
    x, x_exponent = significand_of(x)
    y, y_exponent = significand_of(y)
    high = fma(x, y, -0.0)
    return scaled_back(high, fma(x, y, -high), x_exponent + y_exponent, mode)


@library_function
def quotient_of(x: Value, y: Value) -> tuple[tensor, tensor]:
    """The nearest quotient in float64 and about its error, exact in sign."""
    high = x / y
    return high, fma(-high, y, x) / y


@library_function
def div_directed(x: Value, y: Value, mode: constexpr) -> tensor:
    """x / y."""
    x, y = exact_type(x, y)
    if x.dtype == float32:
        high, low = quotient_of(x.to(float64), y.to(float64))
        return narrow(high, low, mode)
    x, x_exponent = significand_of(x)
    y, y_exponent = significand_of(y)
    high, low = quotient_of(x, y)
    return scaled_back(high, low, x_exponent - y_exponent, mode)


@library_function
def sqrt_directed(x: Value, mode: constexpr) -> tensor:
    """The square root."""
    x, _ = exact_type(x, x)
    if x.dtype == float32:
        wide = x.to(float64)
        high = sqrt(wide)
        return narrow(high, fma(-high, high, wide) / (high + high), mode)
    x, exponent = significand_of(x)
    half = exponent >> 1
    x = where((exponent & 1) == 1, x + x, x)
    high = sqrt(x)
    low = fma(-high, high, x) / (high + high)
    return scaled_back(high, low, half, mode)


@library_function
def fma_directed(x: Value, y: Value, z: Value, mode: constexpr) -> tensor:
    """x * y + z."""
    kind: constexpr = to_tensor(x + y + z).dtype
    static_assert(kind == float32 or kind == float64, _FLOATS)
    x, y, z = cast(x, kind), cast(y, kind), cast(z, kind)
    if kind == float32:
        product = fma(x.to(float64), y.to(float64), -0.0)
        high, low = two_sum(product, z.to(float64))
        return zero_of_sum(high, product, z, narrow(high, low, mode), mode)
    nearest = fma(x, y, z)
    product_sign = fma(x, y, -0.0)
    excess = _excess_of_fma(nearest, x, y, z)
    # Where the nearest is infinite, it is beyond every finite exact result.
    is_finite = (abs(x) < INFINITY) & (abs(y) < INFINITY) & (abs(z) < INFINITY)
    excess = where(abs(nearest) == INFINITY, nearest, excess)
    excess = where(is_finite, excess, 0.0)
    is_exact = (nearest == 0.0) & (excess == 0.0)
    result = step(nearest, excess, mode)
    return where(is_exact, zero_of_sum(nearest, product_sign, z, result, mode), result)


@library_function
def _shifted(m: Value, shift: Value) -> tensor:
    """m * 2^shift for shift <= 2, or m = 0; below 2^-400 a sign with little weight."""
    near = m * power_of_two(minimum(maximum(shift, -400), 2), float64)
    return where(shift < -400, m * 3e-121, near)


@library_function
def _excess_of_fma(nearest: Value, x: Value, y: Value, z: Value) -> tensor:
    """The sign of nearest - (x * y + z), all finite, as a number."""
    x, x_exponent = significand_of(x)
    y, y_exponent = significand_of(y)
    z, z_exponent = significand_of(z)
    r, r_exponent = significand_of(nearest)
    product_exponent = x_exponent + y_exponent
    has_product = (x != 0.0) & (y != 0.0)
    top = where(has_product, product_exponent, -4000)
    top = maximum(top, where(z != 0.0, z_exponent, -4000))
    product = fma(x, y, -0.0)
    error = fma(x, y, -product)
    shift = product_exponent - top
    product = _shifted(product, shift)
    error = where(shift < -400, 0.0, _shifted(error, shift))
    addend = _shifted(z, z_exponent - top)
    r = _shifted(r, r_exponent - top)
    total, rest = two_sum(product, addend)
    difference, lost = two_sum(r, -total)
    difference, more = two_sum(difference, -rest)
    difference, least = two_sum(difference, -error)
    small, smallest = two_sum(lost, more)
    small, tiny = two_sum(small, least)
    high, low = two_sum(difference, small)
    return where(high != 0.0, high, low + (smallest + tiny))


@library_function
def rsqrt_nearest(x: Value) -> tensor:
    """1 / sqrt(x) to the nearest: of float32 exactly, of float64 within 0.501 units."""
    x, _ = exact_type(x, x)
    if x.dtype == float64:
        guess = 1.0 / sqrt(x)
        product = fma(x, guess, -0.0)
        error = fma(x, guess, -product)
        residual = fma(-product, guess, 1.0) - error * guess
        better = fma(0.5 * guess, residual, guess)
        return where((abs(guess) < INFINITY) & (x < INFINITY), better, guess)
    wide = x.to(float64)
    root = 1.0 / sqrt(wide)
    nearest = root.to(float32)
    is_below = nearest.to(float64) < root
    other = where(is_below, above(nearest), below(nearest))
    middle = 0.5 * (nearest.to(float64) + other.to(float64))
    # middle has 25 bits and its square 50: the residual has the sign of middle - 1 / sqrt(x).
    residual = fma(wide, fma(middle, middle, -0.0), -1.0)
    is_other = where(is_below, residual < 0.0, residual > 0.0)
    return where((abs(nearest) < INFINITY) & (nearest > 0.0) & is_other, other, nearest)


# Conversions.


@library_function
def rounded(x: Value, mode: constexpr) -> tensor:
    """x rounded to an integer that is a float."""
    if mode == "n":
        return rint(x)
    if mode == "d":
        return floor(x)
    if mode == "u":
        return ceil(x)
    return trunc(x)


@library_function
def integer_parts(x: Value) -> tuple[tensor, tensor]:
    """A 64-bit integer as the nearest float64 and what is left of it."""
    static_assert(x.dtype.is_int(), "this conversion takes integers")
    high = ((x >> 11) << 11).to(float64)
    return two_sum(high, (x & 0x7FF).to(float64))


@library_function
def integer_to_float(x: Value, mode: constexpr) -> tensor:
    """An integer of at most 64 bits as float32, rounded once."""
    if x.dtype.primitive_bitwidth < 64:
        x = x.to(int64)
    high, low = integer_parts(x)
    return narrow(high, low, mode)


@library_function
def integer_to_double(x: Value, mode: constexpr) -> tensor:
    """An integer of at most 64 bits as float64, rounded once."""
    if x.dtype.primitive_bitwidth < 64:
        x = x.to(int64)
    high, low = integer_parts(x)
    return step(high, -low, mode)
