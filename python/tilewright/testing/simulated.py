"""Runs some programs of launches on simulated devices, and reads what these report."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..launch.devices import device
from ..launch.simulated import chosen_options
from ..native import native

# The most steps of a warp, a program (a CTA) and a launch.
MAX_STEPS = 5_000_000, 100_000_000, 20_000_000_000

# The orders in which warps advance, and when asynchronous copies arrive: the usual ones first.
SCHEDULES = ("round-robin", "greedy", "reverse", "random")
COMPLETIONS = ("late", "early", "random")


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
