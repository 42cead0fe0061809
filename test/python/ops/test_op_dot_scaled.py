"""dot_scaled against float64: every pair of formats, packings, scales of every size, NaN.

The model is the definition of the Open Compute Project's "Microscaling Formats (MX) Specification"
1.0: elements by a formula on their codes, times 2 ** (scale - 127), summed in float64.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import torch

import tilewright as tw

FORMATS = ["e2m1", "e4m3", "e5m2", "bf16", "fp16"]
DEVICES = ["cpu", "reference", "sim:sm_80"]


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest, compiler: None) -> Iterator[str]:
    if request.param not in tw.list_devices():
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


# Accumulators, batches, arrays as users have them.


def test_accumulator(device: str, rng: np.random.Generator) -> None:
    start = rng.standard_normal((32, 16)).astype(np.float32)
    for scales in [(120, 130), (0, 130)]:
        lhs = side_of(rng, "e4m3", 32, 64, scales)
        rhs = side_of(rng, "e2m1", 16, 64, (120, 130))
        assert_product(multiplied(lhs, rhs, start), lhs, rhs, start)


@pytest.mark.parametrize("packed_along_k", [True, False])
def test_batches(packed_along_k: bool, device: str, rng: np.random.Generator) -> None:
    @tw.jit
    def kernel(
        out, a, a_scale, b, b_scale,
        M: tw.constexpr, N: tw.constexpr, K: tw.constexpr, G: tw.constexpr, PACK: tw.constexpr,
    ):  # fmt: skip
        z = tw.arange(0, 2)[:, None, None]
        m, n, k = tw.arange(0, M), tw.arange(0, N), tw.arange(0, K)
        ra, ca = M if PACK else M // 2, K // 2 if PACK else K
        x = tw.load(a + z * ra * ca + tw.arange(0, ra)[:, None] * ca + tw.arange(0, ca)[None, :])
        y = tw.load(b + z * N * K + n[None, :] * K + k[:, None])
        g = tw.arange(0, G)[None, :]
        s = tw.load(a_scale + z * M * G + m[:, None] * G + g)
        t = tw.load(b_scale + z * N * G + n[:, None] * G + g)
        c = tw.dot_scaled(x, s, "e2m1", y, t, "e5m2", lhs_k_pack=PACK)
        tw.store(out + z * M * N + m[:, None] * N + n[None, :], c)

    for scales in [(120, 130), (0, 254)]:
        lhs = [side_of(rng, "e2m1", 32, 64, scales) for _ in range(2)]
        lhs = [replace(side, is_packed_along_k=packed_along_k) for side in lhs]
        rhs = [side_of(rng, "e5m2", 16, 64, scales) for _ in range(2)]
        out = np.full((2, 32, 16), np.float32(np.nan), np.float32)
        a, b = (np.stack([side.stored() for side in sides]) for sides in (lhs, rhs))
        s, t = (np.stack([side.scale for side in sides]) for sides in (lhs, rhs))
        kernel[(1,)](out, a, s, b, t, 32, 16, 64, 2, packed_along_k)
        for batch in range(2):
            assert_product(out[batch], lhs[batch], rhs[batch])


@pytest.mark.parametrize("shape", [(128, 32, 64), (32, 128, 128)])
@pytest.mark.parametrize("is_transposed", [False, True])
@pytest.mark.parametrize("types", [("e2m1", "e5m2"), ("e4m3", "bf16"), ("e5m2", "fp16")])
def test_tensors_in_any_order_by_four_and_eight_warps(
    types: tuple[str, str], is_transposed: bool, shape: tuple[int, int, int], device: str,
    rng: np.random.Generator,
) -> None:  # fmt: skip
    @tw.jit
    def kernel(
        out, a, am, ak, a_scale, b, bk, bn,
        M: tw.constexpr, N: tw.constexpr, KA: tw.constexpr, K: tw.constexpr,
        A_TYPE: tw.constexpr, B_TYPE: tw.constexpr,
    ):  # fmt: skip
        x = tw.load(a + tw.arange(0, M)[:, None] * am + tw.arange(0, KA)[None, :] * ak)
        y = tw.load(b + tw.arange(0, K)[:, None] * bk + tw.arange(0, N)[None, :] * bn)
        G: tw.constexpr = K // 32
        s = tw.load(a_scale + tw.arange(0, M)[:, None] * G + tw.arange(0, G)[None, :])
        c = tw.dot_scaled(x, s, A_TYPE, y, None, B_TYPE)
        tw.store(out + tw.arange(0, M)[:, None] * N + tw.arange(0, N)[None, :], c)

    if device == "reference" and shape[2] == 128:
        pytest.skip("the same for the interpreter as the smaller one")
    m, n, k = shape
    lhs = side_of(rng, types[0], m, k, (124, 131))
    rhs = side_of(rng, types[1], n, k, None)
    a = torch.from_numpy(np.ascontiguousarray(lhs.stored()))
    b = torch.from_numpy(rhs.codes.view(np.int16 if rhs.codes.itemsize == 2 else np.uint8))
    if rhs.codes.itemsize == 2:
        b = b.view({"bf16": torch.bfloat16, "fp16": torch.float16}[types[1]])
    b = b.T if not is_transposed else b.T.contiguous()
    if is_transposed:
        a = a.T.contiguous().T
    out = torch.full((m, n), float("nan"))
    kernel[(1,)](
        out, a, *a.stride(), torch.from_numpy(lhs.scale), b, *b.stride(), m, n, a.shape[1], k,
        *types, num_warps=8 if is_transposed else 4,
    )  # fmt: skip
    assert_product(out.numpy(), lhs, rhs)


@tw.jit
def matmul(
    out, a, a_scale, b, b_scale, depth,
    M: tw.constexpr, N: tw.constexpr, K: tw.constexpr, FAST: tw.constexpr,
):  # fmt: skip
    """e2m1 along K by e4m3 [N, K]."""
    m, n = tw.arange(0, M), tw.arange(0, N)
    acc = tw.zeros([M, N], tw.float32)
    for start in range(0, depth, K):
        x = tw.load(
            a + m[:, None] * (depth // 2) + start // 2 + tw.arange(0, K // 2)[None, :]
        )
        y = tw.load(b + n[None, :] * depth + start + tw.arange(0, K)[:, None])
        group = start // 32 + tw.arange(0, K // 32)[None, :]
        s = tw.load(a_scale + m[:, None] * (depth // 32) + group)
        t = tw.load(b_scale + n[:, None] * (depth // 32) + group)
        acc = tw.dot_scaled(x, s, "e2m1", y, t, "e4m3", acc, fast_math=FAST)
    tw.store(out + m[:, None] * N + n[None, :], acc)


@pytest.mark.parametrize("fast", [False, True])
def test_loops_along_k(fast: bool, device: str, rng: np.random.Generator) -> None:
    depth = 256
    lhs = side_of(rng, "e2m1", 32, depth, (120, 130))
    rhs = side_of(rng, "e4m3", 64, depth, (120, 130))
    if not fast:  # in one iteration
        assert lhs.scale is not None
        lhs.scale[3, 2] = 9
    out = np.full((32, 64), np.float32(np.nan), np.float32)
    b = tw.reinterpret(rhs.codes, tw.float8e4nv)
    matmul[(1,)](out, lhs.stored(), lhs.scale, b, rhs.scale, depth, 32, 64, 64, fast)
    assert_product(out, lhs, rhs)


# The code for a GPU.


def ptx_of(left: str, right: str, **options: Any) -> str:
    rng = np.random.default_rng(0)
    lhs, rhs = side_of(rng, left, 64, 64, (127, 127)), side_of(rng, right, 64, 64, None)
    with tw.device("sim:sm_80"):
        kernel = product.warmup(
            np.zeros((64, 64), np.float32), lhs.stored(), lhs.scale, rhs.stored(), None, None,
            64, 64, lhs.stored().shape[1], rhs.stored().shape[1], 2, 1, left, right, True, True,
            options.pop("fast", False), grid=(1,), num_warps=4,
        )  # fmt: skip
    return kernel.asm["ptx"]


@pytest.mark.parametrize("right, instruction", [("bf16", "k16.*bf16"), ("fp16", "k8.*tf32")])
@pytest.mark.parametrize("left", ["e2m1", "e4m3", "e5m2"])
def test_matrix_instructions_multiply_them(
    left: str, right: str, instruction: str, compiler: None
) -> None:
    for fast in (False, True):
        ptx = ptx_of(left, right, fast=fast)
        assert re.search(rf"mma\.sync\.aligned\.m16n8{instruction}", ptx)
        # Of 64 x 64 products in a warp's share, scalar ones would take thousands.
        assert len(re.findall(r"fma\.rn\.f32", ptx)) < 600


# Misuse.


def refusal(
    *, lhs: Any = (tw.uint8, [32, 32]), lhs_scale: Any = (tw.uint8, [32, 2]),
    lhs_format: Any = "e2m1",
    rhs: Any = (tw.float8e4nv, [64, 16]), rhs_scale: Any = None, rhs_format: Any = "e4m3",
    acc: Any = None, **options: Any,
) -> str:  # fmt: skip
    LEFT, LEFT_SCALE, RIGHT, RIGHT_SCALE, ACC = lhs, lhs_scale, rhs, rhs_scale, acc
    LEFT_FORMAT, RIGHT_FORMAT = lhs_format, rhs_format
    PACK, TYPE = options.get("lhs_k_pack", True), options.get("out_dtype", tw.float32)

    @tw.jit
    def tile(what: tw.constexpr):
        if what is None:
            return None
        return tw.full(what[1], 0, what[0])

    @tw.jit
    def kernel(out):
        c = tw.dot_scaled(
            tile(LEFT), tile(LEFT_SCALE), LEFT_FORMAT, tile(RIGHT), tile(RIGHT_SCALE),
            RIGHT_FORMAT, tile(ACC), lhs_k_pack=PACK, out_dtype=TYPE,
        )  # fmt: skip
        tw.store(out, tw.sum(c))

    with pytest.raises(tw.CompileError) as caught:
        kernel[(1,)](np.zeros(1, np.float32))
    return str(caught.value)


MISUSES = {
    "unknown format": (dict(lhs_format="e3m2"), "TW0237", r'lhs_format is "e3m2"'),
    "no text": (dict(rhs_format=3), "TW0103|TW0104|TW0237", "format|text"),
    "wrong elements": (dict(lhs=(tw.float16, [32, 32])), "TW0238", r"float16\[32, 32\]"),
    "bf16 as fp16": (dict(rhs=(tw.bfloat16, [64, 16]), rhs_format="fp16"), "TW0238", "bfloat16"),
    "unpacked": (
        dict(lhs=(tw.uint8, [32, 64]), lhs_format="e4m3", lhs_k_pack=False), "TW0238", "k_pack"),
    "scale type": (dict(lhs_scale=(tw.float32, [32, 2])), "TW0239", r"float32\[32, 2\]"),
    "scale shape": (dict(lhs_scale=(tw.uint8, [32, 4])), "TW0239", r"must be \[32, 2\]"),
    "rhs scale shape": (
        dict(rhs_scale=(tw.uint8, [2, 16])), "TW0239", r"must be \[16, 2\].*\n?(.*\n)*.*\[N, K"),
    "e4m3 scale": (dict(lhs_scale=(tw.float8e4nv, [32, 8])), "TW0239", r"must be \[32, 4\].*\n?(.*\n)*.*16 or 32"),
    "small k": (
        dict(lhs=(tw.uint8, [32, 8]), rhs=(tw.float8e4nv, [16, 16])), "TW0239", "multiple of 32"),
    "different k": (dict(rhs=(tw.float8e4nv, [32, 16])), "TW0240", "K = 64.*K = 32"),
    "rank": (dict(rhs=(tw.float8e4nv, [64])), "TW0240", "rank 1"),
    "batches": (dict(rhs=(tw.float8e4nv, [2, 64, 16])), "TW0240", "batches differ"),
    "result": (dict(out_dtype=tw.float16), "TW0241", "float16"),
    "accumulator": (dict(acc=(tw.float32, [16, 32])), "TW0241", r"float32\[32, 16\]"),
    "accumulator type": (dict(acc=(tw.float16, [32, 16])), "TW0241", r"float32\[32, 16\]"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISUSES)
def test_misuse(name: str, compiler: None) -> None:
    changes, code, message = MISUSES[name]
    text = refusal(**changes)
    assert re.search(code, text) and re.search(message, text), text
    assert "test_op_dot_scaled.py" in text and "tw.dot_scaled(" in text  # the user's line
