"""Kernels of the operations that operations.py times, one program a row or a block of elements."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

import tilewright as tw
from tilewright.language import libdevice

BLOCK = 8192
# How a function of one float is written in a kernel; the others are libdevice's of this name.
ELEMENTWISE = {
    "neg": "-v", "abs": "tw.abs(v)", "relu": "tw.maximum(v, 0.0)", "sqrt": "tw.sqrt(v)",
    "rsqrt": "tw.rsqrt(v)", "exp": "tw.exp(v)", "exp2": "tw.exp2(v)", "log": "tw.log(v)",
    "log2": "tw.log2(v)", "sin": "tw.sin(v)", "cos": "tw.cos(v)", "tanh": "tw.tanh(v)",
    "erf": "tw.erf(v)", "sigmoid": "tw.sigmoid(v)", "floor": "tw.floor(v)", "ceil": "tw.ceil(v)",
    "reciprocal": "1.0 / v", "square": "v * v",
}  # fmt: skip


def elementwise(name: str) -> Any:
    """A kernel out[i] = f(x[i]) of BLOCK elements a program."""
    expression = ELEMENTWISE.get(name, f"libdevice.{name}(v)")
    text = f"""
def {name}_kernel(x, out, n, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    v = tw.load(x + i, mask=i < n)
    tw.store(out + i, {expression}, mask=i < n)
"""
    # Where the compiler and its reports find the text of the kernel.
    path = f"<elementwise {name}>"
    linecache.cache[path] = (len(text), None, text.splitlines(True), path)
    scope: dict[str, Any] = {"tw": tw, "libdevice": libdevice}
    exec(compile(text, path, "exec"), scope)
    function: Callable[..., None] = scope[f"{name}_kernel"]
    return tw.jit(function)


@tw.jit
def cumsum(x, out, COLUMNS: tw.constexpr):
    i = tw.program_id(0) * COLUMNS + tw.arange(0, COLUMNS)
    tw.store(out + i, tw.cumsum(tw.load(x + i), 0))


@tw.jit
def cumsum_down(x, out, ROWS: tw.constexpr, COLUMNS: tw.constexpr, BLOCK: tw.constexpr):
    rows = tw.arange(0, BLOCK)[:, None]
    columns = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)[None, :]
    above = tw.zeros((BLOCK,), tw.float32)
    for first in range(0, ROWS, BLOCK):
        offsets = (first + rows) * COLUMNS + columns
        v = tw.load(x + offsets)
        tw.store(out + offsets, tw.cumsum(v, 0) + above[None, :])
        above += tw.sum(v, 0)


@tw.jit
def sort(x, out, COLUMNS: tw.constexpr):
    i = tw.program_id(0) * COLUMNS + tw.arange(0, COLUMNS)
    tw.store(out + i, tw.sort(tw.load(x + i)))


@tw.jit
def topk(x, out, COLUMNS: tw.constexpr, K: tw.constexpr):
    row = tw.program_id(0)
    best = tw.topk(tw.load(x + row * COLUMNS + tw.arange(0, COLUMNS)), K)
    tw.store(out + row * K + tw.arange(0, K), best)


@tw.jit
def histogram(x, out, BINS: tw.constexpr, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    tw.atomic_add(out + tw.arange(0, BINS), tw.histogram(tw.load(x + i), BINS))


@tw.jit
def take(x, index, out, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    tw.store(out + i, tw.load(x + tw.load(index + i)))


@tw.jit
def embedding(table, index, out, COLUMNS: tw.constexpr):
    row, d = tw.program_id(0), tw.arange(0, COLUMNS)
    tw.store(out + row * COLUMNS + d, tw.load(table + tw.load(index + row) * COLUMNS + d))


@tw.jit
def index_add(table, index, x, COLUMNS: tw.constexpr):
    row, d = tw.program_id(0), tw.arange(0, COLUMNS)
    values = tw.load(x + row * COLUMNS + d)
    tw.atomic_add(table + tw.load(index + row) * COLUMNS + d, values)


@tw.jit
def softmax(x, out, COLUMNS: tw.constexpr):
    i = tw.program_id(0) * COLUMNS + tw.arange(0, COLUMNS)
    v = tw.load(x + i).to(tw.float32)
    v = tw.exp(v - tw.max(v, 0))
    tw.store(out + i, v / tw.sum(v, 0))


@tw.jit
def softmax_backward(y, gradient, out, COLUMNS: tw.constexpr):
    i = tw.program_id(0) * COLUMNS + tw.arange(0, COLUMNS)
    v, d = tw.load(y + i), tw.load(gradient + i)
    tw.store(out + i, v * (d - tw.sum(v * d, 0)))


@tw.jit
def rms_norm(x, weight, out, COLUMNS: tw.constexpr):
    d = tw.arange(0, COLUMNS)
    v = tw.load(x + tw.program_id(0) * COLUMNS + d)
    scale = tw.rsqrt(tw.sum(v * v, 0) / COLUMNS + 1e-5)
    tw.store(out + tw.program_id(0) * COLUMNS + d, v * scale * tw.load(weight + d))


@tw.jit
def cross_entropy(x, target, out, COLUMNS: tw.constexpr):
    row = tw.program_id(0)
    v = tw.load(x + row * COLUMNS + tw.arange(0, COLUMNS))
    largest = tw.max(v, 0)
    total = tw.log(tw.sum(tw.exp(v - largest), 0)) + largest
    tw.store(out + row, total - tw.load(x + row * COLUMNS + tw.load(target + row)))


@tw.jit
def rotary(x, cos, sin, out, LENGTH, HEADS: tw.constexpr, HALF: tw.constexpr):
    token = tw.program_id(0)
    d = tw.arange(0, HALF)[None, :]
    first = token * HEADS * 2 * HALF + tw.arange(0, HEADS)[:, None] * 2 * HALF + d
    a, b = tw.load(x + first), tw.load(x + first + HALF)
    c = tw.load(cos + token % LENGTH * HALF + d)
    s = tw.load(sin + token % LENGTH * HALF + d)
    tw.store(out + first, a * c - b * s)
    tw.store(out + first + HALF, b * c + a * s)


@tw.jit
def swiglu(gate, x, out, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    v = tw.load(gate + i)
    tw.store(out + i, v * tw.sigmoid(v) * tw.load(x + i))


@tw.jit
def dropout(x, out, seed, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    tw.store(out + i, tw.where(tw.rand(seed, i) > 0.5, tw.load(x + i) * 2.0, 0.0))


@tw.jit
def transpose(x, out, ROWS: tw.constexpr, COLUMNS: tw.constexpr, BLOCK: tw.constexpr):
    row = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)[:, None]
    column = tw.program_id(1) * BLOCK + tw.arange(0, BLOCK)[None, :]
    tw.store(out + column * ROWS + row, tw.load(x + row * COLUMNS + column))


@tw.jit
def argmax(x, out, COLUMNS: tw.constexpr):
    row = tw.program_id(0)
    tw.store(out + row, tw.argmax(tw.load(x + row * COLUMNS + tw.arange(0, COLUMNS)), 0))


@tw.jit
def sum_rows(x, out, COLUMNS: tw.constexpr):
    row = tw.program_id(0)
    tw.store(out + row, tw.sum(tw.load(x + row * COLUMNS + tw.arange(0, COLUMNS)), 0))


@tw.jit
def sum_columns(x, out, ROWS: tw.constexpr, COLUMNS: tw.constexpr, BLOCK: tw.constexpr):
    columns = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    total = tw.zeros((BLOCK,), tw.float32)
    for first in range(0, ROWS, BLOCK):
        rows = first + tw.arange(0, BLOCK)[:, None]
        total += tw.sum(tw.load(x + rows * COLUMNS + columns[None, :]), 0)
    tw.store(out + columns, total)


@tw.jit
def quantize(x, out, scale, COLUMNS: tw.constexpr):
    row = tw.program_id(0)
    i = row * COLUMNS + tw.arange(0, COLUMNS)
    v = tw.load(x + i)
    step = tw.max(tw.abs(v), 0) / 127.0
    tw.store(scale + row, step)
    tw.store(out + i, (v / step).to(tw.int8))


@tw.jit
def convert(x, out, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    tw.store(out + i, tw.load(x + i).to(out.dtype.element_ty))


@tw.jit
def stencil(x, out, SIZE: tw.constexpr):
    column = tw.arange(0, SIZE)
    i = (tw.program_id(0) + 1) * SIZE + column
    inside = (column > 0) & (column < SIZE - 1)
    near = tw.load(x + i - 1, mask=inside) + tw.load(x + i + 1, mask=inside)
    near += tw.load(x + i - SIZE, mask=inside) + tw.load(x + i + SIZE, mask=inside)
    tw.store(out + i, near - 4.0 * tw.load(x + i, mask=inside), mask=inside)


@tw.jit
def empty():
    pass


@tw.jit
def many(a, b, c, d, e, f, g, h, i, out, n0, n1, n2, n3, n4, n5, n6, n7, n8):
    total = tw.load(a) + tw.load(b) + tw.load(c) + tw.load(d) + tw.load(e) + tw.load(f)
    total += tw.load(g) + tw.load(h) + tw.load(i)
    tw.store(out, total + n0 + n1 + n2 + n3 + n4 + n5 + n6 + n7 + n8)
