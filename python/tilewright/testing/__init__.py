"""For tests and measurements of kernels: timing and comparison of arrays."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .device_array import DeviceArray as DeviceArray
from ..launch.devices import synchronize
from ..native import native

# Relative and absolute tolerance by element type, as torch.testing uses them.
_TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
}


def do_bench(
    fn: Callable[[], Any],
    warmup: float = 25,
    rep: float = 100,
    grad_to_none: Iterable[Any] | None = None,
    quantiles: Sequence[float] | None = None,
    return_mode: str = "mean",
) -> Any:
    """The time of `fn()` in milliseconds, after about `warmup` ms of calls, from about `rep` ms.

    Gives the mean ("mean"), "min", "max", "median" or all times ("all"); with `quantiles` the list
    of these quantiles (a number for one). The gradients of `grad_to_none` are dropped between. Each
    time on a GPU is that of the launch and the wait for its end. Calls end when their milliseconds are
    over; where the last of the warm-up takes longer than `rep`, it is the only time.
    """
    return summarize(sample_times(fn, warmup, rep, grad_to_none or ()), quantiles, return_mode)


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
    wait = _wait_for_gpus()
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
        for tensor in cleared:
            tensor.grad = None
        times.append(_time_once(fn, wait))
        spent += max(times[-1], 1e-6)
    return times


def _wait_for_gpus() -> Callable[[], Any]:
    """What waits for the GPUs that are in use by now; where there are none, it does nothing."""
    torch: Any = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        return torch.cuda.synchronize
    gpus: list[str] = native().gpus(False)
    return lambda: [synchronize(name) for name in gpus]


def _time_once(fn: Callable[[], Any], wait: Callable[[], Any]) -> float:
    start = time.perf_counter_ns()
    fn()
    wait()
    return (time.perf_counter_ns() - start) / 1e6


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


def assert_close(
    actual: Any,
    expected: Any,
    atol: float | None = None,
    rtol: float | None = None,
    err_msg: str = "",
) -> None:
    """Raise AssertionError unless |actual - expected| <= atol + rtol * |expected| everywhere.

    Takes tensors, arrays and numbers. Unset tolerances come from the coarser element type; integers
    and bools must be equal. NaN equals NaN; infinities must agree. Needs NumPy.
    """
    import numpy

    left, left_type = _to_array(actual)
    right, right_type = _to_array(expected)
    if left.shape != right.shape:
        raise AssertionError(f"shapes differ: {left.shape} and {right.shape}. {err_msg}".rstrip())
    tolerances = [_TOLERANCES.get(name, (0.0, 0.0)) for name in (left_type, right_type)]
    relative, absolute = max(tolerances)
    relative = relative if rtol is None else rtol
    absolute = absolute if atol is None else atol
    with numpy.errstate(invalid="ignore", over="ignore"):
        error = numpy.abs(left - right)
        is_close = (left == right) | (numpy.isnan(left) & numpy.isnan(right))
        is_close |= numpy.isfinite(right) & (error <= absolute + relative * numpy.abs(right))
    if is_close.all():
        return
    error = numpy.where(numpy.isnan(error), numpy.inf, error)
    worst = numpy.argmax(numpy.where(is_close, -1.0, error))
    place = tuple(int(i) for i in numpy.unravel_index(worst, left.shape))
    count = int((~is_close).sum())
    raise AssertionError(
        f"{count} of {left.size} elements differ by more than {absolute:g} + {relative:g} * "
        f"|expected|; worst at {place}: {float(left[place])!r} instead of {float(right[place])!r}. "
        f"{err_msg}".rstrip()
    )


def _to_array(value: Any) -> tuple[Any, str]:
    """The values as float64 (integers exactly, as objects if they need it) and the element type."""
    import numpy

    name = str(getattr(value, "dtype", type(value).__name__)).removeprefix("torch.")
    if hasattr(value, "detach"):
        tensor = value.detach().cpu()
        value = tensor.double() if tensor.is_floating_point() else tensor
        value = value.numpy()
    array = numpy.asarray(value)
    if array.dtype.kind in "iu" and array.dtype.itemsize == 8:
        # Differences of large 64-bit integers vanish in float64.
        return array.astype(numpy.longdouble), name
    return array.astype(numpy.float64), "float64" if name == "float" else name
