"""Masks whose bounds are known when a kernel is compiled: loops over vectors end where they do."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import tilewright as tw

pytestmark = pytest.mark.usefixtures("compiler")
RNG = np.random.default_rng()


@tw.jit
def ranges(out, total, x, LOW: tw.constexpr, HIGH: tw.constexpr, SHIFT: tw.constexpr, N: tw.constexpr):
    i = tw.arange(0, N)
    kept = (i + SHIFT < HIGH) & (i >= LOW)
    v = tw.load(x + i, mask=kept, other=3)
    w = tw.exp(v.to(tw.float32) * 0.125)
    tw.store(out + i, w, mask=i < HIGH)
    tw.store(total, tw.sum(v.to(tw.int64)))
    tw.store(total + 1, tw.max(tw.where(HIGH > i, v, -100)).to(tw.int64))
    tw.store(total + 2, tw.sum((w * 0 + 1).to(tw.int64)))


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
def test_one_dimension(dtype: Any, device: str) -> None:
    for _ in range(4):
        n = random.choice((16, 64, 256, 1024))
        low, high, shift = random.randrange(-3, 40), random.randrange(-2, n + 9), random.choice((0, 5, -7))
        x = RNG.integers(-50, 50, n).astype(dtype)
        out, total = np.full(n, -1, np.float32), np.zeros(3, np.int64)
        ranges[(1,)](out, total, x, LOW=low, HIGH=high, SHIFT=shift, N=n)
        i = np.arange(n)
        v = np.where((i + shift < high) & (i >= low), x, 3).astype(np.int64)
        w = np.where(i < high, np.exp(v * 0.125), -1)
        np.testing.assert_allclose(out, w, rtol=1e-5, err_msg=f"{low} {high} {shift} {n}")
        assert total.tolist() == [v.sum(), np.where(i < high, v, -100).max(), n], (low, high, shift, n)


@tw.jit
def squares(out, x, total, ROWS: tw.constexpr, COLUMNS: tw.constexpr, N: tw.constexpr, HAS_BOTH: tw.constexpr):
    i = tw.arange(0, N)
    at = i[:, None] * N + i[None, :]
    column = at % N + i[:, None] * 0
    inside = column < COLUMNS
    if HAS_BOTH:  # the same comparison at other coordinates
        inside = inside & tw.trans(inside)
    few = i < ROWS
    inside = inside & few[:, None] & (few[None, :] if HAS_BOTH else few[:, None])
    v = tw.load(x + at, mask=inside, other=0.0)
    tw.store(out + at, v * 2, mask=inside)
    tw.store(total + i, tw.sum(v, axis=1), mask=few)


@tw.jit
def planes(out, x, COLUMNS: tw.constexpr, M: tw.constexpr, N: tw.constexpr):
    """A comparison of the whole tile's shape."""
    column = tw.zeros((M, N), tw.int32) + tw.arange(0, N)[None, :]
    at = tw.arange(0, M)[:, None] * N + column
    tw.store(out + at, tw.exp(tw.load(x + at, mask=column < COLUMNS, other=0.0)), mask=column < COLUMNS)


def test_two_dimensions(device: str) -> None:
    for both in (False, True):
        n = random.choice((16, 32, 64))
        rows, columns = random.randrange(1, n + 1), random.randrange(1, n + 1)
        x = RNG.standard_normal((n, n), dtype=np.float32)
        out, total = np.full((n, n), 7, np.float32), np.zeros(n, np.float32)
        squares[(1,)](out, x, total, ROWS=rows, COLUMNS=columns, N=n, HAS_BOTH=both)
        i = np.arange(n)
        inside = (i < columns)[None, :] & (i < rows)[:, None]
        inside = inside & inside.T if both else inside
        assert (out == np.where(inside, 2 * x, 7)).all(), (rows, columns, n, both)
        expected = np.where(i < rows, np.where(inside, x, 0).astype(np.float64).sum(1), 0)
        np.testing.assert_allclose(total, expected, rtol=1e-5, atol=1e-4)
    for columns in (0, 1, 16, 33, 63, 64, 70):
        x, out = RNG.standard_normal((8, 64), dtype=np.float32), np.full((8, 64), 7, np.float32)
        planes[(1,)](out, x, COLUMNS=columns, M=8, N=64)
        np.testing.assert_allclose(out[:, :columns], np.exp(x[:, :columns]), rtol=1e-5)
        assert (out[:, columns:] == 7).all(), columns


@tw.jit
def unsigned(out, START: tw.constexpr, END: tw.constexpr):
    i = tw.arange(0, 64)
    at = (i + START).to(tw.uint32)
    tw.store(out + i, 1, mask=at < END)
    tw.store(out + 64 + i, 1, mask=(i + START).to(tw.int64) < END)
    tw.store(out + 128 + i, 1, mask=(i + 2147483600) < 2147483640)
    tw.store(out + 192 + i, 1, mask=(i + 2147483600).to(tw.int64) < 2147483640)


def test_comparisons_that_wrap_or_have_no_sign(device: str) -> None:
    i = np.arange(64)
    for start, end in ((0, 40), (-5, 40), (-64, 3), (7, 2**31 - 1), (-1, 1)):
        out = np.zeros(256, np.int32)
        unsigned[(1,)](out, START=start, END=end)
        wrapped = (i + 2147483600 + 2**31) % 2**32 - 2**31
        expected = [(i + start) % 2**32 < end, i + start < end, wrapped < 2147483640, wrapped < 2147483640]
        assert (out == np.concatenate(expected)).all(), (start, end)


@tw.jit(specialize="shape")
def softmax(out, x, stride, columns, BLOCK: tw.constexpr):
    row = tw.program_id(0)
    at = tw.arange(0, BLOCK)
    v = tw.load(x + row * stride + at, mask=at < columns, other=-float("inf"))
    v = tw.exp(v - tw.max(v, axis=0))
    tw.store(out + row * stride + at, v / tw.sum(v, axis=0), mask=at < columns)


@pytest.mark.parametrize("columns", [1, 15, 16, 17, 100, 1000, 1023, 1024])
def test_a_ragged_softmax(columns: int, device: str) -> None:
    x = RNG.standard_normal((5, columns), dtype=np.float32)
    memory = np.full(5 * columns + 64, 9, np.float32)
    out = memory[: 5 * columns].reshape(5, columns)
    softmax[(5,)](out, x, columns, columns, BLOCK=1024)
    wide = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    np.testing.assert_allclose(out, wide / wide.sum(1, keepdims=True), rtol=2e-6, atol=1e-9)
    assert (memory[5 * columns :] == 9).all()
