"""Kernels around matrix products that share work, follow tables, or keep their results at hand."""

from __future__ import annotations

import tilewright.triton as triton
import tilewright.triton.language as tl


@triton.jit
def leaky(x):
    return tl.where(x >= 0, x, 0.25 * x)


@triton.jit
def wrapped_matmul(
    a, b, c, M, N, K, a_row, a_column, b_row, b_column, c_row, c_column,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr, LEAKY: tl.constexpr,
):  # fmt: skip
    """Programs in groups of GROUP rows of tiles; rows and columns beyond the end wrap around."""
    tile = tl.program_id(0)
    tiles_m, tiles_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    first = tile // (GROUP * tiles_n) * GROUP
    rows = min(tiles_m - first, GROUP)
    tile_m = first + tile % (GROUP * tiles_n) % rows
    tile_n = tile % (GROUP * tiles_n) // rows
    tl.assume(tile_m >= 0)
    tl.assume(a_row > 0)
    m = (tile_m * BM + tl.arange(0, BM)) % M
    n = (tile_n * BN + tl.arange(0, BN)) % N
    k = tl.arange(0, BK)
    left = a + (m[:, None] * a_row + k[None, :] * a_column)
    right = b + (k[:, None] * b_row + n[None, :] * b_column)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(0, tl.cdiv(K, BK)):
        x = tl.load(left, mask=k[None, :] < K - step * BK, other=0.0)
        y = tl.load(right, mask=k[:, None] < K - step * BK, other=0.0)
        acc = tl.dot(x, y, acc)
        left += BK * a_column
        right += BK * b_row
    if LEAKY:
        acc = leaky(acc)
    m = tile_m * BM + tl.arange(0, BM)
    n = tile_n * BN + tl.arange(0, BN)
    inside = (m[:, None] < M) & (n[None, :] < N)
    tl.store(c + c_row * m[:, None] + c_column * n[None, :], acc.to(c.dtype.element_ty), inside)


@triton.jit
def matmul_at(a, b, c, M, N, K, m0, n0, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """One whole tile of row-major matrices, of which only hints know that rows are aligned."""
    m = m0 + tl.arange(0, BM)
    n = n0 + tl.arange(0, BN)
    k = tl.arange(0, BK)
    left = a + m[:, None] * K + k[None, :]
    right = b + k[:, None] * N + n[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, tl.cdiv(K, BK)):
        tl.multiple_of(left, [16, 16])
        tl.multiple_of(right, [16, 16])
        acc += tl.dot(tl.load(left), tl.load(right))
        left += BK
        right += BK * N
    tl.store(c + N * m[:, None] + n[None, :], acc)


@triton.jit
def matmuls_by_address(
    a_addresses, b_addresses, c_addresses, sizes, count, a0, a1, a2, b0, b1, b2, c0, c1, c2,
    PROGRAMS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
    RESULT: tl.constexpr = tl.float32,
):  # fmt: skip
    """Products whose matrices are found by address; they are arguments only so that the simulator
    knows them."""
    tile = tl.program_id(0)
    first = 0
    for g in range(count):
        M, N, K = tl.load(sizes + g * 3), tl.load(sizes + g * 3 + 1), tl.load(sizes + g * 3 + 2)
        tiles = tl.cdiv(M, BM) * tl.cdiv(N, BN)
        while tile >= first and tile < first + tiles:
            a = tl.load(a_addresses + g).to(tl.pointer_type(tl.float16))
            b = tl.load(b_addresses + g).to(tl.pointer_type(tl.float16))
            c = tl.load(c_addresses + g).to(tl.pointer_type(RESULT))
            m0 = (tile - first) // tl.cdiv(N, BN) * BM
            n0 = (tile - first) % tl.cdiv(N, BN) * BN
            matmul_at(a, b, c, M, N, K, m0, n0, BM, BN, BK)
            tile += PROGRAMS
        first += tiles


@triton.jit
def persistent_matmul(
    a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PROGRAMS: tl.constexpr
):
    """A loop over tiles around the loop over K; the result is stored in two halves."""
    tiles_n = tl.cdiv(N, BN)
    tiles = tl.cdiv(M, BM) * tiles_n
    stored = tl.program_id(0) - PROGRAMS
    for tile in tl.range(tl.program_id(0), tiles, PROGRAMS, flatten=True):
        m = tile // tiles_n * BM + tl.arange(0, BM)
        n = tile % tiles_n * BN + tl.arange(0, BN)
        m = tl.max_contiguous(tl.multiple_of(tl.where(m < M, m, 0), BM), BM)
        n = tl.max_contiguous(tl.multiple_of(tl.where(n < N, n, 0), BN), BN)
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for step in range(tl.cdiv(K, BK)):
            k = step * BK + tl.arange(0, BK)
            x = tl.load(a + m[:, None] * K + k[None, :], mask=k[None, :] < K, other=0.0)
            y = tl.load(b + k[:, None] * N + n[None, :], mask=k[:, None] < K, other=0.0)
            acc = tl.dot(x, y, acc)
        stored += PROGRAMS
        m = stored // tiles_n * BM + tl.arange(0, BM)
        n = stored % tiles_n * BN + tl.arange(0, BN // 2)
        halves = tl.permute(tl.reshape(acc, (BM, 2, BN // 2)), (0, 2, 1))
        for half in tl.static_range(2):
            part = tl.split(halves)[half].to(tl.float16)
            at = n + half * (BN // 2)
            inside = (m[:, None] < M) & (at[None, :] < N)
            tl.store(c + m[:, None] * N + at[None, :], part, mask=inside)


@triton.jit
def stream_k_matmul(
    a, b, c, N, K, most, extra, per_tile, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    """The steps of all tiles are dealt out evenly, wherever tiles begin; parts are added up."""
    program = tl.program_id(0)
    step = program * most + tl.minimum(program, extra)
    last = (program + 1) * most + tl.minimum(program + 1, extra)
    while step < last:
        done = step % per_tile
        end = tl.minimum(step + (per_tile - done), last)
        tile = step // per_tile
        m = tile // tl.cdiv(N, BN) * BM + tl.arange(0, BM)
        n = tile % tl.cdiv(N, BN) * BN + tl.arange(0, BN)
        k = tl.arange(0, BK)
        left = a + m[:, None] * K + k[None, :] + BK * done
        right = b + k[:, None] * N + n[None, :] + BK * N * done
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for current in range(step, end):
            inside = current % per_tile * BK + k < K
            x = tl.load(left, mask=inside[None, :], other=0.0)
            acc += tl.dot(x, tl.load(right, mask=inside[:, None], other=0.0))
            left += BK
            right += BK * N
        tl.atomic_add(c + m[:, None] * N + n[None, :], acc)
        step = end


@triton.jit
def locked_split_k(
    a, b, c, locks, counts, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
    SPLIT: tl.constexpr,
):  # fmt: skip
    """Programs that share a tile take turns at it, by a lock; the first one overwrites."""
    tile = tl.program_id(0)
    m = tile // tl.cdiv(N, BN) * BM + tl.arange(0, BM)
    n = tile % tl.cdiv(N, BN) * BN + tl.arange(0, BN)
    k = tl.program_id(1) * BK + tl.arange(0, BK)
    left = a + m[:, None] * K + k[None, :]
    right = b + k[:, None] * N + n[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(0, tl.cdiv(K, BK * SPLIT)):
        remaining = K - step * (BK * SPLIT)
        x = tl.load(left, mask=k[None, :] < remaining, other=0.0)
        acc += tl.dot(x, tl.load(right, mask=k[:, None] < remaining, other=0.0))
        left += BK * SPLIT
        right += BK * SPLIT * N
    at = c + m[:, None] * N + n[None, :]
    while tl.atomic_cas(locks + tile, 0, 1) == 1:
        pass
    count = tl.load(counts + tile)
    if count > 0:
        acc += tl.load(at)
    tl.store(at, acc)
    tl.store(counts + tile, count + 1)
    tl.debug_barrier()
    tl.atomic_xchg(locks + tile, 0)


@triton.jit
def routed_experts(
    x, weights, out, shares, tokens, experts, used, N, K, slots,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PER_TOKEN: tl.constexpr,
):  # fmt: skip
    """Rows that were sorted by expert, and filled up, times that expert's weights [N, K]."""
    block = tl.program_id(0)
    if block * BM >= tl.load(used):
        return
    slot = tl.load(tokens + block * BM + tl.arange(0, BM).to(tl.int64))
    real = slot < slots
    n = (tl.program_id(1) * BN + tl.arange(0, BN)) % N
    k = tl.arange(0, BK)
    expert = tl.load(experts + block).to(tl.int64)
    at = out + slot[:, None] * N + (tl.program_id(1) * BN + tl.arange(0, BN))[None, :]
    inside = real[:, None] & (tl.program_id(1) * BN + tl.arange(0, BN) < N)[None, :]
    if expert == -1:
        tl.store(at, tl.zeros((BM, BN), tl.float32), mask=inside)
        return
    left = x + (slot[:, None] // PER_TOKEN * K + k[None, :])
    right = weights + expert * N * K + (k[:, None] + n[None, :] * K)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(0, tl.cdiv(K, BK)):
        inner = k < K - step * BK
        row = tl.load(left, mask=real[:, None] & inner[None, :], other=0.0)
        acc += tl.dot(row, tl.load(right, mask=inner[:, None], other=0.0))
        left += BK
        right += BK
    tl.store(at, acc * tl.load(shares + slot, mask=real, other=0)[:, None], mask=inside)


@triton.jit
def low_rank_update(
    x, down, up, out, adapters, M, K, N, R: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
    BK: tl.constexpr,
):  # fmt: skip
    """out += x down^T up^T of each block's adapter: one loop over products feeds another."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    r = tl.arange(0, R)
    adapter = tl.load(adapters + tl.program_id(0))
    if adapter < 0:
        return
    inner = tl.zeros((BM, R), dtype=tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        row = tl.load(x + m[:, None] * K + k[None, :], (m[:, None] < M) & (k[None, :] < K), 0.0)
        part = tl.load(down + (adapter * R + r[None, :]) * K + k[:, None], k[:, None] < K, 0.0)
        inner = tl.dot(row, part, inner)
    half = (0.5 * inner).to(x.dtype.element_ty)
    for start in range(0, N, BN):
        n = start + tl.arange(0, BN)
        part = tl.load(up + (adapter * N + n[None, :]) * R + r[:, None], n[None, :] < N, 0.0)
        inside = (m[:, None] < M) & (n[None, :] < N)
        at = out + m[:, None] * N + n[None, :]
        tl.store(at, tl.load(at, mask=inside) + tl.dot(half, part), mask=inside)


@triton.jit
def convolution(
    x, w, out, images, channels, height, width, filters, out_height, out_width, stride, padding,
    x_n, x_c, x_h, x_w, R: tl.constexpr, S: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
    BK: tl.constexpr,
):  # fmt: skip
    """A convolution as a product: row = image and place, inner = channel and filter's place."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.arange(0, BN)
    image = m // (out_height * out_width)
    p = m % (out_height * out_width) // out_width
    q = m % out_width
    inner = channels * R * S
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(0, tl.cdiv(inner, BK)):
        k = step * BK + tl.arange(0, BK)
        c, r, s = k // (R * S), k % (R * S) // S, k % S
        h = p[:, None] * stride + r[None, :] - padding
        v = q[:, None] * stride + s[None, :] - padding
        inside = (h >= 0) & (h < height) & (v >= 0) & (v < width) & (k[None, :] < inner)
        at = image[:, None] * x_n + c[None, :] * x_c + h * x_h + v * x_w
        real = (k[:, None] < inner) & (n[None, :] < filters)
        patch = tl.load(x + at, mask=inside & (image[:, None] < images), other=0.0)
        acc = tl.dot(patch, tl.load(w + n[None, :] * inner + k[:, None], mask=real, other=0.0), acc)
    inside = (m[:, None] < images * out_height * out_width) & (n[None, :] < filters)
    tl.store(out + m[:, None] * filters + n[None, :], acc, mask=inside)


@triton.jit
def sparse_rows(values, columns, starts, b, out, N, B: tl.constexpr, BN: tl.constexpr):
    """A row of blocks of a sparse matrix times a dense one; rows have any number of blocks."""
    row = tl.program_id(0)
    i = tl.arange(0, B)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((B, BN), tl.float32)
    for j in range(tl.load(starts + row), tl.load(starts + row + 1)):
        block = tl.load(values + j * B * B + i[:, None] * B + i[None, :])
        right = tl.load(b + (tl.load(columns + j) * B + i)[:, None] * N + n[None, :])
        acc = tl.dot(block, right, acc)
    tl.store(out + (row * B + i)[:, None] * N + n[None, :], acc)


@triton.jit
def substitute_forward(lower, x, blocks, N, B: tl.constexpr, BN: tl.constexpr):
    """x := L^-1 x, L's diagonal blocks being the identity: rows are read after they are stored."""
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    i = tl.arange(0, B)
    for row in range(blocks):
        at = x + (row * B + i)[:, None] * N + n[None, :]
        acc = tl.load(at)
        for j in range(row):
            left = tl.load(lower + (row * B + i)[:, None] * (blocks * B) + (j * B + i)[None, :])
            solved = tl.load(x + (j * B + i)[:, None] * N + n[None, :])
            acc -= tl.dot(left, solved, input_precision="tf32")
        tl.store(at, acc)
        tl.debug_barrier()


@triton.jit
def linear_cross_entropy(
    x, w, labels, losses, M, V, K, BM: tl.constexpr, BV: tl.constexpr, BK: tl.constexpr
):
    """-log softmax(x w^T)[label] of each row, a piece of the vocabulary at a time."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    label = tl.load(labels + m, mask=m < M, other=0)
    peak = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    chosen = tl.zeros((BM,), tl.float32)
    for first in range(0, V, BV):
        v = first + tl.arange(0, BV)
        logits = tl.zeros((BM, BV), tl.float32)
        for start in range(0, K, BK):
            k = start + tl.arange(0, BK)
            row = tl.load(x + m[:, None] * K + k[None, :], (m[:, None] < M) & (k[None, :] < K), 0.0)
            inside = (v[None, :] < V) & (k[:, None] < K)
            word = tl.load(w + v[None, :] * K + k[:, None], mask=inside, other=0.0)
            logits = tl.dot(row, word, logits)
        logits = tl.where(v[None, :] < V, logits, float("-inf"))
        higher = tl.maximum(peak, tl.max(logits, 1))
        total = total * tl.exp(peak - higher) + tl.sum(tl.exp(logits - higher[:, None]), 1)
        peak = higher
        chosen += tl.sum(tl.where(v[None, :] == label[:, None], logits, 0.0), 1)
    tl.store(losses + m, peak + tl.log(total) - chosen, mask=m < M)


@triton.jit
def gated_layers(
    x, gate_up, down, out, M, D, H, BM: tl.constexpr, BD: tl.constexpr, BH: tl.constexpr
):
    """(silu(x g^T) * x u^T) d^T, where [g; u] is one matrix: three products an iteration."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, BD)
    row = tl.load(x + m[:, None] * D + d[None, :], (m[:, None] < M) & (d[None, :] < D), 0.0)
    acc = tl.zeros((BM, BD), tl.float32)
    for first in range(0, H, BH):
        h = first + tl.arange(0, BH)
        inside = (h[None, :] < H) & (d[:, None] < D)
        gate = tl.dot(row, tl.load(gate_up + h[None, :] * D + d[:, None], mask=inside, other=0.0))
        up = tl.load(gate_up + (H + h)[None, :] * D + d[:, None], mask=inside, other=0.0)
        hidden = gate * tl.sigmoid(gate) * tl.dot(row, up)
        last = tl.load(down + d[None, :] * H + h[:, None], (h[:, None] < H) & (d[None, :] < D), 0.0)
        acc = tl.dot(hidden.to(tl.float16), last, acc)
    tl.store(out + m[:, None] * D + d[None, :], acc, mask=(m[:, None] < M) & (d[None, :] < D))


@triton.jit
def complex_matmul(
    a_re, a_im, b_re, b_im, c_re, c_im, K, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr
):
    """Four products an iteration, one of them subtracted."""
    m, n = tl.arange(0, M), tl.arange(0, N)
    real = tl.zeros((M, N), tl.float32)
    imaginary = tl.zeros((M, N), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        left, right = m[:, None] * K + k[None, :], k[:, None] * N + n[None, :]
        x_re, x_im = tl.load(a_re + left), tl.load(a_im + left)
        y_re, y_im = tl.load(b_re + right), tl.load(b_im + right)
        real += tl.dot(x_re, y_re)
        real -= tl.dot(x_im, y_im)
        imaginary = tl.dot(x_re, y_im, tl.dot(x_im, y_re, imaginary))
    tl.store(c_re + m[:, None] * N + n[None, :], real)
    tl.store(c_im + m[:, None] * N + n[None, :], imaginary)


@triton.jit
def powers(a, out, steps, N: tl.constexpr):
    """A loop without loads whose products are the operands of the next ones."""
    n = tl.arange(0, N)
    base = tl.load(a + n[:, None] * N + n[None, :])
    result = (n[:, None] == n[None, :]).to(tl.float16)
    for step in range(steps):
        result = tl.dot(result, base).to(tl.float16)
        if step % 2 == 1:
            base = tl.dot(tl.trans(base), result).to(tl.float16)
    tl.store(out + n[:, None] * N + n[None, :], result)


@triton.jit
def nearest_centers(
    x, centers, best, count, D: tl.constexpr, BT: tl.constexpr, BC: tl.constexpr
):
    """The number of each row's nearest center."""
    t = tl.program_id(0) * BT + tl.arange(0, BT)
    d = tl.arange(0, D)
    row = tl.load(x + t[:, None] * D + d[None, :])
    least = tl.full((BT,), float("inf"), tl.float32)
    which = tl.full((BT,), -1, tl.int32)
    for first in range(0, count, BC):
        j = first + tl.arange(0, BC)
        center = tl.load(centers + j[:, None] * D + d[None, :], mask=j[:, None] < count, other=0.0)
        square = tl.sum(center.to(tl.float32) * center.to(tl.float32), 1)
        distance = square[None, :] - 2.0 * tl.dot(row, tl.trans(center))
        distance = tl.where(j[None, :] < count, distance, float("inf"))
        lowest, place = tl.min(distance, 1, return_indices=True)
        which = tl.where(lowest < least, first + place, which)
        least = tl.minimum(least, lowest)
    tl.store(best + t, which)


@triton.jit
def linear_gradients(
    x, w, gradient, dx, dw, T, D: tl.constexpr, H: tl.constexpr, BT: tl.constexpr
):
    """dw = x^T g is added up while dx = g w^T is stored block by block."""
    d, h = tl.arange(0, D), tl.arange(0, H)
    weight = tl.load(w + d[:, None] * H + h[None, :])
    acc = tl.zeros((D, H), tl.float32)
    for start in range(0, T, BT):
        t = start + tl.arange(0, BT)
        row = tl.load(x + t[:, None] * D + d[None, :], mask=t[:, None] < T, other=0.0)
        above = tl.load(gradient + t[:, None] * H + h[None, :], mask=t[:, None] < T, other=0.0)
        acc = tl.dot(tl.trans(row), above, acc)
        below = tl.dot(above, tl.trans(weight)).to(tl.float16)
        tl.store(dx + t[:, None] * D + d[None, :], below, mask=t[:, None] < T)
    tl.store(dw + d[:, None] * H + h[None, :], acc)


@triton.jit
def ragged_matmul(a, b, out, lengths, K, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    """Every row of A has its own length, and part of B counts as ones."""
    m, n = tl.arange(0, M), tl.arange(0, N)
    length = tl.load(lengths + m)
    longest = tl.max(length)
    acc = tl.zeros((M, N), tl.float32)
    for start in range(0, longest, BK):
        k = start + tl.arange(0, BK)
        x = tl.load(a + m[:, None] * K + k[None, :], mask=k[None, :] < length[:, None], other=0.0)
        kept = (k[:, None] < longest) & ((n[None, :] + k[:, None]) % 3 != 0)
        acc = tl.dot(x, tl.load(b + k[:, None] * N + n[None, :], mask=kept, other=1.0), acc)
    tl.store(out + m[:, None] * N + n[None, :], acc)


@triton.jit
def rows_by_rows(out, a, b, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """out [M, N] = a [M, K] times the transposed b [N, K]."""
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    left = tl.load(a + m[:, None] * K + k[None, :])
    right = tl.load(b + n[None, :] * K + k[:, None])
    tl.store(out + m[:, None] * N + n[None, :], tl.dot(left, right))
