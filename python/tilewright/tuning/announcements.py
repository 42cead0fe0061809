"""Whom autotuning tells of its choices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..native import knobs


class Autotuning:
    """What autotuning tells: prints its choices, or calls a listener with them."""

    def __init__(self) -> None:
        self.is_printed: bool | None = None  # None: the environment decides
        self.listener: Callable[..., Any] | None = None

    def prints(self) -> bool:
        """Whether each choice is printed."""
        if self.is_printed is None:
            return knobs.triton_flag("PRINT_AUTOTUNING")
        return self.is_printed

    def set_printing(self, value: Any) -> None:
        """Print each choice or do not."""
        self.is_printed = bool(value)

    def set_listener(self, listener: Callable[..., Any] | None) -> None:
        """Call a function with `fn`, `key`, `best_config`, `configs_timings`, `duration` (seconds)
        and `cache_hit` after each choice."""
        self.listener = listener


autotuning = Autotuning()
