"""Kernels as users write them for GPUs, each with NumPy's answer: (name, kernel, run)."""

from __future__ import annotations

import tilewright as tw


@tw.jit
def transpose(x, y, rows, columns, BLOCK: tw.constexpr):
    r = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    c = tw.program_id(1) * BLOCK + tw.arange(0, BLOCK)
    inside = (r[:, None] < rows) & (c[None, :] < columns)
    tile = tw.load(x + r[:, None] * columns + c[None, :], mask=inside)
    tw.store(y + c[:, None] * rows + r[None, :], tw.trans(tile), mask=tw.trans(inside))


@tw.jit
def reduce_both(x, by_row, by_column, ROWS: tw.constexpr, COLUMNS: tw.constexpr):
    r = tw.arange(0, ROWS)
    c = tw.arange(0, COLUMNS)
    tile = tw.load(x + r[:, None] * COLUMNS + c[None, :])
    tw.store(by_row + r, tw.sum(tile, 1))
    tw.store(by_column + c, tw.max(tile, 0))


@tw.jit
def prefix(x, sums, products, ROWS: tw.constexpr, COLUMNS: tw.constexpr):
    r = tw.arange(0, ROWS)
    c = tw.arange(0, COLUMNS)
    at = r[:, None] * COLUMNS + c[None, :]
    tile = tw.load(x + at)
    tw.store(sums + at, tw.cumsum(tile, 1))
    tw.store(products + at, tw.cumprod(tile, 0))


@tw.jit
def arg_extremes(x, largest, smallest, columns, BLOCK: tw.constexpr):
    row = tw.program_id(0)
    c = tw.arange(0, BLOCK)
    value = tw.load(x + row * columns + c, mask=c < columns, other=-float("inf"))
    tw.store(largest + row, tw.argmax(value, 0))
    value = tw.where(c < columns, value, float("inf"))
    tw.store(smallest + row, tw.argmin(value, 0))


@tw.jit
def histogram(x, counts, n, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    value = tw.load(x + i, mask=i < n, other=0)
    tw.atomic_add(counts + value, 1, mask=i < n)


@tw.jit
def gather_rows(table, index, out, columns, BLOCK: tw.constexpr):
    row = tw.load(index + tw.program_id(0))
    c = tw.arange(0, BLOCK)
    tw.store(
        out + tw.program_id(0) * columns + c,
        tw.load(table + row * columns + c, mask=c < columns),
        mask=c < columns,
    )


@tw.jit
def scatter(x, index, out, n, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    inside = i < n
    to = tw.load(index + i, mask=inside, other=0)
    tw.store(out + to, tw.load(x + i, mask=inside), mask=inside)


@tw.jit
def gather_in_tile(x, index, out, ROWS: tw.constexpr, COLUMNS: tw.constexpr):
    r = tw.arange(0, ROWS)
    c = tw.arange(0, COLUMNS)
    at = r[:, None] * COLUMNS + c[None, :]
    tw.store(out + at, tw.gather(tw.load(x + at), tw.load(index + at), 1))


@tw.jit
def cross_entropy(logits, labels, losses, columns, BLOCK: tw.constexpr):
    row = tw.program_id(0)
    c = tw.arange(0, BLOCK)
    value = tw.load(logits + row * columns + c, mask=c < columns, other=-float("inf"))
    value = value.to(tw.float32)
    peak = tw.max(value, 0)
    total = tw.log(tw.sum(tw.exp(value - peak), 0)) + peak
    label = tw.load(labels + row)
    tw.store(losses + row, total - tw.load(logits + row * columns + label).to(tw.float32))


@tw.jit
def rms_norm(x, weight, out, columns, eps, BLOCK: tw.constexpr):
    row = tw.program_id(0)
    c = tw.arange(0, BLOCK)
    inside = c < columns
    value = tw.load(x + row * columns + c, mask=inside, other=0.0).to(tw.float32)
    scale = tw.rsqrt(tw.sum(value * value, 0) / columns + eps)
    w = tw.load(weight + c, mask=inside, other=0.0).to(tw.float32)
    tw.store(out + row * columns + c, (value * scale * w).to(out.dtype.element_ty), mask=inside)


@tw.jit
def rotary(x, cos, sin, out, heads, HALF: tw.constexpr):
    token = tw.program_id(0)
    head = tw.program_id(1)
    h = tw.arange(0, HALF)
    base = (token * heads + head) * 2 * HALF
    left = tw.load(x + base + h)
    right = tw.load(x + base + HALF + h)
    c = tw.load(cos + token * HALF + h)
    s = tw.load(sin + token * HALF + h)
    tw.store(out + base + h, left * c - right * s)
    tw.store(out + base + HALF + h, right * c + left * s)


@tw.jit
def long_softmax(x, out, columns, BLOCK: tw.constexpr):
    row = tw.program_id(0)
    x += row * columns
    out += row * columns
    peak = tw.full([BLOCK], -float("inf"), tw.float32)
    total = tw.zeros([BLOCK], tw.float32)
    for start in range(0, columns, BLOCK):
        c = start + tw.arange(0, BLOCK)
        value = tw.load(x + c, mask=c < columns, other=-float("inf"))
        higher = tw.maximum(peak, value)
        shrink = tw.where(peak == -float("inf"), 0.0, tw.exp(peak - higher))
        grow = tw.where(value == -float("inf"), 0.0, tw.exp(value - higher))
        total = total * shrink + grow
        peak = higher
    top = tw.max(peak, 0)
    norm = tw.sum(tw.where(peak == -float("inf"), 0.0, total * tw.exp(peak - top)), 0)
    for start in range(0, columns, BLOCK):
        c = start + tw.arange(0, BLOCK)
        value = tw.load(x + c, mask=c < columns, other=-float("inf"))
        tw.store(out + c, tw.exp(value - top) / norm, mask=c < columns)


@tw.jit
def dropout(x, out, n, p, seed, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    inside = i < n
    keep = tw.rand(seed, i) > p
    value = tw.load(x + i, mask=inside, other=0.0)
    tw.store(out + i, tw.where(keep, value / (1 - p), 0.0), mask=inside)


@tw.jit
def matmul(a, b, c, M, N, K, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr):
    m = tw.program_id(0) * BM + tw.arange(0, BM)
    n = tw.program_id(1) * BN + tw.arange(0, BN)
    k = tw.arange(0, BK)
    acc = tw.zeros((BM, BN), tw.float32)
    for start in range(0, K, BK):
        left = tw.load(
            a + m[:, None] * K + (start + k)[None, :],
            mask=(m[:, None] < M) & ((start + k)[None, :] < K), other=0.0,
        )  # fmt: skip
        right = tw.load(
            b + (start + k)[:, None] * N + n[None, :],
            mask=((start + k)[:, None] < K) & (n[None, :] < N), other=0.0,
        )  # fmt: skip
        acc = tw.dot(left, right, acc)
    tw.store(c + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))


@tw.jit
def histogram_in_tile(x, counts, n, BINS: tw.constexpr, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    counted = tw.histogram(tw.load(x + i, mask=i < n, other=0), BINS, mask=i < n)
    tw.atomic_add(counts + tw.arange(0, BINS), counted, sem="relaxed")


@tw.jit
def matmul_of_bytes(
    a, b, c, M, N, K, a_row, b_column, c_row,
    BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr, MOST: tw.constexpr,
):  # fmt: skip
    """C = A B^T of 8-bit floats or integers, whose rows run along K. Sums of at most `MOST` products may
    lose bits."""
    m = tw.program_id(0) * BM + tw.arange(0, BM)
    n = tw.program_id(1) * BN + tw.arange(0, BN)
    k = tw.arange(0, BK)
    sums: tw.constexpr = tw.int32 if a.dtype.element_ty.is_int() else tw.float32
    acc = tw.zeros((BM, BN), sums)
    left = a + (m % M)[:, None] * a_row + k[None, :]
    right = b + (n % N)[None, :] * b_column + k[:, None]
    for start in range(0, K, BK):
        x = tw.load(left, mask=k[None, :] < K - start, other=0)
        y = tw.load(right, mask=k[:, None] < K - start, other=0)
        acc = tw.dot(x, y, acc, max_num_imprecise_acc=MOST)
        left += BK
        right += BK
    at = c + m[:, None] * c_row + n[None, :]
    tw.store(at, acc.to(c.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N))
