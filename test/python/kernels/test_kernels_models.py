"""Kernels that users of such a language write, each with several of its parts at once, against float64 on
each kind of device: a processor's, a GPU's, and OpenCL's."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from product_kernels import rows_by_rows
from sampled import OPENCL, SPIRV

import tilewright as tw


@pytest.fixture(params=["cpu", "reference", "sim:sm_80", *SPIRV, *OPENCL])
def every(request: pytest.FixtureRequest, compiler: None) -> Iterator[str]:
    """Each kind of device, none of them sampled."""
    with tw.device(request.param):
        yield request.param


pytestmark = pytest.mark.usefixtures("every")


def empty(shape: tuple[int, ...] | int, dtype: type = np.float32) -> np.ndarray:
    """An output, poisoned."""
    return np.full(shape, np.nan if dtype is np.float32 else 0x55, dtype)


@tw.jit
def causal_softmax(out, x, n, scale, BLOCK: tw.constexpr):
    row = tw.program_id(0)
    i = tw.arange(0, BLOCK)
    value = tw.load(x + row * n + i, mask=i < n, other=0.0) * scale
    value = tw.where((i <= row) & (i < n), value, float("-inf"))
    above = tw.exp(value - tw.max(value, 0))
    tw.store(out + row * n + i, above / tw.sum(above, 0), mask=i < n)


@pytest.mark.parametrize("n", [1, 37, 64])
def test_softmax_under_a_causal_mask(n: int, rng: np.random.Generator) -> None:
    x = rng.standard_normal((n, n), dtype=np.float32) * 8
    out = empty((n, n))
    causal_softmax[(n,)](out, x, n, 0.5, BLOCK=64)
    scaled = np.where(np.tri(n, dtype=bool), x.astype(float) * 0.5, -np.inf)
    expected = np.exp(scaled - scaled.max(1, keepdims=True))
    np.testing.assert_allclose(out, expected / expected.sum(1, keepdims=True), rtol=2e-6, atol=1e-12)


@tw.jit
def layer_norm(out, mean_out, rstd_out, x, weight, bias, n, epsilon, BLOCK: tw.constexpr):
    row = tw.program_id(0)
    total = tw.zeros((BLOCK,), tw.float32)
    for start in range(0, n, BLOCK):
        i = start + tw.arange(0, BLOCK)
        total += tw.load(x + row * n + i, mask=i < n, other=0.0).to(tw.float32)
    mean = tw.sum(total, 0) / n
    squares = tw.zeros((BLOCK,), tw.float32)
    for start in range(0, n, BLOCK):
        i = start + tw.arange(0, BLOCK)
        value = tw.load(x + row * n + i, mask=i < n, other=0.0).to(tw.float32)
        value = tw.where(i < n, value - mean, 0.0)
        squares += value * value
    rstd = tw.rsqrt(tw.sum(squares, 0) / n + epsilon)
    tw.store(mean_out + row, mean)
    tw.store(rstd_out + row, rstd)
    for start in range(0, n, BLOCK):
        i = start + tw.arange(0, BLOCK)
        mask = i < n
        value = tw.load(x + row * n + i, mask=mask, other=0.0).to(tw.float32)
        scaled = (value - mean) * rstd * tw.load(weight + i, mask=mask) + tw.load(bias + i, mask=mask)
        tw.store(out + row * n + i, scaled.to(out.dtype.element_ty), mask=mask)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_layer_norm_in_three_passes(dtype: type, rng: np.random.Generator) -> None:
    rows, n = 3, 301
    x = (rng.standard_normal((rows, n)) * 3 + 5).astype(dtype)
    weight, bias = rng.standard_normal((2, n), dtype=np.float32)
    out, mean, rstd = np.full((rows, n), np.nan, dtype), empty(rows), empty(rows)
    layer_norm[(rows,)](out, mean, rstd, x, weight, bias, n, 1e-5, BLOCK=128)
    exact = x.astype(float)
    center, spread = exact.mean(1), 1 / np.sqrt(exact.var(1) + 1e-5)
    np.testing.assert_allclose(mean, center, rtol=1e-6)
    np.testing.assert_allclose(rstd, spread, rtol=1e-5)
    expected = (exact - center[:, None]) * spread[:, None] * weight + bias
    tolerance = 2e-5 if dtype is np.float32 else 4e-3
    np.testing.assert_allclose(out.astype(float), expected, rtol=tolerance, atol=tolerance)


@tw.jit
def top_k(values, places, x, n, K: tw.constexpr, BLOCK: tw.constexpr):
    """By K maxima, each of which is then taken out; the first of equal ones wins."""
    row = tw.program_id(0)
    i = tw.arange(0, BLOCK)
    left = tw.load(x + row * n + i, mask=i < n, other=float("-inf"))
    for step in range(K):
        best, at = tw.max(left, 0, return_indices=True)
        tw.store(values + row * K + step, best)
        tw.store(places + row * K + step, at)
        left = tw.where(i == at, float("-inf"), left)


@tw.jit
def top_k_by_sort(values, x, n, K: tw.constexpr, BLOCK: tw.constexpr):
    row = tw.program_id(0)
    i = tw.arange(0, BLOCK)
    best = tw.topk(tw.load(x + row * n + i, mask=i < n, other=float("-inf")), K)
    tw.store(values + row * K + tw.arange(0, K), best)


def test_top_k_by_maxima_and_by_sort(rng: np.random.Generator) -> None:
    rows, n, k = 2, 200, 8
    x = rng.integers(-50, 50, (rows, n)).astype(np.float32)  # many are equal
    values, places, sorted_values = empty((rows, k)), np.full((rows, k), -1, np.int32), empty((rows, k))
    top_k[(rows,)](values, places, x, n, K=k, BLOCK=256)
    top_k_by_sort[(rows,)](sorted_values, x, n, K=k, BLOCK=256)
    order = np.argsort(-x, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(places, order)
    np.testing.assert_array_equal(values, np.take_along_axis(x, order, 1))
    np.testing.assert_array_equal(sorted_values, values)


@tw.jit
def _gated(a_left, b_left, a_right, b_right):
    return a_left * a_right, b_left * a_right + b_right


@tw.jit
def recurrence(out, gate, x, length, BLOCK: tw.constexpr):
    """h[t] = gate[t] h[t - 1] + x[t], in pieces that hand on the last h."""
    row = tw.program_id(0)
    last = 0.0
    for start in range(0, length, BLOCK):
        t = start + tw.arange(0, BLOCK)
        g = tw.load(gate + row * length + t, mask=t < length, other=1.0)
        v = tw.load(x + row * length + t, mask=t < length, other=0.0)
        factors, sums = tw.associative_scan((g, v), 0, _gated)
        state = factors * last + sums
        tw.store(out + row * length + t, state, mask=t < length)
        last = tw.sum(tw.where(t == start + BLOCK - 1, state, 0.0), 0)


def test_a_gated_recurrence_by_scans(rng: np.random.Generator) -> None:
    rows, length = 2, 150
    gate = rng.uniform(0.5, 1, (rows, length)).astype(np.float32)
    x = rng.standard_normal((rows, length), dtype=np.float32)
    out = empty((rows, length))
    recurrence[(rows,)](out, gate, x, length, BLOCK=64)
    expected, state = np.empty((rows, length)), np.zeros(rows)
    for t in range(length):
        state = gate[:, t].astype(float) * state + x[:, t]
        expected[:, t] = state
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-5)


@tw.jit
def histogram(counts, sums, x, n, BINS: tw.constexpr, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    mask = i < n
    value = tw.load(x + i, mask=mask, other=0)
    here = tw.histogram(value, BINS, mask=mask)
    tw.atomic_add(counts + tw.arange(0, BINS), here, mask=here > 0, sem="relaxed")
    tw.atomic_add(sums + value, value.to(tw.float32) * 0.5, mask=mask)


def test_histograms_are_added_by_atomics(rng: np.random.Generator) -> None:
    x = rng.integers(0, 32, 1000).astype(np.int32)
    counts, sums = np.zeros(32, np.int32), np.zeros(32, np.float32)
    histogram[(4,)](counts, sums, x, 1000, BINS=32, BLOCK=256)
    expected = np.bincount(x, minlength=32)
    np.testing.assert_array_equal(counts, expected)
    np.testing.assert_allclose(sums, expected * np.arange(32) * 0.5)


@tw.jit
def locked_maximum(lock, best, place, x, n, BLOCK: tw.constexpr):
    """Programs take turns by a lock to update two numbers at once."""
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    value, at = tw.max(tw.load(x + i, mask=i < n, other=float("-inf")), 0, return_indices=True)
    while tw.atomic_cas(lock, 0, 1) == 1:
        pass
    if value > tw.load(best):
        tw.store(best, value)
        tw.store(place, tw.program_id(0) * BLOCK + at)
    tw.debug_barrier()
    tw.atomic_xchg(lock, 0)


def test_programs_take_turns_by_a_lock(rng: np.random.Generator) -> None:
    x = rng.standard_normal(1000, dtype=np.float32)
    lock, best, place = np.zeros(1, np.int32), np.full(1, -np.inf, np.float32), np.full(1, -1, np.int32)
    locked_maximum[(8,)](lock, best, place, x, 1000, BLOCK=128)
    assert lock[0] == 0 and best[0] == x.max() and place[0] == x.argmax()


@tw.jit
def cross_entropy(loss, gradient, logits, labels, n, ignored, BLOCK: tw.constexpr):
    """The loss and its gradient with an online maximum, over rows longer than a tile."""
    row = tw.program_id(0)
    label = tw.load(labels + row)
    logits += row * n
    maximum = float("-inf")
    total = 0.0
    for start in range(0, n, BLOCK):
        i = start + tw.arange(0, BLOCK)
        value = tw.load(logits + i, mask=i < n, other=float("-inf"))
        new = tw.maximum(maximum, tw.max(value, 0))
        total = total * tw.exp(maximum - new) + tw.sum(tw.exp(value - new), 0)
        maximum = new
    if label == ignored:
        tw.store(loss + row, 0.0)
    else:
        tw.store(loss + row, tw.log(total) + maximum - tw.load(logits + label))
    for start in range(0, n, BLOCK):
        i = start + tw.arange(0, BLOCK)
        share = tw.exp(tw.load(logits + i, mask=i < n, other=float("-inf")) - maximum) / total
        share = tw.where(i == label, share - 1.0, share)
        tw.store(gradient + row * n + i, tw.where(label == ignored, 0.0, share), mask=i < n)


def test_cross_entropy_with_ignored_labels(rng: np.random.Generator) -> None:
    rows, n = 4, 300
    logits = rng.standard_normal((rows, n), dtype=np.float32) * 6
    labels = np.array([0, 299, -100, 17], np.int64)
    loss, gradient = empty(rows), empty((rows, n))
    cross_entropy[(rows,)](loss, gradient, logits, labels, n, -100, BLOCK=128)
    exact = logits.astype(float)
    shares = np.exp(exact - exact.max(1, keepdims=True))
    sums = shares.sum(1)
    shares /= sums[:, None]
    kept = labels != -100
    expected = np.where(kept, np.log(sums) + exact.max(1) - exact[np.arange(rows), np.where(kept, labels, 0)], 0)
    shares[np.arange(rows)[kept], labels[kept]] -= 1
    np.testing.assert_allclose(loss, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(gradient, shares * kept[:, None], rtol=1e-5, atol=1e-6)


@tw.jit
def dropout(out, x, n, p, seed, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    kept = tw.rand(seed, i) > p
    value = tw.load(x + i, mask=i < n)
    tw.store(out + i, tw.where(kept, value / (1 - p), 0.0), mask=i < n)


def philox(counter: np.ndarray, seed: int, rounds: int = 10) -> np.ndarray:
    """The first word of Philox-4x32 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011)."""
    c = [counter.astype(np.uint64), *(np.zeros(counter.shape, np.uint64) for _ in range(3))]
    key = [np.uint64(seed & 0xFFFFFFFF), np.uint64(seed >> 32)]
    low, shift = np.uint64(0xFFFFFFFF), np.uint64(32)
    for _ in range(rounds):
        a, b = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(b >> shift) ^ c[1] ^ key[0], b & low, (a >> shift) ^ c[3] ^ key[1], a & low]
        key = [(key[0] + np.uint64(0x9E3779B9)) & low, (key[1] + np.uint64(0xBB67AE85)) & low]
    return c[0].astype(np.uint32)


@pytest.mark.parametrize("seed", [42, 0x123456789ABCDEF])
def test_dropout_draws_as_philox_says(seed: int, rng: np.random.Generator) -> None:
    n, p = 1000, 0.25
    x = rng.standard_normal(n, dtype=np.float32)
    out = empty(n)
    dropout[(4,)](out, x, n, p, seed, BLOCK=256)
    words = philox(np.arange(n), seed).view(np.int32).astype(np.int64)
    uniform = np.where(words < 0, -words - 1, words) * 4.6566127342e-10
    np.testing.assert_allclose(out, np.where(uniform > p, x / (1 - p), 0), rtol=1e-6)


@tw.jit
def convolve(
    out, x, weight, height, width, C: tw.constexpr, F: tw.constexpr, SIDE: tw.constexpr, BLOCK: tw.constexpr
):  # fmt: skip
    """A 2D convolution with padding as a product: pixels by channels, for each place of the window."""
    pixel = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    row, column = pixel // width, pixel % width
    c, f = tw.arange(0, C), tw.arange(0, F)
    total = tw.zeros((BLOCK, F), tw.float32)
    for place in tw.static_range(SIDE * SIDE):
        y = row + (place // SIDE - SIDE // 2)
        z = column + (place % SIDE - SIDE // 2)
        inside = (y >= 0) & (y < height) & (z >= 0) & (z < width) & (pixel < height * width)
        values = tw.load(x + ((y * width + z) * C)[:, None] + c[None, :], mask=inside[:, None], other=0.0)
        factors = tw.load(weight + (place * C + c)[:, None] * F + f[None, :])
        total = tw.dot(values, factors, total, input_precision="ieee")
    tw.store(out + pixel[:, None] * F + f[None, :], total, mask=(pixel < height * width)[:, None])


def test_convolution_in_two_dimensions(rng: np.random.Generator) -> None:
    height, width, c, f = 9, 7, 16, 16
    x = rng.standard_normal((height, width, c), dtype=np.float32)
    weight = rng.standard_normal((3, 3, c, f), dtype=np.float32)
    out = empty((height, width, f))
    convolve[(4,)](out, x, weight, height, width, C=c, F=f, SIDE=3, BLOCK=16)
    padded = np.pad(x.astype(float), ((1, 1), (1, 1), (0, 0)))
    expected = sum(
        padded[i : i + height, j : j + width] @ weight[i, j].astype(float) for i in range(3) for j in range(3)
    )
    np.testing.assert_allclose(out, expected, rtol=1e-4, atol=1e-4)


@tw.jit
def int4_product(
    out, x, packed, scales, zeros, M: tw.constexpr, N: tw.constexpr, K: tw.constexpr, GROUP: tw.constexpr
):  # fmt: skip
    """Rows of `packed` hold two weights of 4 bits a byte, the even one low; a scale and a zero a group."""
    m, n, k = tw.arange(0, M), tw.arange(0, N), tw.arange(0, GROUP)
    total = tw.zeros((M, N), tw.float32)
    for group in range(K // GROUP):
        half = group * (GROUP // 2) + tw.arange(0, GROUP // 2)
        both = tw.load(packed + n[:, None] * (K // 2) + half[None, :])
        codes = tw.interleave(both & 0xF, both >> 4).to(tw.float32)
        scale = tw.load(scales + n * (K // GROUP) + group)
        zero = tw.load(zeros + n * (K // GROUP) + group).to(tw.float32)
        weights = ((codes - zero[:, None]) * scale[:, None]).to(tw.float16)
        a = tw.load(x + m[:, None] * K + (group * GROUP + k)[None, :])
        total += tw.dot(a, tw.trans(weights))
    tw.store(out + m[:, None] * N + n[None, :], total)


def test_a_product_with_weights_of_4_bits(rng: np.random.Generator) -> None:
    m, n, k, group = 16, 32, 128, 32
    x = rng.standard_normal((m, k)).astype(np.float16)
    codes = rng.integers(0, 16, (n, k)).astype(np.uint8)
    packed = codes[:, ::2] | codes[:, 1::2] << 4
    scales = rng.uniform(0.01, 0.1, (n, k // group)).astype(np.float32)
    zeros = rng.integers(0, 16, (n, k // group)).astype(np.uint8)
    out = empty((m, n))
    int4_product[(1,)](out, x, packed, scales, zeros, M=m, N=n, K=k, GROUP=group)
    spread = (codes.astype(np.float32) - np.repeat(zeros, group, 1)) * np.repeat(scales, group, 1)
    expected = x.astype(float) @ spread.astype(np.float16).astype(float).T
    np.testing.assert_allclose(out, expected, rtol=1e-3, atol=1e-3)


@tw.jit
def ragged_sums(out, table, places, begins, N: tw.constexpr, BLOCK: tw.constexpr):
    """Bag b is the sum of the table's rows that `places` names from begins[b] to begins[b + 1]."""
    bag = tw.program_id(0)
    begin, end = tw.load(begins + bag), tw.load(begins + bag + 1)
    n = tw.arange(0, N)
    total = tw.zeros((N,), tw.float32)
    for start in range(begin, end, BLOCK):
        i = start + tw.arange(0, BLOCK)
        place = tw.load(places + i, mask=i < end, other=-1)
        rows = tw.load(table + place[:, None] * N + n[None, :], mask=(place >= 0)[:, None], other=0.0)
        total += tw.sum(rows, 0)
    tw.store(out + bag * N + n, total)


def test_ragged_bags_of_rows(rng: np.random.Generator) -> None:
    n, lengths = 32, [0, 1, 7, 40, 0, 16]
    table = rng.standard_normal((50, n), dtype=np.float32)
    begins = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    places = rng.integers(-1, 50, begins[-1]).astype(np.int64)  # -1: nothing there
    out = empty((len(lengths), n))
    ragged_sums[(len(lengths),)](out, table, places, begins, N=n, BLOCK=16)
    rows = np.where(places[:, None] >= 0, table.astype(float)[places], 0)
    expected = [rows[a:b].sum(0) for a, b in zip(begins, begins[1:], strict=False)]
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shape", [(16, 16, 64), (32, 16, 64), (64, 64, 64), (64, 16, 32)])
@pytest.mark.parametrize("num_warps", [2, 4, 8])
def test_products_of_rows_by_rows(
    num_warps: int, shape: tuple[int, int, int], rng: np.random.Generator
) -> None:
    """Places in shared memory are masks of the loop's counter: a driver reads others if the counter is
    narrower than it was."""
    rows, columns, depth = shape
    q, k = (rng.standard_normal((count, depth)).astype(np.float16) for count in (rows, columns))
    out = empty((rows, columns))
    rows_by_rows[(1,)](out, q, k, *shape, num_warps=num_warps)
    np.testing.assert_allclose(out, q.astype(float) @ k.astype(float).T, rtol=1e-4, atol=1e-3)
