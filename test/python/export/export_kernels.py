"""Kernels that the tests export."""

from __future__ import annotations

import tilewright as tw


@tw.jit
def scale(x, out, n, factor: tw.float32, BLOCK: tw.constexpr = 64):
    """out = factor * x, for the first n elements."""
    at = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    tw.store(out + at, factor * tw.load(x + at, mask=at < n, other=0.0), mask=at < n)


@tw.jit
def matmul(
    a, b, c, M, N, K, stride_a, stride_b, stride_c,
    BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr,
):  # fmt: skip
    """c = a @ b, all row-major."""
    rows = tw.program_id(0) * BM + tw.arange(0, BM)
    columns = tw.program_id(1) * BN + tw.arange(0, BN)
    total = tw.zeros((BM, BN), dtype=tw.float32)
    for k in range(0, K, BK):
        depth = k + tw.arange(0, BK)
        left = (rows[:, None] < M) & (depth[None, :] < K)
        right = (depth[:, None] < K) & (columns[None, :] < N)
        x = tw.load(a + rows[:, None] * stride_a + depth[None, :], mask=left, other=0.0)
        y = tw.load(b + depth[:, None] * stride_b + columns[None, :], mask=right, other=0.0)
        total += tw.dot(x, y, input_precision="ieee")
    kept = (rows[:, None] < M) & (columns[None, :] < N)
    tw.store(c + rows[:, None] * stride_c + columns[None, :], total, mask=kept)


@tw.jit
def mixed(half, brain, wide, out, h: tw.float16, d: tw.float64, flag: tw.int1, u: tw.uint8, n):
    """Every kind of number, and conversions between narrow and wide floats."""
    at = tw.arange(0, 32)
    x = tw.load(half + at).to(tw.float32) + tw.load(brain + at).to(tw.float32)
    y = x.to(tw.float64) + tw.load(wide + at) + h.to(tw.float64) + d + u.to(tw.float64) + n
    y = tw.where(flag, y, 0.0)
    tw.store(out + at, y)
    tw.store(half + at, tw.load(wide + at).to(tw.float16))
    tw.store(brain + at, tw.load(wide + at).to(tw.bfloat16))


@tw.jit
def product(a, b, c, K, N: tw.constexpr = 32, BK: tw.constexpr = 32):
    """c = a @ b of 32 rows and columns, whose operands Intel's GPUs load in blocks."""
    m, n, k = tw.arange(0, N)[:, None], tw.arange(0, N)[None, :], tw.arange(0, BK)
    total = tw.zeros((N, N), tw.float32)
    for start in range(0, K, BK):
        x = tw.load(a + m * K + start + k[None, :])
        total = tw.dot(x, tw.load(b + (start + k[:, None]) * N + n), total)
    tw.store(c + m * N + n, total)


@tw.jit
def shout(x):
    at = tw.arange(0, 4)
    tw.device_print("x =", tw.load(x + at))


@tw.jit
def transpose(x, out, ROWS: tw.constexpr, COLUMNS: tw.constexpr):
    """A tile that is larger than the registers."""
    i, j = tw.arange(0, ROWS), tw.arange(0, COLUMNS)
    base = tw.program_id(0) * ROWS * COLUMNS
    tile = tw.load(x + base + i[:, None] * COLUMNS + j[None, :])
    tw.store(out + base + j[:, None] * ROWS + i[None, :], tw.trans(tile))


@tw.jit
def center(x, out, ROWS: tw.constexpr, COLUMNS: tw.constexpr):
    """Less its columns' sums, then less its rows': a tile that is kept in temporaries."""
    i, j = tw.arange(0, ROWS), tw.arange(0, COLUMNS)
    at = tw.program_id(0) * ROWS * COLUMNS + i[:, None] * COLUMNS + j[None, :]
    tile = tw.load(x + at)
    tile = tile - tw.sum(tile, 0)[None, :]
    tw.store(out + at, tile - tw.sum(tile, 1)[:, None])


def without_prints() -> tw.Package:
    """What every target has code for."""
    package = tw.Package("kernels")
    package.add(scale, "*fp32:16, *fp32:16, i32:16", {"BLOCK": 256}, grid="cdiv(n, BLOCK)")
    package.add(scale, "*fp32, *fp32, i32", grid="cdiv(n, BLOCK)")
    package.add(
        scale,
        ["*fp32, *fp32, i32", "*fp32:overlap, *fp32:overlap, i32"],
        grid="cdiv(n, BLOCK)",
        name="scale_anywhere",
    )
    package.add(
        matmul,
        [
            "*fp32:16, *fp32:16, *fp32:16, i32, i32, i32, i32:16, i32:16, i32:16",
            "*fp32, *fp32, *fp32, i32, i32, i32, i32, i32, i32",
        ],
        {"BM": 16, "BN": 16, "BK": 16},
        shapes=[{"M": 64, "N": 64, "K": 32, "stride_a": 32, "stride_b": 64, "stride_c": 64}],
        grid="cdiv(M, BM), cdiv(N, BN)",
    )
    package.add(
        mixed, "half=*fp16, brain=*bf16, wide=*fp64, out=*fp64, h=fp16, d=fp64, flag=i1, u=u8, n=i64"
    )
    package.add(center, "*fp32, *fp32", {"ROWS": 64, "COLUMNS": 128})
    package.add(transpose, "*fp32, *fp32", {"ROWS": 64, "COLUMNS": 64})
    return package


def with_many_registers() -> tw.Package:
    """A kernel whose threads have all registers that a GPU of Intel's has, one with wide floats, and a product."""
    package = tw.Package("kernels")
    package.add(scale, "*fp32, *fp32, i32", grid="cdiv(n, BLOCK)", maxnreg=256)
    package.add(product, "*fp16:16, *fp16:16, *fp32:16, i32:16")
    types = "half=*fp16, brain=*bf16, wide=*fp64, out=*fp64, h=fp16, d=fp64, flag=i1, u=u8, n=i64"
    return package.add(mixed, types)


silent = without_prints()
large = with_many_registers()
package = without_prints().add(shout, "*i32")
