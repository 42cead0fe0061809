"""Atomics: what is left in memory, the old values that they yield, and contention of programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from op_values import (
    argument, assert_equal, decode, draw, encode, is_float, poisoned, round_to, wrap,
)  # fmt: skip

import tilewright as tw

INTS = ["int32", "uint32", "int64", "uint64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]


def make_kernel(name: str) -> Any:
    atomic = getattr(tw, f"atomic_{name}")

    @tw.jit
    def kernel(memory, old, operand, n, N: tw.constexpr):
        i = tw.arange(0, N)
        mask = i < n
        before = atomic(memory + i, tw.load(operand + i, mask=mask), mask=mask)
        tw.store(old + i, before, mask=mask)

    return kernel


def formula(name: str, dtype: str) -> Any:
    if is_float(dtype):
        return {"add": np.add, "max": np.fmax, "min": np.fmin, "xchg": lambda a, b: b}[name]
    return {
        "add": np.add, "max": np.maximum, "min": np.minimum, "and": np.bitwise_and,
        "or": np.bitwise_or, "xor": np.bitwise_xor, "xchg": lambda a, b: b,
    }[name]  # fmt: skip


CASES = [
    *((name, d) for name in ("add", "max", "min", "and", "or", "xor", "xchg") for d in INTS),
    *(("add", d) for d in FLOATS),
    *((name, d) for name in ("max", "min", "xchg") for d in ("float32", "float64")),
]


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_atomic(name: str, dtype: str, device: str, rng: np.random.Generator) -> None:
    start, operand = draw(rng, dtype, 50), draw(rng, dtype, 50)
    memory, old = start.copy(), poisoned(dtype, 50)
    arrays = [argument(x, dtype) for x in (memory, old, operand)]
    make_kernel(name)[(1,)](*arrays, 45, N=64)
    np.testing.assert_array_equal(old[:45], start[:45])
    np.testing.assert_array_equal(memory[45:], start[45:])
    expected = formula(name, dtype)(decode(start, dtype), decode(operand, dtype))[:45]
    expected = round_to(expected, dtype) if is_float(dtype) else wrap(expected, dtype)
    assert_equal(memory[:45], expected, dtype, name)


@tw.jit
def count_up(counter, tickets, N: tw.constexpr):
    i = tw.program_id(0) * N + tw.arange(0, N)
    tw.store(tickets + i, tw.atomic_add(counter + tw.zeros((N,), tw.int32), 1))


@pytest.mark.parametrize("dtype", INTS)
def test_every_increment_counts_once(dtype: str, device: str) -> None:
    counter, tickets = encode([5], dtype), poisoned(dtype, 64 * 32)
    count_up[(64,)](counter, tickets, N=32)
    assert counter[0] == 5 + 64 * 32
    np.testing.assert_array_equal(np.sort(tickets), np.arange(5, 5 + 64 * 32).astype(dtype))


@tw.jit
def add_from_all(total, a, N: tw.constexpr):
    i = tw.program_id(0) * N + tw.arange(0, N)
    tw.atomic_add(total, tw.sum(tw.load(a + i), axis=0))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_float_sums_of_many_programs(dtype: str, device: str, rng: np.random.Generator) -> None:
    a = rng.integers(-8, 8, 200 * 16).astype(dtype)  # exact in any order
    total = encode([0.5], dtype)
    add_from_all[(200,)](total, a, N=16)
    assert total[0] == a.sum() + 0.5


@tw.jit
def compare_and_swap(memory, old, expected, value, N: tw.constexpr):
    i = tw.arange(0, N)
    before = tw.atomic_cas(memory + i, tw.load(expected + i), tw.load(value + i))
    tw.store(old + i, before)


@pytest.mark.parametrize("dtype", INTS)
def test_compare_and_swap(dtype: str, device: str, rng: np.random.Generator) -> None:
    count = 40
    start, value = draw(rng, dtype, count), draw(rng, dtype, count)
    matches = rng.random(count) < 0.5
    expected = np.where(matches, start, start ^ np.array(1, dtype))
    memory, old = start.copy(), poisoned(dtype, count)
    compare_and_swap[(1,)](memory, old, expected, value, N=count)
    np.testing.assert_array_equal(old, start)
    np.testing.assert_array_equal(memory, np.where(matches, value, start))


@tw.jit
def folded(memory, operand, KIND: tw.constexpr, N: tw.constexpr, PLACES: tw.constexpr):
    i = tw.arange(0, N)
    x = tw.load(operand + i)
    place = memory + i % PLACES
    if KIND == "add":
        tw.atomic_add(place, x, mask=i != 5)
    elif KIND == "max":
        tw.atomic_max(place, x, mask=i != 5)
    elif KIND == "min":
        tw.atomic_min(place, x, mask=i != 5)
    elif KIND == "and":
        tw.atomic_and(place, x, mask=i != 5)
    elif KIND == "or":
        tw.atomic_or(place, x, mask=i != 5)
    else:
        tw.atomic_xor(place, x, mask=i != 5)


FOLDS = [case for case in CASES if case[0] != "xchg"]


@pytest.mark.parametrize(("name", "dtype"), FOLDS)
def test_many_elements_meet_at_one_place(
    name: str, dtype: str, device: str, rng: np.random.Generator
) -> None:
    places, count = 4, 64
    numbers = rng.integers(-8, 8, count + places)  # sums are exact in any order
    memory, operand = encode(numbers[:places], dtype), encode(numbers[places:], dtype)
    expected = decode(memory, dtype).copy()
    numbers = decode(operand, dtype)
    for i in (i for i in range(count) if i != 5):
        place = slice(i % places, i % places + 1)
        expected[place] = formula(name, dtype)(expected[place], numbers[i : i + 1])
    folded[(1,)](*(argument(x, dtype) for x in (memory, operand)), name, N=count, PLACES=places)
    expected = expected if is_float(dtype) else wrap(expected, dtype)
    assert_equal(memory, expected, dtype, name)


@tw.jit
def scalar_atomics(memory, old, x, is_chosen):
    tw.store(old, tw.atomic_add(memory, x))
    tw.atomic_add(memory, x, mask=is_chosen != 0)
    tw.store(old + 1, tw.atomic_xchg(memory, x))
    tw.store(old + 2, tw.atomic_max(memory + 1, x))
    tw.store(old + 3, tw.atomic_min(memory + 2, x))


@pytest.mark.parametrize("dtype", [*INTS, "float32", "float64"])
@pytest.mark.parametrize("is_chosen", [0, 1])
def test_atomics_of_scalars(is_chosen: int, dtype: str, device: str) -> None:
    memory, old = encode([10, 2, 9], dtype), poisoned(dtype, 4)
    x = float(4) if is_float(dtype) else 4
    scalar_atomics[(1,)](memory, old, x, is_chosen)
    assert_equal(old, [10, 14 + 4 * is_chosen, 2, 9], dtype, "old")
    assert_equal(memory, [4, 4, 4], dtype, "memory")


@tw.jit
def locked_update(lock, data):
    while tw.atomic_cas(lock, 0, 1) == 1:
        pass
    tw.store(data, tw.load(data) + 1)
    tw.atomic_xchg(lock, 0)


def test_a_lock_excludes(device: str) -> None:
    lock, data = np.zeros(1, np.int32), np.zeros(1, np.int32)
    locked_update[(300,)](lock, data)
    assert (lock[0], data[0]) == (0, 300)


@tw.jit
def with_order(memory, old, SEM: tw.constexpr, SCOPE: tw.constexpr, N: tw.constexpr):
    i = tw.arange(0, N)
    tw.store(old + i, tw.atomic_add(memory + i, 1, sem=SEM, scope=SCOPE))
    tw.store(old + N + i, tw.atomic_cas(memory + i, i + 1, 5, sem=SEM, scope=SCOPE))
    tw.store(old + 2 * N, tw.atomic_xchg(memory, 3, sem=SEM, scope=SCOPE))
    tw.store(old + 2 * N + 1, tw.atomic_cas(memory, 3, 4, sem=SEM, scope=SCOPE))


@pytest.mark.parametrize("scope", ["cta", "gpu", "sys"])
@pytest.mark.parametrize("sem", ["relaxed", "acquire", "release", "acq_rel"])
@pytest.mark.parametrize("dtype", ["int32", "uint64"])
def test_every_order_and_scope(dtype: str, sem: str, scope: str, device: str) -> None:
    memory, old = np.arange(16).astype(dtype), poisoned(dtype, 34)
    with_order[(1,)](memory, old, sem, scope, N=16)
    assert old.tolist() == [*range(16), *range(1, 17), 5, 3]
    assert memory.tolist() == [4] + [5] * 15


@tw.jit
def with_orders(memory):
    # Only the program itself may see the order of a CTA's scope.
    tw.atomic_add(memory + 1 + tw.program_id(0), 1, sem="relaxed", scope="cta")
    tw.atomic_add(memory, 1, sem="acquire", scope="gpu")
    tw.atomic_add(memory, 1, sem="release", scope="sys")
    tw.atomic_add(memory, 1, sem="acq_rel")


def test_orders_and_scopes_are_accepted(device: str) -> None:
    memory = np.zeros(11, np.int32)
    with_orders[(10,)](memory)
    np.testing.assert_array_equal(memory, [30] + [1] * 10)


@tw.jit
def scatter_rows(table, places, x, n, C: tw.constexpr, KIND: tw.constexpr):
    row, d = tw.program_id(0), tw.arange(0, C)
    target = table + tw.load(places + row) + d
    v = tw.load(x + row * C + d)
    if KIND == "add":
        tw.atomic_add(target, v)
    elif KIND == "add below n":
        tw.atomic_add(target, v, mask=d < n)
    elif KIND == "add to some":
        tw.atomic_add(target, v, mask=d % 3 == 1)
    elif KIND == "max":
        tw.atomic_max(target, v)
    else:  # the old values of one of two are used: neither may update whole vectors
        tw.atomic_add(target, v)
        tw.store(x + row * C + d, tw.atomic_add(target, v))


ROW_KINDS = ["add", "add below n", "add to some", "max", "add twice"]


def check_rows(
    kind: str, columns: int, dtype: str, rng: np.random.Generator, rows: int, size: int
) -> None:
    x = rng.integers(-9, 9, (rows, columns)).astype(dtype)
    places = rng.integers(0, size - columns, rows)
    table, n = np.zeros(size, dtype), columns - columns // 3
    expected, d = np.zeros(size, dtype), np.arange(columns)
    keep = {"add below n": d < n, "add to some": d % 3 == 1}.get(kind, d >= 0)
    combine = np.maximum if kind == "max" else np.add
    for place, row in zip(places, x, strict=True):
        part = expected[place : place + columns]
        for _ in range(1 + (kind == "add twice")):
            part[keep] = combine(part[keep], row[keep])
    scatter_rows[(rows,)](table, places, x, n, C=columns, KIND=kind)
    np.testing.assert_array_equal(table, expected)


DTYPES_OF_ROWS = ["int32", "int64", "float32", "float64"]


@pytest.mark.parametrize("kind", ROW_KINDS)
@pytest.mark.parametrize("columns", [4, 7, 100])
@pytest.mark.parametrize("dtype", DTYPES_OF_ROWS)
def test_rows_that_overlap_each_other(
    kind: str, columns: int, dtype: str, device: str, rng: np.random.Generator
) -> None:
    rows, size = (400, 9000) if device == "cpu" else (8, 300)
    check_rows(kind, columns, dtype, rng, rows, size)


@pytest.mark.parametrize("kind", ROW_KINDS)
@pytest.mark.parametrize("dtype", DTYPES_OF_ROWS)
@pytest.mark.parametrize("level", ["cpu", "cpu:x86-64-v2"])
def test_rows_that_cross_blocks_under_locks(
    kind: str, dtype: str, level: str, compiler: None, rng: np.random.Generator
) -> None:
    with tw.device(level):
        check_rows(kind, 3000, dtype, rng, rows=400, size=9000)


@tw.jit
def count_and_sum(sums, counts, x, C: tw.constexpr):
    """Two arrays, or two parts of one: whole rows of one, single elements of the other."""
    d = tw.arange(0, C)
    tw.atomic_add(sums + d, tw.load(x + tw.program_id(0) * C + d))
    tw.atomic_add(counts, 1.0)


@pytest.mark.parametrize("start", [64, 70])
def test_rows_and_single_elements_of_the_same_memory(start: int, device: str) -> None:
    rows = 500 if device == "cpu" else 4
    memory, x = np.zeros(71, np.float32), np.ones((rows, 64), np.float32)
    count_and_sum[(rows,)](memory[start - 64 : start], memory[start - 1 :], x, C=64)
    expected = np.zeros(71)
    expected[start - 64 : start] += rows
    expected[start - 1] += rows
    np.testing.assert_array_equal(memory, expected)


@tw.jit
def extrema_of_zeros(largest, smallest, x, N: tw.constexpr):
    i = tw.arange(0, N)
    tw.atomic_max(largest + i, tw.load(x + i))
    tw.atomic_min(smallest + i, tw.load(x + i))


@tw.jit
def old_extrema_of_zeros(largest, smallest, x, N: tw.constexpr):
    i = tw.arange(0, N)
    tw.store(x + i, tw.atomic_max(largest + i, tw.load(x + i)) + tw.atomic_min(smallest + i, tw.load(x + i)))


@pytest.mark.parametrize("kernel", [extrema_of_zeros, old_extrema_of_zeros], ids=["row", "elements"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_atomic_extrema_order_zeros(dtype: str, kernel: Any, device: str) -> None:
    memory = np.repeat([0.0, -0.0], 32).astype(dtype)
    largest, smallest, x = memory.copy(), memory.copy(), np.tile([0.0, -0.0], 32).astype(dtype)
    signs, others = np.signbit(memory), np.signbit(x)
    kernel[(1,)](largest, smallest, x, N=64)
    np.testing.assert_array_equal(np.signbit(largest), signs & others)
    np.testing.assert_array_equal(np.signbit(smallest), signs | others)
