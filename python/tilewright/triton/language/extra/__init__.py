"""The names of `triton.language.extra`: the device math library, and what belongs to one kind of GPU."""

from __future__ import annotations

from ...absent import names_of
from . import cuda as cuda
from . import libdevice as libdevice

__getattr__ = names_of(__name__)
