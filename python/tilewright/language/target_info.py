"""The namespace `tw.target_info`: compile-time questions about what a kernel is compiled for."""

from __future__ import annotations

from .machine import (
    cuda_capability_geq,
    current_target,
    is_cuda,
    is_hip,
    is_hip_cdna3,
    is_hip_cdna4,
    is_hip_gfx1250,
)

__all__ = [
    "cuda_capability_geq", "current_target", "is_cuda", "is_hip", "is_hip_cdna3", "is_hip_cdna4",
    "is_hip_gfx1250",
]  # fmt: skip
