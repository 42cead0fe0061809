"""The namespace `tw.math`: the elementwise functions, and the arithmetic ones beside operators."""

# Kernel code follows the type rules of the language, not those of Python:
# pyright: basic, reportOperatorIssue=false, reportReturnType=false
from __future__ import annotations

from ..language import elementwise
from ..language.dtypes import tensor
from ..language.elementwise import *  # noqa: F403
from ..language.elementwise import abs, exp, log
from ..language.marks import builtin_alias, library_function
from ..language.static import constexpr
from ..language.tile import Value, cdiv, clamp, div_rn, fdiv, maximum, minimum, umulhi

INFINITY = constexpr(float("inf"))

fast_expf = builtin_alias("fast_expf", exp)
fast_logf = builtin_alias("fast_logf", log)
fast_dividef = builtin_alias("fast_dividef", fdiv)


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

__all__ = [
    "cdiv", "clamp", "div_rn", "fast_dividef", "fast_expf", "fast_logf", "fdiv", "finitef", "isinf",
    "isnan", "maximum", "minimum", "umulhi",
]  # fmt: skip
__all__ += elementwise.__all__
