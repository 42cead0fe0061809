"""Arrays in the memory of a GPU, for tests and programs that have no framework with such arrays."""

from __future__ import annotations

from typing import Any

from ..launch.arguments import MEMORY_READERS, READERS, Memory, Reading, read_argument
from ..compile.facts import pointer_facts
from ..native.errors import raise_report
from ..native import native


class DeviceArray:
    """A copy of a NumPy array on a GPU, row-major: `x = DeviceArray(host); kernel[grid](x, ...)`.

    Raises LaunchError for a device without memory of its own, DeviceError where there is no driver
    or not enough memory.
    """

    def __init__(self, host: Any, device: str = "cuda:0") -> None:
        import numpy

        host = numpy.asarray(host)
        self.shape, self.dtype, self.device = host.shape, host.dtype, device
        self._memory, report = native().allocate(device, host.nbytes)
        if report is not None:
            raise_report(report)
        # The driver's allocations begin at multiples of 256 bytes.
        facts = pointer_facts(read_argument(host)[0].type, 16).on(device)
        self._facts = facts if host.ndim else facts.zero_dim
        self.assign(host)

    @property
    def nbytes(self) -> int:
        """Its size in bytes."""
        return self._memory.bytes

    @property
    def address(self) -> int:
        """Where it begins in the memory of the GPU."""
        return self._memory.address

    def assign(self, host: Any) -> None:
        """Copy new values of the same shape and dtype to the GPU. Raises ValueError for others."""
        import numpy

        host = numpy.ascontiguousarray(host)
        if (host.shape, host.dtype) != (self.shape or (1,), self.dtype):
            raise ValueError(f"an array of {self.dtype}{list(self.shape)} is needed")
        self._copy(host, is_to_host=False)

    def numpy(self) -> Any:
        """The values in a new NumPy array. Waits for the kernels of the default stream, and raises
        DeviceError for one that failed."""
        import numpy

        host = numpy.empty(self.shape, self.dtype)
        self._copy(host, is_to_host=True)
        return host

    def _copy(self, host: Any, is_to_host: bool) -> None:
        report = self._memory.copy(host.reshape(-1).view("uint8"), is_to_host)
        if report is not None:
            raise_report(report)

    def __repr__(self) -> str:
        return f"<array of {self.dtype}{list(self.shape)} on {self.device}>"


def _read(array: DeviceArray) -> Reading:
    return array._facts, array.address  # pyright: ignore[reportPrivateUsage]


def _memory(array: DeviceArray) -> Memory:
    return array.address, array.nbytes, False


READERS[DeviceArray] = _read
MEMORY_READERS[DeviceArray] = _memory
