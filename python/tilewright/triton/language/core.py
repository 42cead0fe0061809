"""The names of `triton.language.core`."""

from __future__ import annotations

from tilewright import language
from tilewright.language import *  # noqa: F403 (the same names)
from tilewright.language import aggregate as _aggregate
from tilewright.language import constexpr

from ..absent import names_of
from .limits import TRITON_MAX_TENSOR_NUMEL as TRITON_MAX_TENSOR_NUMEL
from .limits import must_use_result as must_use_result

CONSTEXPR_0 = constexpr(0)

__path__: list[str] = []
__getattr__ = names_of(__name__)

__all__ = ["_aggregate"]
__all__ += language.__all__
