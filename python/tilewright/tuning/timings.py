"""Keeps what `autotune(cache_results=True)` has measured between processes, beside the kernels."""

from __future__ import annotations

import hashlib
import json
import math
import platform
from collections.abc import Sequence
from typing import Any

from ..native import knobs
from ..launch.devices import current_device
from ..native import native


def _directory() -> str:
    settings = knobs.settings()
    return settings.cache_directory if settings.is_cache_enabled else ""


def _kernel_of(fn: Any) -> Any:
    while not hasattr(fn, "__tilewright_jit__"):
        fn = fn.fn
    return fn


def _key(fn: Any, candidates: Sequence[Any], key: tuple[Any, ...], machine: str) -> str:
    """Hashes what a measurement depends on: the kernel, the candidates, the arguments of the key,
    the compiler and the machine; an empty one is any."""
    from ..capture import capture

    meaning = capture(_kernel_of(fn)).meaning
    parts = (meaning, repr(list(candidates)), repr(key), current_device(), machine)
    text = "\n".join((*parts, platform.machine(), native().build_id()))
    return hashlib.sha256(text.encode()).hexdigest()


def read_timings(
    fn: Any, candidates: Sequence[Any], key: tuple[Any, ...], takes_any: bool = False
) -> list[float] | None:
    """The milliseconds of each candidate as measured before, or None. `takes_any`: those of another
    machine, too, where nothing can be measured on this one."""
    for machine in (platform.node(), "") if takes_any else (platform.node(),):
        timings = _read(_key(fn, candidates, key, machine), len(candidates))
        if timings is not None:
            return timings
    return None


def _read(key: str, count: int) -> list[float] | None:
    directory = _directory()
    content = native().read_record(directory, key) if directory else None
    if content is None:
        return None
    try:
        timings = [math.inf if t is None else float(t) for t in json.loads(content)["timings"]]
    except (ValueError, TypeError, KeyError):
        return None
    is_whole = len(timings) == count and not math.isinf(min(timings))
    return timings if is_whole else None


def write_timings(
    fn: Any, candidates: Sequence[Any], key: tuple[Any, ...], timings: Sequence[float]
) -> None:
    """Keep the milliseconds of each candidate, infinity for those that do not run: for this machine,
    and for those that cannot measure, which take the last that any machine has measured."""
    directory = _directory()
    if not directory:
        return
    fields = {"kernel": _kernel_of(fn).fn.__name__, "build": native().build_id()}
    known = [None if math.isinf(t) else t for t in timings]
    for machine in (platform.node(), ""):
        text = json.dumps({**fields, "is_for_any": not machine, "timings": known})
        native().write_record(directory, _key(fn, candidates, key, machine), text.encode())
