"""A GPU and the simulator leave the same bits where a kernel's arithmetic is exact.

Needs a GPU, or the double of a driver in TILEWRIGHT_CUDA_LIBRARY or TILEWRIGHT_HIP_LIBRARY;
`make gpu-check` runs it.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from typing import Any

import mirrored_arrays
import numpy as np
import pytest
import tile_kernels as kernels
from gpus import GPUS, prepare_gpu

import tilewright as tw

pytestmark = [
    pytest.mark.usefixtures("compiler"),
    pytest.mark.skipif(not GPUS, reason="this machine has no GPU"),
]


@tw.jit
def product(a, b, c, N: tw.constexpr, K: tw.constexpr):
    row, column, k = tw.arange(0, N), tw.arange(0, N), tw.arange(0, K)
    left = tw.load(a + row[:, None] * K + k[None, :])
    right = tw.load(b + k[:, None] * N + column[None, :])
    tw.store(c + row[:, None] * N + column[None, :], tw.dot(left, right))


@tw.jit
def tiled_product(
    a, b, c, M, N, K, stride_ak, stride_am, stride_bk, stride_bn,
    BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr, SUMS: tw.constexpr,
):  # fmt: skip
    m = tw.program_id(0) * BM + tw.arange(0, BM)
    n = tw.program_id(1) * BN + tw.arange(0, BN)
    acc = tw.zeros((BM, BN), SUMS)
    for start in range(0, K, BK):
        k = start + tw.arange(0, BK)
        rows, columns = (m[:, None] < M) & (k[None, :] < K), (k[:, None] < K) & (n[None, :] < N)
        left = tw.load(a + m[:, None] * stride_am + k[None, :] * stride_ak, mask=rows, other=0)
        right = tw.load(b + k[:, None] * stride_bk + n[None, :] * stride_bn, mask=columns, other=0)
        acc = tw.dot(left, right, acc)
    inside = (m[:, None] < M) & (n[None, :] < N)
    tw.store(c + m[:, None] * N + n[None, :], acc, mask=inside)


@tw.jit
def arithmetic(x, y, out, n, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    inside = i < n
    left, right = tw.load(x + i, mask=inside), tw.load(y + i, mask=inside)
    # No division: the GPU's fast one rounds in its own way.
    tw.store(out + i, left * right + left * 3 - tw.sqrt(tw.abs(right)), mask=inside)


def run_transpose(rng: np.random.Generator) -> list[np.ndarray]:
    x, y = rng.standard_normal((70, 45)).astype(np.float32), np.zeros((45, 70), np.float32)
    kernels.transpose[(3, 2)](x, y, 70, 45, BLOCK=32)
    return [y]


def run_histogram(rng: np.random.Generator) -> list[np.ndarray]:
    counts = np.zeros(16, np.int32)
    kernels.histogram[(3,)](rng.integers(0, 16, 2500).astype(np.int32), counts, 2500, BLOCK=1024)
    return [counts]


def run_prefix(rng: np.random.Generator) -> list[np.ndarray]:
    x = rng.integers(-3, 4, (16, 64)).astype(np.int32)
    sums, products = np.zeros_like(x), np.zeros_like(x)
    kernels.prefix[(1,)](x, sums, products, ROWS=16, COLUMNS=64)
    return [sums, products]


def run_reductions(rng: np.random.Generator) -> list[np.ndarray]:
    x = rng.integers(-99, 99, (32, 128)).astype(np.float32)
    rows, columns = np.zeros(32, np.float32), np.zeros(128, np.float32)
    kernels.reduce_both[(1,)](x, rows, columns, ROWS=32, COLUMNS=128)
    return [rows, columns]


def run_arithmetic(rng: np.random.Generator) -> list[np.ndarray]:
    x, y = rng.standard_normal((2, 3000)).astype(np.float32)
    out = np.zeros(3000, np.float32)
    arithmetic[(3,)](x, y, out, 3000, BLOCK=1024)
    return [out]


def run_product(rng: np.random.Generator) -> list[np.ndarray]:
    # Small integers: every product and sum is exact, whatever the order of additions.
    a, b = rng.integers(-4, 5, (32, 64)), rng.integers(-4, 5, (64, 32))
    c = np.zeros((32, 32), np.float32)
    product[(1,)](a.astype(np.float16), b.astype(np.float16), c, N=32, K=64)
    return [c]


def tiled(
    dtype: type, is_a_transposed: bool, is_b_transposed: bool, num_stages: int
) -> Callable[[np.random.Generator], list[np.ndarray]]:
    """A loop of copies to shared memory under matrix instructions, ragged at every end."""

    def run(rng: np.random.Generator) -> list[np.ndarray]:
        rows, columns, depth = 100, 72, 152
        a = rng.integers(-4, 5, (depth, rows) if is_a_transposed else (rows, depth)).astype(dtype)
        b = rng.integers(-4, 5, (columns, depth) if is_b_transposed else (depth, columns))
        b = b.astype(dtype)
        is_integer = np.issubdtype(dtype, np.integer)
        sums = np.float64 if dtype is np.float64 else np.int32 if is_integer else np.float32
        c = np.zeros((rows, columns), sums)
        a_strides = (rows, 1) if is_a_transposed else (1, depth)
        b_strides = (1, depth) if is_b_transposed else (columns, 1)
        tiled_product[(2, 2)](
            *(a, b, c, rows, columns, depth, *a_strides, *b_strides),
            **{"BM": 64, "BN": 64, "BK": 32, "num_stages": num_stages},
            SUMS={np.float64: tw.float64, np.int32: tw.int32, np.float32: tw.float32}[sums],
        )
        full = [x.T if turned else x for x, turned in ((a, is_a_transposed), (b, is_b_transposed))]
        assert (c == full[0].astype(sums) @ full[1].astype(sums)).all()
        return [c]

    letters = f"{'t' if is_a_transposed else 'n'}{'t' if is_b_transposed else 'n'}"
    run.__name__ = f"run_tiled-{np.dtype(dtype)}-{letters}-{num_stages}_stages"
    return run


CASES = [
    run_transpose, run_histogram, run_prefix, run_reductions, run_arithmetic, run_product,
    *(tiled(dtype, False, False, 3) for dtype in (np.float32, np.int8, np.float64)),
    *(tiled(np.float16, *turned, 3) for turned in ((False, False), (True, False), (False, True))),
    *(tiled(np.float16, False, False, stages) for stages in (1, 2, 4)),
]  # fmt: skip
SIMULATORS = {80: "sim:sm_80", 86: "sim:sm_86", 89: "sim:sm_89", 90: "sim:sm_90a"}


def simulator_of_gpu(gpu: str) -> str:
    """The one of the GPU's architecture: it executes the code that the GPU does."""
    if gpu.startswith("hip:"):
        signature = {"x": "*fp32", "y": "*fp32", "rows": "i32", "columns": "i32"}
        code = kernels.transpose.compile(signature, {"BLOCK": 32}, device=gpu).asm["asm"]
        return "sim:" + code.partition("amdgcn-amd-amdhsa--")[2].partition('"')[0]
    driver = ctypes.CDLL(os.environ.get("TILEWRIGHT_CUDA_LIBRARY") or "libcuda.so.1")
    major, minor = ctypes.c_int(0), ctypes.c_int(0)
    driver.cuDeviceGetAttribute(ctypes.byref(major), 75, 0)
    driver.cuDeviceGetAttribute(ctypes.byref(minor), 76, 0)
    name = SIMULATORS.get(10 * major.value + minor.value, "")
    return name if name in tw.list_devices() else "sim:sm_80"


@pytest.mark.parametrize("gpu", GPUS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__.removeprefix("run_"))
def test_same_bits(
    case: Callable[[np.random.Generator], list[np.ndarray]],
    gpu: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    prepare_gpu(gpu)
    monkeypatch.setattr(tw.JITFunction, "_launch", mirrored_arrays.launch)
    seed: Any = np.random.SeedSequence().entropy
    results: list[list[np.ndarray]] = []
    for device in (gpu, simulator_of_gpu(gpu)):
        with tw.device(device):
            results.append(case(np.random.default_rng(seed)))
    for measured, simulated in zip(*results, strict=True):
        assert measured.any(), "nothing was computed"
        assert measured.tobytes() == simulated.tobytes(), f"seed {seed}"
