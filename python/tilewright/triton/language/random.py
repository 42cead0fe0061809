"""The names of `triton.language.random`."""

from __future__ import annotations

from tilewright.language import constexpr
from tilewright.library.random import *  # noqa: F403 (the same names)

from ..absent import names_of

N_ROUNDS_DEFAULT = constexpr(10)

__path__: list[str] = []
__getattr__ = names_of(__name__)
