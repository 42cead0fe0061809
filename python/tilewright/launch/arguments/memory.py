"""The memory behind arguments, and what its owner is told of writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .arrays import OwnedAddress
from .problems import Memory, NO_MEMORY
from .reinterpreted import Reinterpreted

# What else becomes of an array that a kernel writes, by type: None where nothing does.
WRITE_MARKERS: dict[type, Callable[[Any], None] | None] = {}


def mark_written(value: Any) -> None:
    """Tell the library that an array is of that a kernel writes it."""
    kind = type(value)
    if kind not in WRITE_MARKERS:
        known = (WRITE_MARKERS[cls] for cls in kind.__mro__ if cls in WRITE_MARKERS)
        WRITE_MARKERS[kind] = next(known, None)
    marker = WRITE_MARKERS[kind]
    if marker is not None:
        marker(value)


def _mark_base(value: Reinterpreted) -> None:
    mark_written(value.base)


WRITE_MARKERS[Reinterpreted] = _mark_base

# The memory behind arguments of a type, for devices that check every access.
MEMORY_READERS: dict[type, Callable[[Any], Memory]] = {}


def memory_of(value: Any, bits: Any) -> Memory:
    """The memory that an argument may reach; NO_MEMORY of numbers."""
    if isinstance(bits, OwnedAddress):
        return bits.memory
    while isinstance(value, Reinterpreted):
        value = value.base
    for cls in type(value).__mro__:
        if cls in MEMORY_READERS:
            return MEMORY_READERS[cls](value)
    return NO_MEMORY


# (value, address) -> (begin, end) of memory that meets the memory of every other argument that
# shares an allocation with this one, without the cost of reading the allocation where it can be.
SPAN_READERS: dict[type, Callable[[Any, int], tuple[int, int]]] = {}


def _read_span(value: Any, address: int) -> tuple[int, int]:
    base, size, _ = memory_of(value, address)
    return base, base + size


def _span_of_base(value: Reinterpreted, address: int) -> tuple[int, int]:
    return span_of(value.base, address)


SPAN_READERS[Reinterpreted] = _span_of_base


def span_of(value: Any, address: int) -> tuple[int, int]:
    """The memory of a pointer argument, for finding overlaps; empty when it is not known."""
    reader = SPAN_READERS.get(type(value))
    if reader is None:
        known = (SPAN_READERS[cls] for cls in type(value).__mro__ if cls in SPAN_READERS)
        reader = SPAN_READERS[type(value)] = next(known, _read_span)
    return reader(value, address)
