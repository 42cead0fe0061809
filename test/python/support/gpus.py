"""The GPUs that tests run on: of this machine's drivers, or of the doubles that stand for them."""

from __future__ import annotations

import ctypes
import os

# Each maker's first device, the names of its library, and the functions that count GPUs.
_DRIVERS = (
    ("cuda:0", "TILEWRIGHT_CUDA_LIBRARY", ("libcuda.so.1",), "cuInit", "cuDeviceGetCount"),
    (
        "hip:0", "TILEWRIGHT_HIP_LIBRARY",
        ("libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"),
        "hipInit", "hipGetDeviceCount",
    ),
)  # fmt: skip


def _has_gpu(libraries: tuple[str, ...], init: str, count: str) -> bool:
    for library in libraries:
        try:
            driver = ctypes.CDLL(library)
            number = ctypes.c_int(0)
            is_ready = getattr(driver, init)(0) == 0
            if is_ready and getattr(driver, count)(ctypes.byref(number)) == 0:
                return number.value > 0
        except (OSError, AttributeError):  # no driver, or something else in its place
            continue
    return False


def _libraries(variable: str, names: tuple[str, ...]) -> tuple[str, ...]:
    named = os.environ.get(variable)
    return (named,) if named else names


GPUS = [
    device
    for device, variable, names, init, count in _DRIVERS
    if _has_gpu(_libraries(variable, names), init, count)
]


def prepare_gpu(device: str) -> None:
    """What a process does before it compiles for a GPU: code objects carry their LLVM IR where a double
    of HIP's runtime executes them."""
    if device.startswith("hip:") and "execute=" in os.environ.get("HIP_DOUBLE", ""):
        from tilewright.native import native

        native().set_target_setting("embed-ir", ["1"])
