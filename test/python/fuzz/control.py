"""Loops and branches of the fuzzer: what they carry swaps, shifts, accumulates and advances."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kernel_text import LIMITS, KernelText, Value, bounded, cast, fit, is_float, numel
from memory import claim, offsets, pointer, readable_array
from operations import operand

Body = Callable[[KernelText, int], None]


def carried_values(k: KernelText) -> list[Value]:
    """New names for one to four values, with bounds that hold in all iterations."""
    carried = []
    shape = k.pick_shape()
    count = k.rng.randint(1, 4)
    dtype = k.rng.choice([None, "int32", "float32"])
    for _ in range(count):
        same = k.rng.random() < 0.7
        own_shape = shape if same else k.rng.choice([(), k.pick_shape()])
        v = operand(k, dtype if same else None, own_shape)
        limit = min(LIMITS.get(v.dtype, 0), 64)
        v = bounded(k, v, limit)
        name = k.name("c")
        k.emit(f"{name} = {v.text}")
        carried.append(Value(name, v.dtype, v.shape, limit))
    return carried


def as_carried(k: KernelText, v: Value | None, c: Value) -> str:
    """The value in the type, shape and bound of a carried one; else the carried one's own text."""
    if v is None:
        return c.text
    fitted = fit(k, v, c.shape) if v.shape != c.shape else v
    if fitted is None:
        return c.text
    return bounded(k, cast(k, fitted, c.dtype), c.bound).text


def update_carried(k: KernelText, carried: list[Value]) -> None:
    """Assigns all carried names, together or one after the other, from old and new values."""
    texts = []
    rotation = k.rng.randrange(len(carried)) if k.rng.random() < 0.5 else None
    for i, c in enumerate(carried):
        if rotation is not None and k.rng.random() < 0.8:
            source = carried[(i + rotation) % len(carried)]
        else:
            source = k.existing() or c
        new = as_carried(k, source, c)
        if k.rng.random() < 0.4:
            other = as_carried(k, k.rng.choice(carried), c)
            if c.dtype == "int1":
                new = f"{new} ^ {other}"
            else:
                half = min(2 * c.bound, LIMITS.get(c.dtype, 0))
                mixed = k.define(f"{new} + {other}", c.dtype, c.shape, half)
                new = bounded(k, mixed, c.bound).text
        texts.append(new)
    if k.rng.random() < 0.7:
        k.emit(f"{', '.join(c.text for c in carried)} = {', '.join(texts)}")
        return
    for c, text in zip(carried, texts):
        k.emit(f"{c.text} = {text}")


def indented(k: KernelText, body: Callable[[], None]) -> None:
    """Runs a generator of an inner block; names made in it end with it."""
    known = list(k.values)
    k.depth += 1
    start = len(k.lines)
    body()
    if len(k.lines) == start:
        k.emit("pass")
    k.depth -= 1
    k.values[:] = known


def for_loop(k: KernelText, depth: int, body: Body) -> None:
    trips = k.rng.choice([0, 1, 2, 3, 4])
    low, step = k.rng.choice([0, 0, 2]), k.rng.choice([1, 1, 1, 2, 3])
    high = low + trips * step
    carried = carried_values(k)
    walker = pointer_walk(k, trips) if k.rng.random() < 0.5 else None
    i = k.name("i")
    bounds = [k.scalar(x).text if k.rng.random() < 0.6 else str(x) for x in (low, high, step)]
    if step == 1 and low == 0 and k.rng.random() < 0.8:
        bounds = bounds[1:2]
    k.emit(f"for {i} in range({', '.join(bounds)}):")
    k.repeats *= max(trips, 1)

    def inside() -> None:
        k.values += carried
        k.values.append(Value(i, "int32", (), span=(low, max(high - step, low))))
        advance = walker() if walker else None
        body(k, depth + 1)
        if advance:
            k.emit(advance)
        update_carried(k, carried)

    indented(k, inside)
    k.repeats //= max(trips, 1)
    k.values += carried


def pointer_walk(k: KernelText, trips: int) -> Callable[[], str]:
    """A carried tile of pointers (or of offsets) that is read and moves on in every iteration."""
    dtype = k.rng.choice([*k.favourites, "int32"])
    array, shape = readable_array(k, dtype), k.pick_shape()
    offset, before = offsets(k, array, shape, False), array.extent
    step = k.rng.choice([1, 2, 16, numel(shape)])
    p = k.name("p")
    k.emit(f"{p} = {pointer(k, array, offset)}")
    claim(array, before + trips * (step + 3) + 4)
    by = k.scalar(step).text if k.rng.random() < 0.5 else str(step)
    if k.rng.random() < 0.3:
        by = f"(tw.full({shape}, {step}, tw.int32))"
    elif k.rng.random() < 0.4:
        steps = fit(k, k.define(f"tw.arange(0, {shape[-1]})", "int32", (shape[-1],)), shape)
        if steps is not None:
            by = f"({steps.text} % 3 + {by})"

    def read() -> str:
        v = k.define(f"tw.load({p})", dtype, shape, array.bound)
        total = [c for c in k.values if c.dtype == dtype and c.shape == shape and c is not v]
        if total and k.rng.random() < 0.6:
            k.define(f"{v.text} + {bounded(k, total[-1], 64).text}", dtype, shape, 64 + array.bound)
        return f"{p} += {by}" if k.rng.random() < 0.5 else f"{p} = {p} + {by}"

    return read


def while_loop(k: KernelText, depth: int, body: Body) -> None:
    trips = k.rng.choice([0, 1, 2, 3])
    carried, count = carried_values(k), k.name("w")
    k.emit(f"{count} = {k.scalar(trips).text}")
    condition = f"{count} > 0"
    k.repeats *= max(trips, 1)
    if carried[0].shape == () and not is_float(carried[0].dtype) and carried[0].dtype != "int1":
        condition += f" and {carried[0].text} != 3"
    k.emit(f"while {condition}:")

    def inside() -> None:
        k.values += carried
        body(k, depth + 1)
        update_carried(k, carried)
        k.emit(f"{count} -= 1")

    indented(k, inside)
    k.repeats //= max(trips, 1)
    k.values += carried


def branch(k: KernelText, depth: int, body: Body) -> None:
    """Changes some names in one or both branches."""
    carried = carried_values(k)
    test = condition(k)
    k.emit(f"if {test}:")
    has_else = k.rng.random() < 0.6

    def arm() -> None:
        k.values += carried
        body(k, depth + 1)
        update_carried(k, carried)

    indented(k, arm)
    if has_else:
        k.emit("else:")
        indented(k, arm)
    k.values += carried


def condition(k: KernelText) -> str:
    known: list[Any] = [v for v in k.values if v.shape == ()]
    if not known:
        return f"{k.scalar(k.rng.randint(0, 3)).text} > {k.rng.randint(0, 3)}"
    v = k.rng.choice(known)
    if v.dtype == "int1":
        return v.text
    return f"{v.text} {k.rng.choice(['>', '==', '!=', '<='])} {k.rng.randint(0, 2)}"
