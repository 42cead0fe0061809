"""Keeps what `autotune(cache_results=True)` has measured between processes, beside the kernels."""

from __future__ import annotations

import hashlib
import json
import math
import platform
from collections.abc import Sequence
from typing import Any

from .. import knobs
from .devices import current_device
from ..native import native


def _directory() -> str:
    settings = knobs.settings()
    return settings.cache_directory if settings.is_cache_enabled else ""


def _key(fn: Any, candidates: Sequence[Any], key: tuple[Any, ...]) -> str:
    """Hashes what a measurement depends on: the kernel, the candidates, the arguments of the key,
    the compiler and the machine."""
    from ..capture import capture

    while not hasattr(fn, "__tilewright_jit__"):
        fn = fn.fn
    meaning = capture(fn).meaning
    parts = (meaning, repr(list(candidates)), repr(key), current_device(), platform.node())
    text = "\n".join((*parts, platform.machine(), native().build_id()))
    return hashlib.sha256(text.encode()).hexdigest()


def read_timings(fn: Any, candidates: Sequence[Any], key: tuple[Any, ...]) -> list[float] | None:
    """The milliseconds of each candidate as measured before, or None."""
    directory = _directory()
    content = native().read_record(directory, _key(fn, candidates, key)) if directory else None
    if content is None:
        return None
    try:
        timings = [math.inf if t is None else float(t) for t in json.loads(content)]
    except (ValueError, TypeError):
        return None
    is_whole = len(timings) == len(candidates) and not math.isinf(min(timings))
    return timings if is_whole else None


def write_timings(
    fn: Any, candidates: Sequence[Any], key: tuple[Any, ...], timings: Sequence[float]
) -> None:
    """Keep the milliseconds of each candidate; infinity for those that do not run."""
    if directory := _directory():
        text = json.dumps([None if math.isinf(t) else t for t in timings])
        native().write_record(directory, _key(fn, candidates, key), text.encode())
