"""Control flow, shapes, addressing and communication as users write them, against NumPy."""

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
def newton(x, out, steps_out, n, tolerance, BLOCK: tw.constexpr):
    """Square roots, until the worst of the tile is good enough."""
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    value = tw.load(x + i, mask=i < n, other=1.0)
    root = tw.maximum(value, 1.0)
    error = tw.max(tw.abs(root * root - value) / value)
    steps = 0
    while error > tolerance and steps < 50:
        root = 0.5 * (root + value / root)
        error = tw.max(tw.abs(root * root - value) / value)
        steps += 1
    tw.store(out + i, root, mask=i < n)
    tw.store(steps_out + tw.program_id(0), steps)


def test_while_until_the_tile_has_converged(num_warps: int, rng: np.random.Generator) -> None:
    x, out = 1 + 100 * rng.random(300).astype(np.float32), poisoned(300)
    steps = poisoned(3, dtype=np.int32)
    run(newton, (3,), x, out, steps, 300, 1e-5, BLOCK=128, num_warps=num_warps)
    np.testing.assert_allclose(out, np.sqrt(x), rtol=1e-5)
    assert ((steps > 1) & (steps < 20)).all()


@tw.jit
def skip_rows(x, flags, out, columns, BLOCK: tw.constexpr):
    row = tw.program_id(0)
    flag = tw.load(flags + row)
    if flag == 0:
        return
    c = tw.arange(0, BLOCK)
    if flag < 0:
        tw.store(out + row * columns + c, -1.0, mask=c < columns)
        return
    tw.store(out + row * columns + c, tw.load(x + row * columns + c, c < columns), c < columns)


def test_early_returns(num_warps: int, rng: np.random.Generator) -> None:
    x, out = normal(rng, 6, 40), np.zeros((6, 40), np.float32)
    flags = np.array([0, 1, -1, 5, 0, -7], np.int32)
    run(skip_rows, (6,), x, flags, out, 40, BLOCK=64, num_warps=num_warps)
    expected = np.where(flags[:, None] < 0, -1, x) * (flags != 0)[:, None]
    np.testing.assert_array_equal(out, expected.astype(np.float32))


@tw.jit
def first_fit(sizes, bins, n, capacity, COUNT: tw.constexpr):
    """Nested loops with break and continue: each item goes into the first bin with room."""
    free = tw.full([COUNT], 0, tw.int32) + capacity
    b = tw.arange(0, COUNT)
    for item in range(n):
        size = tw.load(sizes + item)
        if size <= 0:
            tw.store(bins + item, -2)
            continue
        place = -1
        for j in range(COUNT):
            if tw.sum(tw.where(b == j, free, 0)) >= size:
                place = j
                break
        free = tw.where(b == place, free - size, free)
        tw.store(bins + item, place)


def test_nested_loops_with_break_and_continue(num_warps: int, rng: np.random.Generator) -> None:
    sizes, bins = rng.integers(-1, 9, 30).astype(np.int32), poisoned(30, dtype=np.int32)
    run(first_fit, (1,), sizes, bins, 30, 12, COUNT=8, num_warps=num_warps)
    free, expected = [12] * 8, []
    for size in sizes:
        place = next((j for j in range(8) if free[j] >= size), -1) if size > 0 else -2
        if place >= 0:
            free[place] -= size
        expected.append(place)
    np.testing.assert_array_equal(bins, expected)


@tw.jit
def mandelbrot(out, width, height, limit, BLOCK: tw.constexpr):
    p = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    cx = (p % width) * 3.0 / width - 2.0
    cy = (p // width) * 2.0 / height - 1.0
    zx = tw.zeros([BLOCK], tw.float32)
    zy = tw.zeros([BLOCK], tw.float32)
    count = tw.zeros([BLOCK], tw.int32)
    alive = p < width * height
    i = 0
    while (i < limit) & (tw.sum(alive.to(tw.int32)) > 0):
        zx, zy = tw.where(alive, zx * zx - zy * zy + cx, zx), tw.where(alive, 2 * zx * zy + cy, zy)
        alive = alive & (zx * zx + zy * zy <= 4.0)
        count += alive.to(tw.int32)
        i += 1
    tw.store(out + p, count, mask=p < width * height)


def test_loop_that_ends_when_all_elements_are_done(num_warps: int) -> None:
    out, width, height = poisoned(20, 30, dtype=np.int32), 30, 20
    run(mandelbrot, (5,), out, width, height, 20, BLOCK=128, num_warps=num_warps)
    y, x = np.mgrid[:height, :width]
    c = (x * 3.0 / width - 2) + 1j * (y * 2.0 / height - 1)
    z, expected, alive = np.zeros_like(c), np.zeros(c.shape, int), np.ones(c.shape, bool)
    for _ in range(20):
        z = np.where(alive, z * z + c, z)
        alive &= np.abs(z) <= 2
        expected += alive
    assert (out != expected).mean() < 0.02  # points on the border may fall to either side


@tw.jit
def permute_3d(x, y, A: tw.constexpr, B: tw.constexpr, C: tw.constexpr):
    a = tw.arange(0, A)[:, None, None]
    b = tw.arange(0, B)[None, :, None]
    c = tw.arange(0, C)[None, None, :]
    value = tw.load(x + (a * B + b) * C + c)
    turned = tw.permute(value, (2, 0, 1))
    at = tw.arange(0, C)[:, None, None] * (A * B) + tw.arange(0, A)[None, :, None] * B
    tw.store(y + at + tw.arange(0, B)[None, None, :], turned)


@tw.jit
def reduce_3d(x, over_a, over_b, over_c, everything, A: tw.constexpr, B: tw.constexpr,
              C: tw.constexpr):  # fmt: skip
    a, b, c = tw.arange(0, A), tw.arange(0, B), tw.arange(0, C)
    value = tw.load(x + (a[:, None, None] * B + b[None, :, None]) * C + c[None, None, :])
    tw.store(over_a + b[:, None] * C + c[None, :], tw.sum(value, 0))
    tw.store(over_b + a[:, None] * C + c[None, :], tw.max(value, axis=1))
    tw.store(over_c + a[:, None] * B + b[None, :], tw.min(value, axis=-1))
    tw.store(everything, tw.sum(value))


def test_tiles_of_three_dimensions(num_warps: int, rng: np.random.Generator) -> None:
    x = rng.integers(-9, 9, (4, 8, 16)).astype(np.float32)
    y = poisoned(16, 4, 8)
    run(permute_3d, (1,), x, y, A=4, B=8, C=16, num_warps=num_warps)
    np.testing.assert_array_equal(y, x.transpose(2, 0, 1))
    outs = poisoned(8, 16), poisoned(4, 16), poisoned(4, 8), poisoned(1)
    run(reduce_3d, (1,), x, *outs, A=4, B=8, C=16, num_warps=num_warps)
    for out, expected in zip(outs, (x.sum(0), x.max(1), x.min(2), x.sum())):
        np.testing.assert_array_equal(out, expected.reshape(out.shape))


@tw.jit
def copy_2d(x, y, rows, columns, x_row, x_column, y_row, y_column, ROWS: tw.constexpr,
            COLUMNS: tw.constexpr):  # fmt: skip
    r = (tw.program_id(0) * ROWS + tw.arange(0, ROWS))[:, None].to(tw.int64)
    c = (tw.program_id(1) * COLUMNS + tw.arange(0, COLUMNS))[None, :].to(tw.int64)
    inside = (r < rows) & (c < columns)
    value = tw.load(x + r * x_row + c * x_column, mask=inside)
    tw.store(y + r * y_row + c * y_column, value, mask=inside)


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a[:, ::-1], lambda a: a[::-1, ::2], lambda a: a[3:40, 5:50], lambda a: a.T,
        lambda a: np.broadcast_to(a[:1], a.shape),
    ],
    ids=["reversed", "every-second", "window", "transposed", "broadcast"],
)  # fmt: skip
def test_views_with_any_strides(num_warps: int, view: Any, rng: np.random.Generator) -> None:
    x = view(normal(rng, 48, 64))
    y = poisoned(*x.shape)
    strides = [s // 4 for s in (*x.strides, *y.strides)]
    grid = (-(-x.shape[0] // 16), -(-x.shape[1] // 32))
    run(copy_2d, grid, x, y, *x.shape, *strides, ROWS=16, COLUMNS=32, num_warps=num_warps)
    np.testing.assert_array_equal(y, x)


@tw.jit
def far_apart(x, y, step, n, BLOCK: tw.constexpr):
    """Offsets of 32 bits would wrap; only the masked-on elements exist."""
    i = tw.arange(0, BLOCK)
    start = tw.program_id(0).to(tw.int64) * step
    at = start + i * (step + 0)
    value = tw.load(x + at % n, mask=i < n)
    tw.store(y + i, value + (at > 0x7FFFFFFF).to(tw.float32), mask=i < n)


def test_offsets_beyond_32_bits(num_warps: int, rng: np.random.Generator) -> None:
    x, y = normal(rng, 100), poisoned(100)
    step = (1 << 33) + 1
    run(far_apart, (1,), x, y, step, 100, BLOCK=128, num_warps=num_warps)
    at = np.arange(100) * step
    np.testing.assert_array_equal(y, x[at % 100] + (at > 0x7FFFFFFF).astype(np.float32))


@tw.constexpr_function
def lanes_for(width: int, limit: int) -> int:
    return min(1 << (width - 1).bit_length(), limit)


@tw.jit
def min_and_max(value, inside):
    return tw.min(tw.where(inside, value, float("inf"))), tw.max(
        tw.where(inside, value, float("-inf"))
    )


@tw.jit
def rescale(x, out, bounds, n, WIDTH: tw.constexpr):
    BLOCK: tw.constexpr = lanes_for(WIDTH, 128)
    i = tw.arange(0, BLOCK)
    value = tw.load(x + i, mask=i < n)
    low, high = min_and_max(value, i < n)
    ends = (low, high)
    for side in tw.static_range(2):
        tw.store(bounds + side, ends[side])
    tw.store(out + i, (value - ends[0]) / (ends[1] - ends[0]), mask=i < n)


def test_helpers_that_give_tuples_and_compile_time_functions(
    num_warps: int, rng: np.random.Generator
) -> None:
    x, out, bounds = normal(rng, 60), poisoned(60), poisoned(2)
    run(rescale, (1,), x, out, bounds, 60, WIDTH=60, num_warps=num_warps)
    np.testing.assert_array_equal(bounds, [x.min(), x.max()])
    np.testing.assert_allclose(out, (x - x.min()) / (x.max() - x.min()), rtol=1e-5, atol=1e-7)


@tw.jit
def persistent_add(x, y, out, n, BLOCK: tw.constexpr):
    for tile in range(tw.program_id(0), tw.cdiv(n, BLOCK), tw.num_programs(0)):
        i = tile * BLOCK + tw.arange(0, BLOCK)
        total = tw.load(x + i, mask=i < n) + tw.load(y + i, mask=i < n)
        tw.store(out + i, total, mask=i < n)


@pytest.mark.parametrize("n", [1000, 1024, 1])
def test_persistent_programs(num_warps: int, n: int, rng: np.random.Generator) -> None:
    x, y, out = normal(rng, n), normal(rng, n), poisoned(n)
    run(persistent_add, (3,), x, y, out, n, BLOCK=128, num_warps=num_warps)
    np.testing.assert_array_equal(out, x + y)


@tw.jit
def swizzled(out, M: tw.constexpr, N: tw.constexpr, GROUP: tw.constexpr):
    i, j = tw.swizzle2d(tw.program_id(0), tw.program_id(1), M, N, GROUP)
    tw.store(out + i * N + j, tw.program_id(0) * N + tw.program_id(1))


def test_swizzled_order_of_programs(num_warps: int) -> None:
    out = poisoned(5, 4, dtype=np.int32)
    run(swizzled, (5, 4), out, M=5, N=4, GROUP=2, num_warps=num_warps)
    assert sorted(out.reshape(-1)) == list(range(20))


@tw.jit
def ring(values, turns, n, rounds, BLOCK: tw.constexpr):
    """Programs pass a tile on in order: a counter says whose turn it is."""
    program = tw.program_id(0)
    i = tw.arange(0, BLOCK)
    while tw.atomic_add(turns, 0, sem="acquire") != program:
        pass
    value = tw.load(values + i, mask=i < n, other=0.0)
    tw.store(values + i, value * 2 + program, mask=i < n)
    tw.debug_barrier()
    tw.atomic_add(turns, 1, sem="release")


def test_a_semaphore_orders_the_programs(num_warps: int, rng: np.random.Generator) -> None:
    values = rng.integers(0, 9, 100).astype(np.float32)
    expected = values.copy()
    for program in range(5):
        expected = expected * 2 + program
    run(ring, (5,), values, np.zeros(1, np.int32), 100, 1, BLOCK=128, num_warps=num_warps)
    np.testing.assert_array_equal(values, expected)


@tw.jit
def fibonacci(out, n):
    """No tile at all: scalars carried through a loop, in 64 bits."""
    a, b = tw.to_tensor(0).to(tw.int64), tw.to_tensor(1).to(tw.int64)
    for i in range(n):
        tw.store(out + i, a)
        a, b = b, a + b


def test_scalars_only(num_warps: int) -> None:
    out = poisoned(60, dtype=np.int64)
    run(fibonacci, (1,), out, 60, num_warps=num_warps)
    assert out[0] == 0 and out[1] == 1 and (out[2:] == out[1:-1] + out[:-2]).all()


@tw.jit
def choose(x, out, n, MODE: tw.constexpr, SCALE: tw.constexpr, BLOCK: tw.constexpr):
    i = tw.arange(0, BLOCK)
    value = tw.load(x + i, mask=i < n, other=0.0)
    if MODE == "scale":
        value = value * SCALE if SCALE is not None else value
    elif MODE in ("square", "cube"):
        power: tw.constexpr = 2 if MODE == "square" else 3
        result = value
        for _ in tw.static_range(power - 1):
            result *= value
        value = result
    else:
        tw.static_assert(MODE == "flip", "unknown mode")
        value = tw.flip(value, 0)
    tw.store(out + i, value, mask=i < n)


@pytest.mark.parametrize("mode", ["scale", "square", "cube", "flip"])
def test_compile_time_choices(num_warps: int, mode: str, rng: np.random.Generator) -> None:
    x, out = rng.integers(-9, 9, 64).astype(np.float32), poisoned(64)
    run(choose, (1,), x, out, 64, MODE=mode, SCALE=2.0, BLOCK=64, num_warps=num_warps)
    expected = {"scale": 2 * x, "square": x**2, "cube": x**3, "flip": x[::-1]}[mode]
    np.testing.assert_array_equal(out, expected)


@tw.jit
def game_of_life(x, out, height, width, ROWS: tw.constexpr, COLUMNS: tw.constexpr):
    r = tw.program_id(0) * ROWS + tw.arange(0, ROWS)[:, None]
    c = tw.program_id(1) * COLUMNS + tw.arange(0, COLUMNS)[None, :]
    around = tw.zeros([ROWS, COLUMNS], tw.int32)
    for dr in tw.static_range(-1, 2):
        for dc in tw.static_range(-1, 2):
            if dr != 0 or dc != 0:
                y, z = (r + dr + height) % height, (c + dc + width) % width
                around += tw.load(x + y * width + z).to(tw.int32)
    inside = (r < height) & (c < width)
    alive = tw.load(x + r * width + c, mask=inside, other=0) != 0
    tw.store(out + r * width + c, (around == 3) | (alive & (around == 2)), mask=inside)


def test_stencil_that_wraps_around(num_warps: int, rng: np.random.Generator) -> None:
    x, out = rng.integers(0, 2, (20, 50)).astype(np.uint8), poisoned(20, 50, dtype=np.uint8)
    run(game_of_life, (2, 2), x, out, 20, 50, ROWS=16, COLUMNS=32, num_warps=num_warps)
    around = sum(
        np.roll(x, (a, b), (0, 1)) for a in (-1, 0, 1) for b in (-1, 0, 1) if (a, b) != (0, 0)
    )
    np.testing.assert_array_equal(out, (around == 3) | ((x == 1) & (around == 2)))
