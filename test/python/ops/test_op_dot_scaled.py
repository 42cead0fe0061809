"""dot_scaled against float64: every pair of formats, packings, scales of every size, NaN.

The model is the definition of the Open Compute Project's "Microscaling Formats (MX) Specification"
1.0: elements by a formula on their codes, times 2 ** (scale - 127), summed in float64.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from sampled import OPENCL, SPIRV

import tilewright as tw

FORMATS = ["e2m1", "e4m3", "e5m2", "bf16", "fp16"]
DEVICES = ["cpu", "reference", "sim:sm_80", *SPIRV, *OPENCL]


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest, compiler: None) -> Iterator[str]:
    if request.param not in (*tw.list_devices(), *OPENCL):
        pytest.skip(f"this processor does not reach {request.param}")
    with tw.device(request.param):
        yield request.param


# The model.


def table_of(exponent_bits: int, mantissa_bits: int) -> np.ndarray:
    """The number of every code of a format, were its largest exponent an ordinary one."""
    codes = np.arange(1 << (1 + exponent_bits + mantissa_bits))
    bias = (1 << (exponent_bits - 1)) - 1
    mantissa = codes & ((1 << mantissa_bits) - 1)
    exponent = codes >> mantissa_bits & ((1 << exponent_bits) - 1)
    digits = np.where(exponent == 0, mantissa, mantissa + (1 << mantissa_bits))
    values = np.ldexp(digits.astype(float), np.maximum(exponent, 1) - bias - mantissa_bits)
    return np.where(codes >> (exponent_bits + mantissa_bits), -values, values)


E2M1 = table_of(2, 1)
E4M3 = table_of(4, 3)
E4M3[[0x7F, 0xFF]] = np.nan
E5M2 = table_of(5, 2)
E5M2[[0x7C, 0xFC]] = np.inf, -np.inf
E5M2[[0x7D, 0x7E, 0x7F, 0xFD, 0xFE, 0xFF]] = np.nan


def numbers_of(codes: np.ndarray, format: str) -> np.ndarray:
    if format == "bf16":
        return (codes.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if format == "fp16":
        return codes.view(np.float16).astype(np.float64)
    return {"e2m1": E2M1, "e4m3": E4M3, "e5m2": E5M2}[format][codes]


def factors_of(scale: np.ndarray | None, is_e4m3: bool, depth: int) -> np.ndarray | float:
    """The factor of every element, along the last dimension."""
    if scale is None:
        return 1.0
    with np.errstate(invalid="ignore"):
        factors = np.ldexp(1.0, scale.astype(int) - 127)
    factors = E4M3[scale] if is_e4m3 else np.where(scale == 255, np.nan, factors)
    return np.repeat(factors, depth // scale.shape[-1], axis=-1)


@dataclass
class Side:
    """An operand with its reduced dimension last: [M, K], or [N, K] of the right one."""

    format: str
    codes: np.ndarray
    scale: np.ndarray | None = None
    has_e4m3_scale: bool = False
    is_packed_along_k: bool = True

    def numbers(self) -> np.ndarray:
        factors = factors_of(self.scale, self.has_e4m3_scale, self.codes.shape[-1])
        with np.errstate(invalid="ignore"):
            return numbers_of(self.codes, self.format) * factors

    def stored(self) -> np.ndarray:
        if self.format != "e2m1":
            return self.codes
        codes = self.codes if self.is_packed_along_k else np.moveaxis(self.codes, -1, -2)
        packed = codes[..., ::2] | codes[..., 1::2] << 4
        return packed if self.is_packed_along_k else np.moveaxis(packed, -1, -2)


def side_of(
    rng: np.random.Generator, format: str, rows: int, depth: int, scales: Any, group: int = 32
) -> Side:
    """Random finite elements, or any fp4; `scales` is the range of the scales, or None."""
    shape = (rows, depth)
    if format in ("bf16", "fp16"):
        numbers = rng.standard_normal(shape).astype(np.float32)
        if format == "fp16":
            codes = numbers.astype(np.float16).view(np.uint16)
        else:
            codes = (numbers.view(np.uint32) >> 16).astype(np.uint16)
    else:
        limit = {"e2m1": 8, "e4m3": 0x7F, "e5m2": 0x7C}[format]
        sign = {"e2m1": 3, "e4m3": 7, "e5m2": 7}[format]
        codes = (rng.integers(0, limit, shape) | rng.integers(0, 2, shape) << sign).astype(np.uint8)
    scale = None
    if scales is not None:
        scale = rng.integers(scales[0], scales[1] + 1, (rows, depth // group)).astype(np.uint8)
    return Side(format, codes, scale, has_e4m3_scale=group == 16)


@tw.jit
def product(
    out, a, a_scale, b, b_scale, start,
    M: tw.constexpr, N: tw.constexpr, A: tw.constexpr, B: tw.constexpr, GA: tw.constexpr,
    GB: tw.constexpr, A_FORMAT: tw.constexpr, B_FORMAT: tw.constexpr, A_PACK: tw.constexpr,
    B_PACK: tw.constexpr, FAST: tw.constexpr,
):  # fmt: skip
    """`a` is [rows, A] and `b` [rows, B] in memory, each with K last, as bytes if fp4."""
    ra = M // 2 if not A_PACK else M
    rb = N // 2 if not B_PACK else N
    x = tw.load(a + tw.arange(0, ra)[:, None] * A + tw.arange(0, A)[None, :])
    y = tw.load(b + tw.arange(0, rb)[None, :] * B + tw.arange(0, B)[:, None])
    if a_scale is not None:
        a_scale = tw.load(a_scale + tw.arange(0, M)[:, None] * GA + tw.arange(0, GA)[None, :])
    if b_scale is not None:
        b_scale = tw.load(b_scale + tw.arange(0, N)[:, None] * GB + tw.arange(0, GB)[None, :])
    at = tw.arange(0, M)[:, None] * N + tw.arange(0, N)[None, :]
    if start is None:
        acc = None
    else:
        acc = tw.load(start + at)
    c = tw.dot_scaled(
        x, a_scale, A_FORMAT, y, b_scale, B_FORMAT, acc=acc, fast_math=FAST, lhs_k_pack=A_PACK,
        rhs_k_pack=B_PACK,
    )  # fmt: skip
    tw.static_assert(c.dtype == tw.float32)
    tw.store(out + at, c)


def scale_argument(side: Side) -> Any:
    if side.scale is None or not side.has_e4m3_scale:
        return side.scale
    return tw.reinterpret(side.scale, tw.float8e4nv)


def multiplied(
    lhs: Side, rhs: Side, start: np.ndarray | None = None, fast: bool = False, **options: Any
) -> np.ndarray:
    rows, columns = lhs.codes.shape[0], rhs.codes.shape[0]
    out = np.full((rows, columns), np.float32(-77), np.float32)
    a, b = (np.ascontiguousarray(side.stored()) for side in (lhs, rhs))
    groups = (1 if side.scale is None else side.scale.shape[-1] for side in (lhs, rhs))
    product[(1,)](
        out, a, scale_argument(lhs), b, scale_argument(rhs), start, rows, columns, a.shape[1],
        b.shape[1], *groups, lhs.format, rhs.format, lhs.is_packed_along_k, rhs.is_packed_along_k,
        fast, **options,
    )  # fmt: skip
    return out


def assert_product(
    actual: np.ndarray, lhs: Side, rhs: Side, start: np.ndarray | None = None
) -> None:
    """Products are exact; sums have the error of float32 sums: relative to their terms, or half a
    unit of the smallest number for each."""
    a, b = lhs.numbers(), rhs.numbers()
    with np.errstate(invalid="ignore", over="ignore"):
        exact = a @ b.T + (0 if start is None else start)
        terms = np.abs(a) @ np.abs(b).T + (0 if start is None else np.abs(start))
        bound = a.shape[1] * (terms * 2.0**-23 + 2.0**-150)
        limit = float(np.finfo(np.float32).max)
        assert np.isnan(actual[np.isnan(exact)]).all()
        # Beyond, a sum may be infinite before its end, and NaN at it.
        known = ~np.isnan(exact) & (terms <= limit)
        assert not np.isnan(actual[known]).any()
        np.testing.assert_array_less(np.abs(actual - exact)[known], bound[known] + 2.0**-149)
        certain = ~np.isnan(exact) & (np.abs(exact) > 2 * limit)
        same = np.sign(a)[:, None, :] * np.sign(b)[None, :, :]
        certain &= np.all(same >= 0, axis=-1) | np.all(same <= 0, axis=-1)
        np.testing.assert_array_equal(actual[certain], np.sign(exact[certain]) * np.inf)


# Every pair, both sides scaled or one.


@pytest.mark.parametrize("right", FORMATS)
@pytest.mark.parametrize("left", FORMATS)
def test_every_pair_of_formats(
    left: str, right: str, device: str, rng: np.random.Generator
) -> None:
    scales = {"bf16": None, "fp16": None}
    lhs = side_of(rng, left, 32, 64, scales.get(left, (110, 135)))
    rhs = side_of(rng, right, 16, 64, scales.get(right, (110, 135)))
    assert_product(multiplied(lhs, rhs, fast=left >= right), lhs, rhs)


@pytest.mark.parametrize("pair", [("e2m1", "e2m1"), ("e4m3", "e2m1"), ("e2m1", "fp16")])
@pytest.mark.parametrize("packs", [(False, True), (True, False), (False, False)])
def test_bytes_of_fp4_lie_along_any_dimension(
    packs: tuple[bool, bool], pair: tuple[str, str], device: str, rng: np.random.Generator
) -> None:
    sides = [
        replace(
            side_of(rng, format, rows, 64, None if format == "fp16" else (120, 130)),
            is_packed_along_k=packs[i] or format != "e2m1",
        )
        for i, (format, rows) in enumerate(zip(pair, (32, 16)))
    ]
    assert_product(multiplied(*sides), *sides)


@pytest.mark.parametrize("left", FORMATS)
@pytest.mark.parametrize("right", ["e2m1", "fp16"])
def test_scales_of_e4m3_for_sixteen_elements(
    left: str, right: str, device: str, rng: np.random.Generator
) -> None:
    """Where both factors take more digits than tf32 has, in float32 without rounding."""
    lhs = side_of(rng, left, 32, 64, (1, 0x7E), group=16)
    rhs = side_of(rng, right, 16, 64, (1, 0x7E), group=16)
    assert_product(multiplied(lhs, rhs), lhs, rhs)
    if right == "e2m1":
        other = side_of(rng, "e5m2", 16, 64, (0, 254))
        assert_product(multiplied(lhs, other), lhs, other)


@pytest.mark.parametrize("pack", [True, False])
@pytest.mark.parametrize("right", ["e2m1", "e4m3", "bf16"])
def test_scales_of_e4m3_for_thirty_two_elements(
    right: str, pack: bool, device: str, rng: np.random.Generator
) -> None:
    lhs = side_of(rng, "e2m1", 32, 64, (1, 0x7E))
    lhs = replace(lhs, has_e4m3_scale=True, is_packed_along_k=pack)
    sixteen = side_of(rng, right, 16, 64, (1, 0x7E), group=16)
    exponents = side_of(rng, right, 16, 64, (120, 135))
    for rhs in (replace(exponents, has_e4m3_scale=True), sixteen, exponents):
        assert_product(multiplied(lhs, rhs), lhs, rhs)


# Scales at the ends of their range.


@pytest.mark.parametrize("right", ["e2m1", "e4m3", "e5m2", "bf16", "fp16"])
@pytest.mark.parametrize("left", ["e2m1", "e4m3", "e5m2"])
def test_no_scale_is_too_small_or_large(
    left: str, right: str, device: str, rng: np.random.Generator
) -> None:
    """Opposite scales leave numbers in range from elements that no type with the exponents of
    float32 holds: 2 ** 127 times 448, and 2 ** -127 times 2 ** -9."""
    if device == "sim:sm_80" and left == "e2m1":
        pytest.skip("the same code as on cpu, with the layouts of the others")
    for left_scales, right_scales in [((0, 254), (0, 254)), ((0, 3), (250, 254))]:
        lhs = side_of(rng, left, 16, 64, left_scales)
        rhs = side_of(rng, right, 16, 64, None if right == "bf16" else right_scales)
        if right == "bf16":
            rhs.codes = rng.integers(0, 0x7F80, rhs.codes.shape).astype(np.uint16)
        assert_product(multiplied(lhs, rhs), lhs, rhs)
        if right not in ("e2m1", "e4m3", "e5m2"):
            assert_product(multiplied(rhs, lhs), rhs, lhs)


def test_small_results_are_kept(device: str, rng: np.random.Generator) -> None:
    """Products below the smallest normal float32, which instructions may flush."""
    lhs = side_of(rng, "e4m3", 16, 32, (55, 60))
    rhs = side_of(rng, "e4m3", 16, 32, (55, 60))
    actual = multiplied(lhs, rhs)
    assert_product(actual, lhs, rhs)
    assert np.any((actual != 0) & (np.abs(actual) < 2.0**-126))


@pytest.mark.parametrize("format", ["e2m1", "e4m3", "e5m2", "bf16", "fp16"])
def test_scale_255_is_nan(format: str, device: str, rng: np.random.Generator) -> None:
    """Of its 32 elements, and so of one row, and no other."""
    lhs = side_of(rng, format, 16, 64, (127, 127))
    rhs = side_of(rng, "e2m1", 16, 64, None)
    assert lhs.scale is not None
    lhs.scale[5, 1] = 255
    actual = multiplied(lhs, rhs)
    np.testing.assert_array_equal(np.isnan(actual).all(axis=1), np.arange(16) == 5)
    assert_product(actual, lhs, rhs)
    if format not in ("e4m3", "bf16"):
        return
    actual = multiplied(rhs, lhs)
    np.testing.assert_array_equal(np.isnan(actual).all(axis=0), np.arange(16) == 5)
    assert_product(actual, rhs, lhs)


@pytest.mark.parametrize("scales", [(127, 127), (0, 130)])
def test_infinity_and_nan_elements(
    scales: tuple[int, int], device: str, rng: np.random.Generator
) -> None:
    lhs = side_of(rng, "e5m2", 16, 64, scales)
    rhs = side_of(rng, "e4m3", 16, 64, scales)
    lhs.codes[3, 40] = 0x7C
    lhs.codes[4, 2] = 0xFC
    lhs.codes[5, 3] = 0x7D
    rhs.codes[7, 50] = 0xFF
    actual = multiplied(lhs, rhs)
    a, b = lhs.numbers(), rhs.numbers()
    with np.errstate(invalid="ignore"):
        exact = a @ b.T
    np.testing.assert_array_equal(np.isnan(actual[:, 7]), True)
    np.testing.assert_array_equal(np.isnan(actual[5]), True)
    others = np.arange(16) != 7
    np.testing.assert_array_equal(actual[3:5, others], exact[3:5, others].astype(np.float32))
    assert np.isfinite(exact[:3, others]).all() and not np.isnan(actual[:3, others]).any()


@pytest.mark.parametrize("format", ["e2m1", "e4m3", "e5m2"])
def test_every_code_is_its_number(format: str, device: str) -> None:
    """Against a unit matrix of scaled fp4, with a number behind the point in each scale."""
    count = 16 if format == "e2m1" else 256
    codes = np.arange(count, dtype=np.uint8)
    finite = np.where(np.isfinite({"e2m1": E2M1, "e4m3": E4M3, "e5m2": E5M2}[format]), codes, 0)
    lhs = Side(format, np.resize(finite, (32, 64)), np.full((32, 2), 125, np.uint8))
    unit = np.where(np.eye(64, dtype=bool), 2, 0).astype(np.uint8)
    rhs = Side("e2m1", unit, np.full((64, 2), 129, np.uint8))
    np.testing.assert_array_equal(multiplied(lhs, rhs), numbers_of(lhs.codes, format))
