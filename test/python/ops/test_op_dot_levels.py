"""Matrix products on levels of x86-64: what older processors multiply with."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from op_values import argument, decode, draw, poisoned
from processor_levels import skip_beyond
from test_op_dot import accumulated, check, product

import tilewright as tw

LEVELS = ["x86-64-v2", "x86-64-v3", "x86-64-v4"]
SHAPES = [(16, 32, 16), (5, 6, 7), (1, 64, 128), (33, 2, 24), (48, 80, 40)]
# f(a, b) of pairs of 16-bit integers: SSE2, AVX2, AVX-512 and VNNI's own.
BYTES = "pmaddwd"


@pytest.fixture(params=LEVELS)
def level(request: pytest.FixtureRequest) -> Iterator[str]:
    skip_beyond(request.param)
    with tw.device(f"cpu:{request.param}"):
        yield f"cpu:{request.param}"


@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: "x".join(map(str, s)))
@pytest.mark.parametrize("signs", list(itertools.product(["int8", "uint8"], repeat=2)), ids="-".join)
def test_bytes_of_any_signs(
    signs: tuple[str, str], shape: tuple[int, int, int], level: str, rng: np.random.Generator
) -> None:
    (m, k, n), steps = shape, 2
    a, b = (
        draw(rng, dtype, size)
        for dtype, size in zip(signs, ((m, k * steps), (k * steps, n)), strict=True)
    )
    a.flat[:2], b.flat[:2] = np.iinfo(a.dtype).min, np.iinfo(b.dtype).min
    a.flat[-2:], b.flat[-2:] = np.iinfo(a.dtype).max, np.iinfo(b.dtype).max
    start = draw(rng, "int32", (m, n)) // 4
    out = poisoned("int32", (m, n))
    pointers = [argument(x, dtype) for x, dtype in zip((a, b, start), (*signs, "int32"), strict=True)]
    kernel = accumulated[1](argument(out, "int32"), *pointers, M=m, K=k, N=n, STEPS=steps)
    check(out, a.astype(np.int64), b.astype(np.int64), "int32", start.astype(np.int64))
    if k % 2 == 0 and n % 16 == 0:
        assert BYTES in kernel.asm["asm"]


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_floats_need_no_function(dtype: str, level: str, rng: np.random.Generator) -> None:
    m, k, n = 24, 48, 32
    a, b = draw(rng, dtype, (m, k)), draw(rng, dtype, (k, n))
    result = "float64" if dtype == "float64" else "float32"
    out = poisoned(result, (m, n))
    kernel = product[1](*(argument(x, t) for x, t in ((out, result), (a, dtype), (b, dtype))),
                        M=m, K=k, N=n)  # fmt: skip
    check(out, decode(a, dtype), decode(b, dtype), result)
    text = kernel.asm["asm"]
    assert "call" not in text.split()
    assert ("vfmadd" in text) == (level != "cpu:x86-64-v2")


@tw.jit
def exponentials(out, x, N: tw.constexpr):
    i = tw.arange(0, N)
    tw.store(out + i, tw.exp(tw.load(x + i)) + tw.sin(tw.load(x + i)))


def test_formulas_without_an_fma_call_nothing(level: str) -> None:
    x = np.linspace(-8, 8, 256, dtype=np.float32)
    out = np.full(256, np.nan, np.float32)
    kernel = exponentials[1](out, x, N=256)
    wide = np.exp(x.astype(np.float64)) + np.sin(x.astype(np.float64))
    assert np.all(np.abs(out - wide) <= 3e-7 * np.maximum(1, np.abs(wide)))
    assert "fmaf" not in kernel.asm["asm"]
