"""Python as kernels write it: helpers, tuples, constexprs, loops and conditions of every kind."""

from __future__ import annotations

import enum
import math
from typing import NamedTuple

import numpy as np
import pytest
import torch

import tilewright.triton as triton
import tilewright.triton.language as tl

POISON = 77


def run(kernel, *args, size: int = 8, dtype=np.int64, grid=(1,), **kwargs) -> list:
    """What `kernel(out, ...)` stores into a poisoned array."""
    out = np.full(size, POISON, dtype)
    kernel[grid](out, *args, **kwargs)
    return out.tolist()


LIMIT = 5
SCALE: tl.constexpr = tl.constexpr(3)
NAMES = ("small", "large")
SIZES = {"small": 4, "large": 16}


class Mode(enum.IntEnum):
    ADD = 0
    MULTIPLY = 1


class Flavor(enum.Enum):
    PLAIN = "plain"
    SWEET = "sweet"


class Accumulator(NamedTuple):
    total: tl.tensor
    count: tl.tensor


class Config:
    width = 8

    def __init__(self, depth: int) -> None:
        self.depth = depth

    @property
    def twice(self) -> int:
        return self.depth * 2


CONFIG = Config(4)


@triton.constexpr_function
def next_power(n):
    return 1 << (n - 1).bit_length()


@triton.jit
def uses_globals(out):
    tl.store(out, LIMIT)
    tl.store(out + 1, SCALE * LIMIT)
    tl.store(out + 2, len(NAMES))
    tl.store(out + 3, SIZES["large"] if "large" in NAMES else 0)
    tl.store(out + 4, Config.width + CONFIG.depth)
    tl.static_assert(CONFIG.twice == 8, "a property")
    tl.store(out + 5, CONFIG.twice)
    tl.store(out + 6, len(SIZES))
    tl.store(out + 7, int(math.sqrt(16.5)) + math.ceil(math.pi))


EMPTY: dict = {}
OTHER = Config(4)
FUNCTIONS = {"negate": lambda v: -v, "halve": lambda v: v // 2}


@triton.jit
def uses_objects(out, x, NAME: tl.constexpr):
    if EMPTY:
        tl.store(out, 1)
    if not EMPTY and SIZES:
        tl.store(out, 2)
    tl.store(out + 1, 3 if CONFIG is OTHER else 4)
    tl.store(out + 2, CONFIG is CONFIG and CONFIG == CONFIG and CONFIG != OTHER)
    tl.store(out + 3, getattr(CONFIG, "depth", 9) + getattr(CONFIG, "height", 9))
    total = 0
    for key in SIZES:
        total += SIZES[key]
    tl.store(out + 4, total)
    tl.store(out + 5, SIZES.get("medium", 8) + len(SIZES.keys()))
    tl.store(out + 6, "small" in SIZES and "medium" not in SIZES)
    tl.static_assert("%s-%d" % (NAME, 3) == f"{NAME.lower()}-{3}")
    tl.store(out + 7, hasattr(CONFIG, "depth") and bool(CONFIG) and not bool(EMPTY))


def test_objects_that_only_python_knows(device: str) -> None:
    assert run(uses_objects, np.array([6]), NAME="negate") == [2, 4, 1, 13, 20, 10, 1, 1]


def test_globals_of_every_kind(device: str) -> None:
    assert run(uses_globals) == [5, 15, 2, 16, 12, 8, 2, 8]


@triton.jit
def uses_modes(
    out, MODE: tl.constexpr, FLAVOR: tl.constexpr, N: tl.constexpr = 5, *, K: tl.constexpr = None
):
    P: tl.constexpr = next_power(N)
    if MODE == Mode.ADD:
        tl.store(out, P + 1)
    elif MODE == Mode.MULTIPLY:
        tl.store(out, P * 2)
    if FLAVOR is Flavor.SWEET:
        tl.store(out + 1, 1)
    elif FLAVOR == Flavor.PLAIN:
        tl.store(out + 1, 2)
    if K is None:
        tl.store(out + 2, 3)
    else:
        tl.store(out + 2, tl.sum(tl.arange(0, K)))
    if K is not None and K > 4 and N != 5:
        tl.store(out + 3, 4)


def test_modes_defaults_and_keywords(device: str) -> None:
    assert run(uses_modes, Mode.ADD, Flavor.SWEET, size=4) == [9, 1, 3, POISON]
    assert run(uses_modes, MODE=Mode.MULTIPLY, FLAVOR=Flavor.PLAIN, K=8, N=9, size=4) == [
        32, 2, 28, 4,
    ]  # fmt: skip


@triton.jit
def accumulate(state, x):
    return Accumulator(state.total + x, state.count + 1)


@triton.jit
def uses_namedtuple(out, n):
    state = Accumulator(tl.to_tensor(0), tl.to_tensor(0))
    for i in range(n):
        if i % 2 == 0:
            state = accumulate(state, i)
    total, count = state
    tl.store(out, total)
    tl.store(out + 1, state.count)
    tl.store(out + 2, state[0] + count)
    tl.store(out + 3, len(state))


def test_namedtuple_through_a_loop(device: str) -> None:
    assert run(uses_namedtuple, 7, size=4) == [12, 4, 16, 2]


@triton.jit
def uses_tuples(out, pair, triple, N: tl.constexpr):
    a, b = pair
    (c, d), e = (a + 1, b), triple[-1]
    items = (a, b, c, d, e)
    total = 0
    for i in tl.static_range(len(items)):
        total += items[i]
    tl.store(out, total)
    first, second = items[1:3]
    tl.store(out + 1, first * 10 + second)
    squares = [i * i for i in range(N)]
    tl.store(out + 2, squares[N - 1])
    nested = ((a, (b, c)), d)
    tl.store(out + 3, nested[0][1][1])
    a, b = b, a
    tl.store(out + 4, a * 10 + b)
    for x, y in zip((1, 2, 3), (4, 5, 6)):
        a += x * y
    tl.store(out + 5, a)
    for k, v in enumerate((a, b)):
        tl.store(out + 6 + k, v + k)


def test_tuples(device: str) -> None:
    # pair = (3, 4): c = 4, d = 4, e = 9
    assert run(uses_tuples, (3, 4), (7, 8, 9), N=4) == [24, 44, 9, 4, 43, 36, 36, 4]


@triton.jit
def collatz(out, x, n, LIMIT: tl.constexpr = 1000):
    pid = tl.program_id(0)
    if pid >= n:
        return
    v = tl.load(x + pid)
    steps = 0
    while v != 1 and steps < LIMIT:
        v = v // 2 if v % 2 == 0 else 3 * v + 1
        steps += 1
    tl.store(out + pid, steps)


def test_while_loop_with_a_data_dependent_end(device: str) -> None:
    x = np.array([1, 2, 3, 27, 6], np.int64)
    assert run(collatz, x, 5, grid=(8,)) == [0, 1, 7, 111, 8, POISON, POISON, POISON]


@triton.jit
def binary_search(out, keys, table, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    key = tl.load(keys + i)
    low = tl.zeros([BLOCK], tl.int32)
    high = tl.full([BLOCK], n, tl.int32)
    while tl.max((low < high).to(tl.int32)) > 0:
        middle = (low + high) // 2
        below = tl.load(table + middle, mask=middle < n, other=0) < key
        active = low < high
        low = tl.where(active & below, middle + 1, low)
        high = tl.where(active & ~below, middle, high)
    tl.store(out + i, low)


def test_binary_search_of_a_tile(device: str, rng) -> None:
    table = np.sort(rng.integers(0, 50, 23)).astype(np.int32)
    keys = rng.integers(-2, 55, 8).astype(np.int32)
    assert run(binary_search, keys, table, 23, BLOCK=8) == np.searchsorted(table, keys).tolist()


@triton.jit
def newton(out, x, BLOCK: tl.constexpr):
    a = tl.load(x + tl.arange(0, BLOCK))
    y = a
    for step in range(30):
        new = 0.5 * (y + a / y)
        if tl.max(tl.abs(new - y)) < 1e-6:
            break
        y = new
    tl.store(out + tl.arange(0, BLOCK), y)


def test_iteration_until_convergence(device: str, rng) -> None:
    x = rng.uniform(1, 9, 8).astype(np.float32)
    np.testing.assert_allclose(run(newton, x, BLOCK=8, dtype=np.float32), np.sqrt(x), 1e-5)


@triton.jit
def nested_functions(out, x, n, POWER: tl.constexpr):
    offset = 10

    def shifted(v, by=offset):
        return v + by

    def cubed(v):
        return v * v * v

    twice = lambda v: v * 2  # noqa: E731
    a = tl.load(x)
    tl.store(out, shifted(a))
    tl.store(out + 1, shifted(a, by=1))
    tl.store(out + 2, twice(cubed(a)))
    tl.store(out + 3, tl.reduce(tl.arange(1, 9), 0, lambda p, q: p * q))
    tl.store(out + 4, (twice if POWER == 1 else cubed)(a))
    if (half := n // 2) > 2:
        tl.store(out + 5, half)
    value = -a if not (a > 100) else a
    value **= 2 if POWER else 1
    tl.store(out + 6, value)
    tl.store(out + 7, 0 < a <= n < 100)


def test_nested_functions_and_lambdas(device: str) -> None:
    x = np.array([3], np.int64)
    assert run(nested_functions, x, 7, POWER=1) == [13, 4, 54, 40320, 6, 3, 9, 1]


def make_scaler(factor, function):
    @triton.jit
    def scale(out, x, n):
        i = tl.arange(0, 8)
        tl.store(out + i, function(tl.load(x + i, i < n, 0)) * factor, i < n)

    return scale


@triton.jit
def negate(x):
    return -x


def test_closures_are_part_of_the_kernel(device: str) -> None:
    x = np.arange(8)
    for factor in (2, 3):
        assert run(make_scaler(factor, negate), x, 8) == [-factor * i for i in range(8)]
    assert run(make_scaler(2, lambda v: v + 1), x, 8) == [2 * (i + 1) for i in range(8)]


@triton.jit
def many_types(out, i8, u8, i16, u32, u64, f16, bf16, f64, b):
    tl.store(out, tl.load(i8) + tl.load(u8))
    tl.store(out + 1, tl.load(i16) * 300)
    tl.store(out + 2, tl.load(u32) + 1 == 0)
    tl.store(out + 3, (tl.load(u64) >> 60).to(tl.int64))
    tl.store(out + 4, (tl.load(f16) * tl.load(bf16)).to(tl.int32))
    tl.store(out + 5, tl.load(f64) * 1e10)
    tl.store(out + 6, tl.where(tl.load(b), 5, 6))
    tl.store(out + 7, tl.load(b + 1).to(tl.int32) + (tl.load(b) & (tl.load(i8) < 0)))


def test_scalars_of_many_types(device: str) -> None:
    arguments = [
        torch.tensor([-3], dtype=torch.int8), torch.tensor([250], dtype=torch.uint8),
        torch.tensor([100], dtype=torch.int16), np.array([2**32 - 1], np.uint32),
        np.array([2**63 + 5], np.uint64), torch.tensor([3.0], dtype=torch.float16),
        torch.tensor([2.5], dtype=torch.bfloat16), np.array([1.5]), torch.tensor([True, False]),
    ]  # fmt: skip
    # int8 and uint8 give uint8: -3 + 250 = 247.
    assert run(many_types, *arguments) == [247, 30000, 1, 8, 7, 15000000000, 5, 1]


@triton.jit
def masks_from_memory(out, x, mask, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    keep = tl.load(mask + i, mask=i < n, other=False)
    tl.store(out + i, tl.load(x + i, mask=keep, other=-1), mask=keep | (i % 2 == 0))
    tl.store(mask + i, ~keep, mask=i < n)


@pytest.mark.parametrize("kind", [np.bool_, torch.bool])
def test_masks_loaded_from_memory(device: str, kind) -> None:
    keep = [True, False, False, True, True, False, True, False]
    mask = np.array(keep) if kind is np.bool_ else torch.tensor(keep)
    assert run(masks_from_memory, np.arange(8), mask, 7, BLOCK=8) == [
        0, POISON, -1, 3, 4, POISON, 6, POISON,
    ]  # fmt: skip
    assert mask.tolist() == [False, True, True, False, False, True, False, False]


@triton.jit
def non_finite(out, x, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    v = tl.where(v != v, 0.0, v)
    v = tl.where(v == float("inf"), 100.0, v)
    v = tl.where(v == -float("inf"), -100.0, v)
    tl.store(out + i, v)


def test_where_replaces_nan_and_infinities(device: str) -> None:
    x = np.array([1, np.nan, np.inf, -np.inf, -0.0, 2, np.nan, 3], np.float32)
    assert run(non_finite, x, BLOCK=8) == [1, 0, 100, -100, 0, 2, 0, 3]


@triton.jit
def loop_kinds(out, n, STEP: tl.constexpr):
    total = 0
    for i in range(n, 0, -STEP):
        total = total * 10 + i
    tl.store(out, total)
    count = tl.zeros([4], tl.int32)
    for i in tl.range(0, n, STEP, num_stages=3):
        for j in range(i):
            if j == 2:
                continue
            count += 1
            if j > 3:
                break
    tl.store(out + 1, tl.max(count, 0))
    x = 1.0
    for _ in range(STEP):
        x *= 0.5
    tl.store(out + 2, x * 100)
    for i in tl.static_range(3, 0, -1):
        tl.store(out + 2 + i, i * i)
    k = 0
    while True:
        k += STEP
        if k >= n:
            break
    tl.store(out + 6, k)
    tl.store(out + 7, i)


def test_loops_of_every_kind(device: str) -> None:
    def expected(n, step):
        total = 0
        for i in range(n, 0, -step):
            total = total * 10 + i
        count = 0
        for i in range(0, n, step):
            for j in range(i):
                if j == 2:
                    continue
                count += 1
                if j > 3:
                    break
        return [total, count, int(0.5**step * 100), 1, 4, 9, -(-n // step) * step, 1]

    for n, step in ((7, 2), (9, 3), (1, 1)):
        assert run(loop_kinds, n, STEP=step) == expected(n, step)


@triton.heuristics({"BLOCK": lambda args: triton.next_power_of_2(args["n"])})
@triton.jit
def doubled(out, x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n) * 2, i < n)


def test_heuristics(device: str) -> None:
    assert run(doubled, np.arange(6), 6) == [0, 2, 4, 6, 8, 10, POISON, POISON]


@triton.jit
def strided_copy(out, x, n, stride, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i * stride, mask=i < n), mask=i < n)


def test_views_with_steps_and_negative_strides(device: str) -> None:
    base = np.arange(40)
    for view in (base[3:19:2], base[::-1][:8], base[30:2:-3][:8], base[5:6].repeat(8)):
        stride = view.strides[0] // view.itemsize
        assert run(strided_copy, view, 8, stride, BLOCK=8) == view.tolist()
    tensor = torch.arange(24).reshape(4, 6).T[2]
    assert run(strided_copy, tensor, 4, tensor.stride(0), BLOCK=4, size=4) == tensor.tolist()
    expanded = torch.tensor([9]).expand(8)
    assert run(strided_copy, expanded, 8, expanded.stride(0), BLOCK=8) == [9] * 8


@triton.jit
def far_offsets(out, base, far, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    distance = far.to(tl.int64) * 65536
    tl.store(out + i, tl.load(base + (distance + i) - far.to(tl.int64) * 65536))
    tl.store(out + i, i.to(tl.int64) * far, mask=i > 3)


def test_offsets_beyond_32_bits(device: str) -> None:
    far = 2**30
    assert run(far_offsets, np.arange(8), far, BLOCK=8) == [0, 1, 2, 3] + [
        i * far for i in range(4, 8)
    ]


@triton.jit
def scalars(out, flag, small, large, fraction, nothing, text: tl.constexpr):
    if nothing is None:
        tl.store(out, 1)
    if flag:
        tl.store(out + 1, small)
    tl.store(out + 2, large)
    tl.store(out + 3, (fraction * 8).to(tl.int32))
    tl.store(out + 4, text == "yes")
    tl.store(out + 5, large.dtype == tl.int64)
    tl.store(out + 6, small.dtype.primitive_bitwidth)
    tl.store(out + 7, hasattr(large, "dtype") and isinstance(large, tl.tensor))


def test_scalar_arguments(device: str) -> None:
    assert run(scalars, True, -4, 2**40, 0.25, None, "yes") == [1, -4, 2**40, 2, 1, 1, 32, 1]
    assert run(scalars, False, 1, 2**31, 1.0, None, "no") == [1, POISON, 2**31, 8, 0, 1, 32, 1]


@triton.jit
def zero_dimensional(out, x):
    tl.store(out, tl.load(x) + 1)


def test_arrays_of_rank_0(device: str) -> None:
    out = torch.tensor(0)
    zero_dimensional[(1,)](out, torch.tensor(41))
    assert out.item() == 42
    out = np.array(0)
    zero_dimensional[1](out, np.array(1))
    assert out == 2


def test_grids_without_programs(device: str) -> None:
    out = np.array([5])
    for grid in ((0,), (3, 0), 0, lambda meta: (0, 1, 1)):
        zero_dimensional[grid](out, np.array(1))
    assert out.tolist() == [5]
