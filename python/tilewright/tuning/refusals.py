"""Tunings that must not begin, candidates that are not tried, and tunings without a result."""

from __future__ import annotations

import sys
from typing import Any

from ..native import knobs
from ..native.errors import LaunchError
from .report import Report, text_of_key


def out_of_time() -> LaunchError:
    """The error of a candidate that the budget left no time for."""
    return LaunchError("the seconds of `budget` were over before it was measured", code="TW0447")


def hopeless(kernel: str, report: Report) -> LaunchError:
    """The error of a kernel none of whose configurations runs."""
    lines = [f"  {row.config}: [{row.code}] {row.reason}" for row in report.rows]
    first = next(row.error for row in report.rows if row.error is not None)
    error = LaunchError(
        f"no configuration of {kernel} runs:\n" + "\n".join(lines),
        code="TW0411",
        hint=f"`tilewright explain {first.code}`",
    )
    error.__cause__ = first
    return error


def is_capturing() -> bool:
    """Returns true while launches of this thread are recorded into a graph of torch's."""
    torch: Any = sys.modules.get("torch")
    return bool(
        torch is not None and torch.cuda.is_initialized() and torch.cuda.is_current_stream_capturing()
    )


def refuse_to_measure(kernel: str, key: tuple[Any, ...]) -> None:
    """Raise the LaunchError of a tuning that must not begin: measuring compiles, which a closed world
    forbids (TW0408), and nothing runs while launches are recorded (TW0449)."""
    if knobs.settings().is_jit_denied:
        raise LaunchError(
            "nothing may be compiled (tw.freeze() or TILEWRIGHT_JIT=deny), and autotuning has chosen "
            f"no configuration of {kernel} for {text_of_key(key)}",
            code="TW0408",
            hint="launch it for such arguments before; with cache_results=True the choice goes into "
            "the cache on disk, and with `tilewright cache export` to other machines",
        )
    if is_capturing():
        raise LaunchError(
            f"{kernel} cannot be tuned for {text_of_key(key)} while its launches are captured into a graph",
            code="TW0449",
            hint="launch it once for such arguments before the capture",
        )
