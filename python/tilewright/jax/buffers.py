"""What stands for a buffer of XLA while a call is traced: its type and shape, at an address of its own."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..compile.facts import facts_of_memory
from ..language.element_types import ELEMENT_TYPES
from ..launch.arguments import READERS, Reading, unknown_element_type
from ..launch.arguments.memory import SPAN_READERS
from ..native.errors import LaunchError

# By the names of NumPy and ml_dtypes, which are JAX's, too.
_POINTEES = {row.library: row.short_name for row in ELEMENT_TYPES if row.library}
_SPACING = 1 << 44  # bytes between the addresses of two buffers


class Circumstances(NamedTuple):
    """Facts of the buffers of a run: where they are, whether all addresses are multiples of 16,
    whether what the kernel writes shares no memory with anything else, and whether tensor maps may
    describe them."""

    place: str = ""  # the GPU by its name; empty: the host
    is_aligned: bool = True
    is_apart: bool = True
    has_maps: bool = True


class Buffer:
    """Stands for the buffer of a parameter: row-major and dense."""

    def __init__(self, number: int, shape: tuple[int, ...], dtype: Any, where: Circumstances) -> None:
        self.number, self.shape, self.dtype = number, shape, dtype
        self.ndim, self.itemsize, self.size, self.where = len(shape), int(dtype.itemsize), 1, where
        for extent in shape:
            self.size *= extent
        self.nbytes = self.size * self.itemsize
        self.address = _SPACING * (number + 1 if where.is_apart else 1) + (not where.is_aligned)

    def stride(self) -> tuple[int, ...]:
        """Elements from one index to the next, of each dimension."""
        strides, step = [0] * self.ndim, 1
        for axis in reversed(range(self.ndim)):
            strides[axis], step = step, step * self.shape[axis]
        return tuple(strides)


def _read(value: Buffer) -> Reading:
    pointee = _POINTEES.get(value.dtype.name)
    if pointee is None:
        raise unknown_element_type(f"dtype {value.dtype}")
    facts = facts_of_memory(pointee, value.address, value.nbytes, is_zero_dim=not value.ndim)
    return facts.on(value.where.place), value.address


def _span(value: Buffer, address: int) -> tuple[int, int]:
    return address, address + value.nbytes


READERS[Buffer] = _read
SPAN_READERS[Buffer] = _span


class Spec(NamedTuple):
    """The shape and the dtype (of NumPy or ml_dtypes) of an array."""

    shape: tuple[int, ...]
    dtype: Any


def spec_of(value: Any, what: str) -> Spec:
    """The spec of an array, a jax.ShapeDtypeStruct or a pair (shape, dtype). Raises LaunchError TW0444."""
    import numpy

    if hasattr(value, "shape") and hasattr(value, "dtype"):
        shape, dtype = value.shape, value.dtype
    elif is_pair(value):
        shape, dtype = value
    else:
        raise LaunchError(
            f"{what} is {value!r}, and not a shape and dtype",
            code="TW0444",
            hint="give a jax.ShapeDtypeStruct, or a pair such as ((4, 8), 'float32')",
        )
    shape = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    try:
        extents = tuple(int(extent) for extent in shape)
    except Exception:
        raise LaunchError(
            f"{what} has the shape {shape}, whose extents have no values while JAX traces it",
            code="TW0444",
            hint="kernels are compiled for shapes: export the function for each of them",
        ) from None
    name = getattr(dtype, "name", dtype)
    try:
        element = numpy.dtype(dtype)
        check_width(element, what)
    except TypeError:
        raise LaunchError(
            f"{what} has the dtype {name!r}, which JAX does not know", code="TW0444"
        ) from None
    return Spec(extents, element)


def check_width(element: Any, what: str) -> None:
    """Refuse a dtype that JAX takes for a narrower one: an array would have half the bytes that the kernel
    reads or writes. Raises LaunchError TW0444."""
    import jax

    held = jax.dtypes.canonicalize_dtype(element)
    if held != element:
        raise LaunchError(
            f"{what} is of {element}, which JAX takes for {held}",
            code="TW0444",
            hint="set jax_enable_x64, or use a dtype of 32 bits",
        )


def is_pair(value: Any) -> bool:
    """Returns true for (shape, dtype)."""
    if not isinstance(value, tuple) or len(value) != 2:
        return False
    shape, dtype = value
    is_shape = isinstance(shape, (int, tuple, list)) and not isinstance(shape, bool)
    is_spec = hasattr(dtype, "shape") and not isinstance(dtype, type)
    return is_shape and not (isinstance(dtype, (tuple, list)) or is_spec and not hasattr(dtype, "itemsize"))
