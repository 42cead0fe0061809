"""Puts the run-time parts of tuples and objects among the arguments, behind the parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, cast

from ..capture.values import Part
from ..language.marks import AGGREGATE
from .arguments import Parts, Reading



class ArrayClass(NamedTuple):
    """How a class that annotates a parameter, as `tw.Tensor`, makes several arguments of an array."""

    read: Callable[[Any], Reading]  # reads an argument
    described: Callable[[Parts, Any], Parts]  # takes an entry of a signature; raises ValueError


# The attribute of such a class that has them.
ARRAY_CLASS = "__tilewright_array_class__"


def spread_parts(
    names: tuple[str, ...], values: tuple[Any, ...], facts: list[Any], bits: list[Any]
) -> tuple[Any, ...]:
    """Put the parts of tuples behind the parameters, in place of `facts` and `bits`; the values of all of
    them."""
    all_values = list(values)
    for index, found in enumerate(bits[: len(names)]):
        if type(found) is not Parts:
            continue
        first, place = len(all_values) - len(names), found.placed
        all_values[index] = (
            place(first, names[index]) if place else renumbered(found.constant, first, names[index])
        )
        bits[index] = None
        facts.extend(found.facts)
        bits.extend(found.bits)
        all_values.extend(found.values)
    return tuple(all_values)


def part_names(values: Iterable[Any]) -> Iterable[str]:
    """The names of the parts that constants refer to, in order."""
    for value in values:
        if isinstance(value, Part):
            yield value.name
        elif hasattr(type(value), AGGREGATE):
            yield from part_names(vars(value).values())
        elif isinstance(value, tuple):
            yield from part_names(cast("tuple[Any, ...]", value))


def entry_of(constant: Any, parts: Sequence[Any]) -> Any:
    """What a signature has for a parameter of several parts, as in ("*fp32:16", ("i32", "i32:1")), by the
    facts of all parts of the launch; None where an item is another value, which signatures cannot name."""
    if isinstance(constant, Part):
        return str(parts[constant.index])
    items: Any = constant
    if hasattr(cast(object, type(constant)), ARRAY_CLASS):
        items = tuple(vars(constant).values())
    if not isinstance(items, tuple) or hasattr(cast(object, items), "_fields"):
        return None
    entries = tuple(entry_of(item, parts) for item in cast("tuple[Any, ...]", items))
    return None if None in entries else entries


def renumbered(constant: Any, first: int, name: str) -> Any:
    """The constant of a parameter, whose parts stand among all of a launch from number `first` on."""
    if isinstance(constant, Part):
        return Part(first + constant.index, name + constant.name)
    if hasattr(cast(object, type(constant)), AGGREGATE):
        return type(constant)(*(renumbered(item, first, name) for item in vars(constant).values()))
    if isinstance(constant, tuple):
        items = [renumbered(item, first, name) for item in cast("tuple[Any, ...]", constant)]
        has_fields = hasattr(cast(object, constant), "_fields")
        return cast(Any, constant)._make(items) if has_fields else tuple(items)
    return constant
