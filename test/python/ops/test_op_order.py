"""Accesses of one program happen in its order, whichever threads of a GPU do them: updates in
place, aliases, replicated elements, and programs that meet through atomics."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from op_values import DTYPES, argument, decode, draw, encode, poisoned

import tilewright as tw

# Fewer elements than a warp has lanes, as many, than a program has threads, and more.
COUNTS = [1, 4, 32, 128, 512]


@tw.jit
def double_in_place(x, N: tw.constexpr):
    i = tw.arange(0, N)
    tw.store(x + i, tw.load(x + i) + tw.load(x + i))


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d != "int1"])
@pytest.mark.parametrize("count", [4, 512])
def test_update_in_place(count: int, dtype: str, device: str, rng: np.random.Generator) -> None:
    x = draw(rng, dtype, count)
    expected = encode(2 * decode(x, dtype), dtype)
    double_in_place[(1,)](argument(x, dtype), N=count)
    np.testing.assert_array_equal(x, expected)


@tw.jit
def prefix_by_steps(x, steps, N: tw.constexpr):
    i = tw.arange(0, N)
    for step in range(steps):
        tw.store(x + step + i, tw.load(x + step + i) + 1)


@tw.jit
def prefix_by_pointers(x, steps, N: tw.constexpr):
    p = x + tw.arange(0, N)
    for _ in range(steps):
        tw.store(p, tw.load(p) + 1)
        p += 1


@tw.jit
def overlapping_stores(x, steps, N: tw.constexpr):
    for step in range(steps):
        tw.store(x + step + tw.arange(0, N), step + 10)


@tw.jit
def shift_by_one(x, steps, N: tw.constexpr):
    i = tw.arange(0, N)
    for _ in range(steps):
        tw.store(x + 1 + i, tw.load(x + i))


@tw.jit
def reversed_in_place(x, steps, N: tw.constexpr):
    i = tw.arange(0, N)
    for _ in range(steps):
        tw.store(x + N - 1 - i, tw.load(x + i))


@tw.jit
def counts_in_a_scalar(x, steps, N: tw.constexpr):
    for _ in range(steps):
        tw.store(x, tw.load(x) + tw.sum(tw.load(x + 1 + tw.arange(0, N))))


@tw.jit
def sum_to_first(x, steps, N: tw.constexpr):
    i = tw.arange(0, N)
    for _ in range(steps):
        tw.store(x + i, tw.load(x + i) + tw.sum(tw.load(x + i)))
        tw.store(x, 1)


@tw.jit
def nested_walk(x, steps, N: tw.constexpr):
    for a in range(steps):
        for b in range(steps):
            p = x + a * 2 + b * N + tw.arange(0, N)
            tw.store(p, tw.load(p) * 2 + b)


def by_program_order(kernel: Any, x: np.ndarray, steps: int, n: int) -> None:
    for step in range(steps):
        if kernel in (prefix_by_steps, prefix_by_pointers):
            x[step : step + n] += 1
        elif kernel is overlapping_stores:
            x[step : step + n] = step + 10
        elif kernel is shift_by_one:
            x[1 : 1 + n] = x[:n].copy()
        elif kernel is reversed_in_place:
            x[:n] = x[:n][::-1].copy()
        elif kernel is counts_in_a_scalar:
            x[0] += x[1 : 1 + n].sum()
        elif kernel is sum_to_first:
            x[:n] += x[:n].sum()
            x[0] = 1
        else:
            for b in range(steps):
                part = x[step * 2 + b * n :][:n]
                part[:] = part * 2 + b


KERNELS = [
    prefix_by_steps, prefix_by_pointers, overlapping_stores, shift_by_one, reversed_in_place,
    counts_in_a_scalar, sum_to_first, nested_walk,
]  # fmt: skip


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.fn.__name__)
def test_loops_update_memory_in_order(
    kernel: Any, count: int, device: str, rng: np.random.Generator
) -> None:
    x = rng.integers(-50, 50, 5 * count + 100).astype(np.int64)
    expected = x.copy()
    by_program_order(kernel, expected, 5, count)
    kernel[(1,)](x, 5, N=count)
    np.testing.assert_array_equal(x, expected)


@tw.jit
def through_aliases(x, y, N: tw.constexpr):
    i = tw.arange(0, N)
    tw.store(y + i, tw.load(x + i) + 1)
    tw.store(x + i, tw.load(y + i) + tw.load(x + i))


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("offset", [0, 1, 5])
def test_arguments_may_overlap(
    offset: int, count: int, device: str, rng: np.random.Generator
) -> None:
    x = rng.integers(-50, 50, count + 5).astype(np.int32)
    expected = x.copy()
    through_aliases[(1,)](x, x[offset:], N=count)
    y = expected[offset:]
    y[:count] = expected[:count] + 1
    expected[:count] = y[:count] + expected[:count]
    np.testing.assert_array_equal(x, expected)


@tw.jit
def atomics_in_order(x, old, N: tw.constexpr):
    i = tw.arange(0, N)
    tw.store(old + i, tw.atomic_add(x + i, 3))
    tw.store(old + N + i, tw.load(x + i))
    tw.store(x + i, i)
    tw.store(old + 2 * N + i, tw.atomic_xchg(x + i, 7))
    tw.atomic_max(x, 100)


@pytest.mark.parametrize("count", COUNTS)
def test_replicated_atomics_happen_once(count: int, device: str, rng: np.random.Generator) -> None:
    x = rng.integers(-50, 50, count).astype(np.int32)
    start, old = x.copy(), poisoned("int32", (3, count))
    atomics_in_order[(1,)](x, old, N=count)
    np.testing.assert_array_equal(old, [start, start + 3, np.arange(count)])
    np.testing.assert_array_equal(x, [100] + [7] * (count - 1))


@tw.jit
def sum_by_the_last(x, partial, counter, out, N: tw.constexpr, PROGRAMS: tw.constexpr):
    pid = tw.program_id(0)
    tw.store(partial + pid, tw.sum(tw.load(x + pid * N + tw.arange(0, N)), axis=0))
    done = tw.atomic_add(counter, 1, sem="acq_rel")
    if done == PROGRAMS - 1:
        tw.store(out, tw.sum(tw.load(partial + tw.arange(0, PROGRAMS), volatile=True), axis=0))


@pytest.mark.parametrize("dtype", ["int64", "float64", "float32"])
def test_the_last_program_reduces(dtype: str, device: str, rng: np.random.Generator) -> None:
    x = rng.integers(-50, 50, 32 * 64).astype(dtype)
    partial, counter, out = poisoned(dtype, 32), np.zeros(1, np.int32), poisoned(dtype, 1)
    sum_by_the_last[(32,)](x, partial, counter, out, N=64, PROGRAMS=32)
    assert out[0] == x.sum()


@tw.jit
def add_tile_under_lock(lock, total, x, N: tw.constexpr):
    i = tw.arange(0, N)
    mine = tw.load(x + tw.program_id(0) * N + i)
    while tw.atomic_cas(lock, 0, 1) == 1:
        pass
    tw.store(total + i, tw.load(total + i) + mine)
    tw.atomic_xchg(lock, 0)


@pytest.mark.parametrize("count", [1, 8, 256])
def test_tiles_are_added_under_a_lock(
    count: int, device: str, rng: np.random.Generator
) -> None:
    x = rng.integers(-50, 50, (24, count)).astype(np.float32)
    lock, total = np.zeros(1, np.int32), np.zeros(count, np.float32)
    add_tile_under_lock[(24,)](lock, total, x, N=count)
    np.testing.assert_array_equal(total, x.sum(0))
    assert lock[0] == 0


@tw.jit(debug=True)
def all_below(x, limit, N: tw.constexpr):
    tw.device_assert(tw.load(x + tw.arange(0, N)) < limit, "too large")


@pytest.mark.parametrize("count", COUNTS)
def test_asserts_see_every_element(
    count: int, device: str, capfd: pytest.CaptureFixture[str]
) -> None:
    x = np.arange(count, dtype=np.int32)
    all_below[(1,)](x, count, N=count, debug=True)
    if device.startswith(("cuda:", "hip:")):
        return  # one that fails ends the process's use of the GPU: cuda_execution.py
    with pytest.raises(tw.DeviceError) as failure:
        all_below[(1,)](x, count - 1, N=count, debug=True)
    # OpenCL's driver prints the line, and tells nobody what it was.
    said = capfd.readouterr().out if device.startswith("opencl:") else str(failure.value)
    assert re.search(rf"too large.*\({count - 1}\)", said)


@tw.jit
def stored_by_a_mask(x, N: tw.constexpr):
    i = tw.arange(0, N)
    p = x + i // 2
    v = tw.load(p)
    tw.store(p, v + 1, mask=i % 2 == 0)


@pytest.mark.parametrize("count", COUNTS[1:])
def test_duplicates_are_read_before_one_is_written(count: int, device: str) -> None:
    x = np.arange(count, dtype=np.int32)
    stored_by_a_mask[(1,)](x, N=count)
    np.testing.assert_array_equal(x[: count // 2], np.arange(count // 2) + 1)


@tw.jit
def doubled_where_elements_meet(x, N: tw.constexpr, D: tw.constexpr):
    p = x + tw.arange(0, N) // D
    tw.store(p, tw.load(p) * 2)


@tw.jit
def doubled_in_rows_that_meet(x, stride, M: tw.constexpr, N: tw.constexpr):
    p = x + tw.arange(0, M)[:, None] * stride + tw.arange(0, N)[None, :]
    tw.store(p, tw.load(p) * 2)
    tw.store(p, tw.load(p) + 1)


@pytest.mark.parametrize("num_warps", [1, 4, 8])
@pytest.mark.parametrize(("count", "each"), [(32, 2), (128, 64), (512, 512), (1024, 16)])
def test_elements_that_meet_are_read_before_any_is_written(
    count: int, each: int, num_warps: int, device: str
) -> None:
    x = np.arange(count, dtype=np.float32) + 1
    doubled_where_elements_meet[(1,)](x, N=count, D=each, num_warps=num_warps)
    expected = np.arange(count, dtype=np.float32) + 1
    expected[: count // each] *= 2
    np.testing.assert_array_equal(x, expected)
    for stride in (0, 3, 16):
        y = np.ones(512, np.float32)
        doubled_in_rows_that_meet[(1,)](y, stride, M=16, N=16, num_warps=num_warps)
        touched = {i * stride + j for i in range(16) for j in range(16)}
        np.testing.assert_array_equal(y, [3 if i in touched else 1 for i in range(512)])


@tw.jit
def stored_then_added_by_a_descriptor(x, old, steps, N: tw.constexpr):
    i = tw.arange(0, N)
    for step in range(steps):
        tw.atomic_store(x + (i + 3 * step) % N, i + step)
    box = tw.make_tensor_descriptor(x, (N,), (1,), (N,))
    box.atomic_add((-1,), tw.full((N,), 100, tw.int32))


@tw.jit
def every_kind_in_two_orders(x, old, steps, N: tw.constexpr):
    i = tw.arange(0, N)
    for step in range(steps):
        tw.atomic_xchg(x + i, i * 2 + step)
        tw.atomic_max(x + N - 1 - i, i + step)
        tw.store(old + i, tw.atomic_load(x + i))
        tw.atomic_cas(x + N - 1 - i, i + step, i - 5)
        tw.atomic_store(x + i, tw.atomic_add(x + N - 1 - i, 3))


@tw.jit
def old_elements_of_a_walk(x, old, steps, N: tw.constexpr):
    i = tw.arange(0, N)
    for step in range(steps):
        tw.store(old + step * N + i, tw.atomic_add(x + step + i, i))


@tw.jit
def added_after_all_are_stored(x, old, steps, N: tw.constexpr):
    p = x + tw.arange(0, N) // 2
    for step in range(steps):
        tw.store(p, step)
        tw.atomic_add(p, 5)


@pytest.mark.parametrize("num_warps", [1, 4, 8])
@pytest.mark.parametrize("machine", ["sim:sm_80", "sim:gfx942"])
@pytest.mark.parametrize(
    "kernel",
    [
        stored_then_added_by_a_descriptor, every_kind_in_two_orders, old_elements_of_a_walk,
        added_after_all_are_stored,
    ],
    ids=lambda k: k.fn.__name__,
)  # fmt: skip
def test_atomics_of_different_threads_happen_in_order(
    kernel: Any, machine: str, num_warps: int, rng: np.random.Generator
) -> None:
    for n in (64, 512):
        start = rng.integers(-50, 50, 2 * n).astype(np.int32)
        expected, told = start.copy(), np.zeros(3 * n, np.int32)
        with tw.device("reference"):
            kernel[(1,)](expected, told, 3, N=n)
        for schedule in tw.simulation.SCHEDULES:
            x, old = start.copy(), np.zeros(3 * n, np.int32)
            with tw.simulation.simulate(machine, schedule=schedule):
                kernel[(1,)](x, old, 3, N=n, num_warps=num_warps)
            np.testing.assert_array_equal(x, expected)
            np.testing.assert_array_equal(old, told)
