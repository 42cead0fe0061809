"""Every name of `tw.libdevice`, from the files of their subjects and from the language."""

# pyright: reportUnsupportedDunderAll=false
from __future__ import annotations

from ..language import elementwise
from ..language.elementwise import *  # noqa: F403
from ..language.elementwise import abs, cos, fma, log2, log10, rint, sin, tan, tanh
from ..language.elementwise import pow as _pow
from ..language.marks import builtin_alias
from ..library.math import fast_dividef, fast_expf, fast_logf, finitef, isinf, isnan
from ..language.tile import div_rn, maximum, minimum, umulhi
from . import conversions, directed, floats, functions, integers
from .conversions import *  # noqa: F403
from .directed import *  # noqa: F403
from .floats import *  # noqa: F403
from .functions import *  # noqa: F403
from .integers import *  # noqa: F403
from .rounding import add_rn, mul_rn, sub_rn

fast_log2f = builtin_alias("fast_log2f", log2)
fast_log10f = builtin_alias("fast_log10f", log10)
fast_sinf = builtin_alias("fast_sinf", sin)
fast_cosf = builtin_alias("fast_cosf", cos)
fast_tanf = builtin_alias("fast_tanf", tan)
fast_tanhf = builtin_alias("fast_tanhf", tanh)
fast_powf = builtin_alias("fast_powf", _pow)
fabs = builtin_alias("fabs", abs)
nearbyint = builtin_alias("nearbyint", rint)
fma_rn = builtin_alias("fma_rn", fma)
fmax = builtin_alias("fmax", maximum)
fmin = builtin_alias("fmin", minimum)
isfinited = finitef

__all__ = [
    "add_rn", "div_rn", "fabs", "fast_cosf", "fast_dividef", "fast_expf", "fast_log10f",
    "fast_log2f", "fast_logf", "fast_powf", "fast_sinf", "fast_tanf", "fast_tanhf", "finitef",
    "fma_rn", "fmax", "fmin", "isfinited", "isinf", "isnan", "mul_rn", "nearbyint", "sub_rn",
    "umulhi",
]  # fmt: skip
for _module in (floats, functions, integers, conversions, directed, elementwise):
    __all__ += [name for name in _module.__all__ if name not in __all__]
