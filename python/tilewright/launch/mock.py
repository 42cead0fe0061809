"""What stands for an array where a kernel is compiled and nothing runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .arguments import READERS, ArgumentProblem, Reading
from ..compile.facts import pointer_facts
from .devices import current_device, place_of
from ..language.dtypes import dtype
from .parameters import Parameter


class MockTensor:
    """Stands for an aligned array of a dtype in `kernel.warmup(MockTensor(torch.float32), ...)`."""

    def __init__(self, dtype: Any, shape: Sequence[int] | None = None) -> None:
        self.dtype = dtype
        self.shape = [1] if shape is None else list(shape)

    @staticmethod
    def wrap_dtype(arg: Any) -> Any:
        """A torch dtype as the array that it stands for; anything else as it is."""
        return MockTensor(arg) if _is_torch_dtype(arg) else arg

    def stride(self) -> tuple[int, ...]:
        """The strides of a row-major array of the shape, in elements."""
        strides = [1]
        for extent in reversed(self.shape[1:]):
            strides.append(strides[-1] * extent)
        return tuple(reversed(strides))

    @staticmethod
    def data_ptr() -> int:
        """No address: nothing may be launched with this."""
        return 0

    def __repr__(self) -> str:
        return f"MockTensor({self.dtype}, {self.shape})"


class StandIn:
    """The array that a warm-up takes for granted."""

    def __init__(self, element_type: Any) -> None:
        self.element_type = element_type


def _is_torch_dtype(value: object) -> bool:
    return (type(value).__module__, type(value).__name__) == ("torch", "dtype")


def stand_in(value: Any, parameter: Parameter) -> Any:
    """What a warm-up reads for an argument: a stand-in for what has a dtype and no memory."""
    if parameter.is_constant:
        return value
    if isinstance(value, MockTensor):
        return StandIn(value.dtype)
    if _is_torch_dtype(value):
        return StandIn(value)
    has_no_memory = getattr(value, "is_meta", False) or type(value).__name__ == "FakeTensor"
    return StandIn(value.dtype) if has_no_memory else value


def _read_stand_in(value: StandIn) -> Reading:
    element_type = value.element_type
    if not isinstance(element_type, dtype):
        from .arguments.torch import from_torch

        try:
            element_type = from_torch(element_type)
        except KeyError:
            raise ArgumentProblem(
                "TW0406", f"arrays of {element_type} cannot be passed to a kernel"
            ) from None
    return pointer_facts(element_type.short_name, 16).on(place_of(current_device())), 0


def _read_mock(value: MockTensor) -> Reading:
    raise ArgumentProblem(
        "TW0405",
        f"{value!r} has no memory",
        "it stands for an array in kernel.warmup(...); launch with arrays",
    )


READERS[StandIn] = _read_stand_in
READERS[MockTensor] = _read_mock
