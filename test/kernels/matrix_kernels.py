"""Kernels around matrix products, as users write them."""

from __future__ import annotations

import tilewright as tw


@tw.jit
def matmul(
    a, b, c, M, N, K, a_row, a_column, b_row, b_column,
    BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr, PRECISION: tw.constexpr,
    ACC: tw.constexpr,
):  # fmt: skip
    """C = A B of any strides and sizes."""
    m = tw.program_id(0) * BM + tw.arange(0, BM)
    n = tw.program_id(1) * BN + tw.arange(0, BN)
    k = tw.arange(0, BK)
    left = a + m[:, None] * a_row + k[None, :] * a_column
    right = b + k[:, None] * b_row + n[None, :] * b_column
    acc = tw.zeros((BM, BN), dtype=ACC)
    for remaining in range(K, 0, -BK):
        x = tw.load(left, mask=(m[:, None] < M) & (k[None, :] < remaining), other=0)
        y = tw.load(right, mask=(k[:, None] < remaining) & (n[None, :] < N), other=0)
        acc = tw.dot(x, y, acc, input_precision=PRECISION, out_dtype=ACC)
        left += BK * a_column
        right += BK * b_row
    tw.store(c + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))


@tw.jit
def matmul_whole(
    a, b, c, N, K, a_row, a_column, b_row, b_column,
    BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr, PRECISION: tw.constexpr,
    ACC: tw.constexpr,
):  # fmt: skip
    """C = A B of whole tiles: no masks."""
    m = tw.program_id(0) * BM + tw.arange(0, BM)
    n = tw.program_id(1) * BN + tw.arange(0, BN)
    k = tw.arange(0, BK)
    left = a + m[:, None] * a_row + k[None, :] * a_column
    right = b + k[:, None] * b_row + n[None, :] * b_column
    acc = tw.zeros((BM, BN), dtype=ACC)
    for _ in range(0, K, BK):
        x = tw.load(left)
        y = tw.load(right)
        acc = tw.dot(x, y, acc, input_precision=PRECISION, out_dtype=ACC)
        left += BK * a_column
        right += BK * b_row
    tw.store(c + m[:, None] * N + n[None, :], acc)


@tw.jit
def batched_matmul(
    a, b, c, K, B: tw.constexpr, M: tw.constexpr, N: tw.constexpr, BK: tw.constexpr
):
    """Products of rank 3: B matrices of one tile each, row-major."""
    i = tw.arange(0, B)[:, None, None]
    m = tw.arange(0, M)[None, :, None]
    n = tw.arange(0, N)[None, None, :]
    acc = tw.zeros((B, M, N), dtype=tw.float32)
    for start in range(0, K, BK):
        k = start + tw.arange(0, BK)
        x = tw.load(a + (i * M + m) * K + k[None, None, :])
        y = tw.load(b + (i * K + k[None, :, None]) * N + n)
        acc = tw.dot(x, y, acc)
    tw.store(c + (i * M + m) * N + n, acc)


@tw.jit
def split_k_matmul(
    a, b, c, M, N, K, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr, SPLIT: tw.constexpr
):
    """Programs along axis 2 share the inner dimension and add up their parts atomically."""
    m = tw.program_id(0) * BM + tw.arange(0, BM)
    n = tw.program_id(1) * BN + tw.arange(0, BN)
    acc = tw.zeros((BM, BN), tw.float32)
    for step in range(tw.cdiv(K, BK * SPLIT)):
        k = (step * SPLIT + tw.program_id(2)) * BK + tw.arange(0, BK)
        x = tw.load(a + m[:, None] * K + k[None, :], (m < M)[:, None] & (k < K)[None, :], 0.0)
        y = tw.load(b + k[:, None] * N + n[None, :], (k < K)[:, None] & (n < N)[None, :], 0.0)
        acc = tw.dot(x, y, acc)
    inside = (m < M)[:, None] & (n < N)[None, :]
    tw.atomic_add(c + m[:, None] * N + n[None, :], acc, mask=inside)


@tw.jit
def grouped_matmul(
    a, b, c, sizes, starts, N, K, groups, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr
):
    """Persistent programs walk over the tiles of all groups; a group owns rows of A and a B."""
    tile = tw.program_id(0)
    first = 0
    tiles_n = tw.cdiv(N, BN)
    for group in range(groups):
        size = tw.load(sizes + group)
        start = tw.load(starts + group)
        count = tw.cdiv(size, BM) * tiles_n
        while tile >= first and tile < first + count:
            m = (tile - first) // tiles_n * BM + tw.arange(0, BM)
            n = (tile - first) % tiles_n * BN + tw.arange(0, BN)
            acc = tw.zeros((BM, BN), tw.float32)
            for step in range(0, K, BK):
                k = step + tw.arange(0, BK)
                inside = (m < size)[:, None] & (k < K)[None, :]
                x = tw.load(a + (start + m)[:, None] * K + k[None, :], mask=inside, other=0.0)
                inside = (k < K)[:, None] & (n < N)[None, :]
                y = tw.load(b + (group * K + k)[:, None] * N + n[None, :], mask=inside, other=0.0)
                acc = tw.dot(x, y, acc)
            inside = (m < size)[:, None] & (n < N)[None, :]
            tw.store(c + (start + m)[:, None] * N + n[None, :], acc, mask=inside)
            tile += tw.num_programs(0)
        first += count


@tw.jit
def linear_relu(x, w, bias, out, K, N: tw.constexpr, BM: tw.constexpr, BK: tw.constexpr):
    """relu(x w^T + bias) in f16: the weights lie as [N, K]."""
    m = tw.program_id(0) * BM + tw.arange(0, BM)
    n = tw.arange(0, N)
    acc = tw.zeros((BM, N), tw.float32)
    for start in range(0, K, BK):
        k = start + tw.arange(0, BK)
        left = tw.load(x + m[:, None] * K + k[None, :])
        right = tw.load(w + n[None, :] * K + k[:, None])
        acc = tw.dot(left, right, acc)
    acc = tw.maximum(acc + tw.load(bias + n)[None, :], 0.0)
    tw.store(out + m[:, None] * N + n[None, :], acc.to(tw.float16))


@tw.jit
def dequantized_int8(x, w, scales, out, K, N, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr):
    """x times int8 weights with a scale for each column."""
    m = tw.program_id(0) * BM + tw.arange(0, BM)
    n = tw.program_id(1) * BN + tw.arange(0, BN)
    acc = tw.zeros((BM, BN), tw.float32)
    for start in range(0, K, BK):
        k = start + tw.arange(0, BK)
        left = tw.load(x + m[:, None] * K + k[None, :])
        right = tw.load(w + k[:, None] * N + n[None, :]).to(tw.float16)
        acc = tw.dot(left, right, acc)
    acc = acc * tw.load(scales + n)[None, :]
    tw.store(out + m[:, None] * N + n[None, :], acc)


@tw.jit
def dequantized_int4(
    x, packed, scales, out, K, N, GROUP: tw.constexpr, BM: tw.constexpr, BN: tw.constexpr,
    BK: tw.constexpr,
):  # fmt: skip
    """Eight 4-bit weights of one column per 32-bit word; a scale per group of rows."""
    m = tw.program_id(0) * BM + tw.arange(0, BM)
    n = tw.program_id(1) * BN + tw.arange(0, BN)
    shift = (tw.arange(0, 8) * 4)[None, :, None]
    acc = tw.zeros((BM, BN), tw.float32)
    for start in range(0, K, BK):
        k = start + tw.arange(0, BK)
        left = tw.load(x + m[:, None] * K + k[None, :])
        words = start // 8 + tw.arange(0, BK // 8)
        word = tw.load(packed + words[:, None] * N + n[None, :])
        word = tw.broadcast_to(word[:, None, :], (BK // 8, 8, BN))
        weight = tw.reshape((word >> shift) & 0xF, (BK, BN)) - 8
        scale = tw.load(scales + (k // GROUP)[:, None] * N + n[None, :])
        acc = tw.dot(left, (weight.to(tw.float16) * scale), acc)
    tw.store(out + m[:, None] * N + n[None, :], acc)


@tw.jit
def two_layers(x, w1, w2, out, K, HIDDEN, N: tw.constexpr, BM: tw.constexpr, BK: tw.constexpr,
               BH: tw.constexpr):  # fmt: skip
    """relu(x w1) w2: a piece of the hidden layer at a time; a loop with a product within a loop."""
    m = tw.program_id(0) * BM + tw.arange(0, BM)
    n = tw.arange(0, N)
    acc = tw.zeros((BM, N), tw.float32)
    for piece in range(0, HIDDEN, BH):
        h = piece + tw.arange(0, BH)
        hidden = tw.zeros((BM, BH), tw.float32)
        for start in range(0, K, BK):
            k = start + tw.arange(0, BK)
            left = tw.load(x + m[:, None] * K + k[None, :])
            hidden = tw.dot(left, tw.load(w1 + k[:, None] * HIDDEN + h[None, :]), hidden)
        active = tw.maximum(hidden, 0.0).to(tw.float16)
        acc = tw.dot(active, tw.load(w2 + h[:, None] * N + n[None, :]), acc)
    tw.store(out + m[:, None] * N + n[None, :], acc)


@tw.jit
def linear_softmax(x, w, out, K, N: tw.constexpr, BM: tw.constexpr, BK: tw.constexpr):
    """The softmax of each row of x w."""
    m = tw.program_id(0) * BM + tw.arange(0, BM)
    n = tw.arange(0, N)
    acc = tw.zeros((BM, N), tw.float32)
    for start in range(0, K, BK):
        k = start + tw.arange(0, BK)
        left = tw.load(x + m[:, None] * K + k[None, :])
        acc = tw.dot(left, tw.load(w + k[:, None] * N + n[None, :]), acc)
    shares = tw.exp(acc - tw.max(acc, 1)[:, None])
    tw.store(out + m[:, None] * N + n[None, :], shares / tw.sum(shares, 1)[:, None])


@tw.jit
def sum_of_products(a, b, c, d, out, K, M: tw.constexpr, N: tw.constexpr, BK: tw.constexpr):
    """A B + C D: four loads and two products an iteration, and A is read in two layouts."""
    m = tw.arange(0, M)
    n = tw.arange(0, N)
    acc = tw.zeros((M, N), tw.float32)
    totals = tw.zeros((M,), tw.float32)
    for start in range(0, K, BK):
        k = start + tw.arange(0, BK)
        x = tw.load(a + m[:, None] * K + k[None, :])
        acc = tw.dot(x, tw.load(b + k[:, None] * N + n[None, :]), acc)
        y = tw.load(c + m[:, None] * K + k[None, :])
        acc = tw.dot(y, tw.load(d + k[:, None] * N + n[None, :]), acc)
        totals += tw.sum(x.to(tw.float32), 1)
    tw.store(out + m[:, None] * N + n[None, :], acc + totals[:, None])


@tw.jit
def gathered_matmul(
    a, pages, b, out, used, K, M: tw.constexpr, N: tw.constexpr, BK: tw.constexpr
):
    """Blocks of B are found through a table: a load feeds the address of a load."""
    m = tw.arange(0, M)
    n = tw.arange(0, N)
    k = tw.arange(0, BK)
    acc = tw.zeros((M, N), tw.float32)
    for step in range(used // BK):
        page = tw.load(pages + step)
        x = tw.load(a + m[:, None] * K + (step * BK + k)[None, :])
        y = tw.load(b + (page * BK + k)[:, None] * N + n[None, :])
        acc = tw.dot(x, y, acc)
    tw.store(out + m[:, None] * N + n[None, :], acc)


@tw.jit
def chased_matmul(
    a, links, b, out, used, K, M: tw.constexpr, N: tw.constexpr, BK: tw.constexpr
):
    """Each block of B names the next one: the address of a load is carried from load to load."""
    m = tw.arange(0, M)
    n = tw.arange(0, N)
    k = tw.arange(0, BK)
    acc = tw.zeros((M, N), tw.float32)
    page = tw.load(links)
    for step in range(used // BK):
        x = tw.load(a + m[:, None] * K + (step * BK + k)[None, :])
        y = tw.load(b + (page * BK + k)[:, None] * N + n[None, :])
        acc = tw.dot(x, y, acc)
        page = tw.load(links + page)
    tw.store(out + m[:, None] * N + n[None, :], acc)


@tw.jit
def tables_matmul(
    a, order, pages, rows, b, out, used, K, M: tw.constexpr, N: tw.constexpr, BK: tw.constexpr
):
    """Rows of B are found through three tables, each of which is read where the one before says."""
    m = tw.arange(0, M)
    n = tw.arange(0, N)
    k = tw.arange(0, BK)
    acc = tw.zeros((M, N), tw.float32)
    for step in range(used // BK):
        place = tw.load(order + step)
        page = tw.load(pages + place)
        row = tw.load(rows + page * BK + k)
        x = tw.load(a + m[:, None] * K + (place * BK + k)[None, :])
        y = tw.load(b + row[:, None] * N + n[None, :])
        acc = tw.dot(x, y, acc)
    tw.store(out + m[:, None] * N + n[None, :], acc)


@tw.jit
def branching_matmul(
    a, kinds, b, c, out, used, K, M: tw.constexpr, N: tw.constexpr, BK: tw.constexpr
):
    """Loads, of addresses too, on both sides of nested branches that a table decides."""
    m = tw.arange(0, M)
    n = tw.arange(0, N)
    k = tw.arange(0, BK)
    acc = tw.zeros((M, N), tw.float32)
    for step in range(used // BK):
        x = tw.load(a + m[:, None] * K + (step * BK + k)[None, :])
        kind = tw.load(kinds + step)
        if kind > 0:
            if kind > 1:
                block = tw.load(kinds + kind)
                y = tw.load(c + (block * BK + k)[:, None] * N + n[None, :], mask=k[:, None] < 16, other=0.0)
                acc = tw.dot(x, y, acc)
            else:
                y = tw.load(b + (step * BK + k)[:, None] * N + n[None, :])
                acc = tw.dot(x, y, acc)
                acc = acc * 2.0
        else:
            acc += kind
    tw.store(out + m[:, None] * N + n[None, :], acc)


@tw.jit
def chosen_matmul(a, wanted, b, out, K, M: tw.constexpr, N: tw.constexpr, BK: tw.constexpr):
    """Products, and loads, only of the blocks that are wanted; the others count in another way."""
    m = tw.arange(0, M)
    n = tw.arange(0, N)
    acc = tw.zeros((M, N), tw.float32)
    for start in range(0, K, BK):
        k = start + tw.arange(0, BK)
        x = tw.load(a + m[:, None] * K + k[None, :])
        if tw.load(wanted + start // BK) != 0:
            acc = tw.dot(x, tw.load(b + k[:, None] * N + n[None, :]), acc)
        else:
            acc += tw.sum(x.to(tw.float32), 1)[:, None]
    tw.store(out + m[:, None] * N + n[None, :], acc)


@tw.jit
def fed_back(a, written, b, out, K, M: tw.constexpr, N: tw.constexpr, BK: tw.constexpr):
    """With `written` = `a`, the loop writes what it loads an iteration later."""
    m = tw.arange(0, M)
    n = tw.arange(0, N)
    k = tw.arange(0, BK)
    acc = tw.zeros((M, N), tw.float32)
    for start in range(0, K, BK):
        x = tw.load(a + m[:, None] * BK + k[None, :])
        y = tw.load(b + (start + k)[:, None] * N + n[None, :])
        acc = tw.dot(x, y, acc)
        tw.debug_barrier()
        tw.store(written + m[:, None] * BK + k[None, :], x + 1.0)
        tw.debug_barrier()
    tw.store(out + m[:, None] * N + n[None, :], acc)


@tw.jit
def matmul_between(
    a, b, out, bounds, K, M: tw.constexpr, N: tw.constexpr, BK: tw.constexpr, STEP: tw.constexpr
):
    """The blocks of the inner dimension that a loop of any bounds and step visits."""
    m = tw.arange(0, M)
    n = tw.arange(0, N)
    acc = tw.zeros((M, N), tw.float32)
    for place in range(tw.load(bounds), tw.load(bounds + 1), STEP or tw.load(bounds + 2)):
        k = (place - tw.load(bounds + 3)).to(tw.int32) + tw.arange(0, BK)
        x = tw.load(a + m[:, None] * K + k[None, :])
        y = tw.load(b + k[:, None] * N + n[None, :])
        acc = tw.dot(x, y, acc)
    tw.store(out + m[:, None] * N + n[None, :], acc)


@tw.jit
def prefetching_matmul(a, b, out, K, M: tw.constexpr, N: tw.constexpr, BK: tw.constexpr):
    """Loads for the next iteration are carried to it; the loop's last values count twice."""
    m = tw.arange(0, M)
    n = tw.arange(0, N)
    left = a + m[:, None] * K + tw.arange(0, BK)[None, :]
    right = b + tw.arange(0, BK)[:, None] * N + n[None, :]
    acc = tw.zeros((M, N), tw.float32)
    x, y = tw.load(left), tw.load(right)
    for _ in range(0, K - BK, BK):
        left += BK
        right += BK * N
        acc = tw.dot(x, y, acc)
        x, y = tw.load(left), tw.load(right)
    acc = tw.dot(x, y, acc)
    acc = tw.dot(tw.load(left), tw.load(right), acc)
    tw.store(out + m[:, None] * N + n[None, :], acc)


@tw.jit
def two_loops(a, b, out, K, M: tw.constexpr, N: tw.constexpr, BK: tw.constexpr):
    """Twice: two loops with products, one of a tile with itself transposed."""
    m = tw.arange(0, M)
    n = tw.arange(0, N)
    acc = tw.zeros((M, N), tw.float32)
    squares = tw.zeros((M, M), tw.float32)
    for _ in range(2):
        for start in range(0, K, BK):
            k = start + tw.arange(0, BK)
            x = tw.load(a + m[:, None] * K + k[None, :])
            acc = tw.dot(x, tw.load(b + k[:, None] * N + n[None, :]), acc)
        for start in range(0, K, BK):
            x = tw.load(a + m[:, None] * K + (start + tw.arange(0, BK))[None, :])
            squares = tw.dot(x, tw.trans(x), squares)
    tw.store(out + m[:, None] * N + n[None, :], acc + tw.sum(squares, 1)[:, None])


@tw.jit
def attention(
    q, k, v, bias, out, sums, queries, keys, heads, shared_by, scale,
    D: tw.constexpr, BM: tw.constexpr, BN: tw.constexpr, CAUSAL: tw.constexpr, BIAS: tw.constexpr,
):  # fmt: skip
    """Forward attention; `shared_by` neighbouring heads read the same keys and values."""
    head = tw.program_id(1)
    m = tw.program_id(0) * BM + tw.arange(0, BM)
    d = tw.arange(0, D)
    k += head // shared_by * keys * D
    v += head // shared_by * keys * D
    at = head * queries * D + m[:, None] * D + d[None, :]
    query = tw.load(q + at, mask=m[:, None] < queries, other=0.0)
    peak = tw.full([BM], -1.0e30, tw.float32)
    norm = tw.zeros([BM], tw.float32)
    acc = tw.zeros([BM, D], tw.float32)
    end = tw.minimum(keys, (tw.program_id(0) + 1) * BM) if CAUSAL else keys
    for first in range(0, end, BN):
        n = first + tw.arange(0, BN)
        key = tw.load(k + n[None, :] * D + d[:, None], mask=n[None, :] < keys, other=0.0)
        score = tw.dot(query, key) * (scale * 1.4426950408889634)
        inside = (n < keys)[None, :]
        if CAUSAL:
            inside = inside & (n[None, :] <= m[:, None])
        if BIAS:
            places = bias + (head * queries + m[:, None]) * keys + n[None, :]
            valid = inside & (m[:, None] < queries)
            score += tw.load(places, mask=valid, other=0.0).to(tw.float32) * 1.4426950408889634
        score = tw.where(inside, score, -1.0e30)
        higher = tw.maximum(peak, tw.max(score, 1))
        p = tw.exp2(score - higher[:, None])
        shrink = tw.exp2(peak - higher)
        norm = norm * shrink + tw.sum(p, 1)
        value = tw.load(v + n[:, None] * D + d[None, :], mask=n[:, None] < keys, other=0.0)
        acc = tw.dot(p.to(value.dtype), value, acc * shrink[:, None])
        peak = higher
    tw.store(out + at, acc / norm[:, None], mask=m[:, None] < queries)
    tw.store(sums + head * queries + m, peak + tw.log2(norm), mask=m < queries)


@tw.jit
def paged_attention(
    q, k_pages, v_pages, table, lengths, out, most_pages, scale,
    ROWS: tw.constexpr, D: tw.constexpr, PAGE: tw.constexpr,
):  # fmt: skip
    """The ROWS queries of a sequence; its keys and values lie in pages that a table names."""
    sequence = tw.program_id(0)
    length = tw.load(lengths + sequence)
    r = tw.arange(0, ROWS)
    d = tw.arange(0, D)
    t = tw.arange(0, PAGE)
    at = (sequence * ROWS + r[:, None]) * D + d[None, :]
    query = tw.load(q + at)
    peak = tw.full([ROWS], -1.0e30, tw.float32)
    norm = tw.zeros([ROWS], tw.float32)
    acc = tw.zeros([ROWS, D], tw.float32)
    for page in range(tw.cdiv(length, PAGE)):
        block = tw.load(table + sequence * most_pages + page)
        inside = page * PAGE + t < length
        rows = block * PAGE + t
        key = tw.load(k_pages + rows[None, :] * D + d[:, None], mask=inside[None, :], other=0.0)
        score = tw.dot(query, key) * (scale * 1.4426950408889634)
        score = tw.where(inside[None, :], score, -1.0e30)
        higher = tw.maximum(peak, tw.max(score, 1))
        p = tw.exp2(score - higher[:, None])
        shrink = tw.exp2(peak - higher)
        norm = norm * shrink + tw.sum(p, 1)
        value = tw.load(v_pages + rows[:, None] * D + d[None, :], mask=inside[:, None], other=0.0)
        acc = tw.dot(p.to(value.dtype), value, acc * shrink[:, None])
        peak = higher
    tw.store(out + at, tw.where(norm[:, None] > 0, acc / norm[:, None], 0.0))


@tw.jit
def attention_gradients(
    q, k, v, gradient, sums, deltas, dq, dk, dv, length, scale,
    D: tw.constexpr, BM: tw.constexpr, BN: tw.constexpr, CAUSAL: tw.constexpr,
):  # fmt: skip
    """Of BN keys: their dk and dv, and their part of dq, which is added up atomically."""
    head = tw.program_id(1)
    base = head * length * D
    n = tw.program_id(0) * BN + tw.arange(0, BN)
    d = tw.arange(0, D)
    rows = base + n[:, None] * D + d[None, :]
    key = tw.load(k + rows, mask=n[:, None] < length, other=0.0)
    value = tw.load(v + rows, mask=n[:, None] < length, other=0.0)
    key_gradient = tw.zeros([BN, D], tw.float32)
    value_gradient = tw.zeros([BN, D], tw.float32)
    start = tw.program_id(0) * BN // BM * BM if CAUSAL else 0
    for first in range(start, length, BM):
        m = first + tw.arange(0, BM)
        at = base + m[:, None] * D + d[None, :]
        query = tw.load(q + at, mask=m[:, None] < length, other=0.0)
        above = tw.load(gradient + at, mask=m[:, None] < length, other=0.0)
        peak = tw.load(sums + head * length + m, mask=m < length, other=0.0)
        delta = tw.load(deltas + head * length + m, mask=m < length, other=0.0)
        score = tw.dot(query, tw.trans(key)) * (scale * 1.4426950408889634)
        inside = (m < length)[:, None] & (n < length)[None, :]
        if CAUSAL:
            inside = inside & (n[None, :] <= m[:, None])
        p = tw.where(inside, tw.exp2(score - peak[:, None]), 0.0)
        value_gradient = tw.dot(tw.trans(p.to(tw.float16)), above, value_gradient)
        change = p * (tw.dot(above, tw.trans(value)) - delta[:, None]) * scale
        change = change.to(tw.float16)
        key_gradient = tw.dot(tw.trans(change), query, key_gradient)
        tw.atomic_add(dq + at, tw.dot(change, key), mask=m[:, None] < length)
    tw.store(dk + rows, key_gradient, mask=n[:, None] < length)
    tw.store(dv + rows, value_gradient, mask=n[:, None] < length)
