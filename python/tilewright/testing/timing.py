"""Times of calls: on the host, between events of a GPU, and as a replayed graph."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from ..launch.devices import synchronize
from ..native import native
from ..native.clock import timed
from .caches import make_flush


class Spread(NamedTuple):
    """How times in milliseconds lie: their median, and the bounds of the middle 60 %."""

    median: float
    low: float
    high: float
    count: int

    @property
    def relative(self) -> float:
        """The width of the middle 60 % by the median: 0.02 is 2 %."""
        return (self.high - self.low) / self.median if self.median else 0.0


def do_bench(
    fn: Callable[..., Any],
    warmup: float = 25,
    rep: float = 100,
    grad_to_none: Iterable[Any] | None = None,
    quantiles: Sequence[float] | None = None,
    return_mode: str = "mean",
    *,
    inputs: Sequence[Sequence[Any]] = (),
    cold: bool | None = None,
) -> Any:
    """The time of `fn()` in milliseconds, after about `warmup` ms of calls, from about `rep` ms.

    Gives the mean ("mean"), "min", "max", "median", all times ("all") or a `Spread` ("spread"); with
    `quantiles` the list of these quantiles (a number for one). The gradients of `grad_to_none` are
    dropped between. With `inputs` the calls are `fn(*inputs[0])`, `fn(*inputs[1])`, ..., and round
    again. `cold` has the caches overwritten before each call that counts: the second-level cache of a
    GPU, which is so unless it is False, or the processor's, which is so where it is True.

    Times of GPUs that torch has in use are those between two events of the current stream; of OpenCL
    devices, those that their events say the kernels ran, without copies of arrays; of other GPUs, those
    of the launch and the wait for its end. Calls end when their milliseconds are over; where the last of
    the warm-up takes longer than `rep`, it is the only time.
    """
    call = _rotated(fn, inputs) if inputs else fn
    cleared = list(grad_to_none or ())
    torch: Any = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        times = _times_by_events(torch, call, warmup, rep, cleared, cold is not False)
    elif cold:
        times = _cold_times(call, warmup, rep, cleared)
    else:
        times = sample_times(call, warmup, rep, cleared)
    return summarize(times, quantiles, return_mode)


def _rotated(fn: Callable[..., Any], inputs: Sequence[Sequence[Any]]) -> Callable[[], Any]:
    """Calls with one set of arguments after the other."""
    number = -1

    def call() -> Any:
        nonlocal number
        number = (number + 1) % len(inputs)
        return fn(*inputs[number])

    return call


def _cold_times(fn: Callable[[], Any], warmup: float, rep: float, cleared: Sequence[Any]) -> list[float]:
    """As `sample_times`, with the processor's caches overwritten before each time. As that takes longer
    than many calls do, measuring ends at ten times `rep`, too."""
    flush = make_flush()
    fn()
    wait = wait_for_gpus()
    if warmup > 0:
        _times_until(warmup, fn, wait, cleared)
    times: list[float] = []
    spent, end = 0.0, time.perf_counter_ns() + int(10 * rep * 1e6)
    while not times or (spent < rep and time.perf_counter_ns() < end):
        _drop_gradients(cleared)
        flush()
        times.append(_time_once(fn, wait))
        spent += max(times[-1], 1e-6)
    return times


def _times_by_events(
    torch: Any, fn: Callable[[], Any], warmup: float, rep: float, cleared: Sequence[Any], is_cold: bool
) -> list[float]:
    """Times between events, each call's around it alone: the host is waited for at the end only."""
    fn()
    torch.cuda.synchronize()
    estimate = max(_elapsed(torch, lambda: [fn() for _ in range(5)]) / 5, 1e-3)
    for _ in range(int(warmup / estimate)):
        fn()
    cache = torch.empty(_GPU_CACHE_BYTES // 4, dtype=torch.int32, device="cuda") if is_cold else None
    pairs: list[tuple[Any, Any]] = []
    for _ in range(max(1, int(rep / estimate))):
        _drop_gradients(cleared)
        if cache is not None:
            cache.zero_()
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        fn()
        end.record()
        pairs.append((start, end))
    torch.cuda.synchronize()
    return [start.elapsed_time(end) for start, end in pairs]


# More than any second-level cache has: 50 MB of an H100's, 256 MB of the third level of an MI300X.
_GPU_CACHE_BYTES = 256 << 20


def do_bench_cudagraph(
    fn: Callable[[], Any],
    rep: float = 20,
    grad_to_none: Iterable[Any] | None = None,
    quantiles: Sequence[float] | None = None,
    return_mode: str = "mean",
) -> Any:
    """The time of `fn()` in milliseconds without the cost of its launches: the calls of about `rep` ms
    are recorded as a CUDA graph, which is replayed ten times.

    Where torch uses no GPU there are no graphs, and this is `do_bench`.
    """
    torch: Any = sys.modules.get("torch")
    cleared = list(grad_to_none or ())
    if torch is None or not torch.cuda.is_available():
        return do_bench(fn, rep / 4, rep, cleared, quantiles, return_mode)
    with torch.cuda.stream(torch.cuda.Stream()):
        fn()
        _drop_gradients(cleared)
        estimate = _elapsed(torch, lambda: [fn() for _ in range(5)]) / 5
        count = max(1, int(rep / max(estimate, 1e-3)))
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(count):
                _drop_gradients(cleared)
                fn()
        torch.cuda.synchronize()
        times = [_elapsed(torch, graph.replay) / count for _ in range(10)]
    return summarize(times, quantiles, return_mode)


def _elapsed(torch: Any, run: Callable[[], Any]) -> float:
    """Milliseconds between two events of the current stream."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    run()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end)


def _drop_gradients(tensors: Sequence[Any]) -> None:
    for tensor in tensors:
        tensor.grad = None


def sample_times(
    fn: Callable[[], Any],
    warmup: float,
    rep: float,
    grad_to_none: Iterable[Any] = (),
    limit: float | None = None,
) -> list[float]:
    """The milliseconds of calls of `fn`, as `do_bench` makes them. With a `limit`, which says that the
    first call compiles nothing, they are fewer: the times of the warm-up are all if each is above it,
    and the first call is the only one if it takes longer than twice the limit and than `warmup + rep`, or
    than ten times these.

    Calls end when the milliseconds are over, not after a number that some of them suggest: on a busy
    machine single calls take a hundred times as long as others.
    """
    start = time.perf_counter_ns()
    fn()
    wait = wait_for_gpus()
    wait()
    first = (time.perf_counter_ns() - start) / 1e6
    planned = warmup + rep
    if limit is not None and first >= min(10 * planned, max(planned, 2 * limit)):
        return [first]
    cleared = list(grad_to_none)
    warm = _times_until(warmup, fn, wait, cleared) if warmup > 0 else []
    if limit is not None and warm and min(warm) > limit:
        return warm
    return warm[-1:] if warm and warm[-1] >= rep else _times_until(rep, fn, wait, cleared)


def _times_until(
    total: float, fn: Callable[[], Any], wait: Callable[[], Any], cleared: Sequence[Any]
) -> list[float]:
    """The times of calls, at least one, that together take `total` milliseconds."""
    times: list[float] = []
    spent = 0.0
    while not times or spent < total:
        _drop_gradients(cleared)
        times.append(_time_once(fn, wait))
        spent += max(times[-1], 1e-6)
    return times


def wait_for_gpus() -> Callable[[], Any]:
    """What waits for the GPUs that are in use by now; where there are none, it does nothing."""
    torch: Any = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        return torch.cuda.synchronize
    gpus: list[str] = native().gpus(False)
    return lambda: [synchronize(name) for name in gpus]


def _time_once(fn: Callable[[], Any], wait: Callable[[], Any]) -> float:
    return timed(lambda: (fn(), wait()))[1]


def summarize(times: Sequence[float], quantiles: Sequence[float] | None, return_mode: str) -> Any:
    """Times as do_bench returns them. Raises ValueError for an unknown mode."""
    ordered = sorted(times)
    if quantiles is not None:
        chosen = [_quantile(ordered, q) for q in quantiles]
        return chosen[0] if len(chosen) == 1 else chosen
    modes: dict[str, Callable[[], Any]] = {
        "all": lambda: list(times),
        "min": lambda: ordered[0],
        "max": lambda: ordered[-1],
        "mean": lambda: math.fsum(ordered) / len(ordered),
        "median": lambda: _quantile(ordered, 0.5),
        "spread": lambda: Spread(*(_quantile(ordered, q) for q in (0.5, 0.2, 0.8)), len(ordered)),
    }
    if return_mode not in modes:
        raise ValueError(f"return_mode={return_mode!r} is not one of {', '.join(modes)}")
    return modes[return_mode]()


def _quantile(ordered: Sequence[float], q: float) -> float:
    """Linear interpolation between the two nearest ranks."""
    if not 0 <= q <= 1:
        raise ValueError(f"the quantile {q} is not between 0 and 1")
    position = q * (len(ordered) - 1)
    low = math.floor(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)
