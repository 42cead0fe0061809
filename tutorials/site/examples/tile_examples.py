"""Examples of tutorials/site/reference/language/tile.md."""

import numpy as np
import tilewright as tw
from cases import example

COLUMN = np.arange(4, dtype=np.float32).reshape(4, 1)
ROW = np.arange(8, dtype=np.float32).reshape(1, 8)
WITH_NAN = np.where(np.arange(32) % 4, 1.0, np.nan).astype(np.float32)


@tw.aggregate
class Pair:
    first: tw.tensor
    second: tw.tensor


@tw.jit
def plus(a, b):
    return a + b


@tw.jit
def leaky(element):
    if element < 0.5:
        return element * 0.25
    return element


@example("np.maximum(x, y)", x=WITH_NAN)
def PropagateNan(x, y):
    return tw.maximum(x, y, propagate_nan=tw.PropagateNan.ALL)


@example("x + y")
def add(x, y):
    return tw.add(x, y)


@example("3 * x", uses=(Pair,))
def aggregate_replace(x):
    pair = tw.aggregate_replace(Pair(x, x), second=2 * x)
    return pair.first + pair.second


@example("np.arange(32)")
def arange():
    return tw.arange(0, 32)


@example("np.cumsum(x)", uses=(plus,))
def associative_scan(x):
    return tw.associative_scan(x, 0, plus)


@example("x")
def assume(x):
    tw.assume(tw.program_id(0) < 65536)
    return x


@example("x + 1")
def async_task(x):
    with tw.async_tasks():
        with tw.async_task("default", num_warps=4):
            x = x + 1
    return x


@example("x + 1")
def async_tasks(x):
    with tw.async_tasks():
        with tw.async_task("default", num_warps=4):
            x = x + 1
    return x


@example("np.where(x < 0.5, x / 4, x)", uses=(leaky,))
def map_elementwise(x):
    return tw.map_elementwise(leaky, x)


@example("column * row", column=COLUMN, row=ROW)
def broadcast(column, row):
    column, row = tw.broadcast(column, row)
    return column * row


@example("np.broadcast_to(column, (4, 8))", column=COLUMN)
def broadcast_to(column):
    return tw.broadcast_to(column, 4, 8)


@example("(8 * x).astype(np.int32)")
def cast(x):
    return tw.cast(8 * x, tw.int32)


@example("np.concatenate([x, y])")
def cat(x, y):
    return tw.cat(x, y)


@example("n + 4")
def cdiv(n):
    return n + tw.cdiv(10, 3)


@example("np.clip(x, 0.25, 0.75)")
def clamp(x):
    return tw.clamp(x, 0.25, 0.75)


@example("n + 5 * (5 - n // 10)", n=np.arange(32, dtype=np.int32) // 32)
def condition(n):
    k = tw.num_programs(0) * 0
    while tw.condition(k < 5):
        n += 5
        k += 1
    return n


@example("x")
def debug_barrier(x):
    tw.debug_barrier()
    return x


@example("x")
def device_assert(x):
    tw.device_assert(x < 1, "x is a fraction")
    return x


@example("x")
def device_print(x):
    tw.device_print("done")
    return x


@example("x / y")
def div_rn(x, y):
    return tw.div_rn(x, y)


@example("a @ b", num_warps=4)
def dot(a, b):
    return tw.dot(a, b)


@example("x[:, None]")
def expand_dims(x):
    return tw.expand_dims(x, 1)


@example("x / y")
def fdiv(x, y):
    return tw.fdiv(x, y)


@example("np.full(32, 7)")
def full():
    return tw.full((32,), 7, tw.int32)


@example("x[n]", n=np.arange(32, dtype=np.int32) * 5 % 32)
def gather(x, n):
    return tw.gather(x, n, 0)


@example("n * 2", devices=("sim:sm_80",))
def inline_asm_elementwise(n):
    return tw.inline_asm_elementwise("shl.b32 $0, $1, 1;", "=r,r", [n], tw.int32, True, 1)


@example("np.stack([x, y], axis=-1)")
def join(x, y):
    return tw.join(x, y)


@example("n // 4")
def max_constancy(n):
    return tw.max_constancy(n // 4, 4)


@example("n + 4")
def max_contiguous(n):
    return tw.max_contiguous(n + 4, 32)


@example("np.maximum(x, y)")
def maximum(x, y):
    return tw.maximum(x, y)


@example("np.minimum(x, y)")
def minimum(x, y):
    return tw.minimum(x, y)


@example("x * y")
def mul(x, y):
    return tw.mul(x, y)


@example("n * 16")
def multiple_of(n):
    return tw.multiple_of(n * 16, 16)


@example("n + 1")
def num_programs(n):
    return n + tw.num_programs(0)


@example("rows.T")
def permute(rows):
    return tw.permute(rows, 1, 0)


@example("n")
def program_id(n):
    return n + tw.program_id(0)


@example("x + 6 * 3")
def range(x):
    last = tw.num_programs(0) * 4
    for i in tw.range(0, last, num_stages=1):
        x += 3.0 * i
    return x


@example("rows.sum(axis=1)", uses=(plus,))
def reduce(rows):
    return tw.reduce(rows, 1, plus)


@example("x.reshape(8, 4)")
def reshape(x):
    return tw.reshape(x, 8, 4)


@example("x[::2] - x[1::2]")
def split(x):
    even, odd = tw.split(tw.reshape(x, 16, 2))
    return even - odd


@example("x")
def static_assert(x):
    tw.static_assert(x.dtype == tw.float32, "x is float32")
    return x


@example("x")
def static_print(x):
    tw.static_print(x.shape)
    return x


@example("x + 6")
def static_range(x):
    for i in tw.static_range(4):
        x += i
    return x


@example("x - y")
def sub(x, y):
    return tw.sub(x, y)


@example("np.float32(7)")
def to_tensor():
    return tw.to_tensor(7.0)


@example("rows.T")
def trans(rows):
    return tw.trans(rows)


@example("(u.astype(np.uint64) * u >> np.uint64(32)).astype(np.int64).astype(np.int32)")
def umulhi(u):
    return tw.umulhi(u, u).to(tw.int32, bitcast=True)


@example("x.reshape(8, 4)")
def view(x):
    return tw.view(x, 8, 4)


@example("np.where(x < 0.5, x, y)")
def where(x, y):
    return tw.where(x < 0.5, x, y)
