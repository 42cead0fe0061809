"""The names of `triton.runtime.driver`, by which scripts find the device for their tensors."""

from __future__ import annotations

import importlib
import sys
from typing import Any, NoReturn

from tilewright.launch.devices import choose, chosen_device, current_device, synchronize
from tilewright.native.errors import UnsupportedError
from tilewright.native.targets import (
    TargetName,
    device_named,
    first_gpus,
    gpu_of_torch,
    properties_of,
    target_of,
)

from ..absent import names_of
from ..backends.compiler import GPUTarget


def _gpu() -> Any:
    """The GPU that launches would use as a torch device; None where they use another device, or one that
    this torch is not built for."""
    chosen = chosen_device()
    if chosen and not device_named(chosen).has_memory:
        return None
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        return None
    if chosen:  # which may have arrays of others than torch
        facts = device_named(chosen)
        is_torchs = getattr(torch, facts.torch_type).is_available()
        return torch.device(facts.torch_name) if is_torchs else None
    for type in {gpu.torch_type: None for gpu in first_gpus() if gpu.torch_type}:
        gpus = getattr(torch, type)
        if gpu_of_torch(type, 0) and gpus.is_available():
            return torch.device(type, gpus.current_device())
    return None


def _target_of(gpu: Any) -> GPUTarget:
    """The target of a GPU that torch knows, in the terms of the platform that it is built for."""
    torch = sys.modules["torch"]
    backend = device_named(gpu_of_torch(gpu.type, gpu.index)).backend
    if backend == "hip":
        facts = torch.cuda.get_device_properties(gpu)
        return GPUTarget(backend, facts.gcnArchName.partition(":")[0], facts.warp_size)
    major, minor = torch.cuda.get_device_capability(gpu)
    return GPUTarget(backend, 10 * major + minor, 32)


class ActiveDriver:
    """The device of the next launch, asked for anew in every call."""

    def get_active_torch_device(self) -> Any:
        """The torch device that tensors must lie on."""
        return _gpu() or importlib.import_module("torch").device("cpu")

    def get_current_device(self) -> int:
        """The index of the GPU; 0 where launches use another device."""
        gpu = _gpu()
        return gpu.index if gpu else 0

    def set_current_device(self, device: int) -> None:
        """Make a GPU torch's current one; 0 is all there is elsewhere."""
        if _gpu():
            sys.modules["torch"].cuda.set_device(device)
        elif device != 0:
            _refuse(f"there is no device {device} beside the {current_device()}")

    def get_current_stream(self, device: int | None = None) -> int:
        """The stream that launches go to; 0 where devices have none."""
        return sys.modules["torch"].cuda.current_stream(device).cuda_stream if _gpu() else 0

    def get_current_target(self) -> GPUTarget:
        """The target of the next launch."""
        if gpu := _gpu():
            return _target_of(gpu)
        name = TargetName(target_of(current_device()))
        return GPUTarget(name.backend, name.arch, name.warp_size)

    def get_device_properties(self, device: int = 0) -> dict[str, int]:
        """The facts that scripts size their grids by, under CUDA's names; of a device without a GPU
        those of `tilewright.targets.properties_of`."""
        if not _gpu():
            return properties_of(target_of(current_device()))
        facts = sys.modules["torch"].cuda.get_device_properties(device)
        return {
            "multiprocessor_count": facts.multi_processor_count,
            # ROCm's torch has the second only: no more can be asked for there.
            "max_shared_mem": getattr(facts, "shared_memory_per_block_optin", 0)
            or facts.shared_memory_per_block,
            "max_num_regs": facts.regs_per_multiprocessor,
            "warpSize": facts.warp_size,
            "max_threads_per_block": getattr(facts, "max_threads_per_block", 1024),
            "sm_clock_rate": getattr(facts, "clock_rate", 0),
            "mem_clock_rate": getattr(facts, "memory_clock_rate", 0),
            "mem_bus_width": getattr(facts, "memory_bus_width", 0),
        }

    def get_device_interface(self) -> Any:
        """torch.cuda for a GPU, torch.cpu elsewhere."""
        torch: Any = importlib.import_module("torch")
        return torch.cuda if _gpu() else torch.cpu

    def get_benchmarker(self) -> Any:
        """The function that times calls: triton.testing.do_bench."""
        return importlib.import_module("tilewright.triton.testing").do_bench

    def get_empty_cache_for_benchmark(self) -> Any:
        """Memory that `clear_cache` writes, larger than the caches of a GPU; small elsewhere."""
        torch: Any = importlib.import_module("torch")
        bytes = 256 << 20 if _gpu() else 4
        return torch.empty(bytes // 4, dtype=torch.int, device=self.get_active_torch_device())

    def clear_cache(self, cache: Any) -> None:
        """Write all of the memory of `get_empty_cache_for_benchmark`."""
        cache.zero_()

    def synchronize(self) -> None:
        """Wait for everything that was launched."""
        synchronize()

    def is_active(self) -> bool:
        """There is always a device: the CPU."""
        return True

    @property
    def utils(self) -> ActiveDriver:
        """Where scripts look for `get_device_properties`."""
        return self

    def __getattr__(self, name: str) -> NoReturn:
        names_of(f"{__name__}.active", dir(ActiveDriver))(name)


def _refuse(message: str) -> NoReturn:
    raise UnsupportedError(
        message,
        code="TW0432",
        hint="choose a device with `with tilewright.device(...)` or TILEWRIGHT_DEVICE",
    )


class _Driver:
    """The driver in use: `driver.active`."""

    def __init__(self) -> None:
        self.active = ActiveDriver()

    @property
    def default(self) -> ActiveDriver:
        """The same: there is one driver."""
        return self.active

    def set_active(self, driver: object) -> None:
        """Take `driver.active` or `driver.default`. Raises UnsupportedError for any other object."""
        if not isinstance(driver, ActiveDriver):
            _refuse(f"a driver of another kind cannot be used: {type(driver).__qualname__}")

    def reset_active(self) -> None:
        """Nothing was replaced."""

    def set_active_to_cpu(self) -> None:
        """Send the launches of this context to the CPU, as a fork of Triton calls it."""
        choose("cpu")

    def __getattr__(self, name: str) -> NoReturn:
        names_of(__name__, dir(_Driver))(name)


driver = _Driver()
active = driver.active

__path__: list[str] = []
__getattr__ = names_of(__name__)
