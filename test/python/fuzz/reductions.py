"""Reductions and scans of the fuzzer, with the library's functions and with its own."""

from __future__ import annotations

from kernel_text import INTS, LIMITS, KernelText, Value, bounded, is_float, numel
from operations import any_dtype, operand

# Associative functions of one value and of pairs, not all of them commutative.
FUNCTIONS = {
    "latest": "def latest(a, b):\n    return tw.where(b != 0, b, a)\n",
    "first": "def first(a, b):\n    return a\n",
    "wrapping_product": "def wrapping_product(a, b):\n    return a * b\n",
    "branching": "def branching(a, b):\n    r = a\n    if b > a:\n        r = b\n    return r\n",
    "compose": "def compose(a, b, c, d):\n    return a * c, b * c + d\n",
    "extremes": "def extremes(a, b, c, d):\n    return tw.minimum(a, c), tw.maximum(b, d)\n",
    "swapped": "def swapped(a, b, c, d):\n    return c, b\n",
}


def widened(dtype: str) -> str:
    if dtype in ("int64", "uint64", "float64", "uint32"):
        return dtype
    if dtype == "int1":
        return "uint32"
    if is_float(dtype):
        return "float32"
    return "int32" if dtype.startswith("int") else "uint32"


def reduce_tile(k: KernelText) -> None:
    x = operand(k, k.rng.choice([None, None, "int1"]), k.pick_shape())
    kinds = ["sum", "max", "min", "argmax", "argmin"]
    if not is_float(x.dtype) and x.dtype != "int1":
        kinds += ["xor_sum", "user", "pair"]
    kind = k.rng.choice(kinds)
    axis = k.rng.randrange(len(x.shape))
    shape = x.shape[:axis] + x.shape[axis + 1 :]
    if kind == "user":
        name = k.rng.choice(["latest", "first", "wrapping_product", "branching"])
        k.functions.add(name)
        k.define(f"tw.reduce({x.text}, {axis}, {name})", x.dtype, shape)
    elif kind == "pair":
        reduce_pair(k, x, axis, shape)
    elif kind in ("argmax", "argmin"):
        k.define(f"tw.{kind}({x.text}, {axis})", "int32", shape)
    else:
        library_reduction(k, x, kind, axis, shape)


def library_reduction(
    k: KernelText, x: Value, kind: str, axis: int, shape: tuple[int, ...]
) -> None:
    dtype = widened(x.dtype)
    if kind == "xor_sum":
        dtype = x.dtype
    elif kind != "sum" and not is_float(x.dtype) and x.dtype not in ("int64", "uint64", "uint32"):
        dtype = "int32"
    if is_float(x.dtype) and kind == "sum":
        x = bounded(k, x, LIMITS[dtype] // max(numel(x.shape), 1))
    bound = x.bound * (numel(x.shape) if kind == "sum" else 1)
    style = k.rng.random()
    if style < 0.15:
        k.define(f"tw.{kind}({x.text})", dtype, (), bound)
    elif style < 0.35:
        kept = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
        k.define(f"tw.{kind}({x.text}, {axis}, keep_dims=True)", dtype, kept, bound)
    else:
        k.define(f"tw.{kind}({x.text}, {axis})", dtype, shape, bound)


def reduce_pair(k: KernelText, x: Value, axis: int, shape: tuple[int, ...]) -> None:
    y = operand(k, x.dtype, x.shape)
    name = k.rng.choice(["compose", "extremes", "swapped"])
    k.functions.add(name)
    first, second = k.name(), k.name()
    k.emit(f"{first}, {second} = tw.reduce(({x.text}, {y.text}), {axis}, {name})")
    k.values += [Value(first, x.dtype, shape), Value(second, x.dtype, shape)]


def scan(k: KernelText) -> None:
    x = operand(k, k.rng.choice([None, any_dtype(k)]), k.pick_shape())
    if x.dtype == "int1":
        return
    axis, reverse = k.rng.randrange(len(x.shape)), k.rng.random() < 0.4
    if is_float(x.dtype):
        dtype = widened(x.dtype)
        x = bounded(k, x, LIMITS[dtype] // numel(x.shape))
        text = f"tw.cumsum({x.text}, {axis}, reverse={reverse})"
        k.define(text, dtype, x.shape, x.bound * x.shape[axis])
        return
    kind = k.rng.choice(["cumsum", "cumprod", "user", "pair"])
    if kind in ("cumsum", "cumprod"):
        k.define(f"tw.{kind}({x.text}, {axis}, reverse={reverse})", widened(x.dtype), x.shape)
    elif kind == "user":
        name = k.rng.choice(["latest", "first", "wrapping_product", "branching"])
        k.functions.add(name)
        text = f"tw.associative_scan({x.text}, {axis}, {name}, reverse={reverse})"
        k.define(text, x.dtype, x.shape)
    else:
        y = operand(k, x.dtype, x.shape)
        name = k.rng.choice(["compose", "extremes", "swapped"])
        k.functions.add(name)
        first, second = k.name(), k.name()
        pair = f"({x.text}, {y.text}), {axis}, {name}, reverse={reverse}"
        k.emit(f"{first}, {second} = tw.associative_scan({pair})")
        k.values += [Value(first, x.dtype, x.shape), Value(second, x.dtype, x.shape)]


def sort(k: KernelText) -> None:
    """Sorting and histograms: long chains of shape operations."""
    shapes = [s for s in k.shapes if s[-1] & (s[-1] - 1) == 0 and numel(s) <= 256]
    if not shapes or k.repeats > 1:
        return
    x = operand(k, k.rng.choice(["int32", "float32", *INTS]), k.rng.choice(shapes))
    if k.rng.random() < 0.3 and not is_float(x.dtype):
        bins = k.rng.choice([1, 4, 8 if k.powers_only else 7, 16])
        k.define(f"tw.histogram({x.text} & 7, {bins})", "int32", (bins,))
    elif k.rng.random() < 0.5 and len(x.shape) < 3:
        count = k.rng.randint(1, x.shape[-1])
        if k.powers_only:
            count = 1 << (count.bit_length() - 1)
        k.define(f"tw.topk({x.text}, {count})", x.dtype, (*x.shape[:-1], count), x.bound)
    else:
        k.define(f"tw.sort({x.text}, descending={k.rng.random() < 0.5})", x.dtype, x.shape, x.bound)
    k.work += numel(x.shape) * 20
