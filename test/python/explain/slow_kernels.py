"""Kernels with one fault each, which an explanation has to name."""

import tilewright as tw


@tw.jit
def strided(out, x, n, stride, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    value = tw.load(x + i * stride, mask=i < n)
    tw.store(out + i, value * 2, mask=i < n)


@tw.jit
def gathered(out, x, rows, n, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    row = tw.load(rows + i, mask=i < n, other=0)
    tw.store(out + i, tw.load(x + row), mask=i < n)


@tw.jit
def large_sums(c, a, b, k, BLOCK: tw.constexpr):
    i = tw.arange(0, BLOCK)
    j = tw.arange(0, 16)
    sums = tw.zeros((BLOCK, BLOCK), tw.float32)
    for start in range(0, k, 16):
        left = tw.load(a + i[:, None] * k + (start + j)[None, :])
        right = tw.load(b + (start + j)[:, None] * BLOCK + i[None, :])
        sums = tw.dot(left, right, sums)
    tw.store(c + i[:, None] * BLOCK + i[None, :], sums)


@tw.jit
def table(out, x, index, BLOCK: tw.constexpr):
    i = tw.arange(0, BLOCK)
    j = tw.arange(0, 32)
    place = i[:, None] * 32 + j[None, :]
    values = tw.load(x + place)
    tw.store(out + place, tw.gather(values, tw.load(index + place), 0))


@tw.jit
def ones_outside(c, a, b, k, n, BLOCK: tw.constexpr):
    i = tw.arange(0, BLOCK)
    j = tw.arange(0, 32)
    sums = tw.zeros((BLOCK, BLOCK), tw.float32)
    for start in range(0, k, 32):
        inside = (start + j)[None, :] < n
        left = tw.load(a + i[:, None] * k + (start + j)[None, :], mask=inside, other=1.0)
        right = tw.load(b + (start + j)[:, None] * BLOCK + i[None, :])
        sums = tw.dot(left, right, sums)
    tw.store(c + i[:, None] * BLOCK + i[None, :], sums)


@tw.jit
def row_sums(out, x, n, BLOCK: tw.constexpr):
    row = tw.program_id(0)
    i = tw.arange(0, BLOCK)
    sums = tw.zeros((BLOCK,), tw.float32)
    for start in range(0, n, BLOCK):
        sums += tw.load(x + row * n + start + i)
    tw.store(out + row, tw.sum(sums, axis=0))


@tw.jit
def matmul(a, b, c, m, n, k, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr):
    rows = tw.program_id(0) * BM + tw.arange(0, BM)
    columns = tw.program_id(1) * BN + tw.arange(0, BN)
    depth = tw.arange(0, BK)
    sums = tw.zeros((BM, BN), tw.float32)
    for start in range(0, k, BK):
        left = tw.load(a + rows[:, None] * k + (start + depth)[None, :])
        right = tw.load(b + (start + depth)[:, None] * n + columns[None, :])
        sums = tw.dot(left, right, sums)
    tw.store(c + rows[:, None] * n + columns[None, :], sums.to(tw.float16))


@tw.jit
def scaled(x, i, stride):
    return tw.load(x + i * stride)


@tw.autotune(configs=[tw.Config({"BLOCK": 128})], key=["stride"])
@tw.jit
def calling(out, x, stride, BLOCK: tw.constexpr):
    i = tw.arange(0, BLOCK)
    tw.store(out + i, scaled(x, i, stride) + tw.load(x + i))


@tw.jit
def linked(out, links, values, n, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    node = i
    total = tw.zeros((BLOCK,), tw.float32)
    for _ in range(n):
        node = tw.load(links + node)
        total += tw.load(values + node)
    tw.store(out + i, total)


@tw.jit
def until_large(out, x, n, BLOCK: tw.constexpr):
    i = tw.arange(0, BLOCK)
    sums = tw.zeros((BLOCK,), tw.float32)
    row = 0
    while row < n:
        values = tw.load(x + row * BLOCK + i)
        sums += values
        row += 1 + (tw.max(values, axis=0) > 100.0).to(tw.int32)
    tw.store(out + i, sums)


@tw.jit
def added_to_columns(out, x, y, n, stride, BLOCK: tw.constexpr):
    row = tw.arange(0, BLOCK)
    column = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    mask = column[None, :] < n
    turned = tw.load(x + row[:, None] + column[None, :] * stride, mask=mask, other=0.0)
    straight = tw.load(y + row[:, None] * n + column[None, :], mask=mask, other=0.0)
    tw.store(out + row[:, None] * n + column[None, :], turned + straight, mask=mask)
