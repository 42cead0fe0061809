"""Which levels of x86-64 this machine's processor reaches: `tw.list_devices()` has them all, as
targets to compile for."""

from __future__ import annotations

from pathlib import Path

import pytest

# The last instructions of each level (System V Application Binary Interface, AMD64 supplement), as
# Linux names them.
_LEVELS = {
    "x86-64-v2": {"ssse3"},
    "x86-64-v3": {"avx2", "bmi2", "fma"},
    "x86-64-v4": {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"},
}


def skip_beyond(level: str) -> None:
    """Skip the test where the processor does not reach a level; other names it does."""
    flags = set(Path("/proc/cpuinfo").read_text().split())
    if not _LEVELS.get(level, set()) <= flags:
        pytest.skip(f"this processor is not an {level}")
