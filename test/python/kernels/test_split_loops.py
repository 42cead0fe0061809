"""Loops whose masks are all true in a range of iterations: results around every bound of it."""

from __future__ import annotations

import numpy as np
import pytest
import tilewright as tw

# Sums depend on the order of the iterations, on their number and on each element's mask.
FACTOR = 3


def wrap(values: np.ndarray) -> np.ndarray:
    return (values + 2**31) % 2**32 - 2**31


@tw.jit
def fold_window(out, x, start, stop, low, high, B: tw.constexpr, STEP: tw.constexpr):
    i = tw.arange(0, B)
    total = tw.zeros((B,), dtype=tw.int32)
    for k in range(start, stop, STEP):
        at = k + i
        mask = (at >= low) & (at < high)
        total = total * 3 + tw.where(mask, tw.load(x + at, mask=mask, other=0), -1)
    tw.store(out + i, total)


def folded_window(x: np.ndarray, start: int, stop: int, low: int, high: int, step: int, width: int):
    total = np.zeros(width, np.int64)
    for k in range(start, stop, step):
        at = wrap(k + np.arange(width))
        mask = (at >= low) & (at < high)
        found = np.where(mask, x[np.where(mask, at, 0)], -1)
        total = wrap(total * FACTOR + found)
    return total


def check_window(start: int, stop: int, low: int, high: int, step: int = 16) -> None:
    x, out = np.arange(100, 228, dtype=np.int32), np.zeros(16, np.int32)
    fold_window[(1,)](out, x, start, stop, low, high, B=16, STEP=step)
    expected = folded_window(x, start, stop, low, high, step, 16)
    np.testing.assert_array_equal(out, expected, f"{start=} {stop=} {low=} {high=} {step=}")


@pytest.mark.parametrize("n", [0, 1, 15, 16, 17, 31, 32, 33, 48, 100])
def test_tail(n: int, device: str) -> None:
    check_window(0, n, 0, n)


@pytest.mark.parametrize("start", [-33, -32, -17, -16, -15, -1, 0, 1, 5])
@pytest.mark.parametrize("step", [1, 5, 16, 24])
def test_window_with_a_start_before_it(start: int, step: int, device: str) -> None:
    check_window(start, 90, 7, 71, step)


@pytest.mark.parametrize(
    ("low", "high"), [(0, 0), (0, 16), (3, 19), (3, 18), (40, 8), (0, 128), (64, 128), (200, 300)]
)
def test_window_that_is_narrow_or_empty(low: int, high: int, device: str) -> None:
    check_window(0, 96, low, min(high, 128), 8)
    check_window(0, 96, low, min(high, 128), 16)


@pytest.mark.parametrize(("start", "stop"), [(10, 10), (10, 9), (5, -5), (-100, -80), (120, 160)])
def test_loops_without_iterations_and_outside_of_the_window(
    start: int, stop: int, device: str
) -> None:
    check_window(start, stop, 0, 100)


@tw.jit
def fold_positive(out, start, stop, B: tw.constexpr):
    i = tw.arange(0, B)
    total = tw.zeros((B,), dtype=tw.int32)
    for k in range(start, stop, 4):
        total = total * 3 + tw.where(k + i > 2147483600, k, -1)
    tw.store(out + i, total)


@pytest.mark.parametrize("stop", [2**31 - 8, 2**31 - 12, 2**31 - 16])
def test_indices_that_wrap_around(stop: int, device: str) -> None:
    start, out = 2**31 - 60, np.zeros(16, np.int32)
    check_window(start, stop, 0, 100, 4)
    fold_positive[(1,)](out, start, stop, B=16)
    total = np.zeros(16, np.int64)
    for k in range(start, stop, 4):
        total = wrap(total * FACTOR + np.where(wrap(k + np.arange(16)) > 2**31 - 48, k, -1))
    np.testing.assert_array_equal(out, total)


@pytest.mark.parametrize("stop", [-(2**31) + 40, -(2**31) + 48])
def test_indices_near_the_smallest_number(stop: int, device: str) -> None:
    check_window(-(2**31), stop, 0, 100)


@tw.jit
def fold_backwards(out, x, start, stop, n, B: tw.constexpr):
    i = tw.arange(0, B)
    total = tw.zeros((B,), dtype=tw.int32)
    for k in range(start, stop, -B):
        at = k + i
        total = total * 3 + tw.load(x + at, mask=(at >= 0) & (n > at), other=-1)
    tw.store(out + i, total)


@pytest.mark.parametrize("start", [-1, 0, 15, 16, 17, 32, 63])
@pytest.mark.parametrize("stop", [-17, -16, -1, 0])
def test_negative_steps(start: int, stop: int, device: str) -> None:
    n = 50
    x, out = np.arange(100, 228, dtype=np.int32), np.zeros(16, np.int32)
    fold_backwards[(1,)](out, x, start, stop, n, B=16)
    expected = folded_window(x, start, stop, 0, n, -16, 16)
    np.testing.assert_array_equal(out, expected)


@tw.jit
def fold_carried(out, x, n, iterations, B: tw.constexpr):
    i = tw.arange(0, B)
    at = i - 3
    left = n.to(tw.int64)
    total = tw.zeros((B,), dtype=tw.int32)
    for _ in range(0, iterations):
        mask = (at >= 0) & (i < left + 3)
        total = total * 3 + tw.load(x + at, mask=mask, other=-1)
        at += B
        left -= B
    tw.store(out + i, total)


@pytest.mark.parametrize("n", [0, 12, 13, 14, 29, 64])
@pytest.mark.parametrize("iterations", [0, 1, 4, 6])
def test_indices_that_the_loop_carries(n: int, iterations: int, device: str) -> None:
    x, out = np.arange(100, 228, dtype=np.int32), np.zeros(16, np.int32)
    fold_carried[(1,)](out, x, n, iterations, B=16)
    expected = folded_window(x, -3, -3 + 16 * iterations, 0, n, 16, 16)
    np.testing.assert_array_equal(out, expected)


@tw.jit
def fold_wide(out, x, start, stop, n, B: tw.constexpr):
    i = tw.arange(0, B)
    total = tw.zeros((B,), dtype=tw.int32)
    for k in range(start.to(tw.int64), stop.to(tw.int64), B):
        at = k + i
        total = total * 3 + tw.load(x + (at - start), mask=at < n, other=-1)
    tw.store(out + i, total)


@pytest.mark.parametrize("start", [-20, 2**31, 2**40 - 8, -(2**40) - 3, 2**62])
@pytest.mark.parametrize("size", [0, 16, 40])
def test_indices_of_64_bits(start: int, size: int, device: str) -> None:
    x, out = np.arange(100, 228, dtype=np.int32), np.zeros(16, np.int32)
    fold_wide[(1,)](out, x, start, start + size, start + size - 3, B=16)
    expected = folded_window(x, 0, size, 0, size - 3, 16, 16)
    np.testing.assert_array_equal(out, expected)


@tw.jit
def fold_unsigned(out, x, first, n, B: tw.constexpr):
    i = tw.arange(0, B)
    total = tw.zeros((B,), dtype=tw.int32)
    for k in range(first, n, B):
        at = k + i
        total = total * 3 + tw.load(x + at, mask=at.to(tw.uint32) < 50, other=-1)
    tw.store(out + i, total)


@pytest.mark.parametrize("first", [-20, -16, 0, 3])
@pytest.mark.parametrize("n", [16, 49, 50, 51, 80])
def test_unsigned_comparisons(first: int, n: int, device: str) -> None:
    x, out = np.arange(100, 228, dtype=np.int32), np.zeros(16, np.int32)
    fold_unsigned[(1,)](out, x, first, n, B=16)
    np.testing.assert_array_equal(out, folded_window(x, first, n, 0, 50, 16, 16))


@tw.jit
def causal_sums(out, x, n, BM: tw.constexpr, BN: tw.constexpr):
    rows = tw.program_id(0) * BM + tw.arange(0, BM)
    cols = tw.arange(0, BN)
    total = tw.zeros((BM, BN), dtype=tw.int32)
    for start in range(0, n, BN):
        values = tw.load(x + start + cols, mask=start + cols < n, other=0)
        seen = rows[:, None] >= start + cols[None, :]
        total = total * 3 + tw.where(seen, values[None, :], -1)
    tw.store(out + rows[:, None] * BN + cols[None, :], total)


@pytest.mark.parametrize(("BM", "BN"), [(16, 16), (32, 8), (8, 32)])
@pytest.mark.parametrize("n", [1, 31, 32, 33, 64])
def test_causal_diagonal(BM: int, BN: int, n: int, device: str) -> None:
    x, out = np.arange(100, 228, dtype=np.int32), np.zeros((64, BN), np.int32)
    causal_sums[(64 // BM,)](out, x, n, BM=BM, BN=BN)
    total = np.zeros((64, BN), np.int64)
    for start in range(0, n, BN):
        cols = start + np.arange(BN)
        values = np.where(cols < n, x[cols], 0)
        seen = np.arange(64)[:, None] >= cols[None, :]
        total = wrap(total * FACTOR + np.where(seen, values[None, :], -1))
    np.testing.assert_array_equal(out, total)


@tw.jit
def nested(out, x, rows, n, B: tw.constexpr):
    i = tw.arange(0, B)
    total = tw.zeros((B,), dtype=tw.int32)
    for row in range(rows):
        for k in range(0, n, B):
            if k != 16:
                total = total * 3 + tw.load(x + row * n + k + i, mask=k + i < n, other=-1)
    tw.store(out + i, total)


@pytest.mark.parametrize("n", [1, 16, 30, 40])
def test_inner_loops_with_branches(n: int, device: str) -> None:
    x, out = np.arange(100, 228, dtype=np.int32), np.zeros(16, np.int32)
    nested[(1,)](out, x, 3, n, B=16)
    total = np.zeros(16, np.int64)
    for row in range(3):
        for k in range(0, n, 16):
            if k != 16:
                at = k + np.arange(16)
                total = wrap(total * FACTOR + np.where(at < n, x[(row * n + at) % 128], -1))
    np.testing.assert_array_equal(out, total)


@tw.jit
def fold_strided(out, x, n, step, B: tw.constexpr):
    i = tw.arange(0, B)
    for k in range(0, n, step):
        tw.store(out + k + i, tw.load(x + k + i, mask=k + i < n), mask=k + i < n)


@tw.jit
def fold_chosen(out, x, chosen, n, B: tw.constexpr):
    i = tw.arange(0, B)
    for k in range(0, n, B):
        at = tw.load(chosen + k + i)
        tw.store(out + k + i, tw.load(x + at, mask=at < n, other=0))


WINDOW = {name: "i32" for name in ("start", "stop", "low", "high")}


@pytest.mark.parametrize(
    ("kernel", "signature", "constants", "told"),
    [
        (fold_window, WINDOW, {"B": 16, "STEP": 16}, "not all true: 2"),
        (fold_backwards, {"start": "i32", "stop": "i32", "n": "i32"}, {"B": 16}, "not all true: 2"),
        (fold_carried, {"n": "i32", "iterations": "i32"}, {"B": 16}, "not all true: 2"),
        (fold_wide, {"start": "i64", "stop": "i64", "n": "i64"}, {"B": 16}, "not all true: 1"),
        (fold_unsigned, {"first": "i32", "n": "i32"}, {"B": 16}, "not all true: 1"),
        (causal_sums, {"n": "i32"}, {"BM": 16, "BN": 16}, "not all true: 2"),
        (nested, {"rows": "i32", "n": "i32"}, {"B": 16}, "not all true: 1"),
        (fold_chosen, {"chosen": "*i32", "n": "i32"}, {"B": 16}, "in every iteration"),
        (fold_strided, {"n": "i32", "step": "i32"}, {"B": 16}, "in every iteration"),
    ],
)
def test_remarks_say_which_loops_are_split(
    kernel: object, signature: dict[str, str], constants: dict[str, int], told: str, compiler: None
) -> None:
    types = {"out": "*i32", "x": "*i32", **signature}
    compiled = kernel.compile(types, constants, "cpu")
    messages = [r["message"] for r in compiled.remarks if r["code"] == "TW0357"]
    assert len(messages) == 1 and told in messages[0]


@tw.jit
def multiply(out, x, y, n, B: tw.constexpr):
    i = tw.arange(0, B)
    total = tw.zeros((B, B), dtype=tw.float32)
    for k in range(0, n, B):
        left = tw.load(x + i[:, None] * n + k + i[None, :], mask=k + i[None, :] < n, other=0)
        right = tw.load(y + (k + i[:, None]) * B + i[None, :], mask=k + i[:, None] < n, other=0)
        total = tw.dot(left, right, total)
    tw.store(out + i[:, None] * B + i[None, :], total)


@pytest.mark.parametrize("n", [1, 15, 16, 17, 64, 72])
def test_product(n: int, device: str) -> None:
    rng = np.random.default_rng(n)
    x, y = (rng.integers(-4, 5, shape).astype(np.float16) for shape in ((16, n), (n, 16)))
    out = np.zeros((16, 16), np.float32)
    multiply[(1,)](out, x, y, n, B=16)
    np.testing.assert_array_equal(out, x.astype(np.float32) @ y.astype(np.float32))


@pytest.mark.parametrize(("target", "count"), [("cpu", 0), ("sim:sm_80", 1)])
def test_loops_with_products_are_split_for_gpus(target: str, count: int, compiler: None) -> None:
    types = {"out": "*fp32:16", "x": "*fp16:16", "y": "*fp16:16", "n": "i32"}
    remarks = multiply.compile(types, {"B": 16}, target).remarks
    split = [r for r in remarks if r["code"] == "TW0357" and "not all true: 1" in r["message"]]
    assert len(split) == count
