"""Writes the speed tables of README.md and results/cpu.md from the medians in results/cpu.json.

`python test/benchmark/run.py --results test/benchmark/results/cpu.json` measures them anew; then this
program, without arguments, puts them between the marks of both pages."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterable, Mapping
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESULTS = ROOT / "test/benchmark/results/cpu.json"
PAGE = ROOT / "test/benchmark/results/cpu.md"
BEGIN = "<!-- speed: written by test/benchmark/readme.py -->\n"
END = "<!-- end of speed -->\n"
# The rows of the README.
CHOSEN = (
    "vector add 16M fp32",
    "softmax 4096x1024 fp32",
    "layer norm 4096x1024",
    "attention full 8x1024x64 bf16",
    "matmul 1024 fp32",
    "matmul 1024 int8",
)

Row = Mapping[str, Any]


def ours(row: Row) -> str:
    """Milliseconds, rate, or both: what was recorded."""
    parts: list[str] = []
    if "ms" in row:
        parts.append(f"{row['ms']:.3g} ms")
    if "rate" in row:
        parts.append(f"{row['rate']:,.0f} {row['unit']}")
    return ", ".join(parts)


def ratio(row: Row) -> str:
    """torch's time / ours, or the lowest and the highest of several measurements."""
    recorded = row["vs_torch"]
    values = recorded if isinstance(recorded, list) else [recorded]
    return " to ".join(f"{value:.2f}x" if value < 10 else f"{value:.1f}x" for value in values)


def table(document: Mapping[str, Any], rows: Iterable[Row]) -> str:
    about = document["machine"]
    lines = [
        f"{about['cpu']}, {about['threads']} threads, torch {about['torch']}:",
        "",
        "| workload | Tilewright | torch's time / ours |",
        "|---|---|---|",
        *(f"| {row['name']} | {ours(row)} | {ratio(row)} |" for row in rows),
    ]
    return "\n".join(lines) + "\n"


def between_marks(page: str, text: str) -> str:
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}{text}{rest[rest.index(END):]}"


def pages() -> dict[pathlib.Path, str]:
    """The text that each page should have."""
    document = json.loads(RESULTS.read_text())
    by_name = {row["name"]: row for row in document["rows"]}
    chosen = [by_name[name] for name in CHOSEN]
    return {
        page: between_marks(page.read_text(), table(document, rows))
        for page, rows in ((ROOT / "README.md", chosen), (PAGE, document["rows"]))
    }


if __name__ == "__main__":
    for page, text in pages().items():
        page.write_text(text)
