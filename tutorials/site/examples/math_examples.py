"""Examples of tutorials/site/reference/language/math.md that are not on the pages of the same functions."""

import numpy as np
import tilewright as tw
from cases import example

SPECIAL = np.resize(np.array([1, np.nan, np.inf, -np.inf], np.float32), 32)


@example("x / y")
def fast_dividef(x, y):
    return tw.math.fast_dividef(x, y)


@example("np.exp(x)")
def fast_expf(x):
    return tw.math.fast_expf(x)


@example("np.log(x)")
def fast_logf(x):
    return tw.math.fast_logf(x)


@example("np.isfinite(x)", x=SPECIAL)
def finitef(x):
    return tw.math.finitef(x)


@example("np.isinf(x)", x=SPECIAL)
def isinf(x):
    return tw.math.isinf(x)


@example("np.isnan(x)", x=SPECIAL)
def isnan(x):
    return tw.math.isnan(x)
