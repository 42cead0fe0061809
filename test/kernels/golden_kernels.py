"""Kernels of golden/ptx alone: products, and a sum across programs."""

from __future__ import annotations

import tilewright as tw


@tw.jit
def multiply(
    a, b, c, M, N, K, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr, PRECISION: tw.constexpr
):
    """C = A B, all sizes ragged."""
    m = tw.program_id(0) * BM + tw.arange(0, BM)
    n = tw.program_id(1) * BN + tw.arange(0, BN)
    acc = tw.zeros((BM, BN), tw.float32)
    for start in range(0, K, BK):
        k = start + tw.arange(0, BK)
        x = tw.load(a + m[:, None] * K + k[None, :], (m < M)[:, None] & (k < K)[None, :], 0.0)
        y = tw.load(b + k[:, None] * N + n[None, :], (k < K)[:, None] & (n < N)[None, :], 0.0)
        acc = tw.dot(x, y, acc, input_precision=PRECISION)
    inside = (m < M)[:, None] & (n < N)[None, :]
    tw.store(c + m[:, None] * N + n[None, :], acc, mask=inside)


@tw.jit
def matmul(a, b, c, M, N, K, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr):
    """By matrix instructions."""
    multiply(a, b, c, M, N, K, BM, BN, BK, "tf32")


@tw.jit
def scalar_matmul(a, b, c, M, N, K, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr):
    """No matrix instruction computes it: multiplications and additions of single numbers."""
    multiply(a, b, c, M, N, K, BM, BN, BK, "ieee")


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
def sum_by_last(x, partial, ticket, out, n, BLOCK: tw.constexpr):
    """A sum over a grid in one launch: the program that finishes last adds up the others' results."""
    pid = tw.program_id(0)
    i = pid * BLOCK + tw.arange(0, BLOCK)
    tw.store(partial + pid, tw.sum(tw.load(x + i, mask=i < n, other=0.0), 0))
    # Releases this program's store, and acquires those of all that came before.
    if tw.atomic_add(ticket, 1) == tw.num_programs(0) - 1:
        p = tw.arange(0, 8)
        tw.store(out, tw.sum(tw.load(partial + p), 0))
