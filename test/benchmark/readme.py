"""Writes the speed table of results/cpu.md, and the plot of README.md, results/speed.svg, from the
medians in results/cpu.json.

`python test/benchmark/run.py --results test/benchmark/results/cpu.json` measures them anew; then this
program, without arguments, puts the table between the marks of its page and draws."""

from __future__ import annotations

import html
import json
import math
import pathlib
from collections.abc import Iterable, Mapping
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESULTS = ROOT / "test/benchmark/results/cpu.json"
PLOT = ROOT / "test/benchmark/results/speed.svg"
PAGE = ROOT / "test/benchmark/results/cpu.md"
BEGIN = "<!-- speed: written by test/benchmark/readme.py -->\n"
END = "<!-- end of speed -->\n"
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
    return " to ".join(f"{value:.2f}x" if value < 10 else f"{value:.1f}x" for value in _ratios(row))


def _ratios(row: Row) -> list[float]:
    recorded = row["vs_torch"]
    return recorded if isinstance(recorded, list) else [recorded]


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


# Colours follow the reader's own: SVG in a page asks for them as the page does.
PLOT_STYLE = """\
text { font: 13px system-ui, sans-serif; fill: #24292f }
.bar { fill: #2563eb }
.one { stroke: #24292f; stroke-dasharray: 4 3 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .bar { fill: #60a5fa }
  .one { stroke: #e6edf3 }
}"""


def plot(document: Mapping[str, Any]) -> str:
    """SVG with a bar for each row, as long as the logarithm of torch's time / ours; the range of several
    measurements by its middle. Left of the dashed line torch is faster."""
    rows, about = document["rows"], document["machine"]
    names, scale, step, top = 250, 130, 22, 34  # pixels: of names, of a factor of 2, of a row
    middles = [math.sqrt(math.prod((min(v), max(v)))) for v in map(_ratios, rows)]
    one = names + scale * max(0.0, -math.log2(min(middles)))
    width = one + scale * math.log2(max(middles)) + 110
    height = top + step * len(rows) + 8
    title = f"torch's time / ours; {about['cpu']}, {about['threads']} threads, torch {about['torch']}"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" role="img">',
        f"<title>{html.escape(title)}</title>",
        f"<style>{PLOT_STYLE}</style>",
        f'<text x="8" y="20">{html.escape(title)}</text>',
    ]
    for number, (row, middle) in enumerate(zip(rows, middles, strict=True)):
        y, length = top + step * number, scale * math.log2(middle)
        lines += [
            f'<text x="8" y="{y + 14}">{html.escape(row["name"])}</text>',
            f'<rect class="bar" x="{one + min(0.0, length):.1f}" y="{y + 3}" '
            f'width="{abs(length):.1f}" height="{step - 7}" rx="2"/>',
            f'<text x="{one + max(0.0, length) + 6:.1f}" y="{y + 14}">{ratio(row)}</text>',
        ]
    lines.append(f'<path class="one" d="M{one:.1f} {top}V{height - 8}"/>')
    return "\n".join([*lines, "</svg>", ""])


def between_marks(page: str, text: str) -> str:
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}{text}{rest[rest.index(END):]}"


def pages() -> dict[pathlib.Path, str]:
    """The text that the page and the plot should have."""
    document = json.loads(RESULTS.read_text())
    return {
        PAGE: between_marks(PAGE.read_text(), table(document, document["rows"])),
        PLOT: plot(document),
    }


if __name__ == "__main__":
    for page, text in pages().items():
        page.write_text(text)
