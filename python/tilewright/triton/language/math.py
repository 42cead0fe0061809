"""The names of `triton.language.math`."""

from __future__ import annotations

from tilewright.library.math import *  # noqa: F403 (the same names)

from ..absent import names_of

__path__: list[str] = []
__getattr__ = names_of(__name__)
