"""`perf_report`: runs a function over a table of sizes and providers; prints, writes and plots it."""

from __future__ import annotations

import csv
import importlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..native.errors import UnsupportedError
from .html_report import Filled, write_page

Row = list[Any]


@dataclass
class Benchmark:
    """One table: a row for each of `x_vals`, a column for each of `line_vals`.

    The function is called with the parameters `x_names` set to an entry of `x_vals` (all to the same
    number, or each to its own of a tuple), `line_arg` set to one of `line_vals`, and `args`. It gives
    one number, or a tuple (number, lowest, highest).
    """

    x_names: Sequence[str]
    x_vals: Sequence[Any]
    line_arg: str
    line_vals: Sequence[Any]
    line_names: Sequence[str]
    plot_name: str
    args: Mapping[str, Any]
    xlabel: str = ""
    ylabel: str = ""
    x_log: bool = False
    y_log: bool = False
    styles: Sequence[tuple[str, str]] | None = field(default=None)


@dataclass
class Table:
    """The results: names of the columns, and the rows in their order."""

    columns: list[str]
    rows: list[Row]

    def to_string(self) -> str:
        """The table as aligned text, numbers with six digits after the point."""
        cells = [["", *self.columns]]
        cells += [[str(i), *map(_text, row)] for i, row in enumerate(self.rows)]
        widths = [max(len(line[column]) for line in cells) for column in range(len(cells[0]))]
        lines = ("  ".join(cell.rjust(w) for cell, w in zip(line, widths)) for line in cells)
        return "\n".join(line.rstrip() for line in lines)

    def write_csv(self, path: str, precision: int) -> None:
        """Write the table with a fixed number of digits for floats."""
        with open(path, "w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(self.columns)
            writer.writerows([_text(cell, precision) for cell in row] for row in self.rows)

    def to_frame(self) -> Any:
        """The table as a pandas.DataFrame. Raises UnsupportedError where pandas is missing."""
        try:
            pandas: Any = importlib.import_module("pandas")
        except ImportError:
            raise UnsupportedError(
                "return_df=True gives a pandas.DataFrame, and pandas is not installed",
                code="TW0432",
                hint="pip install pandas, or take print_data=True or save_path",
            ) from None
        return pandas.DataFrame(self.rows, columns=self.columns)


def _text(value: Any, precision: int = 6) -> str:
    if isinstance(value, float):
        return f"{value:.{precision}f}"
    return "" if value is None else str(value)


class Mark:
    """A function with the tables that it fills: `function.run(print_data=True)`."""

    def __init__(self, fn: Callable[..., Any], benchmarks: Benchmark | Sequence[Benchmark]) -> None:
        self.fn = fn
        self.benchmarks = benchmarks

    def run(
        self,
        show_plots: bool = False,
        print_data: bool = False,
        save_path: str = "",
        return_df: bool = False,
        diff_col: bool = False,
        save_precision: int = 6,
        **kwargs: Any,
    ) -> Any:
        """Fill the tables; further keywords go to the function.

        `print_data` prints each one; `save_path` is the directory for PLOT_NAME.csv, results.html with
        all tables and charts and, where matplotlib is installed, PLOT_NAME.png; `show_plots` shows the plots (a line says so where
        matplotlib is missing); `return_df` gives pandas.DataFrames; `diff_col` adds the difference of
        two columns.
        """
        is_single = isinstance(self.benchmarks, Benchmark)
        benchmarks = [self.benchmarks] if isinstance(self.benchmarks, Benchmark) else self.benchmarks
        if save_path:
            os.makedirs(save_path, exist_ok=True)
        frames: list[Any] = []
        filled: list[Filled] = []
        for benchmark in benchmarks:
            table, ranges = self._fill(benchmark, kwargs)
            if benchmark.plot_name and (show_plots or save_path):
                _plot(benchmark, table, ranges, show_plots, save_path)
            if diff_col and len(table.columns) == len(benchmark.x_names) + 2:
                _add_difference(table)
            if print_data:
                print(f"{benchmark.plot_name}:\n{table.to_string()}")
            if save_path:
                table.write_csv(
                    os.path.join(save_path, f"{benchmark.plot_name}.csv"), save_precision
                )
                filled.append((benchmark, table, ranges))
            if return_df:
                frames.append(table.to_frame())
        if save_path:
            write_page(os.path.join(save_path, "results.html"), filled, save_precision)
        if not return_df:
            return None
        return frames[0] if is_single else frames

    def _fill(
        self, benchmark: Benchmark, kwargs: Mapping[str, Any]
    ) -> tuple[Table, list[list[Any]]]:
        """The table of means, and for each row the (mean, low, high) of its columns."""
        names = list(benchmark.x_names)
        suffix = f" ({benchmark.ylabel})" if benchmark.ylabel else ""
        table = Table([*names, *(f"{name}{suffix}" for name in benchmark.line_names)], [])
        ranges: list[list[Any]] = []
        for x in benchmark.x_vals:
            values: list[Any] = list(x) if isinstance(x, (list, tuple)) else [x] * len(names)
            if len(values) != len(names):
                raise ValueError(f"{x!r} of x_vals has {len(values)} values for {', '.join(names)}")
            given = {**dict(zip(names, values)), **benchmark.args, **kwargs}
            found = [
                _range(self.fn(**given, **{benchmark.line_arg: line}))
                for line in benchmark.line_vals
            ]
            table.rows.append([*values, *(mean for mean, _, _ in found)])
            ranges.append(found)
        return table, ranges


def _range(result: Any) -> tuple[Any, Any, Any]:
    if isinstance(result, (tuple, list)):
        mean, low, high = result
        return mean, low, high
    return result, None, None


def _add_difference(table: Table) -> None:
    table.columns.append("Diff")
    for row in table.rows:
        row.append(row[-1] - row[-2])


def _plot(
    benchmark: Benchmark, table: Table, ranges: list[list[Any]], shows: bool, save_path: str
) -> None:
    try:
        pyplot: Any = importlib.import_module("matplotlib.pyplot")
    except ImportError:
        instead = "results.html has the chart" if save_path else "with save_path=, results.html has the chart"
        print(
            f"{benchmark.plot_name}: matplotlib is not installed (pip install matplotlib), so nothing is "
            f"plotted; {instead}"
        )
        return
    pyplot.figure()
    axes = pyplot.subplot()
    xs = [row[0] for row in table.rows]
    for index, name in enumerate(benchmark.line_names):
        color, style = benchmark.styles[index] if benchmark.styles else (None, None)
        means, lows, highs = zip(*(row[index] for row in ranges)) if ranges else ((), (), ())
        axes.plot(xs, means, label=name, color=color, ls=style)
        if any(low is not None for low in lows) and any(high is not None for high in highs):
            axes.fill_between(xs, lows, highs, alpha=0.15, color=color)
    axes.legend()
    axes.set_xlabel(benchmark.xlabel or benchmark.x_names[0])
    axes.set_ylabel(benchmark.ylabel)
    axes.set_xscale("log" if benchmark.x_log else "linear")
    axes.set_yscale("log" if benchmark.y_log else "linear")
    if save_path:
        pyplot.savefig(os.path.join(save_path, f"{benchmark.plot_name}.png"))
    if shows:
        pyplot.show()


def perf_report(benchmarks: Benchmark | Sequence[Benchmark]) -> Callable[[Callable[..., Any]], Mark]:
    """Give a function tables to fill: `@tw.testing.perf_report(Benchmark(...))`."""
    return lambda fn: Mark(fn, benchmarks)
