"""Numbers and pointers as sums over a tile's axes, loops and the grid, and what operations make of them.

Numbers are integers and floats where the arguments are known, or formulas of the arguments: whatever can
be added, subtracted and multiplied, also with integers."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from .text import Operation

_CASTS = {"arith.extsi", "arith.extui", "arith.trunci", "arith.index_cast", "arith.index_castui"}
# The result of an operation on two numbers that is neither a sum nor a product; None: not known.
Folded = Callable[[Operation, Any, Any], Any]


class Place(NamedTuple):
    """A number, or a tile of numbers or pointers, as a sum: `base` plus the stride of each axis of the
    tile times its index, plus the coefficient of each loop and axis of the grid times its counter. A
    stride or coefficient of None is not known. `array` names the argument that pointers go into."""

    base: Any
    strides: tuple[Any, ...] = ()
    coefficients: Mapping[str, Any] = {}
    array: str = ""


class Comparison(NamedTuple):
    """A part of a mask: `index` compared with `bound` by the predicate, as arith.cmpi names it."""

    index: Place
    bound: Any
    predicate: str


def derived(operation: Operation, inputs: list[Place], folded: Folded) -> Place | None:
    """The result of an operation on numbers and pointers; None where it is not known."""
    name, rank, first = operation.name, len(operation.type.shape), inputs[0]
    if name in _CASTS or name == "tile.broadcast":
        return first
    if name == "tile.splat":
        return first._replace(strides=(0,) * rank)
    if name == "tile.expand_dims":
        axis = operation.number_after("axis")
        return first._replace(strides=(*first.strides[:axis], 0, *first.strides[axis:]))
    if name == "tile.trans":
        order = [int(number) for number in operation.text.split("[")[1].split("]")[0].split(",")]
        return first._replace(strides=tuple(first.strides[axis] for axis in order))
    if len(inputs) != 2 or len(first.strides) != len(inputs[1].strides):
        return None
    if name in ("arith.addi", "tile.addptr"):
        return _sum(first, inputs[1], operator.add)
    if name == "arith.subi":
        return _sum(first, inputs[1], operator.sub)
    if name == "arith.muli":
        return _multiple(first, inputs[1])
    return _unlinear(first, inputs[1], folded(operation, first.base, inputs[1].base))


def _sum(a: Place, b: Place, combine: Callable[[Any, Any], Any]) -> Place:
    def combined(x: Any, y: Any) -> Any:
        return None if x is None or y is None else combine(x, y)

    strides = tuple(map(combined, a.strides, b.strides))
    names = {*a.coefficients, *b.coefficients}
    moved = {n: combined(a.coefficients.get(n, 0), b.coefficients.get(n, 0)) for n in names}
    return Place(combine(a.base, b.base), strides, moved, a.array or b.array)


def _multiple(a: Place, b: Place) -> Place | None:
    """A product, of which one factor is the same number everywhere; else nothing is known of its steps."""
    for x, factor in ((a, b), (b, a)):
        is_known = factor.base == factor.base  # other than NaN
        if is_known and not factor.coefficients and all(stride == 0 for stride in factor.strides):
            strides = tuple(None if s is None else s * factor.base for s in x.strides)
            moved = {n: None if c is None else c * factor.base for n, c in x.coefficients.items()}
            return Place(x.base * factor.base, strides, moved)
    return _unlinear(a, b, a.base * b.base)


def _unlinear(a: Place, b: Place, base: Any) -> Place | None:
    """A number that follows from two otherwise than as a sum or a multiple."""
    if base is None:
        return None
    strides = tuple(0 if x == y == 0 else None for x, y in zip(a.strides, b.strides))
    return Place(base, strides, dict.fromkeys({*a.coefficients, *b.coefficients}))
