"""Cycles of a kernel on a processor, from the work of its programs.

The form is that of the execution-cache-memory model (Stengel et al., ICS 2015): a core computes while
data moves from its first cache, and moving lines between further levels adds up; the slower of the two
is the time. Where an access finds its data follows from layer conditions: what lies within the last
repetition of an access is still in a cache that is as large, and that has a place for each of its lines:
rows whose distance is a multiple of a power of two share few of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...analysis.places import Place
from ...analysis.walk import Loop
from .machine import Cache, Processor
from .work import Access, Arithmetic, Kept, Product, Work, times

# Cycles of a vector, for functions that code computes by polynomials or the unit by iterations: the
# numbers of instructions at two a cycle, and the divider's throughput on 16 floats.
_FUNCTIONS = {
    "math.exp": 7.0, "math.exp2": 6.0, "math.log": 9.0, "math.log2": 9.0, "math.tanh": 12.0,
    "math.erf": 14.0, "math.sin": 12.0, "math.cos": 12.0, "math.sqrt": 10.0, "math.rsqrt": 10.0,
    "arith.divf": 8.0, "arith.divsi": 40.0, "arith.remsi": 40.0,
}  # fmt: skip
_SIMPLE = 0.5  # an instruction of a vector: two a cycle
_FMA_LATENCY = 4.0
# A step of a reduction within a vector, which waits for the one before: a shuffle's latency and an
# operation's.
_CHAIN = 5.0
# Lines at the start of a run that no prefetcher has seen coming: streams are known after three misses.
_UNSEEN_LINES = 3
_MASK = 2.5  # comparing two halves of indices, combining, and replacing what is masked off
# The next program of those that a thread was handed: the loop around it, and what its code sets up. A
# program of one store takes 7 cycles.
_PROGRAM = 20.0
# Entering the loops over one tile: a branch that is predicted wrong now and then, addresses and bounds.
_TILE = 15.0
# Starting all threads and waiting for them.
_LAUNCH = 8000.0
_LINE = 64
# Addresses within a page are those of memory; which pages follow each other there is not known.
_PAGE = 4096
# The part of the faster of computing and moving lines that the slower one does not hide: the start and
# the end of each tile.
_NOT_OVERLAPPED = 0.25

# An extent and the stride in elements; None: not known.
Axis = tuple[float, "float | None"]
# The bytes that all accesses touch, by the loops inside and those around an access.
Footprints = dict[tuple[tuple[Loop, ...], tuple[Loop, ...]], float]


def cycles_of(work: Work, processor: Processor) -> float:
    """The cycles of a launch: those of the core that runs the most programs."""
    computing = sum(_arithmetic(a, processor) for a in work.arithmetic)
    computing += sum(_product(p, processor) for p in work.products)
    computing += sum(_instructions(a, processor) * times(a.loops) for a in work.accesses)
    entered = {(*a.loops,) for a in (*work.arithmetic, *work.accesses)}
    computing += sum(_kept(k, processor) for k in work.kept)
    computing += sum(_TILE * times(loops) for loops in entered)
    rounds = math.ceil(work.num_programs / processor.threads)
    moving = _moving(work, processor) / max(1, min(work.num_programs, processor.threads))
    slower, faster = max(rounds * computing, moving), min(rounds * computing, moving)
    return slower + _NOT_OVERLAPPED * faster + rounds * _PROGRAM + _LAUNCH


def _vectors(count: float, width: float, processor: Processor) -> float:
    """How many vectors hold so many elements of a width in bytes."""
    return max(1.0, math.ceil(count * width / processor.vector_bytes))


def _rows(shape: Sequence[int]) -> tuple[int, int]:
    """How many rows a tile has, and the elements of one."""
    return (math.prod(shape[:-1]), shape[-1]) if shape else (1, 1)


def _arithmetic(done: Arithmetic, processor: Processor) -> float:
    kind = done.kind.split()
    rows, columns = _rows(done.type.shape)
    width = max(done.type.element_bytes, 1.0)
    vectors = _vectors(rows * columns, width, processor)
    if kind[0] in ("tile.reduce", "tile.scan"):
        step = _SIMPLE * done.steps
        each = step * vectors
        if kind[1] == "last":  # and then across each row's vector: shuffles and operations of each step
            lanes = min(columns, processor.vector_bytes / width)
            each = step * rows * _vectors(columns, width, processor)
            each += (rows * (3.0 * _SIMPLE + step) + _CHAIN * done.steps) * math.log2(max(2.0, lanes))
        if kind[0] == "tile.scan":
            each *= math.log2(max(2.0, processor.vector_bytes / width)) * 2
        return each * times(done.loops)
    if kind[0] == "tile.trans":  # two shuffles for each vector and step
        return vectors * 2.0 * times(done.loops)
    return _FUNCTIONS.get(kind[0], _SIMPLE) * vectors * times(done.loops)


def _kept(kept: Kept, processor: Processor) -> float:
    """Cycles of storing and loading a tile that registers do not hold."""
    rows, columns = _rows(kept.type.shape)
    vectors = _vectors(rows * columns, kept.type.element_bytes, processor)
    return 1.5 * vectors * times(kept.loops) if vectors > processor.registers / 2 else 0.0


def _product(product: Product, processor: Processor) -> float:
    """Cycles of a product by outer products in registers: for each of K a part of B's row is loaded, and
    elements of A's column are multiplied with it."""
    m, n, k, element, loops = product
    lanes = processor.vector_bytes // 4
    per_cycle = processor.products.get(element, processor.products.get("f32", 2.0 * lanes))
    depth = max(1.0, per_cycle / (processor.products.get("f32") or per_cycle))  # elements of K at once
    columns = min(math.ceil(n / lanes), 2)
    rows = max(1, min(m, (processor.registers - columns - 2) // columns))
    sums = rows * columns
    step = max(sums * _SIMPLE, (columns + rows) * _SIMPLE, _FMA_LATENCY)
    tiles = math.ceil(m / rows) * math.ceil(n / (columns * lanes))
    computing = tiles * math.ceil(k / depth) * step
    # Sums that do not fit in registers are loaded and stored once a product; B is packed into rows of
    # vectors.
    spilled = 1.5 * m * math.ceil(n / lanes) if m * n > (processor.registers - 4) * lanes else 0.0
    packed = 1.5 * k * math.ceil(n / lanes)
    return (computing + spilled + packed) * times(loops)


def _instructions(access: Access, processor: Processor) -> float:
    """Cycles that loads and stores of a tile issue."""
    rows, columns = _rows(access.type.shape)
    width = access.type.element_bytes
    cost = 1.0 if access.is_store else _SIMPLE
    strides = access.place.strides if access.place else (None,)
    if not access.type.shape:
        return cost
    if access.masked and access.masked[-1]:
        cost += _MASK
    inner = _innermost(access)
    if inner is None:  # element by element
        return rows * columns * (2.0 if access.is_store else 1.0)
    if inner == len(strides) - 1:
        return cost * rows * _vectors(columns, width, processor)
    # Consecutive along another axis: vectors along that one, and a transposition in registers.
    return (cost + 2.0) * _vectors(rows * columns, width, processor)


def _innermost(access: Access) -> int | None:
    """The axis along which a tile's elements are next to each other, or all the same; None where there
    is not one."""
    if access.place is None:
        return None
    strides = access.place.strides
    for axis in reversed(range(len(strides))):
        if strides[axis] in (0, 1) and access.type.shape[axis] > 1:
            return axis
    is_single = all(extent == 1 for extent in access.type.shape)
    return len(strides) - 1 if is_single else None


def _runs(access: Access, tile: Sequence[Axis], outer: Sequence[Axis]) -> float:
    """How often an access goes on elsewhere than at the next line: along a tile's axes, the closest
    elements first, and then along loops from the inside."""
    width = access.type.element_bytes
    runs, run = 1.0, width
    near = sorted(tile, key=lambda pair: math.inf if pair[1] is None else abs(pair[1]))
    for extent, stride in [*near, *outer]:
        if stride == 0 or extent <= 1:
            continue
        step = math.inf if stride is None else abs(stride) * width
        if runs == 1.0 and step <= max(run, _LINE):
            run = step * (extent - 1) + run
        else:
            runs *= extent
    return runs


def _lines(access: Access, extents: Sequence[Axis]) -> float:
    """Bytes of the cache lines that an access touches, along axes with their extent and stride in
    elements."""
    width = access.type.element_bytes
    lines, run = 1.0, width
    for extent, stride in sorted(extents, key=lambda pair: math.inf if pair[1] is None else abs(pair[1])):
        if stride == 0 or extent <= 1:
            continue
        step = _LINE if stride is None else abs(stride) * width
        if step <= max(run, _LINE) and lines == 1.0:
            run = max(run, step * (extent - 1) + width)
        else:
            lines *= extent
    return lines * math.ceil(run / _LINE) * _LINE


def _moving(work: Work, processor: Processor) -> float:
    """Cycles that lines take from the slowest level to the one before it, over all programs."""
    axes = [Loop(f"program {axis}", float(extent)) for axis, extent in enumerate(work.grid)]
    scratch = [_scratch(k) for k in work.kept if _kept(k, processor)]
    every = [*work.accesses, *scratch]
    slowest = 0.0
    for level, (cache, rate) in enumerate(zip(processor.caches, processor.rates)):
        # A launch finds what the one before has left: that is how it is measured.
        if _footprint(every, axes, ()) <= cache.size * (processor.threads if level else 1):
            continue
        known: Footprints = {}
        inside = [loop for access in every for loop in access.loops]
        is_kept = _footprint(every, list(dict.fromkeys(inside)), (), cache) <= cache.size
        once = {_pattern(access): access for access in every}.values() if is_kept else every
        moved = sum(_missed(access, every, axes, cache, known) for access in once)
        slowest = max(slowest, moved / rate)
    return slowest


def _pattern(access: Access) -> object:
    """The same for accesses of a program that go over the same elements, one after the other."""
    place = access.place
    if place is None or not place.array:
        return id(access)
    moved = sorted((c or 0.0) * loop.trips for loop in access.loops for c in [place.coefficients.get(loop.name)] if c)
    programs = sorted((n, c or 0.0) for n, c in place.coefficients.items() if n.startswith("program"))
    return place.array, access.is_store, access.type.shape, place.strides, tuple(moved), tuple(programs)


def _scratch(kept: Kept) -> Access:
    """A tile in memory as an access that no loop moves."""
    strides: list[float | None] = []
    step = 1.0
    for extent in reversed(kept.type.shape):
        strides.insert(0, step)
        step *= extent
    return Access(kept.type, Place(0.0, tuple(strides)), False, kept.loops)


def _missed(
    access: Access, every: Sequence[Access], axes: Sequence[Loop], cache: Cache, known: Footprints
) -> float:
    """Bytes that an access brings into a cache, over all programs. The loops are gone through
    from the inside: where one does not move the access, its data is reused if everything that one
    repetition touches still fits."""
    tile = list(zip(access.type.shape, access.place.strides if access.place else ()))
    if access.place is None:
        tile = [(extent, None) for extent in access.type.shape]
    coefficients = access.place.coefficients if access.place else {}
    # The program after this one differs in the first axis of the grid.
    outside = [*reversed(access.loops), *axes]
    touched: list[Axis] = [*tile]
    factor = 1.0
    inner: list[Loop] = []
    for loop in outside:
        moves = access.place is None or coefficients.get(loop.name, 0.0) != 0
        resident = known.get(key := (tuple(inner), access.loops))
        if resident is None:
            resident = known[key] = _footprint(every, inner, access.loops, cache)
        if resident > cache.size:
            # What comes around again is gone: each repetition brings its own.
            factor *= loop.trips
        elif moves:
            touched.append((loop.trips, coefficients.get(loop.name)))
        inner.append(loop)
    lines = _lines(access, touched)
    # Runs that share a line, as narrow tiles beside each other do, bring it once.
    runs = min(_runs(access, tile, touched[len(tile) :]), lines / _LINE)
    return (lines + runs * _UNSEEN_LINES * _LINE) * factor


def _footprint(
    every: Sequence[Access], inner: Sequence[Loop], loops: Sequence[Loop], cache: Cache | None = None
) -> float:
    """Bytes that all accesses touch in one repetition of the loop around `inner`. With a cache they are
    as many as fill it where the lines of one access take as many of its ways."""
    names = {loop.name for loop in inner}
    total = crowded = 0.0
    for access in every:
        place = access.place
        tile = list(zip(access.type.shape, place.strides if place else (None,) * len(access.type.shape)))
        own = [loop for loop in access.loops if loop.name in names or loop not in loops]
        around = [*own, *(loop for loop in inner if loop.name.startswith("program "))]
        moved = [(loop.trips, place.coefficients.get(loop.name, 0.0) if place else None) for loop in around]
        touched = _lines(access, [*tile, *moved])
        total += touched
        if cache:
            crowded = max(crowded, _ways(access, [*tile, *moved], cache) * cache.way_bytes - touched)
    return total + crowded


def _ways(access: Access, extents: Sequence[Axis], cache: Cache) -> float:
    """How many ways of a cache the lines of an access take where it takes the most: rows whose distance
    has a power of two in common with the bytes of a way lie in as few places of it."""
    ways, run = 1.0, access.type.element_bytes
    for extent, stride in sorted(extents, key=lambda pair: math.inf if pair[1] is None else abs(pair[1])):
        if stride == 0 or stride is None or extent <= 1:
            continue
        step = abs(stride) * access.type.element_bytes
        if step <= max(run, _LINE) and ways == 1.0 and run < _PAGE:
            run = max(run, step * (extent - 1) + access.type.element_bytes)
        else:
            apart = max(_LINE, math.gcd(int(step), min(_PAGE, cache.way_bytes)))
            ways *= math.ceil(extent * apart / cache.way_bytes)
    return ways * math.ceil(run / cache.way_bytes)
