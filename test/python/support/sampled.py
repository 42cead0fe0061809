"""The devices that a sample of the tests runs on."""

from __future__ import annotations

import os
import zlib

# Simulated GPUs of another maker, the OpenCL driver of processors where it is installed, and the simulator of
# its code: one test in so many goes there, by name, which adds about a minute each on two cores. AMD_SAMPLE=1,
# OPENCL_SAMPLE=1 or SPIRV_SAMPLE=1 runs all, 0 none; AMD_DEVICES names other simulators.
_AMD_SHARE = int(os.environ.get("AMD_SAMPLE", 8))
_OPENCL_SHARE = int(os.environ.get("OPENCL_SAMPLE", 16))
_SPIRV_SHARE = int(os.environ.get("SPIRV_SAMPLE", 32))
AMD = os.environ.get("AMD_DEVICES", "sim:gfx942 sim:gfx1100").split() if _AMD_SHARE else []


def _opencl() -> list[str]:
    from tilewright.native import opencl_libraries

    return ["opencl:0"] if _OPENCL_SHARE and len(opencl_libraries()) > 1 else []


OPENCL = _opencl()
SPIRV = ["sim:generic16"] if _SPIRV_SHARE else []
# Those with a matrix unit, for tests of products.
XE = ["sim:xe-hpg", "sim:xe-hpc"] if _SPIRV_SHARE else []
SHARES = {
    **dict.fromkeys(AMD, _AMD_SHARE),
    **dict.fromkeys(OPENCL, _OPENCL_SHARE),
    **dict.fromkeys([*SPIRV, *XE], _SPIRV_SHARE),
}


def is_sampled(name: str, device: str) -> bool:
    """Return whether a test of a name runs on a device of `SHARES`."""
    return zlib.crc32(name.encode()) % SHARES[device] == 0
