"""One HTML page for the tables of a report, with a chart for each; it needs no other file and no package."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .reports import Benchmark, Table

_WIDTH, _HEIGHT, _MARGIN = 640, 320, 56
_COLORS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf", "#8c564b", "#7f7f7f")
_STYLE = (
    "body{font:15px sans-serif;margin:2em}table{border-collapse:collapse}"
    "td,th{padding:2px 10px;text-align:right;border-bottom:1px solid #ddd}"
)

Filled = tuple["Benchmark", "Table", list[list[Any]]]


def write_page(path: str, filled: Sequence[Filled], precision: int) -> None:
    """Write the page. `filled` has each benchmark with its table and the (mean, low, high) of its rows."""
    parts = ["<!doctype html>", "<meta charset='utf-8'>", "<title>Results</title>", f"<style>{_STYLE}</style>"]
    for benchmark, table, ranges in filled:
        parts.append(f"<h2>{html.escape(benchmark.plot_name)}</h2>")
        parts.append(_chart(benchmark, table, ranges))
        parts.append(_table(table, precision))
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(parts) + "\n")


def _table(table: Table, precision: int) -> str:
    def cell(value: Any) -> str:
        return f"{value:.{precision}f}" if isinstance(value, float) else html.escape(str(value))

    head = "".join(f"<th>{html.escape(name)}</th>" for name in table.columns)
    rows = ("".join(f"<td>{cell(value)}</td>" for value in row) for row in table.rows)
    return "\n".join(["<table>", f"<tr>{head}</tr>", *(f"<tr>{row}</tr>" for row in rows), "</table>"])


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)


class _Axis:
    """Positions of values between two ends; on a logarithmic axis of those above zero."""

    def __init__(self, values: Sequence[Any], first: float, last: float, is_log: bool) -> None:
        self.is_log = is_log
        known = [self._scaled(value) for value in values if self.has(value)]
        self.low, self.high = (min(known), max(known)) if known else (0.0, 1.0)
        self.first, self.last = first, last

    def has(self, value: Any) -> bool:
        return _is_number(value) and (value > 0 or not self.is_log)

    def _scaled(self, value: float) -> float:
        return math.log(value) if self.is_log else float(value)

    def at(self, value: float) -> float:
        """Where a value is, in pixels."""
        part = (self._scaled(value) - self.low) / ((self.high - self.low) or 1.0)
        return self.first + part * (self.last - self.first)

    def ends(self) -> list[float]:
        """The least and the greatest value."""
        return [math.exp(end) if self.is_log else end for end in (self.low, self.high)]


def _chart(benchmark: Benchmark, table: Table, ranges: list[list[Any]]) -> str:
    """The lines as SVG, with a band where the function gave bounds."""
    xs = [row[0] for row in table.rows]
    found = [value for row in ranges for entry in row for value in entry]
    along = _Axis(xs, _MARGIN, _WIDTH - 10, benchmark.x_log)
    up = _Axis(found, _HEIGHT - _MARGIN, 20, benchmark.y_log)
    shapes: list[str] = []
    for index, name in enumerate(benchmark.line_names):
        color = _COLORS[index % len(_COLORS)]
        line = [(x, *row[index]) for x, row in zip(xs, ranges) if along.has(x) and up.has(row[index][0])]
        bounds = [(x, low, high) for x, _, low, high in line if up.has(low) and up.has(high)]
        if bounds:
            outline = [(x, high) for x, _, high in bounds] + [(x, low) for x, low, _ in reversed(bounds)]
            shapes.append(f"<polygon points='{_points(outline, along, up)}' fill='{color}' opacity='.15'/>")
        points = _points([(x, mean) for x, mean, _, _ in line], along, up)
        shapes.append(f"<polyline points='{points}' fill='none' stroke='{color}' stroke-width='2'/>")
        shapes.append(_text(_MARGIN + 8, 34 + 16 * index, name, "start", color))
    bottom = _HEIGHT - _MARGIN
    shapes += [_text(along.at(end), bottom + 16, f"{end:g}") for end in along.ends()]
    shapes += [_text(_MARGIN - 6, up.at(end) + 4, f"{end:.4g}", "end") for end in up.ends()]
    shapes.append(_text(_WIDTH / 2, _HEIGHT - 14, benchmark.xlabel or benchmark.x_names[0]))
    shapes.append(_text(_MARGIN, 12, benchmark.ylabel))
    frame = f"<path d='M{_MARGIN} 20V{bottom}H{_WIDTH - 10}' fill='none' stroke='#333'/>"
    return "\n".join([f"<svg width='{_WIDTH}' height='{_HEIGHT}'>", frame, *shapes, "</svg>"])


def _points(line: Sequence[tuple[float, float]], along: _Axis, up: _Axis) -> str:
    return " ".join(f"{along.at(x):.1f},{up.at(y):.1f}" for x, y in line)


def _text(x: float, y: float, text: str, anchor: str = "middle", color: str = "#333") -> str:
    place = f"x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}' fill='{color}' font-size='12'"
    return f"<text {place}>{html.escape(text)}</text>"
