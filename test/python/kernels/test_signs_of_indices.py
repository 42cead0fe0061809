"""Remainders of indices: right for negative numbers, whose remainders are negative, and wide for those
that are known not to be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from index_kernels import (
    hinted_matmul,
    persistent_matmul,
    tutorial_matmul,
    while_matmul,
)

import tilewright as tw
from tilewright.launch.arguments import read_argument
from tilewright.compile.facts import integer_facts, parse_facts


def remainder(x: np.ndarray, n: int) -> np.ndarray:
    """As in C: of the sign of x."""
    return np.where(x < 0, -(-x % abs(n)), x % abs(n))


@tw.jit
def take_rows(out, x, start, n, B: tw.constexpr):
    i = tw.arange(0, B)
    at = (start + i) % n
    tw.store(out + i, tw.load(x + at))


@tw.jit(do_not_specialize=["start"])
def take_rows_of_any_start(out, x, start, n, B: tw.constexpr):
    i = tw.arange(0, B)
    tw.store(out + i, tw.load(x + (start + i) % n))


@tw.jit
def take_rows_of_long(out, x, start: tw.int64, n, B: tw.constexpr):
    i = tw.arange(0, B)
    tw.store(out + i, tw.load(x + (start + i) % n))


@tw.jit
def take_rows_before(out, x, start, n, B: tw.constexpr):
    i = tw.arange(0, B)
    tw.store(out + i, tw.load(x + ((tw.program_id(0) - 1) * B + (start + B) + i) % n))


@tw.jit
def take_rows_and_select(out, x, start, n, B: tw.constexpr):
    i = tw.arange(0, B)
    at = (start + i) % n
    at = tw.where(at < 0, at + n, at)
    tw.store(out + i, tw.load(x + at - n))


KERNELS = [take_rows, take_rows_of_any_start, take_rows_of_long, take_rows_before]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("n", [16, 32, 48, 17, -32])
@pytest.mark.parametrize("start", [0, 64, -16, -64, -128, -1024])
def test_remainders_of_either_sign(kernel: Any, n: int, start: int, device: str) -> None:
    # Each element is its own index: the arrays' middle is index 0.
    x = np.arange(-64, 64, dtype=np.int32)
    out = np.full(64, -999, np.int32)
    kernel[(1,)](out, x[64:], start, n, B=64)
    np.testing.assert_array_equal(out, remainder(start + np.arange(64), n))


@pytest.mark.parametrize("start", [64, -48, -64])
def test_negative_remainders_that_are_mended(start: int, device: str) -> None:
    x = np.arange(-64, 64, dtype=np.int32)
    out = np.full(64, -999, np.int32)
    take_rows_and_select[(1,)](out, x[64:], start, 32, B=64)
    np.testing.assert_array_equal(out, (start + np.arange(64)) % 32 - 32)


@tw.jit
def take_loaded_start(out, x, starts, B: tw.constexpr):
    i = tw.arange(0, B)
    start = tw.load(starts) * 16
    tw.store(out + i, tw.load(x + (start + i) % 32))


@tw.jit
def take_by_hash(out, x, seed, B: tw.constexpr):
    i = tw.arange(0, B)
    at = ((seed * 1103515240) + i) % 32
    tw.store(out + i, tw.load(x + at))


@tw.jit
def take_narrow(out, x, start: tw.int16, B: tw.constexpr):
    i = tw.arange(0, B)
    at = (start * start).to(tw.int32) + i
    tw.store(out + i, tw.load(x + at % 32))


@tw.jit
def take_difference(out, x, first, second, B: tw.constexpr):
    i = tw.arange(0, B)
    count = tw.minimum(first - second, 64)
    tw.store(out + i, tw.load(x + (64 // count * 16 + i) % 32))


def test_starts_whose_sign_is_not_known(device: str) -> None:
    x = np.arange(-64, 64, dtype=np.int32)
    middle, i = x[64:], np.arange(64)
    out = np.full(64, -999, np.int32)
    take_loaded_start[(1,)](out, middle, np.array([-3], np.int32), B=64)
    np.testing.assert_array_equal(out, remainder(-48 + i, 32))
    for seed in (2, 3, 6):
        out = np.full(64, -999, np.int32)
        take_by_hash[(1,)](out, middle, seed, B=64)
        wrapped = (seed * 1103515240 + 2**31) % 2**32 - 2**31
        np.testing.assert_array_equal(out, remainder(wrapped + i, 32))
    out = np.full(64, -999, np.int32)
    take_narrow[(1,)](out, middle, 208, B=64)
    np.testing.assert_array_equal(out, remainder(208 * 208 - 2**16 + i, 32))
    out = np.full(64, -999, np.int32)
    take_difference[(1,)](out, middle, 16, 48, B=64)
    np.testing.assert_array_equal(out, remainder(-32 + i, 32))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "i32:16:nonneg"), (48, "i32:16:nonneg"), (3, "i32:nonneg"), (1, "i32:1"),
        (-1, "i32"), (-16, "i32:16"), (2**31, "i64:16:nonneg"), (-(2**40), "i64:16"),
        (2**63, "u64:16"),
    ],
)  # fmt: skip
def test_the_sign_of_an_integer_is_a_fact(value: int, text: str) -> None:
    assert str(read_argument(value)[0]) == text
    assert parse_facts(text) is read_argument(value)[0]


def test_facts_that_drop_the_sign() -> None:
    facts = read_argument(48)[0]
    assert str(facts.general) == "i32" and str(facts.unaligned) == "i32:nonneg"
    assert str(integer_facts("u8", 200)) == "u8" and str(integer_facts("u8", 100)) == "u8:nonneg"
    for text in ("fp32:nonneg", "*i32:nonneg", "i1:nonneg:2"):
        with pytest.raises(ValueError, match="signature entry"):
            parse_facts(text)


def test_a_negative_number_never_takes_the_kernel_of_others(compiler: None) -> None:
    x = np.arange(-64, 64, dtype=np.int32)
    with tw.device("sim:sm_80"):
        for start in (64, -64, 128, -128):
            out = np.full(64, -999, np.int32)
            kernel = take_rows[(1,)](out, x[64:], start, 32, B=64)
            assert kernel is not None
            np.testing.assert_array_equal(out, remainder(start + np.arange(64), 32))
    assert len(take_rows._loaded) >= 2  # pyright: ignore[reportPrivateUsage]


SIZES = [(64, 64, 64), (70, 48, 40), (33, 80, 17), (1, 16, 1), (130, 35, 65)]


def check_product(
    kernel: Any, grid: Any, M: int, N: int, K: int, rng: np.random.Generator, **constants: Any
) -> None:
    a = rng.integers(-4, 5, (M, K)).astype(np.float16)
    b = rng.integers(-4, 5, (K, N)).astype(np.float16)
    c = np.full((M, N), np.nan, np.float16)
    tiles = {"BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_K": 32}
    kernel[grid](a, b, c, M, N, K, K, 1, N, 1, N, 1, **tiles, **constants)
    np.testing.assert_array_equal(c, (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float16))


@pytest.mark.parametrize(("M", "N", "K"), SIZES)
@pytest.mark.parametrize("group", [1, 3, 8])
def test_tutorial_matmul(
    M: int, N: int, K: int, group: int, device: str, rng: np.random.Generator
) -> None:
    tiles = tw.cdiv(M, 32) * tw.cdiv(N, 32)
    check_product(tutorial_matmul, (tiles,), M, N, K, rng, GROUP_M=group)


@pytest.mark.parametrize(("M", "N", "K"), SIZES)
def test_matmuls_with_other_indices(
    M: int, N: int, K: int, device: str, rng: np.random.Generator
) -> None:
    check_product(persistent_matmul, (3,), M, N, K, rng, GROUP_M=2)
    check_product(while_matmul, (3,), M, N, K, rng, GROUP_M=2)
    if M % 32 == N % 32 == 0:  # what the hints say of rows and columns is so
        for clamps in (False, True):
            check_product(hinted_matmul, (M // 32, N // 32), M, N, K, rng, CLAMPS=clamps)
