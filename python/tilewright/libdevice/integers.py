"""Names of `tw.libdevice`: integers, and their bits."""

# Kernel code follows the type rules of the language, not those of Python:
# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportIndexIssue=false, reportOptionalMemberAccess=false
# pyright: reportAttributeAccessIssue=false, reportGeneralTypeIssues=false, reportReturnType=false
from __future__ import annotations

from ..language.dtypes import int32, int64, tensor, uint32, uint64
from ..language.elementwise import clz as _clz
from ..language.elementwise import popc as _popc
from ..language.marks import library_function
from ..language.static import constexpr
from ..language.tile import Value, cast, maximum, minimum, static_assert, to_tensor, umulhi, where


# Integers.


@library_function
def clz(x: Value) -> tensor:
    """The number of leading 0 bits, as int32."""
    return _clz(x).to(int32)


@library_function
def popc(x: Value) -> tensor:
    """The number of bits that are 1, as int32."""
    return _popc(x).to(int32)


@library_function
def ffs(x: Value) -> tensor:
    """The position of the lowest bit that is 1, counted from 1; 0 where x is 0. int32."""
    return where(x == 0, 0, _popc((x & -x) - 1) + 1).to(int32)


@library_function
def _swapped(x: Value, shift: constexpr, mask: constexpr) -> tensor:
    return ((x >> shift) & mask) | ((x & mask) << shift)


@library_function
def brev(x: Value) -> tensor:
    """The bits in reverse order, of 32 or 64-bit integers."""
    kind: constexpr = to_tensor(x).dtype
    static_assert(kind.is_int() and kind.primitive_bitwidth >= 32, "brev takes int32 and int64")
    x = to_tensor(x).to(uint64 if kind.primitive_bitwidth == 64 else uint32)
    x = _swapped(x, 1, 0x5555555555555555 if kind.primitive_bitwidth == 64 else 0x55555555)
    x = _swapped(x, 2, 0x3333333333333333 if kind.primitive_bitwidth == 64 else 0x33333333)
    x = _swapped(x, 4, 0x0F0F0F0F0F0F0F0F if kind.primitive_bitwidth == 64 else 0x0F0F0F0F)
    x = _swapped(x, 8, 0x00FF00FF00FF00FF if kind.primitive_bitwidth == 64 else 0x00FF00FF)
    if kind.primitive_bitwidth == 64:
        x = _swapped(x, 16, 0x0000FFFF0000FFFF)
        return ((x >> 32) | (x << 32)).to(kind)
    return ((x >> 16) | (x << 16)).to(kind)


@library_function
def byte_perm(x: Value, y: Value, selector: Value) -> tensor:
    """Four bytes of the eight in y:x, each chosen by 3 bits of a nibble of `selector`."""
    low = to_tensor(x).to(int64) & 0xFFFFFFFF
    bytes = low.to(uint64) | (to_tensor(y).to(int64) << 32).to(uint64)
    selector = to_tensor(selector).to(uint64)
    result = (bytes >> ((selector & 7) * 8)) & 0xFF
    result |= ((bytes >> (((selector >> 4) & 7) * 8)) & 0xFF) << 8
    result |= ((bytes >> (((selector >> 8) & 7) * 8)) & 0xFF) << 16
    result |= ((bytes >> (((selector >> 12) & 7) * 8)) & 0xFF) << 24
    return result.to(uint32).to(to_tensor(x).dtype)


@library_function
def mulhi(x: Value, y: Value) -> tensor:
    """The upper half of the product of 32 or 64-bit integers, signed where they are."""
    kind: constexpr = to_tensor(x + y).dtype
    static_assert(kind.is_int() and kind.primitive_bitwidth >= 32, "mulhi takes int32 and int64")
    x, y = cast(x, kind), cast(y, kind)
    high = umulhi(x, y)
    if kind.is_int_signed():
        high = high - where(x < 0, y, 0) - where(y < 0, x, 0)
    return high


@library_function
def mul24(x: Value, y: Value) -> tensor:
    """The lower 32 bits of the product of the lower 24 bits, signed where the numbers are."""
    kind: constexpr = to_tensor(x + y).dtype
    static_assert(kind.is_int() and kind.primitive_bitwidth == 32, "mul24 takes int32 and uint32")
    return ((cast(x, kind) << 8) >> 8) * ((cast(y, kind) << 8) >> 8)


@library_function
def sad(x: Value, y: Value, z: Value) -> tensor:
    """|x - y| + z, modulo 2^32."""
    kind: constexpr = to_tensor(x + y).dtype
    static_assert(kind.is_int() and kind.primitive_bitwidth == 32, "sad takes int32 and uint32")
    return maximum(x, y) - minimum(x, y) + to_tensor(z).to(kind)


@library_function
def hadd(x: Value, y: Value) -> tensor:
    """(x + y) / 2 rounded down, without overflow."""
    return (x & y) + ((x ^ y) >> 1)


@library_function
def rhadd(x: Value, y: Value) -> tensor:
    """(x + y + 1) / 2 rounded down, without overflow."""
    return (x | y) - ((x ^ y) >> 1)


mul64hi, umul64hi = mulhi, mulhi
umul24, usad, uhadd, urhadd = mul24, sad, hadd, rhadd

__all__ = [
    "brev", "byte_perm", "clz", "ffs", "hadd", "mul24", "mul64hi", "mulhi", "popc", "rhadd", "sad",
    "uhadd", "umul24", "umul64hi", "urhadd", "usad",
]  # fmt: skip
