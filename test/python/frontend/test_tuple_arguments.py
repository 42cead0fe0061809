"""Tuples as kernel arguments: their arrays and numbers are run-time arguments of their own."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.errors import LaunchError, TilewrightError

Shape = namedtuple("Shape", ["rows", "columns"])
View = namedtuple("View", ["data", "shape"])


@tw.jit
def add_all(xs, out, n, N: tw.constexpr):
    i = tw.arange(0, N)
    total = tw.zeros((N,), tw.float32)
    for k in tw.static_range(len(xs)):
        total += tw.load(xs[k] + i, mask=i < n, other=0.0)
    tw.store(out + i, total, mask=i < n)


@tw.jit
def mixed(view, extra, out, N: tw.constexpr):
    i = tw.arange(0, N)
    tw.static_assert(extra[2] == "text" and extra[3] is None and extra[4] == tw.float16)
    value = tw.load(view.data + i, mask=i < view.shape.columns, other=0)
    tw.store(out + i, value * extra[0] + extra[1][0] + view.shape.rows + extra[1][1])


def test_arrays_in_a_tuple(device: str, rng: np.random.Generator) -> None:
    for count in (1, 3):
        xs = tuple(rng.standard_normal((count, 64)).astype(np.float32))
        out = np.full(64, np.nan, np.float32)
        add_all[(1,)](xs, out, 50, N=64)
        np.testing.assert_allclose(out[:50], np.sum(xs, axis=0)[:50], rtol=1e-6, atol=1e-6)
        assert np.isnan(out[50:]).all()


def test_named_and_nested_tuples_with_constants(device: str, rng: np.random.Generator) -> None:
    x, out = rng.integers(-9, 9, 64), np.full(64, -1)
    view = View(x, Shape(7, 40))
    mixed[(1,)](view, (3, [2.0, True], "text", None, tw.float16), out, N=64)
    expected = np.where(np.arange(64) < 40, x, 0) * 3 + 2 + 7 + 1
    np.testing.assert_array_equal(out, expected)


@tw.jit
def store_parts(values, out):
    for k in tw.static_range(len(values)):
        tw.store(out + k, values[k])


def test_numbers_in_a_tuple_do_not_compile_again(compiler: None) -> None:
    out = np.zeros(3, np.int64)
    kernels: list[Any] = []
    for values in ((3, 5, 1 << 40), (7, 9, 1 << 41), (16, 5, 1 << 40), (1, 5, 1 << 40)):
        kernels.append(store_parts[(1,)](values, out))
        np.testing.assert_array_equal(out, values)
    assert kernels[0] is kernels[1]
    assert len({id(kernel) for kernel in kernels}) == 3  # 16 is divisible, 1 a constant
    assert "values[0]: i32:16" in kernels[2].request.describe()


def test_a_tuple_for_a_constexpr_stays_a_constant(compiler: None) -> None:
    @tw.jit
    def kernel(shape: tw.constexpr, out):
        i = tw.arange(0, shape[0])
        tw.store(out + i, i * shape[1])

    out = np.zeros(16, np.int32)
    kernel[(1,)]((16, 3), out)
    np.testing.assert_array_equal(out, np.arange(16) * 3)


def test_overlap_and_read_only_arrays_in_tuples_are_seen(compiler: None) -> None:
    @tw.jit
    def shift(pair, n, N: tw.constexpr):
        i = tw.arange(0, N)
        tw.store(pair[1] + i, tw.load(pair[0] + i, mask=i < n), mask=i < n)

    x = np.arange(300, dtype=np.float32)
    shift[(1,)]((x, x[1:]), 256, N=256)
    np.testing.assert_array_equal(x[1:257], np.arange(256))
    frozen = np.zeros(300, np.float32)
    frozen.flags.writeable = False
    with pytest.raises(LaunchError) as caught:
        shift[(1,)]((x, frozen), 256, N=256)
    assert caught.value.code == "TW0403" and "pair[1]" in str(caught.value)


def test_default_tuples_compile_and_signatures_of_tuples(compiler: None) -> None:
    @tw.jit
    def kernel(out, pair=(2, 3)):
        tw.store(out, pair[0] * 10 + pair[1])

    out = np.zeros(1, np.int32)
    kernel[(1,)](out)
    assert out[0] == 23
    kernel[(1,)](out, pair=(4, 5))
    assert out[0] == 45
    compiled = kernel.compile({"out": "*i32", "pair": ("i32", "i32:16")})
    assert [name for name, *_ in compiled.parameters] == ["out", "pair[0]", "pair[1]"]


def test_bad_parts_of_tuples_are_refused(compiler: None) -> None:
    with pytest.raises(TilewrightError) as caught:
        store_parts[(1,)]((3, object()), np.zeros(2))
    assert caught.value.code == "TW0405"


def test_do_not_specialize_holds_for_parts(compiler: None) -> None:
    @tw.jit(do_not_specialize=["values"])
    def kernel(values, out):
        tw.store(out, values[0] + values[1])

    out = np.zeros(1, np.int32)
    first, second = kernel[(1,)]((1, 16), out), kernel[(1,)]((3, 5), out)
    assert first is second and out[0] == 8
