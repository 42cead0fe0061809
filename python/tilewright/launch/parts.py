"""Puts the run-time parts of tuples and objects among the arguments, behind the parameters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from ..capture.values import Part
from ..language.marks import AGGREGATE
from .arguments import Parts


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
