"""Scans along each axis from both ends."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from op_values import (
    assert_close, assert_equal, decode, draw, poisoned, wrap,
)  # fmt: skip

import tilewright as tw

SHAPES = [(1,), (9,), (128,), (640,), (8, 16), (5, 3), (3, 64), (3, 4, 5)]
CASES = [(shape, axis) for shape in SHAPES for axis in range(len(shape))]


def make_kernel(function: Any, shape: tuple[int, ...], axis: int, reverse: bool) -> Any:
    count = int(np.prod(shape))

    @tw.jit
    def kernel(out, a):
        i = tw.arange(0, count)
        r = function(tw.reshape(tw.load(a + i), shape), axis, reverse=reverse)
        tw.store(out + i, tw.reshape(r, (count,)))

    return kernel


def run(function: Any, values: np.ndarray, axis: int, reverse: bool, result: str) -> np.ndarray:
    out = poisoned(result, values.shape)
    make_kernel(function, values.shape, axis, reverse)[(1,)](out.reshape(-1), values.reshape(-1))
    return out


def scanned(formula: Any, numbers: np.ndarray, axis: int, reverse: bool) -> np.ndarray:
    ordered = np.flip(numbers, axis) if reverse else numbers
    result = formula.accumulate(ordered, axis)
    return np.flip(result, axis) if reverse else result


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(("shape", "axis"), CASES)
def test_cumsum(
    shape: Any, axis: int, reverse: bool, device: str, rng: np.random.Generator
) -> None:
    values = draw(rng, "float32", shape)
    out = run(tw.cumsum, values, axis, reverse, "float32")
    numbers = values.astype(np.float64)
    bound = shape[axis] * 2.0**-24 * scanned(np.add, np.abs(numbers), axis, reverse)
    assert_close(out, scanned(np.add, numbers, axis, reverse), "float32", 0.5, bound, "cumsum")
    whole = draw(rng, "int32", shape)
    out = run(tw.cumsum, whole, axis, reverse, "int32")
    expected = scanned(np.add, decode(whole, "int32"), axis, reverse)
    assert_equal(out, wrap(expected, "int32"), "int32", "cumsum")


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtype", ["uint32", "int64", "uint64"])
def test_cumprod(dtype: str, reverse: bool, device: str, rng: np.random.Generator) -> None:
    values = draw(rng, dtype, (7, 11))
    for axis in (0, 1):
        out = run(tw.cumprod, values, axis, reverse, dtype)
        expected = scanned(np.multiply, decode(values, dtype), axis, reverse)
        assert_equal(out, wrap(expected, dtype), dtype, f"cumprod axis {axis}")


@pytest.mark.parametrize(
    ("dtype", "result"), [("int8", "int32"), ("uint16", "uint32"), ("float16", "float32")]
)
def test_narrow_types_are_widened(
    dtype: str, result: str, device: str, rng: np.random.Generator
) -> None:
    count = 200
    values = draw(rng, dtype, (count,))
    out = run(tw.cumsum, values, 0, False, result)
    expected = np.cumsum(decode(values, dtype))
    if result == "float32":
        bound = count * 2.0**-24 * np.cumsum(np.abs(decode(values, dtype)))
        assert_close(out, expected, result, 0.5, bound)
    else:
        assert_equal(out, wrap(expected, result), result)


@tw.jit
def compose(scale, shift, next_scale, next_shift):
    return scale * next_scale, shift * next_scale + next_shift


@tw.jit
def recurrence(out, a, b, N: tw.constexpr, M: tw.constexpr, REVERSE: tw.constexpr):
    i = tw.arange(0, N)[:, None] * M + tw.arange(0, M)[None, :]
    pair = (tw.load(a + i), tw.load(b + i))
    _, shifts = tw.associative_scan(pair, 1, compose, reverse=REVERSE)
    tw.store(out + i, shifts)


@pytest.mark.parametrize("reverse", [False, True])
def test_linear_recurrence(reverse: bool, device: str, rng: np.random.Generator) -> None:
    rows, columns = 3, 17
    a, b = draw(rng, "uint32", (rows, columns)), draw(rng, "uint32", (rows, columns))
    out = poisoned("uint32", a.shape)
    recurrence[(1,)](out, a, b, N=rows, M=columns, REVERSE=reverse)
    for row in range(rows):
        state = 0
        for k in reversed(range(columns)) if reverse else range(columns):
            state = state * int(a[row, k]) + int(b[row, k])
            assert int(out[row, k]) == state % 2**32, (row, k)


@tw.jit
def latest(a, b):
    """The right operand unless it is 0: shows which operand a scan puts on the left."""
    return tw.where(b != 0, b, a)


@tw.jit
def fill_forward(out, a, N: tw.constexpr, REVERSE: tw.constexpr):
    i = tw.arange(0, N)
    x = tw.load(a + i, i < 6)
    tw.store(out + i, tw.associative_scan(x, 0, latest, reverse=REVERSE), i < 6)


@pytest.mark.parametrize(
    ("reverse", "expected"), [(False, [0, 5, 5, 5, 7, 7]), (True, [5, 5, 7, 7, 7, 0])]
)
def test_the_running_value_is_on_the_left(reverse: bool, expected: list[int], device: str) -> None:
    out = poisoned("int32", 6)
    a = np.array([0, 5, 0, 0, 7, 0], np.int32)
    fill_forward[(1,)](out, a, N=6, REVERSE=reverse)
    assert out.tolist() == expected
