"""Examples of tutorials/site/reference/language/memory.md."""

import numpy as np
import tilewright as tw
from cases import ARRAYS, example

ZEROS = np.zeros(32, np.int32)
ONES = np.ones(32, np.int32)


@example("np.full(32, n.sum())", out=ZEROS)
def atomic_add(out, n):
    i = tw.arange(0, 32)
    value = tw.load(n + i)
    tw.atomic_add(out + i, value)
    tw.store(out + i, tw.sum(value))


@example("ones & (n + 1)", out=ONES, ones=ONES)
def atomic_and(out, ones, n):
    i = tw.arange(0, 32)
    value = tw.load(n + i) + 1
    tw.atomic_and(out + i, value)


@example("np.where(n == 0, 7, n)", out=ARRAYS["n"])
def atomic_cas(out, n):
    i = tw.arange(0, 32)
    tw.atomic_cas(out + i, 0, 7)


@example("n + 1", out=ZEROS)
def atomic_load(out, n):
    i = tw.arange(0, 32)
    value = tw.atomic_load(n + i)
    tw.store(out + i, value + 1)


@example("np.maximum(n, 16)", out=ARRAYS["n"])
def atomic_max(out, n):
    i = tw.arange(0, 32)
    tw.atomic_max(out + i, 16)


@example("np.minimum(n, 16)", out=ARRAYS["n"])
def atomic_min(out, n):
    i = tw.arange(0, 32)
    tw.atomic_min(out + i, 16)


@example("n | 1", out=ARRAYS["n"])
def atomic_or(out, n):
    i = tw.arange(0, 32)
    tw.atomic_or(out + i, 1)


@example("ones", out=ZEROS, ones=ONES)
def atomic_poll(out, ones):
    done = tw.atomic_poll(ones, 1)
    tw.store(out + tw.arange(0, 32), done)


@example("n + 1", out=ZEROS)
def atomic_store(out, n):
    i = tw.arange(0, 32)
    value = tw.load(n + i) + 1
    tw.atomic_store(out + i, value)


@example("n", out=ZEROS)
def atomic_xchg(out, n):
    i = tw.arange(0, 32)
    value = tw.load(n + i)
    tw.atomic_xchg(out + i, value)


@example("n ^ 1", out=ARRAYS["n"])
def atomic_xor(out, n):
    i = tw.arange(0, 32)
    tw.atomic_xor(out + i, 1)


@example("np.where(n < 20, x, -1)")
def load(out, x, n):
    i = tw.arange(0, 32)
    value = tw.load(x + i, mask=i < 20, other=-1.0)
    tw.store(out + i, value)


@example("np.where(n < 20, x, 0)")
def store(out, x, n):
    i = tw.arange(0, 32)
    value = tw.load(x + i)
    tw.store(out + i, value, mask=i < 20)
