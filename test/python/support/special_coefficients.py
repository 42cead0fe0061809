"""Prints `special_tables.py`: polynomials for the special functions, by mpmath.

`python test/python/support/special_coefficients.py > python/tilewright/libdevice/special_tables.py`. Each table is a truncated Chebyshev series,
in powers of t, of a smooth function on [-1, 1]; the sources of the substitutions are in the language's `special.py`.
"""

from __future__ import annotations

from collections.abc import Callable

import mpmath as mp

mp.mp.dps = 50
_NODES = 72
_SMALLEST = mp.mpf(2) ** -57  # relative to the largest coefficient
_COLUMNS = 3  # coefficients of a line
_BRIEF = mp.mpf(2) ** -44  # of what is rounded to float32 in the end


def polynomial(
    function: Callable[[mp.mpf], mp.mpf], smallest: mp.mpf = _SMALLEST, nodes: int = _NODES
) -> list[float]:
    """Coefficients of t^k: of the Chebyshev series as long as its terms count, in float64 at first."""
    angles = [mp.pi * (j + mp.mpf(1) / 2) / nodes for j in range(nodes)]
    values = [function(mp.cos(angle)) for angle in angles]
    series = [
        mp.fsum(v * mp.cos(k * a) for v, a in zip(values, angles, strict=True)) * 2 / nodes
        for k in range(nodes)
    ]
    series[0] /= 2
    least = smallest * max(abs(c) for c in series)
    while abs(series[-1]) < least:
        series.pop()
    before, last = [mp.mpf(1)], [mp.mpf(0), mp.mpf(1)]
    sums = [series[0], *[mp.mpf(0)] * (len(series) - 1)]
    for c in series[1:]:
        for power, factor in enumerate(last):
            sums[power] += c * factor
        following = [mp.mpf(0), *[2 * factor for factor in last]]
        for power, factor in enumerate(before):
            following[power] -= factor
        before, last = last, following
    return [float(c) for c in sums]


def between(low: mp.mpf, high: mp.mpf) -> Callable[[mp.mpf], mp.mpf]:
    """[-1, 1] onto [low, high]."""
    return lambda t: (low + high) / 2 + t * (high - low) / 2


def scaled_erfc(t: mp.mpf) -> mp.mpf:
    """(1 + 2 x) erfcx(x), x = 3.75 (1 + t) / (1 - t)."""
    x = mp.mpf("3.75") * (1 + t) / (1 - t)
    return (1 + 2 * x) * mp.exp(x * x) * mp.erfc(x)


def inverse_erf(w: mp.mpf) -> mp.mpf:
    """erfinv(x) / x where w = -log(1 - x^2)."""
    y = -mp.expm1(-w)  # x^2
    x = mp.sqrt(y)
    complement = mp.exp(-w) / (1 + x)  # 1 - x
    guess = mp.sqrt(w) if w > 1 else x * mp.sqrt(mp.pi) / 2
    root = mp.findroot(lambda z: mp.log(mp.erfc(z)) - mp.log(complement), guess)
    return root / x


def log_of_one_plus(t: mp.mpf) -> mp.mpf:
    """log(1 + f) / f for 1 + f between the square roots of 1/2 and 2."""
    f = between(mp.sqrt(mp.mpf(1) / 2) - 1, mp.sqrt(2) - 1)(t)
    return mp.log1p(f) / f


def log_gamma_near(n: int) -> Callable[[mp.mpf], mp.mpf]:
    """lgamma(n + z) / z for z in [-0.5, 0.5], n 1 or 2."""
    return lambda t: mp.loggamma(n + t / 2) / (t / 2)


def hankel(order: int) -> tuple[Callable[[mp.mpf], mp.mpf], Callable[[mp.mpf], mp.mpf]]:
    """P and x Q of Hankel's form, as functions of t = 2 (8 / x)^2 - 1."""

    def parts(t: mp.mpf) -> tuple[mp.mpf, mp.mpf]:
        x = 8 / mp.sqrt((t + 1) / 2)
        angle = x - (2 * order + 1) * mp.pi / 4
        j, y = mp.besselj(order, x), mp.bessely(order, x)
        scale = mp.sqrt(mp.pi * x / 2)
        return (
            scale * (j * mp.cos(angle) + y * mp.sin(angle)),
            scale * (y * mp.cos(angle) - j * mp.sin(angle)) * x,
        )

    return lambda t: parts(t)[0], lambda t: parts(t)[1]


def bessel_j(order: int) -> Callable[[mp.mpf], mp.mpf]:
    """J without its zeros in [0, 8] times (x^2 + c)^4, as a function of t = x^2 / 32 - 1."""
    zeros = [mp.besseljzero(order, n) for n in (1, 2)]

    def rest(t: mp.mpf) -> mp.mpf:
        x = mp.sqrt(32 * (t + 1))
        value = mp.besselj(order, x) / (x**order) * (x * x + (64 if order else 40)) ** 4
        return value / ((x * x - zeros[0] ** 2) * (x * x - zeros[1] ** 2))

    return rest


def bessel_y(order: int) -> Callable[[mp.mpf], mp.mpf]:
    """Y without its logarithm (and pole), as a function of t = x^2 / 32 - 1."""

    def rest(t: mp.mpf) -> mp.mpf:
        x = mp.sqrt(32 * (t + 1))
        singular = mp.log(x) * mp.besselj(order, x) - (1 / x if order else 0)
        return (mp.bessely(order, x) - 2 / mp.pi * singular) / x**order

    return rest


def bessel_i(order: int, is_near: bool) -> Callable[[mp.mpf], mp.mpf]:
    """exp(-x) I / x^order (1 + x)^(order + 1) for x = 4 (t + 1), below 8.

    Above, sqrt(x) exp(-x) I for x = 16 / (t + 1).
    """

    def near(t: mp.mpf) -> mp.mpf:
        x = 4 * (t + 1)
        return mp.besseli(order, x) * mp.exp(-x) / x**order * (1 + x) ** (order + 1)

    def far(t: mp.mpf) -> mp.mpf:
        x = 16 / (t + 1)
        return mp.besseli(order, x) * mp.exp(-x) * mp.sqrt(x)

    return near if is_near else far


def tables() -> dict[str, list[float]]:
    """All series by name."""
    square = between(mp.mpf(0), mp.mpf("6.25"))
    made = {
        "ERFCX": polynomial(scaled_erfc),
        "ERFINV_CENTER": polynomial(lambda t: inverse_erf(square(t))),
        "LGAMMA_1": polynomial(log_gamma_near(1)),
        "LGAMMA_2": polynomial(log_gamma_near(2)),
        "TGAMMA": polynomial(lambda t: mp.gamma(mp.mpf("1.5") + t / 2)),
    }
    for name, low, high in (("NEAR", 2.5, 4), ("MIDDLE", 4, 8), ("FAR", 8, 28)):
        root = between(mp.mpf(low), mp.mpf(high))
        made[f"ERFINV_{name}"] = polynomial(lambda t, root=root: inverse_erf(root(t) ** 2))
    for order in (0, 1):
        p, q = hankel(order)
        made[f"HANKEL_P{order}"], made[f"HANKEL_Q{order}"] = polynomial(p), polynomial(q)
        made[f"BESSEL_J{order}"] = polynomial(bessel_j(order))
        made[f"BESSEL_Y{order}"] = polynomial(bessel_y(order))
        made[f"BESSEL_I{order}_NEAR"] = polynomial(bessel_i(order, True))
        made[f"BESSEL_I{order}_FAR"] = polynomial(bessel_i(order, False))
    return made | brief_tables()


def brief_tables() -> dict[str, list[float]]:
    """Those of functions of float32 that would be slow else."""
    square, root = between(mp.mpf(0), mp.mpf("6.25")), between(mp.mpf("2.5"), mp.mpf("4.1"))
    functions = {
        "ERFINV_CENTER": lambda t: inverse_erf(square(t)),
        # No float32 below 1 is so near to it that more is needed.
        "ERFINV_NEAR": lambda t: inverse_erf(root(t) ** 2),
        "LGAMMA_1": log_gamma_near(1),
        "LGAMMA_2": log_gamma_near(2),
        "LOG": log_of_one_plus,
    }
    for order in (0, 1):
        functions[f"HANKEL_P{order}"], functions[f"HANKEL_Q{order}"] = hankel(order)
        functions[f"BESSEL_J{order}"] = bessel_j(order)
    return {f"{name}_BRIEF": polynomial(function, _BRIEF) for name, function in functions.items()}


def main() -> None:
    """Print the module."""
    print('"""Polynomials of special functions, lowest power first; `special_coefficients.py` prints them."""')
    print("\nfrom __future__ import annotations\n\nfrom .static import constexpr\n\n# fmt: off")
    for name, series in tables().items():
        print(f"{name} = constexpr(\n    (")
        for first in range(0, len(series), _COLUMNS):
            print("        " + " ".join(f"{c!r}," for c in series[first : first + _COLUMNS]))
        print("    )\n)")


if __name__ == "__main__":
    main()
