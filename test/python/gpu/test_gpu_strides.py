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
