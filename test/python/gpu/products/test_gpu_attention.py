"""Attention and recurrences over time as users write them, against NumPy in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gpu.launching import WARPS, normal, poisoned, run

import tilewright as tw

pytestmark = [pytest.mark.usefixtures("compiler"), pytest.mark.parametrize("num_warps", WARPS)]


@tw.jit
def attend(
    acc, norm, peak, q, k, v, rows, length, start, end, slope, D: tw.constexpr, BN: tw.constexpr,
    CAUSAL: tw.constexpr, BIAS: tw.constexpr,
):  # fmt: skip
    d = tw.arange(0, D)
    for first in range(start, end, BN):
        c = first + tw.arange(0, BN)
        keys = tw.load(k + c[None, :] * D + d[:, None], mask=c[None, :] < length, other=0.0)
        score = tw.dot(q, keys)
        if BIAS:
            score += slope * (c[None, :] - rows[:, None])
        inside = (c < length)[None, :]
        if CAUSAL:
            inside = inside & (c[None, :] <= rows[:, None])
        score = tw.where(inside, score, -1.0e30)
        higher = tw.maximum(peak, tw.max(score, 1))
        p = tw.exp2((score - higher[:, None]) * 1.4426950408889634)
        shrink = tw.exp2((peak - higher) * 1.4426950408889634)
        norm = norm * shrink + tw.sum(p, 1)
        values = tw.load(v + c[:, None] * D + d[None, :], mask=c[:, None] < length, other=0.0)
        acc = tw.dot(p.to(values.dtype), values, acc * shrink[:, None])
        peak = higher
    return acc, norm, peak


@tw.jit
def flash_attention(
    q, k, v, out, lse, heads, length, scale,
    D: tw.constexpr, BM: tw.constexpr, BN: tw.constexpr, CAUSAL: tw.constexpr, BIAS: tw.constexpr,
):  # fmt: skip
    head = tw.program_id(1)
    base = head * length * D
    rows = tw.program_id(0) * BM + tw.arange(0, BM)
    d = tw.arange(0, D)
    at = base + rows[:, None] * D + d[None, :]
    query = tw.load(q + at, mask=rows[:, None] < length, other=0.0)
    query = (query * scale).to(query.dtype)
    peak = tw.full([BM], -1.0e30, tw.float32)
    norm = tw.zeros([BM], tw.float32)
    acc = tw.zeros([BM, D], tw.float32)
    slope = tw.exp2(-8.0 * (head + 1) / heads)
    end = tw.minimum(length, (tw.program_id(0) + 1) * BM) if CAUSAL else length
    acc, norm, peak = attend(
        acc, norm, peak, query, k + base, v + base, rows, length, 0, end, slope, D, BN, CAUSAL, BIAS
    )
    tw.store(out + at, (acc / norm[:, None]).to(out.dtype.element_ty), rows[:, None] < length)
    tw.store(lse + head * length + rows, peak + tw.log(norm), mask=rows < length)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize(("causal", "bias"), [(False, False), (True, False), (True, True)])
def test_flash_attention(
    num_warps: int, dtype: Any, causal: bool, bias: bool, rng: np.random.Generator
) -> None:
    heads, length, D = 2, 45, 16
    q, k, v = (normal(rng, heads, length, D, dtype=dtype) for _ in range(3))
    out, lse = poisoned(heads, length, D, dtype=dtype), poisoned(heads, length)
    run(
        flash_attention, (2, heads), q, k, v, out, lse, heads, length, 0.25, D=D, BM=32, BN=16,
        CAUSAL=causal, BIAS=bias, num_warps=num_warps,
    )  # fmt: skip
    score = q.astype(np.float64) @ k.astype(np.float64).swapaxes(1, 2) / 4
    i = np.arange(length)
    if bias:
        slopes = 2.0 ** (-8.0 * np.arange(1, heads + 1) / heads)
        score = score + slopes[:, None, None] * (i[None, :] - i[:, None])
    if causal:
        score = np.where(i[None, :] <= i[:, None], score, -np.inf)
    expected = np.log(np.exp(score).sum(2))
    rounding = 1e-4 if dtype == np.float32 else 1e-2
    np.testing.assert_allclose(lse, expected, rtol=rounding, atol=rounding)
    weights = np.exp(score - expected[..., None])
    np.testing.assert_allclose(out, weights @ v.astype(np.float64), rtol=rounding, atol=rounding)


@tw.jit
def paged_decode(
    q, k_cache, v_cache, tables, lengths, out, scale, longest,
    D: tw.constexpr, PAGE: tw.constexpr, HEADS: tw.constexpr,
):  # fmt: skip
    """One query of each head of a sequence; keys and values lie in pages of PAGE tokens."""
    sequence = tw.program_id(0)
    head = tw.program_id(1)
    length = tw.load(lengths + sequence)
    d = tw.arange(0, D)
    t = tw.arange(0, PAGE)
    query = tw.load(q + (sequence * HEADS + head) * D + d) * scale
    peak = float("-inf")
    norm = 0.0
    acc = tw.zeros([D], tw.float32)
    for page in range(tw.cdiv(length, PAGE)):
        block = tw.load(tables + sequence * longest + page).to(tw.int64)
        inside = page * PAGE + t < length
        at = ((block * PAGE + t) * HEADS + head)[:, None] * D + d[None, :]
        keys = tw.load(k_cache + at, mask=inside[:, None], other=0.0)
        score = tw.where(inside, tw.sum(keys * query[None, :], 1), float("-inf"))
        higher = tw.maximum(peak, tw.max(score, 0))
        p = tw.exp(score - higher)
        shrink = tw.exp(peak - higher)
        values = tw.load(v_cache + at, mask=inside[:, None], other=0.0)
        acc = acc * shrink + tw.sum(p[:, None] * values, 0)
        norm = norm * shrink + tw.sum(p, 0)
        peak = higher
    tw.store(out + (sequence * HEADS + head) * D + d, acc / norm)


def test_decoding_from_a_paged_cache(num_warps: int, rng: np.random.Generator) -> None:
    sequences, heads, D, page, pages = 3, 2, 32, 16, 10
    lengths = np.array([1, 16, 37], np.int32)
    tables = rng.permutation(pages)[:9].reshape(3, 3).astype(np.int32)
    k_cache, v_cache = (normal(rng, pages, page, heads, D) for _ in range(2))
    q, out = normal(rng, sequences, heads, D), poisoned(sequences, heads, D)
    run(
        paged_decode, (sequences, heads), q, k_cache, v_cache, tables, lengths, out, 0.2, 3,
        D=D, PAGE=page, HEADS=heads, num_warps=num_warps,
    )  # fmt: skip
    for s, length in enumerate(lengths):
        keys = k_cache[tables[s]].reshape(-1, heads, D)[:length].astype(np.float64)
        values = v_cache[tables[s]].reshape(-1, heads, D)[:length].astype(np.float64)
        p = np.exp(0.2 * np.einsum("hd,thd->ht", q[s], keys))
        expected = np.einsum("ht,thd->hd", p / p.sum(1, keepdims=True), values)
        np.testing.assert_allclose(out[s], expected, rtol=1e-4, atol=1e-5)


@tw.jit
def compose(decay_a, state_a, decay_b, state_b):
    return decay_a * decay_b, state_a * decay_b + state_b


@tw.jit
def selective_scan(
    x, delta, a, b, c, skip, out, length, channels, STATES: tw.constexpr, BLOCK: tw.constexpr
):
    """h[t] = exp(delta a) h[t-1] + delta b x; y[t] = c h + skip x; one channel per program."""
    channel = tw.program_id(0)
    s = tw.arange(0, STATES)
    rate = tw.load(a + channel * STATES + s)
    through = tw.load(skip + channel)
    state = tw.zeros([STATES], tw.float32)
    for start in range(0, length, BLOCK):
        t = start + tw.arange(0, BLOCK)
        inside = t < length
        value = tw.load(x + t * channels + channel, mask=inside, other=0.0)
        step = tw.load(delta + t * channels + channel, mask=inside, other=0.0)
        ins = tw.load(b + t[:, None] * STATES + s[None, :], mask=inside[:, None], other=0.0)
        outs = tw.load(c + t[:, None] * STATES + s[None, :], mask=inside[:, None], other=0.0)
        decay = tw.exp(step[:, None] * rate[None, :])
        drive = (step * value)[:, None] * ins
        total, states = tw.associative_scan((decay, drive), 0, compose)
        states += total * state[None, :]
        tw.store(
            out + t * channels + channel, tw.sum(states * outs, 1) + through * value, mask=inside
        )
        last = tw.arange(0, BLOCK) == BLOCK - 1
        state = tw.sum(tw.where(last[:, None], states, 0.0), 0)


def test_selective_scan_of_pairs(num_warps: int, rng: np.random.Generator) -> None:
    length, channels, states = 75, 3, 8
    x, delta = normal(rng, length, channels), rng.random((length, channels)).astype(np.float32)
    a = -rng.random((channels, states)).astype(np.float32)
    b, c, skip = normal(rng, length, states), normal(rng, length, states), normal(rng, channels)
    out = poisoned(length, channels)
    run(
        selective_scan, (channels,), x, delta, a, b, c, skip, out, length, channels, STATES=states,
        BLOCK=32, num_warps=num_warps,
    )  # fmt: skip
    state, expected = np.zeros((channels, states)), np.zeros((length, channels))
    for t in range(length):
        decay = np.exp(delta[t][:, None].astype(np.float64) * a)
        state = decay * state + (delta[t] * x[t])[:, None] * b[t]
        expected[t] = (state * c[t]).sum(1) + skip * x[t]
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-4)


@tw.jit
def linear_attention(
    q, k, v, g, out, final, length, scale, K: tw.constexpr, V: tw.constexpr, C: tw.constexpr
):
    """Chunks of C steps of o[t] = q[t] S[t], S[t] = exp(g[t]) S[t-1] + k[t] v[t]^T."""
    i = tw.arange(0, C)
    dk = tw.arange(0, K)
    dv = tw.program_id(0) * V + tw.arange(0, V)
    width = tw.num_programs(0) * V
    state = tw.zeros([K, V], tw.float32)
    for start in range(0, length, C):
        t = start + i
        inside = t < length
        queries = tw.load(q + t[:, None] * K + dk[None, :], mask=inside[:, None], other=0.0) * scale
        keys = tw.load(k + t[None, :] * K + dk[:, None], mask=inside[None, :], other=0.0)
        values = tw.load(v + t[:, None] * width + dv[None, :], mask=inside[:, None], other=0.0)
        gate = tw.cumsum(tw.load(g + t, mask=inside, other=0.0), 0)
        last = tw.sum(tw.where(i == C - 1, gate, 0.0), 0)
        score = tw.dot(queries, keys) * tw.exp(gate[:, None] - gate[None, :])
        score = tw.where(i[:, None] >= i[None, :], score, 0.0)
        result = tw.dot(queries * tw.exp(gate)[:, None], state)
        result = tw.dot(score, values, result)
        tw.store(out + t[:, None] * width + dv[None, :], result, mask=inside[:, None])
        state = state * tw.exp(last)
        state = tw.dot(keys * tw.exp(last - gate)[None, :], values, state)
    tw.store(final + dk[:, None] * width + dv[None, :], state)


def test_linear_attention_in_chunks(num_warps: int, rng: np.random.Generator) -> None:
    length, K, V = 41, 16, 32
    q, k, v = normal(rng, length, K), normal(rng, length, K), normal(rng, length, V)
    g = -rng.random(length).astype(np.float32)
    out, final = poisoned(length, V), poisoned(K, V)
    run(
        linear_attention, (2,), q, k, v, g, out, final, length, 0.25, K=K, V=16, C=16,
        num_warps=num_warps,
    )  # fmt: skip
    state, expected = np.zeros((K, V)), np.zeros((length, V))
    for t in range(length):
        state = np.exp(np.float64(g[t])) * state + np.outer(k[t].astype(np.float64), v[t])
        expected[t] = 0.25 * q[t] @ state
    np.testing.assert_allclose(out, expected, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(final, state, rtol=1e-3, atol=1e-4)


@tw.jit
def merge_softmax(peak_a, norm_a, acc_a, peak_b, norm_b, acc_b):
    peak = tw.maximum(peak_a, peak_b)
    left = tw.where(peak_a == peak, 1.0, tw.exp(peak_a - peak))
    right = tw.where(peak_b == peak, 1.0, tw.exp(peak_b - peak))
    return peak, norm_a * left + norm_b * right, acc_a * left + acc_b * right


@tw.jit
def expected_value(x, values, lse, means, columns, BLOCK: tw.constexpr):
    """log-sum-exp of a row and the mean of `values` under its softmax, in one reduction."""
    row = tw.program_id(0)
    c = tw.arange(0, BLOCK)
    inside = c < columns
    score = tw.load(x + row * columns + c, mask=inside, other=-1.0e30)
    value = tw.load(values + c, mask=inside, other=0.0)
    one = tw.where(inside, 1.0, 0.0)
    peak, norm, acc = tw.reduce((score, one, value), 0, merge_softmax)
    tw.store(lse + row, peak + tw.log(norm))
    tw.store(means + row, acc / norm)


def test_softmax_as_one_reduction_of_triples(num_warps: int, rng: np.random.Generator) -> None:
    x, values = 5 * normal(rng, 6, 200), normal(rng, 200)
    lse, means = poisoned(6), poisoned(6)
    run(expected_value, (6,), x, values, lse, means, 200, BLOCK=256, num_warps=num_warps)
    exact = x.astype(np.float64)
    expected = np.log(np.exp(exact).sum(1))
    np.testing.assert_allclose(lse, expected, rtol=1e-5, atol=1e-6)
    weights = np.exp(exact - expected[:, None])
    np.testing.assert_allclose(means, weights @ values, rtol=1e-4, atol=1e-5)
