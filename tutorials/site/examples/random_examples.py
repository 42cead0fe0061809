"""Examples of tutorials/site/reference/language/random.md."""

import numpy as np
import tilewright as tw
from cases import example

IN_UNIT = "(0 <= result) & (result < 1) & (abs(result.mean() - 0.5) < 0.1)"
NORMAL = "(abs(result.mean()) < 0.3) & (abs(result.std() - 1) < 0.2)"
FLOATS, WORDS = np.zeros(256, np.float32), np.zeros(256, np.uint32)
UNIFORM = np.random.default_rng(0).random(32, np.float32)


@example("np.sqrt(-2 * np.log(u)) * np.sin(2 * np.pi * v)", u=UNIFORM, v=UNIFORM[::-1].copy())
def pair_uniform_to_normal(u, v):
    _, second = tw.pair_uniform_to_normal(u, v)
    return second


@example("(result[0] == 0x6627E8D5) & (len(np.unique(result)) == 32)", u=np.arange(32, dtype=np.uint32))
def philox(u):
    first, _, _, _ = tw.philox(0, u, 0, 0, 0)
    return first


@example("result == 0x408F276D", u=np.full(32, 0xFFFFFFFF, np.uint32))
def philox_impl(u):
    first, _, _, _ = tw.philox_impl(u, u, u, u, u, u)
    return first


@example(IN_UNIT, out=FLOATS, num_warps=8)
def rand(out):
    i = tw.arange(0, 256)
    number = tw.rand(7, i)
    tw.store(out + i, number)


@example(IN_UNIT, out=FLOATS, num_warps=2)
def rand4x(out):
    i = tw.arange(0, 64)
    a, b, c, d = tw.rand4x(7, i)
    tw.store(out + tw.arange(0, 256), tw.cat(tw.cat(a, b), tw.cat(c, d)))


@example("abs((result / 2.0**32).mean() - 0.5) < 0.1", out=WORDS, num_warps=8)
def randint(out):
    i = tw.arange(0, 256)
    number = tw.randint(7, i)
    tw.store(out + i, number)


@example("len(np.unique(result)) == 256", out=WORDS, num_warps=2)
def randint4x(out):
    i = tw.arange(0, 64)
    a, b, c, d = tw.randint4x(7, i)
    tw.store(out + tw.arange(0, 256), tw.cat(tw.cat(a, b), tw.cat(c, d)))


@example(NORMAL, out=FLOATS, num_warps=8)
def randn(out):
    i = tw.arange(0, 256)
    number = tw.randn(7, i)
    tw.store(out + i, number)


@example(NORMAL, out=FLOATS, num_warps=2)
def randn4x(out):
    i = tw.arange(0, 64)
    a, b, c, d = tw.randn4x(7, i)
    tw.store(out + tw.arange(0, 256), tw.cat(tw.cat(a, b), tw.cat(c, d)))


@example("np.abs(u.view(np.int32).astype(np.float64)) * 2.0**-31")
def uint_to_uniform_float(u):
    return tw.uint_to_uniform_float(u)
