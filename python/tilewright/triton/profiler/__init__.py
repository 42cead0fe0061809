"""The names of `triton.profiler`: scopes, which mark nothing, and the profiler, which is not there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn

from tilewright.errors import UnsupportedError

from ..absent import names_of


def _refuse(what: str) -> NoReturn:
    raise UnsupportedError(
        f"triton.profiler.{what} is not in Tilewright: there is no profiler of Triton's kind",
        code="TW0432",
        hint="measure with triton.testing.do_bench, or with torch.profiler around the launches",
    )


@contextmanager
def scope(name: str, metrics: Mapping[str, Any] | None = None) -> Iterator[None]:
    """A part of the program with a name, of which a profiler would take note."""
    del name, metrics
    yield


cpu_timed_scope = scope


@contextmanager
def state(name: str) -> Iterator[None]:
    """A state of the program, of which a profiler would take note."""
    del name
    yield


def start(*args: Any, **kwargs: Any) -> NoReturn:
    """Refuses to start: nothing would be measured."""
    _refuse("start")


def profile(*args: Any, **kwargs: Any) -> Callable[..., Any]:
    """Refuses to measure a function."""
    _refuse("profile")


__getattr__ = names_of(__name__)
