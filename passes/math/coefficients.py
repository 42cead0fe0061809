"""Derives the polynomial tables of ExpandMath*.cpp and ExpandSimt*.cpp and prints them as C++ arrays.

Each table minimizes the largest weighted error over its interval by Lawson's algorithm (iteratively
reweighted least squares at Chebyshev points; functions and weights from mpmath). Coefficients are rounded
to float32 one at a time, lowest power first, and the others are fitted again, so that the rounding of an
important coefficient is made good by the later ones. Tables of float64 interpolate at Chebyshev points,
which is within a small factor of the least error; a term more than needed makes that good.

    python passes/math/coefficients.py
"""

import numpy
from mpmath import asin, atan, cos, erf, erfc, exp, expm1, fabs, log, log1p, lu_solve, matrix, mp, mpf, pi
from mpmath import polyval, sin, sinh, sqrt, tanh

mp.dps = 60


def minimax(target, weight, powers, points):
    """Coefficients of sum(c * x**p) with nearly the least largest weighted error over the points."""
    scale = float(max(abs(points)))
    basis = numpy.stack([(points / scale) ** p for p in powers], axis=1) * weight[:, None]
    goal = target * weight
    importance = numpy.ones(len(points))
    best, best_error = None, numpy.inf
    for _ in range(300):
        root = numpy.sqrt(importance / importance.sum())
        free = numpy.linalg.lstsq(basis * root[:, None], goal * root, rcond=None)[0]
        errors = abs(basis @ free - goal)
        if errors.max() < best_error:
            best, best_error = free, errors.max()
        importance = importance * (errors / errors.max() + 1e-3)
    return best / scale ** numpy.array(list(powers))


def fit(name, target, weight, count, low, high, rounded=4):
    """Prints the table; the first `rounded` coefficients are rounded in sequence, the rest at once."""
    powers = range(count)
    middle, half = (mpf(low) + mpf(high)) / 2, (mpf(high) - mpf(low)) / 2
    samples = [middle - half * cos(pi * (2 * i + 1) / 1200) for i in range(600)]
    points = numpy.array([float(x) for x in samples])
    weights = numpy.array([float(weight(x)) for x in samples])
    goal = numpy.array([float(target(x)) for x in samples])
    values = []
    for step in range(len(powers)):
        known = sum((c * points**p for c, p in zip(values, powers)), numpy.zeros_like(points))
        free = minimax(goal - known, weights, powers[step:], points)
        if step == rounded:
            values += [float(numpy.float32(c)) for c in free]
            break
        values.append(float(numpy.float32(free[0])))
    worst = max(abs(weights * (sum(c * points**p for c, p in zip(values, powers)) - goal)))
    text = ", ".join(c.hex().replace("0000000p", "p") + "f" for c in values)
    print(f"// {name}: largest weighted error 2^{numpy.log2(worst):.1f}")
    print(f"static constexpr float {name}[] = {{{text}}};")


def fit_double(name, target, count, low, high):
    """Prints a table of float64: the polynomial through `target` at Chebyshev points."""
    low, high = mpf(low), mpf(high)
    middle, half = (low + high) / 2, (high - low) / 2
    points = [middle - half * cos(pi * (2 * i + 1) / (2 * count)) for i in range(count)]
    values = [target(x) for x in points]
    rows = matrix(count, count)
    for i, x in enumerate(points):
        for power in range(count):
            rows[i, power] = x**power
    coefficients = [float(c) for c in lu_solve(rows, matrix(values))]
    samples = [low + (high - low) * i / 400 for i in range(401)]
    worst = max(fabs(polyval([mpf(c) for c in coefficients[::-1]], x) / target(x) - 1) for x in samples)
    print(f"// {name}: largest relative error 2^{float(log(worst, 2)):.1f}")
    print(f"static constexpr double {name}[] = {{{', '.join(c.hex() for c in coefficients)}}};")


def near_zero(function, series):
    """`function`, or its limit at 0."""
    return lambda x: function(x) if fabs(x) > mpf(10) ** -25 else mpf(series)


half_ln2 = log(mpf(2)) / 2 * mpf("1.0005")


def erf_exponent():
    """p(x) with erf(x) = 1 - 2**(-x p(x)); the weight is the relative error of erf per absolute error of p."""
    ratio = near_zero(lambda x: -log(erfc(x)) / log(mpf(2)) / x, 2 / sqrt(pi) / log(mpf(2)))

    def weight(x):
        if fabs(x) < mpf(10) ** -20:
            return 1 / ratio(mpf(0))
        z = -log(erfc(x))
        return z * exp(-z) / (1 - exp(-z)) / ratio(x)

    return ratio, weight


def odd_tail(function, series):
    """p with function(x) = x + x**3 p(x**2), of the square."""

    def tail(s):
        x = sqrt(s)
        return (function(x) / x - 1) / s

    return near_zero(tail, series)


def scaled_erfc(t):
    """exp(x^2) erfc(x) (1 + 2x) of t = (x - 4) / (x + 4): smooth on all of [0, infinity)."""
    x = 4 * (1 + t) / (1 - t)
    return exp(x * x) * erfc(x) * (1 + 2 * x)


def print_lane_tables() -> None:
    """The tables of functions that only machines of one element at a time compute by formula."""
    def fit_odd(name, function, series, count, largest):
        tail = odd_tail(function, series)
        weight = near_zero(lambda s: s * sqrt(s) / function(sqrt(s)), 0)
        fit(name, tail, weight, count, 0, mpf(largest) ** 2)

    fit_odd("kTanhSmall", tanh, mpf(-1) / 3, 5, "0.6")
    fit_odd("kSinhSmall", sinh, mpf(1) / 6, 4, 1)
    fit_odd("kAtan", atan, mpf(-1) / 3, 5, "0.4143")
    fit_double("kAtanOf64", odd_tail(atan, mpf(-1) / 3), 14, 0, mpf("0.4143") ** 2)
    fit_odd("kAsin", asin, mpf(1) / 6, 6, "0.5")
    fit_double("kAsinOf64", odd_tail(asin, mpf(1) / 6), 14, 0, mpf("0.25"))
    log_tail = near_zero(lambda s: (log((1 + sqrt(s)) / (1 - sqrt(s))) / sqrt(s) - 2) / s, mpf(2) / 3)
    fit("kLogRatio", log_tail, lambda s: s / 2, 4, 0, mpf("0.0296"))
    fit_double("kLogRatioOf64", log_tail, 10, 0, mpf("0.0296"))
    fit("kErfc", scaled_erfc, lambda t: 1 / scaled_erfc(t), 11, -1, mpf("0.44"), rounded=1)
    fit_double("kErfcOf64", scaled_erfc, 25, -1, mpf("0.75"))
    erf_ratio = near_zero(lambda s: erf(sqrt(s)) / sqrt(s), 2 / sqrt(pi))
    fit_double("kErfSmallOf64", erf_ratio, 14, 0, 1)


def print_double_tables(half_ln2, low, high, quarter) -> None:
    """The tables of float64; kExpOf64 is 1, 1 and then kExpm1Of64, kExp2Of64 is 1 and then the one printed."""
    ln2 = log(mpf(2))
    expm1_tail = near_zero(lambda x: (expm1(x) - x) / x**2, 0.5)
    fit_double("kExpm1Of64", expm1_tail, 12, -half_ln2, half_ln2)
    fit_double("kExp2Of64", near_zero(lambda x: (2**x - 1) / x, ln2), 14, mpf("-0.5003"), mpf("0.5003"))
    fit_double("kTanhOf64", lambda x: 4 * expm1_tail(2 * x), 12, -half_ln2 / 2, half_ln2 / 2)
    fit_double("kLogOf64", near_zero(lambda x: (log1p(x) - x) / x**2, -0.5), 22, low, high)
    fit_double("kLog2Of64", near_zero(lambda x: log1p(x) / x / ln2, 1 / ln2), 24, low, high)
    fit_double("kSinOf64", near_zero(lambda s: (sin(sqrt(s)) / sqrt(s) - 1) / s, mpf(-1) / 6), 8, 0, quarter)
    fit_double("kCosOf64", near_zero(lambda s: (cos(sqrt(s)) - 1) / s, mpf(-1) / 2), 8, 0, quarter)


def main() -> None:
    ln2 = log(mpf(2))
    fit("kExp", near_zero(lambda x: (exp(x) - 1 - x) / x**2, 0.5), lambda x: x**2 / exp(x), 5, -half_ln2, half_ln2)
    fit("kExp2", near_zero(lambda x: (2**x - 1) / x, ln2), lambda x: x / 2**x, 6, -0.5003, 0.5003)
    expm1_tail = near_zero(lambda x: (expm1(x) - x) / x**2, 0.5)
    expm1_weight = near_zero(lambda x: x**2 / expm1(x), 0)
    fit("kExpm1", expm1_tail, expm1_weight, 6, -half_ln2, half_ln2)
    fit("kTanh", lambda x: 4 * expm1_tail(2 * x), lambda x: expm1_weight(2 * x) / 4, 6, -half_ln2 / 2, half_ln2 / 2)
    fit("kErf", *erf_exponent(), 9, 0, 3.93, rounded=1)
    exp2m1_ratio = near_zero(lambda x: (2**x - 1) / x, ln2)
    fit("kExp2m1", exp2m1_ratio, lambda x: 1 / exp2m1_ratio(x), 7, -0.5003, 0.5003)
    low, high = sqrt(mpf(1) / 2) * mpf("0.9999") - 1, sqrt(mpf(2)) * mpf("1.0001") - 1
    log_tail = near_zero(lambda x: (log1p(x) - x) / x**2, -0.5)
    fit("kLog", log_tail, near_zero(lambda x: x**2 / log1p(x), 0), 9, low, high)
    log2_ratio = near_zero(lambda x: log1p(x) / x / ln2, 1 / ln2)
    fit("kLog2", log2_ratio, lambda x: 1 / log2_ratio(x), 10, low, high)
    quarter = (pi / 4 * mpf("1.02")) ** 2
    sin_tail = near_zero(lambda s: (sin(sqrt(s)) / sqrt(s) - 1) / s, mpf(-1) / 6)
    fit("kSin", sin_tail, near_zero(lambda s: s * sqrt(s) / sin(sqrt(s)), 0), 4, 0, quarter)
    cos_tail = near_zero(lambda s: (cos(sqrt(s)) - 1) / s, mpf(-1) / 2)
    fit("kCos", cos_tail, lambda s: s / cos(sqrt(s)), 4, 0, quarter)
    print_double_tables(half_ln2, low, high, quarter)
    print_lane_tables()


if __name__ == "__main__":
    main()
