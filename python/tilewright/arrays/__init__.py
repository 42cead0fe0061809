"""Reads arrays of other libraries as arguments of launches; imported when the first one comes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..launch.arguments import READERS, ArgumentProblem, Reading, is_of_jax
from ..native import without_handlers
from .interfaces import read_array_interface, read_cuda_array_interface
from .protocols import read_addressed, read_buffer, read_dlpack, read_jax


def register_library(kind: type) -> None:
    """Add the readers of the libraries that a type is of."""
    libraries = {cls.__module__.partition(".")[0] for cls in kind.__mro__}
    if "torch" in libraries:
        without_handlers(_register_torch)
    if "numpy" in libraries:
        without_handlers(_register_numpy)


def _register_torch() -> None:
    from . import torch

    torch.register(READERS)


def _register_numpy() -> None:
    from . import numpy

    numpy.register(READERS)


def reader_of_array(kind: type, value: Any) -> Callable[[Any], Reading]:
    """The reader for objects like this one. Raises ArgumentProblem TW0405 where there is none."""
    if is_of_jax(kind) and hasattr(value, "aval"):
        return read_jax
    if any(cls.__module__ == "torch.fx.proxy" for cls in kind.__mro__):
        return _read_proxy
    if hasattr(kind, "__dlpack__") and hasattr(kind, "__dlpack_device__"):
        return read_dlpack
    if hasattr(value, "__cuda_array_interface__"):
        return read_cuda_array_interface
    if hasattr(kind, "data_ptr") and hasattr(value, "dtype"):
        return read_addressed
    try:
        memoryview(value)
    except TypeError:
        if hasattr(value, "__array_interface__"):
            return read_array_interface
        raise ArgumentProblem(
            "TW0405",
            f"an object of type {kind.__module__}.{kind.__qualname__} cannot be passed to a kernel",
            "kernels take tensors, arrays, numbers and compile-time constants",
        ) from None
    return read_buffer


def _read_proxy(value: Any) -> Reading:
    raise ArgumentProblem(
        "TW0405",
        f"it has no values while torch.fx traces the function: it is a {value}",
        "torch.fx.wrap keeps a function that launches as one node; torch.compile and torch.export need nothing",
    )
