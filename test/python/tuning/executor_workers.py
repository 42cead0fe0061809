"""What workers of executors do in tests before their first task."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from tilewright.native import packed

_compile = packed.compile_packed


def crash_at_48(request: Mapping[str, Any]) -> dict[str, Any]:
    """Compile, but end the process where a constant is 48."""
    if '"v":"48"' in repr(request["specialization"]):
        os._exit(3)
    return _compile(request)


def become_faulty() -> None:
    """Have this process crash for one candidate."""
    packed.compile_packed = crash_at_48
    crash_at_48.__module__, crash_at_48.__qualname__ = packed.__name__, "compile_packed"
