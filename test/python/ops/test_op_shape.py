"""Operations that make tiles and move their elements, against NumPy's of the same meaning."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from op_values import DTYPES, argument, decode, draw, extents, poisoned
from processor_levels import skip_beyond

import tilewright as tw

CUBE = (4, 2, 8)
COUNT = 64


# Each takes the cube [4, 2, 8] of elements 0, 1, 2, ...; CASES has NumPy's function of its meaning.
# fmt: off
@tw.jit
def reshape(x): return tw.reshape(x, (8, 8))
@tw.jit
def reshape_method(x): return x.reshape(16, 4)
@tw.jit
def permute(x): return tw.permute(x, (2, 0, 1))
@tw.jit
def permute_again(x): return x.permute(1, 2, 0)
@tw.jit
def trans(x): return tw.trans(tw.reshape(x, (4, 16)))
@tw.jit
def attribute_t(x): return tw.reshape(x, (2, 32)).T
@tw.jit
def trans_of_sum(x): return tw.trans(x, 0, 2, 1)
@tw.jit
def expand_and_broadcast(x): return tw.broadcast_to(tw.expand_dims(x, 1), (4, 16, 2, 8))
@tw.jit
def index_none(x): return x[:, None, :, :] + tw.zeros((1, 2, 1, 1), tw.int32)
@tw.jit
def broadcast_pair(x):
    a, b = tw.broadcast(tw.reshape(x, (64, 1)), tw.arange(0, 4)[None, :])
    return a * 10 + b
@tw.jit
def join(x): return tw.join(x, x + 1000)
@tw.jit
def split(x):
    a, b = tw.split(tw.reshape(x, (4, 8, 2)))
    return a * 100 + b
@tw.jit
def interleave(x): return tw.interleave(x, -x)
@tw.jit
def cat(x): return tw.cat(x, x + 1000, can_reorder=False)
@tw.jit
def flip(x): return tw.flip(x, 2)
@tw.jit
def ravel(x): return tw.ravel(x)
@tw.jit
def squeeze(x): return tw.squeeze(tw.unsqueeze(x, 0), 0)
@tw.jit
def gather(x):
    rows = (tw.arange(0, 64) * 7 % 4).reshape(4, 2, 8)
    return tw.gather(x, rows, 0)
# fmt: on

CASES: dict[Any, Any] = {
    reshape: lambda x: x.reshape(8, 8),
    reshape_method: lambda x: x.reshape(16, 4),
    permute: lambda x: x.transpose(2, 0, 1),
    permute_again: lambda x: x.transpose(1, 2, 0),
    trans: lambda x: x.reshape(4, 16).T,
    attribute_t: lambda x: x.reshape(2, 32).T,
    trans_of_sum: lambda x: x.transpose(0, 2, 1),
    expand_and_broadcast: lambda x: np.broadcast_to(x[:, None], (4, 16, 2, 8)),
    index_none: lambda x: np.broadcast_to(x[:, None], (4, 2, 2, 8)),
    broadcast_pair: lambda x: x.reshape(64, 1) * 10 + np.arange(4),
    join: lambda x: np.stack([x, x + 1000], -1),
    split: lambda x: x.reshape(4, 8, 2)[..., 0] * 100 + x.reshape(4, 8, 2)[..., 1],
    interleave: lambda x: np.stack([x, -x], -1).reshape(4, 2, 16),
    cat: lambda x: np.concatenate([x, x + 1000]),
    flip: lambda x: x[:, :, ::-1],
    ravel: lambda x: x.ravel(),
    squeeze: lambda x: x,
    gather: lambda x: np.take_along_axis(x, (np.arange(64) * 7 % 4).reshape(CUBE), 0),
}


def make_kernel(function: Any, count: int, shape: tuple[int, ...]) -> Any:
    @tw.jit
    def kernel(out, a):
        x = tw.reshape(tw.load(a + tw.arange(0, 64)), (4, 2, 8))
        r = function(x)
        tw.static_assert(len(r.shape) == len(shape))
        for d in tw.static_range(len(shape)):
            tw.static_assert(r.shape[d] == shape[d])
        tw.store(out + tw.arange(0, count), tw.reshape(r, (count,)))

    return kernel


@pytest.mark.parametrize("function", [*CASES], ids=lambda f: f.fn.__name__)
def test_shape_operation(function: Any, device: str) -> None:
    cube = np.arange(COUNT, dtype=np.int32).reshape(CUBE)
    expected = CASES[function](cube)
    out = poisoned("int32", expected.shape)
    make_kernel(function, expected.size, expected.shape)[(1,)](out.reshape(-1), cube.reshape(-1))
    np.testing.assert_array_equal(out, expected)


# Operations that only move elements, of a cube [4, 2, 8] of any type.
# fmt: off
@tw.jit
def flip_0(x): return tw.flip(x, 0)
@tw.jit
def flip_1(x): return tw.flip(x, 1)
@tw.jit
def rotate(x): return tw.permute(x, (1, 2, 0))
@tw.jit
def join_pair(x): return tw.join(x, tw.flip(x, 2))
@tw.jit
def split_pair(x):
    a, b = tw.split(tw.reshape(x, (4, 8, 2)))
    return tw.join(b, a)
@tw.jit
def interleave_pair(x): return tw.interleave(x, tw.flip(x, 0))
@tw.jit
def cat_pair(x): return tw.cat(x, tw.flip(x, 0), can_reorder=False)
@tw.jit
def gather_1(x):
    return tw.gather(x, (tw.arange(0, 64) * 5 % 2).reshape(4, 2, 8), 1)
@tw.jit
def gather_2(x):
    return tw.gather(x, (tw.arange(0, 128) * 11 % 8).reshape(4, 2, 16), 2)
@tw.jit
def choose(x): return tw.where((tw.arange(0, 64) % 3 == 1).reshape(4, 2, 8), x, tw.flip(x, 1))
@tw.jit
def spread(x): return tw.broadcast_to(tw.expand_dims(x, 2), (4, 2, 4, 8))
# fmt: on

MOVES: dict[Any, Any] = {
    flip_0: lambda x: x[::-1],
    flip_1: lambda x: x[:, ::-1],
    rotate: lambda x: x.transpose(1, 2, 0),
    join_pair: lambda x: np.stack([x, x[:, :, ::-1]], -1),
    split_pair: lambda x: x.reshape(4, 8, 2)[..., ::-1],
    interleave_pair: lambda x: np.stack([x, x[::-1]], -1).reshape(4, 2, 16),
    cat_pair: lambda x: np.concatenate([x, x[::-1]]),
    gather_1: lambda x: np.take_along_axis(x, (np.arange(64) * 5 % 2).reshape(4, 2, 8), 1),
    gather_2: lambda x: np.take_along_axis(x, (np.arange(128) * 11 % 8).reshape(4, 2, 16), 2),
    choose: lambda x: np.where((np.arange(64) % 3 == 1).reshape(4, 2, 8), x, x[:, ::-1]),
    spread: lambda x: np.broadcast_to(x[:, :, None], (4, 2, 4, 8)),
}


@pytest.mark.parametrize("dtype", ["int1", "int8", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("function", [*MOVES], ids=lambda f: f.fn.__name__)
def test_elements_of_every_width_move(
    function: Any, dtype: str, device: str, rng: np.random.Generator
) -> None:
    cube = draw(rng, dtype, CUBE)
    expected = MOVES[function](cube)
    out = poisoned(dtype, expected.shape)
    kernel = make_kernel(function, expected.size, expected.shape)
    kernel[(1,)](argument(out.reshape(-1), dtype), argument(cube.reshape(-1), dtype))
    assert out.tobytes() == np.ascontiguousarray(expected).tobytes()


@tw.jit
def transpose_tile(out, a, N: tw.constexpr, M: tw.constexpr):
    i = tw.arange(0, N)[:, None]
    j = tw.arange(0, M)[None, :]
    x = tw.load(a + i * M + j)
    tw.store(out + tw.arange(0, M)[:, None] * N + tw.arange(0, N)[None, :], x.T)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(16, 32), (5, 9), (1, 7), (64, 64)])
def test_transpose_of_every_type(
    shape: tuple[int, int], dtype: str, device: str, rng: np.random.Generator
) -> None:
    a = draw(rng, dtype, shape)
    out = poisoned(dtype, shape[::-1])
    transpose_tile[(1,)](argument(out, dtype), argument(a, dtype), N=shape[0], M=shape[1])
    assert out.tobytes() == np.ascontiguousarray(a.T).tobytes()


@pytest.mark.parametrize("level", ["x86-64-v2", "x86-64-v3", "x86-64-v4"])
@pytest.mark.parametrize("dtype", ["int8", "int16", "float32", "float64"])
def test_transpose_with_vectors_of_every_size(
    dtype: str, level: str, rng: np.random.Generator
) -> None:
    skip_beyond(level)
    a = draw(rng, dtype, (64, 128))
    out = poisoned(dtype, (128, 64))
    with tw.device(f"cpu:{level}"):
        kernel = transpose_tile[(1,)](argument(out, dtype), argument(a, dtype), N=64, M=128)
    assert out.tobytes() == np.ascontiguousarray(a.T).tobytes()
    assert "unpck" in kernel.asm["asm"] and "gather" not in kernel.asm["asm"]


@tw.jit
def fill(out, zeros, ones, value, COUNT: tw.constexpr, N: tw.constexpr):
    i = tw.arange(0, N)
    tw.store(out + i, tw.full((N,), value, out.dtype.element_ty), i < COUNT)
    tw.store(zeros + i, tw.zeros((N,), zeros.dtype.element_ty), i < COUNT)
    tw.store(ones + i, tw.zeros_like(tw.load(ones + i, i < COUNT)) + 1, i < COUNT)


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d != "int1"])
def test_full_and_zeros(dtype: str, device: str) -> None:
    outs = [poisoned(dtype, 30) for _ in range(3)]
    fill[(1,)](*(argument(out, dtype) for out in outs), 5, **extents(30))
    for out, expected in zip(outs, (5, 0, 1)):
        assert (decode(out, dtype) == expected).all(), (expected, out)


@tw.jit
def ranges(out, START: tw.constexpr, END: tw.constexpr):
    i = tw.arange(START, END)
    tw.store(out + (i - START), i)


@pytest.mark.parametrize(("start", "end"), [(0, 1), (0, 128), (3, 10), (-5, 7), (100, 133)])
def test_arange(start: int, end: int, device: str) -> None:
    out = poisoned("int32", end - start)
    ranges[(1,)](out, START=start, END=end)
    np.testing.assert_array_equal(out, np.arange(start, end))


@tw.jit
def sort_rows(out, a, N: tw.constexpr, M: tw.constexpr, DESCENDING: tw.constexpr):
    i = tw.arange(0, N)[:, None] * M + tw.arange(0, M)[None, :]
    tw.store(out + i, tw.sort(tw.load(a + i), descending=DESCENDING))


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", DTYPES[1:])
def test_sort(dtype: str, descending: bool, device: str, rng: np.random.Generator) -> None:
    a = draw(rng, dtype, (4, 32))
    out = poisoned(dtype, a.shape)
    sort_rows[(1,)](argument(out, dtype), argument(a, dtype), N=4, M=32, DESCENDING=descending)
    expected = np.sort(decode(a, dtype), 1)
    expected = expected[:, ::-1] if descending else expected
    np.testing.assert_array_equal(decode(out, dtype), expected)


@tw.jit
def largest(out, a, N: tw.constexpr, M: tw.constexpr, K: tw.constexpr):
    rows = tw.arange(0, N)[:, None]
    x = tw.load(a + rows * M + tw.arange(0, M)[None, :])
    tw.store(out + rows * K + tw.arange(0, K)[None, :], tw.topk(x, K))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64", "uint8"])
@pytest.mark.parametrize("count", [1, 4, 16])
def test_topk(count: int, dtype: str, device: str, rng: np.random.Generator) -> None:
    a = draw(rng, dtype, (4, 16))
    out = poisoned(dtype, (4, count))
    largest[(1,)](argument(out, dtype), argument(a, dtype), N=4, M=16, K=count)
    expected = np.sort(decode(a, dtype), 1)[:, ::-1][:, :count]
    np.testing.assert_array_equal(decode(out, dtype), expected)


@tw.jit
def grid_places(out):
    x = tw.program_id(0)
    y = tw.program_id(1)
    z = tw.program_id(2)
    place = (z * tw.num_programs(1) + y) * tw.num_programs(0) + x
    tw.store(out + place, x + 10 * y + 100 * z + 1000 * tw.num_programs(2))


@pytest.mark.parametrize("grid", [(5,), (3, 4), (2, 3, 4)])
def test_grid(grid: tuple[int, ...], device: str) -> None:
    nx, ny, nz = (*grid, 1, 1)[:3]
    out = poisoned("int32", nx * ny * nz)
    grid_places[grid](out)
    z, y, x = np.meshgrid(np.arange(nz), np.arange(ny), np.arange(nx), indexing="ij")
    np.testing.assert_array_equal(out, (x + 10 * y + 100 * z + 1000 * nz).ravel())


def test_an_empty_grid_does_nothing(device: str) -> None:
    out = poisoned("int32", 4)
    before = out.tobytes()
    grid_places[(0, 3)](out)
    assert out.tobytes() == before


@tw.jit
def halves_apart(out, x, N: tw.constexpr):
    i, j = tw.arange(0, N), tw.arange(0, N // 2)
    first, second = tw.split(tw.reshape(tw.exp(tw.load(x + i)), (N // 2, 2)))
    total = tw.sum(first) + tw.max(first, 0)
    # Tiles that need memory of their own, between the uses of the halves.
    sums = tw.cumsum(tw.cumsum(tw.load(x + i), 0), 0)
    tw.store(out + i, tw.flip(sums) + total)
    tw.store(out + N + j, second)


@pytest.mark.parametrize("n", [32, 256, 8192])
def test_halves_of_a_split_are_read_at_different_times(
    device: str, n: int, rng: np.random.Generator
) -> None:
    x = rng.uniform(-1, 1, n).astype(np.float32)
    out = poisoned("float32", n + n // 2)
    halves_apart[(1,)](out, x, N=n)
    np.testing.assert_allclose(out[n:], np.exp(x[1::2]), rtol=1e-5)
