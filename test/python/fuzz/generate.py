"""Generates one random kernel from a seed: its source and the arguments to launch it with."""

from __future__ import annotations

import random

import control
import newer
import operations
import reductions
from kernel_text import INTS, FLOATS, KernelText, Value, numel
from memory import atomic, load, store, update_in_place

EXTENTS = [1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 16, 17, 24, 31, 32, 32, 33, 40, 48, 64, 64, 65, 96]
POWERS = [1, 2, 4, 8, 16, 16, 32, 32, 64, 64, 128, 256]
MAX_WORK = 150_000

STEPS = {
    operations.binary: 10, operations.unary: 3, operations.compare: 3, operations.choose: 4,
    operations.convert: 3, operations.math_function: 2, operations.change_shape: 5,
    operations.gather: 2, operations.dot: 3, reductions.reduce_tile: 6, reductions.scan: 3,
    reductions.sort: 1, update_in_place: 3, atomic: 1, newer.libdevice: 2, newer.dot_scaled: 1, newer.aggregate: 1,
    newer.map_elements: 1, newer.reinterpret: 1, newer.more_shapes: 1, newer.atomic_access: 1,
}  # fmt: skip
BLOCKS = {control.for_loop: 5, control.while_loop: 2, control.branch: 3}


def pick_shapes(
    rng: random.Random, max_elements: int, powers_only: bool
) -> list[tuple[int, ...]]:
    """A few shapes over few extents, so that values meet."""
    extents = rng.sample(POWERS if powers_only else EXTENTS, 3)
    shapes: list[tuple[int, ...]] = [(e,) for e in extents]
    for _ in range(4):
        shape = tuple(rng.choice(extents) for _ in range(rng.choice([2, 2, 2, 3])))
        if numel(shape) <= max_elements // 2:
            shapes += [shape, shape[::-1]]
    if rng.random() < 0.5:
        shapes.append((numel(rng.choice(shapes)),))
    if rng.random() < 0.4:
        shapes.append((*rng.choice([s for s in shapes if len(s) < 3]), 1))
    return shapes


def statements(k: KernelText, depth: int) -> None:
    """A block of steps; deeper blocks are shorter."""
    for _ in range(k.rng.randint(1, [9, 4, 2, 1][min(depth, 3)])):
        if k.work > MAX_WORK:
            return
        choice = k.rng.random()
        if choice < 0.25 and depth < 3:
            block = k.rng.choices([*BLOCKS], [*BLOCKS.values()])[0]
            block(k, depth, statements)
        elif choice < 0.35 and k.values:
            store(k, k.rng.choice(k.values))
        else:
            k.rng.choices([*STEPS], [*STEPS.values()])[0](k)


def add_alias(k: KernelText) -> None:
    """Two arguments whose memory overlaps, at least one of them written."""
    dtype = k.favourites[0]
    first = k.array(dtype, True)
    second = k.array(dtype, k.rng.random() < 0.5)
    second.alias = (first.name, k.rng.choice([0, 0, 1, 5, 16]))
    second.misalignment = 0


def generate(seed: int, powers_only: bool = False) -> KernelText:
    """The kernel of a seed; with extents that GPUs take, if only powers of two are wanted."""
    rng = random.Random(seed)
    max_elements = rng.choice([512, 3072, 3072, 3072, 12288])
    grid, shapes = rng.choice([1, 1, 2, 3]), pick_shapes(rng, max_elements, powers_only)
    k = KernelText(rng, grid, shapes, max_elements, powers_only)
    k.favourites = [rng.choice(["float32", "int32", *INTS, *FLOATS]) for _ in range(2)]
    k.emit("pid = tw.program_id(0)")
    k.values.append(Value("pid", "int32", (), span=(0, k.grid - 1)))
    if k.grid == 1 and rng.random() < 0.4:
        add_alias(k)
    for _ in range(rng.randint(1, 3)):
        load(k, operations.any_dtype(k), k.pick_shape())
    statements(k, 0)
    for v in [v for v in k.values if v.text != "pid"][-12:]:
        if rng.random() < 0.6 or v.text.startswith("c"):
            store(k, v)
    for name, array in k.regions.items():
        k.scalars[name] = k.arrays[array].extent + rng.choice([0, 1, 16])
    return k


def source(k: KernelText) -> str:
    """The module's text."""
    parts = ["import tilewright as tw\n"]
    for name in sorted(k.functions):
        text = reductions.FUNCTIONS.get(name) or newer.MAPPED[name][1]
        parts.append(f"@tw.jit\n{text}")
    parts += [f"@tw.aggregate\n{text}" for text in k.classes.values()]
    parameters = ", ".join([*k.arrays, *k.scalars])
    parts.append(f"@tw.jit\ndef kernel({parameters}):\n" + "\n".join(k.lines) + "\n")
    return "\n\n".join(parts)
