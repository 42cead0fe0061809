"""Launches of kernels that other processes have asked for: what a worker does beside compiling.

The arrays are the worker's own: copies of the program's, or of random numbers where the program is on
another machine.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import random
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import native
from .clock import timed
from .packed import Specialization, compile_packed
from .targets import device_named

# Random numbers in [1, 2) by the type of elements: their bytes, and for the last of these what is kept of
# a random byte and what is set. Elements of other types are 0, which is a place in any array.
_EXPONENTS = {
    "fp64": (8, {7: (0x00, 0x3F), 6: (0x0F, 0xF0)}),
    "fp32": (4, {3: (0x00, 0x3F), 2: (0x7F, 0x80)}),
    "bf16": (2, {1: (0x00, 0x3F), 0: (0x7F, 0x80)}),
    "fp16": (2, {1: (0x03, 0x3C)}),
}
_SEED = 29


def run_packed(packed: Mapping[str, Any], launch: Mapping[str, Any]) -> dict[str, Any]:
    """Launch a packed request once where kernels run in this process's memory, on copies of its arrays that
    nothing lies behind.

    `launch` has the grid's `programs`, the `regions` of memory (a file with the bytes, how many, and
    the address modulo 64), and the `bits` of each parameter: a number, or [region, offset] of a
    pointer. The result has `reports` of a launch that failed, or `asked` as that of `compile_packed`.
    """
    kernel, result = _kernel_of(packed)
    if kernel is None:
        return result
    regions: list[Any] = []
    for file, size, alignment, _ in launch["regions"]:
        regions.append(GuardedMemory(size, alignment))
        with open(file, "rb") as content:
            content.readinto(regions[-1].bytes())
    device = packed["device"]
    report = _launcher(kernel, device, launch, regions)() or native().synchronize(device)
    return {"reports": [] if report is None else [dict(report)]}


def measure_packed(
    packed: Mapping[str, Any], launch: Mapping[str, Any], warmup: float, rep: float
) -> dict[str, Any]:
    """Measure a packed request on this machine, on arrays of random numbers between 1 and 2, and zeros for
    integers. The result has the milliseconds of launches as `times`, which together take `rep` after
    `warmup`; or `reports` or `asked` as that of `run_packed`."""
    kernel, result = _kernel_of(packed)
    if kernel is None:
        return result
    device = packed["device"]
    regions = [_random_region(device, size, at, kind) for _, size, at, kind in launch["regions"]]
    run = _launcher(kernel, device, launch, regions)
    times: list[float] = []
    for milliseconds in (0.0, warmup, rep):
        times, begin, now = [], time.perf_counter_ns(), 0
        while not times or now - begin < milliseconds * 1e6:
            report, taken = timed(lambda: run() or native().synchronize(device))
            now = time.perf_counter_ns()
            if report is not None:
                return {"reports": [dict(report)]}
            times.append(taken)
    return {"times": times}


def _launcher(
    kernel: Any, device: str, launch: Mapping[str, Any], regions: Sequence[Any]
) -> Callable[[], Any]:
    """A function that launches and gives the report of a failure."""
    bits = [
        regions[bit[0]].address + bit[1] if isinstance(bit, (list, tuple)) else bit
        for bit in launch["bits"]
    ]
    values, programs = tuple(None for _ in bits), tuple(launch["programs"])
    return lambda: native().launch(kernel, programs, bits, values, _ignore, None, 0, (), None)


def _ignore(value: Any) -> None:
    del value


def _kernel_of(packed: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The kernel, from the cache on disk or compiled once more; without one what to answer."""
    specialization = Specialization(*packed["specialization"]).native()
    cache = os.fsencode(packed["cache"]), bool(packed["cache"])
    digests = packed["meaning"], packed["exact"]
    kernel = native().find(*digests, specialization, packed["device"], *cache)
    if kernel is None:
        result = compile_packed(packed)
        if not result.get("content"):
            return None, result
        kernel = native().unpack(
            *digests, specialization, packed["device"], result["key"], result["content"], b"", False
        )
    return kernel, {}


class GuardedMemory:
    """Memory that ends with a page: an access behind it ends the process, as does one before its first
    page. Its address is the wanted one modulo 64, so that facts about alignment hold."""

    def __init__(self, size: int, alignment: int) -> None:
        self.size = size
        page, slack = mmap.PAGESIZE, -(size + alignment) % 64
        used = -(-(size + slack) // page) * page
        self._memory = mmap.mmap(-1, used + 2 * page)
        whole = ctypes.c_char.from_buffer(self._memory)
        begin = ctypes.addressof(whole)
        self.address = begin + page + used - slack - size
        for guard in (begin, begin + page + used):
            ctypes.CDLL(None).mprotect(ctypes.c_void_p(guard), page, 0)

    def bytes(self) -> Any:
        """The bytes, to write to."""
        return (ctypes.c_char * self.size).from_address(self.address)


def _random_region(device: str, size: int, alignment: int, kind: str) -> Any:
    """Memory of a device with random elements of a type."""
    content = random_bytes(size, kind)
    if not device_named(device).has_memory:
        region = GuardedMemory(size, alignment)
        memoryview(region.bytes()).cast("B")[:] = content
        return region
    memory, report = native().allocate(device, max(size, 1))  # at a multiple of 256 bytes
    if report is not None:
        raise MemoryError(report["message"])
    if size:
        memory.copy(content, False)
    return memory


def random_bytes(size: int, kind: str) -> bytearray:
    """The bytes of random numbers between 1 and 2 of a type; zeros for types that are no such floats."""
    if kind not in _EXPONENTS:
        return bytearray(size)
    width, masks = _EXPONENTS[kind]
    content = bytearray(random.Random(_SEED).randbytes(size))
    for place, (kept, wanted) in masks.items():
        table = bytes(byte & kept | wanted for byte in range(256))
        content[place::width] = content[place::width].translate(table)
    return content
