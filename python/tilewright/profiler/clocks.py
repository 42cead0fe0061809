"""When a launch began and ended on its device, in nanoseconds since the clock was made."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable
from typing import Any

from ..launch.devices import synchronize
from ..native.targets import Device

# Takes when a launch began and how long it took, each in nanoseconds.
Taker = Callable[[int, int], None]
_MOST_WAITING = 4096  # events of torch that are kept until something is read


class HostClock:
    """Of devices whose launches return when they have run; and of GPUs without torch, whose launches
    are waited for."""

    def __init__(self, device: str, waits: bool) -> None:
        self._waits = device if waits else ""
        self._start = time.perf_counter_ns()

    def begin(self, stream: int) -> Any:
        """What `end` takes of the same launch."""
        del stream
        if self._waits:
            synchronize(self._waits)
        return time.perf_counter_ns()

    def end(self, begun: Any, take: Taker) -> None:
        """Tell the launch's times."""
        if self._waits:
            synchronize(self._waits)
        take(begun - self._start, time.perf_counter_ns() - begun)

    def settle(self) -> None:
        """Nothing is waited for."""


class EventClock:
    """Of a GPU of torch's: events on the launch's stream, which are read later."""

    def __init__(self, device: Device) -> None:
        self._torch: Any = importlib.import_module("torch")
        self._gpu = self._torch.device(device.torch_name)
        self._waiting: list[tuple[Any, Any, Taker]] = []
        self._start = self._recorded(0)

    def _recorded(self, stream: int) -> Any:
        torch = self._torch
        event = torch.cuda.Event(enable_timing=True)
        where = torch.cuda.current_stream(self._gpu)
        if stream and stream != where.cuda_stream:
            where = torch.cuda.ExternalStream(stream, self._gpu)
        event.record(where)
        return event, where

    def begin(self, stream: int) -> Any:
        """What `end` takes of the same launch; None while a graph is captured, which runs nothing."""
        return None if self._torch.cuda.is_current_stream_capturing() else self._recorded(stream)

    def end(self, begun: Any, take: Taker) -> None:
        """Keep the launch's events until they are read."""
        if begun is None:
            return
        event, stream = begun
        end = self._torch.cuda.Event(enable_timing=True)
        end.record(stream)
        self._waiting.append((event, end, take))
        if len(self._waiting) >= _MOST_WAITING:
            self.settle()

    def settle(self) -> None:
        """Wait for what was launched and tell its times."""
        waiting, self._waiting = self._waiting, []
        origin = self._start[0]
        for begin, end, take in waiting:
            end.synchronize()
            started = origin.elapsed_time(begin)  # milliseconds
            take(round(1e6 * started), round(1e6 * begin.elapsed_time(end)))


def clock_of(name: str, device: Device) -> HostClock | EventClock:
    """A clock for the launches on a device."""
    if not device.has_memory:
        return HostClock(name, waits=False)
    torch: Any = sys.modules.get("torch")
    built = torch is not None and getattr(torch.version, device.torch_build, None)
    if built and device.torch_type == "cuda" and torch.cuda.is_available():
        return EventClock(device)
    return HostClock(name, waits=True)
