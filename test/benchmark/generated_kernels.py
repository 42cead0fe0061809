"""The kernels whose machine code is compared, one source for both languages (see assembly/generated_side.py)."""

import os

if os.environ.get("BENCHMARK_LANGUAGE") == "triton":
    import triton.language as tl
    from triton import jit
else:
    import tilewright as tl
    from tilewright import jit


@jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    tl.store(out + i, tl.load(x + i, mask=inside) + tl.load(y + i, mask=inside), mask=inside)


@jit
def softmax(out, x, row_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    value = tl.load(x + row * row_stride + c, mask=c < columns, other=-float("inf"))
    value = tl.exp(value - tl.max(value, axis=0))
    tl.store(out + row * row_stride + c, value / tl.sum(value, axis=0), mask=c < columns)


@jit
def layer_norm(out, x, weight, bias, means, scales, row_stride, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x += row * row_stride
    out += row * row_stride
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, columns, BLOCK):
        c = start + tl.arange(0, BLOCK)
        total += tl.load(x + c, mask=c < columns, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / columns
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, columns, BLOCK):
        c = start + tl.arange(0, BLOCK)
        value = tl.load(x + c, mask=c < columns, other=0.0).to(tl.float32)
        value = tl.where(c < columns, value - mean, 0.0)
        squares += value * value
    scale = 1.0 / tl.sqrt(tl.sum(squares, axis=0) / columns + eps)
    tl.store(means + row, mean)
    tl.store(scales + row, scale)
    for start in range(0, columns, BLOCK):
        c = start + tl.arange(0, BLOCK)
        inside = c < columns
        value = tl.load(x + c, mask=inside, other=0.0).to(tl.float32)
        w = tl.load(weight + c, mask=inside)
        b = tl.load(bias + c, mask=inside)
        tl.store(out + c, (value - mean) * scale * w + b, mask=inside)


@jit
def rms_norm(out, x, weight, scales, row_stride, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    inside = c < columns
    value = tl.load(x + row * row_stride + c, mask=inside, other=0.0).to(tl.float32)
    scale = 1.0 / tl.sqrt(tl.sum(value * value, axis=0) / columns + eps)
    tl.store(scales + row, scale)
    w = tl.load(weight + c, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + row * row_stride + c, (value * scale * w).to(tl.bfloat16), mask=inside)


@jit
def rms_norm_backward(out, gradients, x, weight, scales, row_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    inside = c < columns
    gradient = tl.load(gradients + row * row_stride + c, mask=inside, other=0.0).to(tl.float32)
    value = tl.load(x + row * row_stride + c, mask=inside, other=0.0).to(tl.float32)
    gradient *= tl.load(weight + c, mask=inside, other=0.0).to(tl.float32)
    scale = tl.load(scales + row)
    value *= scale
    part = tl.sum(value * gradient, axis=0) / columns
    tl.store(out + row * row_stride + c, ((gradient - value * part) * scale).to(tl.bfloat16), mask=inside)


@jit
def matmul(
    a, b, c, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
    MOST: tl.constexpr = None,
):  # fmt: skip
    pid = tl.program_id(0)
    tiles_m, tiles_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    per_group = GROUP * tiles_n
    first_m = (pid // per_group) * GROUP
    rows = min(tiles_m - first_m, GROUP)
    tile_m = first_m + (pid % per_group) % rows
    tile_n = (pid % per_group) // rows
    tl.assume(tile_m >= 0)
    tl.assume(tile_n >= 0)
    # Rows beyond the end read others again: their products are not stored.
    m = (tile_m * BM + tl.arange(0, BM)) % M
    n = (tile_n * BN + tl.arange(0, BN)) % N
    k = tl.arange(0, BK)
    a_at = a + m[:, None] * stride_am + k[None, :] * stride_ak
    b_at = b + k[:, None] * stride_bk + n[None, :] * stride_bn
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, tl.cdiv(K, BK)):
        left = K - start * BK
        x = tl.load(a_at, mask=k[None, :] < left, other=0.0)
        y = tl.load(b_at, mask=k[:, None] < left, other=0.0)
        acc = tl.dot(x, y, acc, max_num_imprecise_acc=MOST)
        a_at += BK * stride_ak
        b_at += BK * stride_bk
    m = tile_m * BM + tl.arange(0, BM)
    n = tile_n * BN + tl.arange(0, BN)
    inside = (m[:, None] < M) & (n[None, :] < N)
    tl.store(c + m[:, None] * stride_cm + n[None, :] * stride_cn, acc.to(c.dtype.element_ty), mask=inside)


@jit
def attention(
    q, k, v, out, scale, head_stride, row_stride, length,
    BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    tile = tl.program_id(0)
    base = tl.program_id(1).to(tl.int64) * head_stride
    m = tile * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    rows = m[:, None] * row_stride + d[None, :]
    query = tl.load(q + base + rows, mask=m[:, None] < length, other=0.0)
    peak = tl.full([BM], -float("inf"), tl.float32)
    norm = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    end = length
    if CAUSAL:
        end = tl.minimum((tile + 1) * BM, length)
    for start in range(0, end, BN):
        n = start + tl.arange(0, BN)
        inside = n < length
        key = tl.load(k + base + n[None, :] * row_stride + d[:, None], mask=inside[None, :], other=0.0)
        score = tl.dot(query, key)
        score = tl.where(inside[None, :], score, -float("inf"))
        if CAUSAL:
            score = tl.where(m[:, None] >= n[None, :], score, -float("inf"))
        new_peak = tl.maximum(peak, tl.max(score, 1) * scale)
        p = tl.exp2(score * scale - new_peak[:, None])
        shrink = tl.exp2(peak - new_peak)
        norm = norm * shrink + tl.sum(p, 1)
        value = tl.load(v + base + n[:, None] * row_stride + d[None, :], mask=inside[:, None], other=0.0)
        acc = tl.dot(p.to(tl.float16), value, acc * shrink[:, None])
        peak = new_peak
    tl.store(out + base + rows, (acc / norm[:, None]).to(tl.float16), mask=m[:, None] < length)


@jit
def matmul_mxfp8(a, a_scale, b, b_scale, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k, group = tl.arange(0, BK), tl.arange(0, BK // 32)
    a += m[:, None] * K + k[None, :]
    b += n[None, :] * K + k[:, None]
    a_scale += m[:, None] * (K // 32) + group[None, :]
    b_scale += n[:, None] * (K // 32) + group[None, :]
    acc = tl.zeros([BM, BN], tl.float32)
    for _ in range(0, K, BK):
        acc = tl.dot_scaled(tl.load(a), tl.load(a_scale), "e4m3", tl.load(b), tl.load(b_scale), "e4m3", acc)
        a += BK
        b += BK
        a_scale += BK // 32
        b_scale += BK // 32
    tl.store(c + m[:, None] * N + n[None, :], acc)


@jit
def unrolled(out, x, n, step, PARTS: tl.constexpr, SIZE: tl.constexpr):
    r = tl.arange(0, SIZE)[:, None]
    c = tl.arange(0, SIZE)[None, :]
    acc = tl.zeros([SIZE, SIZE], tl.float32)
    for part in tl.static_range(PARTS):
        inside = (r < n) & (c + part < n)
        acc += tl.load(x + part * 4096 + r * step + c * step, mask=inside, other=0.0)
    tl.store(out + r * SIZE + c, acc)


# name -> signature (":16": divisible by 16; 1: equal to it) of the parameters before the constants
SIGNATURES = {
    "add": "*fp32:16 *fp32:16 *fp32:16 i32:16",
    "softmax": "*fp32:16 *fp32:16 i32:16 i32:16",
    "layer_norm": "*fp16:16 *fp16:16 *fp16:16 *fp16:16 *fp32:16 *fp32:16 i32:16 i32:16 fp32",
    "rms_norm": "*bf16:16 *bf16:16 *bf16:16 *fp32:16 i32:16 i32:16 fp32",
    "rms_norm_backward": "*bf16:16 *bf16:16 *bf16:16 *bf16:16 *fp32:16 i32:16 i32:16",
    "matmul": "*fp16:16 *fp16:16 *fp16:16 i32:16 i32:16 i32:16 i32:16 i32:1 i32:16 i32:1 i32:16 i32:1",
    "attention": "*fp16:16 *fp16:16 *fp16:16 *fp16:16 fp32 i32:16 i32:16 i32:16",
    "unrolled": "*fp32:16 *fp32:16 i32 i32",
    "matmul_mxfp8": "*fp8e4nv:16 *u8:16 *fp8e4nv:16 *u8:16 *fp32:16 i32:16 i32:16",
}
AMD_ONLY = ("rms_norm", "rms_norm_backward", "matmul_mxfp8")  # compared for AMD's GPUs alone
ROW = {"BLOCK": 1024}
CONSTANTS = {
    "add": ROW,
    "softmax": ROW,
    "layer_norm": ROW,
    "rms_norm": {"BLOCK": 2048},
    "rms_norm_backward": {"BLOCK": 2048},
    "matmul": {"BM": 128, "BN": 128, "BK": 32, "GROUP": 8, "MOST": None},
    "attention": {"BM": 128, "BN": 64, "D": 64, "CAUSAL": True},
    "unrolled": {"PARTS": 64, "SIZE": 32},
    "matmul_mxfp8": {"BM": 128, "BN": 128, "BK": 128},
}
NUM_WARPS = 4
NUM_STAGES = {"matmul": 4}  # others: 3
