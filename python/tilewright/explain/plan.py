"""The work of one program as formulas of the kernel's arguments, from its tile operations."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..tuning.model.text import Kernel, Operation, TileType, read_kernel
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
        return Formula.of(int(self.type.size * self.type.element_bytes)) * self.trips

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
        return Formula.of(2 * self.m * self.n * self.k) * self.trips


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
        return functools.reduce(
            Formula.__add__, (a.bytes for a in self.accesses if a.is_store == is_store), Formula()
        )

    @property
    def operations(self) -> Formula:
        """Operations on floats of one program."""
        return functools.reduce(
            Formula.__add__, (p.operations for p in self.products), self.elementwise
        )

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


class _Value(NamedTuple):
    """A number or a tile of numbers or pointers: a start, and the stride of each axis."""

    base: Formula
    strides: tuple[Formula | None, ...] = ()
    array: str = ""


def plan_of(located: Located) -> Plan:
    """The work that a text of the stage tile describes. Raises ValueError and the like for
    texts that are not understood."""
    kernel: Kernel = read_kernel(located.text)
    walk = _Walk(located)
    for name, argument in kernel.arguments.items():
        walk.known[argument] = _Value(Formula.of(name), (), name)
    walk.block(kernel.body, _ONE)
    return walk.plan


class _Walk:
    """Goes through a kernel once, with what is known of each value."""

    def __init__(self, located: Located) -> None:
        self.plan = Plan()
        self.known: dict[str, _Value | None] = {}
        # Comparisons, for masks: strides of the index, and the bound.
        self.masks: dict[str, list[_Value]] = {}
        self.located = located

    def line(self, operation: Operation) -> int:
        return self.located.lines[operation.row].source

    def block(self, body: Sequence[Operation], trips: Formula) -> None:
        for operation in body:
            if operation.name in ("scf.for", "scf.while"):
                self._loop(operation, trips)
            elif operation.name == "scf.if":
                self.block(operation.body, trips)
                self.block(operation.otherwise, trips)
            else:
                self._operation(operation, trips)

    def _loop(self, loop: Operation, trips: Formula) -> None:
        line = self._line_of_loop(loop)
        own, carried, starts = Formula.of(f"trips of line {line}"), loop.arguments, loop.operands
        if loop.name == "scf.for":
            low, high, step = (self.known.get(name) for name in starts[:3])
            if low and high and step:
                own = quotient_up(high.base - low.base, step.base)
            self.known[carried[0]] = _Value(Formula.of(f"counter of line {line}"))
            carried, starts = carried[1:], starts[3:]
        self.known.update(zip(carried, map(self.known.get, starts)))
        inside = [op.name for op in (*loop.body, *loop.otherwise)]
        # A first walk, which counts nothing, finds which values keep their strides.
        kept, place = self.plan, len(self.plan.loops)
        for self.plan, times in ((Plan(), _ONE), (kept, trips * own)):
            self.block(loop.body, times)
            self._carry(loop.second, _last_operands(loop.body, "scf.condition")[1:])
            self.block(loop.otherwise, times)
            self._join(carried, _last_operands(loop.otherwise or loop.body, "scf.yield"))
        counts = inside.count("tile.load"), inside.count("tile.dot")
        self.plan.loops.insert(place, LoopPlan(line, own, *counts))
        self._carry(loop.results, loop.second or carried)

    def _carry(self, names: Sequence[str], sources: Sequence[str]) -> None:
        """Know of names what is known of others."""
        self.known.update(zip(names, map(self.known.get, sources)))

    def _join(self, carried: Sequence[str], yielded: Sequence[str]) -> None:
        """Forget the strides of what a loop carries that are others in its next iteration."""
        for name, end in zip(carried, yielded):
            begin, after = self.known.get(name), self.known.get(end)
            if begin:
                later = after.strides if after else (None,) * len(begin.strides)
                steps = (x if x == y else None for x, y in zip(begin.strides, later))
                self.known[name] = begin._replace(strides=tuple(steps))

    def _line_of_loop(self, loop: Operation) -> int:
        """The line of a loop; its location stands behind what closes it."""
        rows = self.located.lines
        closing, depth = loop.row, 0
        for row in range(loop.row, len(rows)):
            text = rows[row].text.strip()
            depth += text.endswith("{")
            depth -= text.startswith("}")
            if depth == 0 and text.startswith("}"):
                closing = row
                break
        return rows[closing].source or self.line(loop)

    def _operation(self, operation: Operation, trips: Formula) -> None:
        name, type = operation.name, operation.type
        value = self._value(operation)
        for result in operation.results:
            self.known[result] = value
            self.masks[result] = self._comparisons(operation)
        if name in ("tile.load", "tile.store") or name.startswith("tile.atomic"):
            pointers = self.known.get(operation.operands[0]) if operation.operands else None
            strides = pointers.strides if pointers else (None,) * len(type.shape)
            self.plan.accesses.append(
                Access(
                    self.line(operation),
                    pointers.array if pointers else "",
                    type,
                    name != "tile.load",
                    "mask %" in operation.text,
                    strides,
                    trips,
                    self._bounds(operation, strides),
                )  # fmt: skip
            )
        elif name == "tile.dot":
            tiles = [t for t in operation.types if len(t.shape) > 1]
            (m, k), n = tiles[0].shape[-2:], tiles[1].shape[-1]
            count = math.prod(tiles[0].shape[:-2])
            self.plan.products.append(
                Product(self.line(operation), m * count, n, k, tiles[0].element, trips)
            )
        elif name == "tile.reduce" or _is_float_arithmetic(operation):
            size = operation.types[0].size if name == "tile.reduce" else type.size
            self.plan.elementwise += Formula.of(size) * trips

    def _comparisons(self, operation: Operation) -> list[_Value]:
        """The comparisons that a mask consists of."""
        if operation.name == "arith.cmpi":
            index, bound = (self.known.get(name) for name in operation.operands[:2])
            return [bound._replace(strides=index.strides)] if index and bound else []
        parts = [part for name in operation.operands for part in self.masks.get(name, [])]
        if operation.name == "arith.andi" or not parts:
            return parts
        return [part for mask in parts if (part := _derived(operation, [mask]))]

    def _bounds(
        self, operation: Operation, strides: tuple[Formula | None, ...]
    ) -> tuple[Formula, ...]:
        """The bounds that the mask of an access compares with along the axis of consecutive elements."""
        mask = re.search(r"mask (%\S+)", operation.text)
        axes = [axis for axis, step in enumerate(strides) if step is not None and step.number == 1]
        return tuple(
            part.base
            for part in self.masks.get(mask[1] if mask else "", [])
            if any(axis < len(part.strides) and part.strides[axis] != Formula() for axis in axes)
        )

    def _value(self, operation: Operation) -> _Value:
        name, rank = operation.name, len(operation.type.shape)
        if name == "arith.constant":
            number = re.search(
                r"(?:dense<)?(-?\d+)>?(?:\s|$)", operation.text.split(" : ")[0] + " "
            )
            if number is None or "." in operation.text.split(" : ")[0]:
                return _Value(Formula.of("a float"), (Formula(),) * rank)
            return _Value(Formula.of(int(number[1])), (Formula(),) * rank)
        if name in ("tile.program_id", "tile.num_programs"):
            return _Value(Formula.of(f"{name.removeprefix('tile.')}({operation.text.split()[0]})"))
        if name == "tile.arange":
            return _Value(Formula(), (_ONE,))
        inputs = [self.known.get(operand) for operand in operation.operands]
        known = [value for value in inputs if value is not None]
        derived = _derived(operation, known) if known and len(known) == len(inputs) else None
        # Numbers that are loaded or computed otherwise are only known by where they come from.
        opaque = Formula.of(f"value of line {self.line(operation)}")
        return derived or _Value(opaque, (None,) * rank)


def _last_operands(body: Sequence[Operation], name: str) -> list[str]:
    """The operands of what ends a block, if it has that name."""
    return body[-1].operands if body and body[-1].name == name else []


def _is_float_arithmetic(operation: Operation) -> bool:
    is_float = operation.type.element.startswith(("f", "bf"))
    return (
        is_float
        and operation.name.startswith(("arith.", "math."))
        and not operation.name.startswith(
            ("arith.constant", "arith.ext", "arith.trunc", "arith.bitcast", "arith.select")
        )
    )


def _derived(operation: Operation, inputs: list[_Value]) -> _Value | None:
    """The result of an operation on numbers and pointers."""
    name, rank, first = operation.name, len(operation.type.shape), inputs[0]
    if name in ("arith.extsi", "arith.extui", "arith.trunci", "arith.index_cast", "tile.broadcast"):
        return first
    if name == "tile.splat":
        return first._replace(strides=(Formula(),) * rank)
    if name == "tile.expand_dims":
        axis = int(operation.text.split("axis")[1].split()[0])
        return first._replace(strides=(*first.strides[:axis], Formula(), *first.strides[axis:]))
    if name == "tile.trans":
        order = [int(n) for n in operation.text.split("[")[1].split("]")[0].split(",")]
        return first._replace(strides=tuple(first.strides[axis] for axis in order))
    if len(inputs) != 2 or len(first.strides) != len(inputs[1].strides):
        return None
    second = inputs[1]
    array = first.array if name == "tile.addptr" else ""
    if name in ("arith.addi", "tile.addptr", "arith.subi"):
        sign = Formula.of(-1 if name == "arith.subi" else 1)
        steps = (
            None if x is None or y is None else x + y * sign
            for x, y in zip(first.strides, second.strides)
        )
        return _Value(first.base + second.base * sign, tuple(steps), array)
    if name == "arith.muli":
        return _multiple(first, second)
    return _unlinear(name, first, second)


def _is_uniform(value: _Value) -> bool:
    return all(step is not None and not step.terms for step in value.strides)


def _multiple(a: _Value, b: _Value) -> _Value | None:
    for x, factor in ((a, b), (b, a)):
        if _is_uniform(factor):
            steps = tuple(None if s is None else s * factor.base for s in x.strides)
            return _Value(x.base * factor.base, steps)
    return None


_OPERATORS = {"divsi": "//", "divui": "//", "remsi": "%", "remui": "%", "shli": "<<", "shrsi": ">>"}


def _unlinear(name: str, a: _Value, b: _Value) -> _Value | None:
    """A number that follows from two others otherwise than as a sum or a product."""
    word = name.removeprefix("arith.")
    steps: tuple[Formula | None, ...] = tuple(
        Formula() if x is not None and y is not None and not x.terms and not y.terms else None
        for x, y in zip(a.strides, b.strides)
    )
    if word.startswith("ceildiv"):
        return _Value(quotient_up(a.base, b.base), steps)
    if word in ("minsi", "minui", "maxsi", "maxui"):
        return _Value(Formula.of(f"{word[:3]}({a.base}, {b.base})"), steps)
    if word not in _OPERATORS:
        return None
    return _Value(applied(_OPERATORS[word], a.base, b.base), steps)
