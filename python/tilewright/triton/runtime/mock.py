"""`triton.MockTensor`: what stands for an array where a kernel is compiled and nothing runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.launch.arguments import READERS, ArgumentProblem, Reading
from tilewright.launch.stand_ins import StandIn, is_torch_dtype


class MockTensor(StandIn):
    """Stands for an aligned array of a dtype in `kernel.warmup(MockTensor(torch.float32), ...)`."""

    def __init__(self, dtype: Any, shape: Sequence[int] | None = None) -> None:
        super().__init__(dtype)
        self.dtype = dtype
        self.shape = [1] if shape is None else list(shape)

    @staticmethod
    def wrap_dtype(arg: Any) -> Any:
        """A torch dtype as the array that it stands for; anything else as it is."""
        return MockTensor(arg) if is_torch_dtype(arg) else arg

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


def _read_mock(value: MockTensor) -> Reading:
    raise ArgumentProblem(
        "TW0405",
        f"{value!r} has no memory",
        "it stands for an array in kernel.warmup(...); launch with arrays",
    )


READERS[MockTensor] = _read_mock
