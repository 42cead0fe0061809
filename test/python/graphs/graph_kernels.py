"""Kernels, and functions that launch them, for tests of launches that torch traces."""

from __future__ import annotations

from typing import Any

import tilewright as tw
import torch


@tw.jit
def add_one(o, x, n, B: tw.constexpr):
    i = tw.program_id(0) * B + tw.arange(0, B)
    tw.store(o + i, tw.load(x + i, mask=i < n) + 1, mask=i < n)


@tw.jit
def scale(x, n, a, F: tw.constexpr = None, B: tw.constexpr = tw.bucket("n")):
    i = tw.program_id(0) * B + tw.arange(0, B)
    value = tw.load(x + i, mask=i < n) * a
    if F is not None:
        value = F(value)
    tw.store(x + i, value, mask=i < n)


@tw.jit
def negated(value):
    return -value


@tw.jit
def write_either(first, second, n, B: tw.constexpr):
    i = tw.arange(0, B)
    if n == 1:
        tw.store(first + i, 1.0, mask=i < n)
    else:
        tw.store(second + i, 2.0, mask=i < n)


@tw.jit
def copy_pair(arrays, n, B: tw.constexpr):
    i = tw.arange(0, B)
    tw.store(arrays[1] + i, tw.load(arrays[0] + i, mask=i < n) + 1, mask=i < n)


@tw.jit
def add_one_to_array(o: tw.Tensor, x: tw.Tensor, B: tw.constexpr):
    first = tw.program_id(0) * B
    o.store((first,), x.load((first,), shape=(B,), pad=0) + 1)


@tw.jit
def add_one_to_block(o, x):
    o.store([0], x.load([0]) + 1)


@tw.jit
def copy_columns(o, x, m, n, stride_m, stride_n, B: tw.constexpr):
    i, j = tw.arange(0, B)[:, None], tw.arange(0, B)[None, :]
    mask = (i < m) & (j < n)
    tw.store(o + i * n + j, tw.load(x + i * stride_m + j * stride_n, mask=mask), mask=mask)


@tw.jit
def add_optional(o, x, bias, n, B: tw.constexpr):
    i = tw.arange(0, B)
    value = tw.load(x + i, mask=i < n)
    if bias is not None:
        value += tw.load(bias + i, mask=i < n)
    tw.store(o + i, value, mask=i < n)


tuned = tw.autotune([tw.Config({"B": 64}), tw.Config({"B": 128})], key=["n"])(add_one)
chosen = tw.heuristics({"B": lambda arguments: 64 if arguments["n"] % 64 == 0 else 32})(add_one)


def plus_one(x: Any) -> Any:
    o = torch.empty_like(x)
    add_one[(tw.cdiv(x.numel(), 64),)](o, x, x.numel(), B=64)
    return o
