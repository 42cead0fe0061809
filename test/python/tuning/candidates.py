"""A kernel whose candidates may be wrong, and what tests of tuning ask of a tuning."""

from __future__ import annotations

from typing import Any

import tilewright as tw


@tw.jit
def add_one(x, out, n, WRONG: tw.constexpr, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    y = tw.load(x + i, mask=i < n) + 1
    if WRONG == 1:
        y += 1
    last = n
    if WRONG == 2:  # leaves elements as they were
        last = n - 3
    tw.store(out + i, y, mask=i < last)


def blocks(n: int) -> Any:
    return lambda named: (tw.cdiv(n, named["BLOCK"]),)


def tune(kernel: Any, configs: list[dict[str, Any]], **options: Any) -> Any:
    options = {"warmup": 1, "rep": 4, **options}
    return tw.autotune([tw.Config(kwargs) for kwargs in configs], key=[], **options)(kernel)


def states(tuned: Any) -> list[str]:
    return [row.state for row in tuned.report.rows]
