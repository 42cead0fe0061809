"""8-bit floats in operations: arithmetic is that of float32, rounded once more; moves keep every code."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch
from op_values import storage_type
from test_op_float8 import (
    CODES, FORMATS, ONE_ZERO, TORCH, as_float8, assert_codes, codes_of, convert, device,  # noqa: F401
    every_format, values_of,
)  # fmt: skip

import tilewright as tw

# Of NumPy, about the NaN that are part of every set of inputs.
pytestmark = pytest.mark.filterwarnings("ignore:invalid value encountered in cast")


# Arithmetic is that of float32, rounded once more.


@every_format
@pytest.mark.parametrize("name", ["add", "sub", "mul"])
def test_arithmetic_keeps_the_type(
    name: str, dtype: str, device: str, rng: np.random.Generator
) -> None:
    NAME = name

    @tw.jit
    def kernel(out, a, b, N: tw.constexpr):
        i = tw.arange(0, N)
        x, y = tw.load(a + i), tw.load(b + i)
        if NAME == "add":
            r = x + y
        elif NAME == "sub":
            r = x - y
        else:
            r = x * y
        tw.static_assert(r.dtype == a.dtype.element_ty)
        tw.store(out + i, r)

    x, y = rng.integers(0, 256, (2, 1024)).astype(np.uint8)
    out = np.zeros(1024, np.uint8)
    kernel[(1,)](*(as_float8(array, dtype) for array in (out, x, y)), 1024)
    left, right = values_of(x, dtype), values_of(y, dtype)
    with np.errstate(invalid="ignore"):
        exact = {"add": left + right, "sub": left - right, "mul": left * right}[name]
    assert_codes(out, codes_of(exact, dtype), dtype, [*zip(left, right)])


@every_format
def test_comparisons_choices_and_extrema(
    dtype: str, device: str, rng: np.random.Generator
) -> None:
    @tw.jit
    def kernel(less, same, chosen, larger, negative, a, b, N: tw.constexpr):
        i = tw.arange(0, N)
        x, y = tw.load(a + i), tw.load(b + i)
        tw.store(less + i, (x < y).to(tw.int8))
        tw.store(same + i, (x == y).to(tw.int8))
        tw.store(chosen + i, tw.where(x < y, x, 1.5))
        tw.store(larger + i, tw.maximum(x, y))
        tw.store(negative + i, -x)

    x, y = rng.integers(0, 256, (2, 1024)).astype(np.uint8)
    less, same = np.zeros((2, 1024), np.int8)
    chosen, larger, negative = np.zeros((3, 1024), np.uint8)
    pointers = [as_float8(array, dtype) for array in (chosen, larger, negative, x, y)]
    kernel[(1,)](less, same, *pointers, 1024)
    left, right = values_of(x, dtype), values_of(y, dtype)
    np.testing.assert_array_equal(less, left < right)
    np.testing.assert_array_equal(same, left == right)
    assert_codes(chosen, np.where(left < right, x, codes_of(np.array([1.5]), dtype)), dtype)
    highest = np.fmax(left, right)
    ties = (left == 0) & (right == 0)
    assert_codes(larger[~ties], codes_of(highest, dtype)[~ties], dtype)
    assert_codes(negative, codes_of(-left, dtype), dtype)


def test_promotion(compiler: None) -> None:
    @tw.jit
    def kernel(a, b, h, g, f):
        x, y = tw.load(a), tw.load(b)
        tw.static_assert((x + y).dtype == tw.float16)
        tw.static_assert((x + 2.0).dtype == x.dtype)
        tw.static_assert((x * 2).dtype == x.dtype)
        tw.static_assert((x / x).dtype == tw.float32)
        tw.static_assert((x + tw.load(h)).dtype == tw.float16)
        tw.static_assert((x + tw.load(g)).dtype == tw.bfloat16)
        tw.static_assert((x + tw.load(f)).dtype == tw.float32)

    e4, e5 = (np.zeros(1, np.uint8) for _ in range(2))
    wide = [torch.zeros(1, dtype=t) for t in (torch.float16, torch.bfloat16, torch.float32)]
    kernel[(1,)](as_float8(e4, "float8e4nv"), as_float8(e5, "float8e5"), *wide)


# Tiles of 8-bit floats elsewhere.


@every_format
def test_masked_accesses_and_shapes(dtype: str, device: str, rng: np.random.Generator) -> None:
    @tw.jit
    def kernel(out, a, n, M: tw.constexpr, N: tw.constexpr):
        i, j = tw.arange(0, M)[:, None], tw.arange(0, N)[None, :]
        position = i * N + j
        x = tw.load(a + position, mask=position < n, other=-2.0)
        y = tw.trans(x)
        y = tw.reshape(y, [M, N])
        row = tw.load(a + tw.arange(0, N))
        y = tw.where(tw.broadcast_to(row[None, :], [M, N]) == 0.5, x, y)
        tw.store(out + position, y, mask=position >= 3)

    source = rng.integers(0, 0x70, 16 * 32).astype(np.uint8)
    out = np.full(16 * 32, 0xCB, np.uint8)
    kernel[(1,)](as_float8(out, dtype), as_float8(source, dtype), 500, 16, 32)
    x = source.copy()
    x[500:] = codes_of(np.array([-2.0]), dtype)
    x = x.reshape(16, 32)
    half = values_of(source[:32], dtype) == 0.5
    expected = np.where(half[None, :], x, x.T.reshape(16, 32)).ravel()
    expected[:3] = 0xCB
    np.testing.assert_array_equal(out, expected)


@every_format
def test_gather_join_and_split(dtype: str, device: str, rng: np.random.Generator) -> None:
    @tw.jit
    def kernel(out, back, a, index, N: tw.constexpr):
        i = tw.arange(0, N)
        x = tw.load(a + i)
        y = tw.gather(x, tw.load(index + i), 0)
        pair = tw.join(x, y)
        tw.store(out + i[:, None] * 2 + tw.arange(0, 2)[None, :], pair)
        first, second = tw.split(pair)
        tw.store(back + i, tw.where(i % 2 == 0, first, second))

    x, index = rng.integers(0, 256, 64).astype(np.uint8), rng.integers(0, 64, 64, np.int32)
    out, back = np.zeros((64, 2), np.uint8), np.zeros(64, np.uint8)
    kernel[(1,)](as_float8(out, dtype), as_float8(back, dtype), as_float8(x, dtype), index, 64)
    np.testing.assert_array_equal(out, np.stack([x, x[index]], axis=1))
    np.testing.assert_array_equal(back, np.where(np.arange(64) % 2 == 0, x, x[index]))


@every_format
def test_reductions_and_scans(dtype: str, device: str, rng: np.random.Generator) -> None:
    @tw.jit
    def larger(a, b):
        return tw.maximum(a, b)

    @tw.jit
    def kernel(sums, best, running, scalar, a, M: tw.constexpr, N: tw.constexpr):
        i, j = tw.arange(0, M), tw.arange(0, N)
        x = tw.load(a + i[:, None] * N + j[None, :])
        total = tw.sum(x, axis=1)
        tw.static_assert(total.dtype == tw.float32)
        tw.store(sums + i, total)
        tw.store(best + i, tw.reduce(x, 1, larger))
        tw.store(running + i[:, None] * N + j[None, :], tw.associative_scan(x, 1, larger))
        tw.store(scalar, tw.reduce(tw.load(a + j), 0, larger))

    x = rng.integers(1, 0x60, (8, 64)).astype(np.uint8)
    x[:, ::3] |= 0x80
    sums, best = np.zeros(8, np.float32), np.zeros(8, np.uint8)
    running, scalar = np.zeros((8, 64), np.uint8), np.zeros(1, np.uint8)
    narrow = [as_float8(array, dtype) for array in (best, running, scalar, x)]
    kernel[(1,)](sums, *narrow, 8, 64)
    values = values_of(x, dtype)
    np.testing.assert_allclose(sums, values.sum(axis=1), rtol=1e-5, atol=1e-3)
    assert_codes(best, codes_of(values.max(axis=1), dtype), dtype)
    expected = codes_of(np.maximum.accumulate(values, axis=1).ravel(), dtype)
    assert_codes(running.ravel(), expected, dtype)
    assert_codes(scalar, codes_of(values[:1].max(axis=1), dtype), dtype)


@every_format
def test_loops_and_branches_carry_them(dtype: str, device: str, rng: np.random.Generator) -> None:
    @tw.jit
    def kernel(out, a, count, N: tw.constexpr):
        i = tw.arange(0, N)
        x = tw.load(a + i)
        one = tw.load(a)
        for step in range(count):
            y = tw.load(a + (step + 1) * N + i)
            x = tw.where(x < y, y, x)
            if step % 2 == 0:
                one = tw.load(a + step)
        tw.store(out + i, x)
        tw.store(out + N, one)

    x = rng.integers(0, 0x70, (5, 128)).astype(np.uint8)
    out = np.zeros(129, np.uint8)
    kernel[(1,)](as_float8(out, dtype), as_float8(x, dtype), 4, 128)
    assert_codes(out[:128], x.max(axis=0), dtype)
    assert out[128] == x[0, 2]


@pytest.mark.parametrize("right", FORMATS)
@pytest.mark.parametrize("left", FORMATS)
@pytest.mark.parametrize("accumulator", ["float32", "float16"])
def test_dot(
    accumulator: str, left: str, right: str, device: str, rng: np.random.Generator
) -> None:
    ACC = tw.dtype(accumulator)

    @tw.jit
    def kernel(c, a, b, M: tw.constexpr, N: tw.constexpr, K: tw.constexpr):
        i, j, k = tw.arange(0, M), tw.arange(0, N), tw.arange(0, K)
        x = tw.load(a + i[:, None] * K + k[None, :])
        y = tw.load(b + j[None, :] * K + k[:, None])
        r = tw.dot(x, y, out_dtype=ACC)
        tw.static_assert(r.dtype == ACC)
        tw.store(c + i[:, None] * N + j[None, :], r)

    shape = (16, 32, 64)
    a = codes_of(rng.integers(-4, 5, (16, 64)).ravel() / 4, left).reshape(16, 64)
    b = codes_of(rng.integers(-4, 5, (32, 64)).ravel() / 4, right).reshape(32, 64)
    c = np.zeros((16, 32), storage_type(accumulator))
    kernel[(1,)](c, as_float8(a, left), as_float8(b, right), *shape)
    np.testing.assert_array_equal(c, values_of(a, left) @ values_of(b, right).T)


@every_format
def test_printed_as_numbers(dtype: str, device: str, capfd: pytest.CaptureFixture[str]) -> None:
    @tw.jit
    def kernel(a):
        tw.device_print("x", tw.load(a))

    kernel[(1,)](as_float8(codes_of(np.array([-1.5]), dtype), dtype))
    captured = capfd.readouterr()
    assert "-1.5" in captured.out + captured.err


# The code for a GPU.


def count(ptx: str, pattern: str) -> int:
    return len(re.findall(pattern, ptx))


@pytest.mark.parametrize("dtype", ["float8e4nv", "float8e5"])
def test_sixteen_bytes_per_access_and_pairs_per_conversion(dtype: str, compiler: None) -> None:
    """A tile of 4 warps with 16 elements per lane; nothing takes bytes apart."""
    pair = {"float8e4nv": "e4m3x2", "float8e5": "e5m2x2"}[dtype]
    with tw.device("sim:sm_89"):
        widening = convert.warmup(torch.float16, TORCH[dtype], None, 2048, grid=(1,), num_warps=4)
        narrowing = convert.warmup(TORCH[dtype], torch.float16, None, 2048, grid=(1,), num_warps=4)
    ptx = widening.asm["ptx"]
    assert count(ptx, r"ld\.global\.v4\.b32") == 1
    assert count(ptx, rf"cvt\.rn\.f16x2\.{pair}") == 8
    assert count(ptx, r"prmt|bfe|shr") == 0
    ptx = narrowing.asm["ptx"]
    assert count(ptx, r"ld\.global\.v4\.b32") == 2
    assert count(ptx, rf"cvt\.rn\.satfinite\.{pair}\.f16x2") == 8
    assert count(ptx, r"st\.global\.v4\.b32") == 1
    assert count(ptx, r"prmt|min\.|max\.") == 0  # the instruction bounds by itself


# The language's edges, and misuse.


def test_facts_of_the_types(compiler: None) -> None:
    @tw.jit
    def kernel(a, b):
        x, y = tw.load(a), tw.load(b)
        tw.static_assert(x.dtype == tw.float8e4nv and y.dtype == tw.float8e5)
        tw.static_assert(x.dtype != y.dtype)
        tw.static_assert(x.dtype.is_fp8() and x.dtype.is_fp8e4nv() and y.dtype.is_fp8e5())
        tw.static_assert(not x.dtype.is_standard_floating() and x.dtype.is_floating())
        tw.static_assert(x.dtype.primitive_bitwidth == 8)
        tw.static_assert(a.dtype == tw.pointer_type(tw.float8e4nv))
        p = a.to(tw.pointer_type(tw.float8e5), bitcast=True)
        tw.static_assert(tw.load(p).dtype == tw.float8e5)

    kernel[(1,)](torch.zeros(1, dtype=torch.float8_e4m3fn), torch.zeros(1, dtype=torch.float8_e5m2))
    assert tw.float8e5.primitive_bitwidth == 8 and tw.float8e5.is_fp8()
    assert str(tw.pointer_type(tw.float8e5)) == "*fp8e5"


@tw.jit
def _exponential(a):
    tw.store(a, tw.exp(tw.load(a)))


@tw.jit
def _atomic(a):
    tw.atomic_add(a, 1.0)


@tw.jit
def _with_integer(a):
    tw.store(a, tw.load(a) + tw.program_id(0))


@tw.jit
def _bits(a):
    tw.store(a, tw.load(a) & 1)


MISUSES = [
    (_exponential, "TW0201", "does not take float8e5", r"\.to\(tw\.float32\)"),
    (_atomic, "TW0215", "does not exist for float8e5", "float16"),
    (_with_integer, "TW0201", "no common type of float8e5 and int32", r"\.to\(tw\.float32\)"),
    (_bits, "TW0201", "needs integers", "bitcast"),
]


@pytest.mark.parametrize("kernel, code, message, hint", MISUSES)
def test_misuse(kernel: Any, code: str, message: str, hint: str, compiler: None) -> None:
    with pytest.raises(tw.CompileError) as caught:
        kernel[(1,)](torch.zeros(1, dtype=torch.float8_e5m2))
    text = str(caught.value)
    assert code in text and re.search(message, text) and re.search(hint, text)


def test_magnitudes(device: str) -> None:
    """`abs` is exact, so it is there for 8-bit floats too."""

    @tw.jit
    def kernel(out, a, N: tw.constexpr):
        i = tw.arange(0, N)
        tw.store(out + i, tw.abs(tw.load(a + i)))

    for dtype in FORMATS:
        out = np.full(256, 0xCB, np.uint8)
        kernel[(1,)](as_float8(out, dtype), as_float8(CODES, dtype), 256)
        # Only the sign changes: infinities stay, and codes that conversions do not make.
        rounded = codes_of(np.abs(values_of(CODES, dtype)), dtype)
        assert_codes(out, rounded if dtype in ONE_ZERO else CODES & 0x7F, dtype, CODES)


@pytest.mark.parametrize("dtype", ["float8e4b8", "float8e5b16", "float8e4b15"])
def test_arrays_of_no_8_bit_float_are_refused_with_their_names(
    dtype: str, compiler: None
) -> None:
    @tw.jit
    def kernel(a):
        tw.store(a, tw.load(a))

    kernel[(1,)](as_float8(np.zeros(1, np.uint8), dtype))
    with pytest.raises(tw.LaunchError, match=r"float8_e8m0fnu.*\n?.*torch\.uint8"):
        kernel[(1,)](torch.zeros(1, dtype=torch.float8_e8m0fnu))


def test_padding_with_nan_needs_a_format_that_has_it(compiler: None) -> None:
    @tw.jit
    def kernel(out, a):
        block = tw.make_block_ptr(a, (3,), (1,), (0,), (4,), (0,))
        x = tw.load(block, boundary_check=(0,), padding_option="nan")
        tw.store(out + tw.arange(0, 4), x.to(tw.float32))

    for dtype in FORMATS:
        out = np.zeros(4, np.float32)
        arguments = out, as_float8(np.zeros(3, np.uint8), dtype)
        if dtype != "float8e4b15":
            kernel[(1,)](*arguments)
            np.testing.assert_array_equal(np.isnan(out), [False, False, False, True])
            continue
        with pytest.raises(tw.CompileError, match=r"TW0234(.*\n)*.*float8e4b15"):
            kernel[(1,)](*arguments)
