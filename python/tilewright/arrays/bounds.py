"""How far each argument's memory reaches, for devices that check accesses.

A view that begins where its array begins, as x[:1000] does, reaches to its last element: what lies
beyond belongs to others. A view from somewhere within is also how a kernel is given a pointer to
step from in both directions, and reaches as far as its array. Bounds of "views" hold all views to
their own elements, bounds of "allocations" none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any

from ..native import knobs
from ..launch.arguments.memory import memory_of
from ..launch.arguments.problems import Memory
from ..launch.arguments.reinterpreted import Reinterpreted

BOUNDS = ("views", "allocations")

# (address of the first element, extents, strides in bytes, bytes of an element), by an array's type.
ShapedArray = tuple[int, Sequence[int], Iterable[int], int]
SHAPE_READERS: dict[type, Callable[[Any], ShapedArray]] = {}

# By device, from `tw.simulation.simulate`; the knob BOUNDS decides for all others.
chosen_bounds: ContextVar[Mapping[str, str]] = ContextVar("tilewright_bounds", default={})


def reach(address: int, shape: Sequence[int], strides: Iterable[int], size: int) -> tuple[int, int]:
    """The first byte of an array of at least one element and the one behind its last; strides in bytes."""
    low = high = address
    for extent, stride in zip(shape, strides):
        distance = (extent - 1) * stride
        low, high = low + min(distance, 0), high + max(distance, 0)
    return low, high + size


def _view_of(value: Any, memory: Memory, holds_all: bool) -> tuple[int, int, bool, int]:
    """An argument's memory and the bytes of the allocation before it."""
    base, size, is_read_only = memory
    while isinstance(value, Reinterpreted):
        value = value.base
    for cls in type(value).__mro__:
        if reader := SHAPE_READERS.get(cls):
            address, shape, strides, item_size = reader(value)
            if all(extent == 1 for extent in shape):
                break  # one element stands for a pointer into its array
            low, high = address, address
            if 0 not in shape:
                low, high = reach(address, shape, strides, item_size)
            if base <= low <= high <= base + size and (holds_all or low == base):
                return low, high - low, is_read_only, (low - base) % 256
            break
    return base, size, is_read_only, 0


def memories_of(
    device: str, values: Sequence[Any], bits: Sequence[Any]
) -> list[tuple[int, int, bool, int]]:
    """(address, bytes, is read-only, bytes of the allocation before) of each argument."""
    bounds = chosen_bounds.get().get(device) or knobs.settings().bounds
    memories = [memory_of(value, bit) for value, bit in zip(values, bits)]
    if bounds == "allocations":
        return [(*memory, 0) for memory in memories]
    holds_all = bounds == "views"
    return [_view_of(value, memory, holds_all) for value, memory in zip(values, memories)]
