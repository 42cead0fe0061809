"""Masks of two bounds of one number, which become one bound, at the ends of their types, and comparisons
of indices that count, on every device."""

from __future__ import annotations

import itertools
import operator

import numpy as np
import pytest
import tilewright as tw

OPERATORS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
ROWS, COLUMNS = 32, 64


@tw.jit
def compared(x, y, how: tw.constexpr):
    if how == "<":
        return x < y
    if how == "<=":
        return x <= y
    if how == ">":
        return x > y
    return x >= y


@tw.jit
def both_bounds(
    out, x, limits, n, OF_N: tw.constexpr, OF_ROWS: tw.constexpr, HOW: tw.constexpr, ROWS: tw.constexpr, COLUMNS: tw.constexpr
):
    rows, columns = tw.arange(0, ROWS), tw.arange(0, COLUMNS)
    numbers = tw.load(x + columns)
    last = tw.load(limits + rows)
    of_n = compared(numbers[None, :], n, OF_N)
    of_rows = compared(last[:, None], numbers[None, :], OF_ROWS)
    ones = tw.full((ROWS, COLUMNS), 1, dtype=tw.int32)
    if HOW == "and":
        result = tw.where(of_n & of_rows, ones, 0)
    elif HOW == "or":
        result = tw.where(of_n | of_rows, ones, 0)
    elif HOW == "nested":
        result = tw.where(of_n, tw.where(of_rows, ones, 0), 0)
    else:
        result = tw.where(of_n, 0, tw.where(of_rows, 0, ones))
    tw.store(out + rows[:, None] * COLUMNS + columns[None, :], result)


def numbers_of(dtype: type, count: int, seed: int) -> np.ndarray:
    """Numbers near both ends of their type, near 0 and near each other."""
    limits = np.iinfo(dtype)
    near = [limits.min, limits.min + 1, limits.max - 1, limits.max, 0, 1, 7, 8]
    return np.random.default_rng(seed).choice(np.array(near, dtype), count)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32, np.int8])
@pytest.mark.parametrize("how", ["and", "or", "nested", "outside"])
def test_two_bounds_are_as_one_at_the_ends_of_the_type(how: str, dtype: type, device: str) -> None:
    x, limits = numbers_of(dtype, COLUMNS, 1), numbers_of(dtype, ROWS, 2)
    ends = np.iinfo(dtype)
    for (of_n, of_rows), n in itertools.product(
        [("<", ">="), ("<=", ">"), ("<", ">"), (">", "<="), (">=", "<"), ("<", "<=")], [ends.min, ends.max, 7]
    ):
        out = np.full((ROWS, COLUMNS), -1, np.int32)
        both_bounds[(1,)](
            out, x, limits, dtype(n),
            OF_N=of_n, OF_ROWS=of_rows, HOW=how, ROWS=ROWS, COLUMNS=COLUMNS,
        )  # fmt: skip
        a, b = OPERATORS[of_n](x[None, :], n), OPERATORS[of_rows](limits[:, None], x[None, :])
        expected = ~(a | b) if how == "outside" else a | b if how == "or" else a & b
        np.testing.assert_array_equal(out, expected.astype(np.int32), err_msg=f"{of_n} {n}, {of_rows}")


@tw.jit
def count_up_to(out, limits, part, SIZE: tw.constexpr, ROWS: tw.constexpr):
    rows = tw.arange(0, ROWS)
    last = tw.load(limits + rows)
    columns = (part & 0xFFFFFF) * 128 + tw.arange(0, SIZE)
    seen = columns[None, :] <= last[:, None]
    below = last[:, None] > columns[None, :]
    tw.store(out + rows, tw.sum(seen.to(tw.int32), axis=1))
    tw.store(out + ROWS + rows, tw.sum(below.to(tw.int32), axis=1))


@pytest.mark.parametrize("part", [0, 1, 2**24 - 1])
def test_indices_that_count_compare_as_their_sums(part: int, device: str) -> None:
    # The last index of the last part is the greatest number of 32 bits.
    base = part * 128
    near = [base - 1, base, base + 5, base + 127, base + 128, -(2**31), -2, -1, 0, 2**31 - 1]
    limits = np.resize(np.clip(np.array(near, np.int64), -(2**31), 2**31 - 1), ROWS).astype(np.int32)
    out = np.full((2, ROWS), -1, np.int32)
    count_up_to[(1,)](out, limits, part, SIZE=128, ROWS=ROWS)
    columns = base + np.arange(128)
    np.testing.assert_array_equal(out[0], (columns <= limits[:, None].astype(np.int64)).sum(1))
    np.testing.assert_array_equal(out[1], (columns < limits[:, None].astype(np.int64)).sum(1))
