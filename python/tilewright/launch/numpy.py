"""How NumPy arrays and scalars are read as kernel arguments. Imported only when one is passed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy

from .arguments import (
    MEMORY_READERS,
    SPAN_READERS,
    ArgumentProblem,
    Memory,
    Reading,
    read_argument,
    unknown_element_type,
)
from .bounds import SHAPE_READERS, ShapedArray, reach
from .facts import facts_of_memory

_POINTEES = {
    "|b1": "i1", "|i1": "i8", "<i2": "i16", "<i4": "i32", "<i8": "i64",
    "|u1": "u8", "<u2": "u16", "<u4": "u32", "<u8": "u64",
    "<f2": "fp16", "<f4": "fp32", "<f8": "fp64",
}  # fmt: skip

# Of the package ml_dtypes, by name, so that it need not be imported.
_EXTENSION_POINTEES = {
    "bfloat16": "bf16", "float8_e4m3fn": "fp8e4nv", "float8_e5m2": "fp8e5",
    "float8_e4m3fnuz": "fp8e4b8", "float8_e5m2fnuz": "fp8e5b16",
}  # fmt: skip


def _read_array(array: Any) -> Reading:
    interface = array.__array_interface__
    address, is_read_only = interface["data"]
    pointee = _POINTEES.get(interface["typestr"]) or _extension_type(array)
    is_zero_dim = not array.ndim
    return facts_of_memory(pointee, address, array.nbytes, is_read_only, is_zero_dim), address


def _extension_type(array: Any) -> str:
    pointee = _EXTENSION_POINTEES.get(array.dtype.name)
    if pointee is not None and array.dtype.isnative:
        return pointee
    if not array.dtype.isnative:
        raise ArgumentProblem(
            "TW0406",
            f"arrays of dtype {array.dtype}, whose bytes are swapped, cannot be passed to a kernel",
            "pass array.astype(array.dtype.newbyteorder('='))",
        )
    raise unknown_element_type(f"dtype {array.dtype}")


def _refuse_masked(array: Any) -> Reading:
    raise ArgumentProblem(
        "TW0405",
        "it is a masked array, and a kernel would ignore its mask",
        "pass array.filled(value), or array.data and array.mask as two arguments",
    )


def _memory(array: Any) -> Memory:
    """The memory of the array that owns what this one is a view of."""
    is_read_only = not array.flags.writeable
    owner: Any = array
    part: Any = array
    while (part := getattr(part, "base", None)) is not None:
        if isinstance(part, numpy.ndarray):
            owner = part
    address, shape, strides, size = _shape(owner)
    low, high = reach(address, shape, strides, size) if owner.size else (address, address)
    return low, high - low, is_read_only


def _shape(array: Any) -> ShapedArray:
    return array.__array_interface__["data"][0], array.shape, array.strides, array.itemsize


def _span(array: Any, address: int) -> tuple[int, int]:
    if array.base is None:  # the owner of its memory, which is contiguous
        return address, address + array.nbytes
    base, size, _ = _memory(array)
    return base, base + size


def _read_scalar(value: Any) -> Reading:
    # A NumPy scalar is passed like the Python number that it stands for.
    number = value.item()
    if not isinstance(number, (bool, int, float)):
        raise unknown_element_type(f"dtype {value.dtype}")
    return read_argument(number)


def register(readers: dict[type, Callable[[Any], Reading]]) -> None:
    """Add NumPy's types to the readers."""
    readers[numpy.ndarray] = _read_array
    if masked := sys.modules.get("numpy.ma"):
        readers[masked.MaskedArray] = _refuse_masked
    readers[numpy.generic] = _read_scalar
    # Some scalars are subclasses of Python's numbers and would be found as such first.
    readers[numpy.float64] = _read_scalar
    MEMORY_READERS[numpy.ndarray] = _memory
    SPAN_READERS[numpy.ndarray] = _span
    SHAPE_READERS[numpy.ndarray] = _shape
