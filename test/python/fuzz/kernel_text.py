"""The kernel that the fuzzer is writing: its lines, arguments and the values that it may use.

Every value is well typed by construction. Floats are small integers whose bound is tracked, so that
any order of operations gives the same bits; values of functions like exp are marked inexact and go
only to outputs that are compared with a tolerance.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

SIGNED = ["int8", "int16", "int32", "int64"]
INTS = [*SIGNED, "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
# The largest integers up to which every integer is a number of the type.
LIMITS = {"float16": 1 << 11, "bfloat16": 1 << 8, "float32": 1 << 24, "float64": 1 << 40}
WILD = 1 << 60  # the bound of floats with any bits; they are limited before arithmetic


@dataclass
class Value:
    """A name in the kernel. `bound` limits exact floats, `span` (low, high) integer scalars."""

    text: str
    dtype: str
    shape: tuple[int, ...]
    bound: int = 0
    is_exact: bool = True
    span: tuple[int, int] | None = None


@dataclass
class Array:
    """A pointer argument. Each program owns `extent` elements of it when it is written."""

    name: str
    dtype: str
    is_written: bool
    bound: int = 8
    extent: int = 1
    is_shared: bool = False  # all programs read the same elements, and none writes
    is_exact: bool = True
    index_below: int = 0  # the elements are indices below this
    alias: tuple[str, int] | None = None  # the same memory, this many elements on
    misalignment: int = 0


@dataclass
class KernelText:
    """The state of generation."""

    rng: random.Random
    grid: int
    shapes: list[tuple[int, ...]]
    max_elements: int = 3072
    powers_only: bool = False  # all extents are powers of two
    favourites: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    depth: int = 1
    values: list[Value] = field(default_factory=list)
    arrays: dict[str, Array] = field(default_factory=dict)
    scalars: dict[str, int] = field(default_factory=dict)
    regions: dict[str, str] = field(default_factory=dict)  # scalar -> array whose extent it is
    counter: int = 0
    functions: set[str] = field(default_factory=set)
    classes: dict[str, str] = field(default_factory=dict)  # name -> text
    work: int = 0  # elements computed, to keep the interpreter fast
    repeats: int = 1  # of the loops around

    def emit(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def name(self, prefix: str = "v") -> str:
        self.counter += 1
        return f"{prefix}{self.counter}"

    def define(
        self, text: str, dtype: str, shape: tuple[int, ...], bound: int = 0, is_exact: bool = True
    ) -> Value:
        """A new name for an expression."""
        name = self.name()
        self.emit(f"{name} = {text}")
        value = Value(name, dtype, tuple(shape), bound, is_exact)
        self.values.append(value)
        self.work += numel(shape) * self.repeats
        return value

    def scalar(self, number: int) -> Value:
        """A launch-time number."""
        for name, old in self.scalars.items():
            if old == number and name not in self.regions and self.rng.random() < 0.5:
                return Value(name, "int32", (), span=(number, number))
        name = self.name("n")
        self.scalars[name] = number
        return Value(name, "int32", (), span=(number, number))

    def array(self, dtype: str, is_written: bool, **kwargs: object) -> Array:
        name = self.name("a")
        if dtype in LIMITS and not is_written and self.rng.random() < 0.15:
            kwargs["bound"] = WILD
        self.arrays[name] = Array(name, dtype, is_written, **kwargs)  # type: ignore[arg-type]
        if self.rng.random() < 0.3:
            self.arrays[name].misalignment = self.rng.choice([1, 3, 7])
        return self.arrays[name]

    def region(self, array: Array) -> str:
        """The scalar argument that is the extent of one program's part of the array."""
        for name, other in self.regions.items():
            if other == array.name:
                return name
        name = self.name("n")
        self.scalars[name] = 0
        self.regions[name] = array.name
        return name

    def pick_shape(self, rank: int | None = None) -> tuple[int, ...]:
        known = [s for s in self.shapes if rank is None or len(s) == rank]
        return self.rng.choice(known or self.shapes)

    def existing(self, dtype: str | None = None, exact: bool = True) -> Value | None:
        known = [
            v for v in self.values
            if (dtype is None or v.dtype == dtype) and v.dtype != "pointer"
            and (v.is_exact or not exact)
        ]  # fmt: skip
        if not known:
            return None
        # The latest values more often than the first.
        return known[-1 - int(len(known) * self.rng.random() ** 1.5)]


def numel(shape: tuple[int, ...]) -> int:
    count = 1
    for extent in shape:
        count *= extent
    return count


def is_float(dtype: str) -> bool:
    return dtype in LIMITS


def subscript(rank: int, dim: int) -> str:
    """Turns a tile of rank 1 into one of `rank` that varies along `dim`."""
    if rank == 1:
        return ""
    return "[" + ", ".join(":" if d == dim else "None" for d in range(rank)) + "]"


def bounded(k: KernelText, v: Value, bound: int) -> Value:
    """The value limited so that its magnitude is at most `bound`."""
    if not is_float(v.dtype) or not v.is_exact or v.bound <= bound:
        return v
    style = k.rng.randrange(3)
    if v.bound == WILD:
        text = f"tw.floor(tw.clamp({v.text}, {-bound}.0, {bound}.0))"
    elif style == 0:
        text = f"tw.minimum(tw.maximum({v.text}, {-bound}.0), {bound}.0)"
    elif style == 1:
        text = f"tw.clamp({v.text}, {-bound}.0, {bound}.0)"
    else:
        text = f"tw.where(tw.abs({v.text}) > {bound}.0, {k.rng.randint(-bound, bound)}.0, {v.text})"
    return k.define(text, v.dtype, v.shape, bound)


def cast(k: KernelText, v: Value, dtype: str) -> Value:
    """The value as another element type, such that the result is exact."""
    if v.dtype == dtype:
        return v
    if is_float(v.dtype) and is_float(dtype):
        v = bounded(k, v, LIMITS[dtype])
        return k.define(f"{v.text}.to(tw.{dtype})", dtype, v.shape, v.bound, v.is_exact)
    if is_float(dtype):
        if v.dtype == "int1":
            return k.define(f"{v.text}.to(tw.{dtype})", dtype, v.shape, 1)
        bits = k.rng.choice([3, 7, 15, 31])
        text = f"({v.text} & {bits})" if k.rng.random() < 0.7 else f"({v.text} % {bits + 1})"
        return k.define(f"{text}.to(tw.{dtype})", dtype, v.shape, bits)
    if dtype == "int1" and k.rng.random() < 0.5:
        return k.define(f"{v.text} > {k.rng.randint(0, 3)}", "int1", v.shape)
    return k.define(f"{v.text}.to(tw.{dtype})", dtype, v.shape)


def fit(k: KernelText, v: Value, shape: tuple[int, ...]) -> Value | None:
    """The value's elements as a tile of another shape; None when there is no way."""
    if v.shape == shape:
        return v
    if v.shape == ():
        if k.rng.random() < 0.5 or v.dtype == "int1":
            text = f"tw.broadcast_to({v.text}, {shape})"
        else:
            text = f"tw.full({shape}, {v.text}, tw.{v.dtype})"
        return k.define(text, v.dtype, shape, v.bound, v.is_exact)
    if shape == ():
        return None
    if sorted(v.shape) == sorted(shape) and k.rng.random() < 0.7:
        order, rest = [], list(enumerate(v.shape))
        for extent in shape:
            dim = next(d for d, e in rest if e == extent)
            rest = [(d, e) for d, e in rest if d != dim]
            order.append(dim)
        text = f"tw.permute({v.text}, {tuple(order)})"
        return k.define(text, v.dtype, shape, v.bound, v.is_exact)
    if numel(v.shape) == numel(shape):
        return k.define(f"tw.reshape({v.text}, {shape})", v.dtype, shape, v.bound, v.is_exact)
    return broadcasted(k, v, shape)


def broadcasted(k: KernelText, v: Value, shape: tuple[int, ...]) -> Value | None:
    """Matches the value's dimensions with equal ones (its 1s with any) of the shape, in order."""
    places, dim = [], 0
    for place, extent in enumerate(shape):
        if dim < len(v.shape) and v.shape[dim] in (extent, 1) and len(shape) - place >= 1:
            places.append(place)
            dim += 1
    if dim < len(v.shape):
        return None
    index = ", ".join(":" if place in places else "None" for place in range(len(shape)))
    text = v.text if len(places) == len(shape) else f"{v.text}[{index}]"
    return k.define(f"tw.broadcast_to({text}, {shape})", v.dtype, shape, v.bound, v.is_exact)
