"""The names of `triton.profiler.data`: what a session recorded until now."""

from __future__ import annotations

from tilewright.profiler import clear as clear
from tilewright.profiler import records as get

from ..absent import names_of

__all__ = ["clear", "get"]
__path__: list[str] = []
__getattr__ = names_of(__name__)
