"""Timing for the benchmark of GPUs, the same on every device: rounds in which participants take
turns, each call finding none of its inputs in the cache; a time is the median of a round."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch

Call = Callable[[], Any]
FLUSH_BYTES = 256 << 20  # read before a call: more than any GPU's last-level cache holds
UNSTEADY = 0.05  # of the median: where the middle half of the rounds spreads farther, it is said
OUTLIER = 2.0  # a call that takes so many times the median of its round
SLEEP_CYCLES = 2_000_000  # about a millisecond in which the host gets ahead of the GPU


class Effort(NamedTuple):
    """How often things are timed."""

    rounds: int
    calls: int  # in each round, of each participant
    tuning_calls: int
    warm_seconds: float  # at most, until times settle


FULL = Effort(rounds=7, calls=15, tuning_calls=7, warm_seconds=1.0)
TINY = Effort(rounds=2, calls=1, tuning_calls=1, warm_seconds=0.0)


class EventClock:
    """Times calls with events of a GPU; `cuda` is torch.cuda, or a test's stand-in for it."""

    def __init__(self, cuda: Any, flush: torch.Tensor) -> None:
        self.cuda, self.flush = cuda, flush

    def time_each(self, call: Call, count: int) -> list[float]:
        """Milliseconds of each of `count` calls. Events lie in the stream around each one, and the
        host is ahead, so that launching costs nothing that they see."""
        pairs: list[tuple[Any, Any]] = []
        self.cuda._sleep(SLEEP_CYCLES)
        for _ in range(count):
            begin, end = (self.cuda.Event(enable_timing=True) for _ in range(2))
            self.flush.sum()  # reading leaves no lines that have to be written back
            begin.record()
            call()
            end.record()
            pairs.append((begin, end))
        self.cuda.synchronize()
        return [begin.elapsed_time(end) for begin, end in pairs]

    def synchronize(self) -> None:
        self.cuda.synchronize()


class HostClock:
    """Times calls that return when they are done."""

    def __init__(self, flush: torch.Tensor) -> None:
        self.flush = flush

    def time_each(self, call: Call, count: int) -> list[float]:
        times: list[float] = []
        for _ in range(count):
            self.flush.sum()
            start = time.perf_counter()
            call()
            times.append(max((time.perf_counter() - start) * 1e3, 1e-6))
        return times

    def synchronize(self) -> None:
        """Nothing is under way."""


Clock = EventClock | HostClock


def make_clock(device: str) -> Clock:
    if device.startswith("cuda"):
        flush = torch.zeros(FLUSH_BYTES // 4, dtype=torch.float32, device=device)
        return EventClock(torch.cuda, flush)
    return HostClock(torch.zeros(1 << 16))


class Times(NamedTuple):
    """What was measured of one participant."""

    milliseconds: list[float]  # a median for each round
    outliers: int  # calls that took OUTLIER times their round's median

    @property
    def median(self) -> float:
        return statistics.median(self.milliseconds)

    @property
    def spread(self) -> float:
        """The middle half of the rounds over their median: what differs by less is noise."""
        values = sorted(self.milliseconds)
        quarter = len(values) // 4
        return (values[-1 - quarter] - values[quarter]) / self.median


def quick_time(clock: Clock, call: Call, effort: Effort) -> float:
    """For a choice between settings, after one call that was for its result."""
    clock.time_each(call, 1)
    return statistics.median(clock.time_each(call, effort.tuning_calls))


def settle(clock: Clock, call: Call, effort: Effort) -> None:
    """Calls until two medians in a row agree within 2 %: the clocks are up by then."""
    before, end = 0.0, time.monotonic() + effort.warm_seconds
    while time.monotonic() < end:
        now = statistics.median(clock.time_each(call, effort.calls))
        if abs(now - before) < 0.02 * now:
            return
        before = now


def measure(clock: Clock, calls: Mapping[str, Call], effort: Effort) -> dict[str, Times]:
    """Times everyone; each round goes the other way round than the one before."""
    names = list(calls)
    settle(clock, calls[names[0]], effort)
    medians: dict[str, list[float]] = {name: [] for name in names}
    outliers = dict.fromkeys(names, 0)
    for index in range(effort.rounds):
        for name in names if index % 2 == 0 else reversed(names):
            times = clock.time_each(calls[name], effort.calls)
            median = statistics.median(times)
            medians[name].append(median)
            outliers[name] += sum(each > OUTLIER * median for each in times)
    return {name: Times(medians[name], outliers[name]) for name in names}
