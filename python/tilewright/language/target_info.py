"""The namespace `tw.target_info`: compile-time questions about what a kernel is compiled for."""

from __future__ import annotations

from .machine import cuda_capability_geq, current_target, is_cuda, is_hip

__all__ = ["cuda_capability_geq", "current_target", "is_cuda", "is_hip"]
