"""Products whose loops are pipelined, at tiles small enough to simulate in no time."""

from __future__ import annotations

import tilewright as tw


@tw.jit
def matmul(a, b, c, M, N, K, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr):
    """C = A B, all sizes ragged."""
    m = tw.program_id(0) * BM + tw.arange(0, BM)
    n = tw.program_id(1) * BN + tw.arange(0, BN)
    acc = tw.zeros((BM, BN), tw.float32)
    for start in range(0, K, BK):
        k = start + tw.arange(0, BK)
        x = tw.load(a + m[:, None] * K + k[None, :], (m < M)[:, None] & (k < K)[None, :], 0.0)
        y = tw.load(b + k[:, None] * N + n[None, :], (k < K)[:, None] & (n < N)[None, :], 0.0)
        acc = tw.dot(x, y, acc)
    inside = (m < M)[:, None] & (n < N)[None, :]
    tw.store(c + m[:, None] * N + n[None, :], acc, mask=inside)


@tw.jit
def matmul_transposed(a, b, c, N, K, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr):
    """C = A B of whole tiles, in f16; B is given as [N, K]."""
    m = tw.program_id(0) * BM + tw.arange(0, BM)
    n = tw.program_id(1) * BN + tw.arange(0, BN)
    acc = tw.zeros((BM, BN), tw.float32)
    for start in range(0, K, BK):
        k = start + tw.arange(0, BK)
        x = tw.load(a + m[:, None] * K + k[None, :])
        y = tw.load(b + n[None, :] * K + k[:, None])
        acc = tw.dot(x, y, acc)
    tw.store(c + m[:, None] * N + n[None, :], acc.to(tw.float16))


@tw.jit
def split_k_matmul(
    a, b, c, M, N, K, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr, SPLIT: tw.constexpr
):
    """Programs along axis 2 share the inner dimension and add up their parts atomically."""
    m = tw.program_id(0) * BM + tw.arange(0, BM)
    n = tw.program_id(1) * BN + tw.arange(0, BN)
    acc = tw.zeros((BM, BN), tw.float32)
    for step in range(tw.cdiv(K, BK * SPLIT)):
        k = (step * SPLIT + tw.program_id(2)) * BK + tw.arange(0, BK)
        x = tw.load(a + m[:, None] * K + k[None, :], (m < M)[:, None] & (k < K)[None, :], 0.0)
        y = tw.load(b + k[:, None] * N + n[None, :], (k < K)[:, None] & (n < N)[None, :], 0.0)
        acc = tw.dot(x, y, acc)
    inside = (m < M)[:, None] & (n < N)[None, :]
    tw.atomic_add(c + m[:, None] * N + n[None, :], acc, mask=inside)


@tw.jit
def dequantized_int8(x, w, scales, out, K, N, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr):
    """x times int8 weights with a scale for each column."""
    m = tw.program_id(0) * BM + tw.arange(0, BM)
    n = tw.program_id(1) * BN + tw.arange(0, BN)
    acc = tw.zeros((BM, BN), tw.float32)
    for start in range(0, K, BK):
        k = start + tw.arange(0, BK)
        left = tw.load(x + m[:, None] * K + k[None, :])
        right = tw.load(w + k[:, None] * N + n[None, :]).to(tw.float16)
        acc = tw.dot(left, right, acc)
    acc = acc * tw.load(scales + n)[None, :]
    tw.store(out + m[:, None] * N + n[None, :], acc)


@tw.jit
def two_layers(x, w1, w2, out, K, HIDDEN, N: tw.constexpr, BM: tw.constexpr, BK: tw.constexpr,
               BH: tw.constexpr):  # fmt: skip
    """relu(x w1) w2: a piece of the hidden layer at a time; a loop with a product within a loop."""
    m = tw.program_id(0) * BM + tw.arange(0, BM)
    n = tw.arange(0, N)
    acc = tw.zeros((BM, N), tw.float32)
    for piece in range(0, HIDDEN, BH):
        h = piece + tw.arange(0, BH)
        hidden = tw.zeros((BM, BH), tw.float32)
        for start in range(0, K, BK):
            k = start + tw.arange(0, BK)
            left = tw.load(x + m[:, None] * K + k[None, :])
            hidden = tw.dot(left, tw.load(w1 + k[:, None] * HIDDEN + h[None, :]), hidden)
        active = tw.maximum(hidden, 0.0).to(tw.float16)
        acc = tw.dot(active, tw.load(w2 + h[:, None] * N + n[None, :]), acc)
    tw.store(out + m[:, None] * N + n[None, :], acc)


@tw.jit
def gathered_matmul(
    a, pages, b, out, used, K, M: tw.constexpr, N: tw.constexpr, BK: tw.constexpr
):
    """Blocks of B are found through a table: a load feeds the address of a load."""
    m = tw.arange(0, M)
    n = tw.arange(0, N)
    k = tw.arange(0, BK)
    acc = tw.zeros((M, N), tw.float32)
    for step in range(used // BK):
        page = tw.load(pages + step)
        x = tw.load(a + m[:, None] * K + (step * BK + k)[None, :])
        y = tw.load(b + (page * BK + k)[:, None] * N + n[None, :])
        acc = tw.dot(x, y, acc)
    tw.store(out + m[:, None] * N + n[None, :], acc)


@tw.jit
def attention(
    q, k, v, bias, out, sums, queries, keys, heads, shared_by, scale,
    D: tw.constexpr, BM: tw.constexpr, BN: tw.constexpr, CAUSAL: tw.constexpr, BIAS: tw.constexpr,
):  # fmt: skip
    """Forward attention; `shared_by` neighbouring heads read the same keys and values."""
    head = tw.program_id(1)
    m = tw.program_id(0) * BM + tw.arange(0, BM)
    d = tw.arange(0, D)
    k += head // shared_by * keys * D
    v += head // shared_by * keys * D
    at = head * queries * D + m[:, None] * D + d[None, :]
    query = tw.load(q + at, mask=m[:, None] < queries, other=0.0)
    peak = tw.full([BM], -1.0e30, tw.float32)
    norm = tw.zeros([BM], tw.float32)
    acc = tw.zeros([BM, D], tw.float32)
    end = tw.minimum(keys, (tw.program_id(0) + 1) * BM) if CAUSAL else keys
    for first in range(0, end, BN):
        n = first + tw.arange(0, BN)
        key = tw.load(k + n[None, :] * D + d[:, None], mask=n[None, :] < keys, other=0.0)
        score = tw.dot(query, key) * (scale * 1.4426950408889634)
        inside = (n < keys)[None, :]
        if CAUSAL:
            inside = inside & (n[None, :] <= m[:, None])
        if BIAS:
            places = bias + (head * queries + m[:, None]) * keys + n[None, :]
            valid = inside & (m[:, None] < queries)
            score += tw.load(places, mask=valid, other=0.0).to(tw.float32) * 1.4426950408889634
        score = tw.where(inside, score, -1.0e30)
        higher = tw.maximum(peak, tw.max(score, 1))
        p = tw.exp2(score - higher[:, None])
        shrink = tw.exp2(peak - higher)
        norm = norm * shrink + tw.sum(p, 1)
        value = tw.load(v + n[:, None] * D + d[None, :], mask=n[:, None] < keys, other=0.0)
        acc = tw.dot(p.to(value.dtype), value, acc * shrink[:, None])
        peak = higher
    tw.store(out + at, acc / norm[:, None], mask=m[:, None] < queries)
    tw.store(sums + head * queries + m, peak + tw.log2(norm), mask=m < queries)
