"""A tensor that says it is on a GPU, on machines that have none: torch knows its shape, dtype and
device, and the test its address."""

from __future__ import annotations

from typing import Any

import torch


class GpuTensor(torch.Tensor):
    """`GpuTensor(64, torch.float32, "cuda:1", address=0x7000)`; nothing can be computed with it."""

    address: int

    @staticmethod
    def __new__(
        cls, size: int, dtype: torch.dtype = torch.float32, device: str = "cuda:0",
        address: int = 0x10000,
    ) -> GpuTensor:  # fmt: skip
        tensor = torch.Tensor._make_wrapper_subclass(cls, (size,), dtype=dtype, device=device)
        tensor.address = address
        return tensor

    __torch_dispatch__ = None  # torch asks for one; it is called by operations only

    def data_ptr(self) -> int:
        return self.address
