"""Block pointers: blocks of strided arrays of every rank, and pointers as values that move."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from array_blocks import block_of, elements, put_block, spans

import tilewright as tw
from tilewright.errors import DeviceError, TilewrightError

# One per rank: the array, the block, and where the block begins (before, behind, beyond the array).
RANKS = {
    1: ((37,), (16,), [(0,), (32,), (-5,), (-40,), (90,)]),
    2: ((13, 21), (8, 16), [(0, 0), (8, 16), (-3, 7), (5, -9), (20, 3)]),
    3: ((3, 5, 9), (2, 4, 8), [(0, 0, 0), (2, 4, 8), (-1, 2, -3)]),
    4: ((2, 3, 5, 6), (2, 2, 4, 4), [(0, 0, 0, 0), (1, -1, 3, 4)]),
    5: ((2, 3, 2, 3, 5), (2, 2, 2, 2, 4), [(0, 0, 0, 0, 0), (1, 2, -1, 1, 3)]),
}
DTYPES = {1: "int8", 2: "float16", 3: "float32", 4: "int64", 5: "bool"}


@tw.jit
def copy_block(x, y, shape, strides, offsets, out_strides, B: tw.constexpr, CHECK: tw.constexpr,
               ORDER: tw.constexpr, PADDING: tw.constexpr):  # fmt: skip
    p = tw.make_block_ptr(x, shape, strides, offsets, B, ORDER)
    value = tw.load(p, boundary_check=CHECK, padding_option=PADDING)
    zeros = (0,) * len(B)
    tw.store(tw.make_block_ptr(y, B, out_strides, zeros, B, ORDER), value)
    z = tw.make_block_ptr(y + value.numel, shape, strides, offsets, B, ORDER)
    tw.store(z, value, boundary_check=CHECK)


def strides_of(array: np.ndarray[Any, Any]) -> tuple[int, ...]:
    return tuple(stride // array.itemsize for stride in array.strides)


@pytest.mark.parametrize("rank", RANKS)
def test_blocks_inside_and_outside_of_the_array(
    rank: int, device: str, rng: np.random.Generator
) -> None:
    shape, block, places = RANKS[rank]
    dtype = DTYPES[rank]
    x = elements(rng, shape, dtype)
    check, order = tuple(range(rank)), tuple(reversed(range(rank)))
    for place in places:
        size = int(np.prod(block))
        y = elements(rng, size + x.size, dtype)
        expected = block_of(x, spans(place, block))
        stored = y[size:].reshape(shape).copy()
        put_block(stored, spans(place, block), expected)
        copy_block[(1,)](x, y, shape, strides_of(x), place, strides_of(expected), B=block,
                         CHECK=check, ORDER=order, PADDING="zero")  # fmt: skip
        np.testing.assert_array_equal(y[:size].reshape(block), expected)
        np.testing.assert_array_equal(y[size:].reshape(shape), stored)


@tw.jit(do_not_specialize=["i", "j"])
def window(x, y, m, n, sm, sn, i, j, B: tw.constexpr, C: tw.constexpr, CHECK: tw.constexpr,
           ORDER: tw.constexpr, PADDING: tw.constexpr):  # fmt: skip
    p = tw.make_block_ptr(x, (m, n), (sm, sn), (i, j), (B, C), ORDER)
    value = tw.load(p, boundary_check=CHECK, padding_option=PADDING)
    q = tw.make_block_ptr(base=y, shape=(B, C), strides=(C, 1), offsets=(0, 0),
                          block_shape=(B, C), order=(1, 0))  # fmt: skip
    tw.store(q, value)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_padding_with_nan(dtype: str, device: str, rng: np.random.Generator) -> None:
    x = elements(rng, (13, 21), dtype)
    for place in ((0, 0), (9, 17), (-4, 2), (2**31 - 8, 0), (-(2**31), 5)):
        y = np.zeros((8, 16), dtype)
        window[(1,)](x, y, 13, 21, 21, 1, *place, 8, 16, (0, 1), (1, 0), "nan")
        np.testing.assert_array_equal(y, block_of(x, spans(place, (8, 16)), np.nan))


def test_transposed_arrays_by_order_0_1(device: str, rng: np.random.Generator) -> None:
    x = elements(rng, (21, 13), "float32")
    for place in ((0, 0), (8, 16), (-3, 9)):
        y = np.zeros((8, 16), np.float32)
        window[(1,)](x, y, 13, 21, 1, 13, *place, 8, 16, (0, 1), (0, 1), "")
        np.testing.assert_array_equal(y, block_of(x.T, spans(place, (8, 16))))


def test_reversed_and_repeated_dimensions(device: str, rng: np.random.Generator) -> None:
    x = elements(rng, (13, 21), "int32")
    last = x.reshape(-1)[-1:]  # negative strides count back from it
    y = np.zeros((8, 16), np.int32)
    for array, base, strides in (
        (x[::-1, ::-1], last, (-21, -1)),
        (np.broadcast_to(x[0], (13, 21)), x, (0, 1)),
        (np.broadcast_to(x[:, :1], (13, 21)), x, (21, 0)),
    ):
        window[(1,)](base, y, 13, 21, *strides, 7, -2, 8, 16, (0, 1), (1, 0), "")
        np.testing.assert_array_equal(y, block_of(array, spans((7, -2), (8, 16))))


def test_dimensions_without_a_check_are_accessed(device: str, rng: np.random.Generator) -> None:
    x = elements(rng, (16, 48), "float32")
    y = np.zeros((8, 16), np.float32)
    # The array is said to have 20 columns, but has more.
    window[(1,)](x, y, 10, 20, 48, 1, 4, 16, 8, 16, (0,), (1, 0), "")
    np.testing.assert_array_equal(y[:6], x[4:10, 16:32])
    assert (y[6:] == 0).all()


def test_an_unchecked_block_outside_of_memory_is_reported(device: str) -> None:
    if device.startswith("opencl:"):
        pytest.skip("OpenCL devices do not check accesses")
    x, y = np.zeros((8, 16), np.float32), np.zeros((8, 16), np.float32)
    with pytest.raises(DeviceError) as caught:
        window[(1,)](x, y, 8, 16, 16, 1, 4, 0, 8, 16, (1,), (1, 0), "", debug=True)
    assert caught.value.code in ("TW0601", "TW0612")
    assert "tw.load(p" in caught.value.rendered or "test_block_pointers.py" in caught.value.rendered


@tw.jit
def far_window(x, y, first, n, B: tw.constexpr):
    p = tw.make_block_ptr(x - first, (first.to(tw.int64) + n,), (1,), (first - B,), (B,), (0,))
    total = tw.zeros((B,), tw.float32)
    for _ in range(3):
        p = tw.advance(p, (B,))
        total += tw.load(p, boundary_check=(0,))
    tw.store(y + tw.arange(0, B), total)


@tw.jit
def negative_shape(x, y, n, B: tw.constexpr):
    p = tw.make_block_ptr(x, (n + 2147483647,), (1,), (0,), (B,), (0,))
    tw.store(y + tw.arange(0, B), tw.load(p, boundary_check=(0,)))
    tw.store(p, tw.full((B,), 5.0, tw.float32), boundary_check=(0,))


def test_an_array_whose_extent_wraps_around_has_no_elements(device: str) -> None:
    x, y = np.ones(16, np.float32), np.ones(16, np.float32)
    negative_shape[(1,)](x, y, 5, B=16)
    assert (y == 0).all() and (x == 1).all()


def test_offsets_beyond_32_bits(device: str, rng: np.random.Generator) -> None:
    x = rng.standard_normal(40).astype(np.float32)
    for first in (2**31 - 8, 2**33 + 1):
        y = np.zeros(16, np.float32)
        far_window[(1,)](x, y, first, 40, B=16)
        np.testing.assert_allclose(y, np.pad(x, (0, 8)).reshape(3, 16).sum(0), rtol=1e-6)


@tw.jit
def sum_rows(x, y, m, n, B: tw.constexpr, C: tw.constexpr):
    p = tw.make_block_ptr(x, (m, n), (n, 1), (tw.program_id(0) * B, 0), (B, C), (1, 0))
    total = tw.zeros((B,), tw.float32)
    for _ in range(0, n, C):
        total += tw.sum(tw.load(p, boundary_check=(0, 1)), axis=1)
        p = tw.advance(p, (0, C))
    out = tw.make_block_ptr(y, (m,), (1,), (tw.program_id(0) * B,), (B,), (0,))
    tw.store(out, total.to(out.type.element_ty.element_ty), boundary_check=(0,))


def test_a_pointer_that_a_loop_advances(device: str, rng: np.random.Generator) -> None:
    x = rng.standard_normal((21, 70)).astype(np.float32)
    y = np.full(21, np.nan, np.float32)
    sum_rows[(3,)](x, y, 21, 70, B=8, C=32)
    np.testing.assert_allclose(y, x.astype(np.float64).sum(1), rtol=1e-4, atol=1e-4)


@tw.jit
def step(p, q, by):
    if by > 16:
        return tw.advance(p, (by,)), q
    return p.advance((by,)), tw.advance(q, (by,))


@tw.jit
def wander(x, y, out, n, flip, B: tw.constexpr):
    p = tw.make_block_ptr(x, (n,), (1,), (0,), (B,), (0,))
    q = tw.make_block_ptr(y, (n,), (2,), (B,), (B,), (0,))
    pair = (p, q)
    if flip:
        pair = (q, p)
    first, second = pair
    total = tw.zeros((B,), tw.int32)
    k = 0
    while k < n:
        if k == 3 * B:
            break
        r = first if k % 2 == 0 else second
        total = total * 3 + tw.load(r, boundary_check=(0,))
        first, second = step(first, second, B + (k // B) % 2)
        k += B
    tw.store(out + tw.arange(0, B), total)
    q = tw.make_block_ptr(out, (2 * B,), (1,), (B,), (B,), (0,))
    tw.store(q, tw.load(second, boundary_check=[0]))


def wandered(x: Any, y: Any, n: int, flip: bool, b: int) -> Any:
    def load(state: tuple[Any, int, int]) -> Any:
        memory, stride, offset = state
        array = memory[: n * stride : stride]
        return block_of(array, spans((offset,), (b,)))

    first, second = (x, 1, 0), (y, 2, b)
    if flip:
        first, second = second, first
    total = np.zeros(b, np.int32)
    k = 0
    while k < n and k != 3 * b:
        total = total * 3 + load(first if k % 2 == 0 else second)
        by = b + (k // b) % 2
        first = (*first[:2], first[2] + by)
        if by <= 16:
            second = (*second[:2], second[2] + by)
        k += b
    return np.concatenate([total, load(second)])


@pytest.mark.parametrize("flip", [False, True])
def test_pointers_through_branches_loops_tuples_and_calls(
    flip: bool, device: str, rng: np.random.Generator
) -> None:
    for n in (10, 33, 70):
        x, y = elements(rng, n, "int32"), elements(rng, 2 * n, "int32")
        out = np.full(32, -1, np.int32)
        wander[(1,)](x, y, out, n, flip, B=16)
        np.testing.assert_array_equal(out, wandered(x, y, n, flip, 16))


@tw.jit
def choose_base(x, y, out, c, n, B: tw.constexpr):
    if c > 0:
        p = tw.make_block_ptr(x, (n,), (1,), (0,), (B,), (0,))
    else:
        p = tw.make_block_ptr(y, (n - 1,), (2,), (c,), (B,), (0,))
    tw.store(out + tw.arange(0, B), tw.load(p, boundary_check=(0,)))
    tw.static_assert(isinstance(p, tw.tensor) and p is not None)
    tw.static_assert(p.dtype.is_ptr() and p.dtype.element_ty == p.type.element_ty)
    tw.static_assert(p.type.element_ty.element_ty == tw.float32)


def test_parts_that_differ_between_branches(device: str, rng: np.random.Generator) -> None:
    x, y = elements(rng, 20, "float32"), elements(rng, 40, "float32")
    for c in (1, 0, -3):
        out = np.full(16, np.nan, np.float32)
        choose_base[(1,)](x, y, out, c, 20, B=16)
        array, start = (x, 0) if c > 0 else (y[:38:2], c)
        np.testing.assert_array_equal(out, block_of(array, spans((start,), (16,))))


@tw.jit
def fill_bounded(x, n, B: tw.constexpr):
    p = tw.make_block_ptr(x, (n,), (1,), (tw.program_id(0) * B,), (B,), (0,))
    tw.store(p, 7, boundary_check=(0,), cache_modifier=".cg", eviction_policy="evict_first")


def test_a_number_fills_a_block(device: str) -> None:
    x = np.full(50, -1, np.int32)
    fill_bounded[(3,)](x, 40, B=16)
    assert (x[:40] == 7).all() and (x[40:] == -1).all()


WRONG = {
    "tw.load(p, mask=tw.arange(0, 8) < 3)": "TW0233",
    "tw.load(p, other=0.0)": "TW0233",
    "tw.store(p, 1.0, mask=tw.arange(0, 8) < 3)": "TW0233",
    "tw.load(p, boundary_check=(1,))": "TW0234",
    "tw.load(p, boundary_check=(0, 0))": "TW0234",
    "tw.load(p, boundary_check=(-1,))": "TW0234",
    "tw.load(x + tw.arange(0, 8), padding_option='zero')": "TW0234",
    "tw.load(x + tw.arange(0, 8), boundary_check=(0,))": "TW0234",
    "tw.store(x + tw.arange(0, 8), 1.0, boundary_check=(0,))": "TW0234",
    "tw.load(q, boundary_check=(0,), padding_option='nan')": "TW0234",
    "tw.load(p, boundary_check=(0,), padding_option='one')": "TW0120",
    "tw.load(p, boundary_check=n)": "TW0104",
    "tw.make_block_ptr(x, (n, n), (1,), (0,), (8,), (0,))": "TW0231",
    "tw.make_block_ptr(x, (n,), (1,), (0, 0), (8,), (0,))": "TW0231",
    "tw.make_block_ptr(x, (n,), (1,), (0,), (8,), (1,))": "TW0231",
    "tw.make_block_ptr(x, (n,), (1,), (0,), (8,), (0, 0))": "TW0231",
    "tw.make_block_ptr(x, (), (), (), (), ())": "TW0231",
    "tw.make_block_ptr(x, (n,), (1,), (0,), (0,), (0,))": "TW0208",
    "tw.make_block_ptr(x, (n,), (1,), (0,), (n,), (0,))": "TW0104",
    "tw.make_block_ptr(x, (n,), (1,), (tw.arange(0, 8),), (8,), (0,))": "TW0230",
    "tw.make_block_ptr(x, (n,), (1.5,), (0,), (8,), (0,))": "TW0230",
    "tw.make_block_ptr(x, (y,), (1,), (0,), (8,), (0,))": "TW0230",
    "tw.make_block_ptr(x + tw.arange(0, 8), (n,), (1,), (0,), (8,), (0,))": "TW0230",
    "tw.make_block_ptr(n, (n,), (1,), (0,), (8,), (0,))": "TW0230",
    "tw.make_block_ptr(p, (n,), (1,), (0,), (8,), (0,))": "TW0230",
    "tw.advance(x, (8,))": "TW0235",
    "tw.advance(p, (8, 8))": "TW0231",
    "tw.advance(p, (x,))": "TW0230",
    "tw.load(p + 8)": "TW0235",
    "p == p": "TW0235",
    "-p": "TW0235",
    "tw.sum(p)": "TW0235",
    "3 if p else 4": "TW0235",
    "tw.store(p, tw.zeros((16,), tw.float32), boundary_check=(0,))": "TW0205",
    "tw.store(p, x, boundary_check=(0,))": "TW0206",
    "p.load((0,))": "TW0102",
    "p[0]": "TW0117",
    "len(p)": "TW0114",
}


@pytest.mark.parametrize("call", WRONG)
def test_wrong_uses_have_a_code_and_a_hint(call: str, compiler: None) -> None:
    text = f"""@tw.jit
def kernel(x, y, n):
    p = tw.make_block_ptr(x, (n,), (1,), (0,), (8,), (0,))
    q = tw.make_block_ptr(y, (n,), (1,), (0,), (8,), (0,))
    {call}
"""
    scope = {"tw": tw}
    exec(text, scope)
    with pytest.raises(TilewrightError) as caught:
        scope["kernel"][(1,)](np.zeros(8, np.float32), np.zeros(8, np.int32), 5)
    assert caught.value.code == WRONG[call], caught.value.rendered
    assert ":5:" in caught.value.rendered and "hint: " in caught.value.rendered


def test_nothing_is_stored_to_constant_memory(compiler: None) -> None:
    @tw.jit
    def kernel(x: tw.const, n, IS_ATOMIC: tw.constexpr):
        p = tw.make_block_ptr(x, (n,), (1,), (0,), (8,), (0,))
        value = tw.load(tw.advance(p, (4,)), boundary_check=(0,))
        if IS_ATOMIC:
            tw.make_tensor_descriptor(x, [n], [1], [8]).atomic_add([0], value)
        else:
            tw.store(p, value, boundary_check=(0,))

    for is_atomic in (False, True):
        with pytest.raises(TilewrightError) as caught:
            kernel[(1,)](np.zeros(8, np.float32), 5, is_atomic)
        assert caught.value.code == "TW0225"


def test_block_pointers_of_two_kinds_do_not_join(compiler: None) -> None:
    @tw.jit
    def kernel(x, n):
        p = tw.make_block_ptr(x, (n,), (1,), (0,), (8,), (0,))
        if n > 3:
            p = tw.make_block_ptr(x, (n,), (1,), (0,), (16,), (0,))
        tw.load(p)

    with pytest.raises(TilewrightError) as caught:
        kernel[(1,)](np.zeros(8, np.float32), 5)
    assert caught.value.code == "TW0106"
    assert "block pointer of float32[16] and block pointer of float32[8]" in caught.value.rendered
