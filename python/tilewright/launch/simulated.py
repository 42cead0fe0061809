"""Which options launches on simulated devices have here, and which of these devices launched last."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any

# By device the native module's SimulationOptions.
chosen_options: ContextVar[Mapping[str, Any]] = ContextVar(
    "tilewright_simulation", default=MappingProxyType({})
)
_last = ""


def begin_launch(device: str) -> Any:
    """The options of a launch on a simulated device that begins now; None: as is usual."""
    global _last
    _last = device
    return chosen_options.get().get(device)


def last_device() -> str:
    """The simulated device of the last launch of the process; empty before the first one."""
    return _last
