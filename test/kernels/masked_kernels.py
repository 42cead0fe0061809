"""A softmax of rows and a matrix product whose masks decide at all edges, in as few lines as they take."""

from __future__ import annotations

import tilewright as tw


@tw.jit
def softmax(out, x, columns, BLOCK: tw.constexpr):
    i = tw.arange(0, BLOCK)
    row = tw.program_id(0) * columns
    value = tw.load(x + row + i, mask=i < columns, other=float("-inf"))
    value = tw.exp(value - tw.max(value, axis=0))
    tw.store(out + row + i, value / tw.sum(value, axis=0), mask=i < columns)


@tw.jit
def matmul(c, a, b, M, N, K, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr):
    m = (tw.program_id(0) * BM + tw.arange(0, BM))[:, None]
    n = (tw.program_id(1) * BN + tw.arange(0, BN))[None, :]
    total = tw.zeros((BM, BN), tw.float32)
    for start in range(0, K, BK):
        k = start + tw.arange(0, BK)
        x = tw.load(a + m * K + k[None, :], mask=(m < M) & (k[None, :] < K), other=0.0)
        y = tw.load(b + k[:, None] * N + n, mask=(k[:, None] < K) & (n < N), other=0.0)
        total = tw.dot(x, y, total)
    tw.store(c + m * N + n, total, mask=(m < M) & (n < N))
