"""What one program of a kernel does: memory that it accesses, products, and arithmetic on tiles."""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ...analysis.places import Comparison, Place
from ...analysis.text import Kernel, Operation, TileType
from ...analysis.walk import Loop, Walk


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
_UNKNOWN_TRIPS = 8.0  # of loops whose bounds come from memory


def work_of(kernel: Kernel, numbers: Mapping[str, int], grid: tuple[int, int, int]) -> Work:
    """The work of a program in the middle of the grid, for arguments that are numbers."""
    walk = _Walk(Work(grid), _addresses(kernel.body), _read_again(kernel.body))
    for name, argument in kernel.arguments.items():
        is_number = name in numbers
        walk.known[argument] = Place(float(numbers[name])) if is_number else Place(0.0, array=name)
    walk.block(kernel.body)
    return walk.work


def _addresses(body: Sequence[Operation]) -> set[str]:
    """The values that only say where or whether something is accessed, and how often loops run."""
    operations = list(_every(body))
    wanted: set[str] = set()
    data: set[str] = set()
    for operation in operations:
        names = operation.operands
        if operation.name in ("tile.load", "tile.store") and names:
            wanted |= {names[0], operation.mask}
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


class _Walk(Walk):
    """Computes with floats. What lies in memory is unknown: NaN, other than for each element."""

    def __init__(self, work: Work, addresses: set[str], read_again: set[str]) -> None:
        super().__init__()
        self.work, self.addresses, self.read_again = work, addresses, read_again
        # The part of a tile's elements that its masks keep, by axis: zeros that pad a tile are not multiplied.
        self.limits: dict[str, tuple[float, ...]] = {}

    def program(self, axis: int) -> Place:
        return Place(float(self.work.grid[axis] // 2), (), {f"program {axis}": 1.0})

    def num_programs(self, axis: int) -> float:
        return float(self.work.grid[axis])

    def trips(self, operation: Operation, bounds: Sequence[Place] | None) -> float:
        low, high, step = (bound.base for bound in bounds or (Place(0.0),) * 3)
        is_known = step and math.isfinite(high - low)
        return max(0.0, math.ceil((high - low) / step)) if is_known else _UNKNOWN_TRIPS

    def counter(self, operation: Operation, loop: Loop, bounds: Sequence[Place | None]) -> Place:
        low, step = bounds[0] or Place(0.0), bounds[2]
        return low._replace(coefficients={**low.coefficients, loop.name: step.base if step else 1.0})

    def folded(self, operation: Operation, a: float, b: float) -> float | None:
        is_comparison = operation.name == "arith.cmpi"
        function = _COMPARISONS[operation.predicate] if is_comparison else _BINARY.get(operation.name)
        try:
            return None if function is None else float(function(a, b))
        except (ZeroDivisionError, ValueError, OverflowError):
            return 0.0

    def unknown(self, operation: Operation) -> Place | None:
        if operation.name != "tile.load" or not operation.type.element.startswith("i"):
            return None
        # Numbers from memory, such as rows of a table: other ones for each element, program and turn.
        names = [*(loop.name for loop in self.loops), *(f"program {axis}" for axis in range(3))]
        return Place(math.nan, (None,) * len(operation.type.shape), dict.fromkeys(names))

    def found(self, operation: Operation) -> None:
        name, type = operation.name, operation.type
        if name in ("tile.load", "tile.store") or name.startswith("tile.atomic"):
            self._access(operation)
        elif name == "tile.dot":
            self.work.products.append(Product(*operation.product, self.loops))
            self._keep(type)
        elif name in ("tile.reduce", "tile.scan"):
            whole = operation.types[0]
            is_last = operation.number_after("axis") == len(whole.shape) - 1
            kind, steps = f"{name} {'last' if is_last else 'outer'}", max(1, len(operation.body) - 1)
            self.work.arithmetic.append(Arithmetic(kind, whole, self.loops, steps))
        elif operation.results and type.shape and name not in _FREE:
            if operation.results[0] not in self.addresses and "ptr" not in type.element:
                self.work.arithmetic.append(Arithmetic(name, type, self.loops))
        if operation.results and operation.results[0] in self.read_again:
            self._keep(type)
        if operation.results and (limits := self._limit(operation)):
            self.limits[operation.results[0]] = limits

    def _limit(self, operation: Operation) -> tuple[float, ...] | None:
        """Which part of a result's elements lies within the bounds of masks."""
        known = [self.limits.get(name) for name in operation.operands]
        name, rank = operation.name, len(operation.type.shape)
        if name == "tile.load":
            parts = [self._within(part, operation.type) for part in self.bounds_of(operation)]
            return tuple(map(min, *parts, (1.0,) * rank)) if parts else None
        if name == "tile.dot" and rank == 2 and self.work.products:
            a, b = known[0] or (1.0, 1.0), known[1] or (1.0, 1.0)
            last = self.work.products[-1]
            m, n, k = last.m * a[0], last.n * b[1], last.k * min(a[1], b[0])
            self.work.products[-1] = last._replace(m=math.ceil(m), n=math.ceil(n), k=math.ceil(k))
            return a[0], b[1]
        if known and known[0] and name == "tile.expand_dims":
            axis = operation.number_after("axis")
            return (*known[0][:axis], 1.0, *known[0][axis:])
        if known and known[0] and name == "tile.trans":
            return tuple(reversed(known[0]))
        same = [parts for parts in known if parts and len(parts) == rank]
        return tuple(map(min, *same, same[0])) if same else None

    def _within(self, part: Comparison, type: TileType) -> tuple[float, ...]:
        """The part of a tile's elements for which `index < bound` holds, over all programs and iterations."""
        index, whole = part.index, (1.0,) * len(type.shape)
        moved = [axis for axis, stride in enumerate(index.strides) if stride]
        is_known = part.predicate in ("slt", "ult") and not math.isnan(part.bound)
        if not is_known or len(moved) != 1 or None in index.coefficients.values():
            return whole
        extents = {f"program {axis}": float(extent) for axis, extent in enumerate(self.work.grid)}
        extents |= {loop.name: loop.trips for loop in self.loops}
        axis = moved[0]
        covered = index.strides[axis] * type.shape[axis]
        covered += sum(c * (extents.get(name, 1.0) - 1) for name, c in index.coefficients.items())
        inside = min(1.0, max(part.bound, 0.0) / covered) if covered > 0 else 1.0
        return (*whole[:axis], inside, *whole[axis + 1 :])

    def _access(self, operation: Operation) -> None:
        type, masked = operation.type, ()
        if operation.mask:
            indices = [part.index for part in self.bounds_of(operation)]
            moved = [any(index.strides[axis] != 0 for index in indices) for axis in range(len(type.shape))]
            masked = tuple(moved) if indices else (True,) * len(type.shape)
        place = self.known.get(operation.operands[0]) if operation.operands else None
        self.work.accesses.append(Access(type, place, operation.name != "tile.load", self.loops, masked))

    def _keep(self, type: TileType) -> None:
        """A tile that is read again: where registers do not hold it, it lies in memory."""
        if len(type.shape) and type.element.startswith(("f", "bf")) and type.size > 1:
            self.work.kept.append(Kept(type, self.loops))
