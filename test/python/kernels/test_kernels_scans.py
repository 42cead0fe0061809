"""Scans, sorts, reductions of tuples, histograms and random access, against NumPy and torch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import tilewright.triton as triton
import tilewright.triton.language as tl


def check(actual, expected, tolerance: float = 1e-5) -> None:
    np.testing.assert_allclose(
        np.asarray(actual, np.float64), np.asarray(expected, np.float64), tolerance, tolerance
    )


@triton.jit
def linear_recurrence(a1, b1, a2, b2):
    return a1 * a2, a2 * b1 + b2


@triton.jit
def scan_recurrence(A, B, H, T, D, BT: tl.constexpr, BD: tl.constexpr, REVERSE: tl.constexpr):
    t = tl.arange(0, BT)[:, None]
    d = tl.program_id(0) * BD + tl.arange(0, BD)[None, :]
    inside = (t < T) & (d < D)
    a = tl.load(A + t * D + d, mask=inside, other=1.0)
    b = tl.load(B + t * D + d, mask=inside, other=0.0)
    _, h = tl.associative_scan((a, b), axis=0, combine_fn=linear_recurrence, reverse=REVERSE)
    tl.store(H + t * D + d, h, mask=inside)


@pytest.mark.parametrize("reverse", [False, True])
def test_linear_recurrence_by_scan(device: str, rng, reverse: bool) -> None:
    T, D = 13, 6
    a, b = rng.uniform(0.5, 1, (T, D)).astype(np.float32), rng.standard_normal((T, D), np.float32)
    h = np.full((T, D), 7, np.float32)
    scan_recurrence[(2,)](a, b, h, T, D, BT=16, BD=4, REVERSE=reverse)
    expected, state = np.zeros((T, D)), np.zeros(D)
    for t in reversed(range(T)) if reverse else range(T):
        state = a[t].astype(np.float64) * state + b[t]
        expected[t] = state
    check(h, expected)


@triton.jit
def selective_scan(U, DELTA, A, B, C, Y, T, D, N: tl.constexpr):
    d = tl.program_id(0)
    n = tl.arange(0, N)
    a = tl.load(A + d * N + n)
    state = tl.zeros([N], tl.float32)
    for t in range(T):
        delta = tl.load(DELTA + t * D + d)
        delta = tl.where(delta > 20.0, delta, tl.log(1 + tl.exp(delta)))
        u = tl.load(U + t * D + d)
        state = state * tl.exp(delta * a) + delta * u * tl.load(B + t * N + n)
        tl.store(Y + t * D + d, tl.sum(state * tl.load(C + t * N + n)))


def test_selective_state_space_scan(device: str, rng) -> None:
    T, D, N = 9, 3, 4
    u, delta = rng.standard_normal((2, T, D), np.float32)
    b, c = rng.standard_normal((2, T, N), np.float32)
    a = -rng.uniform(0.1, 2, (D, N)).astype(np.float32)
    y = np.full((T, D), 7, np.float32)
    selective_scan[(D,)](u, delta, a, b, c, y, T, D, N)
    state, expected = np.zeros((D, N)), np.zeros((T, D))
    for t in range(T):
        soft = np.log1p(np.exp(delta[t].astype(np.float64)))[:, None]
        state = state * np.exp(soft * a) + soft * u[t][:, None] * b[t]
        expected[t] = state @ c[t]
    check(y, expected, 1e-4)


@triton.jit
def running(X, SUMS, PRODUCTS, TAILS, MAXIMA, N, BLOCK: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, BLOCK)
    mask = tl.arange(0, BLOCK) < N
    x = tl.load(X + i, mask=mask, other=0)
    tl.store(SUMS + i, tl.cumsum(x, axis=0), mask=mask)
    tl.store(TAILS + i, tl.cumsum(x, 0, reverse=True), mask=mask)
    tl.store(PRODUCTS + i, tl.cumprod(tl.where(mask, 1 + x * 0.125, 1), 0), mask=mask)
    tl.store(MAXIMA + i, tl.associative_scan(x, 0, lambda a, b: tl.maximum(a, b)), mask=mask)


@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.float64])
def test_running_sums_products_maxima(device: str, rng, dtype) -> None:
    x = rng.integers(-3, 4, (3, 11)).astype(dtype)
    sums, tails, maxima = (np.full_like(x, 99) for _ in range(3))
    products = np.full((3, 11), 99, np.float64)
    running[(3,)](x, sums, products, tails, maxima, 11, BLOCK=16)
    check(sums, x.cumsum(1))
    check(tails, x[:, ::-1].cumsum(1)[:, ::-1])
    check(products, np.cumprod(1 + x * 0.125, 1))
    check(maxima, np.maximum.accumulate(x, 1))


@triton.jit
def top_experts(LOGITS, WEIGHTS, IDS, EXPERTS, K: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    e = tl.arange(0, BLOCK)
    x = tl.load(LOGITS + row * EXPERTS + e, mask=e < EXPERTS, other=-float("inf"))
    p = tl.softmax(x)
    total = 0.0
    for k in tl.static_range(K):
        best, at = tl.max(p, axis=0, return_indices=True)
        tl.store(WEIGHTS + row * K + k, best)
        tl.store(IDS + row * K + k, at)
        total += best
        p = tl.where(e == at, -1.0, p)
    for k in tl.static_range(K):
        tl.debug_barrier()
        old = tl.load(WEIGHTS + row * K + k)
        tl.store(WEIGHTS + row * K + k, old / total)


def test_top_k_gating(device: str, rng) -> None:
    x = rng.standard_normal((5, 12), np.float32)
    weights, ids = np.full((5, 3), 7, np.float32), np.full((5, 3), 77, np.int64)
    top_experts[(5,)](x, weights, ids, 12, K=3, BLOCK=16)
    values, expected = torch.softmax(torch.from_numpy(x).double(), 1).topk(3)
    assert (ids == expected.numpy()).all()
    check(weights, values / values.sum(1, keepdim=True))


@triton.jit
def sorts(X, UP, DOWN, TOP, R: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    at = tl.arange(0, R)[:, None] * N + tl.arange(0, N)
    x = tl.load(X + at)
    tl.store(UP + at, tl.sort(x))
    tl.store(DOWN + at, x.sort(descending=True))
    tl.store(TOP + tl.arange(0, R)[:, None] * K + tl.arange(0, K), tl.topk(x, K))


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8, np.float16, np.int32])
def test_sort_and_topk(device: str, rng, dtype) -> None:
    x = rng.integers(0, 200, (4, 16)).astype(dtype)
    up, down, top = np.zeros_like(x), np.zeros_like(x), np.zeros((4, 4), dtype)
    sorts[(1,)](x, up, down, top, 4, 16, 4)
    expected = np.sort(x, 1)
    assert (up == expected).all() and (down == expected[:, ::-1]).all()
    assert (top == expected[:, ::-1][:, :4]).all()


@triton.jit
def sort_pairs(KEYS, IDS, OUT_KEYS, OUT_IDS, N: tl.constexpr):
    i = tl.arange(0, N)
    key = tl.load(KEYS + i)
    packed = (key.to(tl.uint32).to(tl.uint64) << 32) | tl.load(IDS + i).to(tl.uint64)
    packed = tl.sort(packed)
    tl.store(OUT_KEYS + i, (packed >> 32).to(tl.int32))
    tl.store(OUT_IDS + i, (packed & 0xFFFFFFFF).to(tl.int32))


def test_sort_of_packed_pairs(device: str, rng) -> None:
    keys, ids = rng.integers(0, 5, 32).astype(np.int32), np.arange(32, dtype=np.int32)
    out_keys, out_ids = np.full(32, 9, np.int32), np.full(32, 9, np.int32)
    sort_pairs[(1,)](keys, ids, out_keys, out_ids, 32)
    order = np.argsort(keys, kind="stable")
    assert (out_ids == order).all() and (out_keys == keys[order]).all()


@triton.jit
def arg_extremes(X, OUT, R: tl.constexpr, C: tl.constexpr):
    x = tl.load(X + tl.arange(0, R)[:, None] * C + tl.arange(0, C)[None, :])
    tl.store(OUT + tl.arange(0, R), tl.argmax(x, axis=1))
    tl.store(OUT + R + tl.arange(0, R), tl.argmin(x, 1))
    tl.store(OUT + 2 * R + tl.arange(0, C), tl.argmax(x, axis=0))
    low, at = tl.min(x, 0, return_indices=True)
    tl.store(OUT + 2 * R + C + tl.arange(0, C), at)
    tl.store(OUT + 2 * R + 2 * C + tl.arange(0, C), low.to(tl.int32))
    tl.store(OUT + 2 * R + 3 * C, tl.max(tl.max(x, 0), 0).to(tl.int32))
    tl.store(OUT + 2 * R + 3 * C + 1, tl.min(x).to(tl.int32))


@pytest.mark.parametrize("dtype", [np.float32, np.int16, np.float16])
def test_positions_of_extremes_with_ties(device: str, rng, dtype) -> None:
    x = rng.integers(-3, 4, (8, 16)).astype(dtype)
    out = np.full(2 * 8 + 3 * 16 + 2, 99, np.int32)
    arg_extremes[(1,)](x, out, 8, 16)
    expected = [x.argmax(1), x.argmin(1), x.argmax(0), x.argmin(0), x.min(0), [x.max(), x.min()]]
    assert (out == np.concatenate(expected)).all()


@triton.jit
def histogram_by_atomics(X, BINS, N, NUM_BINS, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + i, mask=i < N, other=-1)
    tl.atomic_add(BINS + x, 1, mask=(x >= 0) & (x < NUM_BINS))


@triton.jit
def histogram_in_tile(X, BINS, N, NUM_BINS: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    counts = tl.histogram(tl.load(X + i, mask=i < N, other=0), NUM_BINS, mask=i < N)
    tl.atomic_add(BINS + tl.arange(0, NUM_BINS), counts, sem="relaxed")


@pytest.mark.parametrize("kernel", [histogram_by_atomics, histogram_in_tile])
def test_histogram(device: str, rng, kernel) -> None:
    x = rng.integers(0, 10, 150).astype(np.int32)
    bins = np.zeros(16, np.int32)
    kernel[(triton.cdiv(150, 64),)](x, bins, 150, 16, BLOCK=64)
    assert (bins == np.bincount(x, minlength=16)).all()


@triton.jit
def embedding(OUT, IDS, TABLE, D, stride, first, last, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    d = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    token = tl.load(IDS + row)
    if (token < first) | (token >= last):
        tl.store(OUT + row * D + d, tl.zeros([BLOCK], OUT.dtype.element_ty), mask=d < D)
        return
    x = tl.load(TABLE + (token - first) * stride + d, mask=d < D)
    tl.store(OUT + row * D + d, x, mask=d < D)


@triton.jit
def embedding_backward(GRAD, IDS, DY, D, stride, first, last, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    d = tl.arange(0, BLOCK)
    token = tl.load(IDS + row)
    mine = (token >= first) & (token < last)
    dy = tl.load(DY + row * D + d, mask=(d < D) & mine, other=0.0)
    tl.atomic_add(GRAD + (token - first) * stride + d, dy, mask=(d < D) & mine)


@pytest.mark.parametrize("ids_type", [torch.int64, torch.int32])
def test_sharded_embedding_and_its_gradient(device: str, rng, ids_type) -> None:
    table = torch.from_numpy(rng.standard_normal((6, 2 * 20), np.float32))[:, ::2]
    table = table.contiguous()
    ids = torch.from_numpy(rng.integers(0, 12, 15)).to(ids_type)
    first, last = 4, 10
    out, grad = torch.full((15, 20), 7.0), torch.zeros(6, 20)
    dy = torch.from_numpy(rng.standard_normal((15, 20), np.float32))
    embedding[(15, 3)](out, ids, table, 20, 20, first, last, BLOCK=8)
    embedding_backward[(15,)](grad, ids, dy, 20, 20, first, last, BLOCK=32)
    mine = (ids >= first) & (ids < last)
    expected = torch.where(mine[:, None], table[(ids.long() - first).clamp(0, 5)], 0.0)
    assert torch.equal(out, expected)
    exact = torch.zeros(6, 20, dtype=torch.float64)
    exact.index_add_(0, (ids.long() - first)[mine], dy.double()[mine])
    check(grad, exact)


@triton.jit
def gather_columns(X, INDEX, OUT, R: tl.constexpr, C: tl.constexpr, K: tl.constexpr):
    r, k = tl.arange(0, R)[:, None], tl.arange(0, K)[None, :]
    x = tl.load(X + r * C + tl.arange(0, C)[None, :])
    index = tl.load(INDEX + r * K + k)
    tl.store(OUT + r * K + k, tl.gather(x, index, axis=1))


@triton.jit
def scatter_rows(X, INDEX, OUT, D, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    to = tl.load(INDEX + i)
    for start in range(0, D, BLOCK):
        d = start + tl.arange(0, BLOCK)
        tl.store(OUT + to * D + d, tl.load(X + i * D + d, d < D), d < D)


def test_gather_and_scatter(device: str, rng) -> None:
    x = rng.standard_normal((4, 8), np.float32)
    index = rng.integers(0, 8, (4, 16)).astype(np.int32)
    out = np.full((4, 16), 7, np.float32)
    gather_columns[(1,)](x, index, out, 4, 8, 16)
    assert (out == np.take_along_axis(x, index, 1)).all()
    target = rng.permutation(4)
    moved = np.full((4, 8), 7, np.float32)
    scatter_rows[(4,)](x, target, moved, 8, BLOCK=4)
    assert (moved[target] == x).all()


@triton.jit
def compact_positive(X, OUT, COUNT, N, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + i, mask=i < N, other=0.0)
    keep = x > 0
    rank = tl.cumsum(keep.to(tl.int32), 0) - 1
    base = tl.atomic_add(COUNT, tl.sum(keep.to(tl.int32)))
    tl.store(OUT + base + rank, x, mask=keep)


def test_stream_compaction(device: str, rng) -> None:
    x = rng.standard_normal(90, np.float32)
    out, count = np.zeros(90, np.float32), np.zeros(1, np.int32)
    compact_positive[(3,)](x, out, count, 90, BLOCK=32)
    positive = np.sort(x[x > 0])
    assert count[0] == len(positive) and (np.sort(out[: count[0]]) == positive).all()


@triton.jit
def lock_protected_sum(LOCK, TOTAL, X, BLOCK: tl.constexpr):
    x = tl.sum(tl.load(X + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)))
    while tl.atomic_cas(LOCK, 0, 1) == 1:
        pass
    tl.debug_barrier()
    tl.store(TOTAL, tl.load(TOTAL) + x)
    tl.debug_barrier()
    tl.atomic_xchg(LOCK, 0)


def test_sum_under_a_spin_lock(device: str, rng) -> None:
    x = rng.integers(0, 100, 20 * 8).astype(np.int32)
    lock, total = np.zeros(1, np.int32), np.zeros(1, np.int32)
    lock_protected_sum[(20,)](lock, total, x, BLOCK=8)
    assert total[0] == x.sum() and lock[0] == 0


@triton.jit
def atomic_kinds(F, I, U, V, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(V + i)
    tl.atomic_max(F, tl.max(v))
    tl.atomic_min(F + 1, tl.min(v))
    k = v.to(tl.int32)
    zero = tl.zeros_like(i)
    tl.atomic_max(I + zero, k)
    tl.atomic_min(I + 1 + zero, k, mask=k != -7)
    tl.atomic_and(U + zero, k.to(tl.uint32, bitcast=True) | 8)
    tl.atomic_or(U + 1 + zero, k.to(tl.uint32, bitcast=True))
    tl.atomic_xor(U + 2 + zero, k.to(tl.uint32, bitcast=True))


def test_all_kinds_of_atomics_on_one_address(device: str, rng) -> None:
    v = rng.integers(-50, 50, 32)
    f, i = np.array([0.5, 0.5], np.float32), np.zeros(2, np.int32)
    u = np.array([0xFFFFFFFF, 0, 0], np.uint32)
    atomic_kinds[(1,)](f, i, u, v.astype(np.float32), BLOCK=32)
    assert f.tolist() == [max(0.5, v.max()), min(0.5, v.min())]
    assert i.tolist() == [max(0, v.max()), min(0, v[v != -7].min())]
    w = v.astype(np.int32).view(np.uint32)
    assert u.tolist() == [
        np.bitwise_and.reduce(w | 8), np.bitwise_or.reduce(w), np.bitwise_xor.reduce(w),
    ]  # fmt: skip


@triton.jit
def segment_sum(VALUES, OFFSETS, OUT, BLOCK: tl.constexpr):
    segment = tl.program_id(0)
    i = tl.load(OFFSETS + segment)
    end = tl.load(OFFSETS + segment + 1)
    total = 0.0
    while i < end:
        at = i + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(VALUES + at, mask=at < end, other=0.0))
        i += BLOCK
    tl.store(OUT + segment, total)


def test_ragged_segments(device: str, rng) -> None:
    lengths = [0, 5, 17, 1, 0, 30]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    values = rng.standard_normal(offsets[-1], np.float32)
    out = np.full(len(lengths), 7, np.float32)
    segment_sum[(len(lengths),)](values, offsets, out, BLOCK=8)
    expected = [values[a:b].astype(np.float64).sum() for a, b in zip(offsets, offsets[1:])]
    check(out, expected)


@triton.jit
def transpose(OUT, X, M, N, BM: tl.constexpr, BN: tl.constexpr, HOW: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    x = tl.load(X + m[:, None] * N + n[None, :], (m < M)[:, None] & (n < N)[None, :])
    if HOW == "T":
        y = x.T
    elif HOW == "trans":
        y = tl.trans(x)
    elif HOW == "permute":
        y = tl.permute(x, (1, 0))
    else:
        y = tl.trans(x, 1, 0)
    tl.store(OUT + n[:, None] * M + m[None, :], y, (n < N)[:, None] & (m < M)[None, :])


@pytest.mark.parametrize("how", ["T", "trans", "permute", "dims"])
@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.float64])
def test_transposition(device: str, rng, how: str, dtype) -> None:
    x = rng.integers(-100, 100, (21, 35)).astype(dtype)
    out = np.full((35, 21), 77, dtype)
    transpose[(2, 3)](out, x, 21, 35, BM=16, BN=16, HOW=how)
    assert (out == x.T).all()
