"""The names of `triton.backends`. Devices are not plugins here, so the table of backends is empty:
torch's compiler, which looks for its device in it, then generates C++ for the CPU as ever."""

from __future__ import annotations

from typing import Any

from ..absent import names_of
from . import compiler as compiler

backends: dict[str, Any] = {}

__getattr__ = names_of(__name__)
