"""Loops that walk through memory by strides of either sign, against NumPy: machines whose offsets are
unsigned need the least that an address becomes."""

from __future__ import annotations

import numpy as np
import pytest
from gpu.launching import normal, poisoned, run

import tilewright as tw

pytestmark = [pytest.mark.usefixtures("compiler"), pytest.mark.every_machine]

ROWS, COLUMNS = 12, 64


@tw.jit
def follow(x, out, start, stride, rows, C: tw.constexpr):
    """The pointer is carried, and two steps are one iteration's."""
    c = tw.arange(0, C)
    at = x + start + c
    total = tw.zeros([C], tw.float32)
    for row in range(0, rows, 2):
        total += (row + 1) * tw.load(at)
        at += stride
        total += (row + 2) * tw.load(at, mask=row + 1 < rows, other=0.0)
        at += stride
    tw.store(out + c, total)


@tw.jit
def count(x, out, start, stride, first, rows, R: tw.constexpr, C: tw.constexpr):
    """The loop's counter is multiplied by the stride, in an outer loop that moves the tile."""
    r, c = tw.arange(0, R), tw.arange(0, C)
    total = tw.zeros([R, C], tw.float32)
    for part in range(2):
        for row in range(first, rows, R):
            at = start + (row + r)[:, None] * stride + (part * (C // 2) + c % (C // 2))[None, :]
            total += (part + 1) * tw.load(x + at)
    tw.store(out + c, tw.sum(total, 0))


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("rows", [ROWS, ROWS - 1, 1])
def test_carried_pointers(rows: int, sign: int, rng: np.random.Generator) -> None:
    x, out = normal(rng, ROWS, COLUMNS), poisoned(COLUMNS)
    start = 0 if sign > 0 else (ROWS - 1) * COLUMNS
    run(follow, (1,), x, out, start, sign * COLUMNS, rows, C=COLUMNS, num_warps=1)
    read = x[::sign][:rows].astype(np.float64)
    expected = (np.arange(1, rows + 1)[:, None] * read).sum(0)
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("first", [0, 4])
def test_multiplied_counters(first: int, sign: int, rng: np.random.Generator) -> None:
    x, out = normal(rng, ROWS, COLUMNS), poisoned(COLUMNS)
    start = 0 if sign > 0 else (ROWS - 1) * COLUMNS
    run(
        count, (1,), x, out, start, sign * COLUMNS, first, ROWS, R=4, C=COLUMNS, num_warps=1
    )  # fmt: skip
    read = x[::sign][first:].astype(np.float64).sum(0)
    halves = np.concatenate([read[:32], read[:32]]) + 2 * np.concatenate([read[32:], read[32:]])
    np.testing.assert_allclose(out, halves, rtol=1e-5, atol=1e-4)


@tw.jit
def backwards(x, out, n, step, BLOCK: tw.constexpr):
    """What the counter spans is far more than the iterations."""
    cols = tw.arange(0, BLOCK)
    at, to = x + (n - BLOCK) + cols, out + (n - BLOCK) + cols
    for _ in range(0, n, BLOCK):
        tw.store(to, tw.load(at) + 1)
        at += step
        to += step


def test_many_blocks_backwards() -> None:
    n, block = 1 << 18, 4096
    x, out = np.arange(n, dtype=np.float32), poisoned(n)
    run(backwards, (1,), x, out, n, -block, BLOCK=block, num_warps=4)
    np.testing.assert_array_equal(out, x + 1)


@tw.jit
def until_masked(x, out, first, stride, n, MOST: tw.constexpr, C: tw.constexpr):
    """A mask, or a branch, ends the loop long before its counter does, or begins it long after."""
    c = tw.arange(0, C)
    total = tw.zeros([C], tw.float32)
    at = x + first + c
    for i in range(0, MOST):
        total += tw.load(at, mask=i < n, other=0.0)
        at += stride
    below = x + c - (MOST - n) * tw.cast(tw.abs(stride), tw.int64)
    for i in range(0, MOST):
        total += tw.load(below, mask=i >= MOST - n, other=0.0)
        below += tw.abs(stride)
    at = x + first + c
    for i in range(0, MOST):
        if i < n:
            total += tw.load(at)
        at += stride
    tw.store(out + c, total)


@pytest.mark.parametrize("sign", [1, -1])
def test_far_places_that_nobody_reads(sign: int) -> None:
    n, stride = 4, 1 << 18
    x, out = np.zeros(n * stride, np.float32), poisoned(COLUMNS)
    x.reshape(n, stride)[:, :COLUMNS] = np.arange(1, n + 1, dtype=np.float32)[:, None]
    first = 0 if sign > 0 else (n - 1) * stride
    run(
        until_masked, (1,), x, out, first, sign * stride, n, MOST=8192, C=COLUMNS, num_warps=1
    )  # fmt: skip
    np.testing.assert_array_equal(out, 3 * sum(range(1, n + 1)))
