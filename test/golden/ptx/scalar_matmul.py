"""A product that no matrix instruction computes: multiplications and additions of single numbers."""

from __future__ import annotations

import tilewright as tw


@tw.jit
def scalar_matmul(a, b, c, M, N, K, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr):
    m = tw.program_id(0) * BM + tw.arange(0, BM)
    n = tw.program_id(1) * BN + tw.arange(0, BN)
    acc = tw.zeros((BM, BN), tw.float32)
    for start in range(0, K, BK):
        k = start + tw.arange(0, BK)
        x = tw.load(a + m[:, None] * K + k[None, :], (m < M)[:, None] & (k < K)[None, :], 0.0)
        y = tw.load(b + k[:, None] * N + n[None, :], (k < K)[:, None] & (n < N)[None, :], 0.0)
        acc = tw.dot(x, y, acc, input_precision="ieee")
    inside = (m < M)[:, None] & (n < N)[None, :]
    tw.store(c + m[:, None] * N + n[None, :], acc, mask=inside)
