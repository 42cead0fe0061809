"""Scans, sorting, selection and communication between programs, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gpu.launching import WARPS, normal, poisoned, run

import tilewright as tw

pytestmark = [
    pytest.mark.usefixtures("compiler"), pytest.mark.every_machine,
    pytest.mark.parametrize("num_warps", WARPS),
]  # fmt: skip


@tw.jit
def top_k(x, values, places, columns, K: tw.constexpr, BLOCK: tw.constexpr):
    row = tw.program_id(0)
    c = tw.arange(0, BLOCK)
    value = tw.load(x + row * columns + c, mask=c < columns, other=float("-inf"))
    for i in tw.static_range(K):
        best, at = tw.max(value, 0, return_indices=True)
        tw.store(values + row * K + i, best)
        tw.store(places + row * K + i, at)
        value = tw.where(c == at, float("-inf"), value)


def test_top_k_by_repeated_argmax(num_warps: int, rng: np.random.Generator) -> None:
    x = normal(rng, 4, 77)
    values, places = poisoned(4, 3), poisoned(4, 3, dtype=np.int64)
    run(top_k, (4,), x, values, places, 77, K=3, BLOCK=128, num_warps=num_warps)
    order = np.argsort(-x, 1)[:, :3]
    np.testing.assert_array_equal(places, order)
    np.testing.assert_array_equal(values, np.take_along_axis(x, order, 1))


@tw.jit
def sort_rows(x, out, columns, DESCENDING: tw.constexpr, ROWS: tw.constexpr, BLOCK: tw.constexpr):
    r = tw.arange(0, ROWS)[:, None]
    c = tw.arange(0, BLOCK)[None, :]
    other = float("-inf") if DESCENDING else float("inf")
    value = tw.load(x + r * columns + c, mask=c < columns, other=other)
    tw.store(out + r * columns + c, tw.sort(value, 1, DESCENDING), mask=c < columns)


@pytest.mark.parametrize("descending", [False, True])
def test_sorting_of_rows(num_warps: int, descending: bool, rng: np.random.Generator) -> None:
    x = rng.integers(-20, 20, (4, 50)).astype(np.float32)
    out = poisoned(4, 50)
    run(sort_rows, (1,), x, out, 50, descending, ROWS=4, BLOCK=64, num_warps=num_warps)
    expected = np.sort(x, 1)
    np.testing.assert_array_equal(out, expected[:, ::-1] if descending else expected)


@tw.jit
def sort_with_places(x, keys, places, n, BLOCK: tw.constexpr):
    """Key and index packed into 64 bits, sorted, and taken apart."""
    i = tw.arange(0, BLOCK)
    key = tw.load(x + i, mask=i < n, other=0xFFFFFFFF)
    packed = (key.to(tw.uint64) << 32) | i.to(tw.uint64)
    packed = tw.sort(packed)
    tw.store(keys + i, (packed >> 32).to(tw.uint32), mask=i < n)
    tw.store(places + i, (packed & 0xFFFFFFFF).to(tw.int32), mask=i < n)


def test_sorting_of_packed_pairs(num_warps: int, rng: np.random.Generator) -> None:
    x = rng.integers(0, 9, 100).astype(np.uint32)
    keys, places = poisoned(100, dtype=np.uint32), poisoned(100, dtype=np.int32)
    run(sort_with_places, (1,), x, keys, places, 100, BLOCK=128, num_warps=num_warps)
    np.testing.assert_array_equal(keys, np.sort(x))
    np.testing.assert_array_equal(places, np.argsort(x, kind="stable"))


@tw.jit
def sort_a_line(x, out, BLOCK: tw.constexpr):
    i = tw.arange(0, BLOCK)
    tw.store(out + i, tw.sort(tw.load(x + i)))


def test_sorting_of_a_long_line_takes_few_registers(
    num_warps: int, rng: np.random.Generator
) -> None:
    x, out = normal(rng, 1024), poisoned(1024)
    compiled = run(sort_a_line, (1,), x, out, BLOCK=1024, num_warps=num_warps)
    np.testing.assert_array_equal(out, np.sort(x))
    assert compiled.shared <= 4 * 1024


@tw.jit
def private_histogram(x, counts, n, BINS: tw.constexpr, BLOCK: tw.constexpr):
    total = tw.zeros([BINS], tw.int32)
    for start in range(tw.program_id(0) * BLOCK, n, BLOCK * tw.num_programs(0)):
        i = start + tw.arange(0, BLOCK)
        total += tw.histogram(tw.load(x + i, mask=i < n, other=0), BINS, mask=i < n)
    tw.atomic_add(counts + tw.arange(0, BINS), total, sem="relaxed")


def test_histogram_of_each_program_added_up(num_warps: int, rng: np.random.Generator) -> None:
    x, counts = rng.integers(0, 16, 700).astype(np.int32), np.zeros(16, np.int32)
    run(private_histogram, (2,), x, counts, 700, BINS=16, BLOCK=128, num_warps=num_warps)
    np.testing.assert_array_equal(counts, np.bincount(x, minlength=16))


def test_histogram_of_many_bins(num_warps: int, rng: np.random.Generator) -> None:
    x, counts = rng.integers(0, 256, 1500).astype(np.int32), np.zeros(256, np.int32)
    x[:200] = 255  # more than a word has bits
    run(private_histogram, (1,), x, counts, 1500, BINS=256, BLOCK=1024, num_warps=num_warps)
    np.testing.assert_array_equal(counts, np.bincount(x, minlength=256))


@tw.jit
def scan_blocks(x, out, totals, n, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    value = tw.load(x + i, mask=i < n, other=0)
    tw.store(out + i, tw.cumsum(value, 0), mask=i < n)
    tw.store(totals + tw.program_id(0), tw.sum(value, 0))


@tw.jit
def add_totals(out, totals, n, BLOCK: tw.constexpr, BLOCKS: tw.constexpr):
    program = tw.program_id(0)
    i = program * BLOCK + tw.arange(0, BLOCK)
    b = tw.arange(0, BLOCKS)
    before = tw.sum(tw.load(totals + b, mask=b < program, other=0))
    tw.store(out + i, tw.load(out + i, mask=i < n) + before, mask=i < n)


def test_prefix_sum_in_two_passes(num_warps: int, rng: np.random.Generator) -> None:
    x, out = rng.integers(-9, 9, 600), poisoned(600, dtype=np.int64)
    totals = poisoned(5, dtype=np.int64)
    run(scan_blocks, (5,), x, out, totals, 600, BLOCK=128, num_warps=num_warps)
    run(add_totals, (5,), out, totals, 600, BLOCK=128, BLOCKS=8, num_warps=num_warps)
    np.testing.assert_array_equal(out, np.cumsum(x))


@tw.jit
def look_back_scan(x, out, tickets, flags, sums, n, BLOCK: tw.constexpr):
    """One pass: a program publishes its inclusive prefix once the program before has done so."""
    program = tw.atomic_add(tickets, 1)
    i = program * BLOCK + tw.arange(0, BLOCK)
    value = tw.load(x + i, mask=i < n, other=0)
    before = tw.to_tensor(0)
    if program > 0:
        while tw.atomic_add(flags + program - 1, 0, sem="acquire") == 0:
            pass
        before = tw.load(sums + program - 1, volatile=True)
    tw.store(sums + program, before + tw.sum(value, 0))
    tw.atomic_xchg(flags + program, 1, sem="release")
    tw.store(out + i, before + tw.cumsum(value, 0), mask=i < n)


def test_prefix_sum_by_looking_back(num_warps: int, rng: np.random.Generator) -> None:
    x, out = rng.integers(-9, 9, 700).astype(np.int32), poisoned(700, dtype=np.int32)
    tickets, flags = np.zeros(1, np.int32), np.zeros(6, np.int32)
    sums = poisoned(6, dtype=np.int32)
    run(look_back_scan, (6,), x, out, tickets, flags, sums, 700, BLOCK=128, num_warps=num_warps)
    np.testing.assert_array_equal(out, np.cumsum(x))


@tw.jit
def reduce_by_the_last(x, partial, out, arrived, n, BLOCK: tw.constexpr, PROGRAMS: tw.constexpr):
    """Every program leaves its sum; the one that arrives last adds them in a fixed order."""
    program = tw.program_id(0)
    i = program * BLOCK + tw.arange(0, BLOCK)
    tw.store(partial + program, tw.sum(tw.load(x + i, mask=i < n, other=0.0)))
    tw.debug_barrier()
    if tw.atomic_add(arrived, 1) == tw.num_programs(0) - 1:
        p = tw.arange(0, PROGRAMS)
        sums = tw.load(partial + p, mask=p < tw.num_programs(0), other=0.0)
        tw.store(out, tw.sum(sums))


def test_the_last_program_reduces_for_all(num_warps: int, rng: np.random.Generator) -> None:
    x, partial, out = rng.integers(-9, 9, 900).astype(np.float32), poisoned(8), poisoned(1)
    run(
        reduce_by_the_last, (8,), x, partial, out, np.zeros(1, np.int32), 900, BLOCK=128,
        PROGRAMS=8, num_warps=num_warps,
    )  # fmt: skip
    assert out[0] == x.sum()


@tw.jit
def larger(a, b):
    return tw.maximum(a, b)


@tw.jit
def scans_both_ways(x, suffix, largest, ROWS: tw.constexpr, COLUMNS: tw.constexpr):
    at = tw.arange(0, ROWS)[:, None] * COLUMNS + tw.arange(0, COLUMNS)[None, :]
    value = tw.load(x + at)
    tw.store(suffix + at, tw.cumsum(value, 1, reverse=True))
    tw.store(largest + at, tw.associative_scan(value, 0, larger, reverse=True))


@pytest.mark.parametrize("shape", [(1, 512), (4, 64), (64, 4), (256, 1)])
@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.int64])
def test_scans_in_both_directions(
    num_warps: int, shape: tuple[int, int], dtype: Any, rng: np.random.Generator
) -> None:
    x = rng.integers(-9, 9, shape).astype(dtype)
    sums = np.int32 if dtype == np.int8 else dtype
    suffix, largest = poisoned(*shape, dtype=sums), poisoned(*shape, dtype=dtype)
    run(scans_both_ways, (1,), x, suffix, largest, *shape, num_warps=num_warps)
    np.testing.assert_array_equal(suffix, np.cumsum(x[:, ::-1], 1)[:, ::-1])
    np.testing.assert_array_equal(largest, np.maximum.accumulate(x[::-1])[::-1])


@tw.jit
def compact(x, out, count, n, threshold, BLOCK: tw.constexpr):
    """The elements above a threshold, in order, written side by side."""
    i = tw.arange(0, BLOCK)
    value = tw.load(x + i, mask=i < n, other=float("-inf"))
    keep = value > threshold
    place = tw.cumsum(keep.to(tw.int32), 0) - 1
    tw.store(out + place, value, mask=keep)
    tw.store(count, tw.sum(keep.to(tw.int32)))


def test_stream_compaction(num_warps: int, rng: np.random.Generator) -> None:
    x, out, count = normal(rng, 200), poisoned(200), poisoned(1, dtype=np.int32)
    run(compact, (1,), x, out, count, 200, 0.3, BLOCK=256, num_warps=num_warps)
    expected = x[x > np.float32(0.3)]
    assert count[0] == len(expected)
    np.testing.assert_array_equal(out[: count[0]], expected)


@tw.jit
def suppress(boxes, keep, n, threshold, BLOCK: tw.constexpr):
    """Greedy suppression of boxes (x0, y0, x1, y1) sorted by score."""
    i = tw.arange(0, BLOCK)
    inside = i < n
    x0 = tw.load(boxes + i * 4, mask=inside, other=0.0)
    y0 = tw.load(boxes + i * 4 + 1, mask=inside, other=0.0)
    x1 = tw.load(boxes + i * 4 + 2, mask=inside, other=0.0)
    y1 = tw.load(boxes + i * 4 + 3, mask=inside, other=0.0)
    area = (x1 - x0) * (y1 - y0)
    alive = inside
    for j in range(n):
        this = i == j
        if tw.sum((this & alive).to(tw.int32)) != 0:
            ax0, ay0 = tw.sum(tw.where(this, x0, 0.0)), tw.sum(tw.where(this, y0, 0.0))
            ax1, ay1 = tw.sum(tw.where(this, x1, 0.0)), tw.sum(tw.where(this, y1, 0.0))
            width = tw.maximum(tw.minimum(x1, ax1) - tw.maximum(x0, ax0), 0.0)
            height = tw.maximum(tw.minimum(y1, ay1) - tw.maximum(y0, ay0), 0.0)
            common = width * height
            union = area + (ax1 - ax0) * (ay1 - ay0) - common
            alive = alive & ((common <= threshold * union) | (i <= j))
    tw.store(keep + i, alive, mask=inside)


def test_suppression_of_overlapping_boxes(num_warps: int, rng: np.random.Generator) -> None:
    corner = rng.integers(0, 30, (40, 2))
    boxes = np.concatenate([corner, corner + rng.integers(4, 16, (40, 2))], 1).astype(np.float32)
    keep, expected = poisoned(40, dtype=np.int8), np.ones(40, bool)
    run(suppress, (1,), boxes, keep, 40, 0.5, BLOCK=64, num_warps=num_warps)
    area = (boxes[:, 2:] - boxes[:, :2]).prod(1)
    for j in range(40):
        low, high = np.maximum(boxes[:, :2], boxes[j, :2]), np.minimum(boxes[:, 2:], boxes[j, 2:])
        common = np.maximum(high - low, 0).prod(1)
        if expected[j]:
            expected &= (common <= 0.5 * (area + area[j] - common)) | (np.arange(40) <= j)
    np.testing.assert_array_equal(keep, expected)
