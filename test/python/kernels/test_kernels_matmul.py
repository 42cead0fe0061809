"""Matrix products and convolutions in the forms that kernels in the wild have, against torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import tilewright.triton as triton
import tilewright.triton.language as tl


def normal(rng: np.random.Generator, *shape: int, dtype: torch.dtype = torch.float32):
    return torch.from_numpy(rng.standard_normal(shape)).to(dtype)


def check(actual: torch.Tensor, expected: torch.Tensor, tolerance: float = 1e-4) -> None:
    torch.testing.assert_close(
        actual.double(), expected.double(), rtol=tolerance, atol=tolerance, equal_nan=True
    )


CONFIGS = [
    triton.Config({"BM": 16, "BN": 16, "BK": 16, "GROUP": 2}, num_warps=4, num_stages=2),
    triton.Config({"BM": 32, "BN": 16, "BK": 8, "GROUP": 1}, num_warps=2),
]


@triton.autotune(configs=CONFIGS, key=["M", "N", "K"])
@triton.heuristics({"EVEN_K": lambda args: args["K"] % args["BK"] == 0})
@triton.jit
def matmul(
    A, B, C, M, N, K,
    stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
    EVEN_K: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(axis=0)
    num_pid_m = tl.cdiv(M, BM)
    num_pid_n = tl.cdiv(N, BN)
    group = pid // (GROUP * num_pid_n)
    first = group * GROUP
    size = min(num_pid_m - first, GROUP)
    pid_m = first + ((pid % (GROUP * num_pid_n)) % size)
    pid_n = (pid % (GROUP * num_pid_n)) // size
    tl.assume(pid_m >= 0)
    offs_m = (pid_m * BM + tl.arange(0, BM)) % M
    offs_n = (pid_n * BN + tl.arange(0, BN)) % N
    offs_k = tl.arange(0, BK)
    a_ptrs = A + (offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak)
    b_ptrs = B + (offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        if EVEN_K:
            a = tl.load(a_ptrs)
            b = tl.load(b_ptrs)
        else:
            a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BK, other=0.0)
            b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BK, other=0.0)
        acc += tl.dot(a, b, allow_tf32=False)
        a_ptrs += BK * stride_ak
        b_ptrs += BK * stride_bk
    rows = pid_m * BM + tl.arange(0, BM)
    cols = pid_n * BN + tl.arange(0, BN)
    c_ptrs = C + stride_cm * rows[:, None] + stride_cn * cols[None, :]
    tl.store(c_ptrs, acc.to(C.type.element_ty), mask=(rows[:, None] < M) & (cols[None, :] < N))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("M,N,K", [(33, 47, 32), (16, 17, 21), (1, 1, 1)])
def test_grouped_autotuned_matmul(device: str, rng, dtype, M: int, N: int, K: int) -> None:
    a, b = normal(rng, M, K, dtype=dtype), normal(rng, N, K, dtype=dtype).T
    c = torch.full((M, N), 7.0, dtype=dtype)
    grid = lambda META: (triton.cdiv(M, META["BM"]) * triton.cdiv(N, META["BN"]),)  # noqa: E731
    matmul[grid](a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride())
    assert matmul.best_config in CONFIGS
    tolerance = {torch.float32: 1e-4, torch.float16: 2e-3, torch.bfloat16: 1e-2}[dtype]
    check(c, a.double() @ b.double(), tolerance)


@triton.jit
def batched_matmul(
    A, B, C, M, N, K, sab, sam, sak, sbb, sbk, sbn, scb, scm, scn,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    batch = tl.program_id(2)
    m = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    n = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    acc = tl.zeros([BM, BN], tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        a = tl.load(A + batch * sab + m * sam + k[None, :] * sak, (m < M) & (k < K)[None, :], 0.0)
        b = tl.load(B + batch * sbb + k[:, None] * sbk + n * sbn, (k < K)[:, None] & (n < N), 0.0)
        acc = tl.dot(a, b, acc=acc, input_precision="ieee")
    tl.store(C + batch * scb + m * scm + n * scn, acc, (m < M) & (n < N))


def test_batched_matmul_of_permuted_tensors(device: str, rng) -> None:
    a = normal(rng, 10, 3, 20).permute(1, 0, 2)  # [3, 10, 20]
    b = normal(rng, 18, 20, 3).permute(2, 1, 0)  # [3, 20, 18]
    c = torch.full((3, 18, 10), 5.0).transpose(1, 2)
    grid = (triton.cdiv(10, 16), triton.cdiv(18, 16), 3)
    batched_matmul[grid](
        a, b, c, 10, 18, 20, *a.stride(), *b.stride(), *c.stride(), BM=16, BN=16, BK=16
    )
    check(c, a.double() @ b.double())


@triton.jit
def rank_3_dot(A, B, C, BATCH: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    z = tl.arange(0, BATCH)[:, None, None]
    m, n = tl.arange(0, M), tl.arange(0, N)
    k = tl.arange(0, K)
    a = tl.load(A + z * M * K + m[None, :, None] * K + k[None, None, :])
    b = tl.load(B + z * K * N + k[None, :, None] * N + n[None, None, :])
    tl.store(C + z * M * N + m[None, :, None] * N + n[None, None, :], tl.dot(a, b))


def test_dot_of_rank_3(device: str, rng) -> None:
    a, b = normal(rng, 4, 16, 8), normal(rng, 4, 8, 32)
    c = torch.full((4, 16, 32), 5.0)
    rank_3_dot[(1,)](a, b, c, 4, 16, 32, 8)
    check(c, a.double() @ b.double())


@triton.jit
def split_k_matmul(A, B, C, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT: tl.constexpr):  # fmt: skip
    pid_m, pid_n, pid_k = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    m = pid_m * BM + tl.arange(0, BM)
    n = pid_n * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(pid_k * BK, K, BK * SPLIT):
        k = start + tl.arange(0, BK)
        a = tl.load(A + m[:, None] * K + k[None, :], (m < M)[:, None] & (k < K)[None, :], other=0)
        b = tl.load(B + k[:, None] * N + n[None, :], (k < K)[:, None] & (n < N)[None, :], other=0)
        acc += tl.dot(a, b)
    where = C + m[:, None] * N + n[None, :]
    inside = (m < M)[:, None] & (n < N)[None, :]
    if SPLIT == 1:
        tl.store(where, acc, mask=inside)
    else:
        tl.atomic_add(where, acc, mask=inside, sem="relaxed", scope="gpu")


@pytest.mark.parametrize("split", [1, 3])
def test_split_k_by_atomics(device: str, rng, split: int) -> None:
    a, b = normal(rng, 20, 70), normal(rng, 70, 30)
    c = torch.zeros(20, 30)
    split_k_matmul[(2, 2, split)](a, b, c, 20, 30, 70, 16, 16, 16, SPLIT=split)
    check(c, a.double() @ b.double())


@triton.jit
def int8_matmul(A, B, C, SA, SB, BIAS, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):  # fmt: skip
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    a_ptrs = A + m[:, None] * K + k[None, :]
    b_ptrs = B + n[None, :] * K + k[:, None]
    acc = tl.zeros((BM, BN), dtype=tl.int32)
    for start in range(0, K, BK):
        left = K - start
        a = tl.load(a_ptrs, mask=(m[:, None] < M) & (k[None, :] < left), other=0)
        b = tl.load(b_ptrs, mask=(n[None, :] < N) & (k[:, None] < left), other=0)
        acc += tl.dot(a, b, out_dtype=tl.int32)
        a_ptrs += BK
        b_ptrs += BK
    sa = tl.load(SA + m, mask=m < M)[:, None]
    sb = tl.load(SB + n, mask=n < N)[None, :]
    out = acc.to(tl.float32) * sa * sb + tl.load(BIAS + n, mask=n < N)[None, :]
    tl.store(C + m[:, None] * N + n[None, :], out, mask=(m[:, None] < M) & (n[None, :] < N))


def test_int8_matmul_with_scales(device: str, rng) -> None:
    M, N, K = 19, 22, 45
    a = torch.from_numpy(rng.integers(-128, 128, (M, K))).to(torch.int8)
    b = torch.from_numpy(rng.integers(-128, 128, (N, K))).to(torch.int8)
    sa, sb, bias = normal(rng, M), normal(rng, N), normal(rng, N)
    c = torch.full((M, N), 3.0, dtype=torch.float32)
    int8_matmul[(2, 2)](a, b, c, sa, sb, bias, M, N, K, BM=16, BN=16, BK=32)
    expected = (a.double() @ b.double().T) * sa.double()[:, None] * sb.double() + bias.double()
    torch.testing.assert_close(c.double(), expected, rtol=1e-5, atol=1e-2)


@triton.jit
def int4_matmul(
    X, QW, SCALES, ZEROS, Y, M, N, K,
    GROUP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    m = tl.arange(0, BM)[:, None]
    n = tl.program_id(0) * BN + tl.arange(0, BN)[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)[:, None]
        packed = tl.load(QW + (k // 8) * N + n, mask=n < N, other=0)
        w = (packed >> ((k % 8) * 4)) & 0xF
        group = k // GROUP
        scale = tl.load(SCALES + group * N + n, mask=n < N, other=0.0)
        zero = tl.load(ZEROS + group * N + n, mask=n < N, other=0)
        w = ((w - zero).to(tl.float32) * scale).to(tl.float16)
        x = tl.load(X + m * K + start + tl.arange(0, BK)[None, :], mask=m < M, other=0.0)
        acc += tl.dot(x, w)
    tl.store(Y + m * N + n, acc.to(tl.float16), mask=(m < M) & (n < N))


def test_matmul_of_int4_weights_in_groups(device: str, rng) -> None:
    M, N, K, GROUP = 5, 20, 64, 32
    w = rng.integers(0, 16, (K, N))
    packed = sum(w[i::8].astype(np.int64) << (4 * i) for i in range(8))
    packed = torch.from_numpy(packed.astype(np.uint32).view(np.int32))
    scales, zeros = normal(rng, K // GROUP, N), torch.from_numpy(rng.integers(0, 16, (2, N)))
    x = normal(rng, M, K, dtype=torch.float16)
    y = torch.full((M, N), 3.0, dtype=torch.float16)
    int4_matmul[(2,)](
        x, packed, scales, zeros.to(torch.int32), y, M, N, K, GROUP=GROUP, BM=16, BN=16, BK=16
    )
    wide = torch.from_numpy(w) - zeros.repeat_interleave(GROUP, 0)
    weights = (wide * scales.repeat_interleave(GROUP, 0).double()).half().double()
    torch.testing.assert_close(y.double(), x.double() @ weights, rtol=2e-3, atol=2e-1)


@triton.jit
def persistent_matmul(A, B, C, M, N, K, PROGRAMS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):  # fmt: skip
    tiles_n = tl.cdiv(N, BN)
    tiles = tl.cdiv(M, BM) * tiles_n
    for tile in tl.range(tl.program_id(0), tiles, PROGRAMS, flatten=True):
        m = tile // tiles_n * BM + tl.arange(0, BM)
        n = tile % tiles_n * BN + tl.arange(0, BN)
        acc = tl.full((BM, BN), 0, tl.float64)
        for ki in tl.range(tl.cdiv(K, BK), num_stages=3):
            k = ki * BK + tl.arange(0, BK)
            a = tl.load(A + m[:, None] * K + k, mask=(m < M)[:, None] & (k < K), other=0.0)
            b = tl.load(B + k[:, None] * N + n, mask=(k < K)[:, None] & (n < N), other=0.0)
            acc = tl.dot(a, b, acc, out_dtype=tl.float64)
        tl.store(C + m[:, None] * N + n, acc, mask=(m < M)[:, None] & (n < N)[None, :])


def test_persistent_matmul_in_float64(device: str, rng) -> None:
    a, b = (normal(rng, *shape, dtype=torch.float64) for shape in ((40, 35), (35, 50)))
    c = torch.full((40, 50), 5.0, dtype=torch.float64)
    persistent_matmul[(3,)](a, b, c, 40, 50, 35, PROGRAMS=3, BM=16, BN=16, BK=16)
    check(c, a @ b, 1e-12)


@triton.jit
def conv2d(
    X, W, Y, C, H, WIDTH, OH, OW, OC, stride, padding,
    KH: tl.constexpr, KW: tl.constexpr, BP: tl.constexpr, BC: tl.constexpr, BO: tl.constexpr,
):  # fmt: skip
    n = tl.program_id(2)
    p = tl.program_id(0) * BP + tl.arange(0, BP)
    o = tl.program_id(1) * BO + tl.arange(0, BO)
    oh, ow = p // OW, p % OW
    acc = tl.zeros((BP, BO), dtype=tl.float32)
    for kh in tl.static_range(KH):
        for kw in tl.static_range(KW):
            ih = oh * stride - padding + kh
            iw = ow * stride - padding + kw
            inside = (ih >= 0) & (ih < H) & (iw >= 0) & (iw < WIDTH) & (p < OH * OW)
            for start in range(0, C, BC):
                c = start + tl.arange(0, BC)
                x = tl.load(
                    X + ((n * C + c[None, :]) * H + ih[:, None]) * WIDTH + iw[:, None],
                    mask=inside[:, None] & (c < C)[None, :], other=0.0,
                )  # fmt: skip
                w = tl.load(
                    W + ((o[None, :] * C + c[:, None]) * KH + kh) * KW + kw,
                    mask=(o < OC)[None, :] & (c < C)[:, None], other=0.0,
                )  # fmt: skip
                acc += tl.dot(x, w)
    at = (n * OC + o[None, :]) * (OH * OW) + p[:, None]
    tl.store(Y + at, acc, mask=(p < OH * OW)[:, None] & (o < OC)[None, :])


@pytest.mark.parametrize("stride,padding", [(1, 1), (2, 0)])
def test_convolution_by_loops(device: str, rng, stride: int, padding: int) -> None:
    x, w = normal(rng, 2, 5, 9, 8), normal(rng, 6, 5, 3, 3)
    expected = torch.nn.functional.conv2d(x.double(), w.double(), stride=stride, padding=padding)
    y = torch.full(expected.shape, 5.0)
    oh, ow = y.shape[2:]
    grid = (triton.cdiv(oh * ow, 16), 1, 2)
    conv2d[grid](x, w, y, 5, 9, 8, oh, ow, 6, stride, padding, KH=3, KW=3, BP=16, BC=16, BO=16)
    check(y, expected)


@triton.jit
def causal_conv1d(X, W, Y, T, D, WIDTH: tl.constexpr, BD: tl.constexpr, BT: tl.constexpr):
    d = tl.program_id(0) * BD + tl.arange(0, BD)
    t = tl.program_id(1) * BT + tl.arange(0, BT)
    acc = tl.zeros((BT, BD), tl.float32)
    for i in tl.static_range(WIDTH):
        at = t[:, None] - (WIDTH - 1 - i)
        x = tl.load(X + at * D + d[None, :], (at >= 0) & (at < T) & (d[None, :] < D), 0.0)
        acc += x * tl.load(W + d * WIDTH + i, d < D)[None, :]
    tl.store(Y + t[:, None] * D + d[None, :], acc, (t[:, None] < T) & (d[None, :] < D))


def test_causal_depthwise_convolution(device: str, rng) -> None:
    x, w = normal(rng, 21, 10), normal(rng, 10, 4)
    y = torch.full((21, 10), 5.0)
    causal_conv1d[(2, 3)](x, w, y, 21, 10, WIDTH=4, BD=8, BT=8)
    padded = torch.nn.functional.pad(x.double().T[None], (3, 0))
    expected = torch.nn.functional.conv1d(padded, w.double()[:, None], groups=10)
    check(y, expected[0].T)


@triton.jit
def attention(
    Q, K, V, OUT, scale, T,
    CAUSAL: tl.constexpr, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    start_m, head = tl.program_id(0), tl.program_id(1)
    Q += head * T * D
    K += head * T * D
    V += head * T * D
    m = start_m * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    q = tl.load(Q + m[:, None] * D + d[None, :], mask=m[:, None] < T, other=0.0)
    m_i = tl.zeros([BM], dtype=tl.float32) - float("inf")
    l_i = tl.zeros([BM], dtype=tl.float32) + 1.0
    acc = tl.zeros([BM, D], dtype=tl.float32)
    lo, hi = 0, min((start_m + 1) * BM, T) if CAUSAL else T
    for start in range(lo, hi, BN):
        start = tl.multiple_of(start, BN)
        n = start + tl.arange(0, BN)
        k = tl.load(K + n[None, :] * D + d[:, None], mask=n[None, :] < T, other=0.0)
        qk = tl.dot(q, k) * scale
        valid = n[None, :] < T
        if CAUSAL:
            valid = valid & (m[:, None] >= n[None, :])
        qk = tl.where(valid, qk, -1.0e6)
        m_ij = tl.maximum(m_i, tl.max(qk, 1))
        p = tl.math.exp(qk - m_ij[:, None])
        alpha = tl.math.exp(m_i - m_ij)
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]
        v = tl.load(V + n[:, None] * D + d[None, :], mask=n[:, None] < T, other=0.0)
        acc = tl.dot(p.to(v.dtype), v, acc)
        m_i = m_ij
    acc = acc / l_i[:, None]
    tl.store(OUT + head * T * D + m[:, None] * D + d[None, :], acc, mask=m[:, None] < T)


@pytest.mark.parametrize("causal", [False, True])
def test_attention(device: str, rng, causal: bool) -> None:
    q, k, v = (normal(rng, 2, 37, 16) for _ in range(3))
    out = torch.full((2, 37, 16), 5.0)
    attention[(triton.cdiv(37, 16), 2)](q, k, v, out, 0.25, 37, causal, D=16, BM=16, BN=16)
    expected = torch.nn.functional.scaled_dot_product_attention(
        q.double(), k.double(), v.double(), is_causal=causal, scale=0.25
    )
    check(out, expected)


@triton.jit
def moe_tokens(
    X, W, OUT, token_ids, expert_of_tile, num_tokens, topk, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    tile = tl.program_id(0)
    expert = tl.load(expert_of_tile + tile)
    if expert == -1:
        return
    ids = tl.load(token_ids + tile * BM + tl.arange(0, BM))
    real = ids < num_tokens * topk
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        x = tl.load(X + (ids[:, None] // topk) * K + k, mask=real[:, None] & (k < K), other=0.0)
        w = tl.load(W + (expert * N + n[None, :]) * K + k[:, None], mask=(k < K)[:, None] & (n < N), other=0.0)  # fmt: skip
        acc += tl.dot(x, w)
    tl.store(OUT + ids[:, None] * N + n, acc, mask=real[:, None] & (n < N))


def test_mixture_of_experts_by_sorted_tokens(device: str, rng) -> None:
    tokens, topk, experts, N, K, BM = 7, 2, 3, 20, 24, 8
    x, w = normal(rng, tokens, K), normal(rng, experts, N, K)
    chosen = torch.from_numpy(np.stack([rng.permutation(experts)[:topk] for _ in range(tokens)]))
    ids, tiles = [], []
    for e in range(experts):
        mine = (chosen.flatten() == e).nonzero().flatten().tolist()
        while len(mine) % BM:
            mine.append(tokens * topk)
        ids += mine
        tiles += [e] * (len(mine) // BM)
    tiles.append(-1)
    out = torch.full((tokens * topk, N), 5.0)
    moe_tokens[(len(tiles), 2)](
        x, w, out, torch.tensor(ids, dtype=torch.int32), torch.tensor(tiles, dtype=torch.int32),
        tokens, topk, N, K, BM=BM, BN=16, BK=16,
    )  # fmt: skip
    expected = torch.einsum("tk,tjnk->tjn", x.double(), w.double()[chosen])
    check(out, expected.reshape(-1, N))
