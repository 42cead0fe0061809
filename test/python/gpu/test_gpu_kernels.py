"""Kernels that move data between lanes and warps are right on the simulator at any number of warps.

A launch raises for every race, uninitialized read or access out of bounds that the simulator finds.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import tile_kernels as kernels

import tilewright as tw

WARPS = (1, 2, 4, 8)


@pytest.fixture(params=["sim:sm_80"], autouse=True)
def gpu(request: pytest.FixtureRequest, compiler: None) -> Iterator[str]:
    with tw.device(request.param):
        yield request.param


@pytest.fixture(params=WARPS)
def num_warps(request: pytest.FixtureRequest) -> int:
    return request.param


def aligned(array: np.ndarray) -> np.ndarray:
    """An array that owns its memory: the simulator counts sectors from the memory's first byte."""
    return array.copy()


def poisoned(*shape: int, dtype: type = np.float32) -> np.ndarray:
    """An output that nobody can mistake for a result."""
    out = np.empty(shape, dtype)
    out.view(np.uint8).fill(0xFF)
    return out


def statistics() -> dict:
    return tw.simulation.last_report().statistics


def test_transpose(num_warps: int, rng: np.random.Generator) -> None:
    x = rng.standard_normal((96, 80)).astype(np.float32)
    y = poisoned(80, 96)
    kernels.transpose[(3, 3)](x, y, 96, 80, BLOCK=32, num_warps=num_warps)
    np.testing.assert_array_equal(y, x.T)


def test_reductions_over_both_axes(num_warps: int, rng: np.random.Generator) -> None:
    x = rng.integers(-8, 8, (64, 128)).astype(np.float32)
    by_row, by_column = poisoned(64), poisoned(128)
    kernels.reduce_both[(1,)](x, by_row, by_column, ROWS=64, COLUMNS=128, num_warps=num_warps)
    np.testing.assert_array_equal(by_row, x.sum(1))
    np.testing.assert_array_equal(by_column, x.max(0))


def test_cumsum_and_cumprod(num_warps: int, rng: np.random.Generator) -> None:
    x = rng.choice([-1.0, 1.0, 2.0], (16, 64), p=[0.3, 0.6, 0.1]).astype(np.float32)
    sums, products = poisoned(16, 64), poisoned(16, 64)
    kernels.prefix[(1,)](x, sums, products, ROWS=16, COLUMNS=64, num_warps=num_warps)
    np.testing.assert_array_equal(sums, np.cumsum(x, 1))
    np.testing.assert_array_equal(products, np.cumprod(x, 0))


def test_argmax_and_argmin(num_warps: int, rng: np.random.Generator) -> None:
    x = rng.integers(0, 50, (5, 1000)).astype(np.float32)  # many ties: the first one counts
    largest, smallest = poisoned(5, dtype=np.int32), poisoned(5, dtype=np.int32)
    kernels.arg_extremes[(5,)](x, largest, smallest, 1000, BLOCK=1024, num_warps=num_warps)
    np.testing.assert_array_equal(largest, x.argmax(1))
    np.testing.assert_array_equal(smallest, x.argmin(1))


def test_histogram_by_atomics(num_warps: int, rng: np.random.Generator) -> None:
    x = rng.integers(0, 10, 3000).astype(np.int32)
    counts = np.zeros(10, np.int32)
    kernels.histogram[(3,)](x, counts, 3000, BLOCK=1024, num_warps=num_warps)
    np.testing.assert_array_equal(counts, np.bincount(x, minlength=10))


def test_gather_of_rows_and_scatter(num_warps: int, rng: np.random.Generator) -> None:
    table = rng.standard_normal((20, 100)).astype(np.float32)
    index = rng.integers(0, 20, 7).astype(np.int64)
    out = poisoned(7, 100)
    kernels.gather_rows[(7,)](table, index, out, 100, BLOCK=128, num_warps=num_warps)
    np.testing.assert_array_equal(out, table[index])
    x = rng.standard_normal(500).astype(np.float32)
    to = rng.permutation(500).astype(np.int32)
    scattered = poisoned(500)
    kernels.scatter[(2,)](x, to, scattered, 500, BLOCK=256, num_warps=num_warps)
    expected = np.empty_like(x)
    expected[to] = x
    np.testing.assert_array_equal(scattered, expected)


def test_gather_inside_a_tile(num_warps: int, rng: np.random.Generator) -> None:
    x = rng.standard_normal((16, 64)).astype(np.float32)
    index = rng.integers(0, 64, (16, 64)).astype(np.int32)
    out = poisoned(16, 64)
    kernels.gather_in_tile[(1,)](x, index, out, ROWS=16, COLUMNS=64, num_warps=num_warps)
    np.testing.assert_array_equal(out, np.take_along_axis(x, index, 1))


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_cross_entropy(num_warps: int, dtype: type, rng: np.random.Generator) -> None:
    logits = rng.standard_normal((4, 900)).astype(dtype)
    labels = rng.integers(0, 900, 4).astype(np.int64)
    losses = poisoned(4)
    kernels.cross_entropy[(4,)](logits, labels, losses, 900, BLOCK=1024, num_warps=num_warps)
    exact = logits.astype(np.float64)
    expected = np.log(np.exp(exact).sum(1)) - exact[np.arange(4), labels]
    np.testing.assert_allclose(losses, expected, rtol=3e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_rms_norm(num_warps: int, dtype: type, rng: np.random.Generator) -> None:
    x = aligned(rng.standard_normal((3, 512)).astype(dtype))
    weight = aligned(rng.standard_normal(512).astype(dtype))
    out = aligned(poisoned(3, 512, dtype=dtype))
    kernels.rms_norm[(3,)](x, weight, out, 512, 1e-5, BLOCK=512, num_warps=num_warps)
    exact = x.astype(np.float64)
    expected = exact / np.sqrt((exact**2).mean(1, keepdims=True) + 1e-5) * weight
    np.testing.assert_allclose(out, expected, rtol=2e-6 if dtype == np.float32 else 2e-3, atol=1e-6)
    assert statistics()["global_load_efficiency"] == 1.0
    assert statistics()["global_store_efficiency"] == 1.0


def test_rotary_embedding(num_warps: int, rng: np.random.Generator) -> None:
    x = rng.standard_normal((3, 2, 128)).astype(np.float32)
    angles = rng.standard_normal((3, 64)).astype(np.float32)
    cos, sin = np.cos(angles), np.sin(angles)
    out = poisoned(3, 2, 128)
    kernels.rotary[(3, 2)](x, cos, sin, out, 2, HALF=64, num_warps=num_warps)
    left, right = x[..., :64], x[..., 64:]
    c, s = cos[:, None], sin[:, None]
    expected = np.concatenate([left * c - right * s, right * c + left * s], -1)
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-6)


def test_softmax_over_rows_longer_than_a_tile(num_warps: int, rng: np.random.Generator) -> None:
    x = (4 * rng.standard_normal((3, 1900))).astype(np.float32)
    out = poisoned(3, 1900)
    kernels.long_softmax[(3,)](x, out, 1900, BLOCK=512, num_warps=num_warps)
    exact = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    np.testing.assert_allclose(out, exact / exact.sum(1, keepdims=True), rtol=1e-5)


def test_dropout_draws_the_same_numbers_as_the_cpu(num_warps: int, rng: np.random.Generator) -> None:
    x = rng.standard_normal(700).astype(np.float32)
    out, expected = poisoned(700), poisoned(700)
    kernels.dropout[(2,)](x, out, 700, 0.4, 123, BLOCK=512, num_warps=num_warps)
    with tw.device("reference"):
        kernels.dropout[(2,)](x, expected, 700, 0.4, 123, BLOCK=512)
    np.testing.assert_allclose(out, expected, rtol=1e-6)
    assert 0.25 < (out == 0).mean() < 0.55


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_matmul_with_ragged_edges(num_warps: int, dtype: type, rng: np.random.Generator) -> None:
    a = rng.integers(-4, 5, (70, 50)).astype(dtype)
    b = rng.integers(-4, 5, (50, 90)).astype(dtype)
    c = poisoned(70, 90)
    kernels.matmul[(2, 2)](a, b, c, 70, 90, 50, BM=64, BN=64, BK=16, num_warps=num_warps)
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32))


@tw.jit
def through_float8(x, out, SIZE: tw.constexpr):
    i = tw.arange(0, SIZE)
    tw.store(out + i, tw.load(x + i).to(tw.float8e4b8).to(tw.float32))


@pytest.mark.parametrize("size", [128, 512])
@pytest.mark.parametrize("device", ["sim:sm_100a", "sim:sm_120"])
def test_sums_of_float32_pairs_are_those_of_single_ones(
    device: str, size: int, rng: np.random.Generator
) -> None:
    x = (rng.standard_normal(size) * 2.0 ** rng.integers(-14, 9, size)).astype(np.float32)
    out, expected = poisoned(size), poisoned(size)
    with tw.device(device):
        compiled = through_float8[1](x, out, SIZE=size, num_warps=4)
    assert "add.rn.f32x2" in compiled.asm["ptx"]
    with tw.device("reference"):
        through_float8[1](x, expected, SIZE=size, num_warps=4)
    np.testing.assert_array_equal(out, expected)


@tw.jit
def one_of_a_pair(out, counts, n):
    i = tw.arange(0, 2)
    less = i[:, None] * n + (1 - i[None, :]) < 65535
    value = tw.where(less, tw.full((2, 2), 1.0, tw.float8e4b8), float("inf"))
    tw.atomic_max(counts + tw.full((2, 2), 1, tw.int32), value.to(tw.uint32))
    tw.store(out + i[:, None] + i[None, :] * 2, value.to(tw.float16))


@pytest.mark.parametrize("device", ["sim:sm_100a", "sim:sm_120"])
def test_halves_of_64_bits_beside_ones_without_a_value_have_one(device: str) -> None:
    out, counts = np.zeros(4, np.float16), np.zeros(2, np.uint32)
    with tw.device(device):
        one_of_a_pair[1](out, counts, 2, num_warps=4)
    assert out.tolist() == [1.0] * 4
    assert counts.tolist() == [0, 1]
