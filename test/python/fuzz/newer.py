"""Steps of the fuzzer for libdevice, scaled products, users' classes, functions of elements and bits."""

from __future__ import annotations

from kernel_text import INTS, SIGNED, KernelText, Value, bounded, cast, is_float, numel
from operations import any_shape, operand

# Of libdevice: how many arguments, and what of the type of the first the result has. All are exact.
INTEGER_FUNCTIONS = {
    "int32": {"brev": 1, "clz": 1, "popc": 1, "ffs": 1, "byte_perm": 3, "mulhi": 2, "mul24": 2, "hadd": 2, "rhadd": 2,
              "abs": 1, "sad": 3},
    "int64": {"brev": 1, "clz": 1, "popc": 1, "ffs": 1, "mul64hi": 2, "abs": 1},
    "uint32": {"umulhi": 2, "umul24": 2, "uhadd": 2, "urhadd": 2, "usad": 3},
    "uint64": {"umul64hi": 2},
}  # fmt: skip
COUNTS = ("clz", "popc", "ffs")  # whose results are int32
FLOAT_FUNCTIONS = {
    "add_rd": 2, "sub_ru": 2, "mul_rz": 2, "fma_rn": 3, "div_rn": 2, "sqrt_rd": 1, "fdim": 2, "fmod": 2, "remainder": 2,
    "trunc": 1, "rint": 1, "nearbyint": 1, "round": 1, "copysign": 2, "fmax": 2, "fmin": 2, "nextafter": 2, "logb": 1,
}  # fmt: skip
NEAR_FUNCTIONS = ["acosh", "asinh", "atan", "cbrt", "cospi", "erfc", "erfcx", "exp10", "expm1", "hypot", "j0", "lgamma",
                  "log1p", "normcdf", "rcbrt", "sinh", "sinpi", "tgamma", "y1"]  # fmt: skip


def libdevice(k: KernelText) -> None:
    if k.rng.random() < 0.5:
        integer_function(k)
    elif k.rng.random() < 0.6:
        float_function(k)
    else:
        near_function(k)


def integer_function(k: KernelText) -> None:
    dtype = k.rng.choice([*INTEGER_FUNCTIONS])
    name = k.rng.choice([*INTEGER_FUNCTIONS[dtype]])
    shape = any_shape(k)
    values = [operand(k, dtype, shape) for _ in range(INTEGER_FUNCTIONS[dtype][name])]
    if name == "sad":
        values[2] = cast(k, values[2], "uint32")
    result = "int32" if name in COUNTS else "uint32" if name == "sad" else dtype
    k.define(f"tw.libdevice.{name}({', '.join(v.text for v in values)})", result, shape)


def float_function(k: KernelText) -> None:
    """Exact to the bit on every device, though not an integer any longer: compared as inexact values are."""
    dtype, shape = k.rng.choice(["float32", "float32", "float64"]), any_shape(k)
    name = k.rng.choice([*FLOAT_FUNCTIONS])
    texts = [f"({bounded(k, operand(k, dtype, shape), 64).text} * 0.75)" for _ in range(FLOAT_FUNCTIONS[name])]
    if name in ("sqrt_rd", "logb"):
        texts[0] = f"tw.abs({texts[0]}) + 0.5"
    elif name in ("div_rn", "fmod", "remainder"):
        texts[1] = f"tw.abs({texts[1]}) + 0.5"
    k.define(f"tw.libdevice.{name}({', '.join(texts)})", dtype, shape, 0, False)


def near_function(k: KernelText) -> None:
    """Within some units in the last place, of arguments from 1 to 3."""
    dtype, shape = k.rng.choice(["float32", "float64"]), any_shape(k)
    name = k.rng.choice(NEAR_FUNCTIONS)
    texts = [f"tw.abs({bounded(k, operand(k, dtype, shape), 8).text}) * 0.25 + 1.0" for _ in range(1 + (name == "hypot"))]
    k.define(f"tw.libdevice.{name}({', '.join(texts)})", dtype, shape, 0, False)


def dot_scaled(k: KernelText) -> None:
    """Products of e2m1, whose multiples of 0.25 up to 36 a float32 adds exactly, and scales near 1."""
    m, n = (k.rng.choice([e for s in k.shapes for e in s]) for _ in range(2))
    depth = k.rng.choice([32, 64])
    if m * n * depth * k.repeats > 60_000 or k.powers_only and (m + n) * depth > 1 << 12:
        return
    x, y = codes(k, (m, depth // 2)), codes(k, (depth // 2, n))
    s, t = scales(k, (m, depth // 32)), scales(k, (n, depth // 32))
    k.work += m * n * depth * k.repeats
    text = f'tw.dot_scaled({x}, {s}, "e2m1", {y}, {t}, "e2m1")'
    # In units of 2^-6 the sums are integers; as many as a float32 counts.
    k.define(f"tw.floor(({text}) * 64.0)", "float32", (m, n), 36 * depth * 16 * 64)


def codes(k: KernelText, shape: tuple[int, int]) -> str:
    """Bytes of two e2m1 each: any bits are numbers."""
    return cast(k, operand(k, k.rng.choice(["uint8", "int32"]), shape), "uint8").text


def scales(k: KernelText, shape: tuple[int, int]) -> str:
    """Powers of two from 1/4 to 2, or none."""
    if k.rng.random() < 0.2:
        return "None"
    v = operand(k, "int32", shape)
    return k.define(f"(({v.text} & 3) + 125).to(tw.uint8)", "uint8", shape).text


AGGREGATE = """class Couple:
    a: tw.tensor
    b: tw.tensor
    factor: tw.constexpr

    def __init__(self, a, b, factor):
        self.a = a
        self.b = b
        self.factor = factor

    @tw.jit
    def mixed(self):
        return self.a * self.factor ^ self.b

    @tw.jit
    def turned(self):
        return Couple(self.b, self.a, self.factor)
"""


def aggregate(k: KernelText) -> None:
    """An object of two tiles that goes through methods, a branch or a loop."""
    dtype, shape = k.rng.choice(INTS), any_shape(k)
    x, y = operand(k, dtype, shape), operand(k, dtype, shape)
    k.classes["Couple"] = AGGREGATE
    name = k.name("c")
    k.emit(f"{name} = Couple({x.text}, {y.text}, {k.rng.choice([1, 3, 5])})")
    style = k.rng.randrange(3)
    if style == 0:
        k.emit(f"{name} = {name}.turned()")
    elif style == 1:
        k.emit(f"if {k.scalar(k.rng.randint(0, 1)).text} > 0:")
        k.emit(f"    {name} = {name}.turned()")
    else:
        k.emit(f"for i_{name} in range({k.scalar(k.rng.randint(0, 3)).text}):")
        k.emit(f"    {name} = Couple({name}.b, {name}.mixed(), {name}.factor)")
    k.define(f"{name}.mixed()", dtype, shape)


MAPPED = {
    "steps": (1, "def steps(v):\n    n = v * 0\n    while v > 3:\n        v = v // 2\n        n += 1\n    return n\n"),
    "larger": (2, "def larger(a, b):\n    r = a\n    if b > a:\n        r = b\n    return r\n"),
}


def map_elements(k: KernelText) -> None:
    name = k.rng.choice([*MAPPED])
    count, _ = MAPPED[name]
    dtype, shape = k.rng.choice(SIGNED), k.pick_shape()
    values = ", ".join(operand(k, dtype, shape).text for _ in range(count))
    k.functions.add(name)
    k.define(f"tw.map_elementwise({name}, {values})", dtype, shape)


BITS = {"int8": "uint8", "uint8": "int8", "int32": "uint32", "uint32": "int32", "int64": "uint64", "uint64": "int64",
        "int16": "uint16", "uint16": "int16"}  # fmt: skip


def reinterpret(k: KernelText) -> None:
    """The same bits as another type; of floats to integers only, as bits of integers are any float's."""
    x = operand(k, k.rng.choice([*BITS, "float32", "float64", "float16"]), any_shape(k))
    if x.dtype == "int1":
        return
    dtype = {"float32": "int32", "float64": "int64", "float16": "int16", "bfloat16": "int16"}.get(x.dtype) or BITS[x.dtype]
    if is_float(x.dtype):
        x = bounded(k, x, 64)  # not a NaN: their bits are free
        if not x.is_exact:
            return
    k.define(f"{x.text}.to(tw.{dtype}, bitcast=True)", dtype, x.shape)


def more_shapes(k: KernelText) -> None:
    x = operand(k, None, k.pick_shape())
    rank, keep = len(x.shape), (x.bound, x.is_exact)
    axis = k.rng.randrange(rank)
    if k.rng.random() < 0.4 and rank < 3:
        k.define(f"tw.squeeze(tw.unsqueeze({x.text}, {axis}), {axis})", x.dtype, x.shape, *keep)
    elif k.rng.random() < 0.5 and numel(x.shape) * 2 <= k.max_elements:
        y = operand(k, x.dtype, x.shape)
        shape = (*x.shape[:axis], 2 * x.shape[axis], *x.shape[axis + 1 :])
        k.define(f"tw.cat({x.text}, {y.text}, dim={axis})", x.dtype, shape, max(x.bound, y.bound), keep[1] and y.is_exact)
    else:
        k.define(f"tw.ravel({x.text})", x.dtype, (numel(x.shape),), *keep)


def atomic_access(k: KernelText) -> Value | None:
    """What atomics read and write at once."""
    from memory import offsets, pointer, readable_array

    dtype = k.rng.choice(["int32", "uint32", "int64", "uint64"])
    array = readable_array(k, dtype, will_write=True)
    array.is_written = True
    shape = any_shape(k)
    target = pointer(k, array, offsets(k, array, shape, is_injective=True))
    if k.rng.random() < 0.5:
        return k.define(f"tw.atomic_load({target})", dtype, shape)
    k.emit(f"tw.atomic_store({target}, {operand(k, dtype, shape).text})")
    return None
