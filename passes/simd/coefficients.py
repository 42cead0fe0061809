"""Derives the polynomial tables of ExpandMath*.cpp and prints them as C++ arrays.

Each table minimizes the largest weighted error over its interval by Lawson's algorithm (iteratively
reweighted least squares at Chebyshev points; functions and weights from mpmath). Coefficients are rounded
to float32 one at a time, lowest power first, and the others are fitted again, so that the rounding of an
important coefficient is made good by the later ones.

    python passes/simd/coefficients.py
"""

import numpy
from mpmath import cos, erfc, exp, expm1, fabs, log, log1p, mp, mpf, pi, sin, sqrt

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


if __name__ == "__main__":
    main()
