"""The matrix product of operands in microscaling formats, as users write it."""

from __future__ import annotations

import tilewright as tw


@tw.jit
def scaled_matmul(
    a, a_scale, b, b_scale, c, M, N, K,
    BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr,
    A_FORMAT: tw.constexpr, B_FORMAT: tw.constexpr,
):  # fmt: skip
    """a is [M, K] and b [N, K] with K last, e2m1 as bytes of two; scales are [M, K / 32] and [N, K / 32]."""
    A_PACKED: tw.constexpr = 2 if A_FORMAT == "e2m1" else 1
    B_PACKED: tw.constexpr = 2 if B_FORMAT == "e2m1" else 1
    m = tw.program_id(0) * BM + tw.arange(0, BM)
    n = tw.program_id(1) * BN + tw.arange(0, BN)
    group = tw.arange(0, BK // 32)
    a += m[:, None] * (K // A_PACKED) + tw.arange(0, BK // A_PACKED)[None, :]
    b += n[None, :] * (K // B_PACKED) + tw.arange(0, BK // B_PACKED)[:, None]
    a_scale += m[:, None] * (K // 32) + group[None, :]
    b_scale += n[:, None] * (K // 32) + group[None, :]
    acc = tw.zeros((BM, BN), tw.float32)
    for _ in range(0, K, BK):
        x, y = tw.load(a), tw.load(b)
        acc = tw.dot_scaled(x, tw.load(a_scale), A_FORMAT, y, tw.load(b_scale), B_FORMAT, acc)
        a += BK // A_PACKED
        b += BK // B_PACKED
        a_scale += BK // 32
        b_scale += BK // 32
    tw.store(c + m[:, None] * N + n[None, :], acc)


_TYPES = {"e4m3": "*float8e4nv:16", "e5m2": "*float8e5:16", "e2m1": "*uint8:16"}


def signature(a_format: str, b_format: str) -> dict[str, str]:
    """The signature of `scaled_matmul` for arrays and extents of multiples of 16."""
    pointers = dict(a=_TYPES[a_format], a_scale="*uint8:16", b=_TYPES[b_format], b_scale="*uint8:16", c="*float32:16")
    return pointers | dict.fromkeys("MNK", "int32:16")
