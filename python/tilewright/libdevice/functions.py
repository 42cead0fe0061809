"""Names of `tw.libdevice`: trigonometric functions of pi x, and the special functions."""

# Kernel code follows the type rules of the language, not those of Python:
# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportIndexIssue=false, reportOptionalMemberAccess=false
# pyright: reportAttributeAccessIssue=false, reportGeneralTypeIssues=false, reportReturnType=false
from __future__ import annotations

from ..language.dtypes import float64, tensor
from ..language.elementwise import copysign, cos, sin
from ..language.marks import library_function
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

__all__ = [
    "cospi", "cyl_bessel_i0", "cyl_bessel_i1", "erfcinv", "erfcx", "erfinv", "j0", "j1", "jn",
    "lgamma", "normcdf", "normcdfinv", "sincos", "sincospi", "sinpi", "tgamma", "y0", "y1", "yn",
]  # fmt: skip
