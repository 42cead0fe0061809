"""Names of `tw.libdevice`: arithmetic rounded toward zero (_rz), down (_rd) and up (_ru)."""

# Kernel code follows the type rules of the language, not those of Python:
# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportIndexIssue=false, reportOptionalMemberAccess=false
# pyright: reportAttributeAccessIssue=false, reportGeneralTypeIssues=false, reportReturnType=false
from __future__ import annotations

from ..language.dtypes import float64, tensor
from ..language.elementwise import abs
from ..language.marks import library_function
from .rounding import (
    add_directed,
    bits_of,
    div_directed,
    exact_type,
    fma_directed,
    mul_directed,
    rsqrt_nearest,
    sqrt_directed,
)
from .special import floating
from ..language.tile import Value, div_rn, static_assert, to_tensor, where


@library_function
def rcp_rn(x: Value) -> tensor:
    """1 / x rounded to nearest."""
    return div_rn(1.0, x)


@library_function
def rsqrt_rn(x: Value) -> tensor:
    """1 / sqrt(x) rounded to nearest."""
    x = to_tensor(x)
    return rsqrt_nearest(floating(x)).to(x.dtype)


@library_function
def rcp64h(x: Value) -> tensor:
    """1 / x of float64 with the upper 32 bits only; subnormal numbers count as 0."""
    static_assert(to_tensor(x).dtype == float64, "rcp64h takes float64")
    y = 1.0 / where(abs(x) < 2.2250738585072014e-308, x * 0.0, x)
    y = where(abs(y) < 2.2250738585072014e-308, y * 0.0, y)
    return (bits_of(y) & -0x100000000).to(float64, bitcast=True)


@library_function
def add_rz(x: Value, y: Value) -> tensor:
    """x + y rounded toward zero."""
    return add_directed(x, y, "z")


@library_function
def mul_rz(x: Value, y: Value) -> tensor:
    """x * y rounded toward zero."""
    return mul_directed(x, y, "z")


@library_function
def div_rz(x: Value, y: Value) -> tensor:
    """x / y rounded toward zero."""
    return div_directed(x, y, "z")


@library_function
def sub_rz(x: Value, y: Value) -> tensor:
    """x - y rounded toward zero."""
    x, y = exact_type(x, y)
    return add_directed(x, -y, "z")


@library_function
def rcp_rz(x: Value) -> tensor:
    """1 / x rounded toward zero."""
    return div_directed(1.0, x, "z")


@library_function
def sqrt_rz(x: Value) -> tensor:
    """The square root rounded toward zero."""
    return sqrt_directed(x, "z")


@library_function
def fma_rz(x: Value, y: Value, z: Value) -> tensor:
    """x * y + z rounded toward zero."""
    return fma_directed(x, y, z, "z")


@library_function
def add_rd(x: Value, y: Value) -> tensor:
    """x + y rounded down."""
    return add_directed(x, y, "d")


@library_function
def mul_rd(x: Value, y: Value) -> tensor:
    """x * y rounded down."""
    return mul_directed(x, y, "d")


@library_function
def div_rd(x: Value, y: Value) -> tensor:
    """x / y rounded down."""
    return div_directed(x, y, "d")


@library_function
def sub_rd(x: Value, y: Value) -> tensor:
    """x - y rounded down."""
    x, y = exact_type(x, y)
    return add_directed(x, -y, "d")


@library_function
def rcp_rd(x: Value) -> tensor:
    """1 / x rounded down."""
    return div_directed(1.0, x, "d")


@library_function
def sqrt_rd(x: Value) -> tensor:
    """The square root rounded down."""
    return sqrt_directed(x, "d")


@library_function
def fma_rd(x: Value, y: Value, z: Value) -> tensor:
    """x * y + z rounded down."""
    return fma_directed(x, y, z, "d")


@library_function
def add_ru(x: Value, y: Value) -> tensor:
    """x + y rounded up."""
    return add_directed(x, y, "u")


@library_function
def mul_ru(x: Value, y: Value) -> tensor:
    """x * y rounded up."""
    return mul_directed(x, y, "u")


@library_function
def div_ru(x: Value, y: Value) -> tensor:
    """x / y rounded up."""
    return div_directed(x, y, "u")


@library_function
def sub_ru(x: Value, y: Value) -> tensor:
    """x - y rounded up."""
    x, y = exact_type(x, y)
    return add_directed(x, -y, "u")


@library_function
def rcp_ru(x: Value) -> tensor:
    """1 / x rounded up."""
    return div_directed(1.0, x, "u")


@library_function
def sqrt_ru(x: Value) -> tensor:
    """The square root rounded up."""
    return sqrt_directed(x, "u")


@library_function
def fma_ru(x: Value, y: Value, z: Value) -> tensor:
    """x * y + z rounded up."""
    return fma_directed(x, y, z, "u")




__all__ = [
    "add_rd", "add_ru", "add_rz", "div_rd", "div_ru", "div_rz", "fma_rd", "fma_ru", "fma_rz",
    "mul_rd", "mul_ru", "mul_rz", "rcp64h", "rcp_rd", "rcp_rn", "rcp_ru", "rcp_rz", "rsqrt_rn",
    "sqrt_rd", "sqrt_ru", "sqrt_rz", "sub_rd", "sub_ru", "sub_rz",
]  # fmt: skip
