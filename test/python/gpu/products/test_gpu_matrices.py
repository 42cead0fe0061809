"""Matrix products, convolutions, pooling and sparse matrices as users write them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gpu.launching import WARPS, normal, poisoned, run
from matrix_kernels import split_k_matmul

import tilewright as tw

pytestmark = [pytest.mark.usefixtures("compiler"), pytest.mark.parametrize("num_warps", WARPS)]


@tw.jit
def batched_matmul(
    a, b, c, M, N, K, a_batch, a_row, a_column, b_batch, b_row, b_column,
    BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr,
):  # fmt: skip
    batch = tw.program_id(1)
    tiles_n = tw.cdiv(N, BN)
    m = tw.program_id(0) // tiles_n * BM + tw.arange(0, BM)
    n = tw.program_id(0) % tiles_n * BN + tw.arange(0, BN)
    k = tw.arange(0, BK)
    left = a + batch * a_batch + m[:, None] * a_row + k[None, :] * a_column
    right = b + batch * b_batch + k[:, None] * b_row + n[None, :] * b_column
    acc = tw.zeros((BM, BN), dtype=tw.float32)
    for remaining in range(K, 0, -BK):
        x = tw.load(left, mask=(m[:, None] < M) & (k[None, :] < remaining), other=0.0)
        y = tw.load(right, mask=(k[:, None] < remaining) & (n[None, :] < N), other=0.0)
        acc += tw.dot(x, y)
        left += BK * a_column
        right += BK * b_row
    out = c + batch * M * N + m[:, None] * N + n[None, :]
    tw.store(out, acc.to(c.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N))


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_batched_matmul_with_strides(
    num_warps: int, transposed: bool, dtype: Any, rng: np.random.Generator
) -> None:
    a = rng.integers(-4, 5, (2, 40, 36)).astype(dtype)
    b = rng.integers(-4, 5, (2, 50, 36) if transposed else (2, 36, 50)).astype(dtype)
    c = poisoned(2, 40, 50)
    right = b.swapaxes(1, 2) if transposed else b
    a_strides = [s // a.itemsize for s in a.strides]
    b_strides = [s // b.itemsize for s in right.strides]
    run(
        batched_matmul, (4, 2), a, b, c, 40, 50, 36, *a_strides, *b_strides, BM=32, BN=32, BK=16,
        num_warps=num_warps,
    )  # fmt: skip
    np.testing.assert_array_equal(c, a.astype(np.float32) @ right.astype(np.float32))


@tw.jit
def batch_in_a_tile(a, b, c, B: tw.constexpr, M: tw.constexpr, N: tw.constexpr, K: tw.constexpr):
    i = tw.arange(0, B)[:, None, None]
    m = tw.arange(0, M)
    n = tw.arange(0, N)
    k = tw.arange(0, K)
    left = tw.load(a + i * M * K + m[None, :, None] * K + k[None, None, :])
    right = tw.load(b + i * K * N + k[None, :, None] * N + n[None, None, :])
    product = tw.dot(left, right)
    tw.store(c + i * M * N + m[None, :, None] * N + n[None, None, :], product)


def test_batch_of_products_in_one_tile(num_warps: int, rng: np.random.Generator) -> None:
    a, b = (rng.integers(-4, 5, s).astype(np.float32) for s in ((4, 16, 16), (4, 16, 32)))
    c = poisoned(4, 16, 32)
    run(batch_in_a_tile, (1,), a, b, c, B=4, M=16, N=32, K=16, num_warps=num_warps)
    np.testing.assert_array_equal(c, a @ b)


@tw.jit
def matvec(a, x, y, rows, columns, alpha, beta, BM: tw.constexpr, BN: tw.constexpr):
    r = tw.program_id(0) * BM + tw.arange(0, BM)
    acc = tw.zeros((BM, BN), tw.float32)
    for start in range(0, columns, BN):
        c = start + tw.arange(0, BN)
        inside = (r < rows)[:, None] & (c < columns)[None, :]
        tile = tw.load(a + r[:, None] * columns + c[None, :], mask=inside, other=0.0)
        acc += tile * tw.load(x + c, mask=c < columns, other=0.0)[None, :]
    old = tw.load(y + r, mask=r < rows, other=0.0)
    tw.store(y + r, alpha * tw.sum(acc, 1) + beta * old, mask=r < rows)


def test_matrix_times_vector(num_warps: int, rng: np.random.Generator) -> None:
    a, x, y = normal(rng, 50, 130), normal(rng, 130), normal(rng, 50)
    expected = 2.0 * a.astype(np.float64) @ x + 0.5 * y
    run(matvec, (2,), a, x, y, 50, 130, 2.0, 0.5, BM=32, BN=64, num_warps=num_warps)
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-4)


def test_split_k_matmul_by_atomics(num_warps: int, rng: np.random.Generator) -> None:
    a, b = (rng.integers(-4, 5, s).astype(np.float32) for s in ((20, 90), (90, 40)))
    c = np.zeros((20, 40), np.float32)
    run(
        split_k_matmul, (1, 2, 3), a, b, c, 20, 40, 90, BM=32, BN=32, BK=16, SPLIT=3,
        num_warps=num_warps,
    )  # fmt: skip
    np.testing.assert_array_equal(c, a @ b)


@tw.jit
def grouped_gemm(a, b, c, sizes, starts, K, N, groups, BM: tw.constexpr, BN: tw.constexpr):
    """Programs walk over the tiles of all groups; a group owns rows of `a` and a matrix of `b`."""
    tile = tw.program_id(0)
    first = 0
    tiles_n = tw.cdiv(N, BN)
    for group in range(groups):
        size = tw.load(sizes + group)
        count = tw.cdiv(size, BM) * tiles_n
        while tile >= first and tile < first + count:
            local = tile - first
            m = local // tiles_n * BM + tw.arange(0, BM)
            n = local % tiles_n * BN + tw.arange(0, BN)
            k = tw.arange(0, 16)
            row = tw.load(starts + group) + m
            acc = tw.zeros((BM, BN), tw.float32)
            for step in range(0, K, 16):
                inside = (m < size)[:, None] & (step + k < K)[None, :]
                x = tw.load(a + row[:, None] * K + (step + k)[None, :], mask=inside, other=0.0)
                inside = (step + k < K)[:, None] & (n < N)[None, :]
                y = tw.load(
                    b + (group * K + step + k)[:, None] * N + n[None, :], mask=inside, other=0.0
                )
                acc += tw.dot(x, y)
            inside = (m < size)[:, None] & (n < N)[None, :]
            tw.store(c + row[:, None] * N + n[None, :], acc, mask=inside)
            tile += tw.num_programs(0)
        first += count


def test_grouped_gemm_by_persistent_programs(num_warps: int, rng: np.random.Generator) -> None:
    sizes = np.array([5, 0, 20, 17], np.int32)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int32)
    a = rng.integers(-4, 5, (42, 24)).astype(np.float32)
    b = rng.integers(-4, 5, (4, 24, 20)).astype(np.float32)
    c = poisoned(42, 20)
    run(
        grouped_gemm, (3,), a, b, c, sizes, starts, 24, 20, 4, BM=16, BN=16, num_warps=num_warps
    )
    expected = np.concatenate(
        [a[s : s + size] @ b[g] for g, (s, size) in enumerate(zip(starts, sizes))]
    )
    np.testing.assert_array_equal(c, expected)


@tw.jit
def causal_conv1d(
    x, weight, bias, out, channels, length, WIDTH: tw.constexpr, BC: tw.constexpr, BT: tw.constexpr
):
    c = tw.program_id(0) * BC + tw.arange(0, BC)[:, None]
    t = tw.program_id(1) * BT + tw.arange(0, BT)[None, :]
    acc = tw.zeros((BC, BT), tw.float32) + tw.load(bias + c, mask=c < channels, other=0.0)
    for tap in tw.static_range(WIDTH):
        source = t + tap - (WIDTH - 1)
        inside = (c < channels) & (source >= 0) & (source < length)
        value = tw.load(x + c * length + source, mask=inside, other=0.0)
        acc += value * tw.load(weight + c * WIDTH + tap, mask=c < channels, other=0.0)
    acc = acc * tw.sigmoid(acc)
    tw.store(out + c * length + t, acc, mask=(c < channels) & (t < length))


def test_depthwise_causal_convolution(num_warps: int, rng: np.random.Generator) -> None:
    x, weight, bias = normal(rng, 10, 50), normal(rng, 10, 4), normal(rng, 10)
    out = poisoned(10, 50)
    run(
        causal_conv1d, (2, 2), x, weight, bias, out, 10, 50, WIDTH=4, BC=8, BT=32,
        num_warps=num_warps,
    )  # fmt: skip
    signals = x.astype(np.float64)
    exact = np.stack([np.convolve(signals[c], weight[c, ::-1])[:50] for c in range(10)])
    exact += bias[:, None]
    np.testing.assert_allclose(out, exact / (1 + np.exp(-exact)), rtol=1e-4, atol=1e-5)


@tw.jit
def im2col_conv2d(
    x, weight, out, C, H, W, F, OH, OW, stride, padding,
    KH: tw.constexpr, KW: tw.constexpr, BP: tw.constexpr, BF: tw.constexpr, BK: tw.constexpr,
):  # fmt: skip
    p = tw.program_id(0) * BP + tw.arange(0, BP)
    f = tw.program_id(1) * BF + tw.arange(0, BF)
    oy, ox = p // OW, p % OW
    acc = tw.zeros((BP, BF), tw.float32)
    for start in range(0, C * KH * KW, BK):
        k = start + tw.arange(0, BK)
        c = k // (KH * KW)
        dy = k // KW % KH
        dx = k % KW
        y = oy[:, None] * stride + dy[None, :] - padding
        z = ox[:, None] * stride + dx[None, :] - padding
        inside = (y >= 0) & (y < H) & (z >= 0) & (z < W)
        inside = inside & (k < C * KH * KW)[None, :] & (p < OH * OW)[:, None]
        patch = tw.load(x + (c[None, :] * H + y) * W + z, mask=inside, other=0.0)
        taps = weight + f[None, :] * (C * KH * KW) + k[:, None]
        w = tw.load(taps, mask=(f < F)[None, :] & (k < C * KH * KW)[:, None], other=0.0)
        acc = tw.dot(patch, w, acc)
    inside = (p < OH * OW)[:, None] & (f < F)[None, :]
    tw.store(out + f[None, :] * (OH * OW) + p[:, None], acc, mask=inside)


@pytest.mark.parametrize(("stride", "padding"), [(1, 1), (2, 0)])
def test_convolution_by_gathered_patches(
    num_warps: int, stride: int, padding: int, rng: np.random.Generator
) -> None:
    C, H, W, F, KH, KW = 3, 9, 8, 5, 3, 2
    OH, OW = (H + 2 * padding - KH) // stride + 1, (W + 2 * padding - KW) // stride + 1
    x = rng.integers(-4, 5, (C, H, W)).astype(np.float32)
    weight = rng.integers(-4, 5, (F, C, KH, KW)).astype(np.float32)
    out = poisoned(F, OH, OW)
    run(
        im2col_conv2d, (-(-OH * OW // 32), 1), x, weight, out, C, H, W, F, OH, OW, stride, padding,
        KH=KH, KW=KW, BP=32, BF=16, BK=16, num_warps=num_warps,
    )  # fmt: skip
    padded = np.pad(x, ((0, 0), (padding, padding), (padding, padding)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (KH, KW), (1, 2))
    windows = windows[:, ::stride, ::stride]
    np.testing.assert_array_equal(out, np.einsum("cyxij,fcij->fyx", windows, weight))


@tw.jit
def max_pool(x, out, where_out, H, W, OH, OW, KERNEL: tw.constexpr, STEP: tw.constexpr,
             BLOCK: tw.constexpr):  # fmt: skip
    plane = tw.program_id(0)
    p = tw.program_id(1) * BLOCK + tw.arange(0, BLOCK)
    oy, ox = p // OW, p % OW
    best = tw.full((BLOCK,), float("-inf"), tw.float32)
    place = tw.full((BLOCK,), -1, tw.int32)
    for dy in tw.static_range(KERNEL):
        for dx in range(KERNEL):
            y, z = oy * STEP + dy, ox * STEP + dx
            inside = (p < OH * OW) & (y < H) & (z < W)
            value = tw.load(x + (plane * H + y) * W + z, mask=inside, other=float("-inf"))
            better = value > best
            best = tw.where(better, value, best)
            place = tw.where(better, y * W + z, place)
    tw.store(out + plane * OH * OW + p, best, mask=p < OH * OW)
    tw.store(where_out + plane * OH * OW + p, place, mask=p < OH * OW)


def test_max_pooling_with_places(num_warps: int, rng: np.random.Generator) -> None:
    x = normal(rng, 2, 11, 13)
    OH, OW = 5, 6
    out, place = poisoned(2, OH, OW), poisoned(2, OH, OW, dtype=np.int32)
    run(
        max_pool, (2, 1), x, out, place, 11, 13, OH, OW, KERNEL=3, STEP=2, BLOCK=64,
        num_warps=num_warps,
    )  # fmt: skip
    windows = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (1, 2))[:, ::2, ::2]
    np.testing.assert_array_equal(out, windows.max((3, 4)))
    np.testing.assert_array_equal(np.take_along_axis(x.reshape(2, -1), place.reshape(2, -1), 1),
                                  out.reshape(2, -1))  # fmt: skip


@tw.jit
def upsample_bilinear(x, out, H, W, OH, OW, BLOCK: tw.constexpr):
    p = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    inside = p < OH * OW
    sy = tw.maximum(((p // OW) + 0.5) * H / OH - 0.5, 0.0)
    sx = tw.maximum(((p % OW) + 0.5) * W / OW - 0.5, 0.0)
    y0, x0 = tw.floor(sy).to(tw.int32), tw.floor(sx).to(tw.int32)
    y1, x1 = tw.minimum(y0 + 1, H - 1), tw.minimum(x0 + 1, W - 1)
    fy, fx = sy - y0, sx - x0
    top = tw.load(x + y0 * W + x0, inside) * (1 - fx) + tw.load(x + y0 * W + x1, inside) * fx
    low = tw.load(x + y1 * W + x0, inside) * (1 - fx) + tw.load(x + y1 * W + x1, inside) * fx
    tw.store(out + p, top * (1 - fy) + low * fy, mask=inside)


def test_bilinear_upsampling(num_warps: int, rng: np.random.Generator) -> None:
    torch = pytest.importorskip("torch")
    x, out = normal(rng, 7, 9), poisoned(15, 20)
    run(upsample_bilinear, (3,), x, out, 7, 9, 15, 20, BLOCK=128, num_warps=num_warps)
    exact = torch.nn.functional.interpolate(
        torch.from_numpy(x)[None, None].double(), (15, 20), mode="bilinear", align_corners=False
    )
    np.testing.assert_allclose(out, exact[0, 0].numpy(), rtol=1e-4, atol=1e-5)


@tw.jit
def csr_matvec(starts, columns, values, x, y, BLOCK: tw.constexpr):
    row = tw.program_id(0)
    begin, end = tw.load(starts + row), tw.load(starts + row + 1)
    acc = tw.zeros((BLOCK,), tw.float32)
    for first in range(begin, end, BLOCK):
        i = first + tw.arange(0, BLOCK)
        column = tw.load(columns + i, mask=i < end, other=0)
        value = tw.load(values + i, mask=i < end, other=0.0)
        acc += value * tw.load(x + column, mask=i < end, other=0.0)
    tw.store(y + row, tw.sum(acc, 0))


def test_sparse_matrix_times_vector(num_warps: int, rng: np.random.Generator) -> None:
    dense = np.where(rng.random((9, 200)) < 0.3, rng.integers(-4, 5, (9, 200)), 0)
    dense[4] = 0
    starts = np.concatenate([[0], np.cumsum((dense != 0).sum(1))]).astype(np.int64)
    columns = np.nonzero(dense)[1].astype(np.int32)
    values, y = dense[dense != 0].astype(np.float32), poisoned(9)
    x = rng.integers(-4, 5, 200).astype(np.float32)
    run(csr_matvec, (9,), starts, columns, values, x, y, BLOCK=32, num_warps=num_warps)
    np.testing.assert_array_equal(y, dense @ x)


@tw.jit
def block_sparse_matmul(a_blocks, index, counts, b, c, N, LONGEST, B: tw.constexpr):
    """Row `i` of blocks of A: `counts[i]` dense B x B blocks at block columns `index[i, :]`."""
    i = tw.program_id(0)
    r = tw.arange(0, B)
    n = tw.program_id(1) * B + tw.arange(0, B)
    acc = tw.zeros((B, B), tw.float32)
    for j in range(tw.load(counts + i)):
        column = tw.load(index + i * LONGEST + j)
        block = tw.load(a_blocks + ((i * LONGEST + j) * B + r[:, None]) * B + r[None, :])
        other = tw.load(
            b + (column * B + r)[:, None] * N + n[None, :], mask=n[None, :] < N, other=0.0
        )
        acc = tw.dot(block, other, acc)
    tw.store(c + (i * B + r)[:, None] * N + n[None, :], acc, mask=n[None, :] < N)


def test_block_sparse_matmul(num_warps: int, rng: np.random.Generator) -> None:
    counts, B = np.array([2, 0, 3], np.int32), 16
    index = np.stack([rng.permutation(4)[:3] for _ in range(3)]).astype(np.int32)
    blocks = rng.integers(-4, 5, (3, 3, B, B)).astype(np.float32)
    b, c = rng.integers(-4, 5, (64, 20)).astype(np.float32), poisoned(48, 20)
    run(
        block_sparse_matmul, (3, 2), blocks, index, counts, b, c, 20, 3, B=B, num_warps=num_warps
    )
    dense = np.zeros((48, 64), np.float32)
    for i in range(3):
        for j in range(counts[i]):
            at = index[i, j] * B
            dense[i * B : i * B + B, at : at + B] = blocks[i, j]
    np.testing.assert_array_equal(c, dense @ b)
