"""Facts about devices that programs size their grids by, and the names of targets."""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from typing import Any, NamedTuple

from .errors import LaunchError, nearest, raise_report
from . import native

_REGISTERS = 64 << 10  # of a processor that says nothing of them
_DEFAULT_CACHE_BYTES = 1 << 20
# The platforms that torch is built for, each with its version in `torch.version`.
_TORCH_BUILDS = ("cuda", "hip", "xpu")


class Device(NamedTuple):
    """What is true of a device or target by its name, as its kind in the native module says."""

    kind: str  # what stands before the colon of the name, or all of it
    index: int = 0  # of devices that are numbered
    is_simulated: bool = False
    warp_size: int = 1  # lanes; 1 where a program is one thread
    checks: str = "never"  # when accesses are compared with arrays: "never", "debug" builds, "always"
    has_memory: bool = False  # arrays lie in memory of its own, launches go to one of its streams
    counts_bytes: bool = False  # 32-bit offsets count bytes, not elements
    torch_type: str = ""  # how torch calls the devices of that memory,
    torch_build: str = ""  # and the platform that it has to be built for
    dlpack_types: tuple[int, ...] = ()  # values of DLDeviceType
    backend: str = ""  # how kernels ask for the maker
    arch: str = ""
    shared_bytes: int = 0  # that one program may have
    scaled_products: tuple[tuple[int, int, int], ...] = ()  # (m, n, k) of instructions for MX formats
    processor_registers: int = 0
    options: tuple[str, ...] = ()  # words for the compiler that not all targets heed

    @property
    def is_gpu(self) -> bool:
        """Whether it runs code of many threads per program, or simulates a machine that does."""
        return self.warp_size > 1

    @property
    def torch_name(self) -> str:
        """The device as torch calls it."""
        return f"{self.torch_type}:{self.index}"

    def checks_accesses(self, is_debug: bool) -> bool:
        """Whether every access is checked: launches then say what memory is behind each pointer."""
        return self.checks == "always" or (is_debug and self.checks == "debug")


@lru_cache(maxsize=None)
def device_named(name: str) -> Device:
    """The facts of a device or target. Raises LaunchError TW0401 for a name that this build lacks."""
    facts = native().target_facts(name)
    if facts is None:
        raise unknown_device(name)
    return Device(**facts)


def target_of(device: str) -> str:
    """The target that kernels are compiled for to run on a device: "amd:gfx942" for "hip:0". Others are
    their own. Raises DeviceError where the driver or the device is missing."""
    if not device_named(device).has_memory:
        return device
    target, report = native().target_of_device(device)
    if report:
        raise_report(report)
    return target


@lru_cache(maxsize=None)
def hardware_of(name: str) -> str:
    """The target whose machine a simulated device is: nvidia:sm_80 for sim:sm_80. Others are their own."""
    if not device_named(name).is_simulated:
        return name
    arch = name.partition(":")[2]
    alike = (t for t in native().targets() if t.partition(":")[2] == arch and not device_named(t).is_simulated)
    return next(alike, name)


def unknown_device(name: str) -> LaunchError:
    """The error for a name that this build has not, with those that may be meant."""
    known = [*native().targets(), *native().first_gpus()]
    kind = name.partition(":")[0]
    has_variants = any(other.startswith(kind + ":") for other in known)
    report = native().check_target(name) if has_variants else None
    close = nearest(name.lower(), known)
    hint = f"did you mean {close!r}?" if close else f"there are {', '.join(known)}"
    return LaunchError(
        f"this build has no device {name!r}",
        code="TW0401",
        hint=report["hint"] if report else hint,  # which knows what variants of a kind are alike
    )


@lru_cache(maxsize=None)
def first_gpus() -> tuple[Device, ...]:
    """The first device of each kind whose driver numbers them, be there one or not."""
    return tuple(device_named(name) for name in native().first_gpus())


def gpu_of_torch(torch_type: str, index: int | None) -> str:
    """The name of a GPU that torch calls by a type and an index; empty where it is none of ours, as
    where torch is built for another maker's GPUs of the same type."""
    version: Any = getattr(sys.modules.get("torch"), "version", None)
    built = next((build for build in _TORCH_BUILDS if getattr(version, build, None)), None)
    for gpu in first_gpus():
        if torch_type == gpu.torch_type and built in (None, gpu.torch_build):
            return f"{gpu.kind}:{index or 0}"
    return ""


def gpu_of_dlpack(type: int, index: int) -> str:
    """The name of a GPU by its type and number of DLPack; empty where it is none of ours."""
    return next((f"{gpu.kind}:{index}" for gpu in first_gpus() if type in gpu.dlpack_types), "")


class TargetName(str):
    """A target's or device's name ("cpu", "nvidia:sm_80") with the parts that callers of Triton ask
    for: `backend` is "cuda" of code for NVIDIA's GPUs, the whole name of a simulated GPU, which is no
    device of torch's, and else the name's first part."""

    @property
    def arch(self) -> int | str:
        """The compute capability times ten, or the processor."""
        arch = device_named(self).arch or self.partition(":")[2] or os.uname().machine
        return int(arch) if arch.isdigit() and device_named(self).is_gpu else arch

    @property
    def backend(self) -> str:
        """ "cuda", "sim:sm_80", "cpu" or "reference"."""
        device = device_named(self)
        return str(self) if device.is_simulated else device.backend or device.kind

    @property
    def warp_size(self) -> int:
        """Threads of a warp; 1 where a program is one thread."""
        return device_named(self).warp_size


def properties_of(device: str) -> dict[str, int]:
    """The properties of a device without a GPU, under CUDA's names, so that
    `max_num_regs // (n_regs * warpSize * num_warps)` and `max_shared_mem // shared` are sensible
    numbers of programs at a time.

    `multiprocessor_count` is how many programs this machine runs at a time. A simulated GPU has its
    architecture's registers and shared memory; of a processor, `max_shared_mem` is a core's
    second-level cache, in bytes, and `max_num_regs` is nominal. Clocks (kHz) and the width of the
    memory's bus (bits) are 0: nobody measured them.
    """
    facts = device_named(device)
    return {
        "multiprocessor_count": native().num_threads() or os.cpu_count() or 1,
        "max_shared_mem": facts.shared_bytes or cache_bytes(),
        "max_num_regs": facts.processor_registers or _REGISTERS,
        "warpSize": facts.warp_size,
        "max_threads_per_block": 1024,
        "sm_clock_rate": 0,
        "mem_clock_rate": 0,
        "mem_bus_width": 0,
    }


@lru_cache(maxsize=None)
def cache_bytes() -> int:
    """The size of a core's second-level cache in bytes; 1 MiB where the system does not say."""
    from pathlib import Path

    for index in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"):
        try:
            if (index / "level").read_text().strip() == "2":
                return int((index / "size").read_text().strip().rstrip("K")) << 10
        except (OSError, ValueError):
            continue
    return _DEFAULT_CACHE_BYTES
