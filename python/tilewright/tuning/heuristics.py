"""Kernels with something added to their launches: `heuristics`, and what `autotune` derives from."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from ..launch.arguments.tracing import inlined_as, untraced
from ..graphs.traced import inlined_run
from ..launch.interface import KernelInterface
from ..launch.references import ByReference
from .configurations import Arguments


class Wrapper(KernelInterface, ByReference):
    """A kernel with something added to its launches; wrappers may be stacked."""

    def __init__(self, fn: Any) -> None:
        self.fn = fn
        functools.update_wrapper(self, fn, updated=())

    @property
    def arg_names(self) -> list[str]:
        """The parameters' names of the kernel inside."""
        return self.fn.arg_names

    @property
    def base_fn(self) -> Callable[..., Any]:
        """The Python function of the kernel inside."""
        return getattr(self.fn, "base_fn", None) or self.fn.fn

    @inlined_as(inlined_run)
    @untraced
    def run(self, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> Any:
        """Launch the kernel inside."""
        return self.fn.run(*args, grid=grid, warmup=warmup, **kwargs)

    @untraced
    def warmup(self, *args: Any, grid: Any = (1,), **kwargs: Any) -> Any:
        """Compile for arguments without running."""
        return self.run(*args, grid=grid, warmup=True, **kwargs)


class Heuristics(Wrapper):
    """A kernel some of whose parameters are computed from the others at each launch."""

    def __init__(self, fn: Any, values: Mapping[str, Callable[[Arguments], Any]]) -> None:
        super().__init__(fn)
        self.values = dict(values)

    def ways(self, given: dict[str, Any]) -> list[dict[str, Any]]:
        full = dict(given)
        for name, rule in self.values.items():
            full[name] = rule(full)
        return self.fn.ways(full)

    @inlined_as(inlined_run)
    @untraced
    def run(self, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> Any:
        for name, rule in self.values.items():
            kwargs[name] = rule({**dict(zip(self.arg_names, args)), **kwargs})
        return self.fn.run(*args, grid=grid, warmup=warmup, **kwargs)


def heuristics(values: Mapping[str, Callable[[Arguments], Any]]) -> Callable[[Any], Heuristics]:
    """Compute parameters of a kernel: `@tw.heuristics({"EVEN": lambda args: args["n"] % 64 == 0})`.

    Each rule gets the dictionary of the arguments by name, with the values computed before it.
    """
    return lambda fn: Heuristics(fn, values)
