"""The names of `triton.testing`: timing, tables of timings, comparison of arrays."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tilewright.testing import Benchmark as Benchmark
from tilewright.testing import Mark as Mark
from tilewright.testing import assert_close as assert_close
from tilewright.testing import do_bench as _do_bench
from tilewright.testing import do_bench_cudagraph as do_bench_cudagraph
from tilewright.testing import perf_report as perf_report

from .absent import names_of
from .peaks import get_dram_gbps as get_dram_gbps
from .peaks import get_max_simd_tflops as get_max_simd_tflops
from .peaks import get_max_tensorcore_tflops as get_max_tensorcore_tflops


def do_bench(
    fn: Callable[[], Any],
    warmup: float = 25,
    rep: float = 100,
    grad_to_none: Iterable[Any] | None = None,
    quantiles: Sequence[float] | None = None,
    return_mode: str = "mean",
    fast_flush: bool = True,
    device_type: str | None = None,
) -> Any:
    """The time of `fn()` in milliseconds: see tilewright.testing.do_bench.

    `fast_flush` and `device_type` are of older versions of Triton and choose nothing: what is timed is
    the call and the end of what it launched, wherever that runs.
    """
    del fast_flush, device_type
    return _do_bench(fn, warmup, rep, grad_to_none, quantiles, return_mode)


class Matmul:
    """Products as cuBLAS's library gives them to Triton's scripts, by torch: on every device, and on a GPU
    by the vendor's library that torch calls."""

    def matmul(self, a: Any, b: Any, c: Any) -> None:
        """`c` becomes `a` times the transpose of `b`: of [M, K] and [N, K] it is [M, N]. Raises
        ValueError for other shapes."""
        self.gemm(a, b, c, c, 1.0, 0.0)

    def gemm(self, a: Any, b: Any, c: Any, d: Any, alpha: float, beta: float) -> None:
        """`d` becomes `alpha * (a @ b.T) + beta * c`. Sums are of float32 at least. Raises ValueError
        for shapes that do not fit."""
        (rows, inner), (columns, other) = a.shape, b.shape
        shapes = [tuple(x.shape) for x in (c, d)]
        if inner != other or a.dtype != b.dtype or shapes != [(rows, columns)] * 2:
            raise ValueError(
                f"products are of [M, K] and [N, K] of one type into [M, N], not of {tuple(a.shape)} of "
                f"{a.dtype} and {tuple(b.shape)} of {b.dtype} into {shapes[0]} and {shapes[1]}"
            )
        product = _product(a, b)
        if alpha != 1:
            product = product * alpha
        if beta != 0:  # otherwise `c` may be anything, NaN included
            product = product + beta * c.to(product.dtype)
        d.copy_(product)


def _product(a: Any, b: Any) -> Any:
    # torch multiplies no elements of 8 bits on CPUs; in float32 they are exact.
    return (a.float() @ b.float().T) if a.element_size() == 1 else a @ b.T


def cublas() -> Matmul:
    """What multiplies matrices for comparison: see `Matmul`. Raises ImportError without torch."""
    importlib.import_module("torch")
    return Matmul()


__path__: list[str] = []
__getattr__ = names_of(__name__)
