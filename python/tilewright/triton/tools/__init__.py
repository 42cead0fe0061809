"""The names of `triton.tools`."""

from __future__ import annotations

from ..absent import names_of

__getattr__ = names_of(__name__)
