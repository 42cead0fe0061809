"""Products whose operand A lies along m in memory: elements in groups along k, masks, batches."""

from __future__ import annotations

import numpy as np
import pytest
from op_values import argument, decode, draw
from processor_levels import skip_beyond

import tilewright as tw

pytestmark = pytest.mark.usefixtures("compiler")


@tw.jit
def along_m(a, b, c, M, N, K, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr):
    m = tw.program_id(0) * BM + tw.arange(0, BM)[:, None]
    n, depth = tw.arange(0, BN)[None, :], tw.arange(0, BK)
    total = tw.zeros((BM, BN), c.dtype.element_ty)
    for start in range(0, K, BK):
        k = start + depth
        x = tw.load(a + k[None, :] * M + m, mask=(m < M) & (k[None, :] < K), other=0)
        y = tw.load(b + k[:, None] * N + n, mask=(k[:, None] < K) & (n < N), other=0)
        total = tw.dot(x, y, total, out_dtype=total.dtype)
    tw.store(c + m * N + n, total, mask=(m < M) & (n < N))


@tw.jit
def batches(a, b, c, B: tw.constexpr, M: tw.constexpr, N: tw.constexpr, K: tw.constexpr):
    i, m = tw.arange(0, B)[:, None, None], tw.arange(0, M)[None, :, None]
    n, k = tw.arange(0, N)[None, None, :], tw.arange(0, K)
    x = tw.load(a + (i * K + k[None, None, :]) * M + m)
    y = tw.load(b + (i * K + k[None, :, None]) * N + n)
    zero = tw.zeros((B, M, N), c.dtype.element_ty)
    tw.store(c + (i * M + m) * N + n, tw.dot(x, y, zero, out_dtype=zero.dtype))


def poisoned(dtype: str, *shape: int) -> np.ndarray:
    return np.full(shape, 777, np.int32 if "int" in dtype else np.float32)


def check(out: np.ndarray, a: np.ndarray, b: np.ndarray) -> None:
    expected = np.swapaxes(a, -1, -2).astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-4 * np.abs(expected).max())


BYTES = [("int8", "int8"), ("uint8", "uint8"), ("int8", "uint8"), ("uint8", "int8")]
PAIRS = [("bfloat16", "bfloat16"), ("float16", "float16"), *BYTES]


@pytest.mark.parametrize("device", ["cpu", "cpu:x86-64-v3", "cpu:x86-64-v4"])
@pytest.mark.parametrize("of_a, of_b", PAIRS)
@pytest.mark.parametrize(
    "m, n, k, tile",
    [(128, 64, 64, (64, 64, 32)), (70, 61, 45, (32, 64, 16)), (50, 16, 37, (34, 16, 40))],
)
def test_ragged_edges(
    m: int, n: int, k: int, tile: tuple[int, int, int], of_a: str, of_b: str, device: str,
    rng: np.random.Generator,
) -> None:  # fmt: skip
    skip_beyond(device.removeprefix("cpu:"))
    a, b, out = draw(rng, of_a, (k, m)), draw(rng, of_b, (k, n)), poisoned(of_a, m, n)
    sizes = dict(zip(("BM", "BN", "BK"), tile, strict=True))
    with tw.device(device):
        along_m[(tw.cdiv(m, tile[0]),)](argument(a, of_a), argument(b, of_b), out, m, n, k, **sizes)
    check(out, decode(a, of_a), decode(b, of_b))


@pytest.mark.parametrize("of_a, of_b", PAIRS)
@pytest.mark.parametrize("m", [2, 17, 48])
def test_batches(m: int, of_a: str, of_b: str, rng: np.random.Generator) -> None:
    a, b = draw(rng, of_a, (3, 16, m)), draw(rng, of_b, (3, 16, 32))
    out = poisoned(of_a, 3, m, 32)
    with tw.device("cpu"):
        batches[(1,)](argument(a, of_a), argument(b, of_b), out, B=3, M=m, N=32, K=16)
    check(out, decode(a, of_a), decode(b, of_b))
