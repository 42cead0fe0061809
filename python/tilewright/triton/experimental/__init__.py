"""The package `triton.experimental`, whose languages are not here."""

from __future__ import annotations

from ..absent import names_of

__getattr__ = names_of(__name__)
