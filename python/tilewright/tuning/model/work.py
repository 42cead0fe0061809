"""What one program of a kernel does: memory that it accesses, products, and arithmetic on tiles."""

from __future__ import annotations

import math
import operator
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .text import Kernel, Operation, TileType


class Loop(NamedTuple):
    """A loop around an operation, and how often it runs."""

    name: str
    trips: float


class Place(NamedTuple):
    """A number, or a tile of numbers or pointers, as a sum: `base` plus the stride of each axis of the
    tile times its index, plus the coefficient of each loop and axis of the grid times its counter. A
    stride or coefficient of None is not known. `array` names the argument that pointers go into."""

    base: float
    strides: tuple[float | None, ...] = ()
    coefficients: Mapping[str, float | None] = {}
    array: str = ""


class Access(NamedTuple):
    """A load or a store."""

    type: TileType
    place: Place | None  # None: nothing is known of its pointers
    is_store: bool
    loops: tuple[Loop, ...]
    masked: tuple[bool, ...] = ()  # for each axis, whether the mask differs along it


class Product(NamedTuple):
    """A matrix product of an M x K by a K x N tile."""

    m: int
    n: int
    k: int
    element: str
    loops: tuple[Loop, ...]


class Arithmetic(NamedTuple):
    """An operation on each element of a tile; `kind` is the operation's name, of a reduction with the
    axis behind it, and `steps` how many operations combine two elements of it."""

    kind: str
    type: TileType
    loops: tuple[Loop, ...]
    steps: int = 1


class Kept(NamedTuple):
    """A tile that is used more than once."""

    type: TileType
    loops: tuple[Loop, ...]


@dataclass
class Work:
    """Everything that one program does, and the numbers of programs along the grid's axes."""

    grid: tuple[int, int, int]
    accesses: list[Access] = field(default_factory=list[Access])
    products: list[Product] = field(default_factory=list[Product])
    arithmetic: list[Arithmetic] = field(default_factory=list[Arithmetic])
    kept: list[Kept] = field(default_factory=list[Kept])

    @property
    def num_programs(self) -> int:
        """The number of programs."""
        return math.prod(self.grid)


def times(loops: Iterable[Loop]) -> float:
    """How often something within loops runs."""
    return math.prod(loop.trips for loop in loops)


# What moves or names elements, which compilers fold into accesses and loops.
_FREE = {
    "tile.splat", "tile.broadcast", "tile.expand_dims", "tile.arange", "tile.addptr", "tile.reshape",
    "arith.constant", "arith.bitcast", "tile.program_id", "tile.num_programs",
}  # fmt: skip
_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "arith.divsi": operator.floordiv, "arith.divui": operator.floordiv, "arith.floordivsi": operator.floordiv,
    "arith.ceildivsi": lambda a, b: -(-a // b), "arith.ceildivui": lambda a, b: -(-a // b),
    "arith.remsi": operator.mod, "arith.remui": operator.mod, "arith.minsi": min, "arith.minui": min,
    "arith.maxsi": max, "arith.maxui": max, "arith.andi": lambda a, b: int(a) & int(b),
    "arith.ori": lambda a, b: int(a) | int(b), "arith.shli": lambda a, b: int(a) << int(b),
    "arith.shrsi": lambda a, b: int(a) >> int(b), "arith.shrui": lambda a, b: int(a) >> int(b),
}  # fmt: skip
_COMPARISONS = {
    "slt": operator.lt, "ult": operator.lt, "sle": operator.le, "ule": operator.le, "sgt": operator.gt,
    "ugt": operator.gt, "sge": operator.ge, "uge": operator.ge, "eq": operator.eq, "ne": operator.ne,
}  # fmt: skip
_CASTS = {"arith.extsi", "arith.extui", "arith.trunci", "arith.index_cast", "arith.index_castui"}
_UNKNOWN_TRIPS = 8.0  # of loops whose bounds come from memory


def work_of(kernel: Kernel, numbers: Mapping[str, int], grid: tuple[int, int, int]) -> Work:
    """The work of a program in the middle of the grid, for arguments that are numbers."""
    known: dict[str, Place | None] = {}
    for name, argument in kernel.arguments.items():
        known[argument] = Place(float(numbers[name])) if name in numbers else Place(0.0, array=name)
    walk = _Walk(Work(grid), known, _addresses(kernel.body), _read_again(kernel.body))
    walk.block(kernel.body, ())
    return walk.work


def _addresses(body: Sequence[Operation]) -> set[str]:
    """The values that only say where or whether something is accessed, and how often loops run."""
    operations = list(_every(body))
    wanted: set[str] = set()
    data: set[str] = set()
    for operation in operations:
        names = operation.operands
        if operation.name in ("tile.load", "tile.store") and names:
            mask = re.search(r"mask (%\S+)", operation.text)
            wanted |= {names[0], *([mask[1]] if mask else [])}
            data |= {*names[1:]} - wanted
        elif operation.name == "scf.for":
            wanted |= {*names[:3]}
    made = {result: operation for operation in operations for result in operation.results}
    waiting = list(wanted)
    while waiting:
        operation = made.get(waiting.pop())
        if operation is not None and operation.name not in ("tile.load", "tile.reduce", "scf.for"):
            new = {*operation.operands} - wanted
            wanted |= new
            waiting += new
    return wanted - data


def _read_again(body: Sequence[Operation]) -> set[str]:
    """The tiles that something reads after a reduction or a product has read all of them."""
    uses = Counter(name for operation in _every(body) for name in operation.operands)
    whole = {
        operation.operands[0]
        for operation in _every(body)
        if operation.name in ("tile.reduce", "tile.scan", "tile.dot") and operation.operands
    }
    return {name for name in whole if uses[name] > 1}


def _every(body: Sequence[Operation]) -> Iterable[Operation]:
    for operation in body:
        yield operation
        yield from _every(operation.body)
        yield from _every(operation.otherwise)


class _Walk:
    """Goes through a kernel once, with what is known of each value."""

    def __init__(
        self, work: Work, known: dict[str, Place | None], addresses: set[str], read_again: set[str]
    ) -> None:
        self.work, self.known, self.addresses, self.read_again = work, known, addresses, read_again
        self.limits: dict[str, tuple[float, ...]] = {}
        self.loops: tuple[Loop, ...] = ()

    def block(self, body: Sequence[Operation], loops: tuple[Loop, ...]) -> None:
        self.loops = loops
        for operation in body:
            if operation.name == "scf.for":
                self._loop(operation, loops)
            elif operation.name == "scf.if":
                for part in (operation.body, operation.otherwise):
                    self.block(part, loops)
            elif operation.name == "scf.while":
                inside = (*loops, Loop(operation.text[:40], _UNKNOWN_TRIPS))
                for part in (operation.body, operation.otherwise):
                    self.block(part, inside)
            else:
                self._operation(operation, loops)

    def _loop(self, loop: Operation, loops: tuple[Loop, ...]) -> None:
        low, high, step = (self.known.get(name) for name in loop.operands[:3])
        trips = _UNKNOWN_TRIPS
        if low and high and step and step.base and math.isfinite(high.base - low.base):
            trips = max(0.0, math.ceil((high.base - low.base) / step.base))
        if trips == 0:
            return
        counter, *carried = loop.arguments
        name_of_loop = f"{counter} {id(loop)}"  # texts name counters of several loops alike
        width = step.base if step else 1.0
        start = low or Place(0.0)
        self.known[counter] = start._replace(coefficients={**start.coefficients, name_of_loop: width})
        starts = [self.known.get(name) for name in loop.operands[3:]]
        inside = (*loops, Loop(name_of_loop, trips))
        # A first walk, which counts nothing, finds by how much pointers move.
        self.known.update(zip(carried, starts))
        trial = _Walk(Work(self.work.grid), dict(self.known), self.addresses, self.read_again)
        trial.block(loop.body, inside)
        yielded = loop.body[-1].operands if loop.body and loop.body[-1].name == "scf.yield" else []
        for name, begin, end in zip(carried, starts, yielded):
            self.known[name] = _carried(begin, trial.known.get(end), name_of_loop)
        self.block(loop.body, inside)
        self.loops = loops
        for result, name in zip(loop.results, carried):
            self.known[result] = self.known.get(name)

    def _operation(self, operation: Operation, loops: tuple[Loop, ...]) -> None:
        place = self._place(operation)
        for result in operation.results:
            self.known[result] = place
        name, type = operation.name, operation.type
        if name in ("tile.load", "tile.store"):
            pointers = self.known.get(operation.operands[0])
            self._access(operation, Access(type, pointers, name == "tile.store", loops))
        elif name == "tile.dot" and len(tiles := [t for t in operation.types if len(t.shape) > 1]) > 2:
            (m, k), n = tiles[0].shape[-2:], tiles[1].shape[-1]
            count = math.prod(tiles[0].shape[:-2])
            self.work.products.append(Product(m * count, n, k, tiles[0].element, loops))
            self._keep(type, loops)
        elif name.startswith("tile.atomic"):
            pointers = self.known.get(operation.operands[0]) if operation.operands else None
            self.work.accesses.append(Access(type, pointers, True, loops))
        elif name in ("tile.reduce", "tile.scan"):
            axis = re.search(r"axis (\d+)", operation.text)
            whole = operation.types[0]
            is_last = axis is not None and int(axis[1]) == len(whole.shape) - 1
            kind, steps = f"{name} {'last' if is_last else 'outer'}", max(1, len(operation.body) - 1)
            self.work.arithmetic.append(Arithmetic(kind, whole, loops, steps))
        elif operation.results and type.shape and name not in _FREE:
            if operation.results[0] not in self.addresses and "ptr" not in type.element:
                self.work.arithmetic.append(Arithmetic(name, type, loops))

        if operation.results and operation.results[0] in self.read_again:
            self._keep(type, loops)
        self._limit(operation)

    def _limit(self, operation: Operation) -> None:
        """Which part of a tile's elements lies within the bounds of its mask, by axis: zeros that pad a
        tile are not multiplied."""
        known = [self.limits.get(name) for name in operation.operands]
        name, rank = operation.name, len(operation.type.shape)
        limits: tuple[float, ...] | None = None
        if name == "arith.cmpi":
            limits = self._within(operation)
        elif name == "tile.load" and (mask := re.search(r"mask (%\S+)", operation.text)):
            limits = self.limits.get(mask[1])
        elif name == "tile.dot" and rank == 2 and self.work.products:
            a, b = known[0] or (1.0, 1.0), known[1] or (1.0, 1.0)
            limits = (a[0], b[1])
            last = self.work.products[-1]
            m, n, k = last.m * a[0], last.n * b[1], last.k * min(a[1], b[0])
            self.work.products[-1] = last._replace(m=math.ceil(m), n=math.ceil(n), k=math.ceil(k))
        elif known and known[0] and name == "tile.expand_dims":
            axis = int(operation.text.split("axis")[1].split()[0])
            limits = (*known[0][:axis], 1.0, *known[0][axis:])
        elif known and known[0] and name == "tile.trans":
            limits = tuple(reversed(known[0]))
        else:
            same = [parts for parts in known if parts and len(parts) == rank]
            limits = tuple(map(min, *same)) if len(same) > 1 else same[0] if same else None
        if limits is not None and operation.results:
            self.limits[operation.results[0]] = limits

    def _within(self, operation: Operation) -> tuple[float, ...] | None:
        """The part of `index < bound` that holds, over all programs and iterations."""
        index, bound = (self.known.get(name) for name in operation.operands[:2])
        if not operation.text.startswith((" slt", " ult")) or index is None or bound is None:
            return None
        if math.isnan(bound.base):
            return None
        moved = [axis for axis, stride in enumerate(index.strides) if stride]
        if len(moved) != 1 or None in index.coefficients.values():
            return None
        extents = {f"program {axis}": float(extent) for axis, extent in enumerate(self.work.grid)}
        extents |= {loop.name: loop.trips for loop in self.loops}
        axis = moved[0]
        covered = (index.strides[axis] or 1.0) * operation.type.shape[axis]
        covered += sum((c or 0.0) * (extents.get(name, 1.0) - 1) for name, c in index.coefficients.items())
        parts = [1.0] * len(index.strides)
        parts[axis] = min(1.0, max(bound.base, 0.0) / covered) if covered > 0 else 1.0
        return tuple(parts)

    def _access(self, operation: Operation, access: Access) -> None:
        mask = re.search(r"mask (%\S+)", operation.text)
        if mask is None:
            self.work.accesses.append(access)
            return
        place = self.known.get(mask[1])
        masked = tuple(stride != 0 for stride in place.strides) if place else (True,) * len(access.type.shape)
        self.work.accesses.append(access._replace(masked=masked))

    def _keep(self, type: TileType, loops: tuple[Loop, ...]) -> None:
        """A tile that is read again: where registers do not hold it, it lies in memory."""
        if len(type.shape) and type.element.startswith(("f", "bf")) and type.size > 1:
            self.work.kept.append(Kept(type, loops))

    def _place(self, operation: Operation) -> Place | None:
        name = operation.name
        if name == "arith.constant":
            return _constant(operation)
        if name == "tile.program_id":
            axis = int(operation.text.split()[0])
            return Place(float(self.work.grid[axis] // 2), (), {f"program {axis}": 1.0})
        if name == "tile.num_programs":
            return Place(float(self.work.grid[int(operation.text.split()[0])]))
        if name == "tile.load" and operation.type.element.startswith("i"):
            return self._unknown(len(operation.type.shape))
        if name == "tile.arange":
            start = re.search(r"(-?\d+) to", operation.text)
            return Place(float(start[1]) if start else 0.0, (1.0,))
        inputs = [self.known.get(operand) for operand in operation.operands]
        if not inputs or any(place is None for place in inputs):
            return None
        return _derived(operation, [place for place in inputs if place is not None])


    def _unknown(self, rank: int) -> Place:
        """Numbers from memory, such as rows of a table: other ones for each element, program and turn."""
        names = [*(loop.name for loop in self.loops), *(f"program {axis}" for axis in range(3))]
        return Place(math.nan, (None,) * rank, dict.fromkeys(names))


def _constant(operation: Operation) -> Place | None:
    value = re.search(r"(?:dense<)?(-?\d+|true|false)>?(?:\s|$)", operation.text.split(" : ")[0] + " ")
    if value is None or operation.type.element.startswith(("f", "bf")):
        return None
    number = {"true": 1.0, "false": 0.0}.get(value[1])
    base = float(value[1]) if number is None else number
    return Place(base, (0.0,) * len(operation.type.shape))


def _carried(begin: Place | None, end: Place | None, counter: str) -> Place | None:
    """A value that a loop hands on: it moves by what one iteration adds."""
    if begin is None or end is None or len(begin.strides) != len(end.strides):
        return None
    moved = end.base - begin.base
    return begin._replace(coefficients={**begin.coefficients, counter: moved})


def _derived(operation: Operation, inputs: list[Place]) -> Place | None:
    """What an operation on numbers and pointers gives."""
    name, rank = operation.name, len(operation.type.shape)
    first = inputs[0]
    if name in _CASTS:
        return first
    if name == "tile.splat":
        return first._replace(strides=(0.0,) * rank)
    if name == "tile.expand_dims":
        axis = int(operation.text.split("axis")[1].split()[0])
        return first._replace(strides=(*first.strides[:axis], 0.0, *first.strides[axis:]))
    if name == "tile.broadcast":
        return first
    if name == "tile.trans":
        order = [int(number) for number in operation.text.split("[")[1].split("]")[0].split(",")]
        return first._replace(strides=tuple(first.strides[axis] for axis in order))
    if len(inputs) == 2 and len(first.strides) == len(inputs[1].strides):
        if name in ("arith.addi", "tile.addptr"):
            return _sum(first, inputs[1], 1.0)
        if name == "arith.subi":
            return _sum(first, inputs[1], -1.0)
        if name == "arith.muli":
            return _multiple(first, inputs[1])
        if name in _BINARY:
            return _folded(_BINARY[name], first, inputs[1])
        if name == "arith.cmpi":
            return _folded(_COMPARISONS[operation.text.split()[0].rstrip(",")], first, inputs[1])
    if name == "arith.select" and rank == 0 and len(inputs) == 3:
        return inputs[1] if first.base else inputs[2]
    return None


def _sum(a: Place, b: Place, sign: float) -> Place:
    strides = tuple(_add(x, y, sign) for x, y in zip(a.strides, b.strides))
    axes = {*a.coefficients, *b.coefficients}
    moved = {axis: _add(a.coefficients.get(axis, 0.0), b.coefficients.get(axis, 0.0), sign) for axis in axes}
    return Place(a.base + sign * b.base, strides, moved, a.array or b.array)


def _add(x: float | None, y: float | None, sign: float) -> float | None:
    return None if x is None or y is None else x + sign * y


def _is_uniform(place: Place) -> bool:
    return not any(stride != 0 for stride in place.strides)


def _multiple(a: Place, b: Place) -> Place:
    """A product, of which one factor is the same number everywhere; else nothing is known of its steps."""
    for x, factor in ((a, b), (b, a)):
        if _is_uniform(factor) and not factor.coefficients:
            scale = factor.base
            if math.isnan(scale):
                break
            strides = tuple(None if s is None else s * scale for s in x.strides)
            moved = {axis: None if c is None else c * scale for axis, c in x.coefficients.items()}
            return Place(x.base * scale, strides, moved)
    return _folded(operator.mul, a, b)


def _folded(function: Callable[[Any, Any], Any], a: Place, b: Place) -> Place:
    """A number that follows from two in a way that is not linear."""
    try:
        base = float(function(a.base, b.base))
    except (ZeroDivisionError, ValueError, OverflowError):
        base = 0.0
    strides = tuple(0.0 if x == y == 0 else None for x, y in zip(a.strides, b.strides))
    return Place(base, strides, dict.fromkeys({*a.coefficients, *b.coefficients}))
