"""Products of few columns that a loop of known length adds up: taken together, their sums are those of
the loop whose length is not known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tilewright as tw

pytestmark = pytest.mark.usefixtures("compiler")


def add_products(a, b, c, M, N, K, carries: tw.constexpr, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr):
    rows = tw.program_id(0) * BM + tw.arange(0, BM)
    columns = tw.program_id(1) * BN + tw.arange(0, BN)
    total = tw.full((BM, BN), 0.5, dtype=a.dtype.element_ty)
    for i in range(0, tw.cdiv(K, BK)):
        depth = i * BK + tw.arange(0, BK)
        left = (rows[:, None] < M) & (depth[None, :] < K)
        right = (depth[:, None] < K) & (columns[None, :] < N)
        x = tw.load(a + rows[:, None] * K + depth[None, :], mask=left, other=0.0)
        y = tw.load(b + depth[:, None] * N + columns[None, :], mask=right, other=0.0)
        if carries:
            total = tw.dot(x, y, total, input_precision="ieee")
        else:
            total += tw.dot(x, y, input_precision="ieee")
    kept = (rows[:, None] < M) & (columns[None, :] < N)
    tw.store(c + rows[:, None] * N + columns[None, :], total, mask=kept)


GENERAL = tw.jit(specialize="none")(add_products)
EXACT = tw.jit(specialize="shape")(add_products)


def launch(kernel: Any, a: np.ndarray, b: np.ndarray, carries: bool, tiles: tuple[int, int, int]) -> np.ndarray:
    (m, k), n = a.shape, b.shape[1]
    c = np.full((m, n), np.nan, a.dtype)
    grid = (tw.cdiv(m, tiles[0]), tw.cdiv(n, tiles[1]))
    kernel[grid](a, b, c, m, n, k, carries=carries, BM=tiles[0], BN=tiles[1], BK=tiles[2])
    return c


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("carries", [True, False])
@pytest.mark.parametrize(
    "k, tiles", [(72, (64, 64, 8)), (100, (32, 16, 8)), (7, (16, 16, 2)), (1000, (16, 64, 8)), (96, (4, 32, 16))]
)
def test_the_same_bits_whatever_is_known(k: int, tiles: tuple[int, int, int], carries: bool, dtype: Any) -> None:
    rng = np.random.default_rng(k)
    a, b = rng.standard_normal((70, k)).astype(dtype), rng.standard_normal((k, 40)).astype(dtype)
    with tw.device("cpu"):
        general, exact = (launch(kernel, a, b, carries, tiles) for kernel in (GENERAL, EXACT))
    bound = np.finfo(dtype).eps * k * (np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64) + 1)
    assert (np.abs(exact - (a.astype(np.float64) @ b.astype(np.float64) + 0.5)) <= bound).all()
    assert np.array_equal(general, exact)


@tw.jit
def read_before(a, b, c, K: tw.constexpr, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr):
    rows, columns = tw.arange(0, BM), tw.arange(0, BN)
    y = tw.load(tw.broadcast_to((b + columns)[None, :], (BK, BN)))
    tw.store(b + columns, tw.zeros((BN,), tw.float32))
    total = tw.zeros((BM, BN), tw.float32)
    for i in range(0, K // BK):
        x = tw.load(a + rows[:, None] * K + (i * BK + tw.arange(0, BK))[None, :])
        total = tw.dot(x, y, total, input_precision="ieee")
    tw.store(c + rows[:, None] * BN + columns[None, :], total)


def test_an_operand_is_not_read_again_after_a_store(device: str) -> None:
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((16, 64)).astype(np.float32), rng.standard_normal(16).astype(np.float32)
    expected = a.astype(np.float64).sum(1)[:, None] * b.astype(np.float64)
    c = np.full((16, 16), np.nan, np.float32)
    read_before[(1,)](a, b, c, K=64, BM=16, BN=16, BK=16)
    np.testing.assert_allclose(c, expected, rtol=1e-4, atol=1e-4)
    assert not b.any()
