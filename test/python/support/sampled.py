"""The simulated GPUs that a sample of the tests runs on."""

from __future__ import annotations

import os
import zlib

# Simulated GPUs of another maker, which a sample of the tests runs on: one in so many, by name, which
# adds about a minute on two cores. AMD_SAMPLE=1 runs all, AMD_SAMPLE=0 none; AMD_DEVICES names others.
SHARE = int(os.environ.get("AMD_SAMPLE", 8))
SAMPLED = os.environ.get("AMD_DEVICES", "sim:gfx942 sim:gfx1100").split() if SHARE else []


def is_sampled(name: str) -> bool:
    return zlib.crc32(name.encode()) % SHARE == 0
