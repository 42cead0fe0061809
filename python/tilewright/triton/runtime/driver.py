"""The names of `triton.runtime.driver`, by which scripts find the device for their tensors."""

from __future__ import annotations

import importlib
import os
import platform
import sys
from dataclasses import dataclass
from typing import Any

from tilewright.devices import chosen_device, current_device


@dataclass(frozen=True)
class Target:
    """A target as scripts see it: `backend` is "cuda", with the compute capability times ten as
    `arch`, or another device's name, with the processor's."""

    backend: str
    arch: str | int
    warp_size: int


def _gpu() -> Any:
    """The GPU that launches would use as a torch device; None where they use another device."""
    chosen = chosen_device()
    if chosen and not chosen.startswith("cuda:"):
        return None
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        return None
    if chosen:
        return torch.device(chosen)
    # torch calls AMD's GPUs cuda, too.
    if torch.version.hip is not None or not torch.cuda.is_available():
        return None
    return torch.device("cuda", torch.cuda.current_device())


class ActiveDriver:
    """The device of the next launch, asked for anew in every call."""

    def get_active_torch_device(self) -> Any:
        """The torch device that tensors must lie on."""
        return _gpu() or importlib.import_module("torch").device("cpu")

    def get_current_device(self) -> int:
        """The index of the GPU; 0 where launches use another device."""
        gpu = _gpu()
        return gpu.index if gpu else 0

    def get_current_target(self) -> Target:
        """The target of the next launch."""
        if gpu := _gpu():
            major, minor = sys.modules["torch"].cuda.get_device_capability(gpu)
            return Target("cuda", 10 * major + minor, 32)
        return Target(current_device(), platform.machine(), 1)

    def get_device_properties(self, device: int = 0) -> dict[str, int]:
        """The number of cores, under the name that scripts size their grids by."""
        if _gpu():
            properties = sys.modules["torch"].cuda.get_device_properties(device)
            return {"multiprocessor_count": properties.multi_processor_count}
        return {"multiprocessor_count": os.cpu_count() or 1}

    @property
    def utils(self) -> ActiveDriver:
        """Where older scripts look for `get_device_properties`."""
        return self


active = ActiveDriver()
