"""The types of elements: one row for each, with the names that it has elsewhere.

`ir/tile/ElementTypes.td` has the columns that the compiler reads of the same rows; a test compares them.
"""

from __future__ import annotations

from typing import NamedTuple


class ElementType(NamedTuple):
    """A row."""

    name: str  # as in tw.float32
    short_name: str  # as in signatures: fp32, *bf16
    kind: str  # bool, sint, uint or float
    bits: int
    ir: str  # in Tile IR
    library: str  # as NumPy, ml_dtypes and torch call it; empty where they lack it
    dlpack: int  # of DLDataTypeCode (dlpack.h); -1 where that lacks it
    c10: str  # of c10::ScalarType
    xla: int = 0  # of XLA_FFI_DataType (xla/ffi/api/c_api.h); 0 where that lacks it
    onnx: int = 0  # of ONNXTensorElementDataType (onnxruntime_c_api.h); 0 where that lacks it
    mantissa_bits: int = 0  # explicit ones of floats
    exponent_bias: int = 0

    @property
    def is_of_numpy(self) -> bool:
        """True for types that NumPy has without ml_dtypes."""
        return bool(self.library) and not self.library.startswith(("bfloat", "float8"))

    @property
    def c_number(self) -> str:
        """C's type of a number that is passed: `float` of narrow floats, `int` of truth values."""
        if self.kind == "float":
            return "double" if self.bits == 64 else "float"
        prefix = "u" if self.kind == "uint" else ""
        return "int" if self.kind == "bool" else f"{prefix}int{self.bits}_t"


ELEMENT_TYPES = (
    ElementType("int1", "i1", "bool", 1, "i1", "bool", 6, "Bool", 1, 9),
    ElementType("int8", "i8", "sint", 8, "i8", "int8", 0, "Char", 2, 3),
    ElementType("int16", "i16", "sint", 16, "i16", "int16", 0, "Short", 3, 5),
    ElementType("int32", "i32", "sint", 32, "i32", "int32", 0, "Int", 4, 6),
    ElementType("int64", "i64", "sint", 64, "i64", "int64", 0, "Long", 5, 7),
    ElementType("uint8", "u8", "uint", 8, "i8", "uint8", 1, "Byte", 6, 2),
    ElementType("uint16", "u16", "uint", 16, "i16", "uint16", 1, "UInt16", 7, 4),
    ElementType("uint32", "u32", "uint", 32, "i32", "uint32", 1, "UInt32", 8, 12),
    ElementType("uint64", "u64", "uint", 64, "i64", "uint64", 1, "UInt64", 9, 13),
    ElementType("float8e4b15", "fp8e4b15", "float", 8, "i8", "", -1, "", 0, 0, 3, 15),
    ElementType(
        "float8e4nv", "fp8e4nv", "float", 8, "f8E4M3FN", "float8_e4m3fn", 10, "Float8_e4m3fn", 20, 17, 3, 7
    ),
    ElementType(
        "float8e4b8", "fp8e4b8", "float", 8, "f8E4M3FNUZ", "float8_e4m3fnuz", 11, "Float8_e4m3fnuz", 25, 18, 3, 8
    ),
    ElementType(
        "float8e5", "fp8e5", "float", 8, "f8E5M2", "float8_e5m2", 12, "Float8_e5m2", 19, 19, 2, 15
    ),
    ElementType(
        "float8e5b16", "fp8e5b16", "float", 8, "f8E5M2FNUZ", "float8_e5m2fnuz", 13, "Float8_e5m2fnuz", 24, 20, 2, 16
    ),
    ElementType("float16", "fp16", "float", 16, "f16", "float16", 2, "Half", 10, 10, 10, 15),
    ElementType("bfloat16", "bf16", "float", 16, "bf16", "bfloat16", 4, "BFloat16", 16, 16, 7, 127),
    ElementType("float32", "fp32", "float", 32, "f32", "float32", 2, "Float", 11, 1, 23, 127),
    ElementType("float64", "fp64", "float", 64, "f64", "float64", 2, "Double", 12, 11, 52, 1023),
)  # fmt: skip

# Short name -> its row.
BY_SHORT_NAME = {row.short_name: row for row in ELEMENT_TYPES}
# (code, bits) of DLPack -> short name.
OF_DLPACK = {(row.dlpack, row.bits if row.bits > 1 else 8): row.short_name for row in ELEMENT_TYPES if row.dlpack >= 0}
