"""Values of the pseudo-code for all lanes at once: numbers of a kind and of so many bits."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

FLOATS = {16: np.float16, 32: np.float32, 64: np.float64}
UNSIGNED = {16: np.uint16, 32: np.uint32, 64: np.uint64}


class Value(NamedTuple):
    """Of each lane a number: `u`, `i` and `b` are kept as the bits in 64, `f` as floats."""

    kind: str
    bits: int
    data: np.ndarray

    @property
    def signed(self) -> np.ndarray:
        """The numbers of an integer as signed ones of 64 bits."""
        spare = np.uint64(64 - self.bits)
        return (self.data << spare).view(np.int64) >> spare.view(np.int64)

    @property
    def number(self) -> np.ndarray:
        """The numbers, whatever the kind."""
        if self.kind == "f":
            return self.data
        return self.signed if self.kind == "i" else self.data

    @property
    def raw(self) -> np.ndarray:
        """The bits."""
        if self.kind != "f":
            return self.data
        data = np.ascontiguousarray(self.data)
        return data.view(UNSIGNED[self.bits]).astype(np.uint64)

    @property
    def truth(self) -> np.ndarray:
        return self.data != 0


def mask_of(bits: int) -> np.uint64:
    return np.uint64((1 << bits) - 1 if bits < 64 else 0xFFFFFFFFFFFFFFFF)


def integer(kind: str, bits: int, data: Any) -> Value:
    """An integer of so many bits; those above are cut off."""
    array = np.atleast_1d(np.asarray(data))
    wide = array.view(np.uint64) if array.dtype == np.int64 else array.astype(np.uint64)
    return Value(kind, bits, wide & mask_of(bits))


def floating(bits: int, data: Any) -> Value:
    return Value("f", bits, np.atleast_1d(np.asarray(data)).astype(FLOATS[bits]))


def of_bits(kind: str, bits: int, raw: np.ndarray) -> Value:
    """Bits seen as a number of a kind."""
    if kind != "f":
        return integer(kind, bits, raw)
    cut = (raw & mask_of(bits)).astype(UNSIGNED[bits])
    return Value("f", bits, np.ascontiguousarray(cut).view(FLOATS[bits]))


def truth(data: Any) -> Value:
    return integer("u", 1, np.asarray(data, bool))


def convert(kind: str, bits: int, value: Value) -> Value:
    """A number as one of another kind: `64'U(x)`, or what an assignment to a typed place does."""
    if kind == "b" or (kind != "f" and value.kind != "f"):
        data = value.signed if value.kind == "i" else value.raw
        return integer(kind, bits, data)
    if kind == "f":
        return floating(bits, value.number) if value.kind in "fui" else of_bits("f", bits, value.raw)
    low, high = (0, 2**bits) if kind == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1))
    return integer(kind, bits, saturated(value.data, low, high - 1))


def saturated(data: np.ndarray, low: int, high: int) -> np.ndarray:
    """Floats to integers, to zero, into a range; what is not a number is 0."""
    wide = np.nan_to_num(np.trunc(data.astype(np.float64)), nan=0.0, posinf=1e300, neginf=-1e300)
    whole = [min(max(int(each), low), high) for each in wide.ravel()]
    kind = np.int64 if low < 0 else np.uint64
    return np.array(whole, kind).reshape(wide.shape)
