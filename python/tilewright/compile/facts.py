"""What a kernel is compiled to assume of an argument: its facts."""

from __future__ import annotations

import os
import re
import threading
from typing import Any
from weakref import WeakValueDictionary

from ..language.dtypes import dtype
from ..native.lazy import lazy_attribute
from ..native import at_load, native


class Facts:
    """What a kernel is compiled to assume of one argument. Equal facts are the same object, so that
    the key of a launch is hashed and compared by identity."""

    def __init__(
        self, is_pointer: bool, type: str, divisibility: int, is_one: bool,
        is_streaming: bool, is_read_only: bool, is_disjoint: bool = True, place: str = "",
        is_non_negative: bool = False, is_large: bool = False, is_zero_dim: bool = False,
        equals: int | None = None,
    ) -> None:  # fmt: skip
        self.is_pointer = is_pointer
        self.type = type  # "i32", "fp32", ...; of a pointer the pointee
        self.divisibility = divisibility
        self.is_one = is_one
        self.is_streaming = is_streaming
        self.is_disjoint = is_disjoint  # no other argument's memory overlaps a pointer's
        self.is_read_only = is_read_only  # no part of the specialization: checked before the launch
        self.is_non_negative = is_non_negative  # an integer's, as a signed number
        self.is_large = is_large  # 32-bit offsets do not reach all of a pointer's memory
        self.is_zero_dim = is_zero_dim  # a pointer's array is 0-d, which may be meant as a number
        self.equals = equals  # an integer's very value: the binary computes with it as with an argument
        self.place = place  # the GPU that a pointer's memory is on, by name; empty: the host

    def _pointer(self, **changes: Any) -> Facts:
        """The same pointer with some facts changed."""
        given = {name: changes.get(name, getattr(self, name)) for name in _OF_POINTERS}
        return _facts(*given.values())

    @lazy_attribute
    def overlapping(self) -> Facts:
        """The same pointer where another argument's memory may overlap its own."""
        return self._pointer(is_disjoint=False)

    @lazy_attribute
    def large(self) -> Facts:
        """The same pointer to memory that 32-bit offsets do not reach all of."""
        return self._pointer(is_large=True)

    @lazy_attribute
    def zero_dim(self) -> Facts:
        """The same pointer to a 0-d array."""
        return self._pointer(is_zero_dim=True)

    def as_type(self, pointee: str) -> Facts:
        """The same pointer to elements of another type."""
        return self._pointer(type=pointee)

    def on(self, place: str) -> Facts:
        """The same with a pointer's memory on a GPU, by its name; an empty one is the host."""
        if not self.is_pointer or not place:
            return self
        return self._pointer(place=place)

    @lazy_attribute
    def unaligned(self) -> Facts:
        """The same without divisibility."""
        if self.is_pointer:
            return self._pointer(divisibility=1)
        return scalar_facts(self.type, 1, self.is_one, self.is_non_negative)

    @lazy_attribute
    def general(self) -> Facts:
        """Only the type, and whether a pointer's array is 0-d, which kernels may refuse."""
        if self.is_pointer:
            return self._pointer(divisibility=1, is_streaming=False)
        return scalar_facts(self.type)

    @property
    def known(self) -> int | None:
        """The value that the binary has for the argument, if it has one."""
        return 1 if self.is_one else self.equals

    def __str__(self) -> str:
        if self.equals is not None:
            return f"{self.type}:={self.equals}"
        text = f"*{self.type}" if self.is_pointer else self.type
        text += ":1" if self.is_one else f":{self.divisibility}" if self.divisibility > 1 else ""
        text += ":nonneg" if self.is_non_negative and not self.is_one else ""
        text += ":overlap" if not self.is_disjoint else ""
        text += ":large" if self.is_large else ""
        text += ":0d" if self.is_zero_dim else ""
        return text + (":stream" if self.is_streaming else "")


# The fields of pointers in the order of the constructor.
_OF_POINTERS = (
    "is_pointer", "type", "divisibility", "is_one", "is_streaming", "is_read_only", "is_disjoint",
    "place", "is_non_negative", "is_large", "is_zero_dim",
)  # fmt: skip
_known_facts: dict[tuple[Any, ...], Facts] = {}


def _facts(*fields: Any) -> Facts:
    known = _known_facts.get(fields)
    return known or _known_facts.setdefault(fields, Facts(*fields))


def scalar_facts(
    type: str, divisibility: int = 1, is_one: bool = False, is_non_negative: bool = False
) -> Facts:
    """The facts of a number."""
    sign = is_non_negative or is_one
    return _facts(False, type, divisibility, is_one, False, False, True, "", sign)


# The native module makes the facts of integers by it.
at_load(lambda module: module.set_integer_facts(scalar_facts))

# They last as long as a kernel or a launch has them: there is one for each value.
_exact_facts: WeakValueDictionary[tuple[str, int], Facts] = WeakValueDictionary()
_exact_lock = threading.Lock()


def _renew_lock() -> None:
    global _exact_lock
    _exact_lock = threading.Lock()


os.register_at_fork(after_in_child=_renew_lock)  # another thread may have held it


def exact_facts(type: str, value: int) -> Facts:
    """The facts of an integer whose very value is known. Raises ValueError for one that the type does not
    have."""
    key = type, value
    known = _exact_facts.get(key)
    if known is not None:
        return known
    bits, is_signed = dtype(type).primitive_bitwidth, type[0] == "i"
    least = -(1 << (bits - 1)) if is_signed else 0
    if type[0] not in "iu" or type == "i1" or not least <= value < least + (1 << bits):
        raise ValueError(f"{type} has no value {value}")
    divisibility, _, is_non_negative = native().integer_facts(value, bits)
    made = Facts(
        False, type, divisibility, False, False, False,
        is_non_negative=is_non_negative, equals=value,
    )  # fmt: skip
    with _exact_lock:
        return _exact_facts.setdefault(key, made)


def made_exact(facts: Facts, value: Any) -> Facts:
    """The facts of an argument where integers' values are known. The number 1 is so already."""
    if facts.is_pointer or facts.is_one or facts.type not in _INTEGERS:
        return facts
    return exact_facts(facts.type, int(value))


# What Python's integers are passed as.
_INTEGERS = ("i32", "i64", "u64")


def integer_facts(type: str, value: int) -> Facts:
    """The facts of an integer. Of unsigned types the large half is negative as a signed number."""
    return scalar_facts(type, *native().integer_facts(value, dtype(type).primitive_bitwidth))


def pointer_facts(
    pointee: str, divisibility: int = 1, is_streaming: bool = False, is_read_only: bool = False
) -> Facts:
    """The facts of an array."""
    return _facts(
        True, pointee, divisibility, False, is_streaming, is_read_only, True, "", False, False, False
    )


def facts_of_memory(
    pointee: str, address: int, size: int, is_read_only: bool = False, is_zero_dim: bool = False
) -> Facts:
    """The facts of an array of so many bytes."""
    divisibility, is_streaming = native().pointer_facts(address, size)
    facts = pointer_facts(pointee, divisibility, is_streaming, is_read_only)
    return facts.zero_dim if is_zero_dim else facts


def parse_facts(text: str) -> Facts:
    """The facts that a signature entry names: `i32`, `i32:16`, `i32:1`, `i32:16:nonneg`, `i32:=48`,
    `*fp32:16:stream:overlap:large`, `*fp32:0d`.

    Raises ValueError for anything else.
    """
    type_name, *rest = text.replace(" ", "").split(":")
    if rest and rest[0][:1] == "=":
        if not re.fullmatch(r"=-?[0-9]{1,20}", ":".join(rest)):
            raise ValueError(f"{text!r} is not a signature entry such as i32:=48")
        return exact_facts(dtype(type_name).short_name, int(rest[0][1:]))
    is_pointer, is_const = type_name.startswith("*"), type_name.startswith("*k")
    element = dtype(type_name.lstrip("*").removeprefix("k")).short_name
    element = f"k{element}" if is_const else element  # nothing is stored through the pointer
    is_non_negative = "nonneg" in rest
    of_arrays = {*rest} & {"stream", "overlap", "large", "0d"}
    numbers = [part for part in rest if part != "nonneg" and part not in of_arrays]
    is_integer = not is_pointer and element[0] in "iu"
    is_valid = len(numbers) <= 1 and {*numbers} <= {"1", "16"} and not type_name.startswith("**")
    is_fitting = is_pointer or not (of_arrays or (numbers and not is_integer))
    if not is_valid or not is_fitting or (is_non_negative and not is_integer):
        raise ValueError(f"{text!r} is not a signature entry such as i32, i32:16 or *fp32:16")
    divisibility = int(numbers[0]) if numbers else 1
    if is_pointer:
        facts = pointer_facts(element, divisibility, "stream" in of_arrays)
        facts = facts.large if "large" in of_arrays else facts
        facts = facts.zero_dim if "0d" in of_arrays else facts
        return facts.overlapping if "overlap" in of_arrays else facts
    return scalar_facts(element, divisibility, numbers == ["1"], is_non_negative)
