"""Runs kernels on arrays of a GPU, `cuda:0` or the one named, in a process of its own and checks what
they compute; with the double of its driver the simulator executes the code. test_cuda_execution.py
and test_hip_execution.py run it."""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
import tile_kernels as kernels
import tilewright as tw
from gpus import prepare_gpu
from tilewright.testing import DeviceArray

DEVICE = sys.argv[1] if len(sys.argv) > 1 else "cuda:0"


def on_gpu(host: Any) -> DeviceArray:
    return DeviceArray(host, DEVICE)


@tw.jit
def copy_all(x, out, BLOCK: tw.constexpr):
    i = tw.arange(0, BLOCK)
    tw.store(out + i, tw.load(x + i))


@tw.jit
def scale_types(x, half, n, factor, offset, flag, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    value = tw.load(x + i, mask=i < n) * factor + offset
    tw.store(half + i, tw.where(flag, value, -value).to(tw.float16), mask=i < n)


def check_copies(rng: np.random.Generator) -> None:
    for host in (rng.standard_normal((5, 7)), np.zeros((0, 3), np.int8), np.array(3, np.int16)):
        array = on_gpu(host)
        np.testing.assert_array_equal(array.numpy(), host)
        assert array.numpy().shape == host.shape and array.numpy().dtype == host.dtype
    array = on_gpu(np.zeros((4, 6), np.int32))
    array.assign(np.arange(24, dtype=np.int32).reshape(6, 4).T)
    np.testing.assert_array_equal(array.numpy(), np.arange(24).reshape(6, 4).T)


def check_every_kind_of_parameter(rng: np.random.Generator) -> None:
    x = rng.standard_normal(1000).astype(np.float32)
    half = on_gpu(np.full(1000, np.nan, np.float16))
    for flag in (True, False):
        scale_types[(4,)](on_gpu(x), half, 1000, 0.5, 1 << 33, flag, BLOCK=256)
        expected = (x * np.float32(0.5) + np.float32(1 << 33)).astype(np.float16)
        np.testing.assert_array_equal(half.numpy(), expected if flag else -expected)


def check_transpose(rng: np.random.Generator) -> None:
    x = rng.standard_normal((96, 80)).astype(np.float32)
    y = on_gpu(np.full((80, 96), np.nan, np.float32))
    kernels.transpose[(3, 3)](on_gpu(x), y, 96, 80, BLOCK=32, num_warps=8)
    np.testing.assert_array_equal(y.numpy(), x.T)


def check_rms_norm(rng: np.random.Generator) -> None:
    x, weight = rng.standard_normal((3, 512)), rng.standard_normal(512)
    x, weight = x.astype(np.float32), weight.astype(np.float32)
    out = on_gpu(np.full((3, 512), np.nan, np.float32))
    kernels.rms_norm[(3,)](on_gpu(x), on_gpu(weight), out, 512, 1e-5, BLOCK=512)
    exact = x.astype(np.float64)
    expected = exact / np.sqrt((exact**2).mean(1, keepdims=True) + 1e-5) * weight
    np.testing.assert_allclose(out.numpy(), expected, rtol=2e-6, atol=1e-6)


@tw.jit
def product(a, b, c, rows, K, BM: tw.constexpr, N: tw.constexpr, BK: tw.constexpr):
    m, n, k = tw.program_id(0) * BM + tw.arange(0, BM), tw.arange(0, N), tw.arange(0, BK)
    total = tw.zeros((BM, N), tw.float32)
    for start in range(0, K, BK):
        x = tw.load(a + m[:, None] * K + (start + k)[None, :], mask=m[:, None] < rows, other=0.0)
        total = tw.dot(x, tw.load(b + (start + k)[:, None] * N + n[None, :]), total)
    tw.store(c + m[:, None] * N + n[None, :], total, mask=m[:, None] < rows)


def check_products(rng: np.random.Generator) -> None:
    """Where the GPU copies boxes, each launch has tensor maps of its own arrays, or none that fits."""
    b = rng.integers(-3, 4, (128, 64)).astype(np.float16)
    for rows, K in ((100, 128), (64, 128), (100, 64), (100, 128), (0, 64)):
        a = rng.integers(-3, 4, (max(rows, 1), K)).astype(np.float16)
        c = on_gpu(np.full((max(rows, 1), 64), 7, np.float32))
        product[(2,)](on_gpu(a), on_gpu(b[:K]), c, rows, K, BM=64, N=64, BK=32)
        expected = a.astype(np.float32) @ b[:K].astype(np.float32) if rows else np.full((1, 64), 7)
        np.testing.assert_array_equal(c.numpy(), expected)


def check_histogram(rng: np.random.Generator) -> None:
    x = rng.integers(0, 10, 3000).astype(np.int32)
    counts = on_gpu(np.zeros(10, np.int32))
    kernels.histogram[(3,)](on_gpu(x), counts, 3000, BLOCK=1024)
    np.testing.assert_array_equal(counts.numpy(), np.bincount(x, minlength=10))


def check_scan_in_place(rng: np.random.Generator) -> None:
    x = rng.choice([-1.0, 1.0, 2.0], (16, 64)).astype(np.float32)
    sums, products = (on_gpu(np.full((16, 64), np.nan, np.float32)) for _ in range(2))
    kernels.prefix[(1,)](on_gpu(x), sums, products, ROWS=16, COLUMNS=64, num_warps=2)
    np.testing.assert_array_equal(sums.numpy(), np.cumsum(x, 1))
    np.testing.assert_array_equal(products.numpy(), np.cumprod(x, 0))


@tw.jit
def share_of_total(x, partial, out, count):
    program = tw.program_id(0)
    tw.store(partial + program, tw.load(x + program) * 2)
    tw.atomic_add(count, 1)
    while tw.atomic_add(count, 0) < tw.num_programs(0):
        pass
    total = 0.0
    for k in range(tw.num_programs(0)):
        total += tw.load(partial + k, volatile=True)
    tw.store(out + program, tw.load(x + program) / total)


def check_cooperative_grid(rng: np.random.Generator) -> None:
    x = rng.random(8).astype(np.float32)
    partial, out = (on_gpu(np.full(8, np.nan, np.float32)) for _ in range(2))
    count = on_gpu(np.zeros(1, np.int32))
    share_of_total[(8,)](on_gpu(x), partial, out, count, launch_cooperative_grid=True)
    np.testing.assert_allclose(out.numpy(), x / (2 * x.astype(np.float64).sum()), rtol=1e-6)


def report_of_an_access_out_of_bounds() -> list[str]:
    """Last of all: a process cannot use the GPU after it."""
    x, out = on_gpu(np.zeros(60, np.float32)), on_gpu(np.zeros(64, np.float32))
    try:
        copy_all[(1,)](x, out, BLOCK=64)
        tw.synchronize(DEVICE)
    except tw.DeviceError as error:
        return [error.code, error.message, error.hint]
    return []


def main() -> None:
    prepare_gpu(DEVICE)
    seed = np.random.SeedSequence().entropy
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    for name, check in list(globals().items()):
        if name.startswith("check_"):
            check(rng)
            print(name)
    tw.synchronize(DEVICE)
    print(json.dumps(report_of_an_access_out_of_bounds()))


main()
