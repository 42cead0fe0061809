"""What everything that is launched over a grid has in common: kernels and what wraps them."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, overload

from ..native.above import above
from .arguments.tracing import is_traced, untraced

if TYPE_CHECKING:
    # To checkers a part of the standard library. It is never imported.
    from typing_extensions import ParamSpec

    from ..compile import CompiledKernel

    P = ParamSpec("P", default=...)
else:
    from typing import ParamSpec

    P = ParamSpec("P")


class Launcher(Protocol[P]):
    """`kernel[grid]`, as type checkers see it. Python's types cannot add a name to a list of
    parameters, so that arguments beside a launch option are not checked."""

    # fmt: off
    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> CompiledKernel | None: ...
    @overload
    def __call__(self, *args: Any, num_warps: int, **rest: Any) -> CompiledKernel | None: ...
    @overload
    def __call__(self, *args: Any, num_stages: int, **rest: Any) -> CompiledKernel | None: ...
    @overload
    def __call__(self, *args: Any, num_ctas: int, **rest: Any) -> CompiledKernel | None: ...
    @overload
    def __call__(self, *args: Any, debug: bool, **rest: Any) -> CompiledKernel | None: ...
    @overload
    def __call__(self, *args: Any, maxnreg: int, **rest: Any) -> CompiledKernel | None: ...
    @overload
    def __call__(self, *args: Any, stream: Any, **rest: Any) -> CompiledKernel | None: ...
    # fmt: on


class KernelInterface:
    """Launched by `kernel[grid](*arguments)`; compiled without a run by `kernel.warmup`.

    Launchers of other libraries derive from it and bring a `run` of their own.
    """

    if not TYPE_CHECKING:
        __class_getitem__ = classmethod(types.GenericAlias)  # as `class Launcher(KernelInterface[T])`

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        """The kernel over a grid: one to three integers, or a function of the arguments' dict."""
        return functools.partial(self._launch, grid)

    @untraced
    def _launch(self, grid: Any, /, *args: Any, **kwargs: Any) -> Any:
        if is_traced((*args, *kwargs.values())):
            return above("launch_traced")(self, grid, args, kwargs)
        return self.run(*args, grid=grid, warmup=False, **kwargs)

    def ways(self, given: dict[str, Any]) -> list[dict[str, Any]]:
        """The arguments, constants and options of each way in which a launch with the given ones may
        run: one for each configuration. torch's compiler looks into it."""
        inside: Any = getattr(self, "fn", None)
        return inside.ways(given) if hasattr(inside, "ways") else [given]

    def touched_arguments(self) -> set[str] | None:
        """The names of arrays that a launch writes beside the kernel; None: it may be all."""
        inside: Any = getattr(self, "fn", None)
        return inside.touched_arguments() if hasattr(inside, "touched_arguments") else set()

    def run(self, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> Any:
        """`kernel[grid](*args, **kwargs)` as one call."""
        raise NotImplementedError

    @untraced
    def warmup(self, *args: Any, grid: Any = (1,), **kwargs: Any) -> Any:
        """Compile for arguments without running."""
        return self.run(*args, grid=grid, warmup=True, **kwargs)
