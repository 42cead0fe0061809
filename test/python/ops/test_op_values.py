"""The conversions that the operation tests rely on, against NumPy's and torch's own."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from op_values import (
    FLOATS, FORMATS, INTS, argument, assert_close, assert_equal, bits_of, decode, draw, draw_wide,
    encode, edges, round_integer, round_to,
)  # fmt: skip
from table_rows import records


def test_rounding_agrees_with_torch(rng: np.random.Generator) -> None:
    wide = draw_wide(rng, "float32", 2000).astype(np.float64)
    values = np.concatenate([wide, rng.normal(size=500)])
    for dtype, kind in (("bfloat16", torch.bfloat16), ("float16", torch.float16)):
        wanted = torch.from_numpy(values.astype(np.float32)).to(kind)
        bits = wanted.view(torch.int16).numpy().view(np.uint16)
        ours = encode(values.astype(np.float32), dtype).view(np.uint16)
        np.testing.assert_array_equal(ours, bits)
    np.testing.assert_array_equal(encode(values, "float32"), values.astype(np.float32))


@pytest.mark.parametrize("dtype", FLOATS)
def test_encoding_keeps_representable_numbers(dtype: str, rng: np.random.Generator) -> None:
    stored = np.concatenate([edges(dtype), draw_wide(rng, dtype, 200)])
    np.testing.assert_array_equal(encode(decode(stored, dtype), dtype), stored)


def test_integers_round_once() -> None:
    assert round_integer(2**24 + 1, "float32") == 2**24
    assert round_integer(-(2**24 + 3), "float32") == -(2**24 + 4)
    assert round_integer(2**62 + 2**38 + 1, "float32") == 2**62 + 2**39
    assert round_integer(65520, "float16") == np.inf
    assert round_integer(65519, "float16") == 65504


@pytest.mark.parametrize("dtype", INTS)
def test_integers_wrap(dtype: str) -> None:
    top = 1 << bits_of(dtype)
    assert list(decode(encode([top, top + 1, -1], dtype), dtype))[:2] == [0, 1]


def test_comparisons_find_errors() -> None:
    right = np.array([1.0, 2.0, np.inf, np.nan], np.float32)
    assert_close(right, right.astype(np.float64), "float32", 0)
    assert_equal(right, right.astype(np.float64), "float32")
    next_to_1 = np.nextafter(np.float32(1), np.float32(2))
    wrong = [(0, next_to_1), (2, 3e38), (3, 0), (1, -2), (2, -np.inf)]
    for index, value in wrong:
        actual = right.copy()
        actual[index] = value
        with pytest.raises(AssertionError, match="1 of 4 elements are wrong"):
            assert_close(actual, right.astype(np.float64), "float32", 0.5)
        with pytest.raises(AssertionError, match="1 of 4 elements are wrong"):
            assert_equal(actual, right.astype(np.float64), "float32")


def test_bfloat16_arguments_share_memory() -> None:
    stored = encode(np.array([1.5, -2.0]), "bfloat16")
    tensor = argument(stored, "bfloat16")
    tensor[0] = 3.0
    assert list(decode(stored, "bfloat16")) == [3.0, -2.0]


def test_tables_are_read() -> None:
    rows = {row["Name"]: row for row in records("Elementwise.td", "Elementwise")}
    assert rows["fma"]["NumOperands"] == 3 and rows["exp"]["FloatOp"] == "math.exp"
    names = {row["Name"] for row in records("ElementTypes.td", "ElementType")}
    float8 = {"float8e4nv", "float8e5", "float8e4b8", "float8e5b16", "float8e4b15"}
    assert names == {"int1", *INTS, *FORMATS, *float8}


def test_round_to_handles_ties() -> None:
    assert list(round_to(np.array([1 + 2.0**-8, 1 + 3 * 2.0**-8]), "bfloat16")) == [1, 1 + 2.0**-6]
