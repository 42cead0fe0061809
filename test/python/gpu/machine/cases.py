"""Small kernels of every kind for machine code, each with NumPy's answer: `CASES[name](rng)` launches one
and compares."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import tile_kernels
from gpu.launching import normal, poisoned

import tilewright as tw

Case = Callable[[np.random.Generator], None]
CASES: dict[str, Case] = {}


def case(function: Case) -> Case:
    CASES[function.__name__] = function
    return function


def close(found: np.ndarray, expected: np.ndarray, tolerance: float = 1e-5) -> None:
    np.testing.assert_allclose(found.astype(np.float64), expected, rtol=tolerance, atol=tolerance)


@tw.jit
def arithmetic(x, y, out, whole, n, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    inside = i < n
    a, b = tw.load(x + i, mask=inside, other=1.0), tw.load(y + i, mask=inside, other=1.0)
    value = tw.exp(-a * a) + tw.log(tw.abs(b) + 1.0) + a / b + tw.sqrt(tw.abs(a)) + tw.sin(b)
    tw.store(out + i, tw.where(a > b, value, tw.floor(a) + tw.minimum(a, b)), mask=inside)
    k = (i * 7 - 300) // 13 + (i * 5 + 1) % 11
    tw.store(whole + i, (k << 2) ^ (i >> 1), mask=inside)


@case
def elementwise(rng: np.random.Generator) -> None:
    n = 700
    x, y = normal(rng, n), normal(rng, n)
    out, whole = poisoned(n), poisoned(n, dtype=np.int32)
    arithmetic[(3,)](x, y, out, whole, n, BLOCK=256, num_warps=2)
    a, b, i = x.astype(np.float64), y.astype(np.float64), np.arange(n)
    value = np.exp(-a * a) + np.log(abs(b) + 1) + a / b + np.sqrt(abs(a)) + np.sin(b)
    close(out, np.where(a > b, value, np.floor(a) + np.minimum(a, b)), 2e-5)
    k = np.trunc((i * 7 - 300) / 13).astype(int) + (i * 5 + 1) % 11
    np.testing.assert_array_equal(whole, (k << 2) ^ (i >> 1))


@tw.jit
def fill_even(out, begin, n, value, BLOCK: tw.constexpr):
    i = begin + tw.arange(0, BLOCK)
    tw.store(out + i, value, mask=(i < n) & (i % 2 == 0))


@case
def masks(rng: np.random.Generator) -> None:
    out = np.full(300, 7, np.int16)
    fill_even[(1,)](out, 100, 213, -3, BLOCK=256, num_warps=2)
    i = np.arange(300)
    np.testing.assert_array_equal(out, np.where((i >= 100) & (i < 213) & (i % 2 == 0), -3, 7))


@case
def transpose(rng: np.random.Generator) -> None:
    x, y = normal(rng, 41, 27), poisoned(27, 41)
    tile_kernels.transpose[(2, 1)](x, y, 41, 27, BLOCK=32, num_warps=4)
    np.testing.assert_array_equal(y, x.T)


@case
def reductions(rng: np.random.Generator) -> None:
    x = rng.integers(-8, 8, (16, 64)).astype(np.float32)
    by_row, by_column = poisoned(16), poisoned(64)
    tile_kernels.reduce_both[(1,)](x, by_row, by_column, ROWS=16, COLUMNS=64, num_warps=4)
    np.testing.assert_array_equal(by_row, x.sum(1))
    np.testing.assert_array_equal(by_column, x.max(0))


@case
def softmax_in_a_loop(rng: np.random.Generator) -> None:
    x = normal(rng, 2, 700)
    out = poisoned(2, 700)
    tile_kernels.long_softmax[(2,)](x, out, 700, BLOCK=256, num_warps=4)
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    close(out, e / e.sum(1, keepdims=True))


@tw.jit
def sum_of_halves(x, y, z, out, n, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    inside = i < n
    a, b = tw.load(x + i, mask=inside).to(tw.float32), tw.load(y + i, mask=inside).to(tw.float32)
    c = tw.load(z + i, mask=inside)
    tw.store(out + i, a + c, mask=inside)
    tw.store(out + n + i, c - b, mask=inside)
    tw.store(out + 2 * n + i, b - c, mask=inside)
    tw.store(out + 3 * n + i, a - b, mask=inside)
    tw.store(out + 4 * n + i, (c - a) * c + b, mask=inside)


@case
def halves(rng: np.random.Generator) -> None:
    """Zeros of either sign, infinities, NaN and subnormal numbers of both widths among them."""
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 6e-8, -6e-8, 3e-5, 65504.0], np.float16)
    n = 500
    x, y = (np.where(rng.random(n) < 0.5, rng.choice(special, n), normal(rng, n).astype(np.float16)) for _ in "xy")
    small = rng.choice(np.array([0.0, -0.0, 1e-40, -1e-40, 1e15, np.inf], np.float32), n)
    z = np.where(rng.random(n) < 0.5, small, normal(rng, n))
    out = poisoned(5 * n)
    sum_of_halves[(2,)](x, y, z, out, n, BLOCK=256, num_warps=1)
    with np.errstate(all="ignore"):
        a, b = x.astype(np.float32), y.astype(np.float32)
        expected = np.concatenate([a + z, z - b, b - z, a - b])
        fused = ((z - a).astype(np.float64) * z + b).astype(np.float32)
    np.testing.assert_array_equal(out[: 4 * n], expected)
    is_number = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(out[: 4 * n])[is_number], np.signbit(expected)[is_number])
    np.testing.assert_allclose(out[4 * n :], fused, rtol=1e-6, atol=0.05)  # products of up to 2^18 are fused or not


@tw.jit
def normalize(x, weight, bias, out, columns, eps, BLOCK: tw.constexpr):
    row, c = tw.program_id(0), tw.arange(0, BLOCK)
    inside = c < columns
    value = tw.load(x + row * columns + c, mask=inside, other=0.0)
    mean = tw.sum(value, 0) / columns
    apart = tw.where(inside, value - mean, 0.0)
    scale = 1.0 / tw.sqrt(tw.sum(apart * apart, 0) / columns + eps)
    w, b = tw.load(weight + c, mask=inside, other=0.0), tw.load(bias + c, mask=inside, other=0.0)
    tw.store(out + row * columns + c, apart * scale * w + b, mask=inside)


@case
def layer_norm(rng: np.random.Generator) -> None:
    x, w, b, out = normal(rng, 3, 300), normal(rng, 300), normal(rng, 300), poisoned(3, 300)
    normalize[(3,)](x, w, b, out, 300, 1e-5, BLOCK=512, num_warps=4)
    e = x.astype(np.float64)
    apart = e - e.mean(1, keepdims=True)
    close(out, apart / np.sqrt((apart**2).mean(1, keepdims=True) + 1e-5) * w + b)


@case
def scans(rng: np.random.Generator) -> None:
    x = rng.choice([-1.0, 1.0, 2.0], (4, 128), p=[0.3, 0.6, 0.1]).astype(np.float32)
    sums, products = poisoned(4, 128), poisoned(4, 128)
    tile_kernels.prefix[(1,)](x, sums, products, ROWS=4, COLUMNS=128, num_warps=4)
    np.testing.assert_array_equal(sums, np.cumsum(x, 1))
    np.testing.assert_array_equal(products, np.cumprod(x, 0))


@tw.jit
def sort_rows(x, out, COLUMNS: tw.constexpr):
    c = tw.program_id(0) * COLUMNS + tw.arange(0, COLUMNS)
    tw.store(out + c, tw.sort(tw.load(x + c)))


@case
def sort(rng: np.random.Generator) -> None:
    x = rng.integers(-99, 99, (2, 128)).astype(np.int32)
    out = poisoned(2, 128, dtype=np.int32)
    sort_rows[(2,)](x, out, COLUMNS=128, num_warps=2)
    np.testing.assert_array_equal(out, np.sort(x, 1))


@case
def arg_extremes(rng: np.random.Generator) -> None:
    x = rng.integers(0, 50, (2, 300)).astype(np.float32)  # many ties: the first one counts
    largest, smallest = poisoned(2, dtype=np.int32), poisoned(2, dtype=np.int32)
    tile_kernels.arg_extremes[(2,)](x, largest, smallest, 300, BLOCK=512, num_warps=4)
    np.testing.assert_array_equal(largest, x.argmax(1))
    np.testing.assert_array_equal(smallest, x.argmin(1))


@case
def histogram_by_atomics(rng: np.random.Generator) -> None:
    x = rng.integers(0, 10, 540).astype(np.int32)
    counts = np.zeros(10, np.int32)
    tile_kernels.histogram[(2,)](x, counts, 540, BLOCK=512, num_warps=2)
    np.testing.assert_array_equal(counts, np.bincount(x, minlength=10))


@tw.jit
def tickets(total, order, largest, x, n, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    value = tw.load(x + i, mask=i < n, other=0.0)
    tw.store(order + tw.program_id(0), tw.atomic_add(total, tw.sum(value, 0)))
    tw.atomic_max(largest, tw.max(value, 0).to(tw.int32))
    tw.atomic_cas(largest + 1, tw.program_id(0), tw.program_id(0) + 1)


@case
def atomics(rng: np.random.Generator) -> None:
    x = rng.integers(1, 50, 300).astype(np.float32)
    total, order, largest = np.zeros(1, np.float32), poisoned(3), np.zeros(2, np.int32)
    tickets[(3,)](total, order, largest, x, 300, BLOCK=128, num_warps=2)
    assert total[0] == x.sum() and list(largest) == [x.max(), 3]
    np.testing.assert_array_equal(np.sort(order), [0, x[:128].sum(), x[:256].sum()])


@case
def gather(rng: np.random.Generator) -> None:
    x, index = normal(rng, 8, 64), rng.integers(0, 64, (8, 64)).astype(np.int32)
    out = poisoned(8, 64)
    tile_kernels.gather_in_tile[(1,)](x, index, out, ROWS=8, COLUMNS=64, num_warps=2)
    np.testing.assert_array_equal(out, np.take_along_axis(x, index, 1))


@case
def random_numbers(rng: np.random.Generator) -> None:
    x, out = np.ones(200, np.float32), poisoned(200)
    tile_kernels.dropout[(1,)](x, out, 200, 0.4, 31, BLOCK=256, num_warps=2)
    # Philox is tested against its papers elsewhere: here, that the machine code multiplies as the CPU's.
    on_cpu = poisoned(200)
    tile_kernels.dropout.compile(
        {"x": "*fp32", "out": "*fp32", "n": "i32", "p": "fp32", "seed": "i32"}, {"BLOCK": 256}, device="cpu"
    )[(1,)](x, on_cpu, 200, 0.4, 31)
    np.testing.assert_array_equal(out, on_cpu)


@tw.jit
def product(a, b, c, M, N, K, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr, HOW: tw.constexpr):
    m, n = tw.program_id(0) * BM + tw.arange(0, BM), tw.program_id(1) * BN + tw.arange(0, BN)
    acc = tw.zeros((BM, BN), HOW)
    for start in range(0, K, BK):
        k = start + tw.arange(0, BK)
        x = tw.load(a + m[:, None] * K + k[None, :], (m < M)[:, None] & (k < K)[None, :], 0)
        y = tw.load(b + k[:, None] * N + n[None, :], (k < K)[:, None] & (n < N)[None, :], 0)
        acc = tw.dot(x, y, acc, out_dtype=HOW)
    tw.store(c + m[:, None] * N + n[None, :], acc, mask=(m < M)[:, None] & (n < N)[None, :])


def multiply(rng: np.random.Generator, dtype: Any, sums: Any, shape: tuple[int, int, int], **options: Any) -> None:
    m, n, k = shape
    dtypes = dtype if isinstance(dtype, tuple) else (dtype, dtype)
    shapes = (m, k), (k, n)
    a, b = (rng.integers(-4, 5, s).astype(np.float32).astype(each) for s, each in zip(shapes, dtypes))
    c = poisoned(m, n, dtype=sums)
    how = {np.float32: tw.float32, np.int32: tw.int32, np.float64: tw.float64}[sums]
    tiles = {"BM": 32, "BN": 32, "BK": 32} | options
    grid = (-(-m // tiles["BM"]), -(-n // tiles["BN"]))
    product[grid](a, b, c, m, n, k, HOW=how, **{"num_warps": 4, **tiles})
    np.testing.assert_array_equal(c, a.astype(np.float64) @ b.astype(np.float64))


@case
def product_f16(rng: np.random.Generator) -> None:
    multiply(rng, np.float16, np.float32, (40, 30, 50))


@case
def product_f16_of_larger_instructions(rng: np.random.Generator) -> None:
    multiply(rng, np.float16, np.float32, (64, 64, 48), BM=64, BN=64, BK=16)


@case
def product_f16_of_large_tiles(rng: np.random.Generator) -> None:
    # Long enough that waves signal at a barrier before they wait there, where they can.
    multiply(rng, np.float16, np.float32, (128, 128, 96), BM=128, BN=128, BK=32)


@case
def product_f16_of_one_slot(rng: np.random.Generator) -> None:
    # Two slots of 64 KiB do not fit: tiles wait in registers.
    multiply(rng, np.float16, np.float32, (64, 64, 600), BM=64, BN=64, BK=256, num_stages=2)


@case
def product_bf16(rng: np.random.Generator) -> None:
    multiply(rng, ml_dtypes.bfloat16, np.float32, (33, 32, 40))


@case
def product_f8(rng: np.random.Generator) -> None:
    multiply(rng, ml_dtypes.float8_e4m3fn, np.float32, (32, 32, 64))


@case
def product_f8_of_two_kinds(rng: np.random.Generator) -> None:
    multiply(rng, (ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fn), np.float32, (32, 32, 64))


@case
def product_f8_of_large_tiles(rng: np.random.Generator) -> None:
    # B is turned while it is read, where reads of bytes can.
    multiply(rng, ml_dtypes.float8_e5m2, np.float32, (64, 64, 160), BM=64, BN=64, BK=64)


@case
def product_i8(rng: np.random.Generator) -> None:
    multiply(rng, np.int8, np.int32, (32, 32, 64))


@case
def product_f32(rng: np.random.Generator) -> None:
    multiply(rng, np.float32, np.float32, (32, 20, 24), BK=16)


@case
def product_f64(rng: np.random.Generator) -> None:
    multiply(rng, np.float64, np.float64, (17, 32, 20), BK=16, num_warps=2)


@tw.jit
def attend(q, k, v, out, length, scale, D: tw.constexpr, BM: tw.constexpr, BN: tw.constexpr):
    m, d = tw.program_id(0) * BM + tw.arange(0, BM), tw.arange(0, D)
    query = tw.load(q + m[:, None] * D + d[None, :], mask=m[:, None] < length, other=0.0)
    peak, norm = tw.full([BM], -1.0e30, tw.float32), tw.zeros([BM], tw.float32)
    acc = tw.zeros([BM, D], tw.float32)
    for start in range(0, length, BN):
        n = start + tw.arange(0, BN)
        keys = tw.load(k + n[None, :] * D + d[:, None], mask=n[None, :] < length, other=0.0)
        score = tw.where((n[None, :] <= m[:, None]), tw.dot(query, keys) * scale, -1.0e30)
        higher = tw.maximum(peak, tw.max(score, 1))
        p, shrink = tw.exp(score - higher[:, None]), tw.exp(peak - higher)
        norm = norm * shrink + tw.sum(p, 1)
        values = tw.load(v + n[:, None] * D + d[None, :], mask=n[:, None] < length, other=0.0)
        acc = tw.dot(p.to(values.dtype), values, acc * shrink[:, None])
        peak = higher
    tw.store(out + m[:, None] * D + d[None, :], acc / norm[:, None], mask=m[:, None] < length)


@case
def attention(rng: np.random.Generator) -> None:
    length, depth = 50, 32
    q, k, v = (normal(rng, length, depth, dtype=np.float16) for _ in range(3))
    out = poisoned(length, depth)
    attend[(2,)](q, k, v, out, length, 0.2, D=depth, BM=32, BN=32, num_warps=4)
    score = q.astype(np.float64) @ k.astype(np.float64).T * 0.2
    score[np.triu_indices(length, 1)] = -np.inf
    e = np.exp(score - score.max(1, keepdims=True))
    close(out, e / e.sum(1, keepdims=True) @ v.astype(np.float64), 3e-3)
