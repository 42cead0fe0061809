"""The namespace `tw.math`: the elementwise functions, and the arithmetic ones beside operators."""

from __future__ import annotations

from . import elementwise
from .elementwise import *  # noqa: F403
from .libdevice import fast_dividef, fast_expf, fast_logf, finitef, isinf, isnan
from .tile import cdiv, clamp, div_rn, fdiv, maximum, minimum, umulhi

__all__ = [
    "cdiv", "clamp", "div_rn", "fast_dividef", "fast_expf", "fast_logf", "fdiv", "finitef", "isinf",
    "isnan", "maximum", "minimum", "umulhi",
]  # fmt: skip
__all__ += elementwise.__all__
