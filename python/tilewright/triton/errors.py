"""The names of `triton.errors`."""

from __future__ import annotations

from tilewright import TilewrightError

from .absent import names_of

TritonError = TilewrightError

__path__: list[str] = []
__getattr__ = names_of(__name__)
