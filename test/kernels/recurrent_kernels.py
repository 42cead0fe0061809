"""Gradients of attention, and recurrences over time in chunks, as users write them."""

from __future__ import annotations

import tilewright as tw

LOG2E = tw.constexpr(1.4426950408889634)


@tw.jit
def key_gradients(
    dk, dv, q, key, value, above, sums, deltas, first_key, first, count, token,
    D: tw.constexpr, BM: tw.constexpr, BN: tw.constexpr, MASKED: tw.constexpr,
):  # fmt: skip
    """Adds up what `count` blocks of BM queries give; transposed scores, advancing pointers."""
    m = first + tw.arange(0, BM)
    n = first_key + tw.arange(0, BN)
    d = tw.arange(0, D)
    q_pointers = q + m[None, :] * token + d[:, None]
    above_pointers = above + m[:, None] * token + d[None, :]
    for _ in range(count):
        m = first + tw.arange(0, BM)
        query = tw.load(q_pointers)
        p = tw.exp2(tw.dot(key, query) - tw.load(sums + m)[None, :])
        if MASKED:
            p = tw.where(m[None, :] >= n[:, None], p, 0.0)
        change = tw.load(above_pointers)
        dv += tw.dot(p.to(tw.float16), change)
        score = p * (tw.dot(value, tw.trans(change)) - tw.load(deltas + m)[None, :])
        dk += tw.dot(score.to(tw.float16), tw.trans(query))
        first += BM
        q_pointers += BM * token
        above_pointers += BM * token
    return dk, dv


@tw.jit
def query_gradient(
    dq, query, k, v, change, sums, deltas, m, first, count, token,
    D: tw.constexpr, BN: tw.constexpr, MASKED: tw.constexpr,
):  # fmt: skip
    n = first + tw.arange(0, BN)
    d = tw.arange(0, D)
    places = n[None, :] * token + d[:, None]
    k_pointers, v_pointers = k + places, v + places
    for _ in range(count):
        key, value = tw.load(k_pointers), tw.load(v_pointers)
        p = tw.exp2(tw.dot(query, key) - sums[:, None])
        if MASKED:
            p = tw.where(m[:, None] >= n[None, :], p, 0.0)
        score = p * (tw.dot(change, value) - deltas[:, None])
        dq += tw.dot(score.to(tw.float16), tw.trans(key))
        n += BN
        k_pointers += BN * token
        v_pointers += BN * token
    return dq


@tw.jit
def causal_gradients(
    q, k, v, above, dq, dk, dv, sums, deltas, length, scale,
    D: tw.constexpr, BLOCK: tw.constexpr, STEP: tw.constexpr,
):  # fmt: skip
    """All three gradients in four loops; `k` comes multiplied by scale * log2(e)."""
    head = tw.program_id(1).to(tw.int64)
    q += head * length * D
    k += head * length * D
    v += head * length * D
    above += head * length * D
    sums += head * length
    deltas += head * length
    d = tw.arange(0, D)
    first = tw.program_id(0) * BLOCK
    rows = first + tw.arange(0, BLOCK)
    at = rows[:, None] * D + d[None, :]
    key, value = tw.load(k + at), tw.load(v + at)
    key_sum = tw.zeros([BLOCK, D], tw.float32)
    value_sum = tw.zeros([BLOCK, D], tw.float32)
    near: tw.constexpr = STEP // 2
    key_sum, value_sum = key_gradients(
        key_sum, value_sum, q, key, value, above, sums, deltas, first, first, BLOCK // near, D, D,
        near, BLOCK, MASKED=True,
    )  # fmt: skip
    rest = first + BLOCK
    key_sum, value_sum = key_gradients(
        key_sum, value_sum, q, key, value, above, sums, deltas, first, rest,
        (length - rest) // STEP, D, D, STEP, BLOCK, MASKED=False,
    )  # fmt: skip
    tw.store(dk + head * length * D + at, key_sum * scale)
    tw.store(dv + head * length * D + at, value_sum)
    query, change = tw.load(q + at), tw.load(above + at)
    peaks, delta = tw.load(sums + rows), tw.load(deltas + rows)
    query_sum = tw.zeros([BLOCK, D], tw.float32)
    query_sum = query_gradient(
        query_sum, query, k, v, change, peaks, delta, rows, first, BLOCK // near, D, D, near,
        MASKED=True,
    )  # fmt: skip
    query_sum = query_gradient(
        query_sum, query, k, v, change, peaks, delta, rows, 0, first // STEP, D, D, STEP,
        MASKED=False,
    )  # fmt: skip
    tw.store(dq + head * length * D + at, query_sum * 0.6931471805599453)


@tw.jit
def shared_key_gradients(
    q, k, v, above, sums, deltas, dk, dv, queries, keys, scale,
    GROUP: tw.constexpr, D: tw.constexpr, BM: tw.constexpr, BN: tw.constexpr,
):  # fmt: skip
    """Of keys that GROUP heads share: over the heads, and over the queries of each."""
    shared_head = tw.program_id(1)
    n = tw.program_id(0) * BN + tw.arange(0, BN)
    d = tw.arange(0, D)
    at = (shared_head * keys + n[:, None]) * D + d[None, :]
    key = tw.load(k + at, mask=n[:, None] < keys, other=0.0)
    value = tw.load(v + at, mask=n[:, None] < keys, other=0.0)
    key_sum = tw.zeros([BN, D], tw.float32)
    value_sum = tw.zeros([BN, D], tw.float32)
    for head in range(shared_head * GROUP, shared_head * GROUP + GROUP):
        for first in range(tw.program_id(0) * BN // BM * BM, queries, BM):
            m = first + tw.arange(0, BM)
            held = m < queries
            places = (head * queries + m[:, None]) * D + d[None, :]
            query = tw.load(q + places, mask=held[:, None], other=0.0)
            peak = tw.load(sums + head * queries + m, mask=held, other=float("inf"))
            change = tw.load(above + places, mask=held[:, None], other=0.0)
            delta = tw.load(deltas + head * queries + m, mask=held, other=0.0)
            p = tw.exp2(tw.dot(query, key.T) * (scale * LOG2E) - peak[:, None])
            inside = (m[:, None] >= n[None, :]) & held[:, None] & (n[None, :] < keys)
            p = tw.where(inside, p, 0.0)
            value_sum = tw.dot(p.to(change.dtype).T, change, value_sum)
            score = p * (tw.dot(change, value.T) - delta[:, None])
            key_sum = tw.dot(score.to(query.dtype).T, query, key_sum)
    tw.store(dk + at, key_sum * scale, mask=n[:, None] < keys)
    tw.store(dv + at, value_sum, mask=n[:, None] < keys)


@tw.jit
def query_gradients_backwards(
    q, k, v, above, sums, deltas, dq, queries, keys, scale,
    GROUP: tw.constexpr, D: tw.constexpr, BM: tw.constexpr, BN: tw.constexpr,
):  # fmt: skip
    """Visits the keys from the last to the first."""
    head = tw.program_id(1)
    m = tw.program_id(0) * BM + tw.arange(0, BM)
    d = tw.arange(0, D)
    held = m < queries
    at = (head * queries + m[:, None]) * D + d[None, :]
    query = tw.load(q + at, mask=held[:, None], other=0.0)
    change = tw.load(above + at, mask=held[:, None], other=0.0)
    peak = tw.load(sums + head * queries + m, mask=held, other=0.0)
    delta = tw.load(deltas + head * queries + m, mask=held, other=0.0)
    acc = tw.zeros([BM, D], tw.float32)
    end = min(keys, (tw.program_id(0) + 1) * BM)
    for first in range((end - 1) // BN * BN, -1, -BN):
        n = first + tw.arange(0, BN)
        places = (head // GROUP * keys + n[None, :]) * D + d[:, None]
        key = tw.load(k + places, mask=n[None, :] < keys, other=0.0)
        value = tw.load(v + places, mask=n[None, :] < keys, other=0.0)
        p = tw.exp2(tw.dot(query, key) * (scale * LOG2E) - peak[:, None])
        p = tw.where((m[:, None] >= n[None, :]) & (n[None, :] < keys), p, 0.0)
        score = p * (tw.dot(change, value) - delta[:, None]) * scale
        acc += tw.dot(score.to(key.dtype), tw.trans(key))
    tw.store(dq + at, acc, mask=held[:, None])


@tw.jit
def chunk_states(
    k, v, gates, states, last, length,
    K: tw.constexpr, V: tw.constexpr, T: tw.constexpr, BV: tw.constexpr,
):  # fmt: skip
    """The state before each chunk of T steps, S[t] = exp(gate[t]) S[t-1] + k[t] v[t]^T."""
    i = tw.arange(0, T)
    a = tw.arange(0, K)
    b = tw.program_id(0) * BV + tw.arange(0, BV)
    state = tw.zeros([K, BV], tw.float32)
    for chunk in range(tw.cdiv(length, T)):
        t = chunk * T + i
        held = t < length
        tw.store(states + (chunk * K + a[:, None]) * V + b[None, :], state)
        key = tw.load(k + t[None, :] * K + a[:, None], mask=held[None, :], other=0.0)
        value = tw.load(v + t[:, None] * V + b[None, :], mask=held[:, None], other=0.0)
        gate = tw.load(gates + t, mask=held, other=0.0)
        end = tw.load(gates + tw.minimum((chunk + 1) * T, length) - 1)
        decay = tw.where(held, tw.exp(end - gate), 0.0)
        value = (value * decay[:, None]).to(value.dtype)
        state = tw.dot(key, value, state * tw.exp(end))
    tw.store(last + a[:, None] * V + b[None, :], state)


@tw.jit
def chunk_outputs(
    q, k, v, gates, states, out, length, scale,
    K: tw.constexpr, V: tw.constexpr, T: tw.constexpr, BK: tw.constexpr, BV: tw.constexpr,
):  # fmt: skip
    chunk = tw.program_id(1)
    i = tw.arange(0, T)
    t = chunk * T + i
    held = t < length
    b = tw.program_id(0) * BV + tw.arange(0, BV)
    acc = tw.zeros([T, BV], tw.float32)
    score = tw.zeros([T, T], tw.float32)
    for first in range(0, K, BK):
        a = first + tw.arange(0, BK)
        query = tw.load(q + t[:, None] * K + a[None, :], mask=held[:, None], other=0.0)
        key = tw.load(k + t[None, :] * K + a[:, None], mask=held[None, :], other=0.0)
        state = tw.load(states + (chunk * K + a[:, None]) * V + b[None, :])
        acc += tw.dot(query, state)
        score += tw.dot(query, key)
    gate = tw.load(gates + t, mask=held, other=0.0)
    score *= tw.exp(gate[:, None] - gate[None, :])
    score = tw.where((i[:, None] >= i[None, :]) & held[:, None] & held[None, :], score, 0)
    value = tw.load(v + t[:, None] * V + b[None, :], mask=held[:, None], other=0.0)
    acc = acc * tw.exp(gate)[:, None] + tw.dot(score.to(value.dtype), value)
    tw.store(out + t[:, None] * V + b[None, :], acc * scale, mask=held[:, None])


@tw.jit
def chunk_cumsum(x, out, length, T: tw.constexpr):
    t = tw.program_id(0) * T + tw.arange(0, T)
    tw.store(out + t, tw.cumsum(tw.load(x + t, mask=t < length, other=0.0), 0), mask=t < length)


@tw.jit
def invert_lower(lower, inverse, length, T: tw.constexpr):
    """(1 + the part of `lower` below the diagonal)^-1, row by row, for each block of T rows."""
    i = tw.arange(0, T)
    t = tw.program_id(0) * T + i
    rows = tw.load(lower + t[:, None] * T + i[None, :], mask=t[:, None] < length, other=0.0)
    rows = -tw.where(i[:, None] > i[None, :], rows, 0.0)
    for r in range(1, min(T, length - tw.program_id(0) * T)):
        row = -tw.load(lower + (tw.program_id(0) * T + r) * T + i)
        row = tw.where(i < r, row, 0.0)
        row += tw.sum(row[:, None] * rows, 0)
        rows = tw.where((i == r)[:, None], row[None, :], rows)
    rows += i[:, None] == i[None, :]
    tw.store(inverse + t[:, None] * T + i[None, :], rows, mask=t[:, None] < length)


@tw.jit
def delta_rule(
    q, k, v, beta, inverse, out, last, length, scale,
    K: tw.constexpr, V: tw.constexpr, T: tw.constexpr, BV: tw.constexpr, PRECISION: tw.constexpr,
):  # fmt: skip
    """S[t] = S[t-1] + beta[t] k[t] (v[t] - S[t-1]^T k[t])^T in chunks of T steps."""
    i = tw.arange(0, T)
    a = tw.arange(0, K)
    b = tw.program_id(0) * BV + tw.arange(0, BV)
    state = tw.zeros([K, BV], tw.float32)
    for first in range(0, length, T):
        t = first + i
        held = t[:, None] < length
        query = tw.load(q + t[:, None] * K + a[None, :], mask=held, other=0.0)
        key = tw.load(k + t[:, None] * K + a[None, :], mask=held, other=0.0)
        value = tw.load(v + t[:, None] * V + b[None, :], mask=held, other=0.0)
        rate = tw.load(beta + t, mask=t < length, other=0.0)
        solved = tw.load(inverse + t[:, None] * T + i[None, :], mask=held, other=0.0)
        change = tw.dot(solved, value * rate[:, None], input_precision=PRECISION)
        weight = tw.dot(solved, key * rate[:, None], input_precision=PRECISION)
        change -= tw.dot(weight, state, input_precision=PRECISION)
        score = tw.dot(query, tw.trans(key), input_precision=PRECISION)
        score = tw.where(i[:, None] >= i[None, :], score, 0.0)
        result = tw.dot(query, state, input_precision=PRECISION)
        result += tw.dot(score, change, input_precision=PRECISION)
        tw.store(out + t[:, None] * V + b[None, :], result * scale, mask=held)
        state += tw.dot(tw.trans(key), change, input_precision=PRECISION)
    tw.store(last + a[:, None] * V + b[None, :], state)


@tw.jit
def linear_gradients(
    q, k, v, above, dq, dk, dv, length, K: tw.constexpr, V: tw.constexpr, T: tw.constexpr
):
    """Of o = tril(q k^T) v: one loop forward in time for dq, one backward for dk and dv."""
    i = tw.arange(0, T)
    a = tw.arange(0, K)
    b = tw.arange(0, V)
    state = tw.zeros([V, K], tw.float32)
    for chunk in range(0, tw.cdiv(length, T)):
        t = chunk * T + i
        held = t[:, None] < length
        key = tw.load(k + t[:, None] * K + a[None, :], mask=held, other=0.0)
        value = tw.load(v + t[None, :] * V + b[:, None], mask=t[None, :] < length, other=0.0)
        change = tw.load(above + t[:, None] * V + b[None, :], mask=held, other=0.0)
        score = tw.where(i[:, None] >= i[None, :], tw.dot(change, value), 0).to(key.dtype)
        acc = tw.dot(change, state.to(change.dtype), tw.dot(score, key))
        tw.store(dq + t[:, None] * K + a[None, :], acc, mask=held)
        state += tw.dot(value, key)
    state = tw.zeros([K, V], tw.float32)
    for chunk in range(tw.cdiv(length, T) - 1, -1, -1):
        t = chunk * T + i
        held = t[:, None] < length
        query = tw.load(q + t[None, :] * K + a[:, None], mask=t[None, :] < length, other=0.0)
        key = tw.load(k + t[:, None] * K + a[None, :], mask=held, other=0.0)
        value = tw.load(v + t[:, None] * V + b[None, :], mask=held, other=0.0)
        change = tw.load(above + t[:, None] * V + b[None, :], mask=held, other=0.0)
        upper = i[:, None] <= i[None, :]
        score = tw.where(upper, tw.dot(value, tw.trans(change)), 0).to(key.dtype)
        acc = tw.dot(value, tw.trans(state).to(value.dtype), tw.dot(score, tw.trans(query)))
        tw.store(dk + t[:, None] * K + a[None, :], acc, mask=held)
        score = tw.where(upper, tw.dot(key, query), 0).to(key.dtype)
        acc = tw.dot(key, state.to(key.dtype), tw.dot(score, change))
        tw.store(dv + t[:, None] * V + b[None, :], acc, mask=held)
        state += tw.dot(query, change)
