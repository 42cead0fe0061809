"""Reads the text of Tile IR as operations with operands, types and regions."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple


class TileType(NamedTuple):
    """The shape of a tile, () of a scalar, and the element type: "f32", "i1", "!tile.ptr<f32>"."""

    shape: tuple[int, ...]
    element: str

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def element_bytes(self) -> float:
        """Bytes of an element; those of what a pointer points to."""
        return bytes_of(self.element)

    @property
    def bytes(self) -> float:
        """Bytes of all elements."""
        return self.size * self.element_bytes


@lru_cache(maxsize=None)
def bits_of(element: str) -> int:
    """The width of an element type, such as "bf16" or "f8E4M3FN"; of a pointer that of what it points to."""
    bits = re.search(r"\d+", element)
    return int(bits[0]) if bits else 64


def bytes_of(element: str) -> float:
    """Bytes of an element type in memory."""
    return max(1.0, bits_of(element) / 8)


@dataclass
class Operation:
    """One operation: `results` and `operands` are names, `types` those that stand in its line."""

    name: str
    results: list[str]
    operands: list[str]
    types: list[TileType]
    text: str
    arguments: list[str] = field(default_factory=list[str])  # of a region's block
    body: list[Operation] = field(default_factory=list["Operation"])
    # The second region: of scf.if what is done else, of scf.while what is done while it holds.
    otherwise: list[Operation] = field(default_factory=list["Operation"])
    second: list[str] = field(default_factory=list[str])  # arguments of its block
    row: int = 0  # of the text, from 0
    closing: int = 0  # the row that closes its regions

    @property
    def type(self) -> TileType:
        """The type of the result, or of what is stored; that of nothing where there is none."""
        return self.types[-1] if self.types else TileType((), "")

    @property
    def mask(self) -> str:
        """The name of an access's mask; "" where it has none."""
        found = _MASK.search(self.text)
        return found[1] if found else ""

    @property
    def predicate(self) -> str:
        """How arith.cmpi compares, such as "slt"."""
        return self.text.split()[0].rstrip(",")

    @property
    def product(self) -> tuple[int, int, int, str]:
        """M (times the products of a batch), N and K of a matrix product, and the element type of A."""
        a, b, *_ = (type for type in self.types if len(type.shape) > 1)
        return math.prod(a.shape[:-1]), b.shape[-1], a.shape[-1], a.element

    def number_after(self, word: str) -> int:
        """The number behind a word of the text, such as that of `axis 1`. Raises ValueError where there
        is none."""
        found = re.search(rf"\b{word}\D*(\d+)", self.text)
        if found is None:
            raise ValueError(f"{self.name} has no {word}")
        return int(found[1])


class Kernel(NamedTuple):
    """A kernel: its arguments' names in the text by the parameter's name, and its operations."""

    arguments: dict[str, str]
    body: list[Operation]


_MASK = re.compile(r"mask (%\S+)")
_NAME = re.compile(r"%[\w$.-]+(?:#\d+)?")
_LINE = re.compile(r"(?:(%[\w$.-]+)(?::(\d+))? = )?([a-z_]+\.[\w.]+|return)(.*)")
_ARGUMENT = re.compile(r"(%arg\d+): [^{%]*\{[^}]*tile\.name = \"([^\"]+)\"")
_SCALAR = re.compile(r"(?<![\w<x])(?:[iu]\d+|f\d\w*|bf16|index)(?!\w)")
_TILE = re.compile(r"tensor<((?:\d+x)*)([^<>]+(?:<[^<>]*>)?)>")
_BLOCK = re.compile(r"(%[\w$.-]+): ")
_CARRIED = re.compile(r"(%[\w$.-]+) = (%[\w$.#-]+)")
_FOR = re.compile(r" (%\S+) = (%\S+) to (%\S+) step (%\S+)(?: iter_args\((.*?)\) ->)?")


def read_kernel(text: str) -> Kernel:
    """The kernel in a module's text: the function whose parameters have names."""
    lines = text.splitlines()
    start = next(number for number, line in enumerate(lines) if "func.func @" in line and "tile.name" in line)
    arguments = {name: argument for argument, name in _ARGUMENT.findall(lines[start])}
    body, _ = _read_block(lines, start + 1)
    return Kernel(arguments, body)


def _read_block(lines: list[str], at: int) -> tuple[list[Operation], int]:
    """The operations up to the line that closes their block, and the number of that line."""
    found: list[Operation] = []
    while at < len(lines):
        line = lines[at].strip()
        if line.startswith("}"):
            if not line.startswith("} else {") or not found:
                return found, at
        operation = _read_line(line)
        if operation is None:
            at += 1
            continue
        operation.row = at
        found.append(operation)
        if line.endswith("{"):
            operation.body, at = _read_block(lines, at + 1)
            if lines[at].strip().startswith(("} else {", "} do {")):
                operation.second = _BLOCK.findall(lines[at + 1]) if "^bb" in lines[at + 1] else []
                operation.otherwise, at = _read_block(lines, at + 1)
            closing, operation.closing = lines[at].strip(), at
            operation.text += closing
            if operation.name != "scf.for" and "->" in closing:  # the types of a reduction
                operation.types = _types(closing)
        at += 1
    return found, at


def _read_line(line: str) -> Operation | None:
    match = _LINE.match(line)
    if match is None:
        return None
    result, count, name, rest = match.groups()
    results = [] if result is None else [result]
    if count:
        results = [f"{result}#{number}" for number in range(int(count))]
    values, _, types = rest.partition(" : ")
    operation = Operation(name, results, _NAME.findall(values), _types(types), rest)
    if name == "scf.for" and (loop := _FOR.match(rest)):
        carried = _CARRIED.findall(loop[5] or "")
        operation.arguments = [loop[1], *(inside for inside, _ in carried)]
        operation.operands = [loop[2], loop[3], loop[4], *(outside for _, outside in carried)]
    elif name == "scf.while":
        carried = _CARRIED.findall(values)
        operation.arguments = [inside for inside, _ in carried]
        operation.operands = [outside for _, outside in carried]
    return operation


def _types(text: str) -> list[TileType]:
    """The types in a piece of a line, in their order."""
    found = [
        (match.start(), TileType(tuple(map(int, match[1].split("x")[:-1])), match[2]))
        for match in _TILE.finditer(text)
    ]
    rest = _TILE.sub(lambda match: " " * len(match[0]), text)
    found += [(match.start(), TileType((), match[0])) for match in _SCALAR.finditer(rest)]
    return [type for _, type in sorted(found)]
