"""Runs kernels whose values do not fit in registers, so that their code was compiled another time with
shorter lives of values, on `hip:0`, and checks what they compute. test_hip_execution.py runs it in a
process of its own, on the double of the driver."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from gpus import prepare_gpu
from tilewright.testing import DeviceArray

BENCHMARK = Path(__file__).resolve().parents[2] / "benchmark"
DEVICE = "hip:0"


def load_kernels() -> ModuleType:
    spec = importlib.util.spec_from_file_location("kernels", BENCHMARK / "generated_kernels.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["kernels"] = module
    spec.loader.exec_module(module)
    return module


def on_gpu(host: Any) -> DeviceArray:
    return DeviceArray(host, DEVICE)


def check_attention(kernels: ModuleType, rng: np.random.Generator) -> None:
    length, depth = 224, 64
    q, k, v = (rng.standard_normal((length, depth)).astype(np.float16) for _ in range(3))
    out = on_gpu(np.full((length, depth), np.nan, np.float16))
    scale = depth**-0.5
    compiled = kernels.attention[(-(-length // 128), 1)](
        on_gpu(q), on_gpu(k), on_gpu(v), out, scale / np.log(2), length * depth, depth, length,
        BM=128, BN=64, D=depth, CAUSAL=True, num_warps=4, num_stages=2,
    )  # fmt: skip
    assert compiled.resources["scratch_bytes"] == 0
    score = q.astype(np.float64) @ k.astype(np.float64).T * scale
    score[np.triu_indices(length, 1)] = -np.inf
    weights = np.exp(score - score.max(1, keepdims=True))
    expected = weights / weights.sum(1, keepdims=True) @ v.astype(np.float64)
    np.testing.assert_allclose(out.numpy(), expected, rtol=3e-3, atol=3e-3)


def check_matmul(kernels: ModuleType, rng: np.random.Generator) -> None:
    M, N, K = 160, 144, 112
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((M, K), (K, N)))
    c = on_gpu(np.full((M, N), np.nan, np.float16))
    compiled = kernels.matmul[(4,)](
        on_gpu(a), on_gpu(b), c, M, N, K, K, 1, N, 1, N, 1,
        BM=128, BN=128, BK=32, GROUP=8, num_warps=4, num_stages=2,
    )  # fmt: skip
    assert compiled.resources["scratch_bytes"] == 0
    expected = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(c.numpy(), expected, rtol=2e-3, atol=2e-2)


def main() -> None:
    prepare_gpu(DEVICE)
    kernels = load_kernels()
    for check in (check_attention, check_matmul):
        check(kernels, np.random.default_rng(14))
        print(check.__name__)


if __name__ == "__main__":
    main()
