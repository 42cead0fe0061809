"""How NumPy arrays and scalars are read as kernel arguments. Imported only when one is passed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy

from ..compile.facts import facts_of_memory
from ..language.element_types import ELEMENT_TYPES
from ..native import native
from .bounds import SHAPE_READERS, ShapedArray, reach
from ..launch.arguments.memory import MEMORY_READERS, SPAN_READERS
from ..launch.arguments.problems import ArgumentProblem, Memory, Reading, unknown_element_type
from ..launch.arguments.reading import read_argument

_POINTEES = {
    numpy.dtype(row.library).str: row.short_name for row in ELEMENT_TYPES if row.is_of_numpy
}
# Of the package ml_dtypes, by name, so that it need not be imported.
_EXTENSION_POINTEES = {
    row.library: row.short_name for row in ELEMENT_TYPES if row.library and not row.is_of_numpy
}

# What NumPy has, whatever a subclass says of itself.
_interface_of: Callable[[Any], dict[str, Any]] = numpy.ndarray.__array_interface__.__get__


def _read_array(array: Any) -> Reading:
    interface = _interface_of(array)
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
    low, high, _ = _owned(array)
    return low, high - low, not array.flags.writeable


def _owned(array: Any) -> tuple[int, int, Any]:
    """The begin and end of that memory, and what the owner was made from if that is not an array."""
    owner: Any = array
    part: Any = array
    origin: Any = None
    while (part := getattr(part, "base", None)) is not None:
        if isinstance(part, numpy.ndarray):
            owner, origin = part, None
        else:
            origin = part
    return *_bounds(owner, _interface_of(owner)["data"][0]), origin


def _bounds(array: Any, address: int) -> tuple[int, int]:
    """The addresses from the lowest to behind the highest element."""
    if array.flags.c_contiguous:
        return address, address + array.nbytes
    return reach(address, array.shape, array.strides, array.itemsize)


def _shape(array: Any) -> ShapedArray:
    return _interface_of(array)["data"][0], array.shape, array.strides, array.itemsize


def _span(array: Any, address: int) -> tuple[int, int]:
    if array.base is None:  # the owner of its memory, which is contiguous
        return address, address + array.nbytes
    low, high, origin = _owned(array)
    _check_reach(_bounds(array, address), (low, high))
    if origin is not None:
        _check_reach((low, high), _exported(origin))
    return low, high


def _exported(part: Any) -> tuple[int, int]:
    """The memory of what an array was made from, empty where it does not tell."""
    try:
        view = memoryview(part)
    except (TypeError, ValueError, BufferError):
        return 0, 0
    _, base, size, _, _ = native().describe_buffer(view)
    return base, base + size


def _check_reach(reach: tuple[int, int], memory: tuple[int, int]) -> None:
    """Refuse an array of which only a part is in the memory of what it was made from: NumPy believes
    `__array_interface__` and as_strided. One that is elsewhere altogether may only keep that alive."""
    (low, high), (begin, end) = reach, memory
    if low < end and begin < high and not begin <= low <= high <= end:
        raise ArgumentProblem(
            "TW0405",
            f"the array has elements from byte {low - begin} to byte {high - begin} of memory that has "
            f"{end - begin} bytes",
            "give as_strided, or the __array_interface__ that it was made from, the shape and strides of "
            "what is there",
        )


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
