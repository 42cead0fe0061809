"""Conversions between all pairs of element types, by value and by bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from op_values import (
    DTYPES, FORMATS, argument, assert_equal, bits_of, decode, draw, draw_wide, edges, extents,
    is_float, is_signed, poisoned, round_to, storage_type, wrap,
)  # fmt: skip

import tilewright as tw

COUNT = 100


def make_kernel(target: str, **options: Any) -> Any:
    dtype = tw.dtype(target)
    bitcast = options.get("bitcast", False)
    rounding = options.get("rounding")

    @tw.jit
    def kernel(out, a, COUNT: tw.constexpr, N: tw.constexpr):
        i = tw.arange(0, N)
        x = tw.load(a + i, mask=i < COUNT)
        r = x.to(dtype, fp_downcast_rounding=rounding, bitcast=bitcast)
        tw.static_assert(r.dtype == dtype)
        tw.store(out + i, r, mask=i < COUNT)

    return kernel


def operand(rng: np.random.Generator, dtype: str) -> np.ndarray:
    values = draw(rng, dtype, COUNT, -300, 300)
    if is_float(dtype):
        values[40:70] = draw_wide(rng, dtype, 30)
    values[: len(edges(dtype))] = edges(dtype)
    return values


def saturated(values: np.ndarray, dtype: str) -> np.ndarray:
    """Toward zero, limited to the range of the type; NaN gives 0."""
    bits = bits_of(dtype)
    low = -(1 << (bits - 1)) if is_signed(dtype) else 0
    high = low + (1 << bits) - 1

    def convert(x: float) -> int:
        if np.isnan(x):
            return 0
        if np.isinf(x):
            return high if x > 0 else low
        return min(max(int(x), low), high)

    return np.array([convert(x) for x in values], object)


def expected_cast(values: np.ndarray, source: str, target: str) -> np.ndarray:
    if target == "int1":
        return values != 0
    if is_float(target):
        return round_to(values, target)
    return saturated(values, target) if is_float(source) else wrap(values, target)


@pytest.mark.parametrize("target", DTYPES)
@pytest.mark.parametrize("source", DTYPES)
def test_cast(source: str, target: str, device: str, rng: np.random.Generator) -> None:
    stored = operand(rng, source)
    out = poisoned(target, COUNT)
    kernel = make_kernel(target)
    kernel[(1,)](argument(out, target), argument(stored, source), **extents(COUNT))
    expected = expected_cast(decode(stored, source), source, target)
    assert_equal(out, expected, target, f"{source} to {target}")


def bit_pairs() -> list[tuple[str, str]]:
    wide = [d for d in DTYPES if d != "int1"]
    return [(a, b) for a in wide for b in wide if bits_of(a) == bits_of(b)]


@pytest.mark.parametrize(("source", "target"), bit_pairs())
def test_bitcast(source: str, target: str, device: str, rng: np.random.Generator) -> None:
    stored = operand(rng, source)
    if is_float(source) and source == target:
        stored = stored[~np.isnan(decode(stored, source))]
    out = poisoned(target, len(stored))
    kernel = make_kernel(target, bitcast=True)
    kernel[(1,)](argument(out, target), argument(stored, source), **extents(len(stored)))
    np.testing.assert_array_equal(out.view(np.uint8), stored.view(np.uint8))


@pytest.mark.parametrize("target", ["float16", "bfloat16"])
def test_rounding_toward_zero(target: str, device: str, rng: np.random.Generator) -> None:
    values = draw(rng, "float32", COUNT, -100, 100)
    out = poisoned(target, COUNT)
    kernel = make_kernel(target, rounding="rtz")
    kernel[(1,)](argument(out, target), values, **extents(COUNT))
    exact = values.astype(np.float64)
    quantum = np.exp2(np.maximum(np.frexp(exact)[1] - 1, FORMATS[target].smallest_exponent))
    quantum *= 2.0 ** -FORMATS[target].mantissa
    assert_equal(out, np.trunc(exact / quantum) * quantum, target, "rtz")


STORES = [("float32", "float16"), ("int32", "int8"), ("int32", "float32")]


@tw.jit
def store_converts(out, a, COUNT: tw.constexpr, N: tw.constexpr):
    i = tw.arange(0, N)
    tw.store(out + i, tw.load(a + i, mask=i < COUNT), mask=i < COUNT)


@pytest.mark.parametrize(("source", "target"), STORES)
def test_store_converts(source: str, target: str, device: str, rng: np.random.Generator) -> None:
    stored = operand(rng, source)
    out = poisoned(target, COUNT)
    store_converts[(1,)](out, stored, **extents(COUNT))
    assert_equal(out, expected_cast(decode(stored, source), source, target), target)
    assert storage_type(target) == out.dtype
