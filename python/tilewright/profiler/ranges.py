"""Launches as ranges of NVTX or ROCTX, which Nsight Systems and rocprof show with the names of kernels."""

from __future__ import annotations

import contextlib
import ctypes
import sys
from collections.abc import Callable, Iterator
from typing import Any

from ..launch import ranges
from ..native.errors import UnsupportedError

# Libraries in the order in which they are tried, and their functions.
_LIBRARIES = {
    "nvtx": (("libnvToolsExt.so.1", "libnvToolsExt.so"), "nvtxRangePushA", "nvtxRangePop"),
    "roctx": (
        ("librocprofiler-sdk-roctx.so.1", "librocprofiler-sdk-roctx.so", "libroctx64.so.4", "libroctx64.so"),
        "roctxRangePushA",
        "roctxRangePop",
    ),
}  # fmt: skip


@contextlib.contextmanager
def named_ranges(kind: str = "nvtx", library: str = "") -> Iterator[None]:
    """Within this block each launch of the process is a range `KERNEL[X, Y, Z]` of NVTX ("nvtx") or ROCTX ("roctx").

    `library` is the path of the library, else it is looked for by its names, and for NVTX in torch.
    Raises ValueError for another kind, UnsupportedError TW0432 where the library is not found. Launches
    outside of such blocks cost nothing more.
    """
    if kind not in _LIBRARIES:
        raise ValueError(f"ranges are of {' or '.join(_LIBRARIES)}, not of {kind!r}")
    push, pop = _functions_of(kind, library)

    @contextlib.contextmanager
    def opened(name: str) -> Iterator[None]:
        push(name)
        try:
            yield
        finally:
            pop()

    ranges.OPENED.append(opened)
    try:
        yield
    finally:
        ranges.OPENED.remove(opened)


def _functions_of(kind: str, library: str) -> tuple[Callable[[str], Any], Callable[[], Any]]:
    """What begins a range with a name, and what ends the last one."""
    names, push, pop = _LIBRARIES[kind]
    for name in [library] if library else names:
        try:
            loaded = ctypes.CDLL(name)
            begin, end = loaded[push], loaded[pop]
        except (OSError, AttributeError):
            continue
        begin.argtypes = [ctypes.c_char_p]
        return lambda text: begin(text.encode()), lambda: end()
    # torch for CUDA has NVTX inside.
    torch: Any = sys.modules.get("torch")
    if kind == "nvtx" and not library and torch is not None and torch.version.cuda:
        return torch.cuda.nvtx.range_push, torch.cuda.nvtx.range_pop
    raise UnsupportedError(
        f"no library of {kind.upper()} is found: {library or ', '.join(names)}",
        code="TW0432",
        hint="install the tools of the GPU's vendor, or pass the library's path: named_ranges(kind, library=...)",
    )
