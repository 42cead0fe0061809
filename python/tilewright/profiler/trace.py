"""Single launches in the JSON of Chrome's trace viewer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple


class Launch(NamedTuple):
    """One launch: where it ran, under which scopes, when and for how long in nanoseconds."""

    path: tuple[str, ...]
    name: str
    device: str
    start: int
    duration: int


def written_trace(launches: Iterable[Launch]) -> dict[str, Any]:
    """A complete event for each launch, in microseconds, on a line for each device."""
    events = [
        {
            "name": launch.name, "cat": "kernel", "ph": "X", "pid": 0, "tid": launch.device,
            "ts": launch.start / 1000, "dur": launch.duration / 1000,
            "args": {"call_stack": ["ROOT", *launch.path, launch.name]},
        }
        for launch in launches
    ]  # fmt: skip
    return {"displayTimeUnit": "us", "traceEvents": events}
