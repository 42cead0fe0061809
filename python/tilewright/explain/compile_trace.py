"""How long a compilation took, as spans in the JSON of Chrome's trace viewer."""

from __future__ import annotations

import json
from typing import Any

from ..compile import CompiledKernel

_STEPS = ("frontend", "passes", "llvm", "assemble", "link")
_PARTS = ("llvm/translate", "llvm/optimize", "llvm/codegen")


def trace_of(kernel: CompiledKernel) -> str:
    """The text of a file for chrome://tracing and Perfetto: a span for the kernel, within it one for
    each step of its compilation, and within these their parts: passes of MLIR where they were timed.

    Times are as measured by the compiler, in microseconds, on the one thread that compiles; spans lie
    end to end from 0 on. What a kernel from the cache took was measured when it was compiled.
    """
    times = kernel.milliseconds
    steps = [step for step in times if "/" not in step]
    steps.sort(key=lambda step: (_STEPS.index(step) if step in _STEPS else len(_STEPS), step))
    label = f"{kernel.name} for {kernel.native.target}"
    events = [_span(label, "kernel", 0.0, sum(times[step] for step in steps))]
    events[0]["args"] = {"request": kernel.request.describe(), "origin": kernel.origin}
    start = 0.0
    for step in steps:
        events.append(_span(step, "step", start, times[step]))
        inside = start
        parts = [part for part in times if part.startswith(f"{step}/")]
        for part in sorted(parts, key=lambda p: (_PARTS.index(p) if p in _PARTS else 0, p)):
            name = part.partition("/")[2]
            events.append(_span(name, f"part of {step}", inside, times[part]))
            inside += times[part]
        start += times[step]
    return json.dumps({"displayTimeUnit": "ms", "traceEvents": events}, indent=1) + "\n"


def _span(name: str, kind: str, start: float, milliseconds: float) -> dict[str, Any]:
    return {
        "name": name, "cat": kind, "ph": "X", "pid": 0, "tid": 0,
        "ts": round(1000 * start, 3), "dur": round(1000 * milliseconds, 3),
    }  # fmt: skip
