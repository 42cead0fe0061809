"""What stands for arguments of which only types are known."""

from __future__ import annotations

from typing import Any

from ..compile.facts import pointer_facts, scalar_facts
from ..language.dtypes import dtype
from ..native.above import above
from ..native.targets import gpu_of_torch
from ..launch.arguments import READERS, Reading, unknown_element_type

# An extent of which nothing can be assumed: neither 1 nor divisible by 16.
_ANY_EXTENT = 19


class AnyArray:
    """Stands for an array of a dtype of torch, with so many dimensions, on a device of torch."""

    def __init__(self, element_type: Any, rank: int, device: Any) -> None:
        self.element_type, self.device = element_type, device  # a dtype of torch, or ours
        self.shape = (_ANY_EXTENT,) * rank

    def stride(self) -> tuple[int, ...]:
        """Strides of which nothing can be assumed."""
        return self.shape

    def place(self) -> str:
        """The GPU that has its memory, by its name; empty for the host."""
        if self.device.type in ("cpu", "meta"):
            return ""
        return gpu_of_torch(self.device.type, self.device.index or 0)


class AnyNumber:
    """Stands for a number of a type."""

    def __init__(self, type: str) -> None:
        self.type = type

    def __index__(self) -> int:
        return _ANY_EXTENT


def _read_array(value: AnyArray) -> Reading:
    element_type = value.element_type
    try:
        if not isinstance(element_type, dtype):
            element_type = above("from_torch")(element_type)
    except KeyError:
        raise unknown_element_type(str(element_type)) from None
    facts = pointer_facts(element_type.short_name).on(value.place())
    return (facts if value.shape else facts.zero_dim), 0


def _read_number(value: AnyNumber) -> Reading:
    return scalar_facts(value.type), 0


READERS[AnyArray] = _read_array
READERS[AnyNumber] = _read_number
