"""Which options launches on simulated devices and on `reference` have here, and which simulated device
launched last."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any

from ..native import native
from ..native.targets import Device
from .devices import device

# The most steps of a warp, a program (a CTA) and a launch.
MAX_STEPS = 5_000_000, 100_000_000, 20_000_000_000

# The orders in which warps advance, and when asynchronous copies arrive: the usual ones first.
SCHEDULES = ("round-robin", "greedy", "reverse", "random")
COMPLETIONS = ("late", "early", "random")

# By device the native module's SimulationOptions.
chosen_options: ContextVar[Mapping[str, Any]] = ContextVar(
    "tilewright_simulation", default=MappingProxyType({})
)
_last = ""


@contextmanager
def running_programs(
    name: str,
    programs: Sequence[int] = (),
    schedule: str = SCHEDULES[0],
    completion: str = COMPLETIONS[0],
    seed: int = 0,
    timelines: int = 0,
) -> Iterator[None]:
    """Send the launches of a `with` block to a simulated device, and run some programs of each, by their
    linear numbers; all when there are none. `tilewright.simulation.simulate` has the other words, and more."""
    options = native().SimulationOptions(
        schedule, seed, list(programs), completion, "fast", *MAX_STEPS, [], timelines
    )
    token = chosen_options.set({**chosen_options.get(), name: options})
    try:
        with device(name):
            yield
    finally:
        chosen_options.reset(token)


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


def read_report(device: str) -> tuple[list[dict[str, Any]], dict[str, Any]] | None:
    """The findings and the counters of the last launch on a simulated device; None where there was none."""
    parts = read_parts(device)
    if parts is None:
        return None
    statistics = _snake_case(parts["statistics"])
    statistics["lines"] = [_snake_case(line) for line in statistics.get("lines", [])]
    return [_snake_case(finding) for finding in parts["findings"]], statistics


def read_parts(device: str) -> dict[str, Any] | None:
    """The report of the last launch on a simulated device as the native module gives it: findings, statistics,
    and where they were asked for timelines and their instructions. None where there was no launch."""
    text = native().simulation_report(device)
    return json.loads(text) if text else None


def _snake_case(fields: dict[str, Any]) -> dict[str, Any]:
    return {re.sub(r"[A-Z]", lambda m: "_" + m[0].lower(), key): v for key, v in fields.items()}
