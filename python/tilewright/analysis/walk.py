"""Goes through a kernel once, with what is known of each value."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

from .places import Comparison, Place, derived
from .text import Operation

_CONSTANT = re.compile(r"(?:dense<)?(-?\d+|true|false)>?(?:\s|$)")


class Loop(NamedTuple):
    """A loop around an operation, and how often it runs: a number as the walk has them."""

    name: str
    trips: Any


class Walk(ABC):
    """A walk over tile operations. What derives from it says what numbers are, and what is counted. Of
    branches all sides count; a loop that never runs does not."""

    def __init__(self) -> None:
        self.known: dict[str, Place | None] = {}
        self.masks: dict[str, list[Comparison]] = {}  # the comparisons that a truth value consists of
        self.loops: tuple[Loop, ...] = ()
        self._counts = True

    @abstractmethod
    def program(self, axis: int) -> Place:
        """The place of a program in the grid."""

    @abstractmethod
    def num_programs(self, axis: int) -> Any:
        """The extent of the grid."""

    @abstractmethod
    def trips(self, operation: Operation, bounds: Sequence[Place] | None) -> Any:
        """How often a loop runs, by its lower and upper bound and its step; None: nothing tells."""

    @abstractmethod
    def counter(self, operation: Operation, loop: Loop, bounds: Sequence[Place | None]) -> Place:
        """The counter of a loop."""

    @abstractmethod
    def folded(self, operation: Operation, a: Any, b: Any) -> Any:
        """The result of an operation on two numbers that is neither a sum nor a product; None: not known."""

    @abstractmethod
    def unknown(self, operation: Operation) -> Place | None:
        """What stands for a result of which nothing is known."""

    @abstractmethod
    def found(self, operation: Operation) -> None:
        """Count an operation that is not a loop or a branch; its results are in `known`."""

    def entered(self, operation: Operation, loop: Loop) -> None:
        """Count a loop."""

    def block(self, body: Sequence[Operation]) -> None:
        """Go through the operations of a block."""
        for operation in body:
            if operation.name in ("scf.for", "scf.while"):
                self._loop(operation)
            elif operation.name == "scf.if":
                self.block(operation.body)
                self.block(operation.otherwise)
            else:
                self._operation(operation)

    def bounds_of(self, operation: Operation) -> list[Comparison]:
        """The comparisons of an access's mask."""
        return self.masks.get(operation.mask, [])

    def _loop(self, operation: Operation) -> None:
        carried, starts = operation.arguments, operation.operands
        bounds: list[Place | None] = []
        if operation.name == "scf.for":
            bounds = [self.known.get(name) for name in starts[:3]]
        told = [bound for bound in bounds if bound is not None]
        # Texts name the counters of several loops alike.
        loop = Loop(f"loop {id(operation)}", self.trips(operation, told if len(told) == 3 else None))
        if self._counts:
            self.entered(operation, loop)
        if loop.trips == 0:
            return
        if bounds:
            self.known[carried[0]] = self.counter(operation, loop, bounds)
            carried, starts = carried[1:], starts[3:]
        begins = [self.known.get(name) for name in starts]
        around, counts = self.loops, self._counts
        self.loops, self._counts = (*around, loop), False
        self.known.update(zip(carried, begins))
        # A first walk, which counts nothing, finds by how much values move.
        ends = self._iteration(operation)
        self.known.update((n, self._moved(b, e, loop)) for n, b, e in zip(carried, begins, ends))
        self._counts = counts
        self._iteration(operation)
        self.loops = around
        self._hand(operation.second or carried, operation.results)

    def _iteration(self, loop: Operation) -> list[Place | None]:
        """Go through a loop's body; what it hands to the next iteration."""
        self.block(loop.body)
        self._hand(_last_operands(loop.body, "scf.condition")[1:], loop.second)
        self.block(loop.otherwise)
        return [self.known.get(name) for name in _last_operands(loop.otherwise or loop.body, "scf.yield")]

    def _hand(self, sources: Sequence[str], names: Sequence[str]) -> None:
        """Know of names what is known of others."""
        self.known.update(zip(names, map(self.known.get, sources)))

    def _moved(self, begin: Place | None, end: Place | None, loop: Loop) -> Place | None:
        """A value that a loop carries: it moves by what one iteration adds."""
        if begin is None:
            return None
        if end is None or len(begin.strides) != len(end.strides):
            strides, step = (None,) * len(begin.strides), None
        else:
            strides = tuple(x if x == y else None for x, y in zip(begin.strides, end.strides))
            step = end.base - begin.base
        return begin._replace(strides=strides, coefficients={**begin.coefficients, loop.name: step})

    def _operation(self, operation: Operation) -> None:
        place = self._place(operation)
        parts = self._comparisons(operation)
        for result in operation.results:
            self.known[result] = place
            self.masks[result] = parts
        if self._counts:
            self.found(operation)

    def _place(self, operation: Operation) -> Place | None:
        name, rank = operation.name, len(operation.type.shape)
        if name == "arith.constant":
            value = _CONSTANT.search(operation.text.split(" : ")[0] + " ")
            if value is None or operation.type.element.startswith(("f", "bf")):
                return self.unknown(operation)
            number = {"true": 1, "false": 0}.get(value[1])
            return Place(int(value[1]) if number is None else number, (0,) * rank)
        if name == "tile.program_id":
            return self.program(int(operation.text.split()[0]))
        if name == "tile.num_programs":
            return Place(self.num_programs(int(operation.text.split()[0])))
        if name == "tile.arange":
            start = re.search(r"(-?\d+) to", operation.text)
            return Place(int(start[1]) if start else 0, (1,))
        inputs = [self.known.get(operand) for operand in operation.operands]
        known = [place for place in inputs if place is not None]
        if not known or len(known) < len(inputs):
            return self.unknown(operation)
        if name == "arith.select" and rank == 0 and known[0].base in (0, 1):
            return known[1] if known[0].base == 1 else known[2]
        return derived(operation, known, self.folded) or self.unknown(operation)

    def _comparisons(self, operation: Operation) -> list[Comparison]:
        if operation.name == "arith.cmpi":
            index, bound = (self.known.get(name) for name in operation.operands[:2])
            return [Comparison(index, bound.base, operation.predicate)] if index and bound else []
        parts = [part for name in operation.operands for part in self.masks.get(name, [])]
        if operation.name == "arith.andi" or not parts:
            return parts
        moved = ((derived(operation, [part.index], self.folded), part) for part in parts)
        return [part._replace(index=index) for index, part in moved if index is not None]


def _last_operands(body: Sequence[Operation], name: str) -> list[str]:
    """The operands of what ends a block, if it has that name."""
    return body[-1].operands if body and body[-1].name == name else []
