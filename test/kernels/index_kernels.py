"""Matrix products with the ways in which kernels compute their rows, columns and programs; an attention
and a product of quantized weights as people write them first."""

from __future__ import annotations

import tilewright as tw


@tw.jit
def tutorial_matmul(
    a, b, c, M, N, K, a_row, a_column, b_row, b_column, c_row, c_column,
    BLOCK_M: tw.constexpr, BLOCK_N: tw.constexpr, BLOCK_K: tw.constexpr, GROUP_M: tw.constexpr,
    WRAPS: tw.constexpr = True,
):  # fmt: skip
    """Programs in groups of rows; rows behind the last one begin again at the first. Nothing is
    assumed of the numbers of programs."""
    pid = tw.program_id(axis=0)
    num_pid_m = tw.cdiv(M, BLOCK_M)
    num_pid_n = tw.cdiv(N, BLOCK_N)
    num_pid_in_group = GROUP_M * num_pid_n
    group_id = pid // num_pid_in_group
    first_pid_m = group_id * GROUP_M
    group_size_m = min(num_pid_m - first_pid_m, GROUP_M)
    pid_m = first_pid_m + ((pid % num_pid_in_group) % group_size_m)
    pid_n = (pid % num_pid_in_group) // group_size_m
    m = pid_m * BLOCK_M + tw.arange(0, BLOCK_M)
    n = pid_n * BLOCK_N + tw.arange(0, BLOCK_N)
    if WRAPS:
        m, n = m % M, n % N
    k = tw.arange(0, BLOCK_K)
    left = a + (m[:, None] * a_row + k[None, :] * a_column)
    right = b + (k[:, None] * b_row + n[None, :] * b_column)
    total = tw.zeros((BLOCK_M, BLOCK_N), dtype=tw.float32)
    for step in range(0, tw.cdiv(K, BLOCK_K)):
        x = tw.load(left, mask=k[None, :] < K - step * BLOCK_K, other=0.0)
        y = tw.load(right, mask=k[:, None] < K - step * BLOCK_K, other=0.0)
        total = tw.dot(x, y, total)
        left += BLOCK_K * a_column
        right += BLOCK_K * b_row
    m = pid_m * BLOCK_M + tw.arange(0, BLOCK_M)
    n = pid_n * BLOCK_N + tw.arange(0, BLOCK_N)
    at = c + c_row * m[:, None] + c_column * n[None, :]
    tw.store(at, total.to(tw.float16), mask=(m[:, None] < M) & (n[None, :] < N))


@tw.jit
def hinted_matmul(
    a, b, c, M, N, K, a_row, a_column, b_row, b_column, c_row, c_column,
    BLOCK_M: tw.constexpr, BLOCK_N: tw.constexpr, BLOCK_K: tw.constexpr, CLAMPS: tw.constexpr,
):  # fmt: skip
    """Says of rows and columns that they are contiguous, instead of letting it be found."""
    pid_m, pid_n = tw.program_id(0), tw.program_id(1)
    m = pid_m * BLOCK_M + tw.arange(0, BLOCK_M)
    n = pid_n * BLOCK_N + tw.arange(0, BLOCK_N)
    if CLAMPS:
        ram, rbn = tw.where(m < M, m, 0), tw.where(n < N, n, 0)
    else:
        ram, rbn = m % M, n % N
    ram = tw.max_contiguous(tw.multiple_of(ram, BLOCK_M), BLOCK_M)
    rbn = tw.max_contiguous(tw.multiple_of(rbn, BLOCK_N), BLOCK_N)
    total = tw.zeros((BLOCK_M, BLOCK_N), dtype=tw.float32)
    for step in range(0, tw.cdiv(K, BLOCK_K)):
        k = step * BLOCK_K + tw.arange(0, BLOCK_K)
        x = tw.load(
            a + ram[:, None] * a_row + k[None, :] * a_column, mask=k[None, :] < K, other=0.0
        )
        y = tw.load(
            b + k[:, None] * b_row + rbn[None, :] * b_column, mask=k[:, None] < K, other=0.0
        )
        total = tw.dot(x, y, total)
    at = c + c_row * m[:, None] + c_column * n[None, :]
    tw.store(at, total.to(tw.float16), mask=(m[:, None] < M) & (n[None, :] < N))


@tw.jit
def persistent_matmul(
    a, b, c, M, N, K, a_row, a_column, b_row, b_column, c_row, c_column,
    BLOCK_M: tw.constexpr, BLOCK_N: tw.constexpr, BLOCK_K: tw.constexpr, GROUP_M: tw.constexpr,
):  # fmt: skip
    """Each program computes several tiles; rows and columns are 64 bits wide."""
    num_pid_m = tw.cdiv(M, BLOCK_M)
    num_pid_n = tw.cdiv(N, BLOCK_N)
    k = tw.arange(0, BLOCK_K)
    for tile in range(tw.program_id(0), num_pid_m * num_pid_n, tw.num_programs(0)):
        first_pid_m = tile // (GROUP_M * num_pid_n) * GROUP_M
        group_size_m = tw.minimum(num_pid_m - first_pid_m, GROUP_M)
        pid_m = first_pid_m + tile % group_size_m
        pid_n = tile % (GROUP_M * num_pid_n) // group_size_m
        m = (pid_m * BLOCK_M + tw.arange(0, BLOCK_M)) % M
        n = (pid_n * BLOCK_N + tw.arange(0, BLOCK_N)) % N
        left = a + (m[:, None].to(tw.int64) * a_row + k[None, :] * a_column)
        right = b + (k[:, None].to(tw.int64) * b_row + n[None, :] * b_column)
        total = tw.zeros((BLOCK_M, BLOCK_N), dtype=tw.float32)
        for step in range(0, tw.cdiv(K, BLOCK_K)):
            x = tw.load(left, mask=k[None, :] < K - step * BLOCK_K, other=0.0)
            y = tw.load(right, mask=k[:, None] < K - step * BLOCK_K, other=0.0)
            total = tw.dot(x, y, total)
            left += BLOCK_K * a_column
            right += BLOCK_K * b_row
        m = pid_m * BLOCK_M + tw.arange(0, BLOCK_M)
        n = pid_n * BLOCK_N + tw.arange(0, BLOCK_N)
        at = c + c_row * m[:, None] + c_column * n[None, :]
        tw.store(at, total.to(tw.float16), mask=(m[:, None] < M) & (n[None, :] < N))


@tw.jit
def while_matmul(
    a, b, c, M, N, K, a_row, a_column, b_row, b_column, c_row, c_column,
    BLOCK_M: tw.constexpr, BLOCK_N: tw.constexpr, BLOCK_K: tw.constexpr, GROUP_M: tw.constexpr,
):  # fmt: skip
    """Each program computes tiles while there are any; the order comes from the language."""
    num_pid_m = tw.cdiv(M, BLOCK_M)
    num_pid_n = tw.cdiv(N, BLOCK_N)
    k = tw.arange(0, BLOCK_K)
    tile = tw.program_id(0)
    while tile < num_pid_m * num_pid_n:
        row = tile // num_pid_n
        column = tile - row * num_pid_n
        pid_m, pid_n = tw.swizzle2d(row, column, num_pid_m, num_pid_n, GROUP_M)
        m = (pid_m * BLOCK_M + tw.arange(0, BLOCK_M)) % M
        n = (pid_n * BLOCK_N + tw.arange(0, BLOCK_N)) % N
        left = a + (m[:, None] * a_row + k[None, :] * a_column)
        right = b + (k[:, None] * b_row + n[None, :] * b_column)
        total = tw.zeros((BLOCK_M, BLOCK_N), dtype=tw.float32)
        for step in range(0, K, BLOCK_K):
            x = tw.load(left, mask=k[None, :] < K - step, other=0.0)
            y = tw.load(right, mask=k[:, None] < K - step, other=0.0)
            total = tw.dot(x, y, total)
            left += BLOCK_K * a_column
            right += BLOCK_K * b_row
        m = pid_m * BLOCK_M + tw.arange(0, BLOCK_M)
        n = pid_n * BLOCK_N + tw.arange(0, BLOCK_N)
        at = c + c_row * m[:, None] + c_column * n[None, :]
        tw.store(at, total.to(tw.float16), mask=(m[:, None] < M) & (n[None, :] < N))
        tile += tw.num_programs(0)


@tw.jit
def natural_attention(
    q, k, v, out, sm_scale, head_stride, row_stride, length,
    BM: tw.constexpr, BN: tw.constexpr, D: tw.constexpr,
):  # fmt: skip
    """Scores are scaled before the maximum, and probabilities are powers of e."""
    tile = tw.program_id(0)
    base = tw.program_id(1).to(tw.int64) * head_stride
    m = tile * BM + tw.arange(0, BM)
    d = tw.arange(0, D)
    rows = m[:, None] * row_stride + d[None, :]
    query = tw.load(q + base + rows, mask=m[:, None] < length, other=0.0)
    peak = tw.full([BM], -float("inf"), tw.float32)
    norm = tw.zeros([BM], tw.float32)
    total = tw.zeros([BM, D], tw.float32)
    for start in range(0, length, BN):
        n = start + tw.arange(0, BN)
        inside = n < length
        at = n[None, :] * row_stride + d[:, None]
        key = tw.load(k + base + at, mask=inside[None, :], other=0.0)
        score = tw.dot(query, key) * sm_scale
        score = tw.where(inside[None, :], score, -float("inf"))
        new_peak = tw.maximum(peak, tw.max(score, 1))
        p = tw.exp(score - new_peak[:, None])
        shrink = tw.exp(peak - new_peak)
        norm = norm * shrink + tw.sum(p, 1)
        at = n[:, None] * row_stride + d[None, :]
        value = tw.load(v + base + at, mask=inside[:, None], other=0.0)
        total = tw.dot(p.to(tw.float16), value, total * shrink[:, None])
        peak = new_peak
    result = (total / norm[:, None]).to(tw.float16)
    tw.store(out + base + rows, result, mask=m[:, None] < length)


@tw.jit
def plain_attention(
    q, k, v, out, sm_scale, head_stride, length,
    BM: tw.constexpr, BN: tw.constexpr, D: tw.constexpr,
):  # fmt: skip
    """Rows are whole tiles and adjacent, and the products of a block are added to the output."""
    base = tw.program_id(1) * head_stride
    m = tw.program_id(0) * BM + tw.arange(0, BM)
    d = tw.arange(0, D)
    query = tw.load(q + base + m[:, None] * D + d[None, :])
    peak = tw.full([BM], -float("inf"), tw.float32)
    norm = tw.zeros([BM], tw.float32)
    total = tw.zeros([BM, D], tw.float32)
    for start in range(0, length, BN):
        n = start + tw.arange(0, BN)
        key = tw.load(k + base + n[None, :] * D + d[:, None])
        score = tw.dot(query, key) * sm_scale
        new_peak = tw.maximum(peak, tw.max(score, 1))
        p = tw.exp(score - new_peak[:, None])
        shrink = tw.exp(peak - new_peak)
        norm = norm * shrink + tw.sum(p, 1)
        value = tw.load(v + base + n[:, None] * D + d[None, :])
        total = total * shrink[:, None] + tw.dot(p.to(tw.float16), value)
        peak = new_peak
    tw.store(out + base + m[:, None] * D + d[None, :], (total / norm[:, None]).to(tw.float16))


@tw.jit
def quantized_matmul(
    a, b, scales, c, N, K, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr
):
    """Weights of 8 bits with a scale for each column."""
    m = tw.program_id(0) * BM + tw.arange(0, BM)
    n = tw.program_id(1) * BN + tw.arange(0, BN)
    k = tw.arange(0, BK)
    total = tw.zeros((BM, BN), dtype=tw.float32)
    for step in range(0, K, BK):
        x = tw.load(a + m[:, None] * K + (step + k)[None, :])
        y = tw.load(b + (step + k)[:, None] * N + n[None, :])
        total = tw.dot(x, y.to(tw.float16), total)
    total *= tw.load(scales + n)[None, :]
    tw.store(c + m[:, None] * N + n[None, :], total.to(tw.float16))


@tw.jit
def exponentials(out, fused, x, peaks, scale, ROWS: tw.constexpr, COLUMNS: tw.constexpr):
    """Of differences, and of differences of products with one factor."""
    r, c = tw.arange(0, ROWS), tw.arange(0, COLUMNS)
    at = r[:, None] * COLUMNS + c[None, :]
    value, peak = tw.load(x + at), tw.load(peaks + r)[:, None]
    tw.store(out + at, tw.exp(value - peak))
    tw.store(fused + at, tw.exp(value * scale - peak))


@tw.jit
def packed_matmul(
    a, b, c, N, K, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr
):
    """Signed weights of four bits, two in a byte: those of the upper halves of the rows are the upper."""
    m = tw.program_id(0) * BM + tw.arange(0, BM)
    n = tw.program_id(1) * BN + tw.arange(0, BN)
    k = tw.arange(0, BK)
    total = tw.zeros((BM, BN), dtype=tw.float32)
    for step in range(0, K // 2, BK):
        low = tw.load(a + m[:, None] * K + (step + k)[None, :])
        high = tw.load(a + m[:, None] * K + (step + K // 2 + k)[None, :])
        y = tw.load(b + (step + k)[:, None] * N + n[None, :])
        total = tw.dot(low, ((y << 4) >> 4).to(tw.float16), total)
        total = tw.dot(high, (y >> 4).to(tw.float16), total)
    tw.store(c + m[:, None] * N + n[None, :], total.to(tw.float16))


@tw.jit
def operations_on_bytes(out, x, BY: tw.constexpr, SHIFT: tw.constexpr, B: tw.constexpr):
    i = tw.arange(0, B)
    v = tw.load(x + i)
    tw.store(out + i, v & BY)
    tw.store(out + B + i, v | BY)
    tw.store(out + 2 * B + i, v ^ BY)
    tw.store(out + 3 * B + i, v + BY)
    tw.store(out + 4 * B + i, v - BY)
    tw.store(out + 5 * B + i, v << SHIFT)
    tw.store(out + 6 * B + i, v >> SHIFT)
    tw.store(out + 7 * B + i, ((v + BY) << SHIFT) >> SHIFT)
    tw.store(out + 8 * B + i, BY - v)


@tw.jit
def halves_of_bytes(out, x, ROWS: tw.constexpr, COLUMNS: tw.constexpr):
    """Bytes as f16, along and across the rows, and their halves of four bits."""
    r, c = tw.arange(0, ROWS)[:, None], tw.arange(0, COLUMNS)[None, :]
    value = tw.load(x + r * COLUMNS + c)
    size = ROWS * COLUMNS
    tw.store(out + r * COLUMNS + c, value.to(tw.float16))
    tw.store(out + size + c * ROWS + r, value.to(tw.float16))
    tw.store(out + 2 * size + r * COLUMNS + c, ((value & 15) - 8).to(tw.float16))
