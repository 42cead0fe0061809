"""The names of `triton.language`: the language, and where Triton keeps the parts of it."""

from __future__ import annotations

from tilewright.language import *  # noqa: F403 (every name of the language)

from ..absent import names_of
from . import core as core
from . import extra as extra
from . import random as random
from . import standard as standard
from . import target_info as target_info
from .core import CONSTEXPR_0 as CONSTEXPR_0
from .limits import TRITON_MAX_TENSOR_NUMEL as TRITON_MAX_TENSOR_NUMEL
from .standard import _log2 as _log2

_OURS = ("annotations", "names_of")
__all__ = [  # pyright: ignore[reportUnsupportedDunderAll]
    name for name in globals() if not name.startswith("_") and name not in _OURS
]
__getattr__ = names_of(__name__)
