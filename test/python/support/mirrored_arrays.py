"""Launches on a GPU with arrays of the host: each launch copies the memory behind them to the GPU
and back, so that a test written for the CPU runs there unchanged."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from tilewright.launch.arguments import (
    MEMORY_READERS,
    READERS,
    ArgumentProblem,
    Memory,
    Reading,
    memory_of,
    read_argument,
)
from tilewright.compile.facts import Facts
from tilewright.launch.devices import chosen_device
from tilewright.native.errors import raise_report
from tilewright.launch.jit import JITFunction
from tilewright.native import native
from tilewright.native.targets import device_named

ALIGNMENT = 256  # of the driver's allocations


class Mirror:
    """The memory of one owner on the GPU. An address is aligned there as it is on the host."""

    def __init__(self, gpu: str, begin: int, size: int, is_read_only: bool) -> None:
        self.is_read_only = is_read_only
        self.host = np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(begin))
        self.offset = begin % ALIGNMENT
        self.memory, report = native().allocate(gpu, size + ALIGNMENT)
        check(report)
        self.shift = self.memory.address + self.offset - begin
        self.staging = np.zeros(self.memory.bytes, np.uint8)
        self.staging[self.offset : self.offset + size] = self.host
        check(self.memory.copy(self.staging, False))

    def copy_back(self) -> None:
        """Waits for the kernel; raises DeviceError where it failed."""
        check(self.memory.copy(self.staging, True))
        if not self.is_read_only:
            self.host[:] = self.staging[self.offset : self.offset + self.host.size]


class Moved:
    """Stands for an array of the host in a launch on the GPU."""

    def __init__(self, array: Any, reading: Reading, memory: Memory) -> None:
        self.array, self.reading, self.memory = array, reading, memory

    def __getattr__(self, name: str) -> Any:  # for grids that ask an array for its shape
        return getattr(self.array, name)


def check(report: Any) -> None:
    if report is not None:
        raise_report(report)


def launch(kernel: JITFunction, grid: Any, /, *args: Any, **kwargs: Any) -> Any:
    """JITFunction._launch, with arrays of the host where a GPU is chosen."""
    gpu = chosen_device()
    if not gpu or not device_named(gpu).has_memory:
        return plain_launch(kernel, grid, *args, **kwargs)
    mirrors: dict[tuple[int, int], Mirror] = {}

    def moved(value: Any) -> Any:
        try:
            facts, bits = read_argument(value)
        except ArgumentProblem:
            return value  # the launch says what is wrong with it
        if not isinstance(facts, Facts) or not facts.is_pointer or facts.place:
            return value
        begin, size, is_read_only = memory_of(value, bits)
        if not size:
            return Moved(value, (facts.on(gpu), 0), (0, 0, is_read_only))
        if (begin, size) not in mirrors:
            mirrors[begin, size] = Mirror(gpu, begin, size, is_read_only)
        shift = mirrors[begin, size].shift
        return Moved(value, (facts.on(gpu), int(bits) + shift), (begin + shift, size, is_read_only))

    values = [moved(value) for value in args]
    named = {name: moved(value) for name, value in kwargs.items()}
    compiled = plain_launch(kernel, grid, *values, **named)
    for mirror in mirrors.values():
        mirror.copy_back()
    return compiled


plain_launch = JITFunction._launch
READERS[Moved] = lambda moved: moved.reading
MEMORY_READERS[Moved] = lambda moved: moved.memory
