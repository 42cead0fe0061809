"""Philox random numbers: the published test vectors, and an independent implementation."""

from __future__ import annotations

import numpy as np
import pytest
from op_values import extents, poisoned

import tilewright as tw

MULTIPLIERS = {32: (0xD2511F53, 0xCD9E8D57), 64: (0xD2E7470EE14C6C93, 0xCA5A826395121157)}
WEYL = {32: (0x9E3779B9, 0xBB67AE85), 64: (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)}


def philox(counter: list[int], key: list[int], bits: int, rounds: int = 10) -> list[int]:
    """Philox-4xW (Salmon, Moraes, Dror, Shaw: Parallel Random Numbers, SC 2011, section 3.3)."""
    top = (1 << bits) - 1
    for _ in range(rounds):
        product_0 = MULTIPLIERS[bits][0] * counter[0]
        product_1 = MULTIPLIERS[bits][1] * counter[2]
        counter = [
            (product_1 >> bits) ^ counter[1] ^ key[0], product_1 & top,
            (product_0 >> bits) ^ counter[3] ^ key[1], product_0 & top,
        ]  # fmt: skip
        key = [(k + w) & top for k, w in zip(key, WEYL[bits])]
    return counter


# From the file kat_vectors of the authors' Random123 library.
KNOWN_32 = [
    ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    ([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
    (
        [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344], [0xA4093822, 0x299F31D0],
        [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
    ),
]  # fmt: skip


@tw.jit
def draw_known(out, counter, key):
    k0 = tw.load(key)
    k1 = tw.load(key + 1)
    c0 = tw.load(counter)
    c1 = tw.load(counter + 1)
    c2 = tw.load(counter + 2)
    c3 = tw.load(counter + 3)
    r0, r1, r2, r3 = tw.philox_impl(c0, c1, c2, c3, k0, k1)
    tw.store(out, r0)
    tw.store(out + 1, r1)
    tw.store(out + 2, r2)
    tw.store(out + 3, r3)


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN_32)
def test_known_answers(
    counter: list[int], key: list[int], expected: list[int], device: str
) -> None:
    assert philox(counter, key, 32) == expected
    out = poisoned("uint32", 4)
    draw_known[(1,)](out, np.array(counter, np.uint32), np.array(key, np.uint32))
    assert out.tolist() == expected


def test_64_bit_words(device: str, rng: np.random.Generator) -> None:
    words = np.frombuffer(rng.bytes(48), np.uint64)
    out = poisoned("uint64", 4)
    draw_known[(1,)](out, words[:4].copy(), words[4:].copy())
    assert out.tolist() == philox(words[:4].tolist(), words[4:].tolist(), 64)


@tw.jit
def draw_integers(out, seed, start, COUNT: tw.constexpr, N: tw.constexpr):
    i = tw.arange(0, N)
    tw.store(out + i, tw.randint(seed, start + i), i < COUNT)


@pytest.mark.parametrize("seed", [0, 1, 42, 2**31 - 1, 2**40 + 3, -5])
def test_randint_depends_on_seed_and_offset_only(seed: int, device: str) -> None:
    out = poisoned("uint32", 50)
    draw_integers[(1,)](out, seed, 1000, **extents(50))
    key = [seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF]
    expected = [philox([1000 + i, 0, 0, 0], key, 32)[0] for i in range(50)]
    assert out.tolist() == expected


@tw.jit
def draw_four(out, seed, COUNT: tw.constexpr, N: tw.constexpr):
    i = tw.arange(0, N)
    a, b, c, d = tw.randint4x(seed, i)
    tw.store(out + i, a, i < COUNT)
    tw.store(out + COUNT + i, b, i < COUNT)
    tw.store(out + 2 * COUNT + i, c, i < COUNT)
    tw.store(out + 3 * COUNT + i, d, i < COUNT)


def test_randint4x_gives_all_words(device: str) -> None:
    out = poisoned("uint32", (4, 20))
    draw_four[(1,)](out, 7, **extents(20))
    expected = [philox([i, 0, 0, 0], [7, 0], 32) for i in range(20)]
    assert out.T.tolist() == expected


@tw.jit
def draw_uniform(out, seed, N: tw.constexpr):
    i = tw.arange(0, N)
    tw.store(out + i, tw.rand(seed, i))


@tw.jit
def draw_normal(out, seed, N: tw.constexpr):
    i = tw.arange(0, N)
    tw.store(out + i, tw.randn(seed, i))


def test_rand_is_uniform(device: str) -> None:
    out = poisoned("float32", 4096)
    draw_uniform[(1,)](out, 123, N=4096)
    words = np.array([philox([i, 0, 0, 0], [123, 0], 32)[0] for i in range(4096)], np.uint32)
    signed = words.view(np.int32).astype(np.int64)
    folded = np.where(signed < 0, -signed - 1, signed).astype(np.int32)
    expected = folded.astype(np.float32) * np.float32(4.6566127342e-10)
    np.testing.assert_array_equal(out, expected)
    assert 0 <= out.min() and out.max() < 1
    assert abs(out.mean() - 0.5) < 0.02  # 4 standard errors of 4096 draws


def test_randn_is_normal(device: str) -> None:
    out = poisoned("float32", 4096)
    draw_normal[(1,)](out, 99, N=4096)
    assert np.isfinite(out).all()
    assert abs(out.mean()) < 0.07 and abs(out.std() - 1) < 0.05
    assert abs((np.abs(out) < 1).mean() - 0.6827) < 0.03
