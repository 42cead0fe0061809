"""Reads launch arguments: what a kernel may assume of each (its facts) and the bits to pass."""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import Any, cast

from ...capture.values import Part
from ...compile.facts import Facts, made_exact, parse_facts, scalar_facts
from ...language.dtypes import dtype
from ...language.static import constexpr
from ...native import native
from ...native.above import above
from .constants import read_constant
from .problems import ArgumentProblem, Reading
from .reinterpreted import Reinterpreted

# Objects that are passed as tuples of their parts.
SPREADERS: dict[type, Callable[[Any], tuple[Any, ...]]] = {}


class Parts:
    """A tuple as several arguments: its run-time parts, and a constant that says where they are."""

    def __init__(self) -> None:
        self.constant: Any = None  # the tuple with a `Part` in the place of each
        self.facts: list[Any] = []
        self.values: list[Any] = []
        self.bits: list[Any] = []
        # (number of the first part, name of the parameter) -> the constant with such parts, where it is kept
        self.placed: Callable[[int, str], Any] | None = None

    def exact(self) -> Parts:
        """The same parts with integers of known values."""
        self.facts = [made_exact(fact, bits) for fact, bits in zip(self.facts, self.bits)]
        return self

    def generalized(self, changed: Callable[[Facts], Facts]) -> Parts:
        """The same parts with other facts."""
        self.facts = [changed(fact) for fact in self.facts]
        return self

    def add(self, value: Any, path: str) -> tuple[Any, Any]:
        """The key of an item and what stands for it in the constant."""
        if spread := SPREADERS.get(type(value)):
            value = spread(value)
        if isinstance(value, (tuple, list)):
            return self._add_items(cast("Sequence[Any]", value), path)
        fact, bit = read_argument(value)
        if not isinstance(fact, Facts):
            return fact, value
        self.facts.append(fact)
        self.values.append(value)
        self.bits.append(bit)
        return Part, Part(len(self.facts) - 1, path)

    def add_entries(self, entries: Sequence[Any], path: str, place: str) -> tuple[Any, Any]:
        """The same of the entries of a signature, as in ("*fp32:16", "i32"), whose pointers are to
        memory on `place`."""
        pairs: list[tuple[Any, Any]] = []
        for index, entry in enumerate(entries):
            name = f"{path}[{index}]"
            if isinstance(entry, (tuple, list)):
                pairs.append(self.add_entries(cast("Sequence[Any]", entry), name, place))
                continue
            self.facts.append(parse_facts(entry).on(place))
            self.values.append(None)
            self.bits.append(None)
            pairs.append((Part, Part(len(self.facts) - 1, name)))
        return (tuple, None, *(key for key, _ in pairs)), tuple(c for _, c in pairs)

    def _add_items(self, items: Sequence[Any], path: str) -> tuple[Any, Any]:
        fields: tuple[str, ...] | None = getattr(items, "_fields", None)
        names = [f".{name}" for name in fields] if fields else [f"[{i}]" for i in range(len(items))]
        pairs = [self.add(item, path + name) for item, name in zip(items, names)]
        key = (tuple, fields, *(key for key, _ in pairs))
        constants = [constant for _, constant in pairs]
        return key, cast(Any, items)._make(constants) if fields else tuple(constants)


def read_tuple(value: Any) -> Reading:
    """The key of a tuple and its parts; a constant where nothing in it is known at run time only."""
    parts = Parts()
    key, parts.constant = parts.add(value, "")
    return (key, parts) if parts.facts else read_constant(value)


def _read_int(value: int) -> Reading:
    reading: Reading | None = native().read_integer(value)
    if reading is None:
        raise ArgumentProblem("TW0407", f"the integer {value} does not fit in 64 bits")
    return reading


def _read_bool(value: bool) -> Reading:
    return scalar_facts("i1"), value


def _read_float(value: float) -> Reading:
    return scalar_facts("fp32"), value


def _read_reinterpreted(value: Reinterpreted) -> Reading:
    facts, bits = read_argument(value.base)
    if not isinstance(facts, Facts) or not facts.is_pointer:
        raise ArgumentProblem("TW0405", "only arrays can be reinterpreted as another dtype")
    if dtype(facts.type).itemsize != value.dtype.itemsize:
        raise ArgumentProblem(
            "TW0406", f"elements of {facts.type} cannot be taken for {value.dtype}: sizes differ"
        )
    return facts.but(type=value.dtype.short_name), bits


# How arguments of exactly a type are read; read_argument fills it for subclasses and libraries.
READERS: dict[type, Callable[[Any], Reading]] = {
    int: _read_int,
    bool: _read_bool,
    float: _read_float,
    Reinterpreted: _read_reinterpreted,
    **{kind: read_constant for kind in (type(None), str, constexpr, dtype)},
    tuple: read_tuple,
    list: read_tuple,
    **{kind: read_constant for kind in (types.FunctionType, types.BuiltinFunctionType, type)},
}


def read_argument(value: Any) -> Reading:
    """The facts and bits of an argument, or the key of a constant and the constant."""
    reader = READERS.get(type(value))
    if reader is None:
        reader = READERS[type(value)] = _find_reader(type(value), value)
    return reader(value)


def make_reader(readers: Sequence[Callable[[Any], Reading]]) -> Callable[[tuple[Any, ...]], Any]:
    """What reads a kernel's arguments at once where they are numbers, constants and torch tensors; it
    gives None for all others, and for tensors that overlap or are large."""
    modes = {read_argument: 0, read_constant: 1}
    return native().make_reader(
        [modes.get(reader, 2) for reader in readers], tuple(readers), (scalar_facts("i1"), scalar_facts("fp32"))
    )


def _find_reader(kind: type, value: Any) -> Callable[[Any], Reading]:
    above("register_library")(kind)
    for cls in kind.__mro__:
        if cls in READERS:
            return READERS[cls]
    return read_constant if hasattr(kind, "__tilewright_jit__") else above("reader_of_array")(kind, value)
