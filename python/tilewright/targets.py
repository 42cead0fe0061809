"""Facts about devices that programs size their grids by, and the names of targets."""

from __future__ import annotations

import os
import platform
import re
from functools import lru_cache
from pathlib import Path

# What `n_regs` of a compiled kernel says where no assembler told: on a GPU the most that a thread may
# have, elsewhere the vector registers of a core.
NOMINAL_REGISTERS = {True: 255, False: 32}

# Bytes of shared memory that one program may have: CUDA C++ Programming Guide, table "Technical
# Specifications per Compute Capability"; the same rows as backend/nvidia/NvidiaArch.cpp.
_SHARED_BYTES = {
    80: 163 << 10, 86: 99 << 10, 89: 99 << 10, 90: 227 << 10, 100: 227 << 10, 120: 99 << 10,
}  # fmt: skip
_REGISTERS = 64 << 10  # of a multiprocessor, in all of these architectures
_DEFAULT_CACHE_BYTES = 1 << 20


class TargetName(str):
    """A target's or device's name ("cpu", "nvidia:sm_80") with the parts that callers of Triton ask
    for: `backend` is "cuda" of code for NVIDIA's GPUs, the whole name of a simulated GPU, which is no
    device of torch's, and else the name's first part."""

    @property
    def arch(self) -> int | str:
        """The compute capability times ten, or the processor."""
        match = re.search(r":sm_(\d+)", self)
        if match:
            return int(match[1])
        return self.partition(":")[2] or platform.machine()

    @property
    def backend(self) -> str:
        """ "cuda", "sim:sm_80", "cpu" or "reference"."""
        first = self.partition(":")[0]
        if first == "sim":
            return str(self)
        return "cuda" if first in ("nvidia", "cuda") else first

    @property
    def warp_size(self) -> int:
        """Threads of a warp; 1 where a program is one thread."""
        return 32 if self.startswith(("nvidia:", "sim:", "cuda:")) else 1


def properties_of(device: str) -> dict[str, int]:
    """The properties of a device without a GPU, under CUDA's names, so that
    `max_num_regs // (n_regs * warpSize * num_warps)` and `max_shared_mem // shared` are sensible
    numbers of programs at a time.

    `multiprocessor_count` is how many programs this machine runs at a time. A simulated GPU has its
    architecture's registers and shared memory; of a processor, `max_shared_mem` is a core's
    second-level cache, in bytes, and `max_num_regs` is nominal. Clocks (kHz) and the width of the
    memory's bus (bits) are 0: nobody measured them.
    """
    from .native import native

    arch = TargetName(device).arch
    is_simulated = device.startswith("sim:")
    shared = _SHARED_BYTES.get(arch, 48 << 10) if isinstance(arch, int) else cache_bytes()
    return {
        "multiprocessor_count": native().num_threads() or os.cpu_count() or 1,
        "max_shared_mem": shared,
        "max_num_regs": _REGISTERS,
        "warpSize": 32 if is_simulated else 1,
        "max_threads_per_block": 1024,
        "sm_clock_rate": 0,
        "mem_clock_rate": 0,
        "mem_bus_width": 0,
    }


@lru_cache(maxsize=None)
def cache_bytes() -> int:
    """The size of a core's second-level cache in bytes; 1 MiB where the system does not say."""
    for index in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"):
        try:
            if (index / "level").read_text().strip() == "2":
                return int((index / "size").read_text().strip().rstrip("K")) << 10
        except (OSError, ValueError):
            continue
    return _DEFAULT_CACHE_BYTES
