"""Numbers that variables hold, constexpr parameters of functions, operators and types by their names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
import tilewright.triton.language as tl
from tilewright.errors import TilewrightError


def refusal(kernel: tw.JITFunction, *arguments: Any) -> TilewrightError:
    with pytest.raises(TilewrightError) as caught:
        kernel[(1,)](*arguments)
    assert "-->" in caught.value.rendered
    return caught.value


# Numbers that variables hold count with their own type; literals take the type of the other side.


@tw.jit
def named_numbers(bytes_, halves, out, N: tw.constexpr):
    i = tw.arange(0, N)
    zero_point = 128
    scale = 3.0
    total = 0
    for k in tw.static_range(N):
        total += tw.load(bytes_ + k)
    x = tw.load(bytes_ + i)
    h = tw.load(halves + i)
    tw.static_assert((x - zero_point).dtype == tw.int32)
    tw.static_assert((x - 128).dtype == tw.uint8)
    tw.static_assert((h * scale).dtype == tw.float32)
    tw.static_assert((h * (scale * 2)).dtype == tw.float32)
    tw.static_assert((h * 3.0).dtype == tw.float16)
    tw.static_assert((h * zero_point).dtype == tw.float16)
    tw.static_assert((x.to(tw.int32) & 0x7FFFFFFF).dtype == tw.int32)
    tw.store(out + i, (x - zero_point) * 1.0 + h * scale)
    tw.store(out + N, total)


def test_numbers_of_variables_have_a_type_of_their_own(
    device: str, rng: np.random.Generator
) -> None:
    x = rng.integers(0, 256, 16).astype(np.uint8)
    h = (rng.standard_normal(16) * 3000).astype(np.float16)  # three times that is too much for f16
    out = np.zeros(17, np.float32)
    named_numbers[(1,)](x, h, out, N=16)
    np.testing.assert_array_equal(out[:16], x.astype(np.float32) - 128 + h.astype(np.float32) * 3)
    assert out[16] == x.sum(dtype=np.int64)


@tw.jit
def keep_high_bits(x, out, N: tw.constexpr):
    i = tw.arange(0, N)
    mask = 0xFFFFE000  # which only unsigned 32 bits hold
    bits = tw.load(x + i).to(tw.int32, bitcast=True) & mask
    tw.static_assert(bits.dtype == tw.uint32)
    tw.store(out + i, bits.to(tw.float32, bitcast=True))


def test_a_mask_of_a_variable_may_need_an_unsigned_type(
    device: str, rng: np.random.Generator
) -> None:
    x = rng.standard_normal(32).astype(np.float32)
    out = np.zeros_like(x)
    keep_high_bits[(1,)](x, out, N=32)
    np.testing.assert_array_equal(out.view(np.uint32), x.view(np.uint32) & np.uint32(0xFFFFE000))


@tw.jit
def constants_stay_literals(h, bytes_, out, N: tw.constexpr, SCALE: tw.constexpr):
    i = tw.arange(0, N)
    half: tw.constexpr = 0.5
    for k in tw.static_range(2):
        tw.static_assert((tw.load(bytes_ + i) + k).dtype == tw.uint8)
    v = tw.load(h + i)
    tw.static_assert((v * half).dtype == tw.float16)
    tw.static_assert((v * SCALE).dtype == tw.float16)
    tw.store(out + i, v * half * SCALE)


def test_constexpr_numbers_give_way(device: str) -> None:
    h = np.arange(8, dtype=np.float16)
    out = np.zeros(8, np.float32)
    constants_stay_literals[(1,)](h, np.zeros(8, np.uint8), out, N=8, SCALE=4.0)
    np.testing.assert_array_equal(out, h.astype(np.float32) * 2)


# A function may declare a constexpr and be given a run-time value.


@tw.jit
def weighted(x, offsets: tw.constexpr, IS_NEGATED: tw.constexpr):
    v = tw.load(x + offsets)
    if IS_NEGATED:
        v = -v
    return v


@tw.jit
def call_with_run_time_values(x, out, n, N: tw.constexpr):
    i = tw.arange(0, N)
    for k in range(n):
        tw.store(out + k * N + i, weighted(x, i, k > 0))


def test_a_constexpr_parameter_of_a_function_takes_run_time_values(device: str) -> None:
    x = np.arange(8, dtype=np.float32)
    out = np.zeros((2, 8), np.float32)
    call_with_run_time_values[(1,)](x, out, 2, N=8)
    np.testing.assert_array_equal(out, [x, -x])


@tw.jit
def constexpr_needed(x, SIZE: tw.constexpr):
    return tw.load(x + tw.arange(0, SIZE))


@tw.jit
def call_where_a_constant_is_needed(x, out, n):
    tw.store(out + tw.arange(0, 8), constexpr_needed(x, n))


def test_a_run_time_value_is_refused_where_the_function_needs_a_constant() -> None:
    error = refusal(call_where_a_constant_is_needed, np.zeros(8), np.zeros(8), 8)
    assert error.code == "TW0104" and "`constexpr_needed` is called here" in error.rendered


# Operators by the names of their methods, and types by their names.


@tw.jit
def operator_methods(packed, out, N: tw.constexpr):
    i = tw.arange(0, N)
    p = tw.load(packed + i)
    low = p.__lshift__(4).__rshift__(4)
    high = p.__rshift__(4)
    tw.store(out + i, low.to(tw.int32).__add__(high).__rsub__(100).__mul__(2))
    tw.store(out + N + i, high.__lt__(low).to(tw.int32).__neg__().__or__(8).__invert__())


def test_operators_are_methods(device: str, rng: np.random.Generator) -> None:
    packed = rng.integers(-128, 128, 32).astype(np.int8)
    out = np.zeros((2, 32), np.int32)
    operator_methods[(1,)](packed, out, N=32)
    low, high = (packed << 4).astype(np.int8) >> 4, packed >> 4
    np.testing.assert_array_equal(out[0], (100 - (low.astype(np.int32) + high)) * 2)
    np.testing.assert_array_equal(out[1], ~(-(high < low).astype(np.int32) | 8))


@tw.jit
def two_operands_of_a_method(x, out):
    tw.store(out, tw.load(x).__add__(1, 2))


def test_a_method_of_an_operator_has_one_operand() -> None:
    error = refusal(two_operands_of_a_method, np.zeros(1), np.zeros(1))
    assert error.code == "TW0109" and "`__add__` takes one argument" in error.message


@tw.jit
def types_by_name(x, out, N: tw.constexpr):
    i = tw.arange(0, N)
    v = tw.load(x + i)
    unsigned: tw.constexpr = tw.dtype(f"uint{v.dtype.primitive_bitwidth}")
    tw.static_assert(tl.dtype("fp16") == tl.float16)
    tw.store(out + i, v.to(unsigned, bitcast=True) >> 31)


def test_a_type_is_made_from_its_name(device: str) -> None:
    out = np.zeros(4, np.uint32)
    types_by_name[(1,)](np.array([1, -1, 0.0, -0.0], np.float32), out, N=4)
    np.testing.assert_array_equal(out, [0, 1, 0, 1])


@tw.jit
def type_of_no_name(out):
    tw.store(out, tw.zeros((4,), tw.dtype("float31")))


def test_a_name_of_no_type_is_refused() -> None:
    assert "there is no type of the name `float31`" in refusal(type_of_no_name, np.zeros(4)).message


@tw.jit
def annotated_run_time_value(out, tiles, N: tw.constexpr):
    extent: tw.constexpr = N * tiles
    tw.store(out + tw.arange(0, N), extent)


def test_a_constexpr_annotation_takes_a_run_time_value(device: str) -> None:
    out = np.zeros(4, np.int32)
    annotated_run_time_value[(1,)](out, 3, N=4)
    np.testing.assert_array_equal(out, 12)


# A combining function may make tiles to ask for their types.


@tw.jit
def common_type(x):
    return (x + tw.zeros((1,), tw.int1)).dtype


@tw.jit
def first_smaller(a, b):
    if common_type(a).is_floating():
        a = tw.where(a != a, b, a)
    return tw.minimum(a, b)


@tw.jit
def running_minimum(x, out, N: tw.constexpr):
    i = tw.arange(0, N)
    tw.store(out + i, tw.associative_scan(tw.load(x + i), 0, first_smaller))


def test_combining_functions_may_ask_for_types_of_tiles(
    device: str, rng: np.random.Generator
) -> None:
    x = rng.standard_normal(32).astype(np.float32)
    out = np.zeros_like(x)
    running_minimum[(1,)](x, out, N=32)
    np.testing.assert_array_equal(out, np.minimum.accumulate(x))


@tw.jit
def extrema_of_constants(out):
    nan: tw.constexpr = float("nan")
    every = tw.PropagateNan.ALL
    tw.store(out + 0, tw.minimum(1.0, nan))
    tw.store(out + 1, tw.minimum(nan, 1.0))
    tw.store(out + 2, tw.maximum(1.0, nan))
    tw.store(out + 3, tw.maximum(nan, 1))
    tw.store(out + 4, tw.maximum(nan, nan))
    tw.store(out + 5, tw.minimum(1.0, nan, propagate_nan=every))
    tw.store(out + 6, tw.maximum(nan, 1.0, propagate_nan=every))
    tw.store(out + 7, tw.minimum(2.0, 1))
    # These are Python's, whose answer depends on the order.
    tw.store(out + 8, min(1.0, nan))
    tw.store(out + 9, min(nan, 1.0))


def test_extrema_of_constants_leave_nan_out_as_at_run_time(device: str) -> None:
    out = np.zeros(10, np.float32)
    extrema_of_constants[(1,)](out)
    nan = np.nan
    np.testing.assert_array_equal(out, [1, 1, 1, 1, nan, nan, nan, 1, 1, nan])
