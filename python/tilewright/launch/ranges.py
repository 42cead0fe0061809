"""Launches as named ranges: of torch's profiler while one is active, and of other tools that are asked to show
them."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from typing import Any

Range = contextlib.AbstractContextManager[Any]

# Each makes the range of a launch from its name. Warm launches look at the list as at those of hooks.
OPENED: list[Callable[[str], Range]] = []


def is_profiled() -> bool:
    """Returns true while a profiler of torch is active: torch.profiler, or one that emits NVTX or ITT."""
    profiler: Any = sys.modules.get("torch.autograd.profiler")
    return profiler is not None and getattr(profiler, "_is_profiler_enabled", False)


def range_of(name: str, programs: tuple[int, int, int]) -> Range:
    """The range of a launch, `NAME[X, Y, Z]` by its kernel and grid. It ends when the launch fails, too."""
    is_recorded = is_profiled()
    if not (OPENED or is_recorded):
        return contextlib.nullcontext()
    text = f"{name}{list(programs)}"
    ranges = contextlib.ExitStack()
    if is_recorded:
        ranges.enter_context(sys.modules["torch.autograd.profiler"].record_function(text))
    for make in OPENED:
        ranges.enter_context(make(text))
    return ranges
