"""Loads, stores and atomics of the fuzzer: addresses of every kind that stay in bounds."""

from __future__ import annotations

import boxes
from kernel_text import (
    FLOATS, INTS, WILD, Array, KernelText, Value, bounded, cast, fit, is_float, numel, subscript,
)  # fmt: skip


def arange_along(k: KernelText, shape: tuple[int, ...], dim: int) -> str:
    start = k.rng.choice([0, 0, 0, 5])
    text = f"tw.arange({start}, {start + shape[dim]}){subscript(len(shape), dim)}"
    return f"({text} - {start})" if start else text


def strides_of(k: KernelText, shape: tuple[int, ...], is_injective: bool) -> list[int]:
    """Row-major in some order of dimensions, perhaps padded, reversed, or repeated for reads."""
    order = list(range(len(shape)))
    if k.rng.random() < 0.35:
        k.rng.shuffle(order)
    strides, step = [0] * len(shape), 1
    for dim in reversed(order):
        step *= k.rng.choice([1, 1, 1, 1, 2, 3])
        strides[dim] = step
        step = step * shape[dim] + k.rng.choice([0, 0, 0, 1, 5])
    for dim in range(len(shape)):
        if k.rng.random() < 0.12:
            strides[dim] = -strides[dim]
        elif not is_injective and k.rng.random() < 0.1:
            strides[dim] = 0
    return strides


def rows_of(k: KernelText, shape: tuple[int, ...]) -> list[int]:
    """Row-major strides, the last of them 1, with gaps between the rows."""
    strides = [1]
    for extent in reversed(shape[1:]):
        strides.insert(0, strides[0] * extent + k.rng.choice([0, 0, 0, 1, 5, 8]))
    return strides


def term(k: KernelText, index: str, stride: int) -> str:
    if stride == 1 and k.rng.random() < 0.9:
        return index
    factor = k.scalar(stride).text if k.rng.random() < 0.4 else str(stride)
    return f"{index} * {factor}"


def offsets(k: KernelText, array: Array, shape: tuple[int, ...], is_injective: bool) -> str:
    """Element offsets of a tile within the array, whose extent grows to hold them."""
    style = k.rng.random()
    if shape and style < 0.1:
        return wrapped_offsets(k, array, shape)
    if shape and style < 0.2:
        return indirect_offsets(k, array, shape, is_injective)
    strides = strides_of(k, shape, is_injective)
    low = sum(min(0, s * (e - 1)) for s, e in zip(strides, shape))
    high = sum(max(0, s * (e - 1)) for s, e in zip(strides, shape))
    parts = [term(k, arange_along(k, shape, d), s) for d, s in enumerate(strides)]
    start, top = k.rng.choice([0, 0, 0, 1, 7, 16]) - low, 0
    indices = [v for v in k.values if v.span and v.shape == () and v.span[0] >= 0]
    if indices and k.rng.random() < 0.6:
        index = k.rng.choice(indices)
        step = k.rng.choice([1, 3, high - low + 1])
        parts.append(f"{index.text} * {step}")
        top = index.span[1] * step if index.span else 0
    if start:
        parts.append(k.scalar(start).text if k.rng.random() < 0.3 else str(start))
    k.rng.shuffle(parts)
    claim(array, start + high + top + 1)
    return " + ".join(parts) or "0"


def wrapped_offsets(k: KernelText, array: Array, shape: tuple[int, ...]) -> str:
    """Offsets with a remainder along one dimension; distinct since the divisor is large enough."""
    dim = k.rng.randrange(len(shape))
    divisor = shape[dim] + k.rng.choice([0, 1, 16])
    start = k.rng.randrange(divisor)
    by = k.scalar(divisor).text if k.rng.random() < 0.7 else str(divisor)
    parts = [f"({arange_along(k, shape, dim)} + {k.scalar(start).text}) % {by}"]
    step = divisor
    for d in range(len(shape)):
        if d != dim:
            parts.append(term(k, arange_along(k, shape, d), step))
            step *= shape[d]
    claim(array, step)
    return " + ".join(parts)


def indirect_offsets(
    k: KernelText, array: Array, shape: tuple[int, ...], is_injective: bool
) -> str:
    """Offsets read from an array of indices, all different."""
    dtype = k.rng.choice(["int32", "int64", "uint8" if numel(shape) <= 200 else "int32"])
    limit = max(numel(shape), 1)
    index = k.array(dtype, False, index_below=limit, is_shared=True)
    claim(index, limit)
    strides, step = [], 1
    for extent in reversed(shape):
        strides.insert(0, step)
        step *= extent
    parts = [f"{arange_along(k, shape, d)} * {s}" for d, s in enumerate(strides)]
    name = k.name("o")
    k.emit(f"{name} = tw.load({index.name} + {' + '.join(parts)})")
    if not is_injective and k.rng.random() < 0.5:
        k.emit(f"{name} = {name} // 2")
    claim(array, limit)
    return f"{name}.to(tw.int32)" if dtype == "uint8" else name


def claim(array: Array, extent: int) -> None:
    array.extent = max(array.extent, extent)


def pointer(k: KernelText, array: Array, offset: str) -> str:
    if k.grid == 1 or array.is_shared:
        return f"{array.name} + {offset}"
    region = k.region(array)
    start = k.rng.choice([f"pid * {region}", f"{region} * tw.program_id(0)"])
    if k.rng.random() < 0.3:
        return f"({array.name} + {start}) + ({offset})"
    return f"{array.name} + ({start} + {offset})"


def mask_for(k: KernelText, shape: tuple[int, ...]) -> str:
    """A condition over the tile: tests of indices against launch-time numbers, or old bools."""
    known = [v for v in k.values if v.dtype == "int1" and v.shape in (shape, ())]
    if not shape or (known and k.rng.random() < 0.3):
        if known:
            return k.rng.choice(known).text
        return f"{k.scalar(k.rng.randint(0, 5)).text} > {k.rng.randint(0, 5)}"
    tests = []
    for dim in k.rng.sample(range(len(shape)), k.rng.randint(1, len(shape))):
        tests.append(index_test(k, shape, dim))
    return " & ".join(f"({test})" for test in tests)


def index_test(k: KernelText, shape: tuple[int, ...], dim: int) -> str:
    index, extent = arange_along(k, shape, dim), shape[dim]
    limit = k.rng.choice([extent, extent, extent + 3, extent - 1, extent // 2, 0, 1])
    n = k.scalar(limit).text
    return k.rng.choice([
        f"{index} < {n}", f"{n} > {index}", f"{index} <= {n} - 1", f"{index} >= {n}",
        f"{index} - {n} < 0", f"{n} - {index} > 0", f"{index} * 2 < {n} * 2", f"{index} != {n}",
        f"({index} - 1).to(tw.uint32) < {n}", f"{index} % 3 != {n}",
        f"({index} + 1).to(tw.int64) <= {n}", f"-{index} > -{n}",
    ])  # fmt: skip


def mask_option(k: KernelText, shape: tuple[int, ...]) -> str:
    return f", mask={mask_for(k, shape)}"


def load(k: KernelText, dtype: str, shape: tuple[int, ...], array: Array | None = None) -> Value:
    """A new value read from an old or new array."""
    if array is None:
        array = readable_array(k, dtype)
    if shape and k.rng.random() < 0.15:
        return boxes.load_block(k, array, shape)
    offset = offsets(k, array, shape, is_injective=False)
    options, bound = "", array.bound
    if k.rng.random() < 0.4:
        options = mask_option(k, shape)
        if k.rng.random() < 0.6:
            options += f", other={other_for(k, array, shape)}"
    if k.rng.random() < 0.05:
        options += ", volatile=True"
    return k.define(f"tw.load({pointer(k, array, offset)}{options})", array.dtype, shape, bound)


def other_for(k: KernelText, array: Array, shape: tuple[int, ...]) -> str:
    if array.dtype == "int1":
        return "False"
    known = [
        v for v in k.values
        if v.dtype == array.dtype and v.shape in (shape, ()) and v.bound <= array.bound
        and v.is_exact and v.span is None
    ]  # fmt: skip
    if known and k.rng.random() < 0.4:
        return k.rng.choice(known).text
    fraction = ".0" if is_float(array.dtype) and k.rng.random() < 0.5 else ""
    return f"{k.rng.randint(0, 7)}{fraction}"


def readable_array(k: KernelText, dtype: str, will_write: bool = False) -> Array:
    known = [
        a for a in k.arrays.values()
        if a.dtype == dtype and a.is_exact and not a.index_below
        and not (will_write and (a.is_shared or a.bound == WILD))
    ]  # fmt: skip
    if known and k.rng.random() < 0.6:
        return k.rng.choice(known)
    is_shared = not will_write and k.rng.random() < 0.3
    return k.array(dtype, will_write, is_shared=is_shared)


def store(k: KernelText, v: Value, array: Array | None = None) -> None:
    """Writes a value to an array that the kernel may also read, or to an output."""
    if array is None:
        known = [
            a for a in k.arrays.values()
            if a.is_written and a.is_exact == v.is_exact and (a.is_exact or a.dtype == v.dtype)
        ]  # fmt: skip
        if known and k.rng.random() < 0.6:
            array = k.rng.choice(known)
        else:
            array = k.array(v.dtype, True, is_exact=v.is_exact)
    v = bounded(k, cast(k, v, array.dtype), array.bound)
    if v.shape and k.rng.random() < 0.15:
        return boxes.store_block(k, array, v)
    options = mask_option(k, v.shape) if k.rng.random() < 0.35 else ""
    target = pointer(k, array, offsets(k, array, v.shape, is_injective=True))
    k.emit(f"tw.store({target}, {v.text}{options})")


def update_in_place(k: KernelText) -> None:
    """Reads and writes one array at the same or shifted places."""
    dtype = k.rng.choice([*k.favourites, *k.favourites, k.rng.choice(INTS + FLOATS)])
    array = readable_array(k, dtype, will_write=True)
    array.is_written = True
    shape = k.pick_shape()
    strides = strides_of(k, shape, True)
    low = sum(min(0, s * (e - 1)) for s, e in zip(strides, shape))
    high = sum(max(0, s * (e - 1)) for s, e in zip(strides, shape))
    shift = k.rng.choice([0, 0, 0, 1, -1, 2, 16])
    start = max(0, -shift) - low
    parts = [term(k, arange_along(k, shape, d), s) for d, s in enumerate(strides)]
    place = k.name("p")
    k.emit(f"{place} = {pointer(k, array, ' + '.join([*parts, str(start)]))}")
    claim(array, start + high + max(0, shift) + 1)
    options = mask_option(k, shape) if k.rng.random() < 0.4 else ""
    old = k.define(f"tw.load({place}{options})", dtype, shape, array.bound)
    other = fit(k, k.existing(exact=True) or old, shape)
    new = old
    if other is not None and k.rng.random() < 0.8:
        other = bounded(k, cast(k, other, dtype), array.bound)
        new = k.define(f"{old.text} + {other.text}", dtype, shape, old.bound + other.bound)
    elif len(set(shape)) == 1 and len(shape) == 2:
        new = k.define(f"tw.trans({old.text})", dtype, shape, old.bound)
    new = bounded(k, new, array.bound)
    target = place if shift == 0 else f"{place} + {shift}"
    k.emit(f"tw.store({target}, {new.text}{options})")


def atomic(k: KernelText) -> None:
    """An atomic update of integers at different places, whose old values may be used."""
    dtype = k.rng.choice(["int32", "int64", "uint32", "uint64"])
    array = readable_array(k, dtype, will_write=True)
    array.is_written = True
    shape = k.pick_shape()
    v = fit(k, k.existing(exact=True) or load(k, dtype, shape), shape)
    if v is None:
        v = load(k, dtype, shape)
    v = cast(k, v, dtype)
    target = pointer(k, array, offsets(k, array, shape, is_injective=True))
    kind = k.rng.choice(["add", "max", "min", "and", "or", "xor", "xchg"])
    options = mask_option(k, shape) if k.rng.random() < 0.5 else ""
    text = f"tw.atomic_{kind}({target}, {v.text}{options})"
    if k.rng.random() < 0.2:
        text = f"tw.atomic_cas({target}, {v.text} & 1, {v.text})"
    if k.rng.random() < 0.5:
        k.define(text, dtype, shape)
    else:
        k.emit(text)
