"""Products that go from registers to memory: at ragged edges, with what is computed of them, in place."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import tilewright as tw
from guarded import before_a_guard
from tilewright.native import native

pytestmark = pytest.mark.usefixtures("compiler")


@tw.jit
def product(
    a, b, c, bias, M, N, K, then: tw.constexpr, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr
):
    rows = tw.program_id(0) * BM + tw.arange(0, BM)
    columns = tw.program_id(1) * BN + tw.arange(0, BN)
    depth = tw.arange(0, BK)
    x_mask = (rows[:, None] < M) & (depth[None, :] < K)
    y_mask = (depth[:, None] < K) & (columns[None, :] < N)
    x = tw.load(a + rows[:, None] * K + depth[None, :], mask=x_mask, other=0.0)
    y = tw.load(b + depth[:, None] * N + columns[None, :], mask=y_mask, other=0.0)
    total = tw.dot(x, y, input_precision="ieee")
    if then == "columns":
        total = total + tw.load(bias + columns, mask=columns < N, other=0.0)[None, :]
    if then == "rows":
        total = -total * tw.load(bias + rows, mask=rows < M, other=0.0)[:, None]
    if then == "leaky":
        total = tw.where(total > 0.0, total, total * 0.125)
    if then == "exp":
        total = tw.exp(total * 0.125)
    kept = (rows[:, None] < M) & (columns[None, :] < N)
    tw.store(c + rows[:, None] * N + columns[None, :], total, mask=kept)


EXPECTED: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "": lambda t, _: t,
    "columns": lambda t, bias: t + bias[: t.shape[1]],
    "rows": lambda t, bias: -t * bias[: t.shape[0], None],
    "leaky": lambda t, _: np.where(t > 0, t, t * 0.125),
    "exp": lambda t, _: np.exp(t * 0.125),
}


@pytest.mark.parametrize("then", EXPECTED)
@pytest.mark.parametrize("device", ["cpu", "cpu:x86-64-v3"])
@pytest.mark.parametrize(
    "m, n, k, tiles", [(128, 128, 40, (64, 64, 40)), (70, 101, 33, (32, 64, 40)), (9, 17, 3, (8, 24, 3))]
)
def test_edges_and_what_follows(
    m: int, n: int, k: int, tiles: tuple[int, int, int], device: str, then: str
) -> None:
    rng = np.random.default_rng(m + n)
    a, b = rng.standard_normal((m, k), np.float32), rng.standard_normal((k, n), np.float32)
    bias = rng.standard_normal(max(m, n), np.float32)
    memory = np.full(m * n + 8192, np.float32(777))
    c = memory[4096:-4096].reshape(m, n)
    grid = (tw.cdiv(m, tiles[0]), tw.cdiv(n, tiles[1]))
    with tw.device(device):
        product[grid](a, b, c, bias, m, n, k, then=then, BM=tiles[0], BN=tiles[1], BK=tiles[2])
    expected = EXPECTED[then](a.astype(np.float64) @ b.astype(np.float64), bias)
    np.testing.assert_allclose(c, expected, rtol=1e-5, atol=1e-4)
    assert (memory[:4096] == 777).all() and (memory[-4096:] == 777).all()


@tw.jit
def square(a, b, c, adds: tw.constexpr, S: tw.constexpr):
    i = tw.arange(0, S)
    at = i[:, None] * S + i[None, :]
    total = tw.dot(tw.load(a + at), tw.load(b + at), input_precision="ieee")
    if adds:
        total += tw.load(c + at)
    tw.store(c + at, total)


@pytest.mark.parametrize("adds", [False, True])
@pytest.mark.parametrize("shared", ["a", "b", "all", "half", "none"])
def test_what_the_product_reads_is_overwritten(shared: str, adds: bool) -> None:
    size = 64
    memory = np.random.default_rng(1).standard_normal((4, size, size), np.float32)
    a, b, c = memory[0], memory[1], memory[2]
    if shared == "half":
        c = memory.reshape(-1)[size * size // 2 :][: size * size].reshape(size, size)
    elif shared != "none":
        a, b = (c if shared in (name, "all") else array for name, array in (("a", a), ("b", b)))
    expected = a.astype(np.float64) @ b.astype(np.float64) + (c if adds else 0)
    with tw.device("cpu"):
        square[(1,)](a, b, c, adds=adds, S=size)
    np.testing.assert_allclose(c, expected, rtol=1e-4, atol=1e-4)


@tw.jit
def alternate(a, b, out, n, S: tw.constexpr):
    i = tw.arange(0, S)
    at = i[:, None] * S + i[None, :]
    for j in range(n):
        x, y = tw.load(a + j * S * S + at), tw.load(b + j * S * S + at)
        first, second = tw.dot(x, y, input_precision="ieee"), tw.dot(y, x, input_precision="ieee")
        tw.store(out + 2 * j * S * S + at, first)
        tw.store(out + (2 * j + 1) * S * S + at, second, mask=(i < S - 1)[None, :])


@pytest.mark.parametrize("n", [0, 1, 3])
def test_two_products_in_a_loop(n: int) -> None:
    size = 16
    rng = np.random.default_rng(n)
    a, b = (rng.standard_normal((3, size, size), np.float32) for _ in range(2))
    out = np.full((3, 2, size, size), np.float32(5))
    with tw.device("cpu"):
        alternate[(1,)](a, b, out, n, S=size)
    np.testing.assert_allclose(out[:n, 0], (a @ b)[:n], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(out[:n, 1, :, :-1], (b @ a)[:n, :, :-1], rtol=1e-4, atol=1e-4)
    assert (out[:n, 1, :, -1] == 5).all() and (out[n:] == 5).all()


@tw.jit
def of_equal_columns(a, b, c, S: tw.constexpr):
    i = tw.arange(0, S)
    at = i[:, None] * S + i[None, :]
    total = tw.dot(tw.load(a + at), tw.load(b + at), input_precision="ieee")
    tw.store(c + at, tw.max_constancy(total, [1, S]))


def test_a_product_whose_columns_are_promised_to_be_equal() -> None:
    size = 32
    rng = np.random.default_rng(3)
    a = rng.standard_normal((size, size), np.float32)
    b = np.repeat(rng.standard_normal((size, 1), np.float32), size, axis=1)
    c = np.full((size, size), np.float32(777))
    with tw.device("cpu"):
        of_equal_columns[(1,)](a, b, c, S=size)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b, rtol=1e-4, atol=1e-4)


@tw.jit
def summed(
    a, b, c, bias, M, N, K, then: tw.constexpr, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr
):
    rows = tw.program_id(0) * BM + tw.arange(0, BM)
    columns = tw.program_id(1) * BN + tw.arange(0, BN)
    kept = (rows[:, None] < M) & (columns[None, :] < N)
    places = rows[:, None] * N + columns[None, :]
    total = tw.zeros((BM, BN), c.dtype.element_ty)
    if then == "from memory":
        total = tw.load(c + places, mask=kept, other=0.0)
    if then == "from ones":
        total += 1
    last = total
    for start in range(0, K, BK):
        depth = start + tw.arange(0, BK)
        x_mask = (rows[:, None] < M) & (depth[None, :] < K)
        y_mask = (depth[:, None] < K) & (columns[None, :] < N)
        x = tw.load(a + rows[:, None] * K + depth[None, :], mask=x_mask, other=0)
        y = tw.load(b + depth[:, None] * N + columns[None, :], mask=y_mask, other=0)
        total = tw.dot(x, y, total, input_precision="ieee")
        if then == "with the last":
            last += start
    if then == "columns":
        total = total + tw.load(bias + columns, mask=columns < N, other=0.0)[None, :]
    if then == "with the last":
        total = total + last
    if then == "twice":
        tw.store(c + M * N + places, total, mask=kept)
    tw.store(c + places, total, mask=kept)


def of_sum(then: str, product: np.ndarray, bias: np.ndarray, k: int, step: int) -> np.ndarray:
    """What `summed` leaves, where its output held 0.5 before."""
    added: dict[str, float | np.ndarray] = {
        "from memory": 0.5,
        "from ones": 1.0,
        "columns": bias[: product.shape[1]],
        "with the last": float(sum(range(0, k, step))),
    }
    return product + added.get(then, 0.0)


@pytest.mark.parametrize("then", ["", "from memory", "from ones", "columns", "with the last", "twice"])
@pytest.mark.parametrize("device", ["cpu", "cpu:x86-64-v3", "cpu:x86-64-v2"])
@pytest.mark.parametrize("k", [0, 5, 16, 40])
def test_sums_of_a_loop(k: int, device: str, then: str) -> None:
    (m, n), tiles = (40, 70), {"BM": 16, "BN": 64, "BK": 16}
    rng = np.random.default_rng(k)
    a, b = rng.standard_normal((m, k), np.float32), rng.standard_normal((k, n), np.float32)
    bias = rng.standard_normal(n, np.float32)
    memory = np.full((4, m, n), np.float32(0.5))
    with tw.device(device):
        summed[(tw.cdiv(m, 16), tw.cdiv(n, 64))](a, b, memory[1:], bias, m, n, k, then=then, **tiles)
    expected = of_sum(then, a.astype(np.float64) @ b.astype(np.float64), bias, k, 16)
    np.testing.assert_allclose(memory[1], expected, rtol=1e-5, atol=1e-4)
    if then == "twice":
        np.testing.assert_allclose(memory[2], expected, rtol=1e-5, atol=1e-4)
    assert (memory[0] == 0.5).all() and (memory[2 + (then == "twice") :] == 0.5).all()


@pytest.mark.parametrize("k", [0, 32, 96])
def test_sums_of_bytes_in_a_loop(k: int) -> None:
    (m, n), tiles = (40, 70), {"BM": 16, "BN": 64, "BK": 32}
    rng = np.random.default_rng(k)
    a, b = (rng.integers(-128, 128, shape, np.int8) for shape in ((m, k), (k, n)))
    c = np.full((m, n), 7, np.int32)
    with tw.device("cpu"):
        summed[(tw.cdiv(m, 16), tw.cdiv(n, 64))](a, b, c, c, m, n, k, then="from ones", **tiles)
    np.testing.assert_array_equal(c, a.astype(np.int32) @ b.astype(np.int32) + 1)


@tw.jit
def add_up_in_place(a, b, c, n, S: tw.constexpr):
    i = tw.arange(0, S)
    at = i[:, None] * S + i[None, :]
    total = tw.zeros((S, S), tw.float32)
    for j in range(n):
        x, y = tw.load(a + j * S * S + at), tw.load(b + j * S * S + at)
        total = tw.dot(x, y, total, input_precision="ieee")
    tw.store(c + at, total)


@pytest.mark.parametrize("shared", ["a", "b", "all", "none"])
def test_what_a_loop_reads_is_overwritten(shared: str) -> None:
    size, n = 32, 3
    memory = np.random.default_rng(2).standard_normal((3, n, size, size), np.float32)
    a, b, c = memory
    if shared != "none":
        # The sum goes where the last step reads.
        a, b = (c if shared in (name, "all") else array for name, array in (("a", a), ("b", b)))
    out = c[n - 1]
    expected = (a.astype(np.float64) @ b.astype(np.float64)).sum(0)
    with tw.device("cpu"):
        add_up_in_place[(1,)](a, b, out, n, S=size)
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-4)


@tw.jit
def downwards(a, b, c, first, S: tw.constexpr):
    i = tw.arange(0, S)
    at = i[:, None] * S + i[None, :]
    total = tw.zeros((S, S), tw.float32)
    for j in range(first, -1, -1):
        x, y = tw.load(a + j * S * S + at), tw.load(b + j * S * S + at)
        total = tw.dot(x, y, total, input_precision="ieee")
    tw.store(c + at, total)


@pytest.mark.parametrize("steps", [0, 1, 3])
def test_sums_of_a_loop_that_counts_down(steps: int) -> None:
    size = 32
    rng = np.random.default_rng(steps)
    a, b = (rng.standard_normal((3, size, size), np.float32) for _ in range(2))
    c = np.full((size, size), np.float32(777))
    with tw.device("cpu"):
        downwards[(1,)](a, b, c, steps - 1, S=size)
    expected = (a[:steps].astype(np.float64) @ b[:steps]).sum(0)
    np.testing.assert_allclose(c, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("columns", [1, 64])
def test_sums_that_bypass_the_caches(columns: int) -> None:
    """Rows that begin on vectors' boundaries, and others."""
    m, k, tiles = 200, 40, {"BM": 32, "BN": 64, "BK": 16}
    n = native().streaming_bytes() // (4 * m) // 64 * 64 + 64 + columns
    rng = np.random.default_rng(columns)
    a, b = rng.standard_normal((m, k), np.float32), rng.standard_normal((k, n), np.float32)
    memory = np.full((m + 2, n), np.float32(777))
    c = memory[1:-1]
    with tw.device("cpu"):
        summed[(tw.cdiv(m, 32), tw.cdiv(n, 64))](a, b, c, b, m, n, k, then="", **tiles)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b, rtol=1e-5, atol=1e-4)
    assert (memory[[0, -1]] == 777).all()


@tw.jit
def with_ends(
    a, b, c, M, N, KA, KB, other: tw.constexpr, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr
):
    """A has KA columns and B has KB rows; what is behind them reads as `other`."""
    rows, columns, depth = tw.arange(0, BM), tw.arange(0, BN), tw.arange(0, BK)
    x_mask = (rows[:, None] < M) & (depth[None, :] < KA)
    y_mask = (depth[:, None] < KB) & (columns[None, :] <= N - 1)
    x = tw.load(a + rows[:, None] * KA + depth[None, :], mask=x_mask, other=other)
    y = tw.load(b + depth[:, None] * N + columns[None, :], mask=y_mask, other=other)
    total = tw.dot(x, y, input_precision="ieee")
    kept = (rows[:, None] < M) & (columns[None, :] < N)
    tw.store(c + rows[:, None] * N + columns[None, :], total.to(c.dtype.element_ty), mask=kept)


def product_with_ends(a: np.ndarray, b: np.ndarray, other: float = 0.0) -> np.ndarray:
    (m, ka), (kb, n) = a.shape, b.shape
    c = np.full((m, n), np.float32(777))
    with tw.device("cpu"):
        with_ends[(1,)](a, b, c, m, n, ka, kb, other=other, BM=32, BN=64, BK=64)
    return c


def padded(values: np.ndarray, shape: tuple[int, int], other: float) -> np.ndarray:
    whole = np.full(shape, other)
    whole[: values.shape[0], : values.shape[1]] = values
    return whole


@pytest.mark.parametrize("ka, kb", [(40, 40), (37, 37), (40, 24), (24, 40), (64, 64), (0, 0), (0, 5)])
@pytest.mark.parametrize("other", [0.0, 1.0])
@pytest.mark.parametrize("m, n", [(32, 64), (24, 32), (19, 41), (1, 1)])
def test_ends_of_both_operands(m: int, n: int, other: float, ka: int, kb: int) -> None:
    rng = np.random.default_rng(ka + kb)
    a, b = rng.standard_normal((m, ka), np.float32), rng.standard_normal((kb, n), np.float32)
    expected = padded(a, (m, 64), other) @ padded(b, (64, n), other)
    np.testing.assert_allclose(product_with_ends(a, b, other), expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("name", ["a", "b"])
def test_the_longer_operand_is_infinite_behind_the_other(name: str) -> None:
    a, b = np.ones((16, 40 if name == "a" else 24), np.float32), np.ones((64 - 24, 32), np.float32)
    b = b[: 24 if name == "a" else 40].copy()
    (a if name == "a" else b.T)[:, 30] = np.inf
    assert np.isnan(product_with_ends(a, b)).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("m, n, k", [(32, 64, 37), (24, 32, 40), (19, 41, 64), (17, 63, 13)])
def test_nothing_behind_the_ends_is_read(m: int, n: int, k: int, dtype: type) -> None:
    rng = np.random.default_rng(k)
    a = before_a_guard(rng.standard_normal((m, k)).astype(dtype))
    b = before_a_guard(rng.standard_normal((k, n)).astype(dtype))
    expected = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(product_with_ends(a, b), expected, rtol=1e-3, atol=1e-3)
