"""Matrix products in the matrix unit of a processor: bit by bit as its instructions are documented.

The device `cpu:emulated-amx` compiles for such a unit and calls functions for its instructions. On
a processor that has one, the same tests run there too, with the instructions themselves.
"""

from __future__ import annotations

import itertools
import pathlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from op_values import argument, assert_equal, decode, draw, poisoned
from test_op_dot import accumulated, batched, check, cut_out, product, transposed

import tilewright as tw

CPU_FLAGS = set(pathlib.Path("/proc/cpuinfo").read_text().split())
REAL = {"int8": "amx_int8", "bfloat16": "amx_bf16", "float16": "amx_fp16"}
SHAPES = [(16, 32, 16), (64, 128, 64), (8, 16, 16), (24, 48, 32), (80, 64, 16), (16, 96, 128)]


@pytest.fixture(params=["cpu:emulated-amx", "cpu"])
def unit(request: pytest.FixtureRequest) -> Iterator[str]:
    with tw.device(request.param):
        yield request.param


def skip_without(unit: str, dtype: str) -> None:
    if unit == "cpu" and REAL[dtype] not in CPU_FLAGS:
        pytest.skip(f"this processor has no {REAL[dtype]}")


def largest_divisor(extent: int, limit: int) -> int:
    return next(size for size in range(min(extent, limit), 0, -1) if extent % size == 0)


def flushed(x: np.ndarray) -> np.ndarray:
    tiny = np.abs(x) < np.finfo(np.float32).tiny
    return np.where(tiny, np.copysign(np.float32(0), x), x).astype(np.float32)


def model(a: np.ndarray, b: np.ndarray, start: np.ndarray, depth: int) -> np.ndarray:
    """What the unit computes (Intel SDM, TDPBF16PS and TDPFP16PS): for each matrix of `depth` pairs,
    even and odd elements are summed up apart, then together, then onto the accumulator. A product
    of two 16-bit floats is exact in float32, so that a fused step rounds once, as a sum does."""
    a, b, total = (np.asarray(x, np.float32) for x in (a, b, start))
    for first in range(0, a.shape[1], 2 * depth):
        sums = [np.zeros_like(total), np.zeros_like(total)]
        for k in range(first, first + 2 * depth):
            wide = a[:, k, None].astype(np.float64) * b[k].astype(np.float64)
            sums[k % 2] = flushed((sums[k % 2].astype(np.float64) + wide).astype(np.float32))
        total = flushed(flushed(total) + flushed(sums[0] + sums[1]))
    return total


def operands(rng: np.random.Generator, dtype: str, shape: tuple[int, int]) -> np.ndarray:
    """Stored numbers of a few powers of two around 1."""
    numbers = rng.standard_normal(shape) * 2.0 ** rng.integers(-6, 7, shape)
    if dtype == "float16":
        return numbers.astype(np.float16)
    return bfloat16_bits(numbers)


def bfloat16_bits(numbers: np.ndarray) -> np.ndarray:
    """What is left of numbers without their low bits."""
    return (numbers.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: "x".join(map(str, s)))
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_floats_are_rounded_as_the_unit_does(
    shape: tuple[int, int, int], dtype: str, unit: str, rng: np.random.Generator
) -> None:
    skip_without(unit, dtype)
    m, k, n = shape
    a, b = operands(rng, dtype, (m, k)), operands(rng, dtype, (k, n))
    out = poisoned("float32", (m, n))
    product[(1,)](out, argument(a, dtype), argument(b, dtype), M=m, K=k, N=n)
    depth = largest_divisor(k // 2, 16)
    expected = model(decode(a, dtype), decode(b, dtype), np.zeros((m, n)), depth)
    np.testing.assert_array_equal(out.view(np.uint32), expected.view(np.uint32))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_subnormal_operands(dtype: str, unit: str) -> None:
    """Those of bfloat16 count as zero; those of float16 are exact."""
    skip_without(unit, dtype)
    a, b = np.full((32, 32), 1, np.uint16), np.full((32, 32), 0x4C00, np.uint16)
    a, b = (x.view(np.float16) if dtype == "float16" else x for x in (a, b))
    out = poisoned("float32", (32, 32))
    product[(1,)](out, argument(a, dtype), argument(b, dtype), M=32, K=32, N=32)
    expected = 0.0 if dtype == "bfloat16" else 32 * 2.0**-24 * 16
    np.testing.assert_array_equal(out, np.full((32, 32), expected, np.float32))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_infinities_nans_and_signed_zeros(dtype: str, unit: str) -> None:
    """Each meets each; where the result is a number, its zero has the sign that the unit gives it."""
    skip_without(unit, dtype)
    special = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 2.0**-14], np.float32)
    numbers = np.repeat(np.tile(special, 2)[:, None], 32, axis=1)
    stored = numbers.astype(np.float16) if dtype == "float16" else bfloat16_bits(numbers)
    a, b = stored, np.ascontiguousarray(stored.T)
    out = poisoned("float32", (16, 16))
    product[(1,)](out, argument(a, dtype), argument(b, dtype), M=16, K=32, N=16)
    with np.errstate(invalid="ignore"):
        expected = model(decode(a, dtype), decode(b, dtype), np.zeros((16, 16)), 16)
    np.testing.assert_array_equal(np.isnan(out), np.isnan(expected))
    is_number = ~np.isnan(expected)
    np.testing.assert_array_equal(
        out[is_number].view(np.uint32), expected[is_number].view(np.uint32)
    )


@pytest.mark.parametrize("shape", [*SHAPES, (32, 256, 32)], ids=lambda s: "x".join(map(str, s)))
@pytest.mark.parametrize("of_a, of_b", list(itertools.product(["int8", "uint8"], repeat=2)))
def test_bytes_are_exact(
    shape: tuple[int, int, int], of_a: str, of_b: str, unit: str, rng: np.random.Generator
) -> None:
    """The largest and the smallest numbers meet."""
    skip_without(unit, "int8")
    m, k, n = shape
    a, b = draw(rng, of_a, (m, k)), draw(rng, of_b, (k, n))
    a[0], b[:, 0] = np.iinfo(a.dtype).max, np.iinfo(b.dtype).max
    a[-1], b[:, -1] = np.iinfo(a.dtype).min, np.iinfo(b.dtype).min
    out = poisoned("int32", (m, n))
    product[(1,)](out, a, b, M=m, K=k, N=n)
    assert_equal(out, a.astype(np.int64) @ b.astype(np.int64), "int32", "dot")


@pytest.mark.parametrize("n", [1, 3, 9])
@pytest.mark.parametrize("dtype", [*REAL])
def test_columns_of_an_odd_number(
    n: int, dtype: str, unit: str, rng: np.random.Generator
) -> None:
    skip_without(unit, dtype)
    result = "int32" if dtype == "int8" else "float32"
    a, b = draw(rng, dtype, (16, 32)), draw(rng, dtype, (32, n))
    out = poisoned(result, (16, n))
    product[(1,)](out, argument(a, dtype), argument(b, dtype), M=16, K=32, N=n)
    check(out, decode(a, dtype), decode(b, dtype), result)


@pytest.mark.parametrize("dtype", [*REAL])
def test_accumulators_go_on_in_a_loop(dtype: str, unit: str, rng: np.random.Generator) -> None:
    skip_without(unit, dtype)
    m, k, n, steps = 48, 32, 64, 5
    result = "int32" if dtype == "int8" else "float32"
    a, b = draw(rng, dtype, (m, k * steps)), draw(rng, dtype, (k * steps, n))
    c = draw(rng, result, (m, n))
    out = poisoned(result, (m, n))
    accumulated[(1,)](out, argument(a, dtype), argument(b, dtype), c, M=m, K=k, N=n, STEPS=steps)
    check(out, decode(a, dtype), decode(b, dtype), result, decode(c, result))


@pytest.mark.parametrize("dtype", [*REAL])
@pytest.mark.parametrize("tile", [(16, 32, 64), (32, 64, 32), (32, 32, 128)])
def test_rows_in_place_and_edges(
    tile: tuple[int, int, int], dtype: str, unit: str, rng: np.random.Generator
) -> None:
    skip_without(unit, dtype)
    rows, k, n = 2 * tile[0] + tile[0] // 2, 2 * tile[1] + 4, tile[2] - 3
    a, b = draw(rng, dtype, (rows, k + 5)), draw(rng, dtype, (k, n))
    result = "int32" if dtype == "int8" else "float32"
    out = poisoned(result, (rows, n))
    sizes = dict(zip(("M_TILE", "K_TILE", "N_TILE"), tile, strict=True))
    grid = (tw.cdiv(rows, tile[0]),)
    cut_out[grid](out, argument(a, dtype), argument(b, dtype), rows, k, n, k + 5, **sizes)
    check(out, decode(a, dtype)[:, :k], decode(b, dtype), result)


@pytest.mark.parametrize("dtype", [*REAL])
def test_batches_and_transposed_operands(dtype: str, unit: str, rng: np.random.Generator) -> None:
    skip_without(unit, dtype)
    result = "int32" if dtype == "int8" else "float32"
    a, b = draw(rng, dtype, (3, 32, 64)), draw(rng, dtype, (3, 64, 16))
    out = poisoned(result, (3, 32, 16))
    batched[(1,)](out, argument(a, dtype), argument(b, dtype), B=3, M=32, K=64, N=16)
    check(out, decode(a, dtype), decode(b, dtype), result)
    a, b = draw(rng, dtype, (64, 16)), draw(rng, dtype, (32, 64))
    out = poisoned(result, (16, 32))
    transposed[(1,)](out, argument(a, dtype), argument(b, dtype), M=16, K=64, N=32)
    check(out, decode(a, dtype).T, decode(b, dtype).T, result)


@tw.jit
def chained(out, q, k, v, N: tw.constexpr, D: tw.constexpr, STEPS: tw.constexpr):
    rows, columns = tw.arange(0, N)[:, None], tw.arange(0, D)[None, :]
    x = tw.load(q + rows * D + columns)
    total = tw.zeros((N, D), tw.float32)
    for step in range(STEPS):
        y = tw.load(k + (step * N + rows) * D + columns)
        scores = tw.dot(x, tw.trans(y)) * 0.125
        weights = tw.minimum(tw.maximum(scores, -1.0), 1.0).to(q.dtype.element_ty)
        total = tw.dot(weights, tw.load(v + (step * N + rows) * D + columns), total * 0.5)
    tw.store(out + rows * D + columns, total)


def test_chained_products(unit: str, rng: np.random.Generator) -> None:
    """The second one's accumulator is scaled in each step, as in attention."""
    skip_without(unit, "float16")
    n, d, steps = 32, 64, 3
    q = rng.standard_normal((n, d)).astype(np.float16)
    k, v = (rng.standard_normal((steps * n, d)).astype(np.float16) for _ in range(2))
    out = poisoned("float32", (n, d))
    chained[(1,)](out, q, k, v, N=n, D=d, STEPS=steps)
    total: Any = 0
    for step in range(steps):
        part = slice(step * n, step * n + n)
        scores = np.clip(q.astype(np.float64) @ k[part].T.astype(np.float64) * 0.125, -1, 1)
        total = total * 0.5 + scores.astype(np.float16).astype(np.float64) @ v[part]
    np.testing.assert_allclose(out, total, rtol=2e-3, atol=2e-2)


def test_narrow_accumulators(unit: str, rng: np.random.Generator) -> None:
    skip_without(unit, "float16")
    a, b = draw(rng, "float16", (32, 64)), draw(rng, "float16", (64, 32))
    a, b = a / 64, b / 64
    out = poisoned("float16", (32, 32))
    product[(1,)](out, a, b, M=32, K=64, N=32)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(out, exact, rtol=2e-3, atol=1e-3)


@tw.jit
def checked_product(out, a, b, limit, N: tw.constexpr):
    i = tw.arange(0, N)
    at = i[:, None] * N + i[None, :]
    x = tw.load(a + at)
    total = tw.dot(x, tw.load(b + at))
    tw.device_assert(tw.max(total) < limit, "too large")
    tw.store(out + at, tw.dot(x, tw.load(b + at), total))


def test_a_kernel_that_fails_in_its_middle_leaves_the_unit_usable(unit: str) -> None:
    skip_without(unit, "int8")
    ones = np.ones((64, 64), np.int8)
    for limit in (10, 100, 10, 100):
        out = poisoned("int32", (64, 64))
        if limit == 10:
            with pytest.raises(tw.DeviceError, match="too large"):
                checked_product[(1,)](out, ones, ones, limit, N=64, debug=True)
        else:
            checked_product[(1,)](out, ones, ones, limit, N=64, debug=True)
            assert (out == 128).all()


INSTRUCTIONS = [
    ("cpu:sapphirerapids", "bf16", "fp32", "tdpbf16ps", 32),
    ("cpu:graniterapids", "fp16", "fp32", "tdpfp16ps", 32),
    ("cpu:sapphirerapids", "i8", "i32", "tdpbssd", 16),
    ("cpu:sapphirerapids", "u8", "i32", "tdpbuud", 16),
]


@pytest.mark.parametrize(("target", "dtype", "result", "instruction", "count"), INSTRUCTIONS)
def test_processors_by_name_get_their_instructions(
    target: str, dtype: str, result: str, instruction: str, count: int, compiler: None
) -> None:
    types = {"out": f"*{result}", "a": f"*{dtype}", "b": f"*{dtype}"}
    compiled = product.compile(types, {"M": 64, "K": 64, "N": 64}, target)
    text = compiled.asm["asm"]
    assert instruction in text
    assert text.count("ldtilecfg") == text.count("tilerelease") == 1
    (told,) = [r["message"] for r in compiled.remarks if r["code"] == "TW0438"]
    assert f"takes {count} instructions" in told and "with 1.00 loads" in told


@pytest.mark.parametrize(
    ("target", "rows"), [("cpu:x86-64-v4", 64), ("cpu:znver5", 64), ("cpu:sapphirerapids", 1)]
)
def test_where_vectors_are_better_or_all_there_is(target: str, rows: int, compiler: None) -> None:
    types = {"out": "*fp32", "a": "*bf16", "b": "*bf16"}
    compiled = product.compile(types, {"M": rows, "K": 64, "N": 64}, target)
    text = compiled.asm["asm"]
    assert "tdp" not in text and "tilecfg" not in text
    # The instruction for pairs is faster than widening on one of these processors only.
    assert ("vdpbf16ps" in text) == (target == "cpu:znver5")
    assert not [r for r in compiled.remarks if r["code"] in ("TW0437", "TW0438")]
