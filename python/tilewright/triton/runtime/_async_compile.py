"""Compilations that run side by side in an executor: `with AsyncCompileMode(executor): kernel.warmup(...)`."""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from concurrent.futures import Executor, Future, as_completed
from typing import Any, Hashable

from tilewright.launch import hooks

from ..absent import names_of


class FutureKernel:
    """A kernel that is being compiled. Whatever is asked of it waits for it."""

    def __init__(
        self, finalize_compile: Callable[[Any], Any], future: Future[Any], ignore_errors: bool = False
    ) -> None:
        self.finalize_compile, self.future, self.ignore_errors = finalize_compile, future, ignore_errors
        self._kernel: Any = None

    def result(self, ignore_errors: bool | None = None) -> Any:
        """The compiled kernel; None where its error is ignored."""
        if self._kernel is None:
            ignored = self.ignore_errors if ignore_errors is None else ignore_errors
            try:
                kernel = self.future.result()
            except Exception:
                if ignored:
                    return None
                raise
            self.finalize_compile(kernel)
            self._kernel = kernel
        return self._kernel

    def __getattr__(self, name: str) -> Any:
        if name in ("_kernel", "__setstate__"):  # of a copy that is being made
            raise AttributeError(name)
        return getattr(self.result(), name)

    def __getitem__(self, grid: Any) -> Any:
        return self.result()[grid]


class AsyncCompileMode:
    """Within it `kernel.warmup(...)` hands its compilation to an executor and returns a FutureKernel.
    At its end all are waited for, and the first error is raised unless errors are ignored."""

    def __init__(self, executor: Executor, *, ignore_errors: bool = False) -> None:
        self.executor, self.ignore_errors = executor, ignore_errors
        self.future_kernels: dict[Hashable, FutureKernel] = {}
        self._token: contextvars.Token[Any] | None = None

    def submit(
        self, key: Hashable, compile_fn: Callable[[], Any],
        finalize_fn: Callable[[Any], Any] = lambda kernel: None,
    ) -> FutureKernel:  # fmt: skip
        """Compile by a function; what has the key already is not compiled again."""
        known = self.future_kernels.get(key)
        if known is None:
            future = self.executor.submit(contextvars.copy_context().run, _alone, compile_fn)
            known = self.future_kernels[key] = FutureKernel(finalize_fn, future, self.ignore_errors)
        return known

    def _postpone(self, compile_fn: Callable[[], Any]) -> FutureKernel:
        return self.submit(object(), compile_fn)

    def __enter__(self) -> AsyncCompileMode:
        if hooks.postpone.get() is not None:
            raise RuntimeError("Another AsyncCompileMode is already active")
        self._token = hooks.postpone.set(self._postpone)
        return self

    def __exit__(self, *failed: Any) -> None:
        if self._token is not None:
            hooks.postpone.reset(self._token)
        kernels = {kernel.future: kernel for kernel in self.future_kernels.values()}
        for future in as_completed(kernels):
            kernels[future].result()


def _alone(compile_fn: Callable[[], Any]) -> Any:
    hooks.postpone.set(None)  # of this call's context: it compiles here
    return compile_fn()


__path__: list[str] = []
__getattr__ = names_of(__name__)
