"""The names under which launches are recorded: scopes, and a state at their end."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Mapping
from typing import Any

from . import sessions


class _Open(threading.local):
    """What is open on a thread."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.states: list[str] = []
        # Of `enter_scope`: the name, or None where nothing recorded when it was entered.
        self.entered: list[tuple[str, bool]] = []


_open = _Open()


def path() -> tuple[str, ...]:
    """The names from the outermost scope inwards."""
    return (*_open.names, *_open.states[-1:])


class scope(contextlib.ContextDecorator):
    """A part of the program: launches in it are recorded below `name`, and the numbers in `metrics` at
    it. `with scope("forward", {"bytes": n}):`, or a decorator."""

    def __init__(self, name: str, metrics: Mapping[str, Any] | None = None) -> None:
        self.name = name
        self.metrics = metrics

    def _recreate_cm(self) -> scope:
        # One object decorates a function that calls itself, or that threads call.
        return type(self)(self.name, self.metrics)

    def __enter__(self) -> scope:
        self._is_open = _enter(self.name, self.metrics)
        return self

    def __exit__(self, *exception: Any) -> None:
        if self._is_open:
            _open.names.pop()


class timed_scope(scope):
    """A scope that records, as `cpu_time`, how long the program was in it."""

    def __init__(self, name: str, metrics: Mapping[str, Any] | None = None) -> None:
        if metrics and "cpu_time" in metrics:
            raise ValueError("the metric cpu_time is the one that this scope measures")
        super().__init__(name, metrics)

    def __enter__(self) -> timed_scope:
        super().__enter__()
        self._start = time.perf_counter_ns()
        return self

    def __exit__(self, *exception: Any) -> None:
        if self._is_open:
            sessions.add_metrics(path(), {"cpu_time (ns)(exc)": time.perf_counter_ns() - self._start})
        super().__exit__(*exception)


class state(contextlib.ContextDecorator):
    """What the program is doing: launches in it are recorded below `name`, whatever scopes are entered
    meanwhile above it. The innermost state counts."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> state:
        enter_state(self.name)
        return self

    def __exit__(self, *exception: Any) -> None:
        exit_state()


def _enter(name: str, metrics: Mapping[str, Any] | None) -> bool:
    """Whether a session records, so that the scope is open."""
    if not sessions.is_recording():
        return False
    _open.names.append(name)
    try:
        sessions.add_metrics(path(), metrics or {})
    except ValueError:
        _open.names.pop()
        raise
    return True


def enter_scope(name: str, *, metrics: Mapping[str, Any] | None = None) -> None:
    """Open a scope until `exit_scope`."""
    _open.entered.append((name, _enter(name, metrics)))


def exit_scope(name: str | None = None, *, metrics: Mapping[str, Any] | None = None) -> None:
    """Close the scope that was opened last. Raises ValueError where none is open, or another than `name`."""
    if not _open.entered:
        raise ValueError("there is no scope to exit: enter_scope was not called on this thread")
    last, is_open = _open.entered[-1]
    if name is not None and name != last:
        raise ValueError(f"the scope to exit is {last!r}, not {name!r}")
    _open.entered.pop()
    if is_open:
        sessions.add_metrics(path(), metrics or {})
        _open.names.pop()


def enter_state(name: str) -> None:
    """Begin a state until `exit_state`."""
    _open.states.append(name)


def exit_state() -> None:
    """End the state that began last, if there is one."""
    if _open.states:
        _open.states.pop()
