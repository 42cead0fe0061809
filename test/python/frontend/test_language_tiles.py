"""What kernels from elsewhere do with tiles beside the common part: orders, subscripts, functions of elements."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.triton.language as tl
from test_language_gaps import refusal


# Orders and shapes.


@tw.jit
def order(a, out, N: tw.constexpr, K: tw.constexpr, DOWN: tw.constexpr):
    i, j = tw.arange(0, 4)[:, None], tw.arange(0, N)[None, :]
    x = tw.load(a + i * N + j)
    k = tw.arange(0, K)[None, :]
    tw.store(out + i * (N + K) + k, tw.topk(x, K, descending=DOWN))
    tw.store(out + i * (N + K) + K + j, tw.flip(x))


@pytest.mark.parametrize("down", [True, False])
def test_topk_of_the_smallest_and_flip_of_the_last_dimension(
    down: bool, device: str, rng: np.random.Generator
) -> None:
    a = rng.permutation(64).reshape(4, 16).astype(np.float32)
    out = np.full((4, 20), np.nan, np.float32)
    order[(1,)](a, out, N=16, K=4, DOWN=down)
    ordered = np.sort(a, axis=1)
    expected = ordered[:, ::-1][:, :4] if down else ordered[:, :4]
    np.testing.assert_array_equal(out, np.concatenate([expected, a[:, ::-1]], axis=1))


@tw.jit
def subscripts_of_tiles(a, out):
    i = tw.arange(0, 8)[:, None] * 16 + tw.arange(0, 16)[None, :]
    x = tw.load(a + i)
    tw.store(out + tw.arange(0, 16), x[3])
    tw.store(out + 16 + tw.arange(0, 8), x[:, -1])
    tw.store(out + 24, x[2, 5])
    tw.store(out + 32 + tw.arange(0, 2)[:, None] * 8 + tw.arange(0, 8)[None, :], x[4:6, 8:])
    tw.store(out + 48 + tw.arange(0, 4), x[1, ::-4])
    tw.static_assert(x[None, 0, ..., None].shape == (1, 16, 1))
    tw.static_assert(tw.load(a)[None, None, :].shape == (1, 1))


def test_indices_and_slices_of_tiles(device: str, rng: np.random.Generator) -> None:
    a, out = rng.standard_normal((8, 16)).astype(np.float32), np.zeros(52, np.float32)
    subscripts_of_tiles[(1,)](a, out)
    expected = [*a[3], *a[:, -1], a[2, 5], *[0] * 7, *a[4:6, 8:].ravel(), *a[1, ::-4]]
    np.testing.assert_array_equal(out, expected)


@tw.jit
def index_too_large(a):
    tw.arange(0, 8)[8]


@tw.jit
def index_at_run_time(a):
    tw.arange(0, 8)[tw.program_id(0)]


@tw.jit
def empty_slice(a):
    tw.arange(0, 8)[4:4]


@tw.jit
def too_many_indices(a):
    tw.arange(0, 8)[:, 0]


@pytest.mark.parametrize(
    "kernel", [index_too_large, index_at_run_time, empty_slice, too_many_indices]
)
def test_subscripts_that_do_not_fit(kernel: tw.JITFunction, compiler: None) -> None:
    assert refusal(kernel, np.zeros(1)).code == "TW0117"


@tw.jit
def condition_of_one(a, out):
    x = tw.load(a + tw.arange(0, 1))
    if x[:, None] > 2:
        tw.store(out, 1)
    count = tw.zeros((1, 1), tw.int32)
    while count < 3:
        count += 1
    tw.store(out + 1, count.item())


def test_a_tile_of_one_element_is_a_condition(device: str) -> None:
    for value, expected in ((3, [1, 3]), (2, [0, 3])):
        out = np.zeros(2, np.int32)
        condition_of_one[(1,)](np.array([value], np.int32), out)
        assert out.tolist() == expected


@tw.jit
def permuted(a, out, A: tw.constexpr, B: tw.constexpr, C: tw.constexpr, D: tw.constexpr):
    x = tw.reshape(tw.load(a + tw.arange(0, A * B * C * D)), (A, B, C, D))
    y = tw.permute(x, 2, 0, 3, 1)
    z = tw.cat(x, x + 1, dim=2)
    tw.static_assert(tw.trans(x).shape == (A, B, D, C) and z.shape == (A, B, 2 * C, D))
    n = tw.arange(0, A * B * C * D)
    tw.store(out + n, y.reshape(A * B * C * D))
    m = tw.arange(0, 2 * A * B * C * D)
    tw.store(out + A * B * C * D + m, z.reshape(2 * A * B * C * D))


def test_tiles_of_four_dimensions(device: str, rng: np.random.Generator) -> None:
    a, out = rng.permutation(64).astype(np.int32), np.zeros(192, np.int32)
    permuted[(1,)](a, out, 2, 4, 2, 4)
    x = a.reshape(2, 4, 2, 4)
    both = np.concatenate([x, x + 1], axis=2)
    np.testing.assert_array_equal(out, [*x.transpose(2, 0, 3, 1).ravel(), *both.ravel()])


# Recursion.


@tw.jit
def tree_sum(x):
    if x.shape[0] == 1:
        return x
    halves = tw.reshape(x, (x.shape[0] // 2, 2))
    left, right = tw.split(halves)
    return tree_sum(left) + tree_sum(right)


@tw.jit
def power(x, n: tw.constexpr):
    if n == 0:
        return x * 0 + 1
    return x * power(x, n - 1)


@tw.jit
def recursive(a, out, N: tw.constexpr):
    x = tw.load(a + tw.arange(0, N))
    tw.store(out + tw.arange(0, 1), tree_sum(x))
    tw.store(out + 1, power(tw.load(a), 5))


def test_recursion_ends_by_a_shape_or_a_constant(device: str, rng: np.random.Generator) -> None:
    a, out = rng.integers(-4, 4, 8).astype(np.float32), np.zeros(2, np.float32)
    recursive[(1,)](a, out, N=8)
    np.testing.assert_array_equal(out, [a.sum(), a[0] ** 5])


@tw.jit
def countdown(n):
    if n > 0:
        return countdown(n - 1)
    return n


@tw.jit
def endless(out):
    tw.store(out, countdown(tw.program_id(0)))


def test_recursion_without_end_is_refused(compiler: None) -> None:
    error = refusal(endless, np.zeros(1, np.int32))
    assert error.code == "TW0110" and "countdown -> countdown" in str(error)


# Functions of elements.


@tw.jit
def collatz(n, limit):
    steps = 0
    while n != 1 and steps < limit:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


@tw.jit
def divide_pairs(a0, a1, b0, b1):
    return a0 // b0, a1 // b1, (a0 % b0).to(tw.float32), (a1 % b1).to(tw.float32)


@tw.jit
def mapped(a, b, steps, quotient, rest, limit, N: tw.constexpr):
    i = tw.arange(0, N)
    x, y = tw.load(a + i), tw.load(b + i)
    tw.store(steps + i, tw.map_elementwise(collatz, x, limit))
    q, r = tw.map_elementwise(divide_pairs, x, y, pack=2)
    tw.store(quotient + i, q)
    tw.store(rest + i, r)


def test_functions_with_control_flow_of_every_element(
    device: str, rng: np.random.Generator
) -> None:
    a, b = rng.integers(1, 99, (2, 64)).astype(np.int32)
    steps, quotient, rest = np.zeros(64, np.int32), np.zeros(64, np.int32), np.zeros(64, np.float32)
    mapped[(1,)](a, b, steps, quotient, rest, 50, N=64)

    def count(n: int) -> int:
        k = 0
        while n != 1 and k < 50:
            n, k = (n // 2 if n % 2 == 0 else 3 * n + 1), k + 1
        return k

    np.testing.assert_array_equal(steps, [count(int(n)) for n in a])
    np.testing.assert_array_equal(quotient, a // b)
    np.testing.assert_array_equal(rest, (a % b).astype(np.float32))


@tw.jit
def loads(p):
    return tw.load(p)


@tw.jit
def mapped_load(p):
    tw.map_elementwise(loads, p + tw.arange(0, 8))


@tw.jit
def mapped_packs_of_three(p):
    tw.map_elementwise(divide_pairs, tw.arange(0, 8), pack=3)


def test_map_elementwise_refuses_memory_and_odd_packs(compiler: None) -> None:
    assert refusal(mapped_load, np.zeros(8)).code == "TW0125"
    assert refusal(mapped_packs_of_three, np.zeros(8)).code == "TW0208"


@tw.jit
def small_things(a, u, out, wide, N: tw.constexpr):
    i = tw.arange(0, N)
    x = tw.load(a + i)
    y = tw.clamp(x, -2, 3)
    y += (0 <= x < 3) & (x != 1)
    tw.store(out + i, y + tw.fdiv(x.to(tw.float32), 2.0, approx=True).to(tw.int32))
    big = tw.load(u + i)
    tw.store(wide + i, tw.where(big > 9223372036854775808, big // 3 + (big >> 63), big % 7))
    tw.static_assert(tl.standard._log2(N) == 4 and tl._log2(N) == 4)
    small = (x.to(tw.float32) * -0.5).to(tw.float8e5)
    tw.store(out + N + i, tw.abs(small).to(tw.int32))


def test_clamp_of_integers_chained_comparisons_and_unsigned_64_bits(
    device: str, rng: np.random.Generator
) -> None:
    a = np.arange(-8, 8, dtype=np.int32)
    u = rng.integers(0, 2**64, 16, dtype=np.uint64)
    out, wide = np.zeros(32, np.int32), np.zeros(16, np.uint64)
    small_things[(1,)](a, u, out, wide, N=16)
    expected = np.clip(a, -2, 3) + ((a >= 0) & (a < 3) & (a != 1)) + np.trunc(a / 2).astype(int)
    np.testing.assert_array_equal(out[:16], expected)
    np.testing.assert_array_equal(out[16:], np.abs(a) // 2)
    large = u > np.uint64(2**63)
    np.testing.assert_array_equal(wide, np.where(large, u // 3 + (u >> 63), u % 7))


# Scopes, and the machine.


@tw.jit
def scoped(out):
    total = 0
    with tl.async_tasks():
        with tl.async_task("default", num_warps=4):
            total += 1
        with tl.async_task([0, 1]):
            total += 2
    tw.store(out, total)


@tw.jit
def opens_a_file(out):
    with open("x"):
        tw.store(out, 1)


def test_scopes_of_schedulers_change_no_result(device: str) -> None:
    out = np.zeros(1, np.int32)
    scoped[(1,)](out)
    assert out[0] == 3
    assert refusal(opens_a_file, out).code == "TW0136"


# Gathers out of range.


@tw.jit
def gathered(a, index, out, N: tw.constexpr):
    i = tw.arange(0, N)
    tw.store(out + i, tw.gather(tw.load(a + i), tw.load(index + i), 0))


@pytest.mark.parametrize("wrong", [64, -1, 1 << 30])
def test_a_gather_out_of_range_is_reported_or_stays_inside(wrong: int, device: str) -> None:
    a, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    index = np.arange(64)[::-1].astype(np.int32)
    gathered[(1,)](a, index, out, N=64)
    np.testing.assert_array_equal(out, a[::-1])
    index[5] = wrong
    if device.startswith(("cuda:", "hip:", "opencl:")):
        return  # the fault would end the GPU's context, or this process
    if device.startswith("cpu"):
        gathered[(1,)](a, index, out, N=64)
        expected = a[::-1].copy()
        expected[5] = 63
        np.testing.assert_array_equal(out, expected)
        return
    with pytest.raises(tw.DeviceError) as caught:
        gathered[(1,)](a, index, out, N=64)
    assert "test_language_tiles.py" in caught.value.rendered


def test_unsigned_narrow_indices_of_gathers(device: str) -> None:
    a, out = np.arange(256, dtype=np.float32), np.zeros(256, np.float32)
    index = np.arange(256)[::-1].astype(np.uint8)
    gathered[(1,)](a, index, out, N=256)
    np.testing.assert_array_equal(out, a[::-1])
