"""Kernels and compiled kernels as notebooks show them: HTML in which every text is escaped."""

from __future__ import annotations

import html
import inspect
from collections.abc import Iterable, Iterator

from ..native.errors import with_visible_controls
from ..compile import CompiledKernel
from ..launch.inspection import Inspection

_MOST_VARIANTS = 20


def kernel_as_html(kernel: Inspection, variants: Iterable[CompiledKernel]) -> str:
    """A kernel: its name with its parameters, docstring, text, and what was compiled of it."""
    try:
        source = "".join(kernel.raw_src)
    except OSError:  # its file is gone, or there never was one
        source = ""
    named = [f"{p.name}: {p.annotation}" if p.annotation else p.name for p in kernel.parameters]
    name, parameters = f"{kernel.fn.__module__}.{kernel.fn.__qualname__}", ", ".join(named)
    doc = inspect.getdoc(kernel.fn) or ""
    return "".join(
        [f"<p><b>{_text(name)}</b>({_text(parameters)})</p>", _block(doc), _block(source),
         compiled_as_html(variants)]
    )  # fmt: skip


def compiled_as_html(kernels: Iterable[CompiledKernel]) -> str:
    """A row for each compiled kernel: arguments and device, where it came from, times and sizes."""
    kernels = list(kernels)
    if not kernels:
        return "<p>nothing is compiled yet</p>"
    rows = "".join(f"<tr>{row}</tr>" for row in map(_row, kernels[:_MOST_VARIANTS]))
    rest = len(kernels) - _MOST_VARIANTS
    more = f"<p>and {rest} more</p>" if rest > 0 else ""
    head = "".join(
        f"<th>{title}</th>" for title in ("kernel", "compiled for", "from", "ms", "takes")
    )
    return (
        f"<table><tr>{head}</tr>{rows}</table>{more}"
        "<p><code>tw.explain(compiled)</code> shows what each line became</p>"
    )


def _row(kernel: CompiledKernel) -> str:
    milliseconds = sum(time for step, time in kernel.milliseconds.items() if "/" not in step)
    cells = (
        kernel.name, kernel.request.describe(), kernel.origin, f"{milliseconds:.1f}",
        ", ".join(_sizes(kernel)),
    )  # fmt: skip
    return "".join(f"<td>{_text(cell)}</td>" for cell in cells)


def _sizes(kernel: CompiledKernel) -> Iterator[str]:
    yield f"{kernel.native.code_bytes} bytes of code"
    for name, number in kernel.resources.items():
        yield f"{number} {name.replace('_', ' ')}"


def _block(text: str) -> str:
    return f"<pre>{_text(text)}</pre>" if text else ""


def _text(text: str) -> str:
    return html.escape(with_visible_controls(text))
