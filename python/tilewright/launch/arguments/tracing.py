"""What torch's compiler must run as it is: launches, and what reads their arguments."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])

_untraced: list[types.CodeType] = []


def untraced(function: _Function) -> _Function:
    """Mark a method that torch's compiler must run as it is, and not look into: launches read and write
    the memory of tensors, which its tracing knows nothing of. The traced function is split there."""
    setattr(function, "_torchdynamo_disable", True)
    setattr(function, "_torchdynamo_disable_msg", "a launch of a Tilewright kernel")
    _untraced.append(function.__code__)
    return function


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
