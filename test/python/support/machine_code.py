"""The machine code of kernels for NVIDIA's GPUs, for tests that count its instructions."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import assemblers

sys.path.append(str(assemblers.ROOT / "test" / "benchmark" / "assembly"))
import sass  # noqa: E402


def write_cubin(kernel: Any, folder: Path) -> Path:
    """Write a kernel's machine code to a file. Skips the test where it is by another assembler than those
    that the tests install, as in the archive of `make portable`: counts differ by release."""
    if not assemblers.is_pinned(kernel.assembler):
        pytest.skip(
            f"the counts are of ptxas {' and '.join(assemblers.releases())}, the code is by "
            f"{kernel.assembler or 'no assembler'}"
        )
    if sass.find_nvdisasm() is None:
        pytest.skip("there is no nvdisasm: install nvidia-cuda-nvdisasm")
    path = folder / "kernel.cubin"
    path.write_bytes(kernel.asm["cubin"])
    return path
