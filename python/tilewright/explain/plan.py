"""The work of one program as formulas of the kernel's arguments, from its tile operations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..analysis.places import Place
from ..analysis.text import Operation, TileType, read_kernel
from ..analysis.walk import Loop, Walk
from .formulas import Formula, applied, quotient_up
from .locations import Located

_ONE = Formula.of(1)


class Access(NamedTuple):
    """A load or a store of a tile. `strides` are in elements, by axis; None: not known."""

    line: int
    array: str
    type: TileType
    is_store: bool
    is_masked: bool
    strides: tuple[Formula | None, ...]
    trips: Formula
    bounds: tuple[Formula, ...] = ()  # that its mask compares with along consecutive elements

    @property
    def bytes(self) -> Formula:
        """Bytes that one program asks for."""
        return self.trips * int(self.type.bytes)

    @property
    def apart(self) -> Formula | None:
        """How far the closest neighbours lie apart, in elements; None where it is not known."""
        steps = [s for s, extent in zip(self.strides, self.type.shape) if extent > 1]
        if not steps:
            return _ONE
        known = [step for step in steps if step is not None]
        numbers = [abs(step.number) for step in known if step.number is not None and step.number]
        if numbers:
            return Formula.of(min(numbers))
        return known[-1] if known else None


class Product(NamedTuple):
    """A matrix product of an M x K by a K x N tile."""

    line: int
    m: int
    n: int
    k: int
    element: str
    trips: Formula

    @property
    def operations(self) -> Formula:
        """Multiplications and additions."""
        return self.trips * (2 * self.m * self.n * self.k)


class LoopPlan(NamedTuple):
    """A loop of the kernel: how often it runs for each run of what is around it."""

    line: int
    trips: Formula
    loads: int  # directly in it
    products: int


@dataclass
class Plan:
    """Everything that one program does. Of branches all sides count."""

    accesses: list[Access] = field(default_factory=list[Access])
    products: list[Product] = field(default_factory=list[Product])
    loops: list[LoopPlan] = field(default_factory=list[LoopPlan])
    elementwise: Formula = field(default_factory=Formula)  # operations on single floats

    def bytes(self, is_store: bool) -> Formula:
        """Bytes that one program loads or stores."""
        return sum((a.bytes for a in self.accesses if a.is_store == is_store), Formula())

    @property
    def operations(self) -> Formula:
        """Operations on floats of one program."""
        return sum((p.operations for p in self.products), self.elementwise)

    @property
    def intensity(self) -> float | None:
        """Operations for each byte, where loops run often; None where loops hide which decides."""
        moved, done = (self.bytes(False) + self.bytes(True)), self.operations
        if not moved.terms:
            return None
        most = max(len(names) for names in moved.terms)
        deepest = max((len(names) for names in done.terms), default=0)
        if deepest > most:
            return None
        names = moved.leading().terms
        if len(names) != 1 or (deepest == most and set(done.leading().terms) != set(names)):
            return None
        (key, count), = names.items()  # fmt: skip
        return done.terms.get(key, 0) / count


def plan_of(located: Located) -> Plan:
    """The work that a text of the stage tile describes. Raises ValueError and the like for
    texts that are not understood."""
    kernel = read_kernel(located.text)
    walk = _Walk(located)
    for name, argument in kernel.arguments.items():
        walk.known[argument] = Place(Formula.of(name), array=name)
    walk.block(kernel.body)
    return walk.plan


_OPERATORS = {"divsi": "//", "divui": "//", "remsi": "%", "remui": "%", "shli": "<<", "shrsi": ">>"}


class _Walk(Walk):
    """Computes with formulas: arguments, counters and what is not known are names in them."""

    def __init__(self, located: Located) -> None:
        super().__init__()
        self.plan, self.located = Plan(), located

    def program(self, axis: int) -> Place:
        return Place(Formula.of(f"program_id({axis})"))

    def num_programs(self, axis: int) -> Formula:
        return Formula.of(f"num_programs({axis})")

    def trips(self, operation: Operation, bounds: Sequence[Place] | None) -> Formula:
        if bounds is None:
            return Formula.of(f"trips of line {self._line_of_loop(operation)}")
        low, high, step = (Formula.of(bound.base) for bound in bounds)
        return quotient_up(high - low, step)

    def counter(self, operation: Operation, loop: Loop, bounds: Sequence[Place | None]) -> Place:
        return Place(Formula.of(f"counter of line {self._line_of_loop(operation)}"))

    def folded(self, operation: Operation, a: Formula | int, b: Formula | int) -> Formula | None:
        word, a, b = operation.name.removeprefix("arith."), Formula.of(a), Formula.of(b)
        if word.startswith("ceildiv"):
            return quotient_up(a, b)
        if word in ("minsi", "minui", "maxsi", "maxui"):
            return Formula.of(f"{word[:3]}({a}, {b})")
        return applied(_OPERATORS[word], a, b) if word in _OPERATORS else None

    def unknown(self, operation: Operation) -> Place:
        # Numbers that are loaded or computed otherwise are only known by where they come from.
        rank = len(operation.type.shape)
        return Place(Formula.of(f"value of line {self._line(operation)}"), (None,) * rank)

    def entered(self, operation: Operation, loop: Loop) -> None:
        inside = [op.name for op in (*operation.body, *operation.otherwise)]
        counts = inside.count("tile.load"), inside.count("tile.dot")
        self.plan.loops.append(LoopPlan(self._line_of_loop(operation), loop.trips, *counts))

    def found(self, operation: Operation) -> None:
        name, type = operation.name, operation.type
        trips = math.prod((loop.trips for loop in self.loops), start=_ONE)
        if name in ("tile.load", "tile.store") or name.startswith("tile.atomic"):
            self.plan.accesses.append(self._access(operation, trips))
        elif name == "tile.dot":
            self.plan.products.append(Product(self._line(operation), *operation.product, trips))
        elif name == "tile.reduce" or _is_float_arithmetic(operation):
            size = operation.types[0].size if name == "tile.reduce" else type.size
            self.plan.elementwise += trips * size

    def _access(self, operation: Operation, trips: Formula) -> Access:
        place = self.known.get(operation.operands[0]) if operation.operands else None
        place = place or self.unknown(operation)
        near = [axis for axis, step in enumerate(place.strides) if step == 1]
        bounds = (
            Formula.of(bound)
            for index, bound, _ in self.bounds_of(operation)
            if any(axis < len(index.strides) and index.strides[axis] != 0 for axis in near)
        )
        strides = (None if step is None else Formula.of(step) for step in place.strides)
        is_store, is_masked = operation.name != "tile.load", bool(operation.mask)
        return Access(
            self._line(operation), place.array, operation.type, is_store, is_masked, tuple(strides),
            trips, tuple(bounds),
        )  # fmt: skip

    def _line(self, operation: Operation) -> int:
        return self.located.lines[operation.row].source

    def _line_of_loop(self, loop: Operation) -> int:
        """The line of a loop; its location stands behind what closes it."""
        return self.located.lines[loop.closing].source or self._line(loop)


def _is_float_arithmetic(operation: Operation) -> bool:
    is_float = operation.type.element.startswith(("f", "bf"))
    return (
        is_float
        and operation.name.startswith(("arith.", "math."))
        and not operation.name.startswith(
            ("arith.constant", "arith.ext", "arith.trunc", "arith.bitcast", "arith.select")
        )
    )
