"""Marks and numbers that `triton.language` has beside the language."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ..absent import names_of

# The most elements of a tile in Triton. On GPUs a tile must fit the registers, which are fewer.
TRITON_MAX_TENSOR_NUMEL = 1 << 20

_Function = TypeVar("_Function", bound=Callable[..., Any])


def must_use_result(fn: _Function | str, message: str = "") -> Any:
    """Mark a function whose result should be used. A hint for readers: not using it is not an error."""
    del message
    return (lambda function: function) if isinstance(fn, str) else fn


__path__: list[str] = []
__getattr__ = names_of(__name__)
