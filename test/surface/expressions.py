"""Features that one expression shows."""

from __future__ import annotations

import math

import numpy as np
from harness import expression as E

erf = np.vectorize(math.erf)


def sigmoid(v):
    return 1 / (1 + np.exp(-v))


# Operators.
for sign, name, fn in [
    ("+", "Add", np.add), ("-", "Sub", np.subtract), ("*", "Mult", np.multiply), ("/", "Div", np.divide),
]:  # fmt: skip
    E(f"op:{name}", f"x {sign} y", fn)
    body = f"z = x\nz {sign}= y"
    if name != "Add":
        E(f"py:augassign {name}", body, fn)
E("py:augassign Add", "z = x\nz += y", np.add)
for sign, name, fn in [
    ("<", "Lt", np.less), ("<=", "LtE", np.less_equal), (">", "Gt", np.greater),
    (">=", "GtE", np.greater_equal), ("==", "Eq", np.equal), ("!=", "NotEq", np.not_equal),
]:  # fmt: skip
    E(f"op:{name}", f"x {sign} y", fn, dtype="int32", out="int32", kind="small")
for sign, name, fn in [
    ("&", "BitAnd", np.bitwise_and), ("|", "BitOr", np.bitwise_or), ("^", "BitXor", np.bitwise_xor),
]:  # fmt: skip
    E(f"op:{name}", f"x {sign} y", fn, dtype="int32")
    E(f"py:augassign {name}", f"z = x\nz {sign}= y", fn, dtype="int32")
for sign, name, fn in [("<<", "LShift", np.left_shift), (">>", "RShift", np.right_shift)]:
    E(f"op:{name}", f"x {sign} y", fn, dtype="int32", kind="small")
E("op:FloorDiv", "x // y", lambda x, y: x // y, dtype="int32", kind="positive")
E("py:augassign FloorDiv", "z = x\nz //= y", lambda x, y: x // y, dtype="int32", kind="positive")
E("op:Mod", "x % y", lambda x, y: x % y, dtype="int32", kind="positive")
E("op:USub", "-x", lambda x, y: -x)
E("op:Invert", "~x", lambda x, y: ~x, dtype="int32")
E("op:Not", "tl.where(not (n > 3), x, y)", lambda x, y: y)
E("op:Pow", "x * 2 ** (BLOCK // 16)", lambda x, y: 16 * x)
E("op:Is", "x if None is None else y", lambda x, y: x)
E("op:IsNot", "x if 3 is not None else y", lambda x, y: x)

# Functions of one or two numbers; `tl.math`, `libdevice` and methods are the same.
FUNCTIONS = {
    "exp": (np.exp, "any"), "exp2": (np.exp2, "any"), "log": (np.log, "positive"),
    "log2": (np.log2, "positive"), "sqrt": (np.sqrt, "positive"), "sin": (np.sin, "unit"),
    "rsqrt": (lambda v: 1 / np.sqrt(v), "positive"), "cos": (np.cos, "unit"), "abs": (np.abs, "any"),
    "floor": (np.floor, "any"), "ceil": (np.ceil, "any"), "erf": (erf, "any"),
    "tanh": (np.tanh, "any"), "log1p": (np.log1p, "positive"), "rint": (np.rint, "any"),
    "sigmoid": (sigmoid, "any"),
}  # fmt: skip


def unary(row: str, call: str, name: str, rtol: float = 2e-5) -> None:
    fn, kind = FUNCTIONS[name]
    E(row, call, lambda x, y: fn(x), kind=kind, rtol=rtol)


for name in ("exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "abs", "floor", "ceil",
             "erf", "sigmoid"):  # fmt: skip
    unary(f"tl.{name}", f"tl.{name}(x)", name)
for name in ("exp", "exp2", "log", "log2", "sqrt", "rsqrt", "abs", "floor", "ceil", "erf", "tanh",
             "log1p"):  # fmt: skip
    unary(f"tl.math.{name}", f"tl.math.{name}(x)", name)
for name in ("exp", "exp2", "log", "rsqrt", "tanh", "erf", "log1p", "rint"):
    unary(f"libdevice.{name}", f"libdevice.{name}(x)", name)
for name in ("floor", "abs", "cos", "sqrt"):
    unary(f".{name}", f"x.{name}()", name)
FAST = 1e-4
for name, fn, kind in [
    ("expf", np.exp, "unit"), ("cosf", np.cos, "unit"), ("sinf", np.sin, "unit"),
    ("logf", np.log, "positive"), ("log2f", np.log2, "positive"),
]:  # fmt: skip
    E(f"libdevice.fast_{name}", f"libdevice.fast_{name}(x)", lambda x, y, fn=fn: fn(x), kind=kind,
      rtol=FAST, atol=1e-6)  # fmt: skip
E("tl.math.fast_expf", "tl.math.fast_expf(x)", lambda x, y: np.exp(x), kind="unit", rtol=FAST)
for row in ("libdevice.fast_dividef", "tl.math.fast_dividef"):
    E(row, f"{row}(x, y)", lambda x, y: x / y, kind="positive", rtol=FAST)
for row in ("libdevice.pow", "tl.math.pow"):
    E(row, f"{row}(x, y)", lambda x, y: x**y, kind="positive")
E("libdevice.div_rn", "libdevice.div_rn(x, y)", lambda x, y: x / y, kind="positive")
E("libdevice.round", "libdevice.round(x)", lambda x, y: np.trunc(x + np.copysign(0.5, x)))
E("libdevice.ffs", "libdevice.ffs(x)", lambda x, y: [(v & -v).bit_length() for v in x.tolist()],
  dtype="int32")  # fmt: skip
E("libdevice.llrint", "libdevice.llrint(x)", lambda x, y: np.rint(x), out="int64")
E("libdevice.finitef", "libdevice.finitef(x)", lambda x, y: np.isfinite(x), out="int32")
E("libdevice.isfinited", "libdevice.isfinited(x)", lambda x, y: np.isfinite(x), dtype="float64",
  out="int32")  # fmt: skip
for row in ("tl.fma", "tl.math.fma"):
    E(row, f"{row}(x, y, x)", lambda x, y: x * y + x, atol=1e-5)
E("tl.maximum", "tl.maximum(x, y)", np.maximum)
E("tl.minimum", "tl.minimum(x, y)", np.minimum)
E("tl.maximum[propagate_nan=*]",
  "tl.maximum(x, float('nan') + y, propagate_nan=tl.PropagateNan.ALL)", lambda x, y: x * np.nan)  # fmt: skip
E("tl.PropagateNan", "tl.minimum(x, y, propagate_nan=tl.PropagateNan.NONE)", np.minimum)
E("tl.clamp", "tl.clamp(x, -1.0, 1.0)", lambda x, y: np.clip(x, -1, 1))
E("tl.clamp[min=*]", "tl.clamp(x, min=-1.0, max=1.0)", lambda x, y: np.clip(x, -1, 1))
E("tl.clamp[max=*]", "tl.clamp(x, min=-2.0, max=0.5)", lambda x, y: np.clip(x, -2, 0.5))
E("tl.div_rn", "tl.div_rn(x, y)", lambda x, y: x / y, kind="positive")
E("tl.fdiv", "tl.fdiv(x, y)", lambda x, y: x / y, kind="positive")
E("tl.sub", "tl.sub(x, y)", np.subtract)
E("tl.sub[sanitize_overflow=False]", "tl.sub(x, y, sanitize_overflow=False)", np.subtract, dtype="int32")
E("tl.where", "tl.where(x > y, x, y)", np.maximum)
E("tl.cdiv", "tl.cdiv(x, y)", lambda x, y: -(-x // y), dtype="int32", kind="positive")
E("tl._log2", "x * tl.standard._log2(BLOCK)", lambda x, y: 6 * x)

# Numbers, casts and types.
for name, wanted in [
    ("float16", "float16"), ("float32", "float32"), ("float64", "float64"), ("int8", "int8"),
    ("int16", "int16"), ("int32", "int32"), ("int64", "int64"), ("uint8", "uint8"),
    ("uint16", "uint16"), ("uint32", "uint32"), ("uint64", "uint64"),
]:  # fmt: skip
    E(f"tl.{name}", f"x.to(tl.{name})", lambda x, y, w=wanted: np.trunc(x).astype(w)
      if w[0] in "iu" else x.astype(w), kind="positive", out=wanted)  # fmt: skip
E("tl.int1", "(x > 0).to(tl.int1).to(tl.int32)", lambda x, y: x > 0, out="int32")
E("tl.bfloat16", "x.to(tl.bfloat16).to(tl.float32)", lambda x, y: x, rtol=2**-8)
for name, error in [
    ("float8e4nv", 2**-3), ("float8e5", 2**-2), ("float8e4b8", 2**-3),
]:  # fmt: skip
    body = f"x.to(tl.float16).to(tl.{name}).to(tl.float16).to(tl.float32)"
    E(f"tl.{name}", body, lambda x, y: x, kind="positive", rtol=error, atol=2e-2)
E("tl.float8e4b15", "x.to(tl.float8e4b15).to(tl.float32)", lambda x, y: np.minimum(x, 1.75),
  kind="positive", rtol=2**-3)  # fmt: skip
E("tl.cast", "tl.cast(x, tl.int32)", lambda x, y: np.trunc(x), out="int32")
E("tl.cast[dtype=*]", "tl.cast(x, dtype=tl.int32)", lambda x, y: np.trunc(x), out="int32")
BITS = lambda x, y: x.astype(np.float32).view(np.int32)  # noqa: E731
E("tl.cast[bitcast=True]", "tl.cast(x, tl.int32, bitcast=True)", BITS, out="int32")
E("tl.cast[bitcast=*]", "tl.cast(x, tl.int32, bitcast=BLOCK == 64)", BITS, out="int32")
E("tl.cast[fp_downcast_rounding='rtne']", "tl.cast(x, tl.float16, fp_downcast_rounding='rtne')",
  lambda x, y: x.astype("float16"), out="float16")  # fmt: skip
E(".to", "x.to(tl.int32)", lambda x, y: np.trunc(x), out="int32")
E(".cast", "x.cast(tl.int32)", lambda x, y: np.trunc(x), out="int32")
E(".dtype", "y.to(x.dtype)", lambda x, y: y)
E(".element_ty", "y.to(X.dtype.element_ty)", lambda x, y: y)
E(".type", "y.to(x.type.scalar)", lambda x, y: y)
E(".primitive_bitwidth", "x * x.dtype.primitive_bitwidth", lambda x, y: 32 * x)
E(".int_bitwidth", "x * x.dtype.int_bitwidth", lambda x, y: 32 * x, dtype="int32")
for name, dtype, answer in [
    ("is_fp8", "float32", 0), ("is_floating", "float32", 1), ("is_fp64", "float64", 1),
    ("is_int", "int32", 1), ("is_bf16", "float32", 0), ("is_int64", "int64", 1),
    ("is_uint64", "uint64", 1), ("is_fp16", "float16", 1), ("is_int_signed", "int8", 1),
    ("is_int_unsigned", "uint8", 1), ("is_int16", "int16", 1), ("is_int8", "int8", 1),
    ("is_ptr", "float32", 0),
]:  # fmt: skip
    E(f".{name}", f"x * 0 + (1 if x.dtype.{name}() else 0)", lambda x, y, a=answer: a, dtype=dtype)
E("tl.dtype", "x * 2 if isinstance(x.dtype, tl.dtype) else y", lambda x, y: 2 * x)
E("tl.get_int_dtype", "x.to(tl.core.get_int_dtype(32, True), bitcast=True)", BITS, out="int32")
E("tl.get_int_dtype[bitwidth=*]", "x.to(tl.core.get_int_dtype(bitwidth=32, signed=True), bitcast=True)",
  BITS, out="int32")  # fmt: skip
E("tl.get_int_dtype[signed=True]",
  "x.to(tl.core.get_int_dtype(bitwidth=x.dtype.primitive_bitwidth, signed=True), bitcast=True)",
  BITS, out="int32")  # fmt: skip
E("tl.tensor", "x * 2 if isinstance(x, tl.tensor) else y", lambda x, y: 2 * x)
E("tl.to_tensor", "x + tl.to_tensor(3)", lambda x, y: x + 3)
E("tl.constexpr", "three: tl.constexpr = 3\nz = x * three", lambda x, y: 3 * x)
E("tl.constexpr_type", "x if isinstance(BLOCK, tl.constexpr) else y", lambda x, y: x)
E("tl.tuple", "pair = tl.tuple((x, y))\nz = pair[0] - pair[1]", np.subtract)
E(".value", "x * tl.constexpr(3).value", lambda x, y: 3 * x)

# Python in kernels.
E("py:tuple literal", "a, b = (x, y)\nz = a - b", np.subtract)
E("py:tuple unpack", "a, (b, c) = x, (y, x)\nz = a - b + c", lambda x, y: 2 * x - y, atol=1e-5)
E("py:list literal", "z = x + tl.zeros([BLOCK], tl.float32)", lambda x, y: x)
E("py:list comp", "parts = [k * k for k in tl.static_range(4)]\nz = x + parts[3]", lambda x, y: x + 9)
E("py:str const", "MODE: tl.constexpr = 'double'\nz = x * 2 if MODE == 'double' else x", lambda x, y: 2 * x)
E("py:f-string", "tl.static_assert(BLOCK == 64, f'BLOCK is {BLOCK}')\nz = x", lambda x, y: x)
E("py:if constexpr", "if BLOCK == 64:\n    z = x\nelse:\n    z = undefined_name", lambda x, y: x)
E("py:if runtime", "z = x\nif n > 3:\n    z = y", lambda x, y: y)
E("py:else", "if n > 100:\n    z = x\nelse:\n    z = y", lambda x, y: y)
E("py:elif", "if n > 100:\n    z = x\nelif n > 40:\n    z = y\nelse:\n    z = x + y", lambda x, y: y)
E("py:nested loop", "z = x\nfor a in range(3):\n    for b in range(2):\n        z += y", lambda x, y: x + 6 * y,
  atol=1e-4)  # fmt: skip
E("py:range()", "z = x\nfor k in range(n - 46):\n    z += k", lambda x, y: x + 6)
E("py:for range(1)", "z = x\nfor k in range(4):\n    z += k", lambda x, y: x + 6)
E("py:for range(2)", "z = x\nfor k in range(2, 5):\n    z += k", lambda x, y: x + 9)
E("py:for range(3)", "z = x\nfor k in range(1, n, 20):\n    z += k", lambda x, y: x + 63)
E("py:for tl.range", "z = x\nfor k in tl.range(0, 4):\n    z += k", lambda x, y: x + 6)
E("py:for tl.static_range", "z = x\nfor k in tl.static_range(4):\n    z += k", lambda x, y: x + 6)
E("py:for other", "z = x\nfor k in (1, 2, 3):\n    z += k", lambda x, y: x + 6)
E("py:while", "z = x\nk = 0\nwhile k < n - 46:\n    z += k\n    k += 1", lambda x, y: x + 6)
E("tl.range", "z = x\nfor k in tl.range(n - 46):\n    z += k", lambda x, y: x + 6)
E("tl.static_range", "z = x\nfor k in tl.static_range(1, 4):\n    z += k", lambda x, y: x + 6)
E("tl.static_range[step=*]", "z = x\nfor k in tl.static_range(0, 6, step=2):\n    z += k", lambda x, y: x + 6)
for option in ("num_stages=2", "warp_specialize=BLOCK < 0", "flatten=True", "flatten=False",
               "loop_unroll_factor=2", "step=2", "warp_specialize=True",
               "disallow_acc_multi_buffer=True"):  # fmt: skip
    row = option if option.endswith(("flatten=True", "flatten=False", "specialize=True")) else None
    row = row or option.split("=")[0] + "=*"
    bounds = "0, 6" if option == "step=2" else "0, 4"
    E(f"tl.range[{row}]", f"z = x\nfor k in tl.range({bounds}, {option}):\n    z += k", lambda x, y: x + 6)
E("tl.range[flatten=*]", "z = x\nfor k in tl.range(0, 4, flatten=BLOCK == 64):\n    z += k", lambda x, y: x + 6)
E("py:global name ref", "z = x * FACTOR", lambda x, y: 3 * x, head="FACTOR = tl.constexpr(3)")
E("py:call jit fn", "twice(x)", lambda x, y: 2 * x, head="@triton.jit\ndef twice(v):\n    return v * 2")
RETURN = "@triton.jit\ndef pick(v, w, n):\n    if n > 3:\n        return v\n    return w"
E("py:early return value", "pick(x, y, n)", lambda x, y: x, head=RETURN)
E("py:return value", "less(x)", lambda x, y: x - 1, head="@triton.jit\ndef less(v):\n    return v - 1")
PAIR = "@triton.jit\ndef pair(v, w):\n    return w, v"
E("py:return tuple", "a, b = pair(x, y)\nz = a - b", lambda x, y: y - x, head=PAIR)
E("py:call other fn", "x * math.sqrt(16)", lambda x, y: 4 * x)
E("py:call constexpr fn param", "apply(twice, x)", lambda x, y: 2 * x,
  head="@triton.jit\ndef twice(v):\n    return v * 2\n@triton.jit\ndef apply(F: tl.constexpr, v):\n    return F(v)")  # fmt: skip
E("py:float()", "tl.where(x > 0, x, float('-inf'))", lambda x, y: np.where(x > 0, x, -np.inf))
E("py:min()", "x * min(n, 7)", lambda x, y: 7 * x)
E("py:max()", "x * max(n, 70)", lambda x, y: 70 * x)
E("py:len()", "x * len((x, y, x))", lambda x, y: 3 * x)
E("py:pow()", "x * pow(2, 3)", lambda x, y: 8 * x)
E("py:isinstance()", "x if isinstance(BLOCK, tl.constexpr) else y", lambda x, y: x)
E("py:getattr()", "x.to(getattr(tl, 'int32'))", lambda x, y: np.trunc(x), out="int32")
E("py:print()", "print('value', n)\nz = x", lambda x, y: x)
E("py:assert", "assert n > 3, 'small'\nz = x", lambda x, y: x, debug=True)
E("py:annassign", "k: tl.int32 = n\nz = x + k", lambda x, y: x + 50)
E("py:annassign constexpr", "k: tl.constexpr = BLOCK // 32\nz = x * k", lambda x, y: 2 * x)
E("py:bool and", "z = x\nif n > 3 and n < 100:\n    z = y", lambda x, y: y)
E("py:bool or", "z = x\nif n > 300 or n < 100:\n    z = y", lambda x, y: y)
E("py:ifexp constexpr", "x if BLOCK == 64 else undefined_name", lambda x, y: x)
E("py:ifexp runtime", "x if n > 3 else y", lambda x, y: x)
E("py:pass", "z = x\nif n > 3:\n    pass", lambda x, y: x)
E("py:raise", "z = x\nif BLOCK != 64:\n    raise ValueError('no')", lambda x, y: x)
E("py:walrus", "z = x + (k := n + 1)\nz += k", lambda x, y: x + 102)
E("py:star-arg call", "add3(*(x, y), 1)", lambda x, y: x + y + 1, atol=1e-5,
  head="@triton.jit\ndef add3(a, b, c):\n    return a + b + c")  # fmt: skip
E("idx:: slice", "z = tl.sum(x[:, None] * (i[:, None] == i[None, :]), axis=0)", lambda x, y: x)
E("idx:None/: expand", "z = tl.sum(tl.where(i[:, None] == i[None, :], x[:, None], 0.0), axis=0)", lambda x, y: x)
E("idx:other (tuple/shape index)", "pair = (x, y)\nz = pair[1] * x.shape[0]", lambda x, y: 64 * y)

# Loads and stores, with their options; hints never change numbers.
MASKED = lambda x, y: np.where(np.arange(64) < 50, x, 7)  # noqa: E731
E("tl.load", "tl.load(X + (BLOCK - 1 - i))", lambda x, y: x[::-1])
E("tl.load[mask=*]", "tl.where(i < n, tl.load(X + i, mask=i < n), 7)", MASKED)
E("tl.load[other=*]", "tl.load(X + i, mask=i < n, other=7.0)", MASKED)
E("tl.load[mask=True]", "tl.load(X + i, mask=True)", lambda x, y: x)
E("tl.load[other=False]", "tl.load(X + i, mask=i < n, other=False)", lambda x, y: np.where(np.arange(64) < 50, x, 0))
for option in ("eviction_policy='evict_last'", "eviction_policy='evict_first'", "cache_modifier='.cg'",
               "cache_modifier='.ca'", "volatile=True"):  # fmt: skip
    E(f"tl.load[{option}]", f"tl.load(X + i, {option})", lambda x, y: x)
E("tl.load[cache_modifier=*]", "tl.load(X + i, cache_modifier='.cv')", lambda x, y: x)
STORED = lambda x, y: x + 1  # noqa: E731


def stored(row: str, arguments: str) -> None:
    E(row, f"tl.store(Z + i, {arguments})\ntl.debug_barrier()\nz = tl.load(Z + i)", STORED)


stored("tl.store", "x + 1")
for option in ("eviction_policy='evict_first'", "eviction_policy='evict_last'", "cache_modifier='.cg'",
               "cache_modifier='.cs'", "cache_modifier='.wt'", "cache_modifier='.wb'", "mask=True"):  # fmt: skip
    stored(f"tl.store[{option}]", f"x + 1, {option}")
stored("tl.store[mask=*]", "x + 1, mask=i < BLOCK")
stored("tl.store[value=*]", "value=x + 1")
E("tl.arange", "x + tl.arange(0, BLOCK)", lambda x, y: x + np.arange(64))
E("tl.full", "x + tl.full((BLOCK,), 3, tl.float32)", lambda x, y: x + 3)
E("tl.full[dtype=*]", "x + tl.full((BLOCK,), 3, dtype=tl.int32)", lambda x, y: x + 3)
E("tl.full[value=*]", "x + tl.full((BLOCK,), value=3, dtype=tl.float32)", lambda x, y: x + 3)
E("tl.zeros", "x + tl.zeros((BLOCK,), tl.float32)", lambda x, y: x)
E("tl.zeros[dtype=*]", "x + tl.zeros((BLOCK,), dtype=tl.float32)", lambda x, y: x)
E("tl.zeros[shape=*]", "x + tl.zeros(shape=(BLOCK,), dtype=tl.float32)", lambda x, y: x)
E("tl.zeros_like", "x + tl.zeros_like(y)", lambda x, y: x)
E("tl.program_id", "x + tl.program_id(0)", lambda x, y: x)
E("tl.num_programs", "x + tl.num_programs(axis=0)", lambda x, y: x + 1)
E("tl.pointer_type", "tl.load(X.to(tl.pointer_type(tl.int32)) + i)", BITS, out="int32")
E(".load", "z = x\nz += tl.load(Y + i)", np.add)

# What the compiler is told, and what is printed or asserted.
E("tl.multiple_of", "tl.load(X + tl.multiple_of(i, 1))", lambda x, y: x)
E("tl.max_contiguous", "tl.load(X + tl.max_contiguous(i, BLOCK))", lambda x, y: x)
E("tl.max_constancy", "tl.load(X + tl.max_constancy(i, 1))", lambda x, y: x)
E("tl.assume", "tl.assume(n > 0)\nz = x + n", lambda x, y: x + 50)
E("tl.debug_barrier", "tl.debug_barrier()\nz = x", lambda x, y: x)
E("tl.static_assert", "tl.static_assert(BLOCK == 64)\nz = x", lambda x, y: x)
E("tl.static_print", "tl.static_print(BLOCK)\nz = x", lambda x, y: x)
E("tl.device_print", "tl.device_print('n', n)\nz = x", lambda x, y: x)
E("tl.device_assert", "tl.device_assert(n > 3, 'small')\nz = x", lambda x, y: x, debug=True)
E("tl.condition", "z = x\nk = n\nwhile tl.condition(k > 46):\n    z += 1\n    k -= 1", lambda x, y: x + 4)
E("tl.expect_zero", "tl.expect_zero(x * 0, x == x)\nz = x", lambda x, y: x)
for name, body in [
    ("num_warps", "x + tl.extra.cuda.num_warps()"), ("num_threads", "x + tl.extra.cuda.num_threads()"),
]:  # fmt: skip
    value = 4 if name == "num_warps" else 128
    E(f"tl.extra.cuda.{name}", body, lambda x, y, v=value: x + v, num_warps=4)
E("tl.extra.cuda.globaltimer", "z = tl.where(tl.extra.cuda.globaltimer() >= 0, x, y)", lambda x, y: x)
E("tl.extra.cuda.smid", "z = tl.where(tl.extra.cuda.smid() >= 0, x, y)", lambda x, y: x)
E("tl.extra.cuda.gdc_wait", "tl.extra.cuda.gdc_wait()\nz = x", lambda x, y: x)
E("tl.extra.cuda.gdc_launch_dependents", "tl.extra.cuda.gdc_launch_dependents()\nz = x", lambda x, y: x)
E("tl.extra.cpu.vnni_decode", "tl.extra.cpu.vnni_decode(x)", lambda x, y: x)
E("tl.extract_slice", "tl.extract_slice(x, [0], [64], [1])", lambda x, y: x)
for name in ("experimental_device_tensormap_create2d", "experimental_tensormap_fenceproxy_acquire"):
    E(f"tl.extra.cuda.{name}", f"tl.extra.cuda.{name}(X)\nz = x", lambda x, y: x)
for option in ("desc_ptr", "element_ty", "global_address", "global_size", "load_size"):
    E(f"tl.extra.cuda.experimental_device_tensormap_create2d[{option}=*]",
      f"tl.extra.cuda.experimental_device_tensormap_create2d({option}=X)\nz = x", lambda x, y: x)  # fmt: skip
DESCRIBED = "d = tl.make_tensor_descriptor({}, [BLOCK], [1], [BLOCK])\n"
E("tl._experimental_descriptor_load",
  DESCRIBED.format("X") + "z = tl._experimental_descriptor_load(d, [0], [BLOCK], tl.float32)", lambda x, y: x)  # fmt: skip
E("tl._experimental_descriptor_store",
  DESCRIBED.format("Z") + "tl._experimental_descriptor_store(d, x, [0])\ntl.debug_barrier()\nz = tl.load(Z + i)",
  lambda x, y: x)  # fmt: skip
E("triton.cdiv", "x * triton.cdiv(7, 2)", lambda x, y: 4 * x)
E("triton.next_power_of_2", "x * triton.next_power_of_2(5)", lambda x, y: 8 * x)

# Launch options.
for option, value in [
    ("num_warps", 8), ("num_stages", 2), ("num_ctas", 1), ("launch_pdl", True), ("waves_per_eu", 2),
    ("launch_cooperative_grid", True), ("debug", True), ("maxnreg", 64), ("extern_libs", {}),
]:  # fmt: skip
    E(f"launch({option}=)", "x + y", np.add, **{option: value})
