"""Addresses that keep their memory alive, and the streams that memory is ready in."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from ...native.targets import Device
from .problems import Memory


class OwnedAddress(int):
    """An address with the object that keeps its memory alive during a launch."""

    owner: object
    memory: Memory


def is_of_jax(kind: type) -> bool:
    """Returns true for types of JAX's arrays, and of what stands for them while it traces."""
    return kind.__module__.partition(".")[0] in ("jax", "jaxlib")


def current_stream(device: Device) -> int:
    """The stream that a device's launches go to: torch's current one, else the driver's default."""
    read = _stream_function(device)
    return read(device.index) if read else 0


def stream_reader(device: Device) -> Callable[[], int] | None:
    """A function that reads `current_stream`, as fast as torch lets it: in C once torch has used a GPU.
    None for a device that has no streams."""
    if not device.has_memory:
        return None
    read = _stream_function(device)
    return partial(read, device.index) if read else partial(current_stream, device)


def _stream_function(device: Device) -> Callable[[int], int] | None:
    """torch's function that gives the current stream of a GPU by its index; None where torch has not used
    one yet."""
    torch: Any = sys.modules.get("torch")
    streams = getattr(torch, device.torch_type, None) if device.has_memory else None
    if streams is None or not streams.is_initialized():
        return None
    # It makes no object for the stream.
    raw = getattr(torch._C, f"_{device.torch_type}_getCurrentRawStream", None)
    return raw or (lambda index: streams.current_stream(index).cuda_stream)
