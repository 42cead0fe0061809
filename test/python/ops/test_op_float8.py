"""8-bit floats: every code, and every rounding, against a formula on the formats.

Conversions round to nearest even; what is beyond the largest finite value, infinity too, becomes
that value (PTX ISA, "cvt", .satfinite); NaN stays NaN. float8e4b15 has no NaN, which becomes the
largest value, and rounds halves away from zero.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from op_values import argument, decode, poisoned, storage_type
from sampled import OPENCL, SPIRV

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
DEVICES = ["cpu", "cpu:x86-64-v3", "reference", "sim:sm_80", "sim:sm_89", *SPIRV, *OPENCL]
CODES = np.arange(256, dtype=np.uint8)
# Of NumPy, about the NaN that are part of every set of inputs.
pytestmark = pytest.mark.filterwarnings("ignore:invalid value encountered in cast")
every_format = pytest.mark.parametrize("dtype", FORMATS)


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest, compiler: None) -> Iterator[str]:
    """Two GPUs: one that has the conversions as instructions, one that has not."""
    if request.param not in (*tw.list_devices(), *OPENCL):
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
