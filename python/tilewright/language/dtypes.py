"""Element types, pointer types and the classes that stand for a program's values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from ..native.errors import nearest
from .element_types import ELEMENT_TYPES, ElementType
from .marks import Anything, constexpr_function, refuse_outside_kernel

_VOID = ElementType("void", "void", "void", 0, "", "", -1, "")
_BY_NAME = {name: row for row in (_VOID, *ELEMENT_TYPES) for name in row[:2]}


def _of_kinds(*kinds: str) -> list[str]:
    rows = [row for row in ELEMENT_TYPES if row.kind in kinds]
    return [row.short_name if row.kind == "float" else row.name for row in rows]


# What other languages call them, for hints alone: Python's float has 64 bits, and torch's 32.
_MEANT = {
    "bool": "int1", "char": "int8", "short": "int16", "int": "int32", "long": "int64",
    "half": "float16", "float": "float32", "double": "float64",
}  # fmt: skip


class dtype:  # noqa: N801 (the language's name)
    """The type of one element. `tw.dtype("fp32")` equals `tw.float32`."""

    __tilewright_builtin__ = "dtype"

    # The types of each kind, for `map(tl.dtype, tl.dtype.SINT_TYPES)`, under the names that Triton has.
    SINT_TYPES: ClassVar[list[str]] = _of_kinds("sint")
    UINT_TYPES: ClassVar[list[str]] = _of_kinds("bool", "uint")
    FP_TYPES: ClassVar[list[str]] = _of_kinds("float")
    STANDARD_FP_TYPES: ClassVar[list[str]] = FP_TYPES[-4:]
    OTHER_TYPES: ClassVar[list[str]] = ["void"]

    name: str  # as in tw.float32
    short_name: str  # as in signatures: fp32, *bf16
    kind: str  # bool, sint, uint, float, pointer or void
    primitive_bitwidth: int
    fp_mantissa_width: int
    exponent_bias: int

    def __init__(self, name: str) -> None:
        if name not in _BY_NAME:
            close = _MEANT.get(name) or nearest(name, _BY_NAME)
            hint = f" (did you mean {close}?)" if close else ""
            known = ", ".join(("void", *(row.name for row in ELEMENT_TYPES)))
            raise ValueError(f"unknown dtype {name!r}{hint}; known are {known}")
        row = _BY_NAME[name]
        self.name, self.short_name, self.kind, self.primitive_bitwidth = row[:4]
        self.fp_mantissa_width, self.exponent_bias = row.mantissa_bits, row.exponent_bias

    def __repr__(self) -> str:
        return f"tilewright.{self.name}"

    def __str__(self) -> str:
        return self.short_name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, dtype) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __call__(self, value: object) -> NoReturn:
        del value
        refuse_outside_kernel(self.name)

    @property
    def scalar(self) -> dtype:
        """The element type itself."""
        return self

    @property
    def element_ty(self) -> dtype:
        """The type pointed to, of a pointer type; else the type itself."""
        return self

    @property
    def int_bitwidth(self) -> int:
        """Width in bits of an integer type."""
        return self.primitive_bitwidth

    @property
    def itemsize(self) -> int:
        """Bytes of one element in memory; int1 takes a whole byte."""
        return (self.primitive_bitwidth + 7) // 8

    @staticmethod
    def is_dtype(name: str) -> bool:
        """Whether `dtype(name)` is a type."""
        return name in _BY_NAME

    def get_int_max_value(self) -> int:
        """The largest number of an integer type; 1 of int1."""
        return (1 << (self.primitive_bitwidth - self.is_int_signed())) - 1

    def get_int_min_value(self) -> int:
        """The smallest number of an integer type."""
        return -(1 << (self.primitive_bitwidth - 1)) if self.is_int_signed() else 0

    def is_floating(self) -> bool:
        """True for every floating-point type."""
        return self.kind == "float"

    def is_standard_floating(self) -> bool:
        """True for float16, bfloat16, float32 and float64."""
        return self.is_floating() and self.primitive_bitwidth >= 16

    def is_fp8(self) -> bool:
        """True for the 8-bit floating-point types."""
        return self.is_floating() and self.primitive_bitwidth == 8

    def is_int(self) -> bool:
        """True for integers of either sign and int1."""
        return self.kind in ("bool", "sint", "uint")

    def is_int_signed(self) -> bool:
        """True for int8 to int64."""
        return self.kind == "sint"

    def is_int_unsigned(self) -> bool:
        """True for uint8 to uint64 and for int1, which is 0 or 1."""
        return self.kind in ("uint", "bool")

    def is_bool(self) -> bool:
        """True for int1."""
        return self.kind == "bool"

    def is_ptr(self) -> bool:
        """True for pointer types."""
        return self.kind == "pointer"

    def is_void(self) -> bool:
        """True for void."""
        return self.kind == "void"

    def is_block(self) -> bool:
        """False: a dtype has no shape."""
        return False

    def is_const(self) -> bool:
        """False for everything but pointers to constant memory."""
        return False

    # fmt: off
    def is_fp8e4nv(self) -> bool: return self.name == "float8e4nv"
    def is_fp8e4b8(self) -> bool: return self.name == "float8e4b8"
    def is_fp8e4b15(self) -> bool: return self.name == "float8e4b15"
    def is_fp8e5(self) -> bool: return self.name == "float8e5"
    def is_fp8e5b16(self) -> bool: return self.name == "float8e5b16"
    def is_fp16(self) -> bool: return self.name == "float16"
    def is_bf16(self) -> bool: return self.name == "bfloat16"
    def is_fp32(self) -> bool: return self.name == "float32"
    def is_fp64(self) -> bool: return self.name == "float64"
    def is_int1(self) -> bool: return self.name == "int1"
    def is_int8(self) -> bool: return self.name == "int8"
    def is_int16(self) -> bool: return self.name == "int16"
    def is_int32(self) -> bool: return self.name == "int32"
    def is_int64(self) -> bool: return self.name == "int64"
    def is_uint8(self) -> bool: return self.name == "uint8"
    def is_uint16(self) -> bool: return self.name == "uint16"
    def is_uint32(self) -> bool: return self.name == "uint32"
    def is_uint64(self) -> bool: return self.name == "uint64"
    # fmt: on


class pointer_type(dtype):  # noqa: N801
    """The type of a pointer to elements of `element_ty`."""

    __tilewright_builtin__ = "pointer_type"

    def __init__(self, element_ty: dtype, address_space: int = 1, const: bool = False) -> None:
        self._element_ty = element_ty
        self.address_space = address_space
        self._const = const
        self.name = f"pointer_type({element_ty.name})"
        self.short_name = f"*{'k' if const else ''}{element_ty.short_name}"
        self.kind = "pointer"
        self.primitive_bitwidth = 64
        self.fp_mantissa_width = self.exponent_bias = 0

    @property
    def element_ty(self) -> dtype:
        return self._element_ty

    def is_const(self) -> bool:
        """True when the memory pointed to is only read."""
        return self._const


class block_type:  # noqa: N801
    """The type of a tile: an element type and a shape. Kernels see it as `x.type`."""

    __tilewright_builtin__ = "block_type"

    def __init__(self, element_ty: dtype, shape: tuple[int, ...]) -> None:
        self.element_ty = element_ty
        self.shape: tuple[int, ...] = tuple(shape)

    @property
    def scalar(self) -> dtype:
        """The element type."""
        return self.element_ty

    @property
    def numel(self) -> int:
        """Number of elements."""
        count = 1
        for extent in self.shape:
            count *= extent
        return count

    def is_block(self) -> bool:
        """True: a tile type has a shape."""
        return True

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, block_type)
            and (self.element_ty, self.shape) == (other.element_ty, other.shape)
        )

    def __hash__(self) -> int:
        return hash((self.element_ty, self.shape))

    def __repr__(self) -> str:
        return f"<{list(self.shape)}, {self.element_ty}>"


class const:  # noqa: N801
    """Annotation of a pointer parameter through which the kernel only reads: `x: tw.const`."""


class tensor:  # noqa: N801
    """A run-time value of a kernel: a scalar, or a tile of static shape. Never made on the host.

    Operators work elementwise with broadcasting. Every function of the language whose first
    parameter is a tile is a method as well: `x.sum(axis=0)`, `x.to(tw.float16)`, `x.reshape(4, 8)`.
    """

    __tilewright_builtin__ = "tensor"

    dtype: dtype
    shape: tuple[int, ...]
    type: block_type | dtype
    numel: int
    T: tensor

    def __init__(self) -> None:
        refuse_outside_kernel("tensor")

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)

    def _operator(self, *operands: Any) -> tensor:
        del operands
        refuse_outside_kernel("tensor")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _operator
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _operator
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _operator
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _operator
    __lt__ = __le__ = __gt__ = __ge__ = __neg__ = __pos__ = __invert__ = __getitem__ = _operator

    if TYPE_CHECKING:  # `x == y` is a tile, and `range(n)` takes a run-time scalar
        def __eq__(self, other: Any) -> tensor: ...  # pyright: ignore
        def __ne__(self, other: Any) -> tensor: ...  # pyright: ignore
        def __index__(self) -> int: ...

        from .methods import argmax, argmin, cumprod, cumsum, flip, histogram, item, logical_and
        from .methods import logical_or, max, min, ravel, reduce_or, sigmoid, softmax, sort
        from .methods import squeeze, sum, topk, unsqueeze, xor_sum
        from .tile import associative_scan, broadcast_to, cast, expand_dims, gather, permute, reduce
        from .tile import cast as to, reshape, split, trans, view


void: dtype = dtype("void")
if TYPE_CHECKING:  # they annotate parameters, too: `n: tw.int64`
    int1 = int8 = int16 = int32 = int64 = uint8 = uint16 = uint32 = uint64 = Anything.value
    float8e5 = float8e5b16 = float8e4nv = float8e4b8 = float8e4b15 = Anything.value
    float16 = bfloat16 = float32 = float64 = Anything.value
else:
    globals().update({row.name: dtype(row.name) for row in ELEMENT_TYPES})
pi32_t: pointer_type = pointer_type(int32)


def str_to_ty(name: str) -> dtype:
    """The type of a signature entry: `fp32`, `*bf16`, `*ki8` (constant memory)."""
    if not name.startswith("*"):
        return dtype(name)
    is_const = name.startswith("*k")
    return pointer_type(str_to_ty(name[2:] if is_const else name[1:]), const=is_const)


@constexpr_function
def get_int_dtype(bitwidth: int, signed: bool) -> dtype:
    """The integer type of a width in bits: 1 (int1), 8, 16, 32 or 64."""
    return dtype("int1" if bitwidth == 1 else f"{'' if signed else 'u'}int{bitwidth}")

__all__ = [
    "bfloat16", "block_type", "const", "dtype", "float16", "float32", "float64", "float8e4b15",
    "float8e4b8", "float8e4nv", "float8e5", "float8e5b16", "get_int_dtype", "int1", "int16",
    "int32", "int64", "int8", "pi32_t", "pointer_type", "str_to_ty", "tensor", "uint16", "uint32",
    "uint64", "uint8", "void",
]  # fmt: skip
