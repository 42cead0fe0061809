"""Every row of the elementwise table on every element type it accepts, against its reference."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from op_values import (
    FLOATS, SIGNED, UNSIGNED, argument, assert_close, assert_equal, bits_of, decode, draw,
    draw_wide, edges, encode, extents, is_float, poisoned, spacing, wrap,
)  # fmt: skip
from table_rows import records

import tilewright as tw

ROWS = {row["Name"]: row for row in records("Elementwise.td", "Elementwise")}
COUNT = 200  # no power of two, so that the last vector is partial


def cases() -> list[Any]:
    found = []
    for name, row in ROWS.items():
        for column, dtypes in (("FloatOp", FLOATS), ("SIntOp", SIGNED), ("UIntOp", UNSIGNED)):
            if row[column]:
                found += [pytest.param(name, dtype, id=f"{name}-{dtype}") for dtype in dtypes]
    return found


def make_kernel(name: str, num_operands: int) -> Any:
    function = getattr(tw, name)

    @tw.jit
    def unary(out, a, COUNT: tw.constexpr, N: tw.constexpr):
        i = tw.arange(0, N)
        tw.store(out + i, function(tw.load(a + i, i < COUNT)), i < COUNT)

    @tw.jit
    def binary(out, a, b, COUNT: tw.constexpr, N: tw.constexpr):
        i = tw.arange(0, N)
        r = function(tw.load(a + i, i < COUNT), tw.load(b + i, i < COUNT))
        tw.store(out + i, r, i < COUNT)

    @tw.jit
    def ternary(out, a, b, c, COUNT: tw.constexpr, N: tw.constexpr):
        i = tw.arange(0, N)
        x = tw.load(a + i, i < COUNT)
        y = tw.load(b + i, i < COUNT)
        tw.store(out + i, function(x, y, tw.load(c + i, i < COUNT)), i < COUNT)

    return {1: unary, 2: binary, 3: ternary}[num_operands]


def draw_operands(rng: np.random.Generator, dtype: str, count: int) -> list[np.ndarray]:
    """Edge values in all combinations of the first two operands as far as they fit, then random."""
    special = edges(dtype)
    operands = []
    for operand in range(count):
        random = draw(rng, dtype, COUNT)
        if is_float(dtype):
            random[::4] = draw_wide(rng, dtype, len(random[::4]))
        random[: len(special)] = np.roll(special, 7 * operand)
        operands.append(random)
    return operands


def reference(row: dict[str, Any], operands: list[np.ndarray], dtype: str) -> np.ndarray:
    bits = bits_of(dtype)
    names: dict[str, Any] = {"np": np, "math": math, "bits": bits}
    for name, stored in zip("abc", operands):
        if is_float(dtype):
            names[name] = decode(stored, dtype).astype(np.longdouble)
        elif not row["FloatOp"]:  # of the bits, whatever the sign
            names[name] = stored.view(f"u{bits // 8}")
        else:
            names[name] = decode(stored, dtype)
    with np.errstate(all="ignore"):
        try:
            return np.asarray(eval(row["Reference"], names))  # noqa: S307 (our own table)
        except TypeError:  # np.vectorize(math.f) takes no longdouble
            names.update((k, v.astype(np.float64)) for k, v in names.items() if k in "abc")
            return np.asarray(eval(row["Reference"], names))  # noqa: S307


@pytest.mark.parametrize(("name", "dtype"), cases())
def test_elementwise_function(name: str, dtype: str, device: str, rng: np.random.Generator) -> None:
    row = ROWS[name]
    operands = draw_operands(rng, dtype, row["NumOperands"])
    out = poisoned(dtype, COUNT)
    kernel = make_kernel(name, row["NumOperands"])
    kernel[(1,)](argument(out, dtype), *(argument(x, dtype) for x in operands), **extents(COUNT))
    expected = reference(row, operands, dtype)
    what = f"{name} of {[decode(x, dtype)[:3] for x in operands]}..."
    if not is_float(dtype):
        assert_equal(out, wrap(expected, dtype), dtype, what)
        return
    ulps, absolute = row["UlpF32"], 0.0
    if dtype in ("float16", "bfloat16"):  # computed in float32, then rounded
        absolute = (ulps + 0.5) * spacing(expected, "float32")
        ulps = 0.5
    if dtype == "float64":  # the row speaks of float32; here it is 4, and 1 of the reference
        ulps = max(ulps, 4) + 1
    if name in ("exp", "exp2") and dtype != "float64" and device.startswith(("sim:", "cuda:", "hip:")):
        absolute = absolute + 2.0**-126  # GPUs give 0 in place of subnormal numbers
    assert_close(out, expected, dtype, ulps, absolute, what)


def test_every_elementwise_function_has_a_python_name() -> None:
    missing = [name for name in ROWS if not hasattr(tw, name)]
    assert not missing


@tw.jit
def sign_of_zero_and_nan(out, a, b, COUNT: tw.constexpr, N: tw.constexpr):
    i = tw.arange(0, N)
    x = tw.load(a + i, i < COUNT)
    y = tw.load(b + i, i < COUNT)
    tw.store(out + i, -x, i < COUNT)
    tw.store(out + COUNT + i, tw.abs(x), i < COUNT)
    tw.store(out + 2 * COUNT + i, tw.copysign(x, y), i < COUNT)


@pytest.mark.parametrize("dtype", FLOATS)
def test_sign_operations_keep_the_other_bits(dtype: str, device: str) -> None:
    bits = bits_of(dtype)
    values = edges(dtype)[:-1]  # a NaN's payload is free
    signs = values[::-1].copy()
    out = poisoned(dtype, (3, len(values)))
    kernel_arguments = [argument(x, dtype) for x in (out, values, signs)]
    sign_of_zero_and_nan[(1,)](*kernel_arguments, **extents(len(values)))
    unsigned = f"u{bits // 8}"
    top = np.array(1 << (bits - 1), unsigned)
    raw, sign = values.view(unsigned), signs.view(unsigned) & top
    result = out.view(unsigned)
    np.testing.assert_array_equal(result[0], raw ^ top)
    np.testing.assert_array_equal(result[1], raw & ~top)
    np.testing.assert_array_equal(result[2], (raw & ~top) | sign)


@tw.jit
def extrema(out, a, b, COUNT: tw.constexpr, N: tw.constexpr, NAN: tw.constexpr):
    i = tw.arange(0, N)
    x = tw.load(a + i, i < COUNT, other=0.0)
    y = tw.load(b + i, i < COUNT, other=0.0)
    how: tw.constexpr = tw.PropagateNan.ALL if NAN else tw.PropagateNan.NONE
    tw.store(out + i, tw.maximum(x, y, propagate_nan=how), i < COUNT)
    tw.store(out + COUNT + i, tw.minimum(x, y, propagate_nan=how), i < COUNT)
    tw.store(out + 2 * COUNT + i, tw.maximum(x, 0.0, propagate_nan=how), i < COUNT)
    tw.store(out + 3 * COUNT + i, tw.minimum(0.0, x, propagate_nan=how), i < COUNT)
    tw.store(out + 4 * COUNT + i, tw.maximum(x, -0.0, propagate_nan=how), i < COUNT)
    tw.store(out + 5 * COUNT + i, tw.minimum(x, -0.0, propagate_nan=how), i < COUNT)


@pytest.mark.parametrize("propagates", [False, True])
@pytest.mark.parametrize("dtype", FLOATS)
def test_negative_zero_is_the_lesser_zero(dtype: str, propagates: bool, device: str) -> None:
    numbers = [0.0, -0.0, 1.0, -1.0, math.inf, math.nan]
    pairs = [(x, y) for x in numbers for y in numbers]

    def chosen(choose: Any, x: float, y: float) -> float:
        if math.isnan(x) or math.isnan(y):
            return math.nan if propagates or math.isnan(x) == math.isnan(y) else y if math.isnan(x) else x
        return choose(x, y, key=lambda value: (value, math.copysign(1.0, value)))

    def each(choose: Any, other: float | None = None) -> list[float]:
        return [chosen(choose, x, y if other is None else other) for x, y in pairs]

    expected = np.array([each(max), each(min), each(max, 0.0), each(min, 0.0), each(max, -0.0), each(min, -0.0)])
    out = poisoned(dtype, (6, len(pairs)))
    operands = [encode(np.array(column), dtype) for column in zip(*pairs)]
    arguments = [argument(x, dtype) for x in (out, *operands)]
    extrema[(1,)](*arguments, **extents(len(pairs)), NAN=propagates)
    actual = decode(out, dtype)
    np.testing.assert_array_equal(actual, expected)
    known = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(actual)[known], np.signbit(expected)[known])


@tw.jit
def last_chosen(out, a, chosen, count):
    kept = tw.load(a)
    for i in range(count):
        kept = tw.where(tw.load(chosen + i) != 0, tw.load(a + i), kept)
        tw.store(out + i, kept)
    tw.store(out + count, -kept)


@pytest.mark.parametrize("dtype", FLOATS)
def test_scalars_keep_their_bits_through_loops(dtype: str, device: str) -> None:
    """The smallest subnormals too, of which processors make zeros where they round bfloat16."""
    unsigned = f"u{bits_of(dtype) // 8}"
    a = np.arange(1, 9, dtype=unsigned)
    out = np.zeros(9, unsigned)
    chosen = np.array([0, 1, 0, 0, 1, 1, 0, 0], np.int32)
    storage = poisoned(dtype, 0).dtype
    last_chosen[(1,)](argument(out.view(storage), dtype), argument(a.view(storage), dtype), chosen, 8)
    top = 1 << (bits_of(dtype) - 1)
    np.testing.assert_array_equal(out, [1, 2, 2, 2, 5, 6, 6, 6, 6 | top])
