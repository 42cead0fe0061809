"""The namespace `tw.libdevice`: the names of the widespread device math library, on every target.

Names that end in f or start with fast_ have no lower precision here. Functions that no row of the
elementwise table gives are written in the language; those that are missing say what to write.
"""

# Kernel code follows the type rules of the language, not those of Python:
# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportIndexIssue=false, reportOptionalMemberAccess=false
# pyright: reportAttributeAccessIssue=false, reportGeneralTypeIssues=false, reportReturnType=false
from __future__ import annotations

from . import elementwise
from .dtypes import int32, int64, tensor
from .elementwise import *  # noqa: F403
from .marks import builtin_alias, library_function, unsupported
from .static import constexpr
from .tile import Value, div_rn, fdiv, maximum, minimum, umulhi, where

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
rsqrt_rn = builtin_alias("rsqrt_rn", rsqrt)
fma_rn = builtin_alias("fma_rn", fma)
mulhi = builtin_alias("mulhi", umulhi)

_INFINITY = constexpr(float("inf"))


@library_function
def isnan(x: Value) -> tensor:
    """Where x is not a number."""
    return x != x


@library_function
def isinf(x: Value) -> tensor:
    """Where x is infinite, of either sign."""
    return abs(x) == _INFINITY


@library_function
def finitef(x: Value) -> tensor:
    """Where x is neither infinite nor NaN."""
    return abs(x) < _INFINITY


@library_function
def exp10(x: Value) -> tensor:
    """10 to the power x."""
    return pow(10.0, x)


@library_function
def fast_exp10f(x: Value) -> tensor:
    """10 to the power x."""
    return pow(10.0, x)


@library_function
def rcbrt(x: Value) -> tensor:
    """1 / the cube root of x."""
    return 1.0 / cbrt(x)


@library_function
def fmod(x: Value, y: Value) -> tensor:
    """The remainder of x / y with the sign of x."""
    return x % y


@library_function
def fdim(x: Value, y: Value) -> tensor:
    """x - y where that is positive, else 0."""
    return where(x <= y, x * 0.0, x - y)


@library_function
def saturatef(x: Value) -> tensor:
    """x limited to [0, 1]; NaN gives 0."""
    return where(x > 0.0, minimum(x, 1.0), 0.0)


@library_function
def ffs(x: Value) -> tensor:
    """The position of the lowest bit that is 1, counted from 1; 0 where x is 0."""
    return where(x == 0, 0, popc((x & -x) - 1) + 1)


@library_function
def llrint(x: Value) -> tensor:
    """The nearest integer as int64, ties to even."""
    return rint(x).to(int64)


@library_function
def float2int_rn(x: Value) -> tensor:
    """The nearest integer as int32, ties to even."""
    return rint(x).to(int32)


_WRITE = "Write it with functions of the language."
isfinited = finitef
fmax = builtin_alias("fmax", maximum)
fmin = builtin_alias("fmin", minimum)
erfinv = unsupported("erfinv", _WRITE)
erfcinv = unsupported("erfcinv", _WRITE)
erfcx = unsupported("erfcx", _WRITE)
hypot = unsupported("hypot", "Use tw.sqrt(x * x + y * y) where x * x cannot overflow.")
lgamma = unsupported("lgamma", _WRITE)
tgamma = unsupported("tgamma", _WRITE)
ilogb = unsupported("ilogb", "Use tw.floor(tw.log2(tw.abs(x))).")
ldexp = unsupported("ldexp", "Use x * tw.exp2(n.to(tw.float32)).")
logb = unsupported("logb", "Use tw.floor(tw.log2(tw.abs(x))).")
nextafter = unsupported("nextafter", "Cast to an integer with bitcast=True, add, and cast back.")
remainder = unsupported("remainder", "Use x - y * tw.rint(x / y).")
sincos = unsupported("sincos", "Call tw.sin and tw.cos.")
sinpi = unsupported("sinpi", "Use tw.sin(3.141592653589793 * x).")
cospi = unsupported("cospi", "Use tw.cos(3.141592653589793 * x).")

__all__ = [
    "cospi", "div_rn", "erfcinv", "erfcx", "erfinv", "exp10", "fabs", "fast_cosf", "fast_dividef",
    "fast_exp10f", "fast_expf", "fast_log10f", "fast_log2f", "fast_logf", "fast_powf",
    "fast_sinf", "fast_tanf", "fast_tanhf", "fdim", "ffs", "finitef", "float2int_rn", "fma_rn",
    "fmax", "fmin", "fmod", "hypot", "ilogb", "isfinited", "isinf", "isnan", "ldexp", "lgamma",
    "llrint", "logb", "mulhi", "nearbyint", "nextafter", "rcbrt", "remainder", "rsqrt_rn",
    "saturatef", "sincos", "sinpi", "tgamma", "umulhi",
]  # fmt: skip
__all__ += elementwise.__all__
