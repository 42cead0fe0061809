"""The names of `triton.profiler`: scopes, and a profiler of launches. `tilewright.profiler` has what is
recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from tilewright import profiler as _own
from tilewright.native.errors import UnsupportedError
from tilewright.profiler import activate as activate
from tilewright.profiler import deactivate as deactivate
from tilewright.profiler import enter_scope as enter_scope
from tilewright.profiler import enter_state as enter_state
from tilewright.profiler import exit_scope as exit_scope
from tilewright.profiler import exit_state as exit_state
from tilewright.profiler import finalize as finalize
from tilewright.profiler import scope as scope
from tilewright.profiler import state as state
from tilewright.profiler import timed_scope as cpu_timed_scope
from tilewright.profiler.sessions import DEFAULT_NAME as DEFAULT_PROFILE_NAME

from . import data as data
from . import mode as mode
from .mode import InstrumentationMode as _Instrumentation
from ..absent import names_of

__all__ = [
    "DEFAULT_PROFILE_NAME", "activate", "cpu_timed_scope", "data", "deactivate", "enter_scope",
    "enter_state", "exit_scope", "exit_state", "finalize", "mode", "profile", "scope", "start", "state",
]  # fmt: skip

# What Triton calls the tools that give it the times of launches. Here the devices tell them.
_TIMERS = (None, "cupti", "rocprofiler", "roctracer")


def _refuse(what: str, hint: str) -> NoReturn:
    raise UnsupportedError(f"triton.profiler has {what}", code="TW0432", hint=hint)


def _check(backend: str | None, mode: Any) -> None:
    if backend == "instrumentation" or isinstance(mode, _Instrumentation):
        _refuse(
            "no instrumentation: what happens inside a kernel is not recorded",
            "start without it records launches; `tilewright.simulation` counts what a kernel executes",
        )
    if backend not in _TIMERS:
        raise ValueError(f"there is no backend {backend!r}; leave it out")
    if mode not in (None, ""):
        _refuse(f"no mode {str(mode)!r}: launches are counted and timed, nothing is sampled", "leave `mode` out")


def start(
    name: str | None = None,
    *,
    context: str = "shadow",
    data: str = "tree",
    backend: str | None = None,
    mode: Any = None,
    hook: Any = None,
) -> int:
    """Record launches from here on; gives the session's number.

    `finalize` writes them to `name` with the ending .hatchet, or .chrome_trace of `data="trace"`.
    `hook="triton"` records what `launch_metadata` says of a launch. Raises UnsupportedError TW0432 for
    modes and for the backend "instrumentation", which look into kernels.
    """
    _check(backend, mode)
    return _own.start(name, context=context, data=data, hook=hook)


def profile(
    func: Callable[..., Any] | None = None,
    *,
    name: str | None = None,
    context: str = "shadow",
    data: str = "tree",
    backend: str | None = None,
    mode: Any = None,
    hook: Any = None,
) -> Any:
    """Record the launches of a function's calls: a decorator, with the arguments of `start`."""
    _check(backend, mode)
    return _own.profile(func, name=name, context=context, data=data, hook=hook)


__getattr__ = names_of(__name__)
