"""What everything that is launched over a grid has in common: kernels and what wraps them."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

from .arguments.tracing import untraced


class KernelInterface:
    """Launched by `kernel[grid](*arguments)`; compiled without a run by `kernel.warmup`.

    Launchers of other libraries derive from it and bring a `run` of their own.
    """

    __class_getitem__ = classmethod(types.GenericAlias)  # as `class Launcher(KernelInterface[T])`

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        """The kernel over a grid: one to three integers, or a function of the arguments' dict."""
        return functools.partial(self._launch, grid)

    @untraced
    def _launch(self, grid: Any, /, *args: Any, **kwargs: Any) -> Any:
        return self.run(*args, grid=grid, warmup=False, **kwargs)

    def run(self, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> Any:
        """`kernel[grid](*args, **kwargs)` as one call."""
        raise NotImplementedError

    @untraced
    def warmup(self, *args: Any, grid: Any = (1,), **kwargs: Any) -> Any:
        """Compile for arguments without running."""
        return self.run(*args, grid=grid, warmup=True, **kwargs)
