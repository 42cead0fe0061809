"""Names of `tw.libdevice`: trigonometric functions of pi x, and the special functions."""

# Kernel code follows the type rules of the language, not those of Python:
# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportIndexIssue=false, reportOptionalMemberAccess=false
# pyright: reportAttributeAccessIssue=false, reportGeneralTypeIssues=false, reportReturnType=false
from __future__ import annotations

from collections.abc import Callable

from ..language.dtypes import float64, tensor
from ..language.elementwise import copysign, cos, sin
from ..language.marks import library_function, named_function
from ..language.tile import Value, to_tensor, where
from .special import (
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

_Function = Callable[..., tensor]

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


def _special(name: str, in_float64: _Function, text: str, has_brief: bool = False) -> _Function:
    """A function that is computed in float64; `has_brief`: float32 takes a shorter formula."""

    def special(x: Value) -> tensor:
        return in_double(in_float64, x, has_brief)

    return named_function(special, name, text)


erfinv = _special("erfinv", erfinv_double, "The number whose error function is x.", has_brief=True)
erfcinv = _special("erfcinv", erfcinv_double, "The number whose complementary error function is x.")
erfcx = _special("erfcx", erfcx_double, "exp(x^2) erfc(x).")
normcdf = _special(
    "normcdf", normcdf_double, "The probability that a standard normal variable is below x."
)
normcdfinv = _special(
    "normcdfinv", normcdfinv_double,
    "The number that a standard normal variable is below with probability x.",
)  # fmt: skip
lgamma = _special("lgamma", lgamma_double, "log(|gamma(x)|).", has_brief=True)
tgamma = _special("tgamma", tgamma_double, "The gamma function; NaN for negative integers.")
j0 = _special("j0", j0_double, "The Bessel function of the first kind of order 0.", has_brief=True)
j1 = _special("j1", j1_double, "The Bessel function of the first kind of order 1.", has_brief=True)
y0 = _special("y0", y0_double, "The Bessel function of the second kind of order 0; NaN for negative x.")
y1 = _special("y1", y1_double, "The Bessel function of the second kind of order 1; NaN for negative x.")
cyl_bessel_i0 = _special(
    "cyl_bessel_i0", i0_double, "The modified Bessel function of the first kind of order 0."
)
cyl_bessel_i1 = _special(
    "cyl_bessel_i1", i1_double, "The modified Bessel function of the first kind of order 1."
)


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


__all__ = [
    "cospi", "cyl_bessel_i0", "cyl_bessel_i1", "erfcinv", "erfcx", "erfinv", "j0", "j1", "jn",
    "lgamma", "normcdf", "normcdfinv", "sincos", "sincospi", "sinpi", "tgamma", "y0", "y1", "yn",
]  # fmt: skip
