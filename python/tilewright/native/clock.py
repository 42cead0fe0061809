"""Times calls by the clock of the device that they launch on, where it has one."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from . import native

_Result = TypeVar("_Result")


def timed(run: Callable[[], _Result]) -> tuple[_Result, float]:
    """Run a function that waits for what it launches. Gives its result, and its milliseconds: what kernels
    ran by the clock of a device that times its launches (OpenCL's events), else the host's."""
    clock = native().kernel_nanoseconds
    before, start = clock(), time.perf_counter_ns()
    result = run()
    end = time.perf_counter_ns()
    return result, ((clock() - before) or (end - start)) / 1e6
