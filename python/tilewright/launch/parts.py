"""Puts the run-time parts of tuples and objects among the arguments, behind the parameters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

from ..capture.values import Part
from ..language.marks import AGGREGATE
from .arguments import Parts

# The attribute of `tw.Tensor`, by which it is known without an import of the class.
IS_TENSOR = "__tilewright_tensor__"


def spread_parts(
    names: tuple[str, ...], values: tuple[Any, ...], facts: list[Any], bits: list[Any]
) -> tuple[tuple[str, ...], tuple[Any, ...]]:
    """Put the parts of tuples behind the parameters, in place of `facts` and `bits`; the names and
    values of all of them."""
    all_names, all_values = list(names), list(values)
    for index, found in enumerate(bits[:]):
        if type(found) is not Parts:
            continue
        first = len(all_names) - len(names)
        all_values[index] = _renumbered(found.constant, first, names[index])
        bits[index] = None
        facts.extend(found.facts)
        bits.extend(found.bits)
        all_values.extend(found.values)
        all_names.extend(names[index] + path for path in found.paths)
    return tuple(all_names), tuple(all_values)


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
    if hasattr(cast(object, type(constant)), IS_TENSOR):
        items = tuple(vars(constant).values())
    if not isinstance(items, tuple) or hasattr(cast(object, items), "_fields"):
        return None
    entries = tuple(entry_of(item, parts) for item in cast("tuple[Any, ...]", items))
    return None if None in entries else entries


def _renumbered(constant: Any, first: int, name: str) -> Any:
    if isinstance(constant, Part):
        return Part(first + constant.index, name + constant.name)
    if hasattr(cast(object, type(constant)), AGGREGATE):
        return type(constant)(*(_renumbered(item, first, name) for item in vars(constant).values()))
    if isinstance(constant, tuple):
        items = [_renumbered(item, first, name) for item in cast("tuple[Any, ...]", constant)]
        has_fields = hasattr(cast(object, constant), "_fields")
        return cast(Any, constant)._make(items) if has_fields else tuple(items)
    return constant
