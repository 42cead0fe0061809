"""Special functions in float64: error functions, gamma functions, Bessel functions.

The series of `special_tables.py` are in variables that make the functions smooth; beside each one
stands where the substitution comes from. float32 is computed in float64 and rounded once; the
functions with `brief` then do with series that end earlier, with an error of 2^-40 or so.
"""

# Kernel code follows the type rules of the language, not those of Python:
# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportIndexIssue=false, reportOptionalMemberAccess=false
# pyright: reportAttributeAccessIssue=false, reportGeneralTypeIssues=false, reportReturnType=false
from __future__ import annotations

from ..language.dtypes import float32, float64, int32, tensor, uint64
from ..language.elementwise import abs, copysign, cos, erfc, exp, fma, log, pow, rint, sin, sqrt
from ..library.tiles import max as largest_of
from ..language.marks import library_function
from .rounding import INFINITY
from .special_tables import (
    BESSEL_I0_FAR,
    BESSEL_I0_NEAR,
    BESSEL_I1_FAR,
    BESSEL_I1_NEAR,
    BESSEL_J0,
    BESSEL_J0_BRIEF,
    BESSEL_J1,
    BESSEL_J1_BRIEF,
    BESSEL_Y0,
    BESSEL_Y1,
    ERFCX,
    ERFINV_CENTER,
    ERFINV_CENTER_BRIEF,
    ERFINV_FAR,
    ERFINV_MIDDLE,
    ERFINV_NEAR,
    ERFINV_NEAR_BRIEF,
    HANKEL_P0,
    HANKEL_P0_BRIEF,
    HANKEL_P1,
    HANKEL_P1_BRIEF,
    HANKEL_Q0,
    HANKEL_Q0_BRIEF,
    HANKEL_Q1,
    HANKEL_Q1_BRIEF,
    LGAMMA_1,
    LGAMMA_1_BRIEF,
    LGAMMA_2,
    LGAMMA_2_BRIEF,
    LOG_BRIEF,
    TGAMMA,
)
from ..language.static import constexpr
from ..language.tile import Value, maximum, minimum, static_assert, static_range, to_tensor, where

NAN = constexpr(float("nan"))
_PI = constexpr(3.141592653589793)


@library_function
def floating(x: Value) -> tensor:
    """x as float32 or float64: smaller floats are widened, integers refused."""
    x = to_tensor(x)
    static_assert(x.dtype.is_floating(), "this function takes floats: cast with .to(tw.float32)")
    return x if x.dtype == float64 else x.to(float32)


@library_function
def in_double(function: Value, x: Value, has_brief: constexpr = False) -> tensor:
    """A function of float64 for floats of every type; the result has the type of x."""
    x = to_tensor(x)
    if has_brief and x.dtype != float64:
        return function(floating(x).to(float64), True).to(x.dtype)
    return function(floating(x).to(float64)).to(x.dtype)


@library_function
def _series(t: Value, coefficients: constexpr) -> tensor:
    """A polynomial at t in [-1, 1] by Horner's rule; lowest coefficient first."""
    count: constexpr = len(coefficients)
    sum = t * 0.0 + coefficients[count - 1]
    for i in static_range(2, count + 1):
        sum = fma(t, sum, coefficients[count - i])
    return sum


@library_function
def _brief_series(t: Value, coefficients: constexpr) -> tensor:
    """The same as two chains, of the even and of the odd powers (Estrin's scheme): in one chain each
    step waits for the one before, which is most of the time of a long series."""
    count: constexpr = len(coefficients)
    square = t * t
    last = square * 0.0 + coefficients[count - 1]
    before = square * 0.0 + coefficients[count - 2]
    for i in static_range(3, count + 1):
        if i % 2 == 1:
            last = fma(square, last, coefficients[count - i])
        else:
            before = fma(square, before, coefficients[count - i])
    if count % 2 == 1:
        return fma(t, before, last)
    return fma(t, last, before)


@library_function
def sine_cosine_pi(x: Value) -> tuple[tensor, tensor]:
    """sin(pi x) and cos(pi x) in the type of x, float32 or float64."""
    # Beyond 2^53 every number is even, and so is twice it.
    x = where(abs(x) < 9007199254740992.0, x, x - x)
    quarters = rint(x + x)
    part = fma(quarters, -0.5, x)
    if x.dtype == float64:
        angle = fma(part, _PI, part * 1.2246467991473532e-16)
    else:
        angle = fma(part, 3.1415927410125732, part * -8.742278000372485e-08)
    odd = quarters - 2.0 * rint(0.5 * quarters - 0.25)  # 0 or 1
    half = 0.5 * (quarters - odd)
    sign = where(half - 2.0 * rint(0.5 * half) == 0.0, 1.0, -1.0)
    s, c = sin(angle), cos(angle)
    is_odd = odd == 1.0
    return where(is_odd, c, s) * sign, where(is_odd, -s, c) * sign


# Error functions.


@library_function
def _exp_of_square(x: Value, sign: constexpr) -> tensor:
    """exp(sign * x^2) without the error of the square."""
    square = fma(x, x, -0.0)
    rest = where(square < 1e6, fma(x, x, -square), 0.0)
    power = exp(square) if sign > 0 else exp(-square)
    return where(power < INFINITY, fma(power, rest * sign, power), power)


@library_function
def erfcx_double(x: Value) -> tensor:
    """exp(x^2) erfc(x); the substitution is Shepherd and Laframboise's (Math. Comp. 36, 1981)."""
    a = abs(x)
    y = _series(1.0 - 7.5 / (a + 3.75), ERFCX) * 0.5 / (0.5 + a)
    return where(x < 0.0, 2.0 * _exp_of_square(x, 1) - y, y)


@library_function
def _erfinv_factor(w: Value, brief: constexpr = False) -> tensor:
    """erfinv(x) / x where w = -log(1 - x^2), the variable of Giles (GPU Computing Gems, 2011)."""
    s = sqrt(w)
    if brief:
        center = _brief_series(w * 0.32 - 1.0, ERFINV_CENTER_BRIEF)
        return where(w < 6.25, center, _brief_series((s - 3.3) * 1.25, ERFINV_NEAR_BRIEF))
    center = _series(w * 0.32 - 1.0, ERFINV_CENTER)
    near = _series((s - 3.25) / 0.75, ERFINV_NEAR)
    middle = _series((s - 6.0) * 0.5, ERFINV_MIDDLE)
    far = _series((s - 18.0) * 0.1, ERFINV_FAR)
    return where(w < 6.25, center, where(s < 4.0, near, where(s < 8.0, middle, far)))


@library_function
def _brief_log(x: Value) -> tensor:
    """log(x) of a normal number below 2^52 with an absolute error of 2^-40 or so; NaN up to zero.

    By arithmetic that every machine has for vectors: before a call of a library's, which is exact to
    the last bit, code saves its registers."""
    # x = 2^k m with m between the square roots of 1/2 and 2. Beside k, biased by 1023, there are zeros.
    bits = x.to(uint64, bitcast=True) + 0x95F619980C433
    m = ((bits & 0xFFFFFFFFFFFFF) + 0x3FE6A09E667F3BCD).to(float64, bitcast=True)
    # In the low bits of 2^52 an integer is that number of ones.
    k = ((bits >> 52) | 0x4330000000000000).to(float64, bitcast=True) - 4503599627371519.0
    part = _brief_series(fma(m, 2.82842712474619, -3.0), LOG_BRIEF)
    return where(x > 0.0, fma(k, 0.6931471805599453, (m - 1.0) * part), NAN)


@library_function
def erfinv_double(x: Value, brief: constexpr = False) -> tensor:
    """The number whose error function is x."""
    rest = (1.0 - x) * (1.0 + x)
    y = x * _erfinv_factor(-_brief_log(rest) if brief else -log(rest), brief)
    return where(abs(x) == 1.0, x * INFINITY, y)


@library_function
def erfcinv_double(x: Value) -> tensor:
    """The number whose complementary error function is x."""
    y = (1.0 - x) * _erfinv_factor(-log(x * (2.0 - x)))
    return where(x == 0.0, INFINITY, where(x == 2.0, -INFINITY, y))


@library_function
def normcdfinv_double(x: Value) -> tensor:
    """The number below which a standard normal variable is with probability x."""
    return where(x == 0.5, 0.0, -1.4142135623730951 * erfcinv_double(x + x))


@library_function
def normcdf_double(x: Value) -> tensor:
    """The probability that a standard normal variable is below x."""
    z = fma(x, -0.7071067811865476, -0.0)
    # What z lacks of -x / sqrt(2) counts: erfc falls by its derivative.
    rest = fma(x, -0.7071067811865476, -z) + x * 4.833646656726457e-17
    rest = where(abs(z) < 40.0, rest, 0.0)
    slope = 1.1283791670955126 * _exp_of_square(z, -1)
    return 0.5 * fma(-slope, rest, erfc(z))


# Gamma functions.


@library_function
def _stirling(x: Value) -> tensor:
    """lgamma(x) - (x - 1/2) log(x) + x - log(2 pi) / 2 for x >= 10 (DLMF 5.11.1)."""
    y = 1.0 / x
    z = y * y
    sum = fma(z, 0.17964437236883057, -0.029550653594771242)
    sum = fma(z, sum, 0.00641025641025641)
    sum = fma(z, sum, -0.0019175269175269176)
    sum = fma(z, sum, 0.0008417508417508417)
    sum = fma(z, sum, -0.0005952380952380953)
    sum = fma(z, sum, 0.0007936507936507937)
    sum = fma(z, sum, -0.002777777777777778)
    return y * fma(z, sum, 0.08333333333333333)


@library_function
def _lgamma_positive(x: Value, brief: constexpr) -> tensor:
    """log(gamma(x)) for x >= 0: near its zeros 1 and 2 by series without them."""
    z = where(x < 0.5, x, x - 1.0)
    first = z * _series(z + z, LGAMMA_1_BRIEF if brief else LGAMMA_1)
    y = minimum(x, 10.0)
    product = y * 0.0 + 1.0
    for _ in static_range(8):
        is_large = y >= 2.5
        y = where(is_large, y - 1.0, y)
        product = where(is_large, product * y, product)
    logarithm = log(where((x >= 1.5) & (x < 10.0), product, x))
    first = where(x < 0.5, first - logarithm, first)
    z = y - 2.0
    second = fma(z, _series(z + z, LGAMMA_2_BRIEF if brief else LGAMMA_2), logarithm)
    large = (x - 0.5) * (logarithm - 1.0) + (0.4189385332046727 + _stirling(maximum(x, 10.0)))
    return where(x < 1.5, first, where(x < 10.0, second, large))


@library_function
def lgamma_double(x: Value, brief: constexpr = False) -> tensor:
    """log(|gamma(x)|); for negative x by reflection (DLMF 5.5.3)."""
    a = abs(x)
    y = _lgamma_positive(a, brief)
    sine, _ = sine_cosine_pi(a)
    reflected = log(_PI / abs(a * sine)) - y
    y = where((x < 0.0) & (a > 1e-18), reflected, y)
    return where(a == INFINITY, INFINITY, y)


@library_function
def _gamma_factors(x: Value) -> tuple[tensor, tensor]:
    """Two numbers whose product is gamma(x), x > 0: neither overflows below x = 190."""
    y = minimum(x, 12.0)
    product = y * 0.0 + 1.0
    for _ in static_range(10):
        is_large = y >= 2.0
        y = where(is_large, y - 1.0, y)
        product = where(is_large, product * y, product)
    is_small = x < 1.0
    t = where(is_small, y - 0.5, y - 1.5)
    small = _series(t + t, TGAMMA) * where(is_small, 1.0 / x, product)
    z = minimum(maximum(x, 10.0), 200.0)
    root = pow(z, 0.5 * z - 0.25)
    large = root * exp(-z) * 2.5066282746310007 * exp(_stirling(z))
    is_near = x < 11.0
    return where(is_near, small, large), where(is_near, 1.0, root)


@library_function
def tgamma_double(x: Value) -> tensor:
    """gamma(x): Stirling's formula from 11 on, and reflection (DLMF 5.11.3, 5.5.3)."""
    a = abs(x)
    first, second = _gamma_factors(a)
    positive = where(a > 171.7, INFINITY, first * second)
    sine, _ = sine_cosine_pi(a)
    negative = -_PI / (a * sine) / first / second
    negative = where(a > 190.0, copysign(0.0, negative), negative)
    y = where(x < 0.0, where(sine == 0.0, NAN, negative), positive)
    y = where(a < 1e-17, 1.0 / x, y)
    return where(x == -INFINITY, NAN, where(x != x, x, y))


# Bessel functions.


@library_function
def _without_zeros(
    x: Value, zero_1: constexpr, rest_1: constexpr, zero_2: constexpr, rest_2: constexpr
) -> tensor:
    """(x^2 - a^2) (x^2 - b^2) for zeros a and b, each given as a sum of two numbers."""
    first = ((x - zero_1) - rest_1) * (x + zero_1)
    return first * (((x - zero_2) - rest_2) * (x + zero_2))


@library_function
def _near_j0(x: Value, brief: constexpr = False) -> tensor:
    t = fma(x * x, 0.03125, -1.0)
    factor = _without_zeros(
        x, 2.404825557695773, -1.176691651530894e-16, 5.520078110286311, 8.088597146146722e-17
    )
    weight = fma(x, x, 40.0) * fma(x, x, 40.0)
    return factor * _series(t, BESSEL_J0_BRIEF if brief else BESSEL_J0) / (weight * weight)


@library_function
def _near_j1(x: Value, brief: constexpr = False) -> tensor:
    t = fma(x * x, 0.03125, -1.0)
    factor = _without_zeros(
        x, 3.8317059702075125, -1.5269184090088067e-16, 7.015586669815619, -9.414165653410389e-17
    )
    weight = fma(x, x, 64.0) * fma(x, x, 64.0)
    return factor * _series(t, BESSEL_J1_BRIEF if brief else BESSEL_J1) / (weight * weight) * x


@library_function
def _hankel(x: Value, p_table: constexpr, q_table: constexpr) -> tuple[tensor, tensor]:
    """P and Q of Hankel's form times sqrt(1 / (pi x)), x >= 8 (DLMF 10.17.3)."""
    u = 8.0 / x
    t = 2.0 * u * u - 1.0
    scale = 0.5641895835477563 / sqrt(x)
    return _series(t, p_table) * scale, _series(t, q_table) / x * scale


@library_function
def j0_double(x: Value, brief: constexpr = False) -> tensor:
    """The Bessel function of the first kind of order 0."""
    a = abs(x)
    if brief:
        p, q = _hankel(maximum(a, 8.0), HANKEL_P0_BRIEF, HANKEL_Q0_BRIEF)
    else:
        p, q = _hankel(maximum(a, 8.0), HANKEL_P0, HANKEL_Q0)
    s, c = sin(a), cos(a)
    far = p * (c + s) - q * (s - c)
    y = where(a <= 8.0, _near_j0(minimum(a, 8.0), brief), far)
    return where(a == INFINITY, 0.0, y)


@library_function
def j1_double(x: Value, brief: constexpr = False) -> tensor:
    """The Bessel function of the first kind of order 1."""
    a = abs(x)
    if brief:
        p, q = _hankel(maximum(a, 8.0), HANKEL_P1_BRIEF, HANKEL_Q1_BRIEF)
    else:
        p, q = _hankel(maximum(a, 8.0), HANKEL_P1, HANKEL_Q1)
    s, c = sin(a), cos(a)
    far = p * (s - c) + q * (s + c)
    y = where(a <= 8.0, _near_j1(minimum(a, 8.0), brief), far)
    return where(a == INFINITY, 0.0, where(x < 0.0, -y, y))


@library_function
def _of_second_kind(x: Value, y: Value) -> tensor:
    """y, or what functions of the second kind are at 0, below it and at infinity."""
    y = where(x == 0.0, -INFINITY, y)
    return where(x == INFINITY, 0.0, where(x < 0.0, NAN, y))


@library_function
def y0_double(x: Value) -> tensor:
    """The Bessel function of the second kind of order 0; NaN for negative x."""
    p, q = _hankel(maximum(x, 8.0), HANKEL_P0, HANKEL_Q0)
    s, c = sin(x), cos(x)
    far = p * (s - c) + q * (c + s)
    z = minimum(x, 8.0)
    near = fma(0.6366197723675814 * log(z), _near_j0(z), _series(fma(z * z, 0.03125, -1.0), BESSEL_Y0))
    return _of_second_kind(x, where(x <= 8.0, near, far))


@library_function
def y1_double(x: Value) -> tensor:
    """The Bessel function of the second kind of order 1; NaN for negative x."""
    p, q = _hankel(maximum(x, 8.0), HANKEL_P1, HANKEL_Q1)
    s, c = sin(x), cos(x)
    far = q * (s - c) - p * (s + c)
    z = minimum(x, 8.0)
    near = 0.6366197723675814 * (log(z) * _near_j1(z) - 1.0 / z)
    near = fma(z, _series(fma(z * z, 0.03125, -1.0), BESSEL_Y1), near)
    return _of_second_kind(x, where(x <= 8.0, near, far))


@library_function
def _bessel_i(
    a: Value, order: constexpr, near: constexpr, far: constexpr
) -> tuple[tensor, tensor]:
    """exp(-a) I(a) and exp(a / 2)."""
    z = minimum(a, 8.0)
    small = _series(fma(z, 0.25, -1.0), near)
    small = small / (1.0 + z) if order == 0 else small * z / ((1.0 + z) * (1.0 + z))
    z = maximum(a, 8.0)
    large = _series(16.0 / z - 1.0, far) / sqrt(z)
    return where(a <= 8.0, small, large), exp(0.5 * a)


@library_function
def i0_double(x: Value) -> tensor:
    """The modified Bessel function of the first kind of order 0."""
    a = abs(x)
    factor, root = _bessel_i(a, 0, BESSEL_I0_NEAR, BESSEL_I0_FAR)
    return where(a == INFINITY, INFINITY, root * factor * root)


@library_function
def i1_double(x: Value) -> tensor:
    """The modified Bessel function of the first kind of order 1."""
    a = abs(x)
    factor, root = _bessel_i(a, 1, BESSEL_I1_NEAR, BESSEL_I1_FAR)
    y = root * factor * root
    return copysign(where(a == INFINITY, INFINITY, y), x)


@library_function
def _scalar_largest(n: Value) -> tensor:
    """The largest element of a tile, or the scalar itself."""
    if len(n.shape) == 0:
        return n
    return largest_of(n)


@library_function
def jn_double(n: Value, x: Value) -> tensor:
    """The Bessel function of the first kind of order n; NaN for negative n.

    Forward recurrence where n <= x, and Miller's backward recurrence elsewhere (DLMF 10.74(iv)).
    """
    n = to_tensor(n).to(int32)
    a = abs(x)
    last = _scalar_largest(n)
    low, high = j0_double(a), j1_double(a)
    low = low + (n * 0).to(float64)
    high = high + low * 0.0
    zero = where(low == low, low * 0.0, 0.0)
    y = where(n == 0, low, high)
    for k in range(1, last):
        following = (2.0 * k.to(float64)) / a * high - low
        low = high
        high = following
        y = where(n == k + 1, high, y)
    # From 2m down; the sum J0 + 2 J2 + 2 J4 + ... is 1.
    start = ((last + sqrt(160.0 * last.to(float64)).to(int32)) // 2 + 24) * 2
    low = zero + 1e-300
    high, total, found = zero, zero, zero
    for i in range(0, start):
        k = start - i
        following = (2.0 * k.to(float64)) / a * low - high
        high = low
        low = following
        is_huge = abs(low) > 1e200
        scale = where(is_huge, 1e-200, zero + 1.0)
        low, high, total, found = low * scale, high * scale, total * scale, found * scale
        found = where(n == k - 1, low, found)
        total = where(((k - 1) % 2 == 0) & (k > 1), total + 2.0 * low, total)
    backward = found / (total + low)
    y = where(n.to(float64) > a, backward, y)
    # The first term of the power series, of which the fourth power is 0 here.
    least = pow(0.5 * a, n.to(float64)) / where(n >= 3, 6.0, where(n == 2, 2.0, 1.0))
    y = where(a < 1e-90, least, y)
    y = where((x < 0.0) & (n % 2 == 1), -y, y)
    return where((n < 0) | (x != x), NAN, where(a == INFINITY, 0.0, y))


@library_function
def yn_double(n: Value, x: Value) -> tensor:
    """The Bessel function of the second kind of order n by recurrence; NaN for negative n or x."""
    n = to_tensor(n).to(int32)
    low = y0_double(x) + (n * 0).to(float64)
    high = y1_double(x) + (n * 0).to(float64)
    y = where(n == 0, low, high)
    for k in range(1, _scalar_largest(n)):
        following = (2.0 * k.to(float64)) / x * high - low
        # Beyond the range every further one is infinite, too.
        following = where(high == -INFINITY, high, following)
        low = high
        high = following
        y = where(n == k + 1, high, y)
    y = where((x == 0.0) & (n >= 0), -INFINITY, y)
    return where((n < 0) | (x < 0.0), NAN, where(x == INFINITY, 0.0, y))
