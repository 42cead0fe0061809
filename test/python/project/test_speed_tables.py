"""The speed tables of pages are those that the benchmark's program writes from its results."""

from __future__ import annotations

import pathlib
import sys

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
