"""Marks what torch's compiler must not look into, or looks into in place of a launch."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from ...native.above import above

_Function = TypeVar("_Function", bound=Callable[..., Any])

_untraced: list[types.CodeType] = []
_marked: set[types.CodeType] = set()

def untraced(function: _Function) -> _Function:
    """Mark a method that torch's compiler must run as it is, and not look into: launches read and write
    the memory of tensors, which its tracing knows nothing of. The traced function is split there."""
    setattr(function, "_torchdynamo_disable", True)
    setattr(function, "_torchdynamo_disable_msg", "a launch of a Tilewright kernel")
    return never_a_frame(function)


def never_a_frame(function: _Function) -> _Function:
    """Mark a function that torch's compiler may look into from a caller, and must not begin with."""
    if function.__code__ not in _marked:
        _marked.add(function.__code__)
        _untraced.append(function.__code__)
    return function


def inlined_as(replacement: Callable[..., Any]) -> Callable[[_Function], _Function]:
    """Have torch's compiler look into another function where it meets a call of this one, which runs
    unchanged everywhere else. Costs nothing at run time, and needs no torch."""

    def mark(function: _Function) -> _Function:
        setattr(function, "_torchdynamo_inline", replacement)
        return function

    return mark


def hide_launches_from_torch() -> None:
    """Tell torch, where it is loaded, not to trace the marked methods and what they call."""
    if not _untraced or "torch" not in sys.modules:
        return
    try:
        from torch._C._dynamo import eval_frame  # pyright: ignore
    except ImportError:  # a torch without this compiler, or one that is being imported
        return
    skip = eval_frame._FrameAction.SKIP
    strategy = eval_frame._FrameExecStrategy(skip, skip)
    while _untraced:
        eval_frame.set_code_exec_strategy(_untraced.pop(), strategy)


def is_traced(values: Iterable[Any]) -> bool:
    """Returns true if a launch with these arguments must become an operator of torch."""
    return "torch" in sys.modules and above("is_traced")(values)
