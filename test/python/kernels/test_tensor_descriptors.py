"""Tensor descriptors in kernels: blocks, rows and atomics at run-time positions, descriptors as values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from array_blocks import block_of, elements, put_block, spans
from test_block_pointers import DTYPES, RANKS, strides_of

import tilewright as tw
import tilewright.triton.language as tl
from tilewright.errors import TilewrightError


@tw.jit
def copy_block(x, y, shape, strides, offsets, out_strides, B: tw.constexpr, PADDING: tw.constexpr):
    source = tw.make_tensor_descriptor(x, shape, strides, B, padding_option=PADDING)
    value = source.load(offsets)
    zeros = (0,) * len(B)
    tw.make_tensor_descriptor(y, B, out_strides, B).store(zeros, value)
    tw.make_tensor_descriptor(y + value.numel, shape, strides, B).store(offsets, value)


@pytest.mark.parametrize("rank", RANKS)
def test_blocks_inside_and_outside_of_the_array(
    rank: int, device: str, rng: np.random.Generator
) -> None:
    shape, block, places = RANKS[rank]
    dtype = DTYPES[rank]
    padding = float("nan") if rank in (2, 3) else 0
    x = elements(rng, shape, dtype)
    for place in places:
        size = int(np.prod(block))
        y = elements(rng, size + x.size, dtype)
        expected = block_of(x, spans(place, block), padding)
        stored = y[size:].reshape(shape).copy()
        put_block(stored, spans(place, block), expected)
        copy_block[(1,)](x, y, shape, strides_of(x), place, strides_of(expected), B=block,
                         PADDING="nan" if padding else "zero")  # fmt: skip
        np.testing.assert_array_equal(y[:size].reshape(block), expected)
        np.testing.assert_array_equal(y[size:].reshape(shape), stored)


@tw.jit
def move_rows(x, y, rows, m, n, column, R: tw.constexpr, C: tw.constexpr):
    numbers = tw.load(rows + tw.arange(0, R))
    source = tw.make_tensor_descriptor(x, [m, n], [n, 1], [1, C])
    target = tw.make_tensor_descriptor(y, [m, n], [n, 1], [1, C])
    target.scatter(source.gather(numbers, column) + 1, numbers, column)


@pytest.mark.parametrize("index", ["int32", "int64", "uint8"])
def test_gather_and_scatter_of_rows(index: str, device: str, rng: np.random.Generator) -> None:
    x = elements(rng, (23, 19), "float32")
    for column in (0, 8, -4, 30):
        # Each row once, so that scatter has one meaning; some lie outside.
        rows = rng.permutation(30)[:16] - (0 if index.startswith("u") else 4)
        rows = rows.astype(index)
        y = np.full_like(x, -1)
        indices = [rows.tolist(), range(column, column + 16)]
        expected = y.copy()
        put_block(expected, indices, block_of(x, indices) + 1)
        move_rows[(1,)](x, y, rows, 23, 19, column, R=16, C=16)
        np.testing.assert_array_equal(y, expected)


@tw.jit
def combine(x, values, n, offset, KIND: tw.constexpr, B: tw.constexpr):
    desc = tw.make_tensor_descriptor(x, [n], [1], [B])
    value = tw.load(values + tw.program_id(0) * B + tw.arange(0, B))
    at = [offset - 5 * tw.program_id(0)]
    if KIND == "add":
        desc.atomic_add(at, value)
    elif KIND == "min":
        desc.atomic_min(at, value)
    elif KIND == "max":
        desc.atomic_max(at, value)
    elif KIND == "and":
        desc.atomic_and(at, value)
    elif KIND == "or":
        desc.atomic_or(at, value)
    else:
        desc.atomic_xor(at, value)


COMBINED: dict[str, Any] = {
    "add": np.add, "min": np.minimum, "max": np.maximum,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [("add", "float32"), ("add", "float16"), ("max", "float32"), ("add", "uint32"),
     ("min", "int32"), ("max", "uint32"), ("and", "int32"), ("or", "uint32"), ("xor", "int64")],
)  # fmt: skip
def test_atomics_drop_what_lies_outside(
    kind: str, dtype: str, device: str, rng: np.random.Generator
) -> None:
    x, values = elements(rng, 40, dtype), elements(rng, (4, 16), dtype)
    expected = x.copy()
    for program in range(4):
        for k in range(16):
            at = 30 - 5 * program + k
            if 0 <= at < 37:
                expected[at] = COMBINED[kind](expected[at], values[program, k])
    combine[(4,)](x, values, 37, 30, KIND=kind, B=16)
    np.testing.assert_array_equal(x, expected)


@tw.jit
def says(desc, m, n):
    tw.static_assert(isinstance(desc, tl.tensor_descriptor))
    tw.static_assert(isinstance(desc, tl.core.tensor_descriptor))
    tw.static_assert(not isinstance(desc, tl.tensor) and desc is not None)
    tw.static_assert(isinstance(desc.type, tl.tensor_descriptor_type))
    tw.static_assert(desc.dtype == tw.float16 and desc.type.block_type.element_ty == tw.float16)
    tw.static_assert(desc.block_shape == (4, 8) and desc.type.block_type.shape == (4, 8))
    tw.static_assert(len(desc.shape) == 2 and hasattr(desc, "gather") and not hasattr(desc, "to"))
    tw.static_assert(desc.strides[1] == 1)
    tw.static_assert(desc.shape[0].dtype == tw.int32)
    return desc.shape[0] * 100 + desc.shape[1] * 10 + desc.strides[0] - m - n


@tw.jit
def describe(x, out, m, n):
    tw.static_assert(not isinstance(x, tl.tensor_descriptor))
    desc = tl.make_tensor_descriptor(x, shape=[m, n], strides=[n, 1], block_shape=[4, 8])
    tw.store(out, says(desc, m, n))


def test_what_a_descriptor_says_of_itself(device: str) -> None:
    out = np.zeros(1, np.int64)
    describe[(1,)](np.zeros((6, 8), np.float16), out, 6, 8)
    assert out[0] == 600 + 80 + 8 - 14


@tw.jit
def described(x, n, B: tw.constexpr):
    return tw.make_tensor_descriptor(x, [n], [1], [B]), n


@tw.jit
def later(desc, i, B: tw.constexpr):
    if isinstance(desc, tl.tensor_descriptor):
        return desc.load([i * B])
    return tw.load(desc + i * B + tw.arange(0, B))


@tw.jit
def wander(x, y, out, n, flip, B: tw.constexpr):
    first, _ = described(x, n, B)
    pair = (first, described(y, n - 1, B)[0])
    if flip:
        pair = (pair[1], pair[0])
    desc = pair[0]
    total = later(y, 0, B)
    i = 0
    while i < 5:
        total = total * 3 + later(desc, i, B)
        if i == 2:
            desc = pair[1]
        i += 1
    for j in range(3):
        desc = tw.make_tensor_descriptor(x + j, [n - j], [1], [B])
        total += desc.load([B])
    tw.make_tensor_descriptor(out, [B], [1], [B]).store([0], total)


@pytest.mark.parametrize("flip", [False, True])
def test_descriptors_through_branches_loops_tuples_and_calls(
    flip: bool, device: str, rng: np.random.Generator
) -> None:
    x, y = elements(rng, 50, "int32"), elements(rng, 50, "int32")
    out = np.full(16, -1, np.int32)
    wander[(1,)](x, y, out, 50, flip, B=16)
    pair = (y[:49], x) if flip else (x, y[:49])
    total = y[:16]
    for i in range(5):
        total = total * 3 + block_of(pair[i > 2], spans((i * 16,), (16,)))
    for j in range(3):
        total = total + block_of(x[j:], spans((16,), (16,)))
    np.testing.assert_array_equal(out, total)


@tw.jit
def older_spellings(x, y, n, B: tw.constexpr):
    source = tl._experimental_make_tensor_descriptor(x, [n], [1], [B])
    target = tl.make_tensor_descriptor(y, [n], [1], [B])
    value = tl._experimental_descriptor_load(source, [B], [B], tl.float32)
    tl._experimental_descriptor_store(target, value, [0])
    value = tl.load_tensor_descriptor(source, [0])
    tl.store_tensor_descriptor(target, [B], value)


def test_older_spellings(device: str, rng: np.random.Generator) -> None:
    x, y = elements(rng, 20, "float32"), np.full(20, -1, np.float32)
    older_spellings[(1,)](x, y, 20, B=16)
    np.testing.assert_array_equal(y, [*x[16:], *np.zeros(12), *x[:4]])


WRONG = {
    "tw.make_tensor_descriptor(x, [n, n], [n, 2], [4, 4])": "TW0232",
    "tw.make_tensor_descriptor(x, [n], [1, 1], [4])": "TW0231",
    "tw.make_tensor_descriptor(x, [2] * 6, [1] * 6, [2] * 6)": "TW0231",
    "tw.make_tensor_descriptor(x, [n], [1], [4], padding_option='one')": "TW0120",
    "tw.make_tensor_descriptor(y, [n], [1], [4], padding_option='nan')": "TW0234",
    "tw.make_tensor_descriptor(x, [n], [1], [n])": "TW0104",
    "d.load([0, 0])": "TW0231",
    "d.load([tw.arange(0, 8)])": "TW0230",
    "d.load([0.5])": "TW0230",
    "d.load()": "TW0109",
    "d.load([0], mask=None)": "TW0109",
    "d.load([0], cache_modifier='.zz')": "TW0120",
    "d.store([0], tw.zeros((4,), tw.float32))": "TW0205",
    "d.atomic_and([0], tw.zeros((8,), tw.float32))": "TW0215",
    "d.atomic_xchg([0], tw.zeros((8,), tw.float32))": "TW0102",
    "d.gather(tw.arange(0, 8), 0)": "TW0231",
    "r.gather(3, 0)": "TW0230",
    "r.gather(tw.zeros((8,), tw.float32), 0)": "TW0230",
    "r.scatter(tw.zeros((8, 4), tw.float32), tw.arange(0, 8), 0)": "TW0205",
    "tw.load(d)": "TW0235",
    "tw.load(d, mask=None)": "TW0235",
    "tw.store(d, 1.0)": "TW0235",
    "tw.advance(d, [8])": "TW0235",
    "tw.load_tensor_descriptor(x, [0])": "TW0235",
    "tl._experimental_descriptor_load(d, [0], [16], tl.float32)": "TW0231",
    "d + 1": "TW0235",
    "d == d": "TW0235",
    "d and 3": "TW0235",
    "d.shap": "TW0102",
}


@pytest.mark.parametrize("call", WRONG)
def test_wrong_uses_have_a_code_and_a_hint(call: str, compiler: None) -> None:
    text = f"""@tw.jit
def kernel(x, y, n):
    d = tw.make_tensor_descriptor(x, [n], [1], [8])
    r = tw.make_tensor_descriptor(x, [n, n], [n, 1], [1, 8])
    {call}
"""
    scope = {"tw": tw, "tl": tl}
    exec(text, scope)
    with pytest.raises(TilewrightError) as caught:
        scope["kernel"][(1,)](np.zeros(8, np.float32), np.zeros(8, np.int32), 5)
    assert caught.value.code == WRONG[call], caught.value.rendered
    assert ":5:" in caught.value.rendered and "hint: " in caught.value.rendered


@pytest.mark.parametrize("access", ["D.gather(tw.arange(0, 2), a)", "tw.load_tensor_descriptor(D, [a, 0])"])
def test_a_combining_function_reads_no_array(access: str, compiler: None) -> None:
    text = f"""@tw.jit
def kernel(x, n):
    D = tw.make_tensor_descriptor(x, [n, n], [n, 1], [1, 8])
    def combine(a, b):
        {access}
        return a + b
    tw.store(x, tw.reduce(tw.arange(0, 8), 0, combine))
"""
    scope = {"tw": tw}
    exec(text, scope)
    with pytest.raises(TilewrightError) as caught:
        scope["kernel"][(1,)](np.zeros(64, np.float32), 8)
    assert caught.value.code.startswith("TW01") and "combin" in caught.value.rendered
