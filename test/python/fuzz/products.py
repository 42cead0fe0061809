"""Kernels drawn at random around matrix products in loops: what loops over products have that
other kernels have not is drawn often (operands of all orders and types, masks that depend on the
loop, tables, branches, stores within the loop, products of products, loops within loops).

All numbers are small integers, so that every device gives the same ones.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

import tilewright as tw

LANGUAGE_NAMES = {
    "float16": "tw.float16", "bfloat16": "tw.bfloat16", "float32": "tw.float32", "int8": "tw.int8",
    "int32": "tw.int32", "float8_e5m2": "tw.float8e5",
}  # fmt: skip
ELEMENTS = 1 << 15  # of each array that is read
MOST_TRIPS = 6
BOUNDS = ("short", "shorter", "few")  # numbers that masks compare with


@dataclass
class Tile:
    """A value of small numbers; `axes` are indices of ProductKernel.extents."""

    name: str
    axes: tuple[int, int]
    dtype: str


@dataclass
class ProductKernel:
    """A kernel's text as it grows, and what a launch needs."""

    rng: random.Random
    extents: list[int]
    arrays: dict[str, str]  # name to dtype
    main: str
    lines: list[str] = field(default_factory=list)
    depth: int = 1
    names: int = 0
    accumulators: dict[tuple[int, int], str] = field(default_factory=dict)
    stored: int = 0  # elements of `out`
    numbers: dict[str, int] = field(default_factory=dict)  # run-time arguments

    def emit(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def new(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    def number(self, prefix: str, value: int) -> str:
        """A number as an argument or as itself."""
        if self.rng.random() < 0.5:
            return str(value)
        self.numbers[f"{prefix}{value}"] = value
        return f"{prefix}{value}"

    def index(self, axis: int, is_row: bool) -> str:
        place = "[:, None]" if is_row else "[None, :]"
        return f"tw.arange(0, {self.extents[axis]}){place}"

    def accumulator_type(self) -> str:
        return "int32" if self.main == "int8" else "float32"


def random_mask(k: ProductKernel, axes: tuple[int, int], loop: str) -> str:
    row, column = k.index(axes[0], True), k.index(axes[1], False)
    other = k.rng.choice(["", ", other=0", ", other=1", ", other=2"])
    masks = [
        f"{column} < short", f"{row} < shorter", f"({row} < shorter) & ({column} < short)",
    ]  # fmt: skip
    if loop:
        masks += [
            f"{column} + {loop} * 8 < short", f"({row} + {column} + {loop}) % 3 != 0",
            f"({row} < shorter) & ({loop} < few)",
        ]  # fmt: skip
    return f", mask={k.rng.choice(masks)}{other}" if k.rng.random() < 0.5 else ""


def load(k: ProductKernel, loop: str) -> Tile:
    """Rows or columns contiguous, at a place that the loop advances, or that a table names."""
    rng = k.rng
    array, axes = rng.choice(list(k.arrays)), tuple(rng.sample(range(3), 2))
    rows, columns = (k.extents[axis] for axis in axes)
    is_row_major = rng.random() < 0.6
    stride = (columns if is_row_major else rows) + rng.choice([0, 0, 0, 8, 16, 16, 1])
    span = (rows if is_row_major else columns) * stride
    step = rng.choice([0, 1, 8, 16, 32, 64, columns, stride, rows * stride]) if loop else 0
    while step * MOST_TRIPS + span + 64 > ELEMENTS:
        step //= 2
    base = f"{array} + {rng.choice([0, 0, 0, 64, 3])}"
    if loop:
        place = rng.choice([loop, loop, loop, f"tw.load(table + {loop})", f"({loop} % 3)"])
        base += f" + {place} * {step}"
    strides = (k.number("stride", stride), "1") if is_row_major else ("1", str(stride))
    row, column = k.index(axes[0], True), k.index(axes[1], False)
    at = f"{base} + {row} * {strides[0]} + {column} * {strides[1]}"
    tile = Tile(k.new("x"), axes, k.arrays[array])
    k.emit(f"{tile.name} = tw.load({at}{random_mask(k, axes, loop)})")
    return tile


def transform(k: ProductKernel, tile: Tile, loop: str) -> Tile:
    """Another tile of small numbers."""
    swapped = (tile.axes[1], tile.axes[0])
    row, column = k.index(tile.axes[0], True), k.index(tile.axes[1], False)
    forms = [(f"tw.trans({tile.name})", swapped, tile.dtype)]
    if tile.dtype != "float8_e5m2":
        forms += [
            (f"tw.minimum(tw.maximum({tile.name} * 2, -3), 3)", tile.axes, tile.dtype),
            (f"tw.where({row} >= {column}, {tile.name}, 0)", tile.axes, tile.dtype),
        ]
        if loop:
            forms.append((f"{tile.name} * ({loop} % 2)", tile.axes, tile.dtype))
    if k.main != "int8":
        forms += [(tile.name, tile.axes, dtype) for dtype in ("float16", "bfloat16", "float32")]
    text, axes, dtype = k.rng.choice(forms)
    cast = "" if text.startswith("tw.trans") else f".to({LANGUAGE_NAMES[dtype]})"
    result = Tile(k.new("y"), axes, dtype)
    k.emit(f"{result.name} = ({text}){cast}")
    return result


def product_text(k: ProductKernel, left: Tile, right: Tile, acc: str) -> str:
    texts = [left.name, right.name]
    dtypes = {left.dtype, right.dtype}
    common = dtypes.pop() if len(dtypes) == 1 else None
    if common is None or (common == "int8" and k.main != "int8"):
        common = "float32" if "float32" in (left.dtype, right.dtype) else "float16"
        texts = [f"{text}.to({LANGUAGE_NAMES[common]})" for text in texts]
    if common == "float32":
        acc += f', input_precision="{k.rng.choice(["tf32", "tf32", "tf32x3", "ieee"])}"'
    return f"tw.dot({texts[0]}, {texts[1]}{acc})"


def multiply(k: ProductKernel, tiles: list[Tile], is_kept: bool = False) -> Tile | None:
    """Adds a product of two of the tiles to an accumulator, or gives it as a value."""
    pairs = [
        (x, y) for x in tiles for y in tiles if x.axes[1] == y.axes[0] and x.axes[0] != y.axes[1]
    ]
    if not pairs:
        return None
    left, right = k.rng.choice(pairs[-6:])
    axes = (left.axes[0], right.axes[1])
    if is_kept:
        result = Tile(k.new("p"), axes, k.accumulator_type())
        k.emit(f"{result.name} = {product_text(k, left, right, '')}")
        return result
    acc = k.accumulators.setdefault(axes, f"acc{axes[0]}{axes[1]}")
    if k.rng.random() < 0.6:
        k.emit(f"{acc} = {product_text(k, left, right, f', {acc}')}")
    else:
        k.emit(f"{acc} += {product_text(k, left, right, '')}")
    return None


def store(k: ProductKernel, tile: Tile, loop: str) -> None:
    rows, columns = (k.extents[axis] for axis in tile.axes)
    row, column = k.index(tile.axes[0], True), k.index(tile.axes[1], False)
    places = [f"{row} * {columns} + {column}"] * 2 + [f"{column} * {rows} + {row}"]
    place = k.rng.choice(places)
    step = f" + {loop} * {rows * columns}" if loop else ""
    operation = "atomic_add" if loop and k.rng.random() < 0.2 else "store"
    k.emit(f"tw.{operation}(out + {k.stored}{step} + {place}, {tile.name}.to(tw.float32))")
    k.stored += rows * columns * (MOST_TRIPS + 1 if loop else 1)


def multiply_twice(k: ProductKernel, tiles: list[Tile], loop: str) -> None:
    """A product whose clamped numbers are an operand of another."""
    product = multiply(k, tiles, is_kept=True)
    if product is None:
        return
    if k.rng.random() < 0.3 and k.stored < ELEMENTS:
        store(k, product, loop)
    dtype = "int8" if k.main == "int8" else k.rng.choice(["float16", "bfloat16"])
    clamped = f"tw.minimum(tw.maximum({product.name}, -2), 2)"
    operand = Tile(k.new("q"), product.axes, dtype)
    k.emit(f"{operand.name} = {clamped}.to({LANGUAGE_NAMES[dtype]})")
    multiply(k, [*tiles, operand])


def branch(k: ProductKernel, tiles: list[Tile], loop: str) -> None:
    """Products, and perhaps loads, in some iterations only."""
    tests = [f"{loop} % 2 == 0", f"tw.load(table + {loop}) > 1", f"{loop} < few"]
    k.emit(f"if {k.rng.choice(tests) if loop else 'few > 1'}:")
    for word in ("", "else:")[: k.rng.choice([1, 1, 2])]:
        if word:
            k.emit(word)
        k.depth += 1
        k.emit("pass")
        inner = [*tiles, load(k, loop)] if k.rng.random() < 0.5 else tiles
        multiply(k, inner)
        k.depth -= 1


def body(k: ProductKernel, loop: str, outer: list[Tile]) -> None:
    tiles = list(outer)
    for _ in range(k.rng.randint(2, 4)):
        tiles.append(load(k, loop))
        if k.rng.random() < 0.4:
            tiles.append(transform(k, tiles[-1], loop))
    for _ in range(k.rng.randint(1, 3)):
        choice = k.rng.random()
        if choice < 0.6:
            multiply(k, tiles)
        elif choice < 0.8:
            multiply_twice(k, tiles, loop)
        elif choice < 0.9:
            branch(k, tiles, loop)
        else:
            tiles.append(load(k, loop))
    multiply(k, tiles)


def loop_over(k: ProductKernel, outer: list[Tile], is_inner: bool) -> None:
    """A loop of any form, with no more than MOST_TRIPS iterations, numbered from 0."""
    loop, trips = k.new("i"), k.rng.choice([0, 1, 2, 3, 4, 5, 5])
    end, stages = k.number("trips", trips), k.rng.choice([1, 2, 3, 4])
    heads = [
        f"for {loop} in range(0, {end}):", f"for {loop} in range(0, {end}):",
        f"for {loop} in tw.range(1, {end} + 1, num_stages={stages}):",
        f"for {loop} in range({trips}):", f"for {loop} in tw.static_range({min(trips, 2)}):",
        f"for {loop} in range(5, {end}, -2):", f"for {loop} in range(tw.load(table + {trips}), 5):",
        f"while {loop} < tw.load(table + {trips}):",
    ]  # fmt: skip
    head = k.rng.choice(heads)
    if head.startswith("while"):
        k.emit(f"{loop} = 0")
    k.emit(head)
    k.depth += 1
    k.emit("pass")
    if not is_inner and k.rng.random() < 0.25:
        loop_over(k, [*outer, load(k, loop)] if k.rng.random() < 0.5 else outer, is_inner=True)
    body(k, loop, outer)
    if head.startswith("while"):
        k.emit(f"{loop} += 1")
    k.depth -= 1


def finish(k: ProductKernel) -> str:
    """The text: accumulators before the loops, and what becomes of them after."""
    loops, k.lines = k.lines, []
    zero = LANGUAGE_NAMES[k.accumulator_type()]
    for axes, acc in k.accumulators.items():
        k.emit(f"{acc} = tw.zeros(({k.extents[axes[0]]}, {k.extents[axes[1]]}), {zero})")
    start, k.lines = k.lines, []
    for axes, acc in k.accumulators.items():
        if k.rng.random() < 0.3:
            rows = k.extents[axes[0]]
            total = f"tw.sum({acc}, 1).to(tw.float32)"
            k.emit(f"tw.store(out + {k.stored} + tw.arange(0, {rows}), {total})")
            k.stored += rows
        store(k, Tile(acc, axes, ""), "")
    names = [*k.arrays, "out", "table", *BOUNDS, *sorted(k.numbers)]
    text = "\n".join(start + loops + k.lines) or "    pass"
    return f"import tilewright as tw\n\n\n@tw.jit\ndef kernel({', '.join(names)}):\n{text}\n"


def generate(seed: int) -> tuple[ProductKernel, str]:
    rng = random.Random(seed)
    sizes = rng.choice([[16, 16, 32, 32, 64], [16, 32, 48, 20, 24, 40, 33]])
    extents = [rng.choice(sizes) for _ in range(3)]
    main = rng.choice(["float16", "float16", "bfloat16", "float32", "int8", "float8_e5m2", "mixed"])
    dtypes = [main]
    if main == "mixed":
        dtypes = ["float16", "bfloat16", "float32", "int8", "float8_e5m2"]
    arrays = {f"a{i}": rng.choice(dtypes) for i in range(rng.randint(2, 4))}
    k = ProductKernel(rng, extents, arrays, main)
    before = [load(k, "")] if rng.random() < 0.5 else []
    for _ in range(rng.choice([1, 1, 1, 2])):
        loop_over(k, before, is_inner=False)
    return k, finish(k)


def run(k: ProductKernel, kernel: Any, seed: int, device: str, **options: int) -> Any:
    """What the kernel leaves in `out`."""
    rng = np.random.default_rng(seed)
    arrays = [
        torch.from_numpy(rng.integers(-1, 2, ELEMENTS)).float().to(getattr(torch, dtype))
        for dtype in k.arrays.values()
    ]
    out = torch.full((k.stored + 64,), -12345.0)
    table = torch.from_numpy(rng.integers(0, MOST_TRIPS, 16)).int()
    bounds = [rng.choice([5, 16, 20, 32, 64]), rng.choice([7, 16, 24, 32]), rng.integers(0, 4)]
    numbers = [k.numbers[name] for name in sorted(k.numbers)]
    with tw.device(device):
        kernel[(1,)](*arrays, out, table, *map(int, bounds), *numbers, **options)
    return out
