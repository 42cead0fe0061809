"""Operations of the fuzzer: each function adds one step to the kernel."""

from __future__ import annotations

from kernel_text import (
    FLOATS, INTS, LIMITS, SIGNED, KernelText, Value, bounded, cast, fit, is_float,
    numel,
)  # fmt: skip
from memory import load

MATH = ["exp", "exp2", "sqrt", "sigmoid", "tanh", "sin", "cos", "erf", "softmax"]


def any_dtype(k: KernelText) -> str:
    if k.rng.random() < 0.6:
        return k.rng.choice(k.favourites)
    return k.rng.choice(k.rng.choice([["int32"], ["float32"], INTS, FLOATS, ["float32"]]))


def operand(k: KernelText, dtype: str | None, shape: tuple[int, ...]) -> Value:
    """A value of the type and shape: an old one made to fit, a new load, a constant or indices."""
    dtype = dtype or any_dtype(k)
    for _ in range(3):
        old = k.existing()
        if old is not None and k.rng.random() < 0.8:
            if numel(shape) > numel(old.shape) or shape:
                fitted = fit(k, old, shape)
                if fitted is not None:
                    return cast(k, fitted, dtype)
            elif old.shape == ():
                return cast(k, old, dtype)
    style = k.rng.random()
    if style < 0.75 or not shape:
        return load(k, dtype, shape)
    if style < 0.85:
        return k.define(f"tw.full({shape}, {k.rng.randint(0, 7)}, tw.{dtype})", dtype, shape, 7)
    index = k.define(f"tw.arange(0, {shape[-1]})", "int32", (shape[-1],))
    return cast(k, fit(k, index, shape) or index, dtype)


def any_shape(k: KernelText) -> tuple[int, ...]:
    old = k.existing()
    if old is not None and old.shape and k.rng.random() < 0.5:
        return old.shape
    return () if k.rng.random() < 0.08 else k.pick_shape()


def binary(k: KernelText) -> None:
    shape = any_shape(k)
    x = operand(k, None, shape)
    y = operand(k, x.dtype, k.rng.choice([shape, shape, shape, ()]))
    if x.dtype == "int1":
        k.define(f"{x.text} {k.rng.choice(['&', '|', '^'])} {y.text}", "int1", shape)
    elif is_float(x.dtype):
        float_binary(k, x, y, shape)
    else:
        integer_binary(k, x, y, shape)


def float_binary(k: KernelText, x: Value, y: Value, shape: tuple[int, ...]) -> None:
    limit = LIMITS[x.dtype]
    kind = k.rng.choice(["+", "-", "*", "tw.maximum", "tw.minimum"])
    if kind == "*":
        x, y = bounded(k, x, 8), bounded(k, y, limit // 16)
        k.define(f"{x.text} * {y.text}", x.dtype, shape, max(x.bound * y.bound, 1))
    elif kind in "+-":
        x, y = bounded(k, x, limit // 2), bounded(k, y, limit // 2)
        k.define(f"{x.text} {kind} {y.text}", x.dtype, shape, x.bound + y.bound)
    else:
        k.define(f"{kind}({x.text}, {y.text})", x.dtype, shape, max(x.bound, y.bound))


def integer_binary(k: KernelText, x: Value, y: Value, shape: tuple[int, ...]) -> None:
    kind = k.rng.choice(["+", "-", "*", "&", "|", "^", "//", "%", "<<", ">>", "max", "min"])
    if kind in ("max", "min"):
        text = f"tw.{kind}imum({x.text}, {y.text})"
    elif kind in ("//", "%") and k.rng.random() < 0.5:
        text = f"{x.text} {kind} {k.rng.choice([1, 2, 3, 7, 8, 16])}"
    elif kind in ("//", "%"):
        text = f"{x.text} {kind} ({y.text} | 1)"
    elif kind in ("<<", ">>"):
        text = f"{x.text} {kind} ({y.text} & 7)"
    else:
        text = f"{x.text} {kind} {y.text}"
    k.define(text, x.dtype, shape)


def unary(k: KernelText) -> None:
    x = operand(k, None, any_shape(k))
    if x.dtype == "int1":
        k.define(f"~{x.text}", "int1", x.shape)
    elif is_float(x.dtype):
        text = k.rng.choice(["-{0}", "tw.abs({0})", "tw.floor({0})", "{0} * 2.0"])
        x = bounded(k, x, LIMITS[x.dtype] // 2)
        k.define(text.format(x.text), x.dtype, x.shape, x.bound * 2)
    elif x.dtype in SIGNED:
        text = k.rng.choice(["-{0}", "~{0}", "tw.abs({0})", "{0} >> 1", "{0} + 3", "{0} // 3"])
        k.define(text.format(x.text), x.dtype, x.shape)
    else:
        text = k.rng.choice(["~{0}", "{0} >> 1", "{0} + 3", "{0} % 5", "{0} * 3"])
        k.define(text.format(x.text), x.dtype, x.shape)


def compare(k: KernelText) -> None:
    shape = any_shape(k)
    x = operand(k, None, shape)
    y = operand(k, x.dtype, k.rng.choice([shape, ()]))
    sign = k.rng.choice(["<", "<=", ">", ">=", "==", "!="])
    k.define(f"{x.text} {sign} {y.text}", "int1", shape)


def choose(k: KernelText) -> None:
    shape = any_shape(k)
    condition = operand(k, "int1", k.rng.choice([shape, shape, ()]))
    x = operand(k, None, shape)
    y = operand(k, x.dtype, k.rng.choice([shape, shape, ()]))
    text = f"tw.where({condition.text}, {x.text}, {y.text})"
    k.define(text, x.dtype, shape, max(x.bound, y.bound))


def convert(k: KernelText) -> None:
    cast(k, operand(k, None, any_shape(k)), any_dtype(k))


def math_function(k: KernelText) -> None:
    """Inexact values, from exact small ones; summed or stored at once."""
    dtype = k.rng.choice(["float32", "float32", "float64", "float16", "bfloat16"])
    x = operand(k, dtype, any_shape(k))
    x = bounded(k, x, 8)
    name = k.rng.choice(MATH)
    if name == "softmax" and not x.shape:
        name = "exp"
    text = f"tw.abs({x.text}) + 0.5" if name == "sqrt" else f"{x.text} * 0.25"
    if name == "softmax":
        dim = k.rng.randrange(len(x.shape))
        y = k.define(f"tw.softmax({text}, dim={dim})", x.dtype, x.shape, 0, False)
    else:
        y = k.define(f"tw.{name}({text})", x.dtype, x.shape, 0, False)
    if x.shape and k.rng.random() < 0.4:
        axis = k.rng.randrange(len(x.shape))
        dtype = x.dtype if x.dtype in ("float32", "float64") else "float32"
        shape = x.shape[:axis] + x.shape[axis + 1 :]
        k.define(f"tw.sum(tw.abs({y.text}), {axis})", dtype, shape, 0, False)


def change_shape(k: KernelText) -> None:
    x = operand(k, k.rng.choice([None, None, "int1"]), k.pick_shape())
    fitting = [s for s in k.shapes if numel(s) == numel(x.shape)]
    kind = k.rng.choice(["permute", "reshape", "flip", "join", "interleave", "split", "cat", "fit"])
    rank, keep = len(x.shape), (x.bound, x.is_exact)
    may_double = rank < 3 and numel(x.shape) * 2 <= k.max_elements
    if kind == "permute" and rank > 1:
        order = k.rng.sample(range(rank), rank)
        shape = tuple(x.shape[d] for d in order)
        k.define(f"tw.permute({x.text}, {tuple(order)})", x.dtype, shape, *keep)
    elif kind == "reshape" and fitting:
        fit(k, x, k.rng.choice(fitting))
    elif kind == "flip":
        k.define(f"tw.flip({x.text}, {k.rng.randrange(rank)})", x.dtype, x.shape, *keep)
    elif kind in ("join", "interleave", "cat") and may_double:
        combine_two(k, x, operand(k, x.dtype, x.shape), kind)
    elif kind == "split" and numel(x.shape) % 2 == 0:
        half = numel(x.shape) // 2
        y, z = k.name(), k.name()
        k.emit(f"{y}, {z} = tw.split(tw.reshape({x.text}, ({half}, 2)))")
        k.values += [Value(y, x.dtype, (half,), *keep), Value(z, x.dtype, (half,), *keep)]
    else:
        fit(k, x, k.pick_shape())


def combine_two(k: KernelText, x: Value, y: Value, kind: str) -> None:
    bound = max(x.bound, y.bound)
    if kind == "join":
        k.define(f"tw.join({x.text}, {y.text})", x.dtype, (*x.shape, 2), bound)
    elif kind == "interleave":
        shape = (*x.shape[:-1], 2 * x.shape[-1])
        k.define(f"tw.interleave({x.text}, {y.text})", x.dtype, shape, bound)
    else:
        shape = (2 * x.shape[0], *x.shape[1:])
        k.define(f"tw.cat({x.text}, {y.text})", x.dtype, shape, bound)


def gather(k: KernelText) -> None:
    x = operand(k, None, k.pick_shape())
    axis = k.rng.randrange(len(x.shape))
    extent = k.rng.choice([1, 4 if k.powers_only else 5, 8, x.shape[axis]])
    shape = (*x.shape[:axis], extent, *x.shape[axis + 1 :])
    if numel(shape) > k.max_elements:
        return
    index = operand(k, k.rng.choice(["int32", "int32", "int64"]), shape)
    index = k.define(f"tw.abs({index.text} % {x.shape[axis]})", index.dtype, shape)
    k.define(f"tw.gather({x.text}, {index.text}, {axis})", x.dtype, shape, x.bound)


def dot(k: KernelText) -> None:
    m, n, depth = (k.rng.choice([e for s in k.shapes for e in s]) for _ in range(3))
    batch = k.rng.choice([(), (), (), (2,), (4,) if k.powers_only else (3,)])
    if m * n * depth * max(batch, default=1) * k.repeats > 150_000:
        return
    largest = max((m + n) * depth, m * n) * max(batch, default=1)
    if k.powers_only and largest > 1 << 13:
        return  # GPUs keep the operands, and may move the result, through little shared memory
    dtype = k.rng.choice(["float32", "float16", "bfloat16", "int8", "float64", "float32"])
    result = {"int8": "int32", "float64": "float64"}.get(dtype, "float32")
    x = side(k, dtype, batch, (m, depth))
    y = side(k, dtype, batch, (depth, n))
    bound = x.bound * y.bound * depth
    text, shape = f"tw.dot({x.text}, {y.text}", (*batch, m, n)
    if k.rng.random() < 0.5:
        acc = bounded(k, operand(k, result, shape), 1 << 20)
        text, bound = f"{text}, {acc.text}", bound + acc.bound
    k.work += m * n * depth * k.repeats
    k.define(f'{text}, input_precision="ieee", out_dtype=tw.{result})', result, shape, bound)


def side(k: KernelText, dtype: str, batch: tuple[int, ...], matrix: tuple[int, int]) -> Value:
    """An operand of dot, perhaps read transposed."""
    if k.rng.random() < 0.6:
        return bounded(k, operand(k, dtype, (*batch, *matrix)), 16)
    v = bounded(k, operand(k, dtype, (*batch, *matrix[::-1])), 16)
    order = (0, 2, 1) if batch else (1, 0)
    return k.define(f"tw.permute({v.text}, {order})", dtype, (*batch, *matrix), v.bound)
