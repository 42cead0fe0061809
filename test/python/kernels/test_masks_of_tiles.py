"""Masks and addresses whose values wrap around, on every device: found by random kernels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from guarded import before_a_guard


@pytest.fixture(params=["cpu", "reference"])
def device(request: pytest.FixtureRequest, compiler: None) -> Iterator[str]:
    with tw.device(request.param):
        yield request.param


@tw.jit
def copy_inside(out, a, n, N: tw.constexpr):
    i = tw.arange(0, N) - 1
    mask = i.to(tw.uint32) < n
    x = tw.load(a + i, mask=mask, other=7)
    tw.store(out + tw.arange(0, N), x, mask=tw.arange(0, N) < N - 1)


@pytest.mark.parametrize("n", [0, 1, 15, 31, 32, 40])
def test_an_unsigned_test_of_negative_indices_masks_them(n: int, device: str) -> None:
    a, out = np.arange(100, 164, dtype=np.int32), np.zeros(32, np.int32)
    copy_inside[(1,)](out, a, n, N=32)
    expected = [a[i - 1] if 0 <= i - 1 < n else 7 for i in range(31)]
    assert out.tolist() == [*expected, 0]


@tw.jit
def store_shifted_indices(out, shift, n, N: tw.constexpr):
    i = tw.arange(0, N)
    tw.store(out + i, i, mask=i + shift < n)


@pytest.mark.parametrize("shift", [0, 2**31 - 8, -(2**31)])
def test_mask_of_sums_that_wrap_around(shift: int, device: str) -> None:
    out = np.full(32, -1, np.int32)
    store_shifted_indices[(1,)](out, shift, 0, N=32)
    sums = (np.arange(32) + shift + 2**31) % 2**32 - 2**31
    np.testing.assert_array_equal(out, np.where(sums < 0, np.arange(32), -1))


@tw.jit
def copy_unsigned(out, a, N: tw.constexpr):
    i = (tw.arange(0, N) - 2).to(tw.uint32).to(tw.int64)
    tw.store(out + tw.arange(0, N), tw.load(a + i, mask=i < N, other=-1))


def test_unsigned_offsets_that_wrap_are_not_contiguous(device: str) -> None:
    a, out = np.arange(64, dtype=np.int32), np.zeros(48, np.int32)
    copy_unsigned[(1,)](out, a, N=48)
    assert out.tolist() == [-1, -1, *range(46)]


@tw.jit
def copy_by_bytes(out, a, N: tw.constexpr):
    i = tw.arange(0, N).to(tw.uint8)
    tw.store(out + tw.arange(0, N), tw.load(a + i.to(tw.int32)))


def test_narrow_offsets_wrap_within_a_tile(device: str) -> None:
    a, out = np.arange(700, dtype=np.int32), np.zeros(600, np.int32)
    copy_by_bytes[(1,)](out, a, N=600)
    np.testing.assert_array_equal(out, np.arange(600) % 256)


@tw.jit
def store_converted(out, a, n, N: tw.constexpr):
    i = tw.arange(0, N)
    tw.store(out + i, tw.load(a + i).to(out.dtype.element_ty), mask=i < n)


@pytest.mark.parametrize("n", [1, 2, 9])
@pytest.mark.parametrize("result", ["uint8", "int16", "int32"])
@pytest.mark.parametrize("source", ["float64", "int32", "int64"])
def test_one_stored_element_leaves_its_neighbours(
    source: str, result: str, n: int, device: str
) -> None:
    a, out = np.arange(3, 35).astype(source), np.full(40, 77, result)
    store_converted[(1,)](out, a, n, N=32)
    assert out.tolist() == [*range(3, 3 + n), *[77] * (40 - n)]


@tw.jit
def carry_pointers(out, index, a, N: tw.constexpr, M: tw.constexpr):
    """The pointers are kept in memory and read in columns."""
    i = tw.arange(0, N)[:, None]
    j = tw.arange(0, M)[None, :]
    p = a + tw.load(index + i * M + j)
    total = tw.zeros((N, M), tw.float32)
    for step in range(3):
        total += tw.load(p)
        p += i % 2 + j
    tw.store(out + i + j * N, total)


def test_pointer_tiles_in_memory(device: str, rng: Any = np.random.default_rng(1)) -> None:
    index = rng.permutation(16 * 8).astype(np.int64)
    a = rng.integers(0, 50, 200).astype(np.float32)
    out = np.zeros(16 * 8, np.float32)
    carry_pointers[(1,)](out, index, a, N=16, M=8)
    start = index.reshape(16, 8)
    step = np.arange(16)[:, None] % 2 + np.arange(8)
    expected = sum(a[start + k * step] for k in range(3))
    np.testing.assert_array_equal(out.reshape(8, 16).T, expected)


@tw.jit
def reversed_both_ways(whole, turned, a, row, rows, columns, N: tw.constexpr):
    i = tw.arange(0, N)[None, :, None]
    j = tw.arange(0, N)[None, None, :]
    k = tw.arange(0, 3)[:, None, None]
    x = tw.load(a + i * N + k * 256 - j + 15, mask=(i < rows) & (j < columns))
    tw.store(whole + k * 256 + i * N + j, x.to(tw.int32))
    tw.store(turned + j + k * row + i * N, tw.permute(x, (0, 2, 1)), mask=(k != 1) & (j < rows))


def test_bfloat16_gathers_are_transposed(device: str) -> None:
    torch = pytest.importorskip("torch")
    a = torch.arange(768).remainder(100).to(torch.bfloat16)
    whole, turned = np.zeros((3, 16, 16), np.int32), torch.zeros(768, dtype=torch.bfloat16)
    reversed_both_ways[(1,)](whole.reshape(-1), turned, a, 256, 14, 15, N=16)
    expected = a.float().numpy().reshape(3, 16, 16)[:, :, ::-1].copy()
    expected[:, 14:], expected[:, :, 15:] = 0, 0
    np.testing.assert_array_equal(whole, expected)
    across = expected.transpose(0, 2, 1) * (np.arange(3) != 1)[:, None, None]
    np.testing.assert_array_equal(turned.float().numpy().reshape(3, 16, 16), across)


@tw.jit
def larger_in_float32(out, a, b, N: tw.constexpr):
    i = tw.arange(0, N)
    x, y = tw.load(a + i).to(tw.float32), tw.load(b + i).to(tw.float32)
    tw.store(out + i, tw.maximum(x, y))


def test_maximum_of_widened_bfloat16_keeps_subnormals(device: str) -> None:
    torch = pytest.importorskip("torch")
    a = torch.full((32,), 2.0**-130, dtype=torch.bfloat16)
    out = np.zeros(32, np.float32)
    larger_in_float32[(1,)](out, a, torch.zeros_like(a) - 1, N=32)
    assert (out == 2.0**-130).all()


@tw.jit
def larger_than_one(out, a, limit, N: tw.constexpr, M: tw.constexpr):
    i = tw.arange(0, N)[:, None]
    j = tw.arange(0, M)[None, :]
    is_larger = tw.load(a + i * (M + 1) + j) > tw.load(limit)
    tw.store(out + (N - 1 - i) * M + j, is_larger.to(tw.uint16))


def test_comparisons_of_bfloat16(device: str) -> None:
    torch = pytest.importorskip("torch")
    a = torch.arange(17 * 18).remainder(11).to(torch.bfloat16)
    out = np.zeros((17, 17), np.uint16)
    larger_than_one[(1,)](out.reshape(-1), a, torch.tensor([5.0], dtype=torch.bfloat16), N=17, M=17)
    expected = a.float().numpy().reshape(17, 18)[::-1, :17] > 5
    np.testing.assert_array_equal(out, expected.astype(np.uint16))


@tw.jit
def add_bias_of_rows(out, a, bias, scale, rows, columns, R: tw.constexpr, C: tw.constexpr):
    i, j = tw.arange(0, R)[:, None], tw.arange(0, C)[None, :]
    inside = (i < rows) & (j < columns)
    x = tw.load(a + i * columns + j, mask=inside, other=5.0)
    x = x * tw.load(scale + j, mask=j < columns) + tw.load(bias + i, mask=i < rows)
    tw.store(out + i * columns + j, x, mask=inside)


@pytest.mark.parametrize("rows, columns", [(1, 1), (3, 17), (8, 64), (5, 40), (8, 1), (0, 9), (4, 0)])
def test_nothing_behind_the_masks_of_rows_and_columns_is_touched(
    rows: int, columns: int, device: str
) -> None:
    rng = np.random.default_rng(rows)
    a, bias, scale = (
        rng.standard_normal(shape).astype(np.float32) for shape in [(rows, columns), rows, columns]
    )
    out = before_a_guard(np.full_like(a, -1))
    arrays = [before_a_guard(array) for array in (a, bias, scale)]
    add_bias_of_rows[(1,)](out, *arrays, rows, columns, R=8, C=64)
    np.testing.assert_allclose(out, a * scale + bias[:, None], rtol=1e-5, atol=1e-6)


@tw.jit
def copy_flagged(out, total, a, flags, B: tw.constexpr):
    i = tw.arange(0, B)
    taken = tw.load(flags + i) != 0
    x = tw.load(a + i, mask=taken, other=0)
    tw.store(out + i, x, mask=taken & (x > 10))
    tw.store(total, tw.sum(x, axis=0))


@pytest.mark.parametrize("dtype", [np.int8, np.float16, np.float32, np.int64])
def test_vectors_of_which_some_have_no_element(dtype: type, device: str) -> None:
    a = np.arange(256).astype(dtype) % 100
    for share in (0, 0.01, 0.3, 1):
        flags = (np.random.default_rng(1).random(256) < share).astype(np.int32)
        out, total = np.full(256, -1, dtype), np.zeros(1, dtype)
        copy_flagged[(1,)](out, total, a, flags, B=256)
        np.testing.assert_array_equal(out, np.where((flags != 0) & (a > 10), a, -1))
        if share < 0.1 or dtype in (np.float32, np.int64):
            assert total[0] == a[flags != 0].sum(dtype=dtype)
