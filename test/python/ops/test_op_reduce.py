"""Reductions along each axis, with the library's functions and with user functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from op_values import (
    FLOATS, INTS, argument, assert_close, assert_equal, bits_of, decode, draw, encode, extents,
    is_float, is_signed, poisoned, wrap,
)  # fmt: skip

import tilewright as tw

SHAPES = [(1,), (7,), (128,), (1000,), (8, 16), (5, 3), (1, 64), (33, 2), (3, 4, 5), (2, 8, 4)]
CASES = [(shape, axis) for shape in SHAPES for axis in [None, *range(len(shape))]]
CASE_IDS = ["x".join(map(str, shape)) + f"-axis-{axis}" for shape, axis in CASES]
FEW_CASES = [((100,), 0), ((6, 10), 0), ((6, 10), 1), ((16, 8), None)]


def reduced_shape(shape: tuple[int, ...], axis: int | None) -> tuple[int, ...]:
    return () if axis is None else shape[:axis] + shape[axis + 1 :]


def make_kernel(function: Any, shape: tuple[int, ...], axis: int | None) -> Any:
    """Stores `function(tile, axis)`; the tile is read and the result written in row-major order."""
    count = int(np.prod(shape))
    result_count = int(np.prod(reduced_shape(shape, axis)))
    is_scalar = reduced_shape(shape, axis) == ()

    @tw.jit
    def kernel(out, a):
        x = tw.reshape(tw.load(a + tw.arange(0, count)), shape)
        r = function(x, axis)
        if is_scalar:
            tw.store(out, r)
        else:
            tw.store(out + tw.arange(0, result_count), tw.reshape(r, (result_count,)))

    return kernel


def run(function: Any, values: np.ndarray, dtype: str, axis: int | None, result: str) -> np.ndarray:
    out = poisoned(result, reduced_shape(values.shape, axis))
    kernel = make_kernel(function, values.shape, axis)
    kernel[(1,)](argument(out.reshape(-1), result), argument(values.reshape(-1), dtype))
    return out


def sum_type(dtype: str) -> str:
    if bits_of(dtype) >= 32:
        return dtype
    return "float32" if is_float(dtype) else "int32" if is_signed(dtype) else "uint32"


def check_sum(values: np.ndarray, dtype: str, axis: int | None) -> None:
    result = sum_type(dtype)
    out = run(tw.sum, values, dtype, axis, result)
    numbers = decode(values, dtype)
    expected = np.asarray(numbers.astype(np.longdouble if is_float(dtype) else object).sum(axis))
    if not is_float(dtype):
        assert_equal(out, wrap(expected, result), result, f"sum {dtype}")
        return
    # Each addition rounds by at most half a unit of a partial sum (Higham, Accuracy, 4.2).
    epsilon = 2.0**-53 if result == "float64" else 2.0**-24
    terms = values.size if axis is None else values.shape[axis]
    bound = terms * epsilon * np.abs(numbers).sum(axis)
    assert_close(out, expected, result, 0.5, bound, f"sum {dtype} {values.shape} axis {axis}")


@pytest.mark.parametrize(("shape", "axis"), CASES, ids=CASE_IDS)
def test_sum(shape: Any, axis: int | None, device: str, rng: np.random.Generator) -> None:
    check_sum(draw(rng, "float32", shape), "float32", axis)
    check_sum(draw(rng, "int32", shape), "int32", axis)


@pytest.mark.parametrize(("shape", "axis"), FEW_CASES)
@pytest.mark.parametrize("dtype", [d for d in INTS + FLOATS if d not in ("float32", "int32")])
def test_sum_of_every_type(
    dtype: str, shape: Any, axis: int | None, device: str, rng: np.random.Generator
) -> None:
    check_sum(draw(rng, dtype, shape), dtype, axis)


def order_type(dtype: str) -> str:
    if bits_of(dtype) >= 32:
        return dtype
    return "float32" if is_float(dtype) else "int32"


@pytest.mark.parametrize(("shape", "axis"), CASES, ids=CASE_IDS)
def test_max_and_min(shape: Any, axis: int | None, device: str, rng: np.random.Generator) -> None:
    for dtype in ("float32", "int16"):
        values = draw(rng, dtype, shape)
        numbers = decode(values, dtype)
        for function, formula in ((tw.max, np.max), (tw.min, np.min)):
            out = run(function, values, dtype, axis, order_type(dtype))
            assert_equal(out, formula(numbers, axis), order_type(dtype), f"{formula} {dtype}")


@pytest.mark.parametrize("dtype", INTS + FLOATS)
def test_max_and_min_of_every_type(dtype: str, device: str, rng: np.random.Generator) -> None:
    values = draw(rng, dtype, (9, 10))
    numbers = decode(values, dtype)
    for function, formula in ((tw.max, np.max), (tw.min, np.min)):
        out = run(function, values, dtype, 1, order_type(dtype))
        assert_equal(out, formula(numbers, 1), order_type(dtype), f"{formula} {dtype}")


@pytest.mark.parametrize("dtype", FLOATS)
def test_max_and_min_ignore_nan(dtype: str, device: str, rng: np.random.Generator) -> None:
    numbers = rng.uniform(-4, 4, (6, 33))
    numbers[rng.random(numbers.shape) < 0.5] = np.nan
    numbers[0] = np.nan
    numbers[1, 1:] = np.nan
    values = encode(numbers, dtype)
    for function, formula in ((tw.max, np.fmax), (tw.min, np.fmin)):
        out = run(function, values, dtype, 1, order_type(dtype))
        assert_equal(out, formula.reduce(decode(values, dtype), 1), order_type(dtype), dtype)


@pytest.mark.parametrize(
    ("shape", "axis"), [case for case in CASES if case[1] is not None]
)
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_argmax_and_argmin_take_the_first(
    dtype: str, shape: Any, axis: int, device: str, rng: np.random.Generator
) -> None:
    values = rng.integers(-3, 4, shape).astype(dtype)  # many ties
    for function, formula in ((tw.argmax, np.argmax), (tw.argmin, np.argmin)):
        out = run(function, values, dtype, axis, "int32")
        assert_equal(out, formula(values, axis), "int32", f"{formula} {shape} axis {axis}")


@pytest.mark.parametrize("dtype", [d for d in INTS + FLOATS if d not in ("float32", "int32")])
def test_argmax_of_every_type(dtype: str, device: str, rng: np.random.Generator) -> None:
    values = draw(rng, dtype, (5, 21))
    out = run(tw.argmax, values, dtype, 1, "int32")
    assert_equal(out, np.argmax(decode(values, dtype).astype(np.longdouble), 1), "int32", dtype)


def test_argmax_passes_over_nan(device: str) -> None:
    rows = [[np.nan, 1, 3, np.nan, 3], [2, np.nan, 1, 0, np.nan]]
    values = np.full((2, 5), np.nan, np.float32)
    values[:, :5] = rows
    assert list(run(tw.argmax, values, "float32", 1, "int32")) == [2, 0]
    assert list(run(tw.argmin, values, "float32", 1, "int32")) == [1, 3]


@pytest.mark.parametrize("dtype", INTS)
def test_xor_sum_and_or(dtype: str, device: str, rng: np.random.Generator) -> None:
    shape = (7, 12)
    values = draw(rng, dtype, shape)
    for axis in (0, 1):
        out = run(tw.xor_sum, values, dtype, axis, dtype)
        np.testing.assert_array_equal(out, np.bitwise_xor.reduce(values, axis))
    sparse = values & draw(rng, dtype, shape) & draw(rng, dtype, shape)
    out = run(tw.reduce_or, sparse, dtype, 0, dtype)
    np.testing.assert_array_equal(out, np.bitwise_or.reduce(sparse, 0))


@tw.jit
def multiply(a, b):
    return a * b


@tw.jit
def product(x, axis: tw.constexpr):
    return tw.reduce(x, axis, multiply)


@pytest.mark.parametrize(("shape", "axis"), FEW_CASES)
def test_user_function(shape: Any, axis: int | None, device: str, rng: np.random.Generator) -> None:
    values = draw(rng, "uint32", shape)
    out = run(product, values, "uint32", axis, "uint32")
    assert_equal(out, wrap(np.prod(decode(values, "uint32"), axis), "uint32"), "uint32")


def make_pair_kernel(combine: Any, rows: int, columns: int) -> Any:
    @tw.jit
    def kernel(first, second, a, b):
        i = tw.arange(0, rows)[:, None] * columns + tw.arange(0, columns)[None, :]
        x, y = tw.reduce((tw.load(a + i), tw.load(b + i)), 1, combine)
        tw.store(first + tw.arange(0, rows), x)
        tw.store(second + tw.arange(0, rows), y)

    return kernel


@tw.jit
def multiply_gaussian(a, b, c, d):
    """The product of a + bi and c + di: associative and commutative."""
    return a * c - b * d, a * d + b * c


@tw.jit
def compose(scale, shift, next_scale, next_shift):
    """Two affine maps one after the other: associative, not commutative."""
    return scale * next_scale, shift * next_scale + next_shift


FORMULAS = {
    multiply_gaussian: lambda a, b, c, d: (a * c - b * d, a * d + b * c),
    compose: lambda a, b, c, d: (a * c, b * c + d),
}


def check_pairs(combine: Any, columns: int, rng: np.random.Generator) -> None:
    rows = 3
    a, b = draw(rng, "uint64", (rows, columns)), draw(rng, "uint64", (rows, columns))
    first, second = poisoned("uint64", rows), poisoned("uint64", rows)
    make_pair_kernel(combine, rows, columns)[(1,)](first, second, a, b)
    for row in range(rows):
        pairs = list(zip(a[row].tolist(), b[row].tolist()))
        folded = pairs[0]
        for pair in pairs[1:]:
            folded = FORMULAS[combine](*folded, *pair)
        actual = np.array([first[row], second[row]])
        assert_equal(actual, wrap(folded, "uint64"), "uint64", f"row {row}")


@pytest.mark.parametrize("columns", [1, 2, 20, 64])
def test_tuples(columns: int, device: str, rng: np.random.Generator) -> None:
    check_pairs(multiply_gaussian, columns, rng)


@pytest.mark.parametrize("columns", [1, 2, 20, 64])
def test_neighbours_are_combined_in_order(
    columns: int, device: str, rng: np.random.Generator
) -> None:
    check_pairs(compose, columns, rng)


@tw.jit
def keeps_dims(out, a, N: tw.constexpr, M: tw.constexpr):
    i = tw.arange(0, N)[:, None] * M + tw.arange(0, M)[None, :]
    x = tw.load(a + i)
    total = tw.sum(x, axis=1, keep_dims=True)
    tw.static_assert(total.shape[0] == N and total.shape[1] == 1)
    tw.store(out + i, x - total + x.max(axis=0, keep_dims=True))


def test_keep_dims_and_methods(device: str, rng: np.random.Generator) -> None:
    a = rng.integers(-50, 50, (6, 10)).astype(np.int32)
    out = poisoned("int32", a.shape)
    keeps_dims[(1,)](out, a, N=a.shape[0], M=a.shape[1])
    np.testing.assert_array_equal(out, a - a.sum(1, keepdims=True) + a.max(0, keepdims=True))


@tw.jit
def indices_and_values(values, indices, a, N: tw.constexpr):
    i = tw.arange(0, N)
    value, index = tw.min(tw.load(a + i, i < 5, 100), axis=0, return_indices=True)
    tw.store(values, value)
    tw.store(indices, index)


def test_return_indices(device: str) -> None:
    a = np.array([4, -7, 3, -7, 9], np.int64)
    value, index = poisoned("int64", 1), poisoned("int32", 1)
    indices_and_values[(1,)](value, index, a, N=5)
    assert (value[0], index[0]) == (-7, 1)


@tw.jit
def histogram_kernel(out, a, COUNT: tw.constexpr, N: tw.constexpr, BINS: tw.constexpr):
    i = tw.arange(0, N)
    x = tw.load(a + i, i < COUNT)
    tw.store(out + tw.arange(0, BINS), tw.histogram(x, BINS, mask=i < COUNT))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
def test_histogram(device: str, dtype: str, rng: np.random.Generator) -> None:
    # Some are in no bin: too large, negative, or with a bin's number in their lowest bits.
    a = rng.integers(0, 12, 300).astype(dtype)
    a[::7] = np.iinfo(dtype).max
    a[3::7] = np.iinfo(dtype).min if np.iinfo(dtype).min < 0 else 11
    if np.dtype(dtype).itemsize == 8:
        a[5::7] += 1 << 40
    bins = 10
    out = poisoned("int32", bins)
    histogram_kernel[(1,)](out, a, **extents(300), BINS=bins)
    np.testing.assert_array_equal(out, [np.sum(a == value) for value in range(bins)])


@pytest.mark.parametrize("count, bins", [(1, 1), (7, 3), (33, 300), (128, 17), (1000, 256)])
def test_histogram_of_any_extents(
    device: str, count: int, bins: int, rng: np.random.Generator
) -> None:
    a = rng.integers(-3, bins + 3, count).astype(np.int32)
    out = poisoned("int32", bins)
    histogram_kernel[(1,)](out, a, **extents(count), BINS=bins)
    inside = a[(a >= 0) & (a < bins)]
    np.testing.assert_array_equal(out, np.bincount(inside, minlength=bins))


@tw.jit
def two_histograms(out, a, N: tw.constexpr, BINS: tw.constexpr, OTHER: tw.constexpr):
    x = tw.load(a + tw.arange(0, N))
    b, c = tw.arange(0, BINS), tw.arange(0, OTHER)
    total = tw.zeros([BINS], tw.int32)
    for shift in range(3):
        total += tw.histogram(x + shift, BINS, mask=x % 5 != shift)
    tw.store(out + b, total)
    tw.store(out + BINS + c, tw.histogram(x.reshape(2, N // 2), OTHER))


def test_several_histograms_in_one_kernel(device: str, rng: np.random.Generator) -> None:
    a = rng.integers(0, 90, 512).astype(np.int64)
    bins, other = 64, 12
    out = poisoned("int32", bins + other)
    two_histograms[(1,)](out, a, N=512, BINS=bins, OTHER=other)
    shifted = np.concatenate([a[a % 5 != shift] + shift for shift in range(3)])
    np.testing.assert_array_equal(out[:bins], np.bincount(shifted, minlength=200)[:bins])
    np.testing.assert_array_equal(out[bins:], np.bincount(a, minlength=200)[:other])


@pytest.mark.parametrize("shape, axis", [((100,), 0), ((1000,), 0), ((6, 70), 0), ((6, 70), 1)])
@pytest.mark.parametrize("dtype", FLOATS)
def test_extrema_of_zeros_have_a_sign(
    dtype: str, shape: tuple[int, ...], axis: int, device: str, rng: np.random.Generator
) -> None:
    some = np.full(shape, 0.0)
    some.reshape(-1)[rng.integers(some.size)] = -0.0
    for values in (some, -some, np.zeros(shape), -np.zeros(shape), rng.choice([0.0, -0.0], shape)):
        signs = np.signbit(values)
        for function, expected in ((tw.max, signs.all(axis)), (tw.min, signs.any(axis))):
            out = decode(run(function, encode(values, dtype), dtype, axis, dtype), dtype)
            assert not out.any()
            np.testing.assert_array_equal(np.signbit(out), expected)
