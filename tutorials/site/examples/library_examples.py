"""Examples of tutorials/site/reference/language/library.md."""

import numpy as np
import tilewright as tw
from cases import example


@example("rows.argmax(axis=1)")
def argmax(rows):
    return tw.argmax(rows, axis=1)


@example("rows.argmin(axis=1)")
def argmin(rows):
    return tw.argmin(rows, axis=1)


@example("np.cumprod(x + 1)")
def cumprod(x):
    return tw.cumprod(x + 1)


@example("np.cumsum(x)")
def cumsum(x):
    return tw.cumsum(x)


@example("np.where(n < 8, x, 0)")
def expect_zero(x, n):
    inside = n < 8
    x = tw.where(inside, x, 0.0)
    return tw.expect_zero(x, inside)


@example("np.flip(rows, axis=1)")
def flip(rows):
    return tw.flip(rows, 1)


@example("np.bincount(n % 5, minlength=8)")
def histogram(n):
    return tw.histogram(n % 5, 8)


@example("np.stack([x, y], axis=-1).ravel()")
def interleave(x, y):
    return tw.interleave(x, y)


@example("one[0]", one=np.full(1, 3, np.float32))
def item(one):
    return tw.item(one)


@example("rows.max(axis=1)")
def max(rows):
    return tw.max(rows, axis=1)


@example("rows.min(axis=1)")
def min(rows):
    return tw.min(rows, axis=1)


# Of 32 programs on 8 dies, each die runs 4 neighbours.
@example("n % 8 * 4 + n // 8")
def program_by_die(n):
    return tw.program_by_die(n, 32)


@example("rows.ravel()")
def ravel(rows):
    return tw.ravel(rows)


@example("np.bitwise_or.reduce(n)")
def reduce_or(n):
    return tw.reduce_or(n)


@example("1 / (1 + np.exp(-x))")
def sigmoid(x):
    return tw.sigmoid(x)


@example("np.exp(x) / np.exp(x).sum()")
def softmax(x):
    return tw.softmax(x)


@example("column[:, 0]", column=np.arange(32, dtype=np.float32).reshape(32, 1))
def squeeze(column):
    return tw.squeeze(column, 1)


@example("rows.sum(axis=1)")
def sum(rows):
    return tw.sum(rows, axis=1)


# The n-th of a grid of 4 x 8, in groups of 2 rows.
@example("n // 16 * 2 + n % 2 + 10 * (n % 16 // 2)")
def swizzle2d(n):
    i, j = tw.swizzle2d(n // 8, n % 8, 4, 8, 2)
    return i + 10 * j


@example("x[None, :]")
def unsqueeze(x):
    return tw.unsqueeze(x, 0)


@example("np.bitwise_xor.reduce(n * n)")
def xor_sum(n):
    return tw.xor_sum(n * n)


@example("np.zeros(32)")
def zeros():
    return tw.zeros((32,), tw.float32)


@example("np.zeros(32)")
def zeros_like(x):
    return tw.zeros_like(x)
