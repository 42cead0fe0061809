"""Element types of the operation tests: exact conversions between numbers and stored elements.

Integers are computed as Python's (NumPy object arrays), floats as float64 or wider, so that a
reference never has the limits of the type that it checks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

import tilewright as tw


@dataclass(frozen=True)
class Float:
    """A binary format: stored mantissa bits and the exponent of its smallest normal number."""

    mantissa: int
    smallest_exponent: int
    largest: float


FORMATS = {
    "float16": Float(10, -14, 65504.0),
    "bfloat16": Float(7, -126, float.fromhex("0x1.fep127")),
    "float32": Float(23, -126, float.fromhex("0x1.fffffep127")),
    "float64": Float(52, -1022, float.fromhex("0x1.fffffffffffffp1023")),
}
FLOATS = [*FORMATS]
SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
INTS = SIGNED + UNSIGNED
DTYPES = ["int1", *INTS, *FLOATS]
POISON = 0xCB


def extents(count: int) -> dict[str, int]:
    """The arguments of a kernel that computes COUNT elements with a tile of N."""
    return {"COUNT": count, "N": count}


def is_float(dtype: str) -> bool:
    return dtype in FORMATS


def is_signed(dtype: str) -> bool:
    return dtype in SIGNED


def bits_of(dtype: str) -> int:
    return int(dtype.lstrip("abcdefghijklmnopqrstuvwxyz"))


def storage_type(dtype: str) -> np.dtype:
    """The NumPy type that holds the elements; bfloat16 is held as its bits."""
    names = {"int1": "bool", "bfloat16": "uint16"}
    return np.dtype(names.get(dtype, dtype))


def poisoned(dtype: str, shape: Any) -> np.ndarray:
    """Memory for results that holds no plausible result."""
    kind = storage_type(dtype)
    count = int(np.prod(shape)) * kind.itemsize
    return np.full(count, POISON, np.uint8).view(kind).reshape(shape)


def argument(storage: np.ndarray, dtype: str) -> Any:
    """What is passed to a kernel: the array itself, or a torch view of its memory for bfloat16."""
    if dtype != "bfloat16":
        return storage
    return torch.from_numpy(storage.view(np.int16)).view(torch.bfloat16)


def spacing(magnitude: Any, dtype: str) -> np.ndarray:
    """The distance between neighbouring numbers of the type around each magnitude."""
    form = FORMATS[dtype]
    finite = np.where(np.isfinite(magnitude), np.abs(magnitude), 0)
    exponent = np.frexp(np.maximum(finite, np.finfo(np.float64).tiny))[1] - 1
    exponent = np.clip(exponent, form.smallest_exponent, None) - form.mantissa
    return np.ldexp(np.ones_like(finite), exponent)


def round_to(values: Any, dtype: str) -> np.ndarray:
    """Numbers rounded once, to nearest even, to those of a float type; as wide as they came."""
    values = np.asarray(values)
    if values.dtype.kind == "O":
        return np.array([round_integer(v, dtype) for v in values.ravel()]).reshape(values.shape)
    values = values if values.dtype == np.longdouble else values.astype(np.float64)
    if dtype == "float64":
        return values.astype(np.float64)
    quantum = spacing(values, dtype)
    with np.errstate(all="ignore"):
        rounded = np.where(np.isfinite(values), np.rint(values / quantum) * quantum, values)
    overflows = np.isfinite(rounded) & (np.abs(rounded) > FORMATS[dtype].largest)
    return np.where(overflows, np.copysign(np.inf, rounded), rounded)


def round_integer(value: int, dtype: str) -> float:
    """A Python integer of any size rounded once to a float type."""
    value = int(value)
    excess = max(abs(value).bit_length() - FORMATS[dtype].mantissa - 1, 0)
    quotient, remainder = divmod(abs(value), 1 << excess)
    half = (1 << excess) >> 1
    quotient += remainder > half or (excess > 0 and remainder == half and quotient & 1)
    rounded = float(quotient << excess)
    rounded = np.inf if rounded > FORMATS[dtype].largest else rounded
    return -rounded if value < 0 else rounded


def wrap(values: Any, dtype: str) -> np.ndarray:
    """Python integers reduced to the range of an integer type."""
    bits, signed = bits_of(dtype), is_signed(dtype)
    low = -(1 << (bits - 1)) if signed else 0
    reduce_one = np.frompyfunc(lambda v: (int(v) - low) % (1 << bits) + low, 1, 1)
    return np.asarray(reduce_one(np.asarray(values, object)), object)


def encode(values: Any, dtype: str) -> np.ndarray:
    """Numbers as stored elements: integers wrap, floats are rounded once."""
    if dtype == "int1":
        return np.asarray(values).astype(bool)
    if not is_float(dtype):
        return wrap(values, dtype).astype(storage_type(dtype))
    rounded = round_to(values, dtype)
    with np.errstate(all="ignore"):
        if dtype == "bfloat16":
            return (rounded.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        return rounded.astype(storage_type(dtype))


def decode(storage: np.ndarray, dtype: str) -> np.ndarray:
    """Stored elements as numbers: float64, or Python integers."""
    if dtype == "bfloat16":
        return (storage.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if is_float(dtype):
        return storage.astype(np.float64)
    if dtype == "int1":
        return storage.astype(np.uint8).astype(object)
    return storage.astype(object)


def edges(dtype: str) -> np.ndarray:
    """Numbers at which operations go wrong, as stored elements."""
    if dtype == "int1":
        return np.array([False, True])
    if not is_float(dtype):
        bits = bits_of(dtype)
        top = (1 << (bits - 1)) - 1 if is_signed(dtype) else (1 << bits) - 1
        low = -(1 << (bits - 1)) if is_signed(dtype) else 0
        return encode([0, 1, 2, 3, 7, top, top - 1, low, low + 1, -1, -2], dtype)
    form = FORMATS[dtype]
    tiny = 2.0**form.smallest_exponent
    positive = [0.0, 1.0, 0.5, 1.5, 2.5, 3.0, tiny, tiny / 2, form.largest, np.inf, 100.0, 1e4]
    return encode(np.array([*positive, *(-x for x in positive), np.nan]), dtype)


def draw(
    rng: np.random.Generator, dtype: str, shape: Any, low: float = -4, high: float = 4
) -> np.ndarray:
    """Random elements: floats from [low, high), integers with random bits, truth values."""
    if dtype == "int1":
        return rng.integers(0, 2, shape).astype(bool)
    if is_float(dtype):
        return encode(rng.uniform(low, high, shape), dtype)
    count = int(np.prod(shape)) * (bits_of(dtype) // 8)
    return np.frombuffer(rng.bytes(count), storage_type(dtype)).reshape(shape).copy()


def draw_wide(rng: np.random.Generator, dtype: str, count: int) -> np.ndarray:
    """Random floats of all magnitudes and signs."""
    form = FORMATS[dtype]
    top = np.log2(form.largest) - 1
    exponents = rng.uniform(form.smallest_exponent - form.mantissa, top, count)
    return encode(np.exp2(exponents) * rng.choice([-1.0, 1.0], count), dtype)


def assert_equal(actual: np.ndarray, expected: Any, dtype: str, what: str = "") -> None:
    """Every element must be exactly the expected number (NaN for NaN; the sign of 0 is free)."""
    numbers, wanted = decode(actual, dtype), decode(encode(expected, dtype), dtype)
    same = numbers == wanted
    if is_float(dtype):
        same = same | (np.isnan(numbers) & np.isnan(wanted))
    report(np.asarray(same, bool), numbers, wanted, what)


def assert_close(
    actual: np.ndarray, expected: Any, dtype: str, ulps: float, absolute: Any = 0.0, what: str = ""
) -> None:
    """Every element must be within `ulps` units in the last place, plus `absolute`.

    Infinities and NaN must agree; a result next to the overflow threshold may lie on either side.
    """
    numbers, wanted = decode(actual, dtype), np.asarray(expected)
    # A correctly rounded result is half a unit away from the exact one.
    tolerance = max(ulps, 0.5) * (1 + 2.0**-12) * spacing(wanted, dtype) + absolute
    with np.errstate(all="ignore"):
        close = np.abs(numbers - wanted) <= tolerance
        limit = np.abs(np.where(np.isfinite(wanted), wanted, np.inf)) + tolerance
    overflows = np.isinf(numbers) & (limit > FORMATS[dtype].largest)
    saturates = np.abs(numbers) >= FORMATS[dtype].largest * (1 - 2.0**-6 * (ulps > 1))
    beyond = np.isfinite(wanted) & (np.abs(wanted) > FORMATS[dtype].largest)
    same_sign = np.signbit(numbers) == np.signbit(wanted)
    ok = close | (numbers == wanted) | (np.isnan(numbers) & np.isnan(wanted))
    ok |= (overflows | (beyond & saturates)) & same_sign & ~np.isnan(wanted)
    report(ok, numbers, wanted, what)


def report(ok: np.ndarray, actual: np.ndarray, expected: np.ndarray, what: str) -> None:
    """Fails with the first wrong elements."""
    if ok.all():
        return
    wrong = np.argwhere(~np.atleast_1d(ok))
    lines = [
        f"  at {tuple(int(i) for i in index)}: {np.atleast_1d(actual)[tuple(index)]!r}, "
        f"expected {np.atleast_1d(expected)[tuple(index)]!r}"
        for index in wrong[:5]
    ]
    summary = f"{what}: {len(wrong)} of {ok.size} elements are wrong"
    raise AssertionError("\n".join([summary, *lines]))
