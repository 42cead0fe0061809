"""Kernels that work on rows of a matrix, as models use them, against torch in float64."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import tilewright.triton as triton
import tilewright.triton.language as tl


def normal(rng: np.random.Generator, *shape: int, dtype: torch.dtype = torch.float32):
    return torch.from_numpy(rng.standard_normal(shape)).to(dtype)


def check(actual: torch.Tensor, expected: torch.Tensor, tolerance: float = 2e-5) -> None:
    torch.testing.assert_close(
        actual.double(), expected.double(), rtol=tolerance, atol=tolerance, equal_nan=True
    )


@triton.jit
def cross_entropy_forward(
    loss_ptr, lse_ptr, logits_ptr, labels_ptr, smoothing, ignore_index, V,
    stride: tl.int64, HAS_SMOOTHING: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0)
    label = tl.load(labels_ptr + row)
    if label == ignore_index:
        tl.store(loss_ptr + row, 0.0)
        tl.store(lse_ptr + row, 0.0)
        return
    logits_ptr += row * stride
    m = -float("inf")
    d = 0.0
    total = 0.0
    for start in range(0, V, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(logits_ptr + cols, mask=cols < V, other=-float("inf")).to(tl.float32)
        new_m = tl.maximum(m, tl.max(x))
        d = d * tl.exp(m - new_m) + tl.sum(tl.exp(x - new_m))
        if HAS_SMOOTHING:
            total += tl.sum(tl.where(cols < V, x, 0.0))
        m = new_m
    lse = m + tl.log(d)
    loss = lse - tl.load(logits_ptr + label).cast(tl.float32)
    if HAS_SMOOTHING:
        loss = (1 - smoothing) * loss + smoothing * (lse - total / V)
    tl.store(loss_ptr + row, loss)
    tl.store(lse_ptr + row, lse)


@triton.jit
def cross_entropy_backward(
    grad_ptr, dloss_ptr, logits_ptr, lse_ptr, labels_ptr, ignore_index, V, stride,
    BLOCK: tl.constexpr,
):  # fmt: skip
    row, part = tl.program_id(0), tl.program_id(1)
    cols = part * BLOCK + tl.arange(0, BLOCK)
    label = tl.load(labels_ptr + row)
    if label != ignore_index:
        dloss = tl.load(dloss_ptr + row)
    else:
        dloss = 0.0
    x = tl.load(logits_ptr + row * stride + cols, mask=cols < V, other=-float("inf"))
    p = tl.exp(x.to(tl.float32) - tl.load(lse_ptr + row))
    p = tl.where(cols == label, p - 1.0, p)
    tl.store(grad_ptr + row * stride + cols, dloss * p, mask=cols < V)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_cross_entropy(device: str, rng, dtype: torch.dtype, smoothing: float) -> None:
    rows, V = 5, 77
    logits = normal(rng, rows, V, dtype=dtype)
    labels = torch.from_numpy(rng.integers(0, V, rows))
    labels[2] = -100
    loss, lse = torch.full((rows,), 9.0), torch.full((rows,), 9.0)
    cross_entropy_forward[(rows,)](
        loss, lse, logits, labels, smoothing, -100, V, logits.stride(0), smoothing > 0.0, BLOCK=32
    )
    exact = logits.double().requires_grad_()
    expected = torch.nn.functional.cross_entropy(
        exact, labels, reduction="none", label_smoothing=smoothing
    )
    check(loss, expected.detach())
    if smoothing:
        return
    dloss = normal(rng, rows)
    grad = torch.full_like(logits, 7.0)
    grid = (rows, triton.cdiv(V, 32))
    cross_entropy_backward[grid](
        grad, dloss, logits, lse, labels, -100, V, logits.stride(0), BLOCK=32
    )
    expected.backward(dloss.double())
    check(grad, exact.grad, 1e-5 if dtype == torch.float32 else 1e-2)


@triton.jit
def rms_norm(
    Y, X, W, RSTD, stride_y, stride_x, N, eps,
    HAS_WEIGHT: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    X += row * stride_x
    Y += row * stride_y
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for off in tl.range(0, N, BLOCK, num_stages=2):
        cols = off + tl.arange(0, BLOCK)
        x = tl.load(X + cols, mask=cols < N, other=0.0, eviction_policy="evict_last")
        squares += x.to(tl.float32) * x.to(tl.float32)
    rstd = tl.rsqrt(tl.sum(squares, axis=0) / N + eps)
    tl.store(RSTD + row, rstd)
    for off in range(0, N, BLOCK):
        cols = off + tl.arange(0, BLOCK)
        mask = cols < N
        x = tl.load(X + cols, mask=mask, other=0.0, eviction_policy="evict_first").to(tl.float32)
        y = x * rstd
        if HAS_WEIGHT:
            y *= tl.load(W + cols, mask=mask)
        tl.store(Y + cols, y, mask=mask)


@pytest.mark.parametrize("has_weight", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_rms_norm(device: str, rng, has_weight: bool, dtype: torch.dtype) -> None:
    x = normal(rng, 4, 150, dtype=dtype)[:, 10:110]
    w = normal(rng, 100) if has_weight else None
    y, rstd = torch.full((4, 100), 5.0, dtype=dtype), torch.empty(4)
    rms_norm[4,](y, x, w, rstd, y.stride(0), x.stride(0), 100, 1e-5, w is not None, BLOCK=64)
    exact = x.double()
    expected_rstd = torch.rsqrt(exact.square().mean(1) + 1e-5)
    check(rstd, expected_rstd)
    expected = exact * expected_rstd[:, None] * (1 if w is None else w.double())
    check(y, expected, 2e-5 if dtype == torch.float32 else 2e-3)


@triton.jit
def rotary(
    Q, COS, SIN, seq_len, num_heads, stride_b, stride_s, stride_h,
    HALF: tl.constexpr, BACKWARD: tl.constexpr, INTERLEAVED: tl.constexpr = False,
):  # fmt: skip
    position = tl.program_id(0) % seq_len
    batch = tl.program_id(0) // seq_len
    pair = tl.arange(0, HALF)
    cos = tl.load(COS + position * HALF + pair)[None, :]
    sin = tl.load(SIN + position * HALF + pair)[None, :]
    if BACKWARD:
        sin = -sin
    for head in range(num_heads):
        base = Q + batch * stride_b + position * stride_s + head * stride_h
        if INTERLEAVED:
            both = tl.load(base + tl.arange(0, 2 * HALF)).reshape(1, HALF, 2)
            first, second = tl.split(both)
            new = tl.join(first * cos - second * sin, second * cos + first * sin)
            tl.store(base + tl.arange(0, 2 * HALF), tl.reshape(new, (2 * HALF,)))
        else:
            low = base + pair[None, :]
            first, second = tl.load(low), tl.load(low + HALF)
            tl.store(low, first * cos - second * sin)
            tl.store(low + HALF, second * cos + first * sin)


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("backward", [False, True])
def test_rotary_embedding(device: str, rng, interleaved: bool, backward: bool) -> None:
    B, S, H, D = 2, 3, 2, 16
    q = normal(rng, B, S, H, D)
    angle = torch.from_numpy(rng.uniform(0, 6, (S, D // 2)))
    cos, sin = angle.cos(), angle.sin()
    exact = q.double()
    if interleaved:
        a, b = exact[..., 0::2], exact[..., 1::2]
    else:
        a, b = exact[..., : D // 2], exact[..., D // 2 :]
    c, s = cos[None, :, None], (-sin if backward else sin)[None, :, None]
    parts = a * c - b * s, b * c + a * s
    expected = torch.stack(parts, -1).flatten(-2) if interleaved else torch.cat(parts, -1)
    rotary[(B * S,)](
        q, cos.float(), sin.float(), S, H, *q.stride()[:3],
        HALF=D // 2, BACKWARD=backward, INTERLEAVED=interleaved,
    )  # fmt: skip
    check(q, expected)


@triton.jit
def online_softmax(out, x, stride, N, LOG: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    m = tl.full((), float("-inf"), tl.float32)
    s = tl.zeros((), tl.float32)
    for i in range(tl.cdiv(N, BLOCK)):
        cols = i * BLOCK + tl.arange(0, BLOCK)
        v = tl.load(x + row * stride + cols, cols < N, -float("inf")).to(tl.float32)
        new = tl.maximum(m, tl.max(v, 0))
        s = s * tl.exp2((m - new) * 1.44269504) + tl.sum(tl.exp2((v - new) * 1.44269504), 0)
        m = new
    for i in range(tl.cdiv(N, BLOCK) - 1, -1, -1):
        cols = i * BLOCK + tl.arange(0, BLOCK)
        v = tl.load(x + row * stride + cols, cols < N, -float("inf")).to(tl.float32)
        y = v - m - tl.log(s) if LOG else tl.exp(v - m) / s
        tl.store(out + row * stride + cols, y.to(out.dtype.element_ty), cols < N)


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_softmax_of_rows_longer_than_a_tile(device: str, rng, log: bool, dtype) -> None:
    x = normal(rng, 3, 100, dtype=dtype)
    x[1, 40:] = -float("inf")
    out = torch.full_like(x, 3.0)
    online_softmax[(3,)](out, x, x.stride(0), 100, LOG=log, BLOCK=16)
    expected = torch.log_softmax(x.double(), 1) if log else torch.softmax(x.double(), 1)
    check(out, expected, {torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 1e-2}[dtype])


@triton.jit
def welford_combine(mean_a, m2_a, count_a, mean_b, m2_b, count_b):
    delta = mean_b - mean_a
    count = count_a + count_b
    share = tl.where(count == 0.0, 0.0, count_b / count)
    return mean_a + delta * share, m2_a + m2_b + delta * delta * count_a * share, count


@triton.jit
def welford_layer_norm(Y, X, W, B, MEAN, VAR, N, eps, BLOCK: tl.constexpr, ROWS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    mean = tl.zeros((ROWS, BLOCK), tl.float32)
    m2 = tl.zeros_like(mean)
    count = tl.zeros_like(mean)
    for off in range(0, N, BLOCK):
        cols = (off + tl.arange(0, BLOCK))[None, :]
        mask = tl.broadcast_to(cols < N, (ROWS, BLOCK))
        x = tl.load(X + rows * N + cols, mask=mask, other=0.0)
        new_count = count + 1.0
        delta = x - mean
        new_mean = mean + delta / new_count
        new_m2 = m2 + delta * (x - new_mean)
        mean = tl.where(mask, new_mean, mean)
        m2 = tl.where(mask, new_m2, m2)
        count = tl.where(mask, new_count, count)
    mean, m2, count = tl.reduce((mean, m2, count), 1, welford_combine)
    mean, var = mean[:, None], (m2 / count)[:, None]
    tl.store(MEAN + rows, mean)
    tl.store(VAR + rows, var)
    for off in range(0, N, BLOCK):
        cols = off + tl.arange(0, BLOCK)[None, :]
        mask = cols < N
        w = tl.load(W + cols, mask=mask, other=1.0)
        b = tl.load(B + cols, mask=mask, other=0.0)
        x = tl.load(X + rows * N + cols, mask=mask)
        tl.store(Y + rows * N + cols, (x - mean) * tl.rsqrt(var + eps) * w + b, mask=mask)


def test_layer_norm_by_welford_on_tuples(device: str, rng) -> None:
    x = normal(rng, 4, 37) * 3 + 100
    w, b = normal(rng, 37), normal(rng, 37)
    y, mean, var = torch.full((4, 37), 7.0), torch.empty(4), torch.empty(4)
    welford_layer_norm[(2,)](y, x, w, b, mean, var, 37, 1e-5, BLOCK=16, ROWS=2)
    exact = x.double()
    check(mean, exact.mean(1), 1e-6)
    check(var, exact.var(1, correction=0), 1e-5)
    check(y, torch.nn.functional.layer_norm(exact, (37,), w.double(), b.double()), 2e-4)


@triton.jit
def quantize_rows(Q, S, X, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(X + row * N + cols, mask=cols < N, other=0).to(tl.float32)
    top = tl.maximum(tl.max(tl.abs(x)), 1e-8)
    scale = top / 127.0
    q = tl.clamp(tl.extra.cuda.libdevice.rint(x / scale), -127.0, 127.0)
    tl.store(Q + row * N + cols, q.to(tl.int8), mask=cols < N)
    tl.store(S + row, scale)


@triton.jit
def dequantize_rows(X, Q, S, N, BLOCK: tl.constexpr):
    row = tl.program_id(axis=0)
    cols = tl.arange(0, BLOCK)
    q = tl.load(Q + row * N + cols, mask=cols < N)
    tl.store(X + row * N + cols, q * tl.load(S + row), mask=cols < N)


def test_quantization_per_row(device: str, rng) -> None:
    x = normal(rng, 6, 50)
    x[3] = 0
    q = torch.full((6, 50), 99, dtype=torch.int8)
    scale, back = torch.empty(6), torch.empty(6, 50)
    quantize_rows[(6,)](q, scale, x, 50, BLOCK=64)
    dequantize_rows[(6,)](back, q, scale, 50, BLOCK=64)
    expected = x.abs().amax(1).clamp(min=1e-8) / 127
    check(scale, expected)
    assert (q.double() - x.double() / expected.double()[:, None]).abs().max() < 0.5001
    assert ((back - x).abs() <= expected[:, None] * 0.501).all()


@triton.jit
def gelu_tanh(x):
    inner = 0.7978845608028654 * (x + 0.044715 * x * x * x)
    return 0.5 * x * (1 + 2 * tl.sigmoid(2 * inner) - 1)


@triton.jit
def silu(x):
    return x * tl.sigmoid(x.to(tl.float32)).to(x.dtype)


@triton.jit
def bias_activation(
    Y, X, BIAS, N, total, ACT: tl.constexpr, KIND: tl.constexpr, BLOCK: tl.constexpr
):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < total
    x = tl.load(X + i, mask) + tl.load(BIAS + i % N, mask)
    if KIND == "named":
        y = ACT(x)
    elif KIND in ("relu", "relu6"):
        y = tl.maximum(x, 0)
        if KIND == "relu6":
            y = tl.minimum(y, 6.0)
    else:
        tl.static_assert(KIND is None, f"unknown activation {KIND}")
        y = x
    tl.store(Y + i, y, mask)


@pytest.mark.parametrize(
    "act,kind,function",
    [
        (gelu_tanh, "named", lambda x: torch.nn.functional.gelu(x, approximate="tanh")),
        (silu, "named", torch.nn.functional.silu),
        (None, "relu", torch.relu),
        (None, "relu6", torch.nn.functional.relu6),
        (None, None, lambda x: x),
    ],
)
def test_bias_and_activation(device: str, rng, act, kind, function) -> None:
    x, bias = normal(rng, 7, 33) * 4, normal(rng, 33)
    y = torch.full_like(x, 8.0)

    def grid(meta):
        return (triton.cdiv(x.numel(), meta["BLOCK"]),)

    bias_activation[grid](y, x, bias, 33, x.numel(), ACT=act, KIND=kind, BLOCK=64)
    check(y, function(x.double() + bias.double()))


@triton.jit
def seeded_dropout(out, x, n, p, seed, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    keep = tl.rand(seed, offsets) > p
    value = tl.load(x + offsets, mask=mask)
    tl.store(out + offsets, tl.where(keep, value / (1 - p), 0.0), mask=mask)


def test_dropout_is_repeatable_and_scaled(device: str, rng) -> None:
    x = normal(rng, 1000)
    first, second, other = (torch.full((1000,), 9.0) for _ in range(3))
    for out, seed in ((first, 123), (second, 123), (other, 512)):
        seeded_dropout[(8,)](out, x, 1000, 0.25, seed, BLOCK=128)
    assert torch.equal(first, second) and not torch.equal(first, other)
    kept = first != 0
    assert 0.65 < kept.double().mean() < 0.85
    check(first[kept], (x.double() / 0.75)[kept], 1e-6)


@triton.jit
def group_norm_nhwc(Y, X, C, HW, eps, GROUP: tl.constexpr, PIXELS: tl.constexpr):
    n, g = tl.program_id(0), tl.program_id(1)
    c = g * GROUP + tl.arange(0, GROUP)
    p = tl.arange(0, PIXELS)
    offsets = n * HW * C + p[:, None] * C + c[None, :]
    mask = (p < HW)[:, None] & (c < C)[None, :]
    x = tl.load(X + offsets, mask, 0.0)
    count = HW * GROUP
    mean = tl.sum(x) / count
    centered = tl.where(mask, x - mean, 0.0)
    var = tl.sum(centered * centered) / count
    tl.store(Y + offsets, centered / tl.sqrt(var + eps), mask)


def test_group_norm_reduces_both_axes(device: str, rng) -> None:
    x = normal(rng, 2, 9, 8)
    y = torch.full_like(x, 5.0)
    group_norm_nhwc[(2, 2)](y, x, 8, 9, 1e-5, GROUP=4, PIXELS=16)
    expected = torch.nn.functional.group_norm(x.double().transpose(1, 2), 2, eps=1e-5)
    check(y, expected.transpose(1, 2))


@triton.jit
def layer_norm_weight_grads(DW, DB, DY, X, MEAN, RSTD, M, N, BM: tl.constexpr, BN: tl.constexpr):
    cols = tl.program_id(0) * BN + tl.arange(0, BN)
    dw = tl.zeros((BM, BN), dtype=tl.float32)
    db = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(tl.program_id(1) * BM, M, tl.num_programs(1) * BM):
        rows = start + tl.arange(0, BM)
        mask = (rows[:, None] < M) & (cols[None, :] < N)
        at = rows[:, None] * N + cols[None, :]
        dy = tl.load(DY + at, mask=mask, other=0.0)
        x = tl.load(X + at, mask=mask, other=0.0)
        mean = tl.load(MEAN + rows, mask=rows < M, other=0.0)[:, None]
        rstd = tl.load(RSTD + rows, mask=rows < M, other=0.0)[:, None]
        dw += dy * (x - mean) * rstd
        db += dy
    tl.atomic_add(DW + cols, tl.sum(dw, axis=0), mask=cols < N, sem="relaxed")
    tl.atomic_add(DB + cols, tl.sum(db, 0), mask=cols < N)


def test_layer_norm_weight_gradients_by_atomics(device: str, rng) -> None:
    x, dy = normal(rng, 21, 30), normal(rng, 21, 30)
    exact = x.double()
    mean = exact.mean(1, keepdim=True)
    rstd = 1 / exact.std(1, correction=0, keepdim=True)
    dw, db = torch.zeros(30), torch.zeros(30)
    layer_norm_weight_grads[(2, 3)](
        dw, db, dy, x, mean.float(), rstd.float(), 21, 30, BM=4, BN=16
    )
    check(dw, (dy.double() * (exact - mean) * rstd).sum(0), 1e-4)
    check(db, dy.double().sum(0), 1e-5)
