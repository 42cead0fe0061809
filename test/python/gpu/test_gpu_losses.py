"""Activations, losses and embeddings as users write them, against NumPy in float64."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from gpu.launching import WARPS, normal, poisoned, run

import tilewright as tw

pytestmark = [
    pytest.mark.usefixtures("compiler"), pytest.mark.every_machine,
    pytest.mark.parametrize("num_warps", WARPS),
]  # fmt: skip


@tw.jit
def gelu_tanh(x):
    return 0.5 * x * (1 + tw.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))


@tw.jit
def gelu_erf(x):
    return 0.5 * x * (1 + tw.erf(x * 0.7071067811865476))


@tw.jit
def silu(x):
    return x * tw.sigmoid(x)


@tw.jit
def squared_relu(x):
    y = tw.maximum(x, 0.0)
    return y * y


@tw.jit
def apply(x, out, n, FUNCTION: tw.constexpr, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    value = tw.load(x + i, mask=i < n).to(tw.float32)
    tw.store(out + i, FUNCTION(value).to(out.dtype.element_ty), mask=i < n)


ERF = np.vectorize(math.erf)
ACTIVATIONS = {
    gelu_tanh: lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    gelu_erf: lambda x: 0.5 * x * (1 + ERF(x / np.sqrt(2))),
    silu: lambda x: x / (1 + np.exp(-x)),
    squared_relu: lambda x: np.maximum(x, 0) ** 2,
}


@pytest.mark.parametrize("function", ACTIVATIONS, ids=lambda f: f.fn.__name__)
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_activations(num_warps: int, function: Any, dtype: Any, rng: np.random.Generator) -> None:
    x, out = (3 * normal(rng, 1000)).astype(dtype), poisoned(1000, dtype=dtype)
    run(apply, (2,), x, out, 1000, FUNCTION=function, BLOCK=512, num_warps=num_warps)
    expected = ACTIVATIONS[function](x.astype(np.float64))
    np.testing.assert_allclose(
        out, expected, rtol=2e-5 if dtype == np.float32 else 1e-3, atol=1e-6
    )


@tw.jit
def swiglu_backward(grad, gate, up, dgate, dup, out, columns, BLOCK: tw.constexpr):
    row = tw.program_id(1)
    c = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    inside = c < columns
    at = row * columns + c
    d = tw.load(grad + at, mask=inside, other=0).to(tw.float32)
    g = tw.load(gate + at, mask=inside, other=0).to(tw.float32)
    u = tw.load(up + at, mask=inside, other=0).to(tw.float32)
    s = tw.sigmoid(g)
    f = g * s
    tw.store(out + at, f * u, mask=inside)
    tw.store(dup + at, d * f, mask=inside)
    tw.store(dgate + at, d * u * (s + f * (1 - s)), mask=inside)


def test_swiglu_backward(num_warps: int, rng: np.random.Generator) -> None:
    grad, gate, up = (normal(rng, 3, 130) for _ in range(3))
    dgate, dup, out = (poisoned(3, 130) for _ in range(3))
    run(
        swiglu_backward, (2, 3), grad, gate, up, dgate, dup, out, 130, BLOCK=128,
        num_warps=num_warps,
    )  # fmt: skip
    g, u, d = (a.astype(np.float64) for a in (gate, up, grad))
    s = 1 / (1 + np.exp(-g))
    np.testing.assert_allclose(out, g * s * u, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(dup, d * g * s, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(dgate, d * u * s * (1 + g * (1 - s)), rtol=1e-5, atol=1e-6)


@tw.jit
def smoothed_cross_entropy(
    logits, labels, losses, columns, ignore_index, smoothing, scale,
    BLOCK: tw.constexpr, HAS_SMOOTHING: tw.constexpr,
):  # fmt: skip
    """The loss of a row, and its gradient in the place of the logits."""
    row = tw.program_id(0).to(tw.int64)
    label = tw.load(labels + row)
    logits += row * columns
    if label == ignore_index:
        for start in range(0, columns, BLOCK):
            c = start + tw.arange(0, BLOCK)
            tw.store(logits + c, 0.0, mask=c < columns)
        tw.store(losses + row, 0.0)
        return
    peak = float("-inf")
    norm = 0.0
    total = 0.0
    for start in range(0, columns, BLOCK):
        c = start + tw.arange(0, BLOCK)
        value = tw.load(logits + c, mask=c < columns, other=float("-inf")).to(tw.float32)
        higher = tw.maximum(peak, tw.max(value))
        if HAS_SMOOTHING:
            total += tw.sum(tw.where(c < columns, value, 0.0))
        norm = norm * tw.exp(peak - higher) + tw.sum(tw.exp(value - higher))
        peak = higher
    at_label = tw.load(logits + label).to(tw.float32)
    lse = peak + tw.log(norm)
    loss = lse - at_label
    share = smoothing / columns
    if HAS_SMOOTHING:
        loss = (1 - smoothing) * loss + smoothing * lse - share * total
    tw.debug_barrier()
    for start in range(0, columns, BLOCK):
        c = start + tw.arange(0, BLOCK)
        value = tw.load(logits + c, mask=c < columns, other=float("-inf")).to(tw.float32)
        grad = tw.exp(value - lse)
        if HAS_SMOOTHING:
            grad -= share
        grad = tw.where(c == label, grad - (1 - smoothing), grad)
        tw.store(logits + c, grad * scale, mask=c < columns)
    tw.store(losses + row, loss * scale)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("columns", [300, 512])
def test_cross_entropy_with_its_gradient(
    num_warps: int, smoothing: float, columns: int, rng: np.random.Generator
) -> None:
    logits = normal(rng, 5, columns)
    labels = np.array([3, -100, 0, columns - 1, 7])
    losses, grads = poisoned(5), logits.copy()
    run(
        smoothed_cross_entropy, (5,), grads, labels, losses, columns, -100, smoothing, 0.25,
        BLOCK=128, HAS_SMOOTHING=smoothing > 0, num_warps=num_warps,
    )  # fmt: skip
    exact = logits.astype(np.float64)
    lse = np.log(np.exp(exact).sum(1))
    wanted = np.full((5, columns), smoothing / columns)
    wanted[np.arange(5), labels] += 1 - smoothing
    kept = labels != -100
    expected = ((lse[:, None] - exact) * wanted).sum(1) * kept / 4
    np.testing.assert_allclose(losses, expected, rtol=1e-5, atol=1e-6)
    gradient = (np.exp(exact - lse[:, None]) - wanted) * kept[:, None] / 4
    np.testing.assert_allclose(grads, gradient, rtol=2e-4, atol=1e-6)


@tw.jit
def divergences(
    p_log, q_log, kl, js, columns, BLOCK: tw.constexpr, REDUCTION: tw.constexpr = "sum"
):
    row = tw.program_id(0)
    kl_sum = tw.zeros((BLOCK,), tw.float32)
    js_sum = tw.zeros((BLOCK,), tw.float32)
    for start in tw.range(0, columns, BLOCK, num_stages=2):
        c = start + tw.arange(0, BLOCK)
        inside = c < columns
        lp = tw.load(p_log + row * columns + c, mask=inside, other=float("-inf"))
        lq = tw.load(q_log + row * columns + c, mask=inside, other=float("-inf"))
        p, q = tw.exp(lp), tw.exp(lq)
        m = 0.5 * (p + q)
        lm = tw.log(tw.where(inside, m, 1.0))
        kl_sum += tw.where(inside, p * (lp - lq), 0.0)
        js_sum += tw.where(inside, 0.5 * (p * (lp - lm) + q * (lq - lm)), 0.0)
    a = tw.sum(kl_sum)
    b = tw.sum(js_sum)
    if REDUCTION == "mean":
        a, b = a / columns, b / columns
    tw.store(kl + row, a)
    tw.store(js + row, b)


@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_divergences_of_kullback_leibler_and_jensen_shannon(
    num_warps: int, reduction: str, rng: np.random.Generator
) -> None:
    def log_softmax(x):
        x = x.astype(np.float64)
        return (x - np.log(np.exp(x).sum(1, keepdims=True))).astype(np.float32)

    p_log, q_log = log_softmax(normal(rng, 4, 150)), log_softmax(normal(rng, 4, 150))
    kl, js = poisoned(4), poisoned(4)
    run(
        divergences, (4,), p_log, q_log, kl, js, 150, BLOCK=64, REDUCTION=reduction,
        num_warps=num_warps,
    )  # fmt: skip
    lp, lq = p_log.astype(np.float64), q_log.astype(np.float64)
    p, q = np.exp(lp), np.exp(lq)
    lm = np.log((p + q) / 2)
    count = 150 if reduction == "mean" else 1
    np.testing.assert_allclose(kl, (p * (lp - lq)).sum(1) / count, rtol=1e-4, atol=1e-6)
    expected = (p * (lp - lm) + q * (lq - lm)).sum(1) / 2 / count
    np.testing.assert_allclose(js, expected, rtol=1e-4, atol=1e-6)


@tw.jit
def binary_cross_entropy(x, y, weights, out, n, BLOCK: tw.constexpr):
    """Stable form: max(x, 0) - x y + log(1 + exp(-|x|)), each program adds its share."""
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    inside = i < n
    value = tw.load(x + i, mask=inside, other=0.0)
    target = tw.load(y + i, mask=inside, other=False).to(tw.float32)
    w = tw.load(weights + i, mask=inside, other=0.0)
    loss = tw.maximum(value, 0.0) - value * target + tw.log1p(tw.exp(-tw.abs(value)))
    tw.atomic_add(out, tw.sum(loss * w) / n, sem="relaxed")


def test_binary_cross_entropy_summed_by_atomics(num_warps: int, rng: np.random.Generator) -> None:
    x, y = 5 * normal(rng, 700), rng.integers(0, 2, 700).astype(bool)
    weights, out = rng.random(700).astype(np.float32), np.zeros(1, np.float32)
    run(binary_cross_entropy, (3,), x, y, weights, out, 700, BLOCK=256, num_warps=num_warps)
    exact = x.astype(np.float64)
    loss = np.logaddexp(0, exact) - exact * y
    np.testing.assert_allclose(out, [(loss * weights).mean()], rtol=1e-5, atol=1e-6)


@tw.jit
def embedding(ids, table, out, width, vocabulary, padding_id, BLOCK: tw.constexpr):
    token = tw.program_id(0)
    c = tw.program_id(1) * BLOCK + tw.arange(0, BLOCK)
    word = tw.load(ids + token)
    known = (word >= 0) & (word < vocabulary) & (word != padding_id)
    row = tw.load(table + word.to(tw.int64) * width + c, mask=(c < width) & known, other=0.0)
    tw.store(out + token * width + c, row, mask=c < width)


@tw.jit
def embedding_backward(ids, grad, dtable, tokens, width, TOKENS: tw.constexpr, BLOCK: tw.constexpr):
    t = tw.program_id(0) * TOKENS + tw.arange(0, TOKENS)
    c = tw.arange(0, BLOCK)
    word = tw.load(ids + t, mask=t < tokens, other=0)
    inside = (t[:, None] < tokens) & (c[None, :] < width)
    g = tw.load(grad + t[:, None] * width + c[None, :], mask=inside, other=0.0)
    tw.atomic_add(dtable + word[:, None] * width + c[None, :], g, mask=inside)


def test_embedding_and_its_gradient(num_warps: int, rng: np.random.Generator) -> None:
    table = normal(rng, 20, 50)
    ids = rng.integers(-2, 22, 33).astype(np.int32)
    out = poisoned(33, 50)
    run(embedding, (33, 2), ids, table, out, 50, 20, 5, BLOCK=32, num_warps=num_warps)
    known = (ids >= 0) & (ids < 20) & (ids != 5)
    np.testing.assert_array_equal(out, np.where(known[:, None], table[ids % 20], 0))
    words, grad = rng.integers(0, 6, 33), normal(rng, 33, 50)
    dtable, expected = np.zeros((20, 50), np.float32), np.zeros((20, 50))
    run(
        embedding_backward, (3,), words, grad, dtable, 33, 50, TOKENS=16, BLOCK=64,
        num_warps=num_warps,
    )  # fmt: skip
    np.add.at(expected, words, grad)
    np.testing.assert_allclose(dtable, expected, rtol=1e-5, atol=1e-5)


@tw.jit
def rotate(x, cos, sin, HALF: tw.constexpr, INTERLEAVED: tw.constexpr):
    if INTERLEAVED:
        left, right = tw.split(tw.reshape(x, (HALF, 2)))
        return tw.reshape(tw.join(left * cos - right * sin, right * cos + left * sin), (2 * HALF,))
    left, right = tw.split(tw.trans(tw.reshape(x, (2, HALF))))
    turned = tw.join(left * cos - right * sin, right * cos + left * sin)
    return tw.reshape(tw.trans(turned), (2 * HALF,))


@tw.jit
def rotary(x, out, positions, base, stride, HALF: tw.constexpr, INTERLEAVED: tw.constexpr):
    token, head = tw.program_id(0), tw.program_id(1)
    position = tw.load(positions + token).to(tw.float32)
    exponent = tw.arange(0, HALF).to(tw.float32) / HALF
    angle = position * tw.exp2(-exponent * tw.log2(base))
    at = token * stride + head * 2 * HALF + tw.arange(0, 2 * HALF)
    value = tw.load(x + at)
    tw.store(out + at, rotate(value, tw.cos(angle), tw.sin(angle), HALF, INTERLEAVED))


@pytest.mark.parametrize("interleaved", [False, True])
def test_rotary_embedding_of_both_interleavings(
    num_warps: int, interleaved: bool, rng: np.random.Generator
) -> None:
    tokens, heads, half = 4, 2, 32
    x, out = normal(rng, tokens, heads, 2 * half), poisoned(tokens, heads, 2 * half)
    positions = rng.integers(0, 100, tokens)
    run(
        rotary, (tokens, heads), x, out, positions, 10000.0, heads * 2 * half, HALF=half,
        INTERLEAVED=interleaved, num_warps=num_warps,
    )  # fmt: skip
    angle = positions[:, None, None] * 10000.0 ** (-np.arange(half) / half)
    turn = np.exp(1j * angle)
    if interleaved:
        turned = (x[..., ::2] + 1j * x[..., 1::2]) * turn
        expected = np.stack([turned.real, turned.imag], -1).reshape(x.shape)
    else:
        turned = (x[..., :half] + 1j * x[..., half:]) * turn
        expected = np.concatenate([turned.real, turned.imag], -1)
    np.testing.assert_allclose(out, expected, rtol=1e-3, atol=1e-4)
