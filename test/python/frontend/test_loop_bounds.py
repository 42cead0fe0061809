"""Counted loops whose bounds or steps are near the ends of the integers: a counter never wraps."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw

END, LONG_END = 2**31, 2**63  # one behind the largest integer


@tw.jit
def count(out, start, stop, step):
    n, last = 0, start
    for i in range(start, stop, step):
        n += 1
        last = i
    tw.store(out, n)
    tw.store(out + 1, last)


@tw.jit
def count_by_constant(out, start, stop, STEP: tw.constexpr):
    n, last = 0, start
    for i in range(start, stop, STEP):
        n += 1
        last = i
    tw.store(out, n)
    tw.store(out + 1, last)


@tw.jit
def count_constants(out, START: tw.constexpr, STOP: tw.constexpr, STEP: tw.constexpr):
    n, last = 0, START + 0
    for i in range(START, STOP, STEP):
        n += 1
        last = i
    tw.store(out, n)
    tw.store(out + 1, last)


@tw.jit
def count_up_to(out, start, stop, STEP: tw.constexpr, limit):
    n, last = 0, start
    for i in range(start, stop, STEP):
        if n == limit:
            break
        n += 1
        last = i
    tw.store(out, n)
    tw.store(out + 1, last)


BOUNDS = [
    (END - 60, END - 1, 16), (END - 60, END - 1, 1), (END - 1, END - 1, 3), (END - 2, END - 1, END - 1),
    (-END + 60, -END, -16), (-END, -END + 5, 7), (-END, END - 1, 2**30), (-END, END - 1, END - 1),
    (END - 1, -END, -(2**30)), (END - 1, -END, -END), (3, -END, -END), (-END, END - 1, -5),
    (5, 5, 7), (7, 5, 3), (-5, 20, 7), (END, END + 100, 16),
    (LONG_END - 60, LONG_END - 1, 16), (-LONG_END + 60, -LONG_END, -16),
    (-LONG_END, LONG_END - 1, 2**62),
]  # fmt: skip


@pytest.mark.parametrize("kernel", [count, count_by_constant, count_constants, count_up_to])
@pytest.mark.parametrize(("start", "stop", "step"), BOUNDS)
def test_iterations(kernel: tw.JITFunction, start: int, stop: int, step: int, device: str) -> None:
    expected = list(range(start, stop, step))
    out = np.full(2, -7, np.int64)
    kernel[(1,)](out, start, stop, step, *([1000] if kernel is count_up_to else []))
    assert out.tolist() == [len(expected), expected[-1] if expected else start]


def test_a_break_ends_a_loop_near_the_end(device: str) -> None:
    out = np.full(2, -7, np.int64)
    count_up_to[(1,)](out, END - 60, END - 1, 16, 2)
    assert out.tolist() == [2, END - 44]


@tw.jit
def count_programs(out, start, stop):
    n = 0
    for _ in range(start + tw.program_id(0), stop, tw.num_programs(0)):
        n += 1
    tw.store(out + tw.program_id(0), n)


def test_a_step_of_all_programs(device: str) -> None:
    out = np.full(5, -7, np.int64)
    count_programs[(5,)](out, END - 18, END - 1)
    assert out.tolist() == [4, 4, 3, 3, 3]


@tw.jit
def multiply_far(a, b, c, start, stop, K, T: tw.constexpr):
    i = tw.arange(0, T)
    total = tw.zeros((T, T), tw.float32)
    for k in range(start, stop, T):
        at = k - start + i
        x = tw.load(a + i[:, None] * K + at[None, :], mask=at[None, :] < K, other=0.0)
        y = tw.load(b + at[:, None] * T + i[None, :], mask=at[:, None] < K, other=0.0)
        total = tw.dot(x, y, total)
    tw.store(c + i[:, None] * T + i[None, :], total)


@pytest.mark.parametrize("num_stages", [1, 2, 4])
@pytest.mark.parametrize("depth", [1, 16, 31, 64, 83])
def test_pipelined_loops_end_at_the_largest_integer(
    num_stages: int, depth: int, device: str, rng: np.random.Generator
) -> None:
    a = rng.integers(-4, 5, (16, depth)).astype(np.float16)
    b = rng.integers(-4, 5, (depth, 16)).astype(np.float16)
    c = np.full((16, 16), np.nan, np.float32)
    start = END - 1 - depth
    multiply_far[(1,)](a, b, c, start, END - 1, depth, T=16, num_stages=num_stages)
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32))


@tw.jit
def sum_masked(x, out, start, stop, B: tw.constexpr):
    i = tw.arange(0, B)
    total = tw.zeros((B,), tw.int32)
    for k in range(start, stop, B):
        at = k - start + i
        mask = at < stop - start
        total = total * 3 + tw.where(mask, tw.load(x + at, mask=mask, other=0), -1)
    tw.store(out + i, total)


@pytest.mark.parametrize("length", [0, 1, 16, 40, 48, 59])
def test_split_loops_end_at_the_largest_integer(length: int, device: str) -> None:
    x, out = np.arange(100, 164, dtype=np.int32), np.full(16, -7, np.int32)
    sum_masked[(1,)](x, out, END - 1 - length, END - 1, B=16)
    expected = np.zeros(16, np.int64)
    for k in range(0, length, 16):
        at = k + np.arange(16)
        expected = expected * 3 + np.where(at < length, x[at], -1)
    np.testing.assert_array_equal(out, expected.astype(np.int32))
