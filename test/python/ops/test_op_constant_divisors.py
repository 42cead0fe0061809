"""Quotients and remainders of constants: what the same divisor gives at run time, 0 and -1 too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw

COUNT = 97


@tw.jit
def by_constant(out, x, DIVISOR: tw.constexpr, COUNT: tw.constexpr, N: tw.constexpr):
    i = tw.arange(0, N)
    numbers = tw.load(x + i, i < COUNT)
    divisor = tw.full((), DIVISOR, numbers.dtype)
    tw.store(out + i, numbers // divisor, i < COUNT)
    tw.store(out + COUNT + i, numbers % divisor, i < COUNT)


@tw.jit
def by_number(out, x, divisor, COUNT: tw.constexpr, N: tw.constexpr):
    i = tw.arange(0, N)
    numbers = tw.load(x + i, i < COUNT)
    tw.store(out + i, numbers // tw.load(divisor), i < COUNT)
    tw.store(out + COUNT + i, numbers % tw.load(divisor), i < COUNT)


def divisors(info: Any) -> list[int]:
    found = {0, 1, 2, 3, 7, 10, 64, 100, info.max // 2 + 1, info.max - 1, info.max}
    return sorted(found | {-1, -2, -3, -8, info.min, info.min + 1} if info.min else found)


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize("kind", ["int", "uint"])
def test_a_constant_divides_as_the_number_does(device: str, kind: str, bits: int) -> None:
    dtype = np.dtype(f"{kind}{bits}")
    info = np.iinfo(dtype)
    x = np.random.default_rng(bits).integers(info.min, info.max, COUNT, dtype, endpoint=True)
    x[:6] = [info.min, info.max, 0, 1, info.max - 1, info.min + 1]
    for divisor in divisors(info):
        got, expected = np.full(2 * COUNT, 97, dtype), np.full(2 * COUNT, 98, dtype)
        by_constant[(1,)](got, x, divisor, COUNT=COUNT, N=128)
        by_number[(1,)](expected, x, np.array([divisor], dtype), COUNT=COUNT, N=128)
        assert (got == expected).all(), divisor
        if divisor not in (0, -1):
            quotient = np.trunc(x.astype(object) / divisor) if bits < 64 else None
            assert quotient is None or (got[:COUNT] == quotient.astype(dtype)).all(), divisor
