"""Names of `tw.libdevice`: arithmetic rounded toward zero (_rz), down (_rd) and up (_ru)."""

# Kernel code follows the type rules of the language, not those of Python:
# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportIndexIssue=false, reportOptionalMemberAccess=false
# pyright: reportAttributeAccessIssue=false, reportGeneralTypeIssues=false, reportReturnType=false
from __future__ import annotations

from collections.abc import Callable

from ..language.dtypes import float64, tensor
from ..language.elementwise import abs
from ..language.marks import library_function, named_function
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


# Letters that names end in, and what they say.
_HOW = {"z": "toward zero", "d": "down", "u": "up"}


def _directed(mode: str) -> tuple[Callable[..., tensor], ...]:
    """Addition, subtraction, multiplication, division, inverse, square root and fma of one rounding."""

    def add(x: Value, y: Value) -> tensor:
        return add_directed(x, y, mode)

    def sub(x: Value, y: Value) -> tensor:
        x, y = exact_type(x, y)
        return add_directed(x, -y, mode)

    def mul(x: Value, y: Value) -> tensor:
        return mul_directed(x, y, mode)

    def div(x: Value, y: Value) -> tensor:
        return div_directed(x, y, mode)

    def rcp(x: Value) -> tensor:
        return div_directed(1.0, x, mode)

    def sqrt(x: Value) -> tensor:
        return sqrt_directed(x, mode)

    def fma(x: Value, y: Value, z: Value) -> tensor:
        return fma_directed(x, y, z, mode)

    rows = {
        add: "x + y", sub: "x - y", mul: "x * y", div: "x / y", rcp: "1 / x", sqrt: "The square root",
        fma: "x * y + z",
    }  # fmt: skip
    return tuple(
        named_function(function, f"{function.__name__}_r{mode}", f"{text} rounded {_HOW[mode]}.")
        for function, text in rows.items()
    )


add_rz, sub_rz, mul_rz, div_rz, rcp_rz, sqrt_rz, fma_rz = _directed("z")
add_rd, sub_rd, mul_rd, div_rd, rcp_rd, sqrt_rd, fma_rd = _directed("d")
add_ru, sub_ru, mul_ru, div_ru, rcp_ru, sqrt_ru, fma_ru = _directed("u")

__all__ = [
    "add_rd", "add_ru", "add_rz", "div_rd", "div_ru", "div_rz", "fma_rd", "fma_ru", "fma_rz",
    "mul_rd", "mul_ru", "mul_rz", "rcp64h", "rcp_rd", "rcp_rn", "rcp_ru", "rcp_rz", "rsqrt_rn",
    "sqrt_rd", "sqrt_ru", "sqrt_rz", "sub_rd", "sub_ru", "sub_rz",
]  # fmt: skip
