"""Loads and stores: masks, strides in every direction, and the reference device's checks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from op_values import (
    DTYPES, argument, assert_equal, decode, draw, encode, poisoned,
)  # fmt: skip

import tilewright as tw


@tw.jit
def masked_copy(out, a, n, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    tw.store(out + i, tw.load(a + i, mask=i < n), mask=i < n)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 63, 64, 65, 1000])
def test_masked_copy(n: int, dtype: str, device: str, rng: np.random.Generator) -> None:
    values = draw(rng, dtype, n)
    out = poisoned(dtype, n + 16)
    before = out.copy()
    masked_copy[(-(-n // 64),)](argument(out, dtype), argument(values, dtype), n, BLOCK=64)
    np.testing.assert_array_equal(out[:n], values)
    assert out[n:].tobytes() == before[n:].tobytes(), "elements that are masked off were written"


@tw.jit
def masked_values(out, a, n, N: tw.constexpr):
    i = tw.arange(0, N)
    mask = (i < n) & (i % 3 != 1)
    tw.store(out + i, tw.load(a + i, mask=mask))
    tw.store(out + N + i, tw.load(a + i, mask=mask, other=7))
    tw.store(out + 2 * N + i, tw.load(a + i, mask, tw.load(a + i, mask=i < n) + 1))


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d != "int1"])
def test_other_where_masked(dtype: str, device: str, rng: np.random.Generator) -> None:
    values = draw(rng, dtype, 40)
    count = 48
    out = poisoned(dtype, (3, count))
    masked_values[(1,)](argument(out, dtype), argument(values, dtype), 40, N=count)
    i = np.arange(count)
    mask = (i < 40) & (i % 3 != 1)
    filled = np.zeros(count, values.dtype)
    filled[:40] = values
    numbers = decode(filled, dtype)
    assert_equal(out[0], np.where(mask, numbers, 0), dtype, "no other")
    assert_equal(out[1], np.where(mask, numbers, 7), dtype, "a number")
    plus_one = decode(encode(np.where(i < 40, numbers, 0) + 1, dtype), dtype)
    assert_equal(out[2], np.where(mask, numbers, plus_one), dtype, "a tile")


@tw.jit
def moved_by_branches(out, a, n, N: tw.constexpr):
    first, tile = tw.load(a), tw.load(a + tw.arange(0, N))
    i = 0
    while i < n:
        if i % 2 == 1:
            tw.store(out + i, first)
        tw.store(out + n + i * N + tw.arange(0, N), tw.where(tw.arange(0, N) < i, first, tile))
        first, tile = tw.load(a + i), tw.load(a + i + tw.arange(0, N))
        i += 1


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("extent", [3, 16, 32])
def test_subnormal_numbers_that_branches_and_loops_move_stay(
    extent: int, dtype: str, device: str
) -> None:
    count = 6
    numbers = np.arange(1, count + extent + 1).astype(np.uint16)  # as bits: the smallest ones
    values = numbers.view(encode(np.zeros(1), dtype).dtype)
    out = np.zeros(count * (extent + 1), values.dtype)
    moved_by_branches[(1,)](argument(out, dtype), argument(values, dtype), count, N=extent)
    firsts = np.maximum(np.arange(count), 1)  # of each iteration, as bits
    tiles = numbers[(firsts - 1)[:, None] + np.arange(extent)]
    tiles = np.where(np.arange(extent) < np.arange(count)[:, None], firsts[:, None], tiles)
    bits = out.view(np.uint16)
    np.testing.assert_array_equal(bits[:count], np.where(np.arange(count) % 2, firsts, 0))
    np.testing.assert_array_equal(bits[count:].reshape(count, extent), tiles)


@tw.jit
def narrowed_lane(out, a, N: tw.constexpr, LANE: tw.constexpr):
    i = tw.arange(0, N)
    wide = tw.where(i < 3, tw.load(a + i), 127)
    tw.store(out + i, (wide + wide // 3).to(out.dtype.element_ty), mask=i == LANE)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32"])
@pytest.mark.parametrize(("extent", "lane"), [(4, 0), (4, 2), (16, 0), (16, 5), (32, 31)])
def test_one_narrowed_lane_is_all_that_is_written(
    extent: int, lane: int, dtype: str, device: str
) -> None:
    values = np.arange(1, extent + 1, dtype=np.int64 if dtype == "int32" else np.int32)
    out = np.full(extent + 16, 77, dtype)
    expected = out.copy()
    wide = values[lane] if lane < 3 else 127
    expected[lane] = (wide + wide // 3).astype(dtype) if lane < 3 else np.int64(169).astype(dtype)
    narrowed_lane[(1,)](out, values, N=extent, LANE=lane)
    np.testing.assert_array_equal(out, expected)


@tw.jit
def strided_copy(
    out, a, rows, columns, row_stride, column_stride, N: tw.constexpr, M: tw.constexpr
):
    r = tw.arange(0, N)[:, None]
    c = tw.arange(0, M)[None, :]
    mask = (r < rows) & (c < columns)
    x = tw.load(a + r * row_stride + c * column_stride, mask=mask, other=0)
    tw.store(out + r * M + c, x)


VIEWS: dict[str, Any] = {
    "rows": lambda x: x[:13, :17],
    "transposed": lambda x: x.T[:13, :17],
    "every third column": lambda x: x[:13, ::3],
    "every second row": lambda x: x[::2, :17],
    "reversed columns": lambda x: x[:13, ::-1],
    "reversed rows": lambda x: x[::-1, :17],
    "reversed both": lambda x: x[::-2, ::-3],
    "one row repeated": lambda x: np.broadcast_to(x[:1], (13, 40))[:, :17],
    "one column repeated": lambda x: np.broadcast_to(x[:, :1], (30, 17)),
}


@pytest.mark.parametrize("dtype", ["float32", "int8", "float64"])
@pytest.mark.parametrize("name", [*VIEWS])
def test_strides(name: str, dtype: str, device: str, rng: np.random.Generator) -> None:
    view = VIEWS[name](draw(rng, dtype, (30, 40)))[:16, :32]
    rows, columns = view.shape
    out = poisoned(dtype, (16, 32))
    strides = [stride // view.itemsize for stride in view.strides]
    strided_copy[(1,)](out, view, rows, columns, *strides, N=16, M=32)
    expected = np.zeros((16, 32), view.dtype)
    expected[:rows, :columns] = view
    np.testing.assert_array_equal(out, expected)


@tw.jit
def strided_store(out, a, row_stride, column_stride, N: tw.constexpr, M: tw.constexpr):
    r = tw.arange(0, N)[:, None]
    c = tw.arange(0, M)[None, :]
    tw.store(out + r * row_stride + c * column_stride, tw.load(a + r * M + c))


@pytest.mark.parametrize("strides", [(24, 1), (1, 16), (-24, 2), (3, -49)])
def test_strided_stores(strides: tuple[int, int], device: str, rng: np.random.Generator) -> None:
    rows, columns = 12, 8
    values = draw(rng, "float32", (rows, columns))
    memory = poisoned("float32", 2000)
    start = 1000
    strided_store[(1,)](memory[start:], values, *strides, N=rows, M=columns)
    expected = poisoned("float32", 2000)
    for r in range(rows):
        for c in range(columns):
            expected[start + r * strides[0] + c * strides[1]] = values[r, c]
    assert memory.tobytes() == expected.tobytes()


@tw.jit
def gather_scatter(out, a, index, n, N: tw.constexpr):
    i = tw.arange(0, N)
    mask = i < n
    where = tw.load(index + i, mask=mask, other=0)
    tw.store(out + where, tw.load(a + where, mask=mask), mask=mask)


@pytest.mark.parametrize("dtype", ["float32", "int16", "float64", "uint8", "bfloat16"])
@pytest.mark.parametrize("index_type", ["int32", "int64"])
def test_gather_and_scatter(
    dtype: str, index_type: str, device: str, rng: np.random.Generator
) -> None:
    values = draw(rng, dtype, 200)
    index = rng.permutation(200)[:77].astype(index_type)
    out = poisoned(dtype, 200)
    expected = out.copy()
    gather_scatter[(1,)](argument(out, dtype), argument(values, dtype), index, 77, N=128)
    expected[index] = values[index]
    assert out.tobytes() == expected.tobytes()


@tw.jit
def scalars(out, a, i):
    x = tw.load(a + i)
    y = tw.load(a + i + 1, mask=i > 100, other=5)
    z = tw.load(a + i + 1, mask=i > 100)
    tw.store(out, x)
    tw.store(out + 1, y)
    tw.store(out + 2, z)
    tw.store(out + 3, x, mask=i > 100)


def test_scalars(device: str) -> None:
    a, out = np.array([10, 20, 30], np.int32), np.full(4, -1, np.int32)
    scalars[(1,)](out, a, 2)
    assert out.tolist() == [30, 5, 0, -1]


@tw.jit
def hints(out, a, N: tw.constexpr):
    i = tw.max_contiguous(tw.multiple_of(tw.arange(0, N), 1), N)
    x = tw.load(a + i, cache_modifier=".cg", eviction_policy="evict_last")
    y = tw.load(a + i, volatile=True)
    tw.store(out + i, x + y, cache_modifier=".cs", eviction_policy="evict_first")


def test_hints_change_nothing(device: str) -> None:
    a, out = np.arange(64, dtype=np.float32), poisoned("float32", 64)
    hints[(1,)](out, a, N=64)
    np.testing.assert_array_equal(out, 2 * a)


@tw.jit
def carried_pointers(out, a, stride, rows, N: tw.constexpr):
    i = tw.arange(0, N)
    source = a + i
    total = tw.zeros((N,), tw.int32)
    for _ in range(rows):
        total += tw.load(source)
        source += stride
    tw.store(out + i, total)


def test_pointers_carried_by_a_loop(device: str, rng: np.random.Generator) -> None:
    a = rng.integers(-100, 100, (11, 32)).astype(np.int32)
    count = 20
    out = poisoned("int32", count)
    carried_pointers[(1,)](out, a, 32, 11, N=count)
    np.testing.assert_array_equal(out, a[:, :count].sum(0))


# What only the reference device promises: every access is checked.


@tw.jit
def unmasked_copy(out, a, N: tw.constexpr):
    i = tw.arange(0, N)
    tw.store(out + i, tw.load(a + i))  # the line that errors name


LINE = unmasked_copy.fn.__code__.co_firstlineno + 3


@pytest.fixture
def reference(compiler: None) -> Any:
    with tw.device("reference"):
        yield


def test_out_of_bounds_load_names_argument_element_and_line(reference: None) -> None:
    with pytest.raises(tw.DeviceError, match=r"load.*element 10 of argument 'a'") as caught:
        unmasked_copy[(1,)](poisoned("float32", 16), np.zeros(10, np.float32), N=16)
    assert f"test_op_memory.py:{LINE}" in str(caught.value)


def test_out_of_bounds_store(reference: None) -> None:
    with pytest.raises(tw.DeviceError, match=r"store.*element 10 of argument 'out'"):
        unmasked_copy[(1,)](poisoned("float32", 10), np.zeros(16, np.float32), N=16)


def test_views_may_reach_the_memory_around_them(reference: None) -> None:
    memory, out = np.arange(20, dtype=np.int32), poisoned("int32", 15)
    unmasked_copy[(1,)](out, memory[5:8], N=15)
    np.testing.assert_array_equal(out, memory[5:])
    with pytest.raises(tw.DeviceError, match="element 15 of argument 'a'"):
        unmasked_copy[(1,)](poisoned("int32", 16), memory[5:8], N=16)


def test_a_store_to_a_read_only_array_is_refused(device: str) -> None:
    out = np.zeros(4, np.float32)
    out.flags.writeable = False
    with pytest.raises(tw.TilewrightError, match="read-only"):
        unmasked_copy[(1,)](out, np.ones(4, np.float32), N=4)
    assert not out.any()
