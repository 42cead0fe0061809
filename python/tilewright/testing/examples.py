"""Examples of launches: sizes of arrays and values of numbers, in which sizes may name numbers."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..compile import Request
from ..compile.facts import Facts
from ..export.entries import suggestion
from ..language.dtypes import dtype
from ..language.element_types import BY_SHORT_NAME
from ..launch.arguments import reinterpret

SEED = 2026
_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}  # fmt: skip
_FUNCTIONS: dict[str, Callable[..., Any]] = {"cdiv": lambda a, b: -(-a // b), "min": min, "max": max}

Entry = int | float | str
Grid = Callable[[dict[str, Any]], Any] | tuple[Entry, ...]


@dataclass(frozen=True)
class Example:
    """A launch to vary: types of its arrays and numbers by parameter, constants, and an entry for each array
    (elements) and number (value). Entries and the grid may be texts: `M*K`, `cdiv(n, BLOCK)`. `T < V` is an array
    of T elements, integers below V."""

    arrays: Mapping[str, str]
    numbers: Mapping[str, str]
    constants: Mapping[str, Any]
    entries: Mapping[str, Entry]
    grid: Grid

    def with_entries(self, entries: Mapping[str, Entry]) -> Example:
        """The example with other values of some entries."""
        return replace(self, entries={**self.entries, **entries})


def needs(parameters: tuple[str, ...], facts: tuple[Any, ...], given: Collection[str]) -> list[str]:
    """The entries that an example lacks, as NAME=ELEMENTS or NAME=VALUE with their types."""
    return [
        f"{name}=ELEMENTS (*{fact.type})" if fact.is_pointer else f"{name}=VALUE ({fact.type})"
        for name, fact in zip(parameters, facts)
        if isinstance(fact, Facts) and name not in given
    ]


def read_example(request: Request, entries: Mapping[str, Entry], grid: Grid) -> Example:
    """The example of a request's parameters. Raises ValueError for entries that lack or are not known."""
    facts: dict[str, Any] = dict(zip(request.parameters, request.facts))
    constants = {
        name: constant
        for name, fact, constant in zip(request.parameters, request.facts, request.constants)
        if not isinstance(fact, Facts)
    }
    if missing := needs(request.parameters, request.facts, entries):
        raise ValueError(f"an example needs entries for all arguments; missing: {', '.join(missing)}")
    for name in entries:
        if name not in facts or name in constants:
            known = [one for one in facts if one not in constants]
            raise ValueError(f"the example names no argument of the launch: {name}{suggestion(name, known)}")
    arrays = {name: facts[name].type for name in facts if name not in constants and facts[name].is_pointer}
    numbers = {name: facts[name].type for name in facts if name not in constants and name not in arrays}
    example = Example(arrays, numbers, constants, dict(entries), grid)
    sizes_of(example)
    return example


def sizes_of(example: Example) -> dict[str, Any]:
    """The number behind each entry. Raises ValueError for texts that spell none and for negative sizes."""
    values: dict[str, Any] = {**example.constants}
    waiting = {name: entry for name, entry in example.entries.items() if isinstance(entry, str)}
    values.update({name: entry for name, entry in example.entries.items() if name not in waiting})
    while waiting:
        ready = [name for name, text in waiting.items() if not names_in(text) & waiting.keys()]
        if not ready:
            raise ValueError(f"entries of the example name each other: {', '.join(waiting)}")
        for name in ready:
            values[name] = evaluate(_split(waiting.pop(name))[0], values)
    for name in example.arrays:
        count: Any = values[name]
        if not isinstance(count, int) or isinstance(count, bool) or count < 0:
            raise ValueError(f"the example gives the elements of the array {name}, not {count!r}")
    for name in example.arrays:
        if values[name] and limit_of(example, name, values) < 1:
            raise ValueError(f"no integer from 0 is below the limit of the array {name}")
    return {name: values[name] for name in example.entries}


def limit_of(example: Example, name: str, values: Mapping[str, Any]) -> int:
    """The number that an array's integers are below: as its entry says, else the elements of the smallest array."""
    limit = _split(str(example.entries[name]))[1]
    if limit:
        return int(evaluate(limit, values))
    return min((values[one] for one in example.arrays if values[one]), default=1)


def _split(entry: str) -> tuple[str, str]:
    """The size and the limit of `T < V`."""
    size, _, limit = entry.partition("<")
    return size, limit


def names_in(text: Entry) -> set[str]:
    """The names in an entry."""
    if not isinstance(text, str):
        return set()
    nodes = [node for part in _split(text) if part for node in ast.walk(_parse(part))]
    return {node.id for node in nodes if isinstance(node, ast.Name)} - _FUNCTIONS.keys()


def evaluate(text: str, values: Mapping[str, Any]) -> Any:
    """The number that a text of names, numbers, + - * // %, cdiv, min and max spells."""
    try:
        return _value(_parse(text), values)
    except ZeroDivisionError:
        raise ValueError(f"{text!r} divides by 0") from None


def _parse(text: str) -> ast.expr:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise ValueError(f"{text!r} is not a size: M*K, cdiv(n, BLOCK)") from None


def _value(node: ast.expr, values: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=bool() | int() | float() as value):
            return value
        case ast.Name(id=name) if isinstance(values.get(name), (int, float)):
            return values[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, values)
        case ast.BinOp(op=op, left=left, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_value(left, values), _value(right, values))
        case ast.Call(func=ast.Name(id=name), args=[_, *_], keywords=[]) if name in _FUNCTIONS:
            if name != "cdiv" or len(node.args) == 2:
                return _FUNCTIONS[name](*(_value(argument, values) for argument in node.args))
    known = ", ".join(name for name, value in values.items() if isinstance(value, int))
    raise ValueError(f"{ast.unparse(node)!r} is not a size; sizes may name {known or 'nothing here'}")


def grid_of(example: Example) -> tuple[int, ...]:
    """The programs of the launch along each axis. Raises ValueError for anything else."""
    values = {**example.constants, **sizes_of(example)}
    grid: Any = example.grid(values) if callable(example.grid) else example.grid
    parts = [evaluate(part, values) if isinstance(part, str) else part for part in grid]
    for part in parts:
        if not isinstance(part, int) or part < 0:
            raise ValueError(f"a grid has one to three whole numbers, not {part!r}")
    if not 1 <= len(parts) <= 3:
        raise ValueError(f"a grid has one to three whole numbers, not {len(parts)}")
    return tuple(parts)


def arguments_of(example: Example, seed: int = SEED) -> dict[str, Any]:
    """The arguments of the launch: arrays of random numbers, and the values that are given."""
    sizes = sizes_of(example)
    arguments: dict[str, Any] = {**example.constants, **sizes}
    for number, (name, type) in enumerate(example.arrays.items()):
        limit = limit_of(example, name, {**example.constants, **sizes})
        arguments[name] = make_array(type, sizes[name], limit, seed + number)
    return arguments


def make_array(type: str, count: int, limit: int, seed: int) -> Any:
    """A NumPy array of a type: floats around 0, and integers from 0 to below `limit`, which are different as
    long as they can be, so that they may be indices."""
    import numpy

    if type not in BY_SHORT_NAME:
        raise ValueError(f"examples have no arrays of {type}")
    row, rng = BY_SHORT_NAME[type], numpy.random.default_rng(seed)
    if row.is_of_numpy and row.kind == "float":
        return rng.standard_normal(count).astype(row.library)
    if row.is_of_numpy:
        most = 2 if row.kind == "bool" else int(numpy.iinfo(row.library).max)
        return (rng.permutation(count) % min(limit, most)).astype(row.library)
    if row.bits == 16:
        words = (rng.standard_normal(count).astype("float32").view("uint32") >> 16).astype("uint16")
    else:  # no word of infinity or NaN in any format
        words = rng.integers(0, 0x40, count, dtype="uint8") | rng.integers(0, 2, count, dtype="uint8") << 7
    return reinterpret(words, dtype(row.name))
