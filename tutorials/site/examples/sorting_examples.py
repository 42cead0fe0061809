"""Examples of tutorials/site/reference/language/sorting.md."""

import numpy as np
import tilewright as tw
from cases import example

UP_AND_DOWN = np.array([*range(0, 32, 2), *range(31, 0, -2)], np.int32)


@example("np.sort(n)", n=UP_AND_DOWN)
def bitonic_merge(n):
    return tw.bitonic_merge(n)


@example("np.sort(m)")
def sort(m):
    return tw.sort(m)


@example("np.sort(m)[::-1][:4]")
def topk(m):
    return tw.topk(m, 4)
