"""What notebooks show of kernels: their text and variants, and no markup of anybody else."""

from __future__ import annotations

import html.parser
from typing import Any

import numpy as np
import pytest
import tilewright as tw

ALLOWED = {"p", "b", "pre", "table", "tr", "th", "td", "code"}


class Page(html.parser.HTMLParser):
    """The elements of a fragment, their attributes, and its text by element."""

    def __init__(self, fragment: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[Any] = []
        self.texts: dict[str, list[str]] = {}
        self.open: list[str] = []
        self.feed(fragment)
        self.close()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.setdefault(self.open[-1] if self.open else "", []).append(data)


def shown(thing: Any) -> Page:
    page = Page(thing._repr_html_())
    assert not page.open and {*page.tags} <= ALLOWED and not page.attributes
    return page


@tw.jit
def scale(x, factor: tw.float32, BLOCK: tw.constexpr, NAME: tw.constexpr = "plain"):
    """Multiply in place: x[i] < 3 && "quoted" <script>alert(1)</script>"""
    at = tw.arange(0, BLOCK)
    tw.store(x + at, tw.load(x + at) * factor, mask=at < BLOCK)


def test_a_kernel_shows_its_text_and_its_variants(compiler: None) -> None:
    scale._loaded.clear()
    page = shown(scale)
    assert page.texts["b"] == [f"{__name__}.scale"]
    assert "(x, factor: fp32, BLOCK: constexpr, NAME: constexpr)" in page.texts["p"]
    doc, source = page.texts["pre"]
    assert doc == 'Multiply in place: x[i] < 3 && "quoted" <script>alert(1)</script>'
    assert source.startswith("@tw.jit\ndef scale(") and "mask=at < BLOCK" in source
    assert "nothing is compiled yet" in page.texts["p"] and "td" not in page.tags
    with tw.device("cpu"):
        scale[(1,)](np.ones(8, np.float32), 2.0, BLOCK=8)
        scale[(1,)](np.ones(8, np.float32), 3.0, BLOCK=8)
        scale[(1,)](np.ones(8, np.float64), 2.0, BLOCK=8)
    page = shown(scale)
    assert page.tags.count("tr") == 1 + 2
    text = " ".join(page.texts["td"])
    assert "x: *fp32" in text and "x: *fp64" in text and "BLOCK=8" in text


@pytest.mark.parametrize("device", ["cpu", "nvidia:sm_80", "amd:gfx942", "reference"])
def test_a_compiled_kernel_shows_what_it_takes(compiler: None, device: str) -> None:
    compiled = scale.compile({"x": "*fp32", "factor": "fp32"}, {"BLOCK": 8}, device)
    cells = shown(compiled).texts["td"]
    assert cells[0] == "scale" and cells[1].endswith(f"on {device}")
    assert cells[2] == compiled.origin and float(cells[3]) >= 0
    assert "bytes of code" in cells[4]


def test_hostile_names_and_values_are_text(compiler: None) -> None:
    hostile = "</td></table><img src=x onerror=alert(1)>\x1b[2J&\"'"
    compiled = scale.compile({"x": "*fp32", "factor": "fp32"}, {"BLOCK": 8, "NAME": hostile}, "cpu")
    compiled.name = hostile
    page = shown(compiled)
    cells = page.texts["td"]
    assert cells[0] == hostile.replace("\x1b", "\\x1b") and "onerror" in cells[1]

    def named(x):
        tw.store(x, 1)

    named.__qualname__ = named.__name__ = hostile
    named.__doc__ = hostile
    page = shown(tw.jit(named))
    assert page.texts["b"] == [f"{__name__}.{cells[0]}"] and page.texts["pre"][0] == cells[0]


def test_a_kernel_without_a_file_shows_the_rest(compiler: None) -> None:
    names: dict[str, Any] = {"tw": tw}
    exec(compile("def gone(x, n):\n    tw.store(x, n)", "/nowhere/gone.py", "exec"), names)
    page = shown(tw.jit(names["gone"]))
    assert "(x, n)" in page.texts["p"]


def test_many_variants_are_counted(compiler: None) -> None:
    scale._loaded.clear()
    for size in range(1, 26):
        scale.compile({"x": "*fp32", "factor": "fp32"}, {"BLOCK": size}, "reference")
    page = shown(scale)
    assert page.tags.count("tr") == 1 + 20 and "and 5 more" in page.texts["p"]
