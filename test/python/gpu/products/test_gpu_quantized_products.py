"""Products of quantized matrices in the forms that users give them are right, and race-free.

Scales are powers of two and values small integers, so that every result is exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gpu.products.test_gpu_matmul import assert_equal, counts, integers, poisoned
from gpu.products.test_gpu_products import Setting, launch, setting  # noqa: F401 (a fixture)

import tilewright.triton as triton
import tilewright.triton.language as tl

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.usefixtures("compiler")

# Which of eight columns the bits 4 i .. 4 i + 3 of a word hold.
ORDER = (0, 2, 4, 6, 1, 3, 5, 7)


def packed(values: np.ndarray, axis: int, order: tuple[int, ...] = tuple(range(8))) -> Any:
    """Eight 4-bit numbers of neighbours along `axis` to a word."""
    neighbours = np.moveaxis(values.astype(np.uint32), axis, 0)
    words = sum(neighbours[place::8] << np.uint32(4 * i) for i, place in enumerate(order))
    words = np.ascontiguousarray(np.moveaxis(words.astype(np.uint32), 0, axis))
    return torch.from_numpy(words.view(np.int32))


@triton.jit
def grouped_int4_rows(
    x, words, scales, zeros, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
    GROUP: tl.constexpr,
):  # fmt: skip
    """Words hold eight rows of a column; zero points are packed along the columns."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    left = x + m[:, None] * K + k[None, :]
    right = words + (k[:, None] // 8) * N + n[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for step in range(0, tl.cdiv(K, BK)):
        row = tl.load(left, mask=m[:, None] < M, other=0.0)
        group = step * BK // GROUP
        scale = tl.load(scales + group * N + n)
        zero = (tl.load(zeros + group * (N // 8) + n // 8) >> (n % 8 * 4)) & 0xF
        weight = (tl.load(right) >> (k % 8 * 4)[:, None]) & 0xF
        acc += tl.dot(row, (weight - zero[None, :]).to(tl.float16) * scale[None, :])
        left += BK
        right += BK // 8 * N
    tl.store(out + m[:, None] * N + n[None, :], acc, mask=m[:, None] < M)


@triton.jit
def eightfold(words):
    twice = tl.interleave(words, words)
    twice = tl.interleave(twice, twice)
    return tl.interleave(twice, twice)


@triton.jit
def grouped_int4_columns(
    x, words, scales, zeros, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
    GROUP: tl.constexpr,
):  # fmt: skip
    """Words hold eight columns of a row in the order of ORDER, as do the zero points."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    word = tl.program_id(1) * (BN // 8) + tl.arange(0, BN // 8)
    shift = ((n % 2) * 4 + n % 8 // 2) * 4
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        row = tl.load(x + m[:, None] * K + k[None, :], mask=m[:, None] < M, other=0.0)
        weight = eightfold(tl.load(words + k[:, None] * (N // 8) + word[None, :]))
        group = start // GROUP + tl.arange(0, 1)
        zero = eightfold(tl.load(zeros + group[:, None] * (N // 8) + word[None, :]))
        zero = (tl.broadcast_to(zero, (BK, BN)) >> shift[None, :]) & 0xF
        scale = tl.broadcast_to(tl.load(scales + group[:, None] * N + n[None, :]), (BK, BN))
        weight = (((weight >> shift[None, :]) & 0xF) - zero) * scale
        acc = tl.dot(row, weight.to(tl.float16), acc)
    tl.store(out + m[:, None] * N + n[None, :], acc, mask=m[:, None] < M)


@pytest.mark.parametrize("kernel", [grouped_int4_rows, grouped_int4_columns])
def test_four_bits_with_scales_and_zeros_of_groups(
    setting: Setting, kernel: Any, rng: np.random.Generator  # noqa: F811
) -> None:  # fmt: skip
    M, N, K, group = 20, 64, 128, 32
    x = integers(rng, M, K, size=1)
    weights, zeros = rng.integers(0, 16, (K, N)), rng.integers(0, 16, (K // group, N))
    scales, out = 2.0 ** integers(rng, K // group, N, size=1), poisoned(M, N)
    if kernel is grouped_int4_rows:
        words, packed_zeros = packed(weights, 0), packed(zeros, 1)
    else:
        words, packed_zeros = packed(weights, 1, ORDER), packed(zeros, 1, ORDER)
    compiled = launch(
        kernel, (1, 2), x, words, scales, packed_zeros, out, M, N, K, BM=32, BN=32, BK=32,
        GROUP=group, setting=setting,
    )  # fmt: skip
    if code := counts(compiled):
        assert code.instructions > 0 and code.copies > 0
    shifted = torch.from_numpy(weights - np.repeat(zeros, group, 0)).double()
    assert_equal(out, x.double() @ (shifted * scales.double().repeat_interleave(group, 0)))


@triton.jit
def scaled_blocks(
    a, b, c, a_scales, b_scales, M, N, K, ROWS: tl.constexpr, GROUP: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """A scale per GROUP columns of a row of A, and per GROUP x ROWS block of B [N, K]."""
    m = (tl.program_id(0) * BM + tl.arange(0, BM)) % M
    n = (tl.program_id(1) * BN + tl.arange(0, BN)) % N
    k = tl.arange(0, BK)
    left = a + m[:, None] * K + k[None, :]
    right = b + n[None, :] * K + k[:, None]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(0, tl.cdiv(K, BK)):
        x = tl.load(left, mask=k[None, :] < K - step * BK, other=0.0)
        y = tl.load(right, mask=k[:, None] < K - step * BK, other=0.0)
        group = step * BK // GROUP
        x_scale = tl.load(a_scales + m * tl.cdiv(K, GROUP) + group)
        y_scale = tl.load(b_scales + n // ROWS * tl.cdiv(K, GROUP) + group)
        acc += tl.dot(x, y) * x_scale[:, None] * y_scale[None, :]
        left += BK
        right += BK
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    inside = (m[:, None] < M) & (n[None, :] < N)
    tl.store(c + m[:, None] * N + n[None, :], acc, mask=inside)


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2", "int8"])
@pytest.mark.parametrize("K", [128, 144])
def test_scales_of_blocks(
    setting: Setting, dtype: str, K: int, rng: np.random.Generator  # noqa: F811
) -> None:  # fmt: skip
    M, N, group, rows = 48, 80, 64, 16
    a, b = (integers(rng, s, K, dtype=getattr(torch, dtype)) for s in (M, N))
    groups = -(-K // group)
    a_scales = 2.0 ** integers(rng, M, groups, size=1, dtype=torch.float32)
    b_scales = 2.0 ** integers(rng, N // rows, groups, size=1, dtype=torch.float32)
    c = poisoned(M, N)
    launch(
        scaled_blocks, (2, 3), a, b, c, a_scales, b_scales, M, N, K, ROWS=rows, GROUP=group, BM=32,
        BN=32, BK=32, setting=setting,
    )  # fmt: skip
    left = a.double() * a_scales.double().repeat_interleave(group, 1)[:, :K]
    right = b_scales.double().repeat_interleave(rows, 0).repeat_interleave(group, 1)[:, :K]
    assert_equal(c, left @ (b.double() * right).T)


@triton.jit
def scaled_int8(
    a, b, c, a_scales, b_scales, bias, M, N, K, BM: tl.constexpr, BN: tl.constexpr,
    BK: tl.constexpr,
):  # fmt: skip
    """int8 [M, K] x [N, K]^T, scaled by rows and columns, with a bias; K is counted down."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    left = a + (m % M)[:, None] * K + k[None, :]
    right = b + (n % N)[None, :] * K + k[:, None]
    acc = tl.zeros((BM, BN), dtype=tl.int32)
    for remaining in tl.range(K, 0, -BK):
        x = tl.load(left, mask=k[None, :] < remaining, other=0)
        acc += tl.dot(x, tl.load(right, mask=k[:, None] < remaining, other=0))
        left += BK
        right += BK
    row = tl.load(a_scales + m, mask=m < M, other=0.0)
    column = tl.load(b_scales + n, mask=n < N, other=0.0)
    result = acc.to(tl.float32) * row[:, None] * column[None, :]
    result += tl.load(bias + n, mask=n < N, other=0.0)[None, :]
    inside = (m < M)[:, None] & (n < N)[None, :]
    tl.store(c + m[:, None] * N + n[None, :], result.to(tl.bfloat16), mask=inside)


@pytest.mark.parametrize("sizes", [(48, 64, 128), (33, 47, 75)])
def test_int8_with_scales_of_rows_and_columns(
    setting: Setting, sizes: tuple[int, int, int], rng: np.random.Generator  # noqa: F811
) -> None:  # fmt: skip
    M, N, K = sizes
    a, b = (integers(rng, s, K, dtype=torch.int8, size=127) for s in (M, N))
    scales = [2.0 ** integers(rng, s, dtype=torch.float32) for s in (M, N)]
    bias, c = integers(rng, N, dtype=torch.float32), poisoned(M, N, dtype=torch.bfloat16)
    launch(
        scaled_int8, (-(-M // 32), -(-N // 32)), a, b, c, *scales, bias, M, N, K, BM=32, BN=32,
        BK=32, setting=setting,
    )  # fmt: skip
    exact = a.double() @ b.double().T * torch.outer(*(s.double() for s in scales)) + bias.double()
    assert_equal(c, exact.float().bfloat16())
