"""A GPU and the simulator leave the same bits where a kernel's arithmetic is exact.

Needs a GPU, or the double of libcuda in TILEWRIGHT_CUDA_LIBRARY; `make gpu-check` runs it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mirrored_arrays
import numpy as np
import pytest
from gpu import kernels
from gpus import GPUS

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


CASES = [
    run_transpose, run_histogram, run_prefix, run_reductions, run_arithmetic, run_product,
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__.removeprefix("run_"))
def test_same_bits(
    case: Callable[[np.random.Generator], list[np.ndarray]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tw.JITFunction, "_launch", mirrored_arrays.launch)
    seed: Any = np.random.SeedSequence().entropy
    results: list[list[np.ndarray]] = []
    for device in (*GPUS, "sim:sm_80"):
        with tw.device(device):
            results.append(case(np.random.default_rng(seed)))
    for measured, simulated in zip(*results, strict=True):
        assert measured.any(), "nothing was computed"
        assert measured.tobytes() == simulated.tobytes(), f"seed {seed}"
