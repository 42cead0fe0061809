"""Which options launches on simulated devices and on `reference` have here, and which simulated device
launched last."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any

from ..native.targets import Device

# By device the native module's SimulationOptions.
chosen_options: ContextVar[Mapping[str, Any]] = ContextVar(
    "tilewright_simulation", default=MappingProxyType({})
)
_last = ""


def options_of_launch(name: str, kind: Device) -> Any:
    """The options of a launch on a device that begins now; None: as is usual."""
    global _last
    if kind.checks != "always":
        return None
    if kind.is_simulated:
        _last = name
    return chosen_options.get().get(name)


def last_device() -> str:
    """The simulated device of the last launch of the process; empty before the first one."""
    return _last
