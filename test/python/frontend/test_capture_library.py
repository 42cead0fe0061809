"""The functions that are written in the language mean what their documentation says."""

from __future__ import annotations

import numpy as np
import pytest
from numpy_language import Tile, on_numpy, tile
from tilewright import language as tw
from tilewright.language import libdevice

WORDS = {np.uint32: (0xD2511F53, 0xCD9E8D57, 0x9E3779B9, 0xBB67AE85, 32),
         np.uint64: (0xD2E7470EE14C6C93, 0xCA5A826395121157, 0x9E3779B97F4A7C15,
                     0xBB67AE8584CAA73B, 64)}  # fmt: skip


@pytest.fixture
def rng() -> np.random.Generator:
    seed = np.random.SeedSequence().entropy
    print(f"seed {seed}")
    return np.random.default_rng(seed)


def call(
    function: object, *args: object, target: str = "reference", **kwargs: object
) -> np.ndarray:
    with np.errstate(all="ignore"):
        result = on_numpy(function, target)(*args, **kwargs)
    return tuple(np.asarray(r) for r in result) if isinstance(result, tuple) else np.asarray(result)


def philox_reference(counter: list[int], key: list[int], word: type) -> list[int]:
    """Philox as published (Salmon et al. 2011, figure 4), in Python's integers."""
    m0, m1, w0, w1, bits = WORDS[word]
    mask = (1 << bits) - 1
    c, k = list(counter), list(key)
    for _ in range(10):
        p0, p1 = m0 * c[0], m1 * c[2]
        c = [(p1 >> bits) ^ c[1] ^ k[0], p1 & mask, (p0 >> bits) ^ c[3] ^ k[1], p0 & mask]
        k = [(k[0] + w0) & mask, (k[1] + w1) & mask]
    return c


def test_philox_reference_gives_the_published_answers():
    ones = 0xFFFFFFFF
    assert philox_reference([0] * 4, [0] * 2, np.uint32) == [
        0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8,
    ]  # fmt: skip
    assert philox_reference([ones] * 4, [ones] * 2, np.uint32) == [
        0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD,
    ]  # fmt: skip


def test_philox_reference_agrees_with_numpy_for_64_bit_words():
    generator = np.random.Philox(counter=[6, 7, 8, 9], key=[11, 12])
    raw = [int(x) for x in generator.random_raw(4)]
    # NumPy increments the counter before the first draw.
    assert raw == philox_reference([7, 7, 8, 9], [11, 12], np.uint64)


def test_philox_impl(rng: np.random.Generator):
    for word in (np.uint32, np.uint64):
        high = np.iinfo(word).max
        c = [rng.integers(0, high, 50, dtype=word, endpoint=True) for _ in range(4)]
        k = [rng.integers(0, high, dtype=word, endpoint=True) for _ in range(2)]
        got = call(tw.philox_impl, *map(tile, c), *map(tile, k), 10)
        for i in range(50):
            expected = philox_reference([int(x[i]) for x in c], [int(x) for x in k], word)
            assert [int(g[i]) for g in got] == expected


@pytest.mark.parametrize("seed", [0, 1, 0x1234_5678_9ABC_DEF0])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_randint4x_counts_by_the_offset_and_keys_by_the_seed(seed: int, dtype: type):
    offsets = np.array([0, 1, 2**31 - 1, -5 if dtype == np.int32 else 2**40 + 3], dtype=dtype)
    got = call(tw.randint4x, tile(np.uint64(seed)), tile(offsets), 10)
    for i, offset in enumerate(offsets):
        whole = int(offset)
        low, high = whole & 0xFFFFFFFF, (whole >> 32) & 0xFFFFFFFF if dtype == np.int64 else 0
        key = [seed & 0xFFFFFFFF, seed >> 32]
        assert [int(g[i]) for g in got] == philox_reference([low, high, 0, 0], key, np.uint32)


def test_philox_takes_numbers_beside_wide_counters():
    offsets = np.array([3, 2**63 + 1], np.uint64)
    got = call(tw.philox, tile(np.uint64(9)), tile(offsets), 0, 5, 0, 10)
    for i, offset in enumerate(offsets):
        expected = philox_reference([int(offset), 0, 5, 0], [9, 0], np.uint64)
        assert [int(g[i]) for g in got] == expected


def test_uniform_floats_are_the_scaled_integers():
    bits = np.array([0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF], dtype=np.uint32)
    signed = bits.view(np.int32).astype(np.int64)
    positive = np.where(signed < 0, -signed - 1, signed).astype(np.float32)
    expected = positive * np.float32(4.6566127342e-10)
    got = call(tw.uint_to_uniform_float, tile(bits))
    assert np.array_equal(got.astype(np.float32), expected)
    assert got.min() >= 0 and got.max() < 1


def test_rand_is_uniform_and_randn_is_normal():
    offsets = tile(np.arange(20000, dtype=np.int32))
    uniform = call(tw.rand, tile(np.int32(7)), offsets, 10)
    assert abs(uniform.mean() - 0.5) < 0.01 and abs(uniform.var() - 1 / 12) < 0.002
    for normal in call(tw.randn4x, tile(np.int32(7)), offsets, 10):
        assert abs(normal.mean()) < 0.04 and abs(normal.std() - 1) < 0.04


@pytest.mark.parametrize("axis", [0, 1, -1, None])
@pytest.mark.parametrize("keep_dims", [False, True])
def test_sum_max_min_and_their_indices(rng: np.random.Generator, axis, keep_dims):
    x = rng.integers(-9, 9, (6, 10)).astype(np.float32)
    for function, reference in ((tw.sum, np.sum), (tw.max, np.max), (tw.min, np.min)):
        got = call(function, tile(x), axis=axis, keep_dims=keep_dims)
        assert np.array_equal(got, reference(x, axis=axis, keepdims=keep_dims))
    if axis is not None:
        for function, reference in ((tw.argmax, np.argmax), (tw.argmin, np.argmin)):
            got = call(function, tile(x), axis, keep_dims=keep_dims)
            assert np.array_equal(got, reference(x, axis=axis, keepdims=keep_dims))
    value, index = call(tw.max, tile(x), axis=axis, return_indices=True)
    assert np.array_equal(value, x.max(axis)) and np.array_equal(index, x.argmax(axis))


def test_max_ignores_nan_unless_asked():
    x = np.array([1.0, np.nan, 3.0, np.nan], dtype=np.float32)
    for order in (x, x[::-1]):
        assert call(tw.max, tile(order)) == 3 and call(tw.min, tile(order)) == 1
        assert np.isnan(call(tw.max, tile(order), propagate_nan=tw.PropagateNan.ALL))
        value, index = call(tw.max, tile(order), axis=0, return_indices=True)
        assert value == 3 and order[index] == 3
    _, index = call(tw.min, tile(np.full(4, np.nan, np.float32)), axis=0, return_indices=True)
    assert index == 0


@pytest.mark.parametrize(
    ("dtype", "result"),
    [("int8", "int32"), ("int16", "int32"), ("uint8", "uint32"), ("bool", "uint32"),
     ("int64", "int64"), ("float16", "float32"), ("float64", "float64")],
)  # fmt: skip
def test_sum_accumulates_small_types_in_32_bits(dtype: str, result: str):
    x = np.full(3000, 1, dtype=dtype)
    got = on_numpy(tw.sum)(tile(x), axis=0)
    assert isinstance(got, Tile) and got.dtype == tw.dtype(result) and got == 3000
    assert on_numpy(tw.sum)(tile(x), axis=0, dtype=tw.float64).dtype == tw.float64


def test_or_and_xor_sums(rng: np.random.Generator):
    x = rng.integers(0, 1 << 30, (4, 8), dtype=np.int32)
    assert np.array_equal(call(tw.xor_sum, tile(x), axis=1), np.bitwise_xor.reduce(x, axis=1))
    assert np.array_equal(call(tw.reduce_or, tile(x), axis=0), np.bitwise_or.reduce(x, axis=0))
    with pytest.raises(AssertionError, match="xor_sum takes integers"):
        call(tw.xor_sum, tile(x.astype(np.float32)))


@pytest.mark.parametrize("reverse", [False, True])
def test_scans(rng: np.random.Generator, reverse: bool):
    x = rng.integers(1, 4, (3, 7), dtype=np.int32)
    flipped = x[:, ::-1] if reverse else x
    for function, reference in ((tw.cumsum, np.cumsum), (tw.cumprod, np.cumprod)):
        expected = reference(flipped, axis=1)
        got = call(function, tile(x), 1, reverse)
        assert np.array_equal(got, expected[:, ::-1] if reverse else expected)


@pytest.mark.parametrize("shape", [(1,), (2,), (64,), (3, 16), (2, 3, 8)])
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("target", ["cpu", "nvidia:sm_80"])
def test_sort_and_topk(
    rng: np.random.Generator, shape: tuple[int, ...], descending: bool, target: str
):
    x = rng.integers(-20, 20, shape).astype(np.float32)
    expected = np.sort(x, axis=-1)
    if descending:
        expected = expected[..., ::-1]
    assert np.array_equal(call(tw.sort, tile(x), None, descending, target=target), expected)
    for k in {1, max(1, shape[-1] // 8), max(1, shape[-1] // 3), shape[-1]}:
        got = call(tw.topk, tile(x), k, None, descending, target=target)
        assert np.array_equal(got, expected[..., :k])


def test_sort_keeps_nan_and_refuses_odd_extents():
    x = np.array([3, np.nan, 1, 2], np.float32)
    assert sorted(call(tw.sort, tile(x)).astype(str)) == sorted(x.astype(str))
    with pytest.raises(AssertionError, match="power of two"):
        call(tw.sort, tile(np.zeros(6, np.float32)))


def test_bitonic_merge_sorts_what_rises_and_falls():
    x = np.array([1, 4, 6, 9, 8, 5, 3, 2], np.int32)
    assert np.array_equal(call(tw.bitonic_merge, tile(x)), np.sort(x))


def test_shapes(rng: np.random.Generator):
    x = rng.standard_normal((4, 1, 6)).astype(np.float32)
    assert np.array_equal(call(tw.ravel, tile(x)), x.ravel())
    assert call(tw.squeeze, tile(x), 1).shape == (4, 6)
    assert call(tw.squeeze, tile(x), -2).shape == (4, 6)
    assert call(tw.unsqueeze, tile(x), 0).shape == (1, 4, 1, 6)
    assert np.array_equal(call(tw.flip, tile(x), 2), x[:, :, ::-1])
    assert np.array_equal(call(tw.flip, tile(x), -1), x[:, :, ::-1])
    a, b = rng.standard_normal((2, 5, 3))
    expected = np.stack([a, b], -1).reshape(5, 6)
    assert np.array_equal(call(tw.interleave, tile(a), tile(b)), expected)
    assert call(tw.zeros, (2, 3), tw.int32).shape == (2, 3)
    assert call(tw.item, tile(np.array([[5.0]]))) == 5.0
    with pytest.raises(AssertionError, match="extent 1"):
        call(tw.squeeze, tile(x), 0)


def test_softmax_sigmoid_histogram(rng: np.random.Generator):
    x = rng.standard_normal((5, 8)).astype(np.float32)
    for dim in (None, 0, 1):
        e = np.exp(x - x.max(dim or 0, keepdims=True))
        expected = e / e.sum(dim or 0, keepdims=True)
        assert np.allclose(call(tw.softmax, tile(x), dim), expected, atol=1e-6)
    assert np.allclose(call(tw.sigmoid, tile(x)), 1 / (1 + np.exp(-x)), atol=1e-6)
    low = np.array([-11.5, -15.0, 3.0], np.float16)  # exp(-low) is beyond float16
    assert np.allclose(call(tw.sigmoid, tile(low)), 1 / (1 + np.exp(-low.astype(float))), 1e-6, 0)
    values, mask = rng.integers(-3, 12, (4, 8)), rng.random((4, 8)) < 0.5
    inside = values[mask & (values >= 0) & (values < 10)]
    got = call(tw.histogram, tile(values), 10, tile(mask))
    assert np.array_equal(got, np.bincount(inside, minlength=10))


def test_swizzle2d_visits_every_cell_once_by_columns_within_groups():
    cells = [on_numpy(tw.swizzle2d)(tile(i), tile(j), 5, 4, 2) for i in range(5) for j in range(4)]
    order = [(int(i), int(j)) for i, j in cells]
    assert sorted(order) == [(i, j) for i in range(5) for j in range(4)]
    assert order[:4] == [(0, 0), (1, 0), (0, 1), (1, 1)]
    assert order[-4:] == [(4, j) for j in range(4)]


def test_libdevice_functions():
    x = np.array([0.0, -2.5, np.inf, -np.inf, np.nan], np.float32)
    assert np.array_equal(call(libdevice.isnan, tile(x)), np.isnan(x))
    assert np.array_equal(call(libdevice.isinf, tile(x)), np.isinf(x))
    assert np.array_equal(call(libdevice.finitef, tile(x)), np.isfinite(x))
    assert np.array_equal(call(libdevice.saturatef, tile(x)), [0, 0, 1, 0, 0])
    ints = np.array([0, 1, 8, -(2**31), 6], np.int32)
    assert np.array_equal(call(libdevice.ffs, tile(ints)), [0, 1, 4, 32, 2])
    a, b = np.array([3.0, 1.0], np.float32), np.array([1.0, 3.0], np.float32)
    assert np.array_equal(call(libdevice.fdim, tile(a), tile(b)), [2, 0])
    assert call(libdevice.llrint, tile(np.float32(2.5))) == 2
