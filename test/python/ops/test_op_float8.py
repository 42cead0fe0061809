"""8-bit floats: every code, and every rounding, against a formula on the formats.

Conversions round to nearest even; what is beyond the largest finite value, infinity too, becomes
that value (PTX ISA, "cvt", .satfinite); NaN stays NaN. float8e4b15 has no NaN, which becomes the
largest value, and rounds halves away from zero.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from op_values import argument, decode, poisoned, storage_type

import tilewright as tw

# Stored mantissa bits, exponent bias, the code of the largest finite value.
FORMATS = {
    "float8e4nv": (3, 7, 0x7E), "float8e5": (2, 15, 0x7B),
    "float8e4b8": (3, 8, 0x7F), "float8e5b16": (2, 16, 0x7F), "float8e4b15": (3, 15, 0x7E),
}  # fmt: skip
ONE_ZERO = ("float8e4b8", "float8e5b16")  # the code of -0 is NaN, and there is no infinity
TORCH = {
    "float8e4nv": torch.float8_e4m3fn, "float8e5": torch.float8_e5m2,
    "float8e4b8": torch.float8_e4m3fnuz, "float8e5b16": torch.float8_e5m2fnuz,
}  # fmt: skip
DEVICES = ["cpu", "cpu:x86-64-v3", "reference", "sim:sm_80", "sim:sm_89"]
CODES = np.arange(256, dtype=np.uint8)
# Of NumPy, about the NaN that are part of every set of inputs.
pytestmark = pytest.mark.filterwarnings("ignore:invalid value encountered in cast")
every_format = pytest.mark.parametrize("dtype", FORMATS)


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest, compiler: None) -> Iterator[str]:
    """Two GPUs: one that has the conversions as instructions, one that has not."""
    if request.param not in tw.list_devices():
        pytest.skip(f"this processor does not reach {request.param}")
    with tw.device(request.param):
        yield request.param


def value_of(code: int, dtype: str) -> float:
    mantissa_bits, bias, largest = FORMATS[dtype]
    sign = -1.0 if code & 0x80 else 1.0
    if code == 0x80 and dtype in ONE_ZERO:
        return -float("nan")
    code &= 0x7F
    if code > largest and dtype != "float8e4b15":
        return sign * np.inf if dtype == "float8e5" and code == 0x7C else np.copysign(np.nan, sign)
    exponent, mantissa = code >> mantissa_bits, code & ((1 << mantissa_bits) - 1)
    if exponent == 0:
        return sign * np.ldexp(mantissa, 1 - bias - mantissa_bits)
    return sign * np.ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits)


def values_of(codes: np.ndarray, dtype: str) -> np.ndarray:
    table = np.array([value_of(code, dtype) for code in range(256)])
    return table[codes]


def codes_of(values: np.ndarray, dtype: str, towards_zero: bool = False) -> np.ndarray:
    """The nearest finite value's code, of two equally near ones the even; the NaN for NaN."""
    largest = FORMATS[dtype][2]
    known = np.array([value_of(code, dtype) for code in range(largest + 1)])
    values = np.asarray(values, np.float64)
    magnitude = np.fmin(np.abs(values), known[-1])
    below = np.searchsorted(known, magnitude, side="right") - 1
    above = np.minimum(below + 1, largest)
    to_below, to_above = magnitude - known[below], known[above] - magnitude  # exact in float64
    is_upper = np.full(below.shape, True) if dtype == "float8e4b15" else below % 2 == 1
    goes_up = (to_above < to_below) | ((to_above == to_below) & is_upper)
    codes = np.where(goes_up & ~np.bool_(towards_zero), above, below)
    signed = codes | (np.signbit(values) << 7)
    if dtype == "float8e4b15":
        return signed.astype(np.uint8)
    if dtype in ONE_ZERO:
        signed = np.where(codes == 0, 0, signed)
    nan = 0x80 if dtype in ONE_ZERO else 0x7F
    return np.where(np.isnan(values), nan, signed).astype(np.uint8)


def assert_codes(actual: np.ndarray, expected: np.ndarray, dtype: str, inputs: Any = None) -> None:
    """Equal codes; all NaN are equal."""
    both_nan = np.isnan(values_of(actual, dtype)) & np.isnan(values_of(expected, dtype))
    wrong = np.flatnonzero((actual != expected) & ~both_nan)
    source = inputs if inputs is not None else expected
    assert wrong.size == 0, [
        (source[i], hex(actual[i]), hex(expected[i])) for i in wrong[:5].tolist()
    ]


def as_float8(codes: np.ndarray, dtype: str) -> Any:
    return tw.reinterpret(codes, tw.dtype(dtype))


@tw.jit
def convert(out, a, ROUNDING: tw.constexpr, N: tw.constexpr):
    i = tw.program_id(0) * N + tw.arange(0, N)
    element: tw.constexpr = out.dtype.element_ty
    tw.store(out + i, tw.load(a + i).to(element, fp_downcast_rounding=ROUNDING))


def converted(a: Any, count: int, dtype: str, rounding: str | None = None) -> np.ndarray:
    out = np.full(count, 0xCB, np.uint8)
    tile = min(count, 4096)
    assert count % tile == 0
    convert[(count // tile,)](as_float8(out, dtype), a, rounding, tile)
    return out


# Conversions.


@every_format
@pytest.mark.parametrize("wide", ["float16", "bfloat16", "float32", "float64"])
def test_every_code_widens_exactly(wide: str, dtype: str, device: str) -> None:
    out = poisoned(wide, 256)
    convert[(1,)](argument(out, wide), as_float8(CODES, dtype), None, 256)
    actual, expected = decode(out, wide).astype(np.float64), values_of(CODES, dtype)
    np.testing.assert_array_equal(actual, expected)
    known = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(actual)[known], np.signbit(expected)[known])


@every_format
@pytest.mark.parametrize("other", FORMATS)
def test_every_code_under_the_other_format(other: str, dtype: str, device: str) -> None:
    actual = converted(as_float8(CODES, other), 256, dtype)
    if other == dtype:  # no conversion
        np.testing.assert_array_equal(actual, CODES)
    else:
        assert_codes(actual, codes_of(values_of(CODES, other), dtype), dtype)


@every_format
@pytest.mark.parametrize("rounding", [None, "rtz"])
@pytest.mark.parametrize("wide", ["float16", "bfloat16"])
def test_every_16_bit_float_is_rounded(
    wide: str, rounding: str | None, dtype: str, device: str
) -> None:
    stored = np.arange(1 << 16, dtype=np.uint16).view(storage_type(wide))
    values = decode(stored, wide).astype(np.float64)
    actual = converted(argument(stored, wide), 1 << 16, dtype, rounding)
    assert_codes(actual, codes_of(values, dtype, rounding == "rtz"), dtype, values)


def hard_values(rng: np.random.Generator, dtype: str, kind: type) -> np.ndarray:
    """Every value and every midpoint of the format with their neighbours, all over the range, and
    random bits."""
    known = values_of(CODES, dtype)
    known = np.sort(known[np.isfinite(known)])
    points = np.concatenate([known, (known[1:] + known[:-1]) / 2]).astype(kind)
    around = [points, np.nextafter(points, kind(np.inf)), np.nextafter(points, kind(-np.inf))]
    numbers = [np.nan, -np.nan, np.inf, -np.inf, 464, 480, 61440, 65536, 1e30, 1e-40]
    special = np.array(numbers, kind)
    bits = rng.integers(0, 256, (2048, kind().itemsize), np.uint8).view(kind).ravel()
    near = np.ldexp(rng.standard_normal(4096), rng.integers(-20, 20, 4096)).astype(kind)
    values = np.concatenate([*around, special, bits, near])
    return np.resize(values, 8192)


@every_format
@pytest.mark.parametrize("rounding", [None, "rtz"])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_wide_floats_are_rounded_once(
    kind: type, rounding: str | None, dtype: str, device: str, rng: np.random.Generator
) -> None:
    values = hard_values(rng, dtype, kind)
    actual = converted(values, values.size, dtype, rounding)
    assert_codes(actual, codes_of(values, dtype, rounding == "rtz"), dtype, values)


@every_format
@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"])
def test_integers_are_rounded(
    kind: str, dtype: str, device: str, rng: np.random.Generator
) -> None:
    limits = np.iinfo(kind)
    values = rng.integers(limits.min, limits.max, 256, kind, endpoint=True)
    small = np.arange(128) if limits.min == 0 else np.arange(-64, 64)
    values[:128] = small.astype(kind)
    values[128:130] = limits.min, limits.max
    actual = converted(values, 256, dtype)
    assert_codes(actual, codes_of(values.astype(np.float64), dtype), dtype, values)


@every_format
def test_every_code_as_integer(dtype: str, device: str) -> None:
    out = np.full(256, -7, np.int32)
    convert[(1,)](out, as_float8(CODES, dtype), None, 256)
    values = values_of(CODES, dtype)
    expected = [
        0 if np.isnan(v) else int(np.clip(v, -(2.0**31), 2.0**31 - 1)) for v in values.tolist()
    ]
    np.testing.assert_array_equal(out, expected)


@every_format
def test_bits_stay_under_a_bitcast(dtype: str, device: str) -> None:
    @tw.jit
    def kernel(out, back, a, T: tw.constexpr, N: tw.constexpr):
        i = tw.arange(0, N)
        x = tw.load(a + i)
        tw.store(out + i, x.to(tw.uint8, bitcast=True))
        tw.store(back + i, x.to(tw.int8, bitcast=True).to(T, bitcast=True))

    out, back = np.zeros(256, np.uint8), np.zeros(256, np.uint8)
    kernel[(1,)](out, as_float8(back, dtype), as_float8(CODES, dtype), tw.dtype(dtype), 256)
    np.testing.assert_array_equal(out, CODES)
    np.testing.assert_array_equal(back, CODES)


CONSTANTS = [0.0, -0.0, 1.0, -1.3, 3.3, 500.0, -1e6, 1e300, float("inf"), float("-inf"),
             float("nan"), 0.01, 1e-9, -1e-9, 61440.0]  # fmt: skip


@every_format
@pytest.mark.parametrize("number", CONSTANTS)
def test_compile_time_rounding_is_that_of_run_time(number: float, dtype: str, device: str) -> None:
    """As a literal, as a folded conversion of a tile, and there and back under another type."""

    @tw.jit
    def kernel(out, NUMBER: tw.constexpr, T: tw.constexpr):
        i = tw.arange(0, 16)
        tw.store(out + i, tw.full([16], NUMBER, T))
        tw.store(out + 16 + i, tw.full([16], NUMBER, tw.float32).to(T))
        tw.store(out + 32 + i, NUMBER)
        there = tw.full([16], NUMBER, tw.float16).to(tw.float8e5, bitcast=False).to(tw.float32)
        tw.store(out + 48 + i, there.to(tw.float8e5).to(tw.uint8, bitcast=True).to(T, bitcast=True))

    out = np.zeros(64, np.uint8)
    kernel[(1,)](as_float8(out, dtype), number, tw.dtype(dtype))
    assert_codes(out[:48], np.repeat(codes_of(np.array([number]), dtype), 48), dtype)
    with np.errstate(over="ignore"):
        half = np.float64(np.float16(number))
    assert_codes(out[48:], np.repeat(codes_of(np.array([half]), "float8e5"), 16), "float8e5")


@every_format
@pytest.mark.parametrize("number", [0, 1, -3, 17, 19, 449, -100000, 1 << 62])
def test_integer_constants_are_rounded(number: int, dtype: str, device: str) -> None:
    @tw.jit
    def kernel(out, NUMBER: tw.constexpr, T: tw.constexpr):
        tw.store(out + tw.arange(0, 16), tw.full([16], NUMBER, T))

    out = np.zeros(16, np.uint8)
    kernel[(1,)](as_float8(out, dtype), number, tw.dtype(dtype))
    assert_codes(out, np.repeat(codes_of(np.array([float(number)]), dtype), 16), dtype)


def test_torch_rounds_alike_in_range(device: str, rng: np.random.Generator) -> None:
    for dtype, kind in TORCH.items():
        largest = values_of(np.array([FORMATS[dtype][2]]), dtype)[0]
        values = rng.uniform(-largest, largest, 4096).astype(np.float32)
        out = torch.zeros(4096, dtype=kind)
        convert[(1,)](out, torch.from_numpy(values), None, 4096)
        expected = torch.from_numpy(values).to(kind)
        assert torch.equal(out.view(torch.uint8), expected.view(torch.uint8)), dtype


@pytest.mark.parametrize("dtype", TORCH)
def test_arrays_of_ml_dtypes(dtype: str, compiler: None) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    kind = str(TORCH[dtype]).removeprefix("torch.")
    values = np.linspace(-2, 2, 64, dtype=np.float32)
    out = np.zeros(64, getattr(ml_dtypes, kind))
    convert[(1,)](out, values, None, 64)
    assert_codes(out.view(np.uint8), codes_of(values, dtype), dtype)


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
