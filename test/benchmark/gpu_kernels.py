"""Kernels that are timed on a GPU, one source for both languages; generated_kernels.py has more.

BENCHMARK_LANGUAGE chooses the language when this is read (see gpu_languages.py).
"""

import os

if os.environ.get("BENCHMARK_LANGUAGE") == "triton":
    import triton.language as tl
    from triton import jit
else:
    import tilewright as tl
    from tilewright import jit


@jit
def copy(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n), mask=i < n)


@jit
def matmul_of(
    a, b, c, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
    IS_INTEGER: tl.constexpr,
):  # fmt: skip
    """Any element types: sums in 32 bits, the result in that of c; fp32 is multiplied as tf32."""
    pid = tl.program_id(0)
    tiles_m, tiles_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    per_group = GROUP * tiles_n
    first_m = (pid // per_group) * GROUP
    rows = min(tiles_m - first_m, GROUP)
    tile_m = first_m + (pid % per_group) % rows
    tile_n = (pid % per_group) // rows
    tl.assume(tile_m >= 0)
    tl.assume(tile_n >= 0)
    m = (tile_m * BM + tl.arange(0, BM)) % M
    n = (tile_n * BN + tl.arange(0, BN)) % N
    k = tl.arange(0, BK)
    a_at = a + m[:, None] * stride_am + k[None, :] * stride_ak
    b_at = b + k[:, None] * stride_bk + n[None, :] * stride_bn
    acc = tl.zeros((BM, BN), dtype=tl.int32 if IS_INTEGER else tl.float32)
    for start in range(0, tl.cdiv(K, BK)):
        left = K - start * BK
        x = tl.load(a_at, mask=k[None, :] < left, other=0.0)
        y = tl.load(b_at, mask=k[:, None] < left, other=0.0)
        if IS_INTEGER:
            acc = tl.dot(x, y, acc, out_dtype=tl.int32)
        else:
            acc = tl.dot(x, y, acc, input_precision="tf32")
        a_at += BK * stride_ak
        b_at += BK * stride_bk
    m = tile_m * BM + tl.arange(0, BM)
    n = tile_n * BN + tl.arange(0, BN)
    inside = (m[:, None] < M) & (n[None, :] < N)
    at = c + m[:, None] * stride_cm + n[None, :] * stride_cn
    tl.store(at, acc.to(c.dtype.element_ty), mask=inside)


@jit
def attend(
    query, k, v, acc, norm, peak, m, begin, end, scale, row_stride,
    BN: tl.constexpr, D: tl.constexpr, IS_MASKED: tl.constexpr,
):  # fmt: skip
    """One pass of the online softmax over keys begin to end, which are whole tiles."""
    d = tl.arange(0, D)
    for start in range(begin, end, BN):
        n = start + tl.arange(0, BN)
        score = tl.dot(query, tl.load(k + n[None, :] * row_stride + d[:, None]))
        if IS_MASKED:
            score = tl.where(m[:, None] >= n[None, :], score, -1.0e6)
        new_peak = tl.maximum(peak, tl.max(score, 1) * scale)
        p = tl.exp2(score * scale - new_peak[:, None])
        shrink = tl.exp2(peak - new_peak)
        norm = norm * shrink + tl.sum(p, 1)
        value = tl.load(v + n[:, None] * row_stride + d[None, :])
        acc = tl.dot(p.to(tl.float16), value, acc * shrink[:, None])
        peak = new_peak
    return acc, norm, peak


@jit
def attention_in_two_loops(
    q, k, v, out, scale, head_stride, row_stride, length,
    BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    """Attention over a multiple of the tiles, its causal mask in a loop of its own over the tiles
    on the diagonal: the schedule of Triton's tutorial on fused attention."""
    tile = tl.program_id(0)
    base = tl.program_id(1).to(tl.int64) * head_stride
    m = tile * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    rows = m[:, None] * row_stride + d[None, :]
    query = tl.load(q + base + rows)
    peak = tl.full([BM], -float("inf"), tl.float32)
    norm = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    if CAUSAL:
        acc, norm, peak = attend(
            query, k + base, v + base, acc, norm, peak, m, 0, tile * BM, scale, row_stride,
            BN, D, False,
        )
        acc, norm, peak = attend(
            query, k + base, v + base, acc, norm, peak, m, tile * BM, (tile + 1) * BM, scale,
            row_stride, BN, D, True,
        )
    else:
        acc, norm, peak = attend(
            query, k + base, v + base, acc, norm, peak, m, 0, length, scale, row_stride,
            BN, D, False,
        )
    tl.store(out + base + rows, (acc / norm[:, None]).to(tl.float16))
