"""Reads a profile and prints its tree with the metrics that are asked for: `proton-viewer`'s part that
needs no packages."""

from __future__ import annotations

import argparse
import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_PER_SECOND = {"": 1.0, "g": 1e9, "t": 1e12}
_TIME, _CPU_TIME, _COUNT = "time (ns)", "cpu_time (ns)", "count"
_SUM = " (inc)"  # at the end of the name of what is summed over all below
_FORMATS = ("full", "file_function_line", "function_line", "file_function")


@dataclass
class Node:
    """A frame: `own` are the metrics it was recorded with, `values` those and their sums over all below
    it, under their names and " (inc)"."""

    name: str
    own: dict[str, Any]
    children: list[Node] = field(default_factory=list["Node"])
    values: dict[str, float] = field(default_factory=dict[str, float])

    def walk(self) -> Iterator[Node]:
        """The node and all below it, from the top."""
        yield self
        for child in self.children:
            yield from child.walk()


def read(filename: str) -> tuple[Node, list[str], list[str], dict[str, Any]]:
    """The tree of a file, the names of its metrics that are sums and of those that are not, and what it
    says of devices. Raises ValueError for a file without metrics."""
    with open(filename, encoding="utf-8") as file:
        database = json.load(file)
    try:
        root = _node(database[0])
        summed = [name for name, value in database[0]["metrics"].items() if _is_number(value)]
    except (LookupError, TypeError, AttributeError):
        raise ValueError(f"{filename} is not a profile: it has not the form of Hatchet's literals") from None
    every = {name for node in root.walk() for name, value in node.own.items() if _is_number(value)}
    if not every:
        raise ValueError(f"{filename} has no metrics")
    _sum(root, summed)
    return root, summed, sorted(every.difference(summed)), database[1] if len(database) > 1 else {}


def _node(literal: Any) -> Node:
    return Node(literal["frame"]["name"], literal["metrics"], [_node(c) for c in literal["children"]])


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float))


def _sum(node: Node, summed: Sequence[str]) -> None:
    for child in node.children:
        _sum(child, summed)
    node.values = {name: value for name, value in node.own.items() if _is_number(value)}
    for name in summed:
        below = sum(child.values[name + _SUM] for child in node.children)
        node.values[name + _SUM] = node.own.get(name, 0) + below


def _quotient(a: float, b: float) -> float:
    return a / b if b else math.nan


def _value_of(metric: str, root: Node, names: Sequence[str]) -> tuple[str, Callable[[Node], float]]:
    """The name of a column and how it is computed. Raises ValueError for a metric that cannot be."""
    seconds = re.fullmatch(r"(avg_)?(cpu_)?time/(s|ms|us|ns)", metric)
    if seconds:
        time, unit = _CPU_TIME if seconds[2] else _TIME, _SECONDS[seconds[3]]
        time = _known(time, names)
        if seconds[1]:
            return metric + _SUM, lambda n: _quotient(n.values.get(time, math.nan), n.values[_COUNT + _SUM]) * 1e-9 / unit
        return metric + _SUM, lambda n: n.values.get(time, math.nan) * 1e-9 / unit
    rate = re.fullmatch(r"([gt]?)(?:flop(8|16|32|64|)|(byte))/s", metric)
    if rate:
        amount = _known("bytes" if rate[3] else f"flops{rate[2]}", names)
        return metric + _SUM, lambda n: _quotient(
            n.values.get(amount, math.nan), n.values[_TIME + _SUM] * 1e-9 * _PER_SECOND[rate[1]]
        )
    if metric.endswith("/%"):
        name = _known(metric[:-2], names)
        whole = root.values[name] if name.endswith(_SUM) else _total(root, name)
        ending = _SUM if name.endswith(_SUM) else ""
        return metric + ending, lambda n: 100 * _quotient(n.values.get(name, math.nan), whole)
    if metric == "util" or "/" in metric:
        raise ValueError(f"the metric {metric!r} cannot be computed from what is recorded")
    name = _known(metric, names)
    return name, lambda n: n.values.get(name, math.nan)


def _total(root: Node, name: str) -> float:
    return sum(node.values.get(name, 0) for node in root.walk())


def _known(metric: str, names: Sequence[str]) -> str:
    """The name in the file, with or without its unit. Raises ValueError for one that is not there."""
    plain = metric.partition("(")[0].strip().lower()
    for name in names:
        if name.removesuffix(_SUM).partition("(")[0].strip().lower() == plain:
            return name
    have = sorted({name.removesuffix(_SUM) for name in names})
    raise ValueError(f"the metric {metric!r} was not recorded; there are {', '.join(have)}")


def parse(
    metrics: Sequence[str],
    filename: str,
    include: str | None = None,
    exclude: str | None = None,
    threshold: float | None = None,
) -> tuple[Node, list[str]]:
    """The tree of a file with the metrics computed, and the names of their columns.

    `include` and `exclude` are regular expressions of names: what leads to and lies below the first is
    kept, the second dropped; `threshold` drops what is below it in the first metric.
    """
    root, summed, others, _ = read(filename)
    names = [*(name + _SUM for name in summed), *others]
    columns = [_value_of(metric, root, names) for metric in metrics]
    for node in root.walk():
        node.values.update({name: value(node) for name, value in columns})
    if include:
        _keep(root, lambda node: re.search(include, node.name) is not None)
    if exclude:
        _drop(root, lambda node: re.search(exclude, node.name) is not None)
    if threshold is not None and columns:
        first = columns[0][0]
        _drop(root, lambda node: not node.values[first] >= threshold)
    return root, [name for name, _ in columns]


def _keep(node: Node, is_meant: Callable[[Node], bool]) -> bool:
    if is_meant(node):
        return True
    node.children = [child for child in node.children if _keep(child, is_meant)]
    return bool(node.children)


def _drop(node: Node, is_meant: Callable[[Node], bool]) -> None:
    node.children = [child for child in node.children if not is_meant(child)]
    for child in node.children:
        _drop(child, is_meant)


def _shown_name(name: str, format: str | None) -> str:
    """A function's name of a profile with `context="python"`, shortened; other names as they are."""
    place, _, line = name.rpartition("@")
    file, _, function = place.rpartition(":")
    if not file or format in (None, "full"):
        return name
    parts = {
        "file_function_line": f"{file.rpartition('/')[2]}:{function}@{line}",
        "function_line": f"{function}@{line}",
        "file_function": f"{file.rpartition('/')[2]}@{function}",
    }
    return parts.get(format or "", name)


def print_tree(
    tree: Node,
    metrics: Sequence[str],
    depth: int = 100,
    format: str | None = None,
    print_sorted: bool = False,
) -> None:
    """Print a line for each frame down to a depth: its metrics and its name; with `print_sorted` also
    all frames by the first metric."""
    for text in _lines(tree, metrics, depth, format, "", ""):
        print(text)
    if print_sorted:
        print(f"sorted by {metrics[0]}")
        rest = [node for node in tree.walk() if node is not tree and node.values[metrics[0]] == node.values[metrics[0]]]
        for node in sorted(rest, key=lambda node: -node.values[metrics[0]]):
            print(f"{_shown_name(node.name, format):100} {node.values[metrics[0]]:.4g}")


def _lines(
    node: Node, metrics: Sequence[str], depth: int, format: str | None, own: str, below: str
) -> Iterator[str]:
    values = " ".join(f"{node.values[name]:.3f}" for name in metrics)
    yield f"{own}{values} {_shown_name(node.name, format)}"
    if depth <= 0:
        return
    for index, child in enumerate(node.children):
        is_last = index == len(node.children) - 1
        corner, line = ("`- ", "   ") if is_last else ("|- ", "|  ")
        yield from _lines(child, metrics, depth - 1, format, below + corner, below + line)


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Prints a profile that triton.profiler wrote.")
    parser.add_argument("-l", "--list", action="store_true", help="the metrics of the file")
    parser.add_argument("-m", "--metrics", help="time/ms,avg_time/us,tflop16/s,gbyte/s,time/%%,count,...")
    parser.add_argument("-i", "--include", help="keep what matches a regular expression")
    parser.add_argument("-e", "--exclude", help="drop what matches a regular expression")
    parser.add_argument("-t", "--threshold", type=float, help="drop what is less in the first metric")
    parser.add_argument("-d", "--depth", type=int, default=100)
    parser.add_argument("-f", "--format", choices=_FORMATS, default="full")
    parser.add_argument("--print-sorted", action="store_true")
    parser.add_argument("file")
    return parser


def main() -> None:
    """The command: the metrics of a file, or its tree."""
    options = _options().parse_args()
    try:
        if options.list or not options.metrics:
            _, summed, others, _ = read(options.file)
            print("summed:", *summed, "\nnot summed:", *others)
            return
        chosen = options.include, options.exclude, options.threshold
        tree, columns = parse(options.metrics.split(","), options.file, *chosen)
    except (OSError, ValueError) as error:
        raise SystemExit(f"error: {error}") from None
    print_tree(tree, columns, options.depth, options.format, options.print_sorted)


if __name__ == "__main__":
    main()
