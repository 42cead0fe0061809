"""Matrix products of every element type, shape and kind of accumulator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from op_values import (
    argument, assert_close, assert_equal, decode, draw, is_float, poisoned,
    wrap,
)  # fmt: skip

import tilewright as tw

SHAPES = [
    (16, 16, 16), (32, 64, 16), (64, 32, 128), (1, 8, 4), (5, 7, 3), (17, 1, 33), (48, 80, 24),
]  # fmt: skip
RESULTS = {
    "float16": "float32", "bfloat16": "float32", "float32": "float32", "float64": "float64",
    "int8": "int32",
}  # fmt: skip


@tw.jit
def product(out, a, b, M: tw.constexpr, K: tw.constexpr, N: tw.constexpr):
    m = tw.arange(0, M)[:, None]
    n = tw.arange(0, N)[None, :]
    x = tw.load(a + m * K + tw.arange(0, K)[None, :])
    y = tw.load(b + tw.arange(0, K)[:, None] * N + n)
    tw.store(out + m * N + n, tw.dot(x, y, input_precision="ieee", out_dtype=out.dtype.element_ty))


@tw.jit
def accumulated(
    out, a, b, c, M: tw.constexpr, K: tw.constexpr, N: tw.constexpr, STEPS: tw.constexpr
):
    m = tw.arange(0, M)[:, None]
    n = tw.arange(0, N)[None, :]
    acc = tw.load(c + m * N + n)
    for step in range(STEPS):
        k = step * K + tw.arange(0, K)
        x = tw.load(a + m * (K * STEPS) + k[None, :])
        y = tw.load(b + k[:, None] * N + n)
        acc = tw.dot(x, y, acc, input_precision="ieee")
    tw.store(out + m * N + n, acc)


@tw.jit
def batched(out, a, b, B: tw.constexpr, M: tw.constexpr, K: tw.constexpr, N: tw.constexpr):
    batch = tw.arange(0, B)[:, None, None]
    m = tw.arange(0, M)[None, :, None]
    n = tw.arange(0, N)[None, None, :]
    x = tw.load(a + (batch * M + m) * K + tw.arange(0, K)[None, None, :])
    y = tw.load(b + (batch * K + tw.arange(0, K)[None, :, None]) * N + n)
    tw.store(out + (batch * M + m) * N + n, tw.dot(x, y, input_precision="ieee"))


@tw.jit
def transposed(out, a, b, M: tw.constexpr, K: tw.constexpr, N: tw.constexpr):
    m = tw.arange(0, M)
    n = tw.arange(0, N)
    k = tw.arange(0, K)
    x = tw.load(a + k[:, None] * M + m[None, :])  # [K, M]
    y = tw.load(b + n[:, None] * K + k[None, :])  # [N, K]
    tw.store(out + m[:, None] * N + n[None, :], tw.dot(x.T, tw.trans(y), input_precision="ieee"))


def check(out: np.ndarray, a: np.ndarray, b: np.ndarray, result: str, start: Any = 0) -> None:
    """`a` and `b` as numbers. Each product and sum may round once in the accumulator's type."""
    expected = np.matmul(a, b) + start
    if not is_float(result):
        assert_equal(out, wrap(expected, result), result, "dot")
        return
    epsilon = 2.0**-53 if result == "float64" else 2.0**-24
    bound = (a.shape[-1] + 1) * epsilon * (np.matmul(np.abs(a), np.abs(b)) + np.abs(start))
    assert_close(out, expected, result, 0.5, bound, "dot")


@pytest.mark.parametrize("dtype", [*RESULTS])
@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: "x".join(map(str, s)))
def test_dot(
    shape: tuple[int, int, int], dtype: str, device: str, rng: np.random.Generator
) -> None:
    m, k, n = shape
    a, b = draw(rng, dtype, (m, k)), draw(rng, dtype, (k, n))
    result = RESULTS[dtype]
    out = poisoned(result, (m, n))
    try:
        product[(1,)](out, argument(a, dtype), argument(b, dtype), M=m, K=k, N=n)
    except tw.OutOfResources as refusal:
        # Where no matrix instruction takes the type, both operands are in shared memory, whole.
        m, k, n = (1 << (size - 1).bit_length() for size in shape)
        staged = (m + n) * k * a.dtype.itemsize
        assert staged > tw.targets.properties_of(device)["max_shared_mem"], refusal
        assert f"needs {staged} bytes" in str(refusal) and "halve each of these tiles" in str(refusal)
        return
    check(out, decode(a, dtype), decode(b, dtype), result)


@pytest.mark.parametrize("dtype", [*RESULTS])
def test_dot_accumulates_in_a_loop(dtype: str, device: str, rng: np.random.Generator) -> None:
    m, k, n, steps = 16, 32, 48, 5
    result = RESULTS[dtype]
    a, b = draw(rng, dtype, (m, k * steps)), draw(rng, dtype, (k * steps, n))
    c = draw(rng, result, (m, n))
    out = poisoned(result, (m, n))
    accumulated[(1,)](out, argument(a, dtype), argument(b, dtype), c, M=m, K=k, N=n, STEPS=steps)
    check(out, decode(a, dtype), decode(b, dtype), result, decode(c, result))


@tw.jit
def cut_out(
    out, a, b, rows, K, N, a_stride, M_TILE: tw.constexpr, K_TILE: tw.constexpr,
    N_TILE: tw.constexpr,
):  # fmt: skip
    m = tw.program_id(0) * M_TILE + tw.arange(0, M_TILE)[:, None]
    n = tw.arange(0, N_TILE)[None, :]
    total = tw.zeros((M_TILE, N_TILE), out.dtype.element_ty)
    for start in range(0, K, K_TILE):
        k = start + tw.arange(0, K_TILE)
        x = tw.load(a + m * a_stride + k[None, :], mask=(m < rows) & (k[None, :] < K), other=0)
        y = tw.load(b + k[:, None] * N + n, mask=(k[:, None] < K) & (n < N), other=0)
        total = tw.dot(x, y, total, input_precision="ieee")
    tw.store(out + m * N + n, total, mask=(m < rows) & (n < N))


@pytest.mark.parametrize(
    "shape", [(16, 16, 16), (5, 32, 16), (24, 12, 64), (33, 64, 48), (6, 84, 32)]
)
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_dot_of_bytes_is_exact(
    shape: tuple[int, int, int], dtype: str, device: str, rng: np.random.Generator
) -> None:
    """Rows and columns of the largest and smallest numbers among them."""
    m, k, n = shape
    a, b = draw(rng, dtype, (m, k)), draw(rng, dtype, (k, n))
    a[0], b[:, 0] = np.iinfo(a.dtype).max, np.iinfo(b.dtype).max
    a[-1], b[:, -1] = np.iinfo(a.dtype).min, np.iinfo(b.dtype).min
    out = poisoned("int32", (m, n))
    product[(1,)](out, a, b, M=m, K=k, N=n)
    check(out, decode(a, dtype), decode(b, dtype), "int32")


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8"])
@pytest.mark.parametrize("tile", [(1, 32, 64), (8, 16, 32), (32, 32, 128), (32, 8, 512)])
def test_dot_reads_rows_in_place_and_at_edges(
    tile: tuple[int, int, int], dtype: str, device: str, rng: np.random.Generator
) -> None:
    """The first program's rows are whole, the last one's are not; their distance is not their
    length."""
    rows, k, n = 2 * tile[0] + tile[0] // 2, 2 * tile[1] + 4, tile[2] - 3
    a, b = draw(rng, dtype, (rows, k + 5)), draw(rng, dtype, (k, n))
    result = RESULTS[dtype]
    out = poisoned(result, (rows, n))
    grid = (tw.cdiv(rows, tile[0]),)
    sizes = dict(zip(("M_TILE", "K_TILE", "N_TILE"), tile, strict=True))
    cut_out[grid](out, argument(a, dtype), argument(b, dtype), rows, k, n, k + 5, **sizes)
    check(out, decode(a, dtype)[:, :k], decode(b, dtype), result)


@tw.jit
def of_columns(out, a, b, distance, rows, M: tw.constexpr, K: tw.constexpr, N: tw.constexpr):
    """B's rows are `distance` apart; those from `rows` on count as zeros."""
    m, n, k = tw.arange(0, M)[:, None], tw.arange(0, N)[None, :], tw.arange(0, K)
    y = tw.load(b + k[:, None] * distance + n, mask=k[:, None] < rows, other=0)
    x = tw.load(a + m * K + k[None, :])
    tw.store(out + m * N + n, tw.dot(x, y, input_precision="ieee"))


@pytest.mark.parametrize("rows", [64, 63])
@pytest.mark.parametrize("distance", [0, 32, 64, 65, 500, -64])
def test_dot_reads_columns_in_place_where_rows_are_near(
    distance: int, rows: int, device: str, rng: np.random.Generator
) -> None:
    M, K, N = 16, 64, 32
    a, memory = (rng.standard_normal(size).astype(np.float32) for size in (M * K, 64 * 500))
    begin = 63 * 64 if distance < 0 else 0
    places = begin + np.arange(K)[:, None] * distance + np.arange(N)
    b = memory[places] * (np.arange(K) < rows)[:, None]
    out = np.full((M, N), np.nan, np.float32)
    of_columns[(1,)](out, a, memory[begin:], distance, rows, M=M, K=K, N=N)
    assert np.abs(out - a.reshape(M, K).astype(float) @ b).max() < 1e-4



@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
def test_batched_dot(dtype: str, device: str, rng: np.random.Generator) -> None:
    batch = 3
    a, b = draw(rng, dtype, (batch, 8, 16)), draw(rng, dtype, (batch, 16, 4))
    out = poisoned(RESULTS[dtype], (batch, 8, 4))
    batched[(1,)](out, a, b, B=batch, M=8, K=16, N=4)
    check(out, decode(a, dtype), decode(b, dtype), RESULTS[dtype])


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_transposed_operands(dtype: str, device: str, rng: np.random.Generator) -> None:
    k, n = 24, 40
    a, b = draw(rng, dtype, (k, 16)), draw(rng, dtype, (n, k))
    out = poisoned("float32", (16, n))
    transposed[(1,)](out, argument(a, dtype), argument(b, dtype), M=16, K=k, N=n)
    check(out, decode(a, dtype).T, decode(b, dtype).T, "float32")


def test_special_numbers_reach_the_result(device: str) -> None:
    a = np.array([[np.inf, 1], [np.nan, 1], [1e30, 1], [2, 3]], np.float32)
    b = np.array([[1, -1], [2, 0]], np.float32)
    out = poisoned("float32", (4, 2))
    product[(1,)](out, a, b, M=4, K=2, N=2)
    assert_equal(out, [[np.inf, -np.inf], [np.nan, np.nan], [1e30, -1e30], [8, -2]], "float32")


def test_mismatched_shapes_are_an_error(device: str) -> None:
    @tw.jit
    def kernel(out):
        x = tw.zeros((8, 4), tw.float32)
        tw.store(out, tw.sum(tw.dot(x, x)))

    with pytest.raises(tw.CompileError, match=r"8, 4"):
        kernel[(1,)](poisoned("float32", 1))


@tw.jit
def dot_of_few_columns(out, a, b, COUNT: tw.constexpr, N: tw.constexpr):
    i = tw.arange(0, N)
    rows, columns = i[:, None], i[None, :]
    # Whether an element of the mask is true is known at compile time.
    x = tw.load(a + rows * COUNT + columns, mask=columns < COUNT, other=0.0)
    y = tw.load(b + rows * N + columns, mask=rows < COUNT, other=0.0)
    tw.store(out + rows * N + columns, tw.dot(x, y, input_precision="ieee"))


@pytest.mark.parametrize("count", [1, 3])
def test_a_known_mask_that_is_true_at_first_hides_the_rest(
    device: str, rng: np.random.Generator, count: int
) -> None:
    n = 16
    a, b = np.full((2, n * n), np.nan, np.float32)
    a[: n * count] = rng.standard_normal(n * count)
    b[: n * count] = rng.standard_normal(n * count)
    out = poisoned("float32", n * n)
    dot_of_few_columns[(1,)](out, a, b, COUNT=count, N=n)
    expected = a[: n * count].reshape(n, count) @ b[: n * count].reshape(count, n)
    np.testing.assert_allclose(out.reshape(n, n), expected, rtol=1e-5, atol=1e-5)
