"""Attention kernels of many forms, as users write them."""

from __future__ import annotations

import tilewright as tw

LOG2E = tw.constexpr(1.4426950408889634)


@tw.jit
def online_softmax(score, value, acc, norm, peak):
    """One step over scores in units of log2; rows without any key yet stay empty."""
    higher = tw.maximum(peak, tw.max(score, 1))
    at = tw.where(higher == float("-inf"), 0.0, higher)
    p = tw.exp2(score - at[:, None])
    shrink = tw.exp2(peak - at)
    acc = tw.dot(p.to(value.dtype), value, acc * shrink[:, None])
    return acc, norm * shrink + tw.sum(p, 1), higher


@tw.jit
def soft_capped(x, cap):
    """cap tanh(x / cap)"""
    power = tw.exp(-2 * tw.abs(x / cap))
    positive = cap * (1 - power) / (1 + power)
    return tw.where(x < 0, -positive, positive)


@tw.jit
def ragged_attention(
    q, k, v, out, starts, slopes, scale, window, cap, shared_by, q_token, kv_token,
    D: tw.constexpr, WIDTH: tw.constexpr, BM: tw.constexpr, BN: tw.constexpr,
    CAUSAL: tw.constexpr, WINDOW: tw.constexpr, SLOPES: tw.constexpr, CAP: tw.constexpr,
):  # fmt: skip
    """Sequences of any lengths lie one after the other; heads of D in tiles of WIDTH columns."""
    sequence = tw.program_id(1)
    head = tw.program_id(2)
    start = tw.load(starts + sequence)
    length = tw.load(starts + sequence + 1) - start
    first = tw.program_id(0) * BM
    if first >= length:
        return
    m = first + tw.arange(0, BM)
    d = tw.arange(0, WIDTH)
    held = (d < D)[None, :]
    at = (start + m[:, None]) * q_token + head * D + d[None, :]
    query = tw.load(q + at, mask=(m[:, None] < length) & held, other=0.0)
    k += start * kv_token + head // shared_by * D
    v += start * kv_token + head // shared_by * D
    low, high = 0, length
    if CAUSAL:
        high = tw.minimum(length, first + BM)
    if WINDOW:
        low = tw.maximum(0, first - window + 1) // BN * BN
    slope = tw.load(slopes + head)
    peak = tw.full([BM], float("-inf"), tw.float32)
    norm = tw.zeros([BM], tw.float32)
    acc = tw.zeros([BM, WIDTH], tw.float32)
    for step in tw.range(low, high, BN):
        n = step + tw.arange(0, BN)
        places = n[:, None] * kv_token + d[None, :]
        key = tw.load(k + places, mask=(n[:, None] < length) & held, other=0.0)
        score = tw.dot(query, key.T) * scale
        if CAP:
            score = soft_capped(score, cap)
        if SLOPES:
            score += slope * (n[None, :] - m[:, None])
        inside = (n < length)[None, :]
        if CAUSAL:
            inside &= m[:, None] >= n[None, :]
        if WINDOW:
            inside &= m[:, None] - n[None, :] < window
        score = tw.where(inside, score * LOG2E, float("-inf"))
        value = tw.load(v + places, mask=(n[:, None] < length) & held, other=0.0)
        acc, norm, peak = online_softmax(score, value, acc, norm, peak)
    tw.store(out + at, acc / norm[:, None], mask=(m[:, None] < length) & held)


@tw.jit
def attention_in_phases(
    q, k, v, sinks, out, length, scale, WINDOW: tw.constexpr,
    D: tw.constexpr, BM: tw.constexpr, BN: tw.constexpr,
):  # fmt: skip
    """First the keys before the diagonal, then those around it; a sink takes part of the sum."""
    block = tw.num_programs(0) - 1 - tw.program_id(0)
    head = tw.program_id(1)
    base = head * length * D
    m = block * BM + tw.arange(0, BM)
    d = tw.arange(0, D)
    at = base + m[:, None] * D + d[None, :]
    query = tw.load(q + at, mask=m[:, None] < length, other=0.0)
    peak = tw.full([BM], 0.0, tw.float32) + tw.load(sinks + head) * LOG2E
    norm = tw.full([BM], 1.0, tw.float32)
    acc = tw.zeros([BM, D], tw.float32)
    first = tw.maximum(0, block * BM - WINDOW) // BN * BN
    for phase in tw.static_range(2):
        low = first if phase == 0 else block * BM
        high = block * BM if phase == 0 else tw.minimum(length, block * BM + BM)
        for step in tw.range(low, high, BN, num_stages=3):
            n = step + tw.arange(0, BN)
            key = tw.load(
                k + base + n[None, :] * D + d[:, None], mask=n[None, :] < length, other=0.0
            )
            value = tw.load(
                v + base + n[:, None] * D + d[None, :], mask=n[:, None] < length, other=0.0
            )
            inside = m[:, None] - n[None, :] < WINDOW
            if phase == 1:
                inside &= m[:, None] >= n[None, :]
            score = tw.where(inside, tw.dot(query, key) * (scale * LOG2E), float("-inf"))
            acc, norm, peak = online_softmax(score, value, acc, norm, peak)
    tw.store(out + at, acc / norm[:, None], mask=m[:, None] < length)


@tw.jit
def dropped_out_attention(
    q, k, v, bias, out, length, scale, rate, seed,
    D: tw.constexpr, BM: tw.constexpr, BN: tw.constexpr, DISTANCES: tw.constexpr,
):  # fmt: skip
    """The bias is looked up by distance, and weights are dropped at random."""
    head = tw.program_id(1)
    base = head * length * D
    m = tw.program_id(0) * BM + tw.arange(0, BM)
    d = tw.arange(0, D)
    at = base + m[:, None] * D + d[None, :]
    query = tw.load(q + at, mask=m[:, None] < length, other=0.0)
    peak = tw.full([BM], float("-inf"), tw.float32)
    norm = tw.zeros([BM], tw.float32)
    acc = tw.zeros([BM, D], tw.float32)
    for step in range(0, length, BN):
        n = step + tw.arange(0, BN)
        places = base + n[:, None] * D + d[None, :]
        key = tw.load(k + places, mask=n[:, None] < length, other=0.0)
        value = tw.load(v + places, mask=n[:, None] < length, other=0.0)
        distance = tw.clamp(m[:, None] - n[None, :] + DISTANCES // 2, 0, DISTANCES - 1)
        score = tw.dot(query, tw.trans(key)) * scale + tw.load(bias + head * DISTANCES + distance)
        score = tw.where(n[None, :] < length, score, float("-inf"))
        higher = tw.maximum(peak, tw.max(score, 1))
        p = tw.exp(score - higher[:, None])
        shrink = tw.exp(peak - higher)
        norm = norm * shrink + tw.sum(p, 1)
        chance = tw.rand(seed, (head * length + m[:, None]) * length + n[None, :])
        p = tw.where(chance > rate, p / (1 - rate), 0.0)
        acc = tw.dot(p.to(value.dtype), value, acc * shrink[:, None])
        peak = higher
    tw.store(out + at, acc / norm[:, None], mask=m[:, None] < length)


@tw.jit
def chances(out, seed, size, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    tw.store(out + i, tw.rand(seed, i), mask=i < size)


@tw.jit
def split_decoding(
    q, k_cache, v_cache, k_scales, v_scales, parts, sums, lengths, tables, scale, longest,
    HEADS: tw.constexpr, GROUP: tw.constexpr, ROWS: tw.constexpr, D: tw.constexpr,
    PAGE: tw.constexpr, BN: tw.constexpr, SCALED: tw.constexpr,
):  # fmt: skip
    """A part of a sequence for GROUP heads that share keys; each token's page is looked up."""
    sequence = tw.program_id(0)
    shared_head = tw.program_id(1)
    part = tw.program_id(2)
    length = tw.load(lengths + sequence)
    share = tw.cdiv(tw.cdiv(length, tw.num_programs(2)), BN) * BN
    end = tw.minimum(share * (part + 1), length)
    r = tw.arange(0, ROWS)
    d = tw.arange(0, D)
    rows = sequence * HEADS * GROUP + shared_head * GROUP + r
    query = tw.load(q + rows[:, None] * D + d[None, :], mask=r[:, None] < GROUP, other=0.0)
    peak = tw.full([ROWS], float("-inf"), tw.float32)
    norm = tw.zeros([ROWS], tw.float32)
    acc = tw.zeros([ROWS, D], tw.float32)
    for step in range(share * part, end, BN):
        n = step + tw.arange(0, BN)
        page = tw.load(tables + sequence * longest + n // PAGE, mask=n < end, other=0)
        token = page.to(tw.int64) * PAGE + n % PAGE
        places = (token[:, None] * HEADS + shared_head) * D + d[None, :]
        key = tw.load(k_cache + places, mask=n[:, None] < end, other=0.0)
        value = tw.load(v_cache + places, mask=n[:, None] < end, other=0.0).to(query.dtype)
        score = tw.dot(query, key.to(query.dtype).T) * (scale * LOG2E)
        if SCALED:
            score *= tw.load(k_scales + token, mask=n < end, other=0.0)[None, :]
            weight = tw.load(v_scales + token, mask=n < end, other=0.0)
            value = (value * weight[:, None]).to(query.dtype)
        score = tw.where(n[None, :] < end, score, float("-inf"))
        acc, norm, peak = online_softmax(score, value, acc, norm, peak)
    at = rows * tw.num_programs(2) + part
    some = tw.where(norm > 0, norm, 1.0)
    tw.store(parts + at[:, None] * D + d[None, :], acc / some[:, None], mask=r[:, None] < GROUP)
    tw.store(sums + at, peak + tw.log2(some), mask=r < GROUP)


@tw.jit
def merge_parts(parts, sums, out, D: tw.constexpr, PARTS: tw.constexpr):
    row = tw.program_id(0)
    d = tw.arange(0, D)
    peak = -float("inf")
    norm = 0.0
    acc = tw.zeros([D], tw.float32)
    for part in range(PARTS):
        total = tw.load(sums + row * PARTS + part)
        if total > -float("inf"):
            higher = tw.maximum(peak, total)
            shrink = tw.exp2(peak - higher)
            weight = tw.exp2(total - higher)
            acc = acc * shrink + weight * tw.load(parts + (row * PARTS + part) * D + d)
            norm = norm * shrink + weight
            peak = higher
    tw.store(out + row * D + d, acc / norm)


@tw.jit
def latent_attention(
    q_latent, q_rotary, latents, k_rotary, out, length, scale,
    L: tw.constexpr, R: tw.constexpr, ROWS: tw.constexpr, BN: tw.constexpr,
):  # fmt: skip
    """Scores are sums of two products; the latents are keys and values at once."""
    sequence = tw.program_id(0)
    rows = sequence * ROWS + tw.arange(0, ROWS)
    d = tw.arange(0, L)
    e = tw.arange(0, R)
    query = tw.load(q_latent + rows[:, None] * L + d[None, :])
    rotary = tw.load(q_rotary + rows[:, None] * R + e[None, :])
    peak = tw.full([ROWS], float("-inf"), tw.float32)
    norm = tw.zeros([ROWS], tw.float32)
    acc = tw.zeros([ROWS, L], tw.float32)
    for step in range(0, length, BN):
        n = step + tw.arange(0, BN)
        token = sequence * length + n
        latent = tw.load(
            latents + token[:, None] * L + d[None, :], mask=n[:, None] < length, other=0.0
        )
        key = tw.load(
            k_rotary + token[None, :] * R + e[:, None], mask=n[None, :] < length, other=0.0
        )
        score = tw.dot(rotary, key, tw.dot(query, latent.T)) * (scale * LOG2E)
        score = tw.where(n[None, :] < length, score, float("-inf"))
        acc, norm, peak = online_softmax(score, latent, acc, norm, peak)
    tw.store(out + rows[:, None] * L + d[None, :], acc / norm[:, None])


@tw.jit
def attention_to_blocks(
    q, k, v, counts, blocks, tree, out, length, most, scale,
    D: tw.constexpr, BM: tw.constexpr, BN: tw.constexpr, TREE: tw.constexpr,
):  # fmt: skip
    """Only the listed blocks of keys, -1 for none; a mask in memory says more exactly which."""
    block = tw.program_id(0)
    m = block * BM + tw.arange(0, BM)
    d = tw.arange(0, D)
    query = tw.load(q + m[:, None] * D + d[None, :], mask=m[:, None] < length, other=0.0)
    peak = tw.full([BM], float("-inf"), tw.float32)
    norm = tw.zeros([BM], tw.float32)
    acc = tw.zeros([BM, D], tw.float32)
    for i in range(tw.load(counts + block)):
        chosen = tw.load(blocks + block * most + i)
        if chosen < 0:
            continue
        n = chosen * BN + tw.arange(0, BN)
        key = tw.load(k + n[None, :] * D + d[:, None], mask=n[None, :] < length, other=0.0)
        value = tw.load(v + n[:, None] * D + d[None, :], mask=n[:, None] < length, other=0.0)
        inside = (m[:, None] < length) & (n[None, :] < length)
        if TREE:
            inside = tw.load(tree + m[:, None] * length + n[None, :], mask=inside, other=0) != 0
        score = tw.where(inside, tw.dot(query, key) * (scale * LOG2E), float("-inf"))
        acc, norm, peak = online_softmax(score, value, acc, norm, peak)
    tw.store(
        out + m[:, None] * D + d[None, :], acc / norm[:, None], mask=m[:, None] < length
    )
