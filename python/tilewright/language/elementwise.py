"""The elementwise functions: written by test_elementwise_rows.py from ir/tile/Elementwise.td.

Each takes tiles or scalars and computes element by element. Float functions compute float16 and
bfloat16 in float32; integers are refused unless the text names them.
"""

# pyright: reportReturnType=false
from __future__ import annotations

from .dtypes import tensor
from .marks import builtin, builtin_alias
from .tile import Value


@builtin
def exp(x: Value) -> tensor:
    """e to the power x."""


@builtin
def exp2(x: Value) -> tensor:
    """2 to the power x."""


@builtin
def expm1(x: Value) -> tensor:
    """e to the power x, minus 1, without cancellation near 0."""


@builtin
def log(x: Value) -> tensor:
    """Natural logarithm."""


@builtin
def log2(x: Value) -> tensor:
    """Logarithm to base 2."""


@builtin
def log10(x: Value) -> tensor:
    """Logarithm to base 10."""


@builtin
def log1p(x: Value) -> tensor:
    """Natural logarithm of 1 + x, without cancellation near 0."""


@builtin
def sqrt(x: Value) -> tensor:
    """Square root, correctly rounded."""


@builtin
def rsqrt(x: Value) -> tensor:
    """1 / sqrt(x)."""


@builtin
def cbrt(x: Value) -> tensor:
    """Cube root."""


@builtin
def sin(x: Value) -> tensor:
    """Sine of x radians."""


@builtin
def cos(x: Value) -> tensor:
    """Cosine of x radians."""


@builtin
def tan(x: Value) -> tensor:
    """Tangent of x radians."""


@builtin
def asin(x: Value) -> tensor:
    """Inverse sine, in radians."""


@builtin
def acos(x: Value) -> tensor:
    """Inverse cosine, in radians."""


@builtin
def atan(x: Value) -> tensor:
    """Inverse tangent, in radians."""


@builtin
def sinh(x: Value) -> tensor:
    """Hyperbolic sine."""


@builtin
def cosh(x: Value) -> tensor:
    """Hyperbolic cosine."""


@builtin
def tanh(x: Value) -> tensor:
    """Hyperbolic tangent."""


@builtin
def asinh(x: Value) -> tensor:
    """Inverse hyperbolic sine."""


@builtin
def acosh(x: Value) -> tensor:
    """Inverse hyperbolic cosine."""


@builtin
def atanh(x: Value) -> tensor:
    """Inverse hyperbolic tangent."""


@builtin
def erf(x: Value) -> tensor:
    """Error function."""


@builtin
def erfc(x: Value) -> tensor:
    """1 - erf(x), without cancellation."""


@builtin
def floor(x: Value) -> tensor:
    """Largest integer not above x."""


@builtin
def ceil(x: Value) -> tensor:
    """Smallest integer not below x."""


@builtin
def trunc(x: Value) -> tensor:
    """x rounded toward 0."""


@builtin
def round(x: Value) -> tensor:
    """Nearest integer, ties away from 0."""


@builtin
def rint(x: Value) -> tensor:
    """Nearest integer, ties to even."""


@builtin
def abs(x: Value) -> tensor:
    """Absolute value, of integers too."""


@builtin
def pow(x: Value, y: Value) -> tensor:
    """x to the power y."""


@builtin
def atan2(y: Value, x: Value) -> tensor:
    """Angle of the point (y, x) in radians."""


@builtin
def copysign(x: Value, y: Value) -> tensor:
    """Magnitude of x with the sign of y."""


@builtin
def fma(x: Value, y: Value, z: Value) -> tensor:
    """x * y + z with one rounding."""


@builtin
def popc(x: Value) -> tensor:
    """Number of bits that are 1, of an integer."""


@builtin
def clz(x: Value) -> tensor:
    """Number of leading 0 bits, of an integer."""


sqrt_rn = builtin_alias("sqrt_rn", sqrt)

__all__ = [
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "clz",
    "copysign", "cos", "cosh", "erf", "erfc", "exp", "exp2", "expm1", "floor", "fma", "log",
    "log10", "log1p", "log2", "popc", "pow", "rint", "round", "rsqrt", "sin", "sinh", "sqrt",
    "sqrt_rn", "tan", "tanh", "trunc",
]  # fmt: skip
