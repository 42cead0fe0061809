"""What exact shapes gain: kernels with `specialize="shape"` beside the same with `"auto"`.

`python test/benchmark/shapes.py` prints a line for each workload, on the cores of this machine; both run in
turns on the same arrays.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test"))
sys.path.append(str(ROOT / "python"))  # behind what the environment says

import assemblers  # noqa: E402
import numpy as np  # noqa: E402
import tilewright as tw  # noqa: E402


def softmax(out, x, stride, columns, BLOCK: tw.constexpr):
    row = tw.program_id(0)
    at = tw.arange(0, BLOCK)
    v = tw.load(x + row * stride + at, mask=at < columns, other=-float("inf"))
    v = tw.exp(v - tw.max(v, axis=0))
    tw.store(out + row * stride + at, v / tw.sum(v, axis=0), mask=at < columns)


def matmul(a, b, c, M, N, K, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr):
    rows = tw.program_id(0) * BM + tw.arange(0, BM)
    columns = tw.program_id(1) * BN + tw.arange(0, BN)
    total = tw.zeros((BM, BN), dtype=tw.float32)
    for k in range(0, K, BK):
        depth = k + tw.arange(0, BK)
        x_mask = (rows[:, None] < M) & (depth[None, :] < K)
        y_mask = (depth[:, None] < K) & (columns[None, :] < N)
        x = tw.load(a + rows[:, None] * K + depth[None, :], mask=x_mask, other=0.0)
        y = tw.load(b + depth[:, None] * N + columns[None, :], mask=y_mask, other=0.0)
        total += tw.dot(x, y)
    kept = (rows[:, None] < M) & (columns[None, :] < N)
    tw.store(c + rows[:, None] * N + columns[None, :], total, mask=kept)


def unfold(x, out, channels, height, width, size, columns, BLOCK: tw.constexpr):
    """Rows of a convolution's patches: index arithmetic and little else."""
    at = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    patch, place = at // columns, at % columns
    channel, rest = place // (size * size), place % (size * size)
    wide = width - size + 1
    row, column = patch // wide + rest // size, patch % wide + rest % size
    is_there = (channel < channels) & (row < height)
    tw.store(out + at, tw.load(x + (channel * height + row) * width + column, mask=is_there, other=0.0))


def in_turns(first: Callable[[], object], second: Callable[[], object], seconds: float) -> list[float]:
    times: tuple[list[float], list[float]] = ([], [])
    for function in (first, second) * 5:
        function()
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for function, taken in zip((first, second), times):
            start = time.perf_counter()
            function()
            taken.append(time.perf_counter() - start)
    return [statistics.median(taken) for taken in times]


def compare(name: str, fn: Any, grid: Any, arguments: tuple[Any, ...], out: np.ndarray, **constants: int) -> None:
    results: list[np.ndarray] = []
    launches: list[Callable[[], object]] = []
    for specialize in ("auto", "shape"):
        kernel = tw.jit(specialize=specialize)(fn)
        launches.append(lambda kernel=kernel: kernel[grid](*arguments, **constants))
        out[:] = 0
        launches[-1]()
        results.append(out.copy())
    np.testing.assert_allclose(*results, rtol=1e-5, atol=1e-5)
    auto, shape = in_turns(*launches, seconds=6)
    print(f"{name}: auto {auto * 1e6:.1f} us, shape {shape * 1e6:.1f} us, ratio {auto / shape:.2f}")


def machine_code(fn: Any, types: dict[str, str], shapes: dict[str, int], **constants: int) -> None:
    """Bytes of machine code for a GPU with both."""
    general = {name: f"i32{'' if value % 16 else ':16'}:nonneg" for name, value in shapes.items()}
    kernel = tw.jit(fn)
    auto = kernel.compile({**types, **general}, constants, "nvidia:sm_80").metadata.code_bytes
    exact = {name: f"i32:={value}" for name, value in shapes.items()}
    exact_kernel = kernel.compile({**types, **exact}, constants, "nvidia:sm_80")
    shape = exact_kernel.metadata.code_bytes
    title = f"{fn.__name__} for sm_80 by {exact_kernel.assembler}"
    print(f"{title}: auto {auto} bytes, shape {shape}, ratio {auto / shape:.2f}")


def main() -> None:
    assemblers.pin()
    rng = np.random.default_rng(0)

    def array(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape, dtype=np.float32)

    x, out = array(512, 1000), array(512, 1000)
    compare("softmax, 512 rows of 1000", softmax, (512,), (out, x, 1000, 1000), out, BLOCK=1024)
    m, n, k = 1000, 1000, 72
    c = array(m, n)
    grid = (tw.cdiv(m, 64), tw.cdiv(n, 64))
    product = (array(m, k), array(k, n), c, m, n, k)
    compare("matmul, 1000 x 1000 x 72", matmul, grid, product, c, BM=64, BN=64, BK=8)
    channels, height, width, size = 3, 66, 66, 3
    columns = channels * size * size
    patches = (height - size + 1) * (width - size + 1)
    out = array(patches * columns)
    arguments = (array(channels, height, width), out, channels, height, width, size, columns)
    compare("unfolding 3 x 66 x 66 by 3 x 3", unfold, (patches * columns // 512,), arguments, out, BLOCK=512)
    pair, three = {"out": "*fp32:16", "x": "*fp32:16"}, {name: "*fp32:16" for name in "abc"}
    machine_code(softmax, pair, {"stride": 1000, "columns": 1000}, BLOCK=1024)
    machine_code(matmul, three, {"M": m, "N": n, "K": k}, BM=64, BN=64, BK=8)
    sizes = dict(channels=channels, height=height, width=width, size=size, columns=columns)
    machine_code(unfold, pair, sizes, BLOCK=512)


if __name__ == "__main__":
    main()
