"""Features of tiles: shapes, reductions, scans, products, atomics, random numbers."""

from __future__ import annotations

import numpy as np
from harness import SIMULATED_BY
from harness import tile as T

LN = np.array  # arrays of the expectations


def softmax(v, axis=0):
    e = np.exp(v - v.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


# Shapes.
T("tl.trans", "tl.trans(t)", lambda x, y: x.T)
T(".trans", "t.trans(1, 0)", lambda x, y: x.T)
T(".T", "t.T", lambda x, y: x.T)
T("tl.permute", "tl.permute(t, (1, 0))", lambda x, y: x.T)
T(".permute", "t.permute(1, 0)", lambda x, y: x.T)
T("tl.reshape", "tl.reshape(t, (16, 64))", lambda x, y: x.reshape(16, 64))
T(".reshape", "t.reshape(16, 64)", lambda x, y: x.reshape(16, 64))
T("tl.reshape[can_reorder=True]", "z = tl.sum(tl.reshape(t, (1024,), can_reorder=True))", lambda x, y: x.sum(),
  atol=1e-3)  # fmt: skip
T("tl.reshape[can_reorder=False]", "tl.reshape(t, (64, 16), can_reorder=False)", lambda x, y: x.reshape(64, 16))
T("tl.view", "z = tl.sum(tl.view(t, (1024,)))", lambda x, y: x.sum(), atol=1e-3)
T("tl.ravel", "tl.ravel(t)", lambda x, y: x.ravel())
T(".ravel", "t.ravel()", lambda x, y: x.ravel())
T("tl.ravel[can_reorder=True]", "z = tl.sum(tl.ravel(t, can_reorder=True))", lambda x, y: x.sum(), atol=1e-3)
T("tl.expand_dims", "z = tl.sum(tl.expand_dims(t, 0), axis=0)", lambda x, y: x)
T(".expand_dims", "z = tl.sum(t.expand_dims(2), axis=2)", lambda x, y: x)
T("tl.unsqueeze", "z = tl.sum(tl.unsqueeze(t, 0), axis=0)", lambda x, y: x)
T("tl.squeeze", "tl.squeeze(tl.expand_dims(t, 0), 0)", lambda x, y: x)
T("tl.broadcast_to", "tl.broadcast_to(tl.sum(t, axis=0)[None, :], (32, 32))",
  lambda x, y: np.broadcast_to(x.sum(0), (32, 32)))  # fmt: skip
T(".broadcast_to", "tl.sum(t, axis=0)[None, :].broadcast_to(32, 32)", lambda x, y: np.broadcast_to(x.sum(0), (32, 32)))
T("tl.broadcast", "a, b = tl.broadcast(tl.sum(t, axis=0)[None, :], u)\nz = a + b", lambda x, y: x.sum(0) + y)
T(".shape", "t * t.shape[1]", lambda x, y: 32 * x)
T(".numel", "t * t.numel", lambda x, y: 1024 * x, rtol=1e-5)
T("tl.join", "z = tl.join(t, u).reshape(32, 64)", lambda x, y: np.stack([x, y], -1).reshape(32, 64))
T("tl.split", "a, b = tl.split(t.reshape(32, 16, 2))\nz = a - b",
  lambda x, y: x.reshape(32, 16, 2)[..., 0] - x.reshape(32, 16, 2)[..., 1])  # fmt: skip
T(".split", "a, b = t.reshape(32, 16, 2).split()\nz = a - b",
  lambda x, y: x.reshape(32, 16, 2)[..., 0] - x.reshape(32, 16, 2)[..., 1])  # fmt: skip
T("tl.interleave", "tl.interleave(t, u)", lambda x, y: np.stack([x, y], -1).reshape(32, 64))
ROWS = "a = tl.load(X + r)\nb = tl.load(Y + r)\n"
BOTH = lambda x, y: np.concatenate([x[0], y[0]])  # noqa: E731
T("tl.cat", ROWS + "z = tl.sort(tl.cat(a, b, can_reorder=True))", lambda x, y: np.sort(BOTH(x, y)))
T("tl.cat[can_reorder=*]", ROWS + "z = tl.sum(tl.cat(a, b, can_reorder=BLOCK == 32))", lambda x, y: BOTH(x, y).sum(),
  atol=1e-4)  # fmt: skip
T("tl.cat[can_reorder=True]", ROWS + "z = tl.sum(tl.cat(a, b, can_reorder=True))", lambda x, y: BOTH(x, y).sum(),
  atol=1e-4)  # fmt: skip
T("tl.cat[dim=*]", "tl.cat(t, u, dim=0)", lambda x, y: np.concatenate([x, y], 0))
T("tl.flip", "tl.flip(t, 1)", lambda x, y: x[:, ::-1])
T("tl.flip[dim=*]", "tl.flip(t, dim=0)", lambda x, y: x[::-1])
T("tl.gather", "tl.gather(t, (r[:, None] + r[None, :]) % 32, 1)",
  lambda x, y: np.take_along_axis(x, np.add.outer(range(32), range(32)) % 32, 1))  # fmt: skip
T("tl.swizzle2d", "a, b = tl.swizzle2d(r[:, None], r[None, :], 32, 32, 4)\ntl.store(Z + a * 32 + b, t)\nz = t",
  lambda x, y: _swizzled(x))  # fmt: skip


def _swizzled(x):
    result = np.zeros_like(x)
    for i in range(32):
        for j in range(32):
            ij = i * 32 + j
            group, size = ij // (4 * 32), 4
            first = group * 4
            result[first + ij % size, ij % (4 * 32) // size] = x[i, j]
    return result


# Reductions and scans.
T("tl.sum", "tl.sum(t, 1)", lambda x, y: x.sum(1))
T(".sum", "t.sum(axis=0)", lambda x, y: x.sum(0))
T("tl.sum[axis omitted]", "z = tl.sum(t)", lambda x, y: x.sum(), atol=1e-3)
T("tl.sum[keep_dims=True]", "t - tl.sum(t, axis=1, keep_dims=True)", lambda x, y: x - x.sum(1, keepdims=True))
T("tl.sum[dtype=*]", "tl.sum(t, axis=1, dtype=tl.int32)", lambda x, y: x.astype(int).sum(1), dtype="int8", out="int32",
  kind="positive")  # fmt: skip
T("tl.max", "tl.max(t, 1)", lambda x, y: x.max(1))
T(".max", "t.max(axis=1)", lambda x, y: x.max(1))
T("tl.max[axis omitted]", "z = tl.max(t)", lambda x, y: x.max())
T("tl.max[keep_dims=True]", "t - tl.max(t, axis=0, keep_dims=True)", lambda x, y: x - x.max(0, keepdims=True))
T("tl.max[return_indices=True]", "v, k = tl.max(t, axis=1, return_indices=True)\nz = v * 100 + k",
  lambda x, y: x.max(1) * 100 + x.argmax(1))  # fmt: skip
T("tl.max[return_indices_tie_break_left=True]",
  "v, k = tl.max(t * 0, axis=1, return_indices=True, return_indices_tie_break_left=True)\nz = v + k",
  lambda x, y: np.zeros(32))  # fmt: skip
T("tl.min", "tl.min(t, 1)", lambda x, y: x.min(1))
T("tl.min[axis omitted]", "z = tl.min(t)", lambda x, y: x.min())
T("tl.min[return_indices=True]", "v, k = tl.min(t, axis=1, return_indices=True)\nz = v * 100 + k",
  lambda x, y: x.min(1) * 100 + x.argmin(1))  # fmt: skip
T("tl.min[return_indices_tie_break_left=True]",
  "v, k = tl.min(t * 0, axis=1, return_indices=True, return_indices_tie_break_left=True)\nz = v + k",
  lambda x, y: np.zeros(32))  # fmt: skip
T("tl.argmax", "tl.argmax(t, 1)", lambda x, y: x.argmax(1), out="int32")
T("tl.argmin", "tl.argmin(t, 0)", lambda x, y: x.argmin(0), out="int32")
T("tl.xor_sum", "tl.xor_sum(t, 1)", lambda x, y: np.bitwise_xor.reduce(x, 1), dtype="int32")
T("tl.reduce_or", "tl.reduce_or(t, 1)", lambda x, y: np.bitwise_or.reduce(x, 1), dtype="int32")
ADD = "@triton.jit\ndef {}(a, b):\n    return a + b"
T("tl.reduce", "tl.reduce(t, 1, add)", lambda x, y: x.sum(1), head=ADD.format("add"))
T("tl.reduce[combine_fn=*]", "tl.reduce(t, 1, combine_fn=add)", lambda x, y: x.sum(1), head=ADD.format("add"))
T("tl.reduce[keep_dims=*]", "t - tl.reduce(t, 1, add, keep_dims=True)", lambda x, y: x - x.sum(1, keepdims=True),
  head=ADD.format("add"))  # fmt: skip
T("tl.reduce combine sanitize_add", "tl.reduce(t, 1, sanitize_add)", lambda x, y: x.sum(1), head=ADD.format("sanitize_add"))
WELFORD = """
@triton.jit
def _welford_combine(mean_1, m2_1, weight_1, mean_2, m2_2, weight_2):
    delta = mean_2 - mean_1
    weight = weight_1 + weight_2
    ratio = tl.where(weight == 0.0, 0.0, weight_2 / weight)
    return mean_1 + delta * ratio, m2_1 + m2_2 + delta * delta * weight_1 * ratio, weight
"""
T("tl.reduce combine _welford_combine",
  "mean, m2, weight = tl.reduce((t, tl.zeros_like(t), tl.full((32, 32), 1.0, tl.float32)), 1, _welford_combine)\n"
  "z = mean + m2 / weight", lambda x, y: x.mean(1) + x.var(1), head=WELFORD)  # fmt: skip
T("tl.cumsum", "tl.cumsum(t, 1)", lambda x, y: x.cumsum(1), atol=1e-4)
T(".cumsum", "t.cumsum(axis=0)", lambda x, y: x.cumsum(0), atol=1e-4)
T("tl.cumsum[reverse=True]", "tl.cumsum(t, 1, reverse=True)", lambda x, y: x[:, ::-1].cumsum(1)[:, ::-1], atol=1e-4)
T("tl.cumsum[dtype=*]", "tl.cumsum(t, 1, dtype=tl.int32)", lambda x, y: x.astype(int).cumsum(1), dtype="int8", out="int32")
T("tl.cumprod", "tl.cumprod(t, 1)", lambda x, y: x.cumprod(1), kind="unit")
T("tl.associative_scan", "tl.associative_scan(t, 1, add)", lambda x, y: x.cumsum(1), head=ADD.format("add"), atol=1e-4)
KEYED = """
@triton.jit
def _keyed_add(key_1, value_1, key_2, value_2):
    return key_2, tl.where(key_1 == key_2, value_1, 0.0) + value_2
"""


def segmented(x, y):
    """Sums that begin anew where the key, the index by 8, changes."""
    return x.reshape(32, 4, 8).cumsum(2).reshape(32, 32)


T("tl.associative_scan combine _keyed_add",
  "k, z = tl.associative_scan((tl.broadcast_to((r // 8)[None, :], (32, 32)), t), 1, _keyed_add)",
  segmented, head=KEYED, atol=1e-4)  # fmt: skip
T("tl.softmax", "tl.softmax(t)", lambda x, y: softmax(x, 0))
T("tl.softmax[dim=*]", "tl.softmax(t, dim=1)", lambda x, y: softmax(x, 1))
T("tl.softmax[keep_dims=True]", "tl.softmax(t, dim=1, keep_dims=True)", lambda x, y: softmax(x, 1))
T("tl.sort", "tl.sort(t)", lambda x, y: np.sort(x, 1))
T("tl.sort[dim=*]", "tl.sort(t, dim=1)", lambda x, y: np.sort(x, 1))
T("tl.sort[descending=True]", "tl.sort(t, descending=True)", lambda x, y: np.sort(x, 1)[:, ::-1])
T("tl.sort[descending=False]", "tl.sort(t, descending=False)", lambda x, y: np.sort(x, 1))
T("tl.sort[descending=*]", "tl.sort(t, descending=BLOCK == 32)", lambda x, y: np.sort(x, 1)[:, ::-1])
T("tl.topk", "tl.topk(t, 4)", lambda x, y: np.sort(x, 1)[:, :-5:-1])
T("tl.topk[dim=*]", "tl.topk(t, 4, dim=1)", lambda x, y: np.sort(x, 1)[:, :-5:-1])
HALVES = "a = tl.sort(tl.load(X + tl.arange(0, 32)))\nb = tl.flip(tl.sort(tl.load(Y + tl.arange(0, 32))))\n"
T("tl.bitonic_merge", HALVES + "z = tl.bitonic_merge(tl.join(a, b).permute(1, 0).reshape(64))",
  lambda x, y: np.sort(BOTH(x, y)))  # fmt: skip
T("tl.histogram", "z = tl.histogram(tl.load(X + tl.arange(0, 64)), 8)", lambda x, y: np.bincount(x.ravel()[:64], minlength=8),
  dtype="int32", kind="small")  # fmt: skip

# Products.
DOT = lambda x, y: x @ y  # noqa: E731
LOOSE = {"rtol": 1e-3, "atol": 1e-3}
T("tl.dot", "tl.dot(t, u)", DOT, dtype="float16", out="float32", kind="unit", **LOOSE)
T("tl.dot[acc=*]", "tl.dot(t, u, acc=tl.full((32, 32), 1, tl.float32))", lambda x, y: x @ y + 1, dtype="float16",
  out="float32", kind="unit", **LOOSE)  # fmt: skip
T("tl.dot[out_dtype=*]", "tl.dot(t, u, out_dtype=tl.float32)", DOT, dtype="float16", out="float32", kind="unit", **LOOSE)
for option in ("allow_tf32=False", "input_precision='ieee'", "input_precision='tf32x3'"):
    T(f"tl.dot[{option}]", f"tl.dot(t, u, {option})", DOT, kind="unit")
for option in ("allow_tf32=True", "input_precision='tf32'"):
    T(f"tl.dot[{option}]", f"tl.dot(t, u, {option})", DOT, kind="unit", rtol=2e-2, atol=2e-2)
T("tl.dot[input_precision=*]", "tl.dot(t, u, input_precision='ieee' if BLOCK == 32 else 'tf32')", DOT, kind="unit")
T("tl.dot[allow_tf32=*]", "tl.dot(t, u, allow_tf32=BLOCK != 32)", DOT, kind="unit")
T("tl.dot[max_num_imprecise_acc=*]", "tl.dot(t, u, max_num_imprecise_acc=0)", DOT, dtype="float16", out="float32", kind="unit",
  **LOOSE)  # fmt: skip
T("tl.dot[trans_a=True]", "tl.dot(t, u, trans_a=True)", lambda x, y: x.T @ y, kind="unit")
T("tl.dot[trans_b=True]", "tl.dot(t, u, trans_b=True)", lambda x, y: x @ y.T, kind="unit")

# Atomics: four programs on the same tile.
FOUR = {"grid": (4,), "zeroed": True}
CODE = "tl.atomic_{}(Z + at, {}{})"
for rows, name, value, fn in [
    (("tl.atomic_add", ".atomic_add"), "add", "t", lambda x, y: 4 * x),
    ("tl.atomic_max", "max", "t + tl.program_id(0)", lambda x, y: np.maximum(x + 3, 0)),
    ("tl.atomic_min", "min", "t - tl.program_id(0)", lambda x, y: np.minimum(x - 3, 0)),
    ("tl.atomic_or", "or", "t", lambda x, y: x),
    ("tl.atomic_and", "and", "t", lambda x, y: x * 0),
    ("tl.atomic_xchg", "xchg", "t", lambda x, y: x),
]:  # fmt: skip
    T(rows, CODE.format(name, value, ""), fn, dtype="int32", **FOUR)
    first = rows if isinstance(rows, str) else rows[0]
    wanted = {
        "add": ["mask=*", "sem='relaxed'", "sem='release'", "sem='acq_rel'", "sem='acquire'", "sem=*",
                "scope='gpu'", "scope='cta'", "scope='sys'", "scope=*"],
        "max": ["mask=*", "sem='relaxed'"], "min": ["mask=*", "sem='relaxed'"], "or": ["mask=*"],
        "and": [], "xchg": ["scope=*", "scope='gpu'", "sem='release'", "sem=*", "sem='relaxed'"],
    }[name]  # fmt: skip
    for option in wanted:
        text = {"mask=*": "mask=at >= 0", "sem=*": "sem='acq_rel'", "scope=*": "scope='gpu'"}.get(option, option)
        # What one CTA orders for itself alone must not be shared with others.
        grid = {"grid": (1,), "zeroed": True} if "cta" in option else FOUR
        single = (lambda x, y: x) if "cta" in option else fn
        T(f"{first}[{option}]", CODE.format(name, value, f", {text}"), single, dtype="int32", **grid)
for row, option in [("", ""), ("[sem='relaxed']", ", sem='relaxed'"), ("[sem=*]", ", sem='acq_rel'")]:
    T(f"tl.atomic_cas{row}", f"tl.atomic_cas(Z + at, tl.zeros((32, 32), tl.int32), t{option})", lambda x, y: x, dtype="int32",
      **FOUR)  # fmt: skip
for option in ("", "[scope=*]", "[timeout_ns=*]", "[sem='acquire']", "[sem=*]", "[scope='sys']"):
    text = {
        "": "", "[scope=*]": ", scope='gpu'", "[timeout_ns=*]": ", timeout_ns=1000000000", "[sem=*]": ", sem='acquire'",
    }.get(option, f", {option[1:-1]}")  # fmt: skip
    T(f"tl.atomic_poll{option}", f"tl.atomic_poll(Y, tl.load(Y){text})\ntl.store(Z + at, t)", lambda x, y: x, dtype="int32")

# Random numbers: the same in each run, in range, and spread.
for row, call, low, high in [
    ("tl.rand", "tl.rand(7, at)", 0, 1), ("tl.rand[n_rounds=*]", "tl.rand(7, at, n_rounds=7)", 0, 1),
    ("tl.randn", "tl.randn(7, at)", -6, 6),
]:  # fmt: skip
    T(row, f"v = {call}\nsame = tl.where(v == {call}, 1, 0)\nz = tl.sum(tl.sum(tl.where((v >= {low}) & (v < {high}), same, 0), 1), 0)"
      "\nz = z * (tl.max(tl.max(v, 1), 0) > tl.min(tl.min(v, 1), 0))", lambda x, y: 1024, out="int32")  # fmt: skip
PHILOX = [0xF0A6C1B0, 0]
T("tl.randint", "v = tl.randint(7, at)\nz = tl.sum(tl.sum((v == tl.randint(7, at)).to(tl.int32), 1), 0)", lambda x, y: 1024, out="int32")
FOURS = "a, b, c, d = {}\ne, f, g, h = {}\nz = tl.sum(tl.sum(((a == e) & (d == h) & (a != b)).to(tl.int32), 1), 0)"
T("tl.randint4x", FOURS.format(*["tl.randint4x(7, at)"] * 2), lambda x, y: 1024, out="int32")
T("tl.randint4x[n_rounds=*]", FOURS.format(*["tl.randint4x(7, at, n_rounds=7)"] * 2), lambda x, y: 1024, out="int32")
T("tl.philox", FOURS.format(*["tl.philox(7, at.to(tl.uint32), 0, 0, 0)"] * 2), lambda x, y: 1024, out="int32")

# Functions over elements, assembly, scaled products.
BRANCHES = "@triton.jit\ndef larger(a, b):\n    if a > b:\n        return a\n    else:\n        return b"
T("tl.map_elementwise", "tl.map_elementwise(larger, t, u)", np.maximum, head=BRANCHES)
ASM = "tl.inline_asm_elementwise({}, '{}', [t{}], {}dtype={}, is_pure={}, pack={})"
MOVE = ASM.format("'mov.f32 $0, $1;'", "=f,f", "", "", "tl.float32", "True", 1)
for option in ("", "[pack=*]", "[dtype=*]", "[is_pure=True]", "[asm='mov.f32 $0, $1;']", "[constraints='=f,f']"):
    T(f"tl.inline_asm_elementwise{option}", MOVE, lambda x, y: x)
T("tl.inline_asm_elementwise[is_pure=False]", MOVE.replace("is_pure=True", "is_pure=False"), lambda x, y: x)
NAMED = "tl.inline_asm_elementwise(asm='mov.f32 $0, $1;', constraints='=f,f', args=[t], dtype=tl.float32, is_pure=True, pack=1)"
for option in ("args", "asm", "constraints"):
    T(f"tl.inline_asm_elementwise[{option}=*]", NAMED, lambda x, y: x)
T("tl.inline_asm_elementwise[constraints='=r,r']",
  "tl.inline_asm_elementwise('not.b32 $0, $1;', '=r,r', [t], dtype=tl.int32, is_pure=True, pack=1)", lambda x, y: ~x, dtype="int32")  # fmt: skip
T("tl.inline_asm_elementwise[constraints='=r,f,f']",
  "tl.inline_asm_elementwise('{ .reg .f32 s; add.f32 s, $1, $2; mov.b32 $0, s; }', '=r,f,f', [t, u], dtype=tl.int32, is_pure=True,"
  " pack=1)", lambda x, y: (x.astype("f4") + y.astype("f4")).view("i4"), out="int32")  # fmt: skip
T("tl.inline_asm_elementwise[constraints='=r,=r,=r,=r,r']",
  "a, b, c, d = tl.inline_asm_elementwise('and.b32 $0, $4, 0xff; shr.u32 $1, $4, 8; shr.u32 $2, $4, 16; shr.u32 $3, $4, 24;', "
  "'=r,=r,=r,=r,r', [t], dtype=(tl.int32, tl.int32, tl.int32, tl.int32), is_pure=True, pack=1)\nz = a + b + c + d",
  lambda x, y: (x & 255) + (x >> 8) + (x >> 16) + (x >> 24), dtype="int32", kind="positive")  # fmt: skip
E8 = "\n".join(f"cvt.u16.u32 ${k}, $8;" for k in range(8))
WORDS = {
    "=h,=h,=h,=h,=h,=h,=h,=h,r,h": 1,
    "=h,=h,=h,=h,=h,=h,=h,=h,r,h,h,h,h": 4,
}
for constraints, halves in WORDS.items():
    types = ", ".join(["tl.int16"] * 8)
    arguments = ", ".join(["t.to(tl.int32)"] + ["t"] * halves)
    T(f"tl.inline_asm_elementwise[constraints='{constraints}']",
      f"a, b, c, d, e, f, g, h = tl.inline_asm_elementwise('''{E8.replace(chr(10), ' ')}''', '{constraints}', [{arguments}], "
      f"dtype=({types}), is_pure=True, pack=1)\nz = a + h", lambda x, y: 2 * x, dtype="int16")  # fmt: skip
PACK = ("{ .reg .b8 b0, b1, b2, b3; cvt.rn.satfinite.e2m1x2.f32 b0, $2, $1; cvt.rn.satfinite.e2m1x2.f32 b1, $4, $3; "
        "cvt.rn.satfinite.e2m1x2.f32 b2, $6, $5; cvt.rn.satfinite.e2m1x2.f32 b3, $8, $7; mov.b32 $0, {b0, b1, b2, b3}; }")  # fmt: skip
EIGHT = ", ".join(["t"] * 8)
FP4 = ("tl.inline_asm_elementwise[asm='\\n            {\\n                .reg .b8 byte0;\\n                .reg .b8 byte1;\\n"
       "                .reg .b8 byte2;\\n                .reg .b8 byte3;\\n                cvt.rn.satfinite.e2m1x2.f32  byte0, $2, $1;\\n"
       "                cvt.rn.satfinite.e2m1x2.f32  byte1, $4, $3;\\n                cvt.rn.satfinite.e2m1x2.f32  byte2, $6, $5;\\n"
       "                cvt.rn.satfinite.e2m1x2.f32  byte3, $8, $7;\\n                mov.b32 $0, {byte0, byte1, byte2, byte3};\\n\\n"
       "            }\\n            ']")  # fmt: skip


def fp4(x, y):
    """e2m1 codes of positive numbers, the same in all eight places of a word."""
    table = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    middle = (table[1:] + table[:-1]) / 2
    code = np.searchsorted(middle, x)
    return (code * 0x11111111).astype(np.uint32).view(np.int32) if code.dtype == np.uint32 else (
        (code.astype(np.int64) * 0x11111111) & 0xFFFFFFFF).astype(np.uint32).view(np.int32)


FP4_ROWS = (FP4, "tl.inline_asm_elementwise[constraints='=r,f, f, f, f, f, f, f, f']")
SIMULATED_BY.update(dict.fromkeys(FP4_ROWS, "sim:sm_100a"))
T(FP4_ROWS,
  f"tl.inline_asm_elementwise('{PACK}', '=r,f, f, f, f, f, f, f, f', [{EIGHT}], dtype=tl.int32, is_pure=True, pack=1)",
  fp4, out="int32", kind="positive")  # fmt: skip
SCALED = "s = tl.full((32, 1), 127, tl.uint8)\n"
CALL = "z = tl.dot_scaled(t, s, 'bf16', u, s, 'bf16'{})"
CAST = "t = t.to(tl.bfloat16)\nu = u.to(tl.bfloat16)\n"
for row, option in [
    ("", ""), ("[acc=*]", ", acc=tl.zeros((32, 32), tl.float32)"), ("[fast_math=True]", ", fast_math=True"),
    ("[rhs_k_pack=*]", ", rhs_k_pack=True"), ("[fast_math=*]", ", fast_math=False"), ("[lhs_k_pack=*]", ", lhs_k_pack=True"),
]:  # fmt: skip
    T(f"tl.dot_scaled{row}", SCALED + CAST + CALL.format(option), DOT, kind="unit", rtol=3e-2, atol=3e-2)
