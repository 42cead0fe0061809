"""The names of `triton.runtime.driver`, by which scripts find the device for their tensors."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Target:
    """A target as scripts see it: `backend` is "cpu" or "reference"."""

    backend: str
    arch: str
    warp_size: int


class ActiveDriver:
    """The device of the next launch, asked for anew in every call."""

    def get_active_torch_device(self) -> Any:
        """The torch device that tensors must lie on."""
        import torch  # pyright: ignore

        return torch.device("cpu")  # pyright: ignore

    def get_current_device(self) -> int:
        """The index of the device: there is one."""
        return 0

    def get_current_target(self) -> Target:
        """The target of the next launch."""
        import platform

        from tilewright import current_device

        return Target(str(current_device()), platform.machine(), 1)

    def get_device_properties(self, device: int = 0) -> dict[str, int]:
        """The number of cores, under the name that scripts size their grids by."""
        del device
        return {"multiprocessor_count": os.cpu_count() or 1}

    @property
    def utils(self) -> ActiveDriver:
        """Where older scripts look for `get_device_properties`."""
        return self


active = ActiveDriver()
