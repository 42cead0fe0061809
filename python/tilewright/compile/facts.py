"""What a kernel is compiled to assume of an argument: its facts."""

from __future__ import annotations

import os
import re
import threading
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakValueDictionary

from ..language.dtypes import dtype
from ..native.lazy import lazy_attribute
from ..native import at_load, native


class Fact(NamedTuple):
    """A fact that is true or false: a row of runtime/arguments/ArgumentFacts.def."""

    of_pointers: bool  # else of integers
    name: str
    attribute: str  # of a kernel's arguments in Tile IR where it is true
    usual: bool
    text: str  # what signatures write where the value is not the usual one
    use: str  # "assumed", "provided", "noted" or "advice"
    part: str  # that guards look at; empty where there is none
    needs: str  # what the guard asks of it: "not negative"
    rule: str  # C's expression that decides it, by `bits` and `width` of an integer

    def allows(self, compiled: bool, given: bool) -> bool:
        """Tell whether a binary that was compiled for one value is right for another."""
        return {"assumed": given >= compiled, "provided": given <= compiled}.get(self.use, True)


# Facts that are true or false with their values, in the order of the rows.
Changes = tuple[tuple[str, bool], ...]


@cache
def integer_rules() -> dict[str, Fact]:
    """The facts of integers that a binary may assume of a value that it does not know, by name."""
    return {
        fact.name: fact
        for fact in fact_rows()
        if not fact.of_pointers and fact.use == "assumed" and fact.name != "is_one"
    }


@cache
def fact_rows() -> tuple[Fact, ...]:
    """All facts that are true or false, in the order of signatures' texts."""
    return tuple(Fact(*row) for row in native().argument_facts())


class Facts:
    """What a kernel is compiled to assume of one argument. Equal facts are the same object, so that
    the key of a launch is hashed and compared by identity."""

    def __init__(
        self, is_pointer: bool, type: str, divisibility: int, is_read_only: bool, place: str,
        values: tuple[bool, ...], equals: int | None = None,
    ) -> None:  # fmt: skip
        self.is_pointer = is_pointer
        self.type = type  # "i32", "fp32", ...; of a pointer the pointee
        self.divisibility = divisibility
        self.is_read_only = is_read_only  # no part of the specialization: checked before the launch
        self.place = place  # the GPU that a pointer's memory is on, by name; empty: the host
        self.equals = equals  # an integer's very value: the binary computes with it as with an argument
        for fact, value in zip(fact_rows(), values):
            setattr(self, fact.name, value)  # is_one, is_disjoint, ...

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> bool: ...

    def but(self, **changes: Any) -> Facts:
        """The same argument where some facts, types or places are others. Its very value is forgotten."""
        names = ("is_pointer", "type", "divisibility", "is_read_only", "place")
        fields = [changes.pop(name, getattr(self, name)) for name in names]
        values = tuple(changes.pop(fact.name, getattr(self, fact.name)) for fact in fact_rows())
        if changes:
            raise TypeError(f"arguments have no {', '.join(changes)}")
        return _facts(*fields, values)

    @lazy_attribute
    def zero_dim(self) -> Facts:
        """The same pointer to a 0-d array."""
        return self.but(is_zero_dim=True)

    def on(self, place: str) -> Facts:
        """The same with a pointer's memory on a GPU, by its name; an empty one is the host."""
        return self.but(place=place) if self.is_pointer and place else self

    @lazy_attribute
    def unaligned(self) -> Facts:
        """The same without divisibility."""
        return self.but(divisibility=1)

    @lazy_attribute
    def general(self) -> Facts:
        """Only the type, and of pointers what a launch finds out of their memory at no cost."""
        return self.but(divisibility=1, is_streaming=False) if self.is_pointer else scalar_facts(self.type)

    @property
    def known(self) -> int | None:
        """The value that the binary has for the argument, if it has one."""
        return 1 if self.is_one else self.equals

    def with_memory_of(self, given: Facts) -> Facts:
        """Keep what a binary for this pointer may still assume where it is given another one."""
        pairs = ((fact, getattr(given, fact.name)) for fact in fact_rows() if fact.of_pointers)
        weakening = {"assumed": False, "provided": True, "noted": True}
        return self.but(**{f.name: value for f, value in pairs if weakening.get(f.use) == value})

    def admits(self, given: Facts) -> bool:
        """Tell whether a binary that was compiled for these facts is right for another argument's."""
        if given is self:
            return True
        same = (self.is_pointer, self.type, self.place) == (given.is_pointer, given.type, given.place)
        return (
            same
            and given.divisibility % self.divisibility == 0
            and given.is_read_only <= self.is_read_only
            and all(f.allows(getattr(self, f.name), getattr(given, f.name)) for f in fact_rows())
        )

    def __str__(self) -> str:
        if self.known is not None:
            return f"{self.type}:1" if self.is_one else f"{self.type}:={self.equals}"
        words = [f"*{self.type}" if self.is_pointer else self.type]
        if self.divisibility > 1:
            words.append(str(self.divisibility))
        rows = (fact for fact in fact_rows() if fact.of_pointers == self.is_pointer)
        return ":".join([*words, *(f.text for f in rows if getattr(self, f.name) != f.usual)])


_known_facts: dict[tuple[Any, ...], Facts] = {}


def _facts(*fields: Any) -> Facts:
    known = _known_facts.get(fields)
    return known or _known_facts.setdefault(fields, Facts(*fields))


def _values(changes: Changes) -> tuple[bool, ...]:
    """The values of all rows, where those that are not given are the usual ones."""
    given = dict(changes)
    return tuple(given.get(fact.name, fact.usual) for fact in fact_rows())


@cache
def changed(facts: Facts, changes: Changes) -> Facts:
    """The same argument where some facts are others."""
    return facts.but(**dict(changes))


@cache
def scalar_facts(type: str, divisibility: int = 1, changes: Changes = ()) -> Facts:
    """The facts of a number."""
    return _facts(False, type, divisibility, False, "", _values(changes))


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
    divisibility, changes = native().integer_facts(value, bits)
    values = _values((*changes, ("is_one", False)))  # its value says so
    made = Facts(False, type, divisibility, False, "", values, equals=value)
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


@cache
def pointer_facts(
    pointee: str, divisibility: int = 1, changes: Changes = (), is_read_only: bool = False
) -> Facts:
    """The facts of an array."""
    return _facts(True, pointee, divisibility, is_read_only, "", _values(changes))


def facts_of_memory(
    pointee: str, address: int, size: int, is_read_only: bool = False, is_zero_dim: bool = False
) -> Facts:
    """The facts of an array of so many bytes."""
    facts = pointer_facts(pointee, *native().pointer_facts(address, size), is_read_only)
    return facts.zero_dim if is_zero_dim else facts


def parse_facts(text: str) -> Facts:
    """The facts that a signature entry names: `i32`, `i32:16`, `i32:1`, `i32:16:nonneg`, `i32:=48`,
    `*fp32:16:stream:overlap:large`, `*fp32:0d`.

    Raises ValueError for anything else.
    """
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"{text!r} is not a signature entry such as i32 or *fp32:16")
    type_name, *rest = text.replace(" ", "").split(":")
    if rest and rest[0][:1] == "=":
        if not re.fullmatch(r"=-?[0-9]{1,20}", ":".join(rest)):
            raise ValueError(f"{text!r} is not a signature entry such as i32:=48")
        return exact_facts(dtype(type_name).short_name, int(rest[0][1:]))
    is_pointer, is_const = type_name.startswith("*"), type_name.startswith("*k")
    element = dtype(type_name.lstrip("*").removeprefix("k")).short_name
    element = f"k{element}" if is_const else element  # nothing is stored through the pointer
    is_integer = not is_pointer and element[0] in "iu"
    rows = {fact.text: fact for fact in fact_rows() if fact.of_pointers == is_pointer}
    numbers = [part for part in rest if part in ("1", "16")]
    names = {*rest} - {*numbers}
    is_fitting = is_pointer or is_integer or not rest
    if len(numbers) > 1 or not names <= rows.keys() or not is_fitting or type_name.startswith("**"):
        raise ValueError(f"{text!r} is not a signature entry such as i32, i32:16 or *fp32:16")
    divisibility = int(numbers[0]) if numbers else 1
    if not is_pointer and divisibility == 1 and numbers:
        return integer_facts(element, 1)
    changes = tuple((rows[name].name, not rows[name].usual) for name in names)
    return _facts(is_pointer, element, divisibility, False, "", _values(changes))
