"""The speed table and the plot are those that the benchmark's program writes from its results."""

from __future__ import annotations

import pathlib
import sys
from xml.etree import ElementTree

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "benchmark"))

import readme  # noqa: E402


def test_tables_of_pages_are_those_of_the_results() -> None:
    for page, text in readme.pages().items():
        assert page.read_text() == text, f"python test/benchmark/readme.py writes {page.name} anew"


def test_a_row_shows_what_was_recorded() -> None:
    machine = {"cpu": "A", "threads": "2", "torch": "2"}
    rows = [
        {"name": "add", "ms": 0.845, "rate": 1690.4, "unit": "GB/s", "vs_torch": 14.52},
        {"name": "dot", "rate": 9.0, "unit": "GFLOP/s", "vs_torch": [1.0, 1.254]},
    ]
    assert readme.table({"machine": machine}, rows).splitlines()[-2:] == [
        "| add | 0.845 ms, 1,690 GB/s | 14.5x |",
        "| dot | 9 GFLOP/s | 1.00x to 1.25x |",
    ]


def test_only_text_between_the_marks_is_replaced() -> None:
    page = f"before\n{readme.BEGIN}old\n{readme.END}after\n"
    expected = f"before\n{readme.BEGIN}new\n{readme.END}after\n"
    assert readme.between_marks(page, "new\n") == expected


def test_bars_begin_at_equal_times_and_names_are_text() -> None:
    machine = {"cpu": "A<B", "threads": "2", "torch": "2"}
    rows = [{"name": "a & b", "vs_torch": 0.5}, {"name": "c", "vs_torch": [2.0, 8.0]}]
    tree = ElementTree.fromstring(readme.plot({"machine": machine, "rows": rows}))
    slower, faster = tree.iterfind("{*}rect")
    ends = [float(slower.get("x")) + float(slower.get("width")), float(faster.get("x"))]
    assert ends[0] == ends[1] and float(faster.get("width")) == 2 * float(slower.get("width"))
    words = [text.text for text in tree.iterfind("{*}text")]
    assert words[1:] == ["a & b", "0.50x", "c", "2.00x to 8.00x"] and "A<B" in words[0]
