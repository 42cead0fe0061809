"""A tree of frames with metrics, and the JSON of Hatchet in which it is written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

COUNT, TIME = "count", "time (ns)"
_ONLY_HERE = "(exc)"  # at the end of a metric's name: it is not summed over what is below


@dataclass
class Frame:
    """A scope or a kernel: `metrics` are its own, without those below it."""

    name: str
    metrics: dict[str, Any] = field(default_factory=dict[str, Any])
    below: dict[str, Frame] = field(default_factory=dict[str, "Frame"])

    def at(self, path: Iterable[str]) -> Frame:
        """The frame that some names lead to, made where it is missing."""
        frame = self
        for name in path:
            frame = frame.below.setdefault(name, Frame(name))
        return frame

    def add(self, metrics: Mapping[str, Any]) -> None:
        """Add numbers to those of the same names."""
        for name, value in metrics.items():
            number = number_of(name, value)
            old = self.metrics.get(name)
            if isinstance(old, list) and isinstance(number, list) and len(old) == len(number):
                self.metrics[name] = [a + b for a, b in zip(old, number)]
            elif old is None or isinstance(old, list) or isinstance(number, list):
                self.metrics[name] = number
            else:
                self.metrics[name] = old + number

    def written(self) -> dict[str, Any]:
        """The frame and all below it as Hatchet's literal."""
        return {
            "frame": {"name": self.name, "type": "function"},
            "metrics": {name.removesuffix(_ONLY_HERE).rstrip(): v for name, v in self.metrics.items()},
            "children": [frame.written() for frame in self.below.values()],
        }

    def summed_names(self) -> set[str]:
        """The metrics here and below that are sums over what is below."""
        own = {
            name
            for name, value in self.metrics.items()
            if not name.endswith(_ONLY_HERE) and isinstance(value, (int, float))
        }
        return own.union(*(frame.summed_names() for frame in self.below.values()))


def number_of(name: str, value: Any) -> Any:
    """A metric as JSON has it: a number, or a list of numbers. Raises ValueError for anything else."""
    if hasattr(value, "tolist"):  # an array, or a number of NumPy's or torch's
        value = value.tolist()
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    if isinstance(value, (list, tuple)):
        return [number_of(name, part) for part in value]  # pyright: ignore[reportUnknownVariableType]
    raise ValueError(f"the metric {name!r} is {value!r}, which is not a number")


def written_tree(root: Frame, devices: Mapping[str, Any]) -> list[Any]:
    """The file's two parts: the tree, whose root names with zeros the metrics that are sums, and what is
    known of the devices."""
    literal = root.written()
    sums = dict.fromkeys(sorted({COUNT, TIME} | root.summed_names()), 0)
    literal["metrics"] = {**sums, **literal["metrics"]}
    return [literal, dict(devices)]
