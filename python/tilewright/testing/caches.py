"""Overwrites the processor's caches, so that a call finds its data in memory."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from pathlib import Path

_LEAST = 64 << 20
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def cache_bytes(folder: Path = Path("/sys/devices/system/cpu/cpu0/cache")) -> int:
    """The bytes of the largest cache that the system names; 0 where it names none."""
    sizes = [0]
    for file in folder.glob("index*/size"):
        text = file.read_text().strip()
        unit = _UNITS.get(text[-1:], 1)
        sizes.append(int(text.rstrip("KMG")) * unit)
    return max(sizes)


def make_flush() -> Callable[[], None]:
    """Returns what overwrites twice as many bytes as the largest cache has, and not less than 64 MiB."""
    size = max(2 * cache_bytes() if os.name == "posix" else 0, _LEAST)
    memory = ctypes.create_string_buffer(size)
    address, value = ctypes.addressof(memory), 0

    def flush() -> None:
        nonlocal value
        value = (value + 1) % 256
        ctypes.memset(address, value, len(memory))

    return flush
