"""Layouts that a text of MLIR names: where each element of a line's tiles is, as linear maps."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ..analysis.text import bits_of
from .locations import Line

MOST_OF_LINE, MOST_OF_KERNEL = 8, 240
_LANE, _WARP = 32, 48  # bits of triples, above those of elements
_LIST = r"\[(?:[\d, ]|\[[\d, ]*\])*\]"
_BASES = re.compile(rf"(\w+) = ({_LIST})")
_TILE = re.compile(r"tensor<[\dx]+x([^,]+), #tile\.layout<\[([\d, ]+)\]([^<>]*)>>")
_SHARED = re.compile(
    r'simt\.alloc_shared "([^"]*)".* : (?:!simt\.shared)?<\[[\d, ]+\], (\w+), <\[([\d, ]+)\]([^<>]*)>'
)
_OPERATION = re.compile(r'\s*(?:%[\w:#, %]+ = )?"?([a-z_]+\.[a-z_]+)')
_CHANGE = "simt.convert_layout"
# The roles of an operation's tiles in the order of its types; others are called after the operation.
_ROLES = {
    "simt.mma": ("operand A", "operand B", "accumulator"),
    _CHANGE: ("before a change of layout", "after a change of layout"),
    "simt.load_shared": ("read from shared memory",),
    "simt.store_shared": ("written to shared memory",),
    "tile.load": ("loaded tile",),
    "tile.store": ("stored tile",),
    "tile.reduce": ("reduced tile", "result of a reduction"),
    "tile.scan": ("scanned tile",),
}
_MASK = "i1"
_PLAIN = "tile of"


class Layout(NamedTuple):
    """A tile's elements by the bits of numbers. Each bit of a number adds, by xor, its basis: an element
    as a row-major index. Numbers are the `register`, `lane` and `warp`, or, in shared memory, the
    `offset` in elements. Extents are powers of two, and a basis 0 means copies."""

    shape: tuple[int, ...]
    element: str
    bases: tuple[tuple[str, tuple[int, ...]], ...]

    @property
    def bits(self) -> int:
        """The width of an element."""
        return bits_of(self.element)


class Drawing(NamedTuple):
    """A layout that a source line has, and what it is of."""

    line: int
    role: str
    layout: Layout


class Move(NamedTuple):
    """A change of layout on a source line: how many elements come to another lane of their warp, and to
    another warp, of so many in all. One that `is_staged` goes through a buffer in shared memory."""

    line: int
    lanes: int
    warps: int
    elements: int
    is_staged: bool = False


def drawings_of(lines: Iterable[Line]) -> list[Drawing]:
    """The layouts of each source line, each once: those of operations with a role first, in their
    order."""
    by_line: dict[int, dict[Layout, str]] = {}
    for line in lines:
        for role, layout in _read(line.text) if line.source else ():
            own = by_line.setdefault(line.source, {})
            if _is_plain(own.get(layout, _PLAIN)):
                own[layout] = role
    found: list[Drawing] = []
    for source in sorted(by_line):
        own = sorted(by_line[source].items(), key=lambda pair: _is_plain(pair[1]))
        found += [Drawing(source, role, layout) for layout, role in own[:MOST_OF_LINE]]
    return found[:MOST_OF_KERNEL]


def moves_of(lines: Iterable[Line]) -> Iterator[Move]:
    """The changes of layout of a text that move elements."""
    for line in lines:
        operation = _OPERATION.match(line.text)
        tiles = _tiles(line.text) if operation and operation[1] == _CHANGE else []
        if line.source and len(tiles) == 2:
            lanes, warps, elements = moved(*tiles)
            if lanes or warps:
                yield Move(line.source, lanes, warps, elements)


def moved(before: Layout, after: Layout) -> tuple[int, int, int]:
    """How many elements come to another lane of their warp, to another warp, and are there in all: an
    element counts for each lane that gets it, and not where the lane has a copy.

    What lanes hold is a linear space of triples (element, lane, warp), and so is what they get. Elements
    stay where the triples are in both, and come from their warp where they are but for the lane.
    """
    held, got = _triples(before), _triples(after)
    any_lane = [1 << bit for bit in range(_LANE, _WARP)]
    all_of = _rank(got)
    stay = all_of + _rank(held) - _rank(held + got)
    near = all_of + _rank(held + any_lane) - _rank(held + any_lane + got)
    return (1 << near) - (1 << stay), (1 << all_of) - (1 << near), 1 << all_of


def _triples(layout: Layout) -> list[int]:
    """The basis of a layout's triples, as bits of numbers: those of the warp above those of the lane,
    above those of the element."""
    above = {"register": 0, "lane": 1 << _LANE, "warp": 1 << _WARP}
    bases = ((above[name], bit, basis) for name, own in layout.bases for bit, basis in enumerate(own))
    return [basis | one << bit for one, bit, basis in bases]


def _rank(vectors: list[int]) -> int:
    """The dimension of the space that the vectors span under xor."""
    kept: list[int] = []
    for vector in vectors:
        for other in kept:
            vector = min(vector, vector ^ other)
        if vector:
            kept.append(vector)
    return len(kept)


def _is_plain(role: str) -> bool:
    return role.startswith(_PLAIN)


def _tiles(text: str) -> list[Layout]:
    """The layouts of the tiles that an operation names, in the order of its types."""
    names = ("register", "lane", "warp")
    return [_layout(found[2], found[1], found[3], names) for found in _TILE.finditer(text)]


def _read(text: str) -> Iterator[tuple[str, Layout]]:
    """The layouts that an operation names and that are drawn, each with its role."""
    if shared := _SHARED.search(text):
        buffer = _layout(shared[3], shared[2], shared[4], ("offset",))
        yield f"buffer in shared memory: {shared[1]}", buffer
    operation = _OPERATION.match(text)
    if not operation or shared:
        return
    name, tiles = operation[1], [tile for tile in _tiles(text) if _is_drawn(tile)]
    roles = _ROLES.get(name, (f"{_PLAIN} {name}",))
    if name == "tile.load" or name not in _ROLES:  # the last one is the result
        tiles = tiles[-1:]
    yield from zip(roles, tiles)


def _is_drawn(tile: Layout) -> bool:
    """Tell whether a tile is worth a picture: masks and pointers lie as what they are for."""
    return tile.element != _MASK and tile.element[0] != "!" and math.prod(tile.shape) > 1


def _layout(shape: str, element: str, bases: str, names: tuple[str, ...]) -> Layout:
    extents = tuple(int(extent) for extent in shape.split(","))
    strides = [math.prod(extents[axis + 1 :]) for axis in range(len(extents))]
    found = {name: text for name, text in _BASES.findall(bases)}

    def numbers(text: str) -> tuple[int, ...]:
        rows = re.findall(r"\[([\d, ]+)\]", text)
        points = ([int(number) for number in row.split(",")] for row in rows)
        return tuple(sum(map(operator.mul, point, strides)) for point in points)

    return Layout(extents, element, tuple((n, numbers(found.get(n, "[]")[1:-1])) for n in names))
