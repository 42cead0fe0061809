"""The namespace `tw.target_info`: compile-time questions about what a kernel is compiled for; and what
runs it."""

# pyright: reportReturnType=false
from __future__ import annotations

from typing import Any, NamedTuple

from ..language.dtypes import int32, tensor
from ..language.machine import compiled_for, compiled_num_warps, machine_clock, machine_processor
from ..language.marks import LibraryFunction, constexpr_function, library_function
from ..language.static import constexpr
from ..language.tile import static_assert
from ..launch.devices import current_device
from ..native.targets import device_named, target_of


class GPUTarget(NamedTuple):
    """What a kernel is compiled for: ("cuda", 80, 32), ("hip", "gfx942", 64), ("cpu", "x86-64-v3", 1)."""

    backend: str
    arch: Any
    warp_size: int


@constexpr_function
def _target_named(name: str) -> GPUTarget:
    device = device_named(name)
    if device.is_gpu and device.arch:
        arch = int(device.arch) if device.arch.isdigit() else device.arch
        return GPUTarget(device.backend, arch, device.warp_size)
    family, _, arch = name.partition(":")
    return GPUTarget("cpu", arch or family, 1)


@constexpr_function
def _capability_of(name: str) -> int:
    target = _target_named(name)
    return target.arch if target.backend == "cuda" else -1


@constexpr_function
def _is_hip(name: str, arch: str = "") -> bool:
    target = _target_named(name)
    return target.backend == "hip" and (not arch or target.arch == arch)


@constexpr_function
def _threads_of_warp(name: str) -> int:
    device = device_named(name)
    return device.warp_size if device.is_gpu else 32


class _OnHostToo(LibraryFunction):
    """A library function that the host may call, too: it asks for the target of the current
    device."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:  # pyright: ignore
        target = target_of(current_device())
        return _HOST_MEANINGS[self.fn.__name__](target, *args, **kwargs)


def _on_host_too(function: Any) -> Any:
    return _OnHostToo(function)


@_on_host_too
def current_target():
    """The target that the kernel is compiled for, with `backend`, `arch` and `warp_size`."""
    name: constexpr = compiled_for()
    return _target_named(name)


@_on_host_too
def is_cuda():
    """Whether the kernel is compiled for an NVIDIA GPU, or for a simulator of one."""
    name: constexpr = compiled_for()
    return _capability_of(name) >= 0


@_on_host_too
def is_hip():
    """Whether the kernel is compiled for an AMD GPU, or for a simulator of one."""
    name: constexpr = compiled_for()
    return _is_hip(name)


@_on_host_too
def is_hip_cdna3():
    """Whether the kernel is compiled for gfx942, or for its simulator."""
    name: constexpr = compiled_for()
    return _is_hip(name, "gfx942")


@_on_host_too
def is_hip_cdna4():
    """Whether the kernel is compiled for gfx950, or for its simulator."""
    name: constexpr = compiled_for()
    return _is_hip(name, "gfx950")


@_on_host_too
def is_hip_gfx1250():
    """Whether the kernel is compiled for gfx1250, or for its simulator."""
    name: constexpr = compiled_for()
    return _is_hip(name, "gfx1250")


@_on_host_too
def cuda_capability_geq(major: constexpr, minor: constexpr = 0):
    """Whether the kernel is compiled for an NVIDIA GPU of at least this compute capability."""
    name: constexpr = compiled_for()
    return _capability_of(name) >= major * 10 + minor


_HOST_MEANINGS: dict[str, Any] = {
    "current_target": _target_named,
    "is_cuda": lambda device: _capability_of(device) >= 0,
    "is_hip": _is_hip,
    "is_hip_cdna3": lambda device: _is_hip(device, "gfx942"),
    "is_hip_cdna4": lambda device: _is_hip(device, "gfx950"),
    "is_hip_gfx1250": lambda device: _is_hip(device, "gfx1250"),
    "cuda_capability_geq": lambda device, major, minor=0: (
        _capability_of(device) >= major * 10 + minor
    ),
}


@library_function
def num_warps():
    """The launch option `num_warps`, a compile-time value."""
    return compiled_num_warps()


@library_function
def num_threads():
    """The threads of a program, a compile-time value: on CPUs as if warps had 32 of them."""
    name: constexpr = compiled_for()
    return compiled_num_warps() * _threads_of_warp(name)


@library_function
def globaltimer() -> tensor:
    """Nanoseconds of the machine's clock, an int64."""
    return machine_clock()


@library_function
def smid() -> tensor:
    """The number of the multiprocessor that runs the program, an int32."""
    name: constexpr = compiled_for()
    static_assert(_capability_of(name) >= 0,
                  "smid: only GPUs number the processors that run programs")  # fmt: skip
    return machine_processor().to(int32)


__all__ = [
    "cuda_capability_geq", "current_target", "is_cuda", "is_hip", "is_hip_cdna3", "is_hip_cdna4",
    "is_hip_gfx1250",
]  # fmt: skip
