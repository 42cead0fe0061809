"""Kernels whose products warpgroups compute, for mutants of their PTX (warpgroup_mutants.py)."""

from __future__ import annotations

import tilewright as tw


@tw.jit
def product(
    a, b, c, K, a_row, a_column, b_row, b_column,
    BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr, SUMS: tw.constexpr, LEFT: tw.constexpr,
    MOST: tw.constexpr, LOADER: tw.constexpr,
):  # fmt: skip
    """C = A B of whole tiles, in sums of a type, of at most `MOST` products where 8-bit floats lose bits;
    `LEFT` says whether A is computed in registers. In all kernels, `LOADER` lets a warp beside the others
    copy."""
    m, n, k = tw.arange(0, BM), tw.arange(0, BN), tw.arange(0, BK)
    left = a + m[:, None] * a_row + k[None, :] * a_column
    right = b + k[:, None] * b_row + n[None, :] * b_column
    sums: tw.constexpr = tw.float16 if SUMS == "f16" else tw.int32 if SUMS == "i32" else tw.float32
    acc = tw.zeros((BM, BN), dtype=sums)
    for _ in tw.range(0, K, BK, warp_specialize=LOADER):
        x = tw.load(left)
        if LEFT == "computed":
            x = x * 2
        acc = tw.dot(x, tw.load(right), acc, max_num_imprecise_acc=MOST, out_dtype=sums)
        left += BK * a_column
        right += BK * b_row
    tw.store(c + m[:, None] * BN + n[None, :], acc)


@tw.jit
def clustered_product(
    a, b, c, K,
    N: tw.constexpr, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr, LOADER: tw.constexpr,
):  # fmt: skip
    """C = A B, of which each program has rows, and those of an axis all columns: they need the same tiles of B.
    With more columns than a tile, programs along the other axis need the same tiles of A."""
    m, n, k = tw.program_id(0) * BM + tw.arange(0, BM), tw.arange(0, BN), tw.arange(0, BK)
    if N > BN:
        n += tw.program_id(1) * BN
    acc = tw.zeros((BM, BN), tw.float32)
    for start in tw.range(0, K, BK, warp_specialize=LOADER):
        x = tw.load(a + m[:, None] * K + (start + k)[None, :])
        y = tw.load(b + (start + k)[:, None] * N + n[None, :])
        acc = tw.dot(x, y, acc)
    tw.store(c + m[:, None] * N + n[None, :], acc)


@tw.jit
def masked_product(
    a, b, c, M, N, K, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr, LOADER: tw.constexpr
):
    """C = A B of any extents: a second loop computes what tiles do not divide."""
    m, n = tw.arange(0, BM), tw.arange(0, BN)
    acc = tw.zeros((BM, BN), tw.float32)
    for start in tw.range(0, K, BK, warp_specialize=LOADER):
        k = start + tw.arange(0, BK)
        x = tw.load(a + m[:, None] * K + k[None, :], (m < M)[:, None] & (k < K)[None, :], 0.0)
        y = tw.load(b + k[:, None] * N + n[None, :], (k < K)[:, None] & (n < N)[None, :], 0.0)
        acc = tw.dot(x, y, acc)
    tw.store(c + m[:, None] * N + n[None, :], acc, mask=(m < M)[:, None] & (n < N)[None, :])


@tw.jit
def attention(
    q, k, v, out, length, BM: tw.constexpr, BN: tw.constexpr, D: tw.constexpr, LOADER: tw.constexpr
):
    """Two chained products; the left operand of the second stays in registers."""
    m, d = tw.arange(0, BM), tw.arange(0, D)
    query = tw.load(q + m[:, None] * D + d[None, :])
    peak = tw.full([BM], -float("inf"), tw.float32)
    norm = tw.zeros([BM], tw.float32)
    acc = tw.zeros([BM, D], tw.float32)
    for start in tw.range(0, length, BN, warp_specialize=LOADER):
        n = start + tw.arange(0, BN)
        inside = n < length
        key = tw.load(k + n[None, :] * D + d[:, None], mask=inside[None, :], other=0.0)
        score = tw.where(inside[None, :], tw.dot(query, key), -float("inf"))
        new_peak = tw.maximum(peak, tw.max(score, 1))
        p = tw.exp2(score - new_peak[:, None])
        shrink = tw.exp2(peak - new_peak)
        norm = norm * shrink + tw.sum(p, 1)
        value = tw.load(v + n[:, None] * D + d[None, :], mask=inside[:, None], other=0.0)
        acc = tw.dot(p.to(tw.float16), value, acc * shrink[:, None])
        peak = new_peak
    tw.store(out + m[:, None] * D + d[None, :], acc / norm[:, None])


@tw.jit
def stored_product(
    a, b, c, M, N, K, STEP: tw.constexpr, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr, LOADER: tw.constexpr
):
    """C = A B in halves, by tiles one after the other, of which every one begins `STEP` rows later."""
    m, n = tw.arange(0, BM), tw.arange(0, BN)
    for first in range(0, M, STEP):
        rows = first + m
        acc = tw.zeros((BM, BN), tw.float32)
        for start in tw.range(0, K, BK, warp_specialize=LOADER):
            k = start + tw.arange(0, BK)
            x = tw.load(a + rows[:, None] * K + k[None, :], (rows < M)[:, None], 0.0)
            y = tw.load(b + k[:, None] * N + n[None, :], (n < N)[None, :], 0.0)
            acc = tw.dot(x, y, acc)
        inside = (rows < M)[:, None] & (n < N)[None, :]
        tw.store(c + rows[:, None] * N + n[None, :], acc.to(tw.float16), mask=inside)
