"""The GPUs that tests run on: of this machine's driver, or of the double that stands for one."""

from __future__ import annotations

import ctypes
import os


def _has_gpu() -> bool:
    try:
        driver = ctypes.CDLL(os.environ.get("TILEWRIGHT_CUDA_LIBRARY") or "libcuda.so.1")
        count = ctypes.c_int(0)
        is_ready = driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0
    except (OSError, AttributeError):  # no driver, or something else in its place
        return False
    return is_ready and count.value > 0


GPUS = ["cuda:0"] if _has_gpu() else []
