"""What stands for an array where a kernel is compiled and nothing runs."""

from __future__ import annotations

from typing import Any

from .arguments import READERS, ArgumentProblem, Reading
from ..compile.facts import pointer_facts
from .devices import current_device, place_of
from ..language.dtypes import dtype
from ..native.above import above
from .parameters import Parameter


class StandIn:
    """The array that a warm-up takes for granted. What derives from it stands for one and is read
    otherwise by launches."""

    def __init__(self, element_type: Any) -> None:
        self.element_type = element_type


def is_torch_dtype(value: object) -> bool:
    """Returns true for a dtype of torch, which may not be loaded."""
    return (type(value).__module__, type(value).__name__) == ("torch", "dtype")


def stand_in(value: Any, parameter: Parameter) -> Any:
    """What a warm-up reads for an argument: a stand-in for what has a dtype and no memory."""
    if parameter.is_constant:
        return value
    if isinstance(value, StandIn):
        return StandIn(value.element_type)
    if is_torch_dtype(value):
        return StandIn(value)
    has_no_memory = getattr(value, "is_meta", False) or type(value).__name__ == "FakeTensor"
    return StandIn(value.dtype) if has_no_memory else value


def _read_stand_in(value: StandIn) -> Reading:
    element_type = value.element_type
    if not isinstance(element_type, dtype):
        try:
            element_type = above("from_torch")(element_type)
        except KeyError:
            raise ArgumentProblem(
                "TW0406", f"arrays of {element_type} cannot be passed to a kernel"
            ) from None
    return pointer_facts(element_type.short_name, 16).on(place_of(current_device())), 0


READERS[StandIn] = _read_stand_in
