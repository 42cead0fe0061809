"""Names of `tw.libdevice`: conversions between numbers, with their rounding, and between bits."""

# Kernel code follows the type rules of the language, not those of Python:
# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportIndexIssue=false, reportOptionalMemberAccess=false
# pyright: reportAttributeAccessIssue=false, reportGeneralTypeIssues=false, reportReturnType=false
from __future__ import annotations

from ..language.dtypes import float32, float64, int32, int64, tensor, uint32, uint64
from ..language.elementwise import rint, round
from ..language.marks import library_function
from .rounding import bits_of, integer_to_double, integer_to_float, narrow, rounded
from ..language.static import constexpr
from ..language.tile import Value, static_assert, to_tensor


@library_function
def _of_type(x: Value, kind: constexpr) -> tensor:
    """x, which has the type that a conversion takes or a smaller one of its kind, in that type."""
    x = to_tensor(x)
    fits: constexpr = x.dtype.is_floating() == kind.is_floating()
    static_assert(fits, "this conversion takes the kind of number that its name begins with")
    fits: constexpr = x.dtype.primitive_bitwidth <= kind.primitive_bitwidth
    static_assert(fits, "this conversion takes numbers of fewer bits: cast first")
    return x.to(kind)


@library_function
def float2int_rn(x: Value) -> tensor:
    """float32 as int32, rounded to nearest."""
    return rounded(_of_type(x, float32), "n").to(int32)


@library_function
def float2int_rz(x: Value) -> tensor:
    """float32 as int32, rounded toward zero."""
    return rounded(_of_type(x, float32), "z").to(int32)


@library_function
def float2int_rd(x: Value) -> tensor:
    """float32 as int32, rounded down."""
    return rounded(_of_type(x, float32), "d").to(int32)


@library_function
def float2int_ru(x: Value) -> tensor:
    """float32 as int32, rounded up."""
    return rounded(_of_type(x, float32), "u").to(int32)


@library_function
def float2uint_rn(x: Value) -> tensor:
    """float32 as uint32, rounded to nearest."""
    return rounded(_of_type(x, float32), "n").to(uint32)


@library_function
def float2uint_rz(x: Value) -> tensor:
    """float32 as uint32, rounded toward zero."""
    return rounded(_of_type(x, float32), "z").to(uint32)


@library_function
def float2uint_rd(x: Value) -> tensor:
    """float32 as uint32, rounded down."""
    return rounded(_of_type(x, float32), "d").to(uint32)


@library_function
def float2uint_ru(x: Value) -> tensor:
    """float32 as uint32, rounded up."""
    return rounded(_of_type(x, float32), "u").to(uint32)


@library_function
def float2ll_rn(x: Value) -> tensor:
    """float32 as int64, rounded to nearest."""
    return rounded(_of_type(x, float32), "n").to(int64)


@library_function
def float2ll_rz(x: Value) -> tensor:
    """float32 as int64, rounded toward zero."""
    return rounded(_of_type(x, float32), "z").to(int64)


@library_function
def float2ll_rd(x: Value) -> tensor:
    """float32 as int64, rounded down."""
    return rounded(_of_type(x, float32), "d").to(int64)


@library_function
def float2ll_ru(x: Value) -> tensor:
    """float32 as int64, rounded up."""
    return rounded(_of_type(x, float32), "u").to(int64)


@library_function
def float2ull_rn(x: Value) -> tensor:
    """float32 as uint64, rounded to nearest."""
    return rounded(_of_type(x, float32), "n").to(uint64)


@library_function
def float2ull_rz(x: Value) -> tensor:
    """float32 as uint64, rounded toward zero."""
    return rounded(_of_type(x, float32), "z").to(uint64)


@library_function
def float2ull_rd(x: Value) -> tensor:
    """float32 as uint64, rounded down."""
    return rounded(_of_type(x, float32), "d").to(uint64)


@library_function
def float2ull_ru(x: Value) -> tensor:
    """float32 as uint64, rounded up."""
    return rounded(_of_type(x, float32), "u").to(uint64)


@library_function
def double2int_rn(x: Value) -> tensor:
    """float64 as int32, rounded to nearest."""
    return rounded(_of_type(x, float64), "n").to(int32)


@library_function
def double2int_rz(x: Value) -> tensor:
    """float64 as int32, rounded toward zero."""
    return rounded(_of_type(x, float64), "z").to(int32)


@library_function
def double2int_rd(x: Value) -> tensor:
    """float64 as int32, rounded down."""
    return rounded(_of_type(x, float64), "d").to(int32)


@library_function
def double2int_ru(x: Value) -> tensor:
    """float64 as int32, rounded up."""
    return rounded(_of_type(x, float64), "u").to(int32)


@library_function
def double2uint_rn(x: Value) -> tensor:
    """float64 as uint32, rounded to nearest."""
    return rounded(_of_type(x, float64), "n").to(uint32)


@library_function
def double2uint_rz(x: Value) -> tensor:
    """float64 as uint32, rounded toward zero."""
    return rounded(_of_type(x, float64), "z").to(uint32)


@library_function
def double2uint_rd(x: Value) -> tensor:
    """float64 as uint32, rounded down."""
    return rounded(_of_type(x, float64), "d").to(uint32)


@library_function
def double2uint_ru(x: Value) -> tensor:
    """float64 as uint32, rounded up."""
    return rounded(_of_type(x, float64), "u").to(uint32)


@library_function
def double2ll_rn(x: Value) -> tensor:
    """float64 as int64, rounded to nearest."""
    return rounded(_of_type(x, float64), "n").to(int64)


@library_function
def double2ll_rz(x: Value) -> tensor:
    """float64 as int64, rounded toward zero."""
    return rounded(_of_type(x, float64), "z").to(int64)


@library_function
def double2ll_rd(x: Value) -> tensor:
    """float64 as int64, rounded down."""
    return rounded(_of_type(x, float64), "d").to(int64)


@library_function
def double2ll_ru(x: Value) -> tensor:
    """float64 as int64, rounded up."""
    return rounded(_of_type(x, float64), "u").to(int64)


@library_function
def double2ull_rn(x: Value) -> tensor:
    """float64 as uint64, rounded to nearest."""
    return rounded(_of_type(x, float64), "n").to(uint64)


@library_function
def double2ull_rz(x: Value) -> tensor:
    """float64 as uint64, rounded toward zero."""
    return rounded(_of_type(x, float64), "z").to(uint64)


@library_function
def double2ull_rd(x: Value) -> tensor:
    """float64 as uint64, rounded down."""
    return rounded(_of_type(x, float64), "d").to(uint64)


@library_function
def double2ull_ru(x: Value) -> tensor:
    """float64 as uint64, rounded up."""
    return rounded(_of_type(x, float64), "u").to(uint64)


@library_function
def int2float_rn(x: Value) -> tensor:
    """int32 as float32, rounded to nearest."""
    return _of_type(x, int32).to(float32)


@library_function
def int2float_rz(x: Value) -> tensor:
    """int32 as float32, rounded toward zero."""
    return integer_to_float(_of_type(x, int32), "z")


@library_function
def int2float_rd(x: Value) -> tensor:
    """int32 as float32, rounded down."""
    return integer_to_float(_of_type(x, int32), "d")


@library_function
def int2float_ru(x: Value) -> tensor:
    """int32 as float32, rounded up."""
    return integer_to_float(_of_type(x, int32), "u")


@library_function
def int2double_rn(x: Value) -> tensor:
    """int32 as float64, rounded to nearest."""
    return _of_type(x, int32).to(float64)


@library_function
def uint2float_rn(x: Value) -> tensor:
    """uint32 as float32, rounded to nearest."""
    return _of_type(x, uint32).to(float32)


@library_function
def uint2float_rz(x: Value) -> tensor:
    """uint32 as float32, rounded toward zero."""
    return integer_to_float(_of_type(x, uint32), "z")


@library_function
def uint2float_rd(x: Value) -> tensor:
    """uint32 as float32, rounded down."""
    return integer_to_float(_of_type(x, uint32), "d")


@library_function
def uint2float_ru(x: Value) -> tensor:
    """uint32 as float32, rounded up."""
    return integer_to_float(_of_type(x, uint32), "u")


@library_function
def uint2double_rn(x: Value) -> tensor:
    """uint32 as float64, rounded to nearest."""
    return _of_type(x, uint32).to(float64)


@library_function
def ll2float_rn(x: Value) -> tensor:
    """int64 as float32, rounded to nearest."""
    return _of_type(x, int64).to(float32)


@library_function
def ll2float_rz(x: Value) -> tensor:
    """int64 as float32, rounded toward zero."""
    return integer_to_float(_of_type(x, int64), "z")


@library_function
def ll2float_rd(x: Value) -> tensor:
    """int64 as float32, rounded down."""
    return integer_to_float(_of_type(x, int64), "d")


@library_function
def ll2float_ru(x: Value) -> tensor:
    """int64 as float32, rounded up."""
    return integer_to_float(_of_type(x, int64), "u")


@library_function
def ll2double_rn(x: Value) -> tensor:
    """int64 as float64, rounded to nearest."""
    return _of_type(x, int64).to(float64)


@library_function
def ll2double_rz(x: Value) -> tensor:
    """int64 as float64, rounded toward zero."""
    return integer_to_double(_of_type(x, int64), "z")


@library_function
def ll2double_rd(x: Value) -> tensor:
    """int64 as float64, rounded down."""
    return integer_to_double(_of_type(x, int64), "d")


@library_function
def ll2double_ru(x: Value) -> tensor:
    """int64 as float64, rounded up."""
    return integer_to_double(_of_type(x, int64), "u")


@library_function
def ull2float_rn(x: Value) -> tensor:
    """uint64 as float32, rounded to nearest."""
    return _of_type(x, uint64).to(float32)


@library_function
def ull2float_rz(x: Value) -> tensor:
    """uint64 as float32, rounded toward zero."""
    return integer_to_float(_of_type(x, uint64), "z")


@library_function
def ull2float_rd(x: Value) -> tensor:
    """uint64 as float32, rounded down."""
    return integer_to_float(_of_type(x, uint64), "d")


@library_function
def ull2float_ru(x: Value) -> tensor:
    """uint64 as float32, rounded up."""
    return integer_to_float(_of_type(x, uint64), "u")


@library_function
def ull2double_rn(x: Value) -> tensor:
    """uint64 as float64, rounded to nearest."""
    return _of_type(x, uint64).to(float64)


@library_function
def ull2double_rz(x: Value) -> tensor:
    """uint64 as float64, rounded toward zero."""
    return integer_to_double(_of_type(x, uint64), "z")


@library_function
def ull2double_rd(x: Value) -> tensor:
    """uint64 as float64, rounded down."""
    return integer_to_double(_of_type(x, uint64), "d")


@library_function
def ull2double_ru(x: Value) -> tensor:
    """uint64 as float64, rounded up."""
    return integer_to_double(_of_type(x, uint64), "u")


@library_function
def double2float_rn(x: Value) -> tensor:
    """float64 as float32, rounded to nearest."""
    return _of_type(x, float64).to(float32)


@library_function
def double2float_rz(x: Value) -> tensor:
    """float64 as float32, rounded toward zero."""
    return narrow(_of_type(x, float64), 0.0, "z")


@library_function
def double2float_rd(x: Value) -> tensor:
    """float64 as float32, rounded down."""
    return narrow(_of_type(x, float64), 0.0, "d")


@library_function
def double2float_ru(x: Value) -> tensor:
    """float64 as float32, rounded up."""
    return narrow(_of_type(x, float64), 0.0, "u")


@library_function
def llrint(x: Value) -> tensor:
    """The nearest integer as int64, ties to even."""
    return rint(x).to(int64)


@library_function
def llround(x: Value) -> tensor:
    """The nearest integer as int64, ties away from 0."""
    return round(x).to(int64)




@library_function
def int_as_float(x: Value) -> tensor:
    """The bits of int32 as float32."""
    return _of_type(x, int32).to(float32, bitcast=True)


@library_function
def uint_as_float(x: Value) -> tensor:
    """The bits of uint32 as float32."""
    return _of_type(x, uint32).to(float32, bitcast=True)


@library_function
def float_as_int(x: Value) -> tensor:
    """The bits of float32 as int32."""
    return _of_type(x, float32).to(int32, bitcast=True)


@library_function
def float_as_uint(x: Value) -> tensor:
    """The bits of float32 as uint32."""
    return _of_type(x, float32).to(uint32, bitcast=True)


@library_function
def longlong_as_double(x: Value) -> tensor:
    """The bits of int64 as float64."""
    return _of_type(x, int64).to(float64, bitcast=True)


@library_function
def double_as_longlong(x: Value) -> tensor:
    """The bits of float64 as int64."""
    return _of_type(x, float64).to(int64, bitcast=True)


@library_function
def hiloint2double(high: Value, low: Value) -> tensor:
    """The float64 of two int32 halves of its bits."""
    upper = to_tensor(high).to(int64) << 32
    return (upper | (to_tensor(low).to(int64) & 0xFFFFFFFF)).to(float64, bitcast=True)


@library_function
def double2loint(x: Value) -> tensor:
    """The lower 32 bits of float64 as int32."""
    return bits_of(_of_type(x, float64)).to(int32)


@library_function
def double2hiint(x: Value) -> tensor:
    """The upper 32 bits of float64 as int32."""
    return (bits_of(_of_type(x, float64)) >> 32).to(int32)




lrint, lround = llrint, llround

__all__ = [
    "double2float_rd", "double2float_rn", "double2float_ru", "double2float_rz", "double2hiint",
    "double2int_rd", "double2int_rn", "double2int_ru", "double2int_rz", "double2ll_rd",
    "double2ll_rn", "double2ll_ru", "double2ll_rz", "double2loint", "double2uint_rd",
    "double2uint_rn", "double2uint_ru", "double2uint_rz", "double2ull_rd", "double2ull_rn",
    "double2ull_ru", "double2ull_rz", "double_as_longlong", "float2int_rd", "float2int_rn",
    "float2int_ru", "float2int_rz", "float2ll_rd", "float2ll_rn", "float2ll_ru", "float2ll_rz",
    "float2uint_rd", "float2uint_rn", "float2uint_ru", "float2uint_rz", "float2ull_rd",
    "float2ull_rn", "float2ull_ru", "float2ull_rz", "float_as_int", "float_as_uint",
    "hiloint2double", "int2double_rn", "int2float_rd", "int2float_rn", "int2float_ru",
    "int2float_rz", "int_as_float", "ll2double_rd", "ll2double_rn", "ll2double_ru", "ll2double_rz",
    "ll2float_rd", "ll2float_rn", "ll2float_ru", "ll2float_rz", "llrint", "llround",
    "longlong_as_double", "lrint", "lround", "uint2double_rn", "uint2float_rd", "uint2float_rn",
    "uint2float_ru", "uint2float_rz", "uint_as_float", "ull2double_rd", "ull2double_rn",
    "ull2double_ru", "ull2double_rz", "ull2float_rd", "ull2float_rn", "ull2float_ru",
    "ull2float_rz",
]  # fmt: skip
