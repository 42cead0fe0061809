"""Names of `tw.libdevice`: conversions between numbers, with their rounding, and between bits."""

# Kernel code follows the type rules of the language, not those of Python:
# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportIndexIssue=false, reportOptionalMemberAccess=false
# pyright: reportAttributeAccessIssue=false, reportGeneralTypeIssues=false, reportReturnType=false
from __future__ import annotations

from collections.abc import Callable

from ..language.dtypes import dtype, float32, float64, int32, int64, tensor, uint32, uint64
from ..language.elementwise import rint, round
from ..language.marks import library_function, named_function
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


_Conversion = Callable[[Value], tensor]
# The types that names begin with and, behind `2`, lead to.
_TYPES: dict[str, dtype] = {
    "int": int32, "uint": uint32, "ll": int64, "ull": uint64, "float": float32, "double": float64,
}  # fmt: skip
# The letters that names end in, and what they say.
_HOW = {"n": "to nearest", "z": "toward zero", "d": "down", "u": "up"}
_Maker = Callable[[dtype, dtype, str], _Conversion]


def _rounding(name: str, make: _Maker) -> list[_Conversion]:
    """The functions `name` + _rn, _rz, _rd and _ru, which `make` defines for two types and a letter."""
    source, target = (_TYPES[part] for part in name.split("2"))
    made = []
    for mode, how in _HOW.items():
        text = f"{source.name} as {target.name}, rounded {how}."
        made.append(named_function(make(source, target, mode), f"{name}_r{mode}", text))
    return made


def _to_integer(source: dtype, target: dtype, mode: str) -> _Conversion:
    def convert(x: Value) -> tensor:
        return rounded(_of_type(x, source), mode).to(target)

    return convert


def _to_float(source: dtype, target: dtype, mode: str) -> _Conversion:
    directed = _directed_to(source, target)

    def convert(x: Value) -> tensor:
        return directed(_of_type(x, source), mode)

    def convert_to_nearest(x: Value) -> tensor:
        return _of_type(x, source).to(target)

    return convert_to_nearest if mode == "n" else convert


@library_function
def _double_to_float(x: Value, mode: constexpr) -> tensor:
    return narrow(x, 0.0, mode)


def _directed_to(source: dtype, target: dtype) -> Callable[..., tensor]:
    if source == float64:
        return _double_to_float
    return integer_to_float if target == float32 else integer_to_double


def _bits(name: str, source: dtype, target: dtype) -> _Conversion:
    def convert(x: Value) -> tensor:
        return _of_type(x, source).to(target, bitcast=True)

    return named_function(convert, name, f"The bits of {source.name} as {target.name}.")


float2int_rn, float2int_rz, float2int_rd, float2int_ru = _rounding("float2int", _to_integer)
float2uint_rn, float2uint_rz, float2uint_rd, float2uint_ru = _rounding("float2uint", _to_integer)
float2ll_rn, float2ll_rz, float2ll_rd, float2ll_ru = _rounding("float2ll", _to_integer)
float2ull_rn, float2ull_rz, float2ull_rd, float2ull_ru = _rounding("float2ull", _to_integer)
double2int_rn, double2int_rz, double2int_rd, double2int_ru = _rounding("double2int", _to_integer)
double2uint_rn, double2uint_rz, double2uint_rd, double2uint_ru = _rounding("double2uint", _to_integer)
double2ll_rn, double2ll_rz, double2ll_rd, double2ll_ru = _rounding("double2ll", _to_integer)
double2ull_rn, double2ull_rz, double2ull_rd, double2ull_ru = _rounding("double2ull", _to_integer)
int2float_rn, int2float_rz, int2float_rd, int2float_ru = _rounding("int2float", _to_float)
uint2float_rn, uint2float_rz, uint2float_rd, uint2float_ru = _rounding("uint2float", _to_float)
ll2float_rn, ll2float_rz, ll2float_rd, ll2float_ru = _rounding("ll2float", _to_float)
ull2float_rn, ull2float_rz, ull2float_rd, ull2float_ru = _rounding("ull2float", _to_float)
ll2double_rn, ll2double_rz, ll2double_rd, ll2double_ru = _rounding("ll2double", _to_float)
ull2double_rn, ull2double_rz, ull2double_rd, ull2double_ru = _rounding("ull2double", _to_float)
double2float_rn, double2float_rz, double2float_rd, double2float_ru = _rounding("double2float", _to_float)
# Exact, so that there is nothing to round in another way.
int2double_rn, *_ = _rounding("int2double", _to_float)
uint2double_rn, *_ = _rounding("uint2double", _to_float)

int_as_float = _bits("int_as_float", int32, float32)
uint_as_float = _bits("uint_as_float", uint32, float32)
float_as_int = _bits("float_as_int", float32, int32)
float_as_uint = _bits("float_as_uint", float32, uint32)
longlong_as_double = _bits("longlong_as_double", int64, float64)
double_as_longlong = _bits("double_as_longlong", float64, int64)


@library_function
def llrint(x: Value) -> tensor:
    """The nearest integer as int64, ties to even."""
    return rint(x).to(int64)


@library_function
def llround(x: Value) -> tensor:
    """The nearest integer as int64, ties away from 0."""
    return round(x).to(int64)


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
