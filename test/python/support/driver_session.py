"""A kernel, its launch on arrays of GPUs and the double of a driver that sees it: what the programs
that run on a double have in common (cuda/cuda_session.py, hip/hip_session.py)."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any

import tilewright as tw
import torch
from gpu_tensor import GpuTensor


@tw.jit
def scale(out, x, n, factor, offset, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    tw.store(out + i, tw.load(x + i, mask=i < n) * factor + offset, mask=i < n)


def arrays(device: str = "cuda:0", dtype: torch.dtype = torch.float32) -> tuple[Any, Any]:
    return (
        GpuTensor(4096, dtype, device, address=0x700000001000),
        GpuTensor(4096, dtype, device, address=0x700000100000),
    )


def launch(device: str = "cuda:0", **options: Any) -> Any:
    return scale[(4,)](*arrays(device), 4000, 0.5, 3, BLOCK=1024, **options)


def failure(action: Callable[[], Any]) -> list[str] | None:
    """The class, code, message and hint of the report that an action raises."""
    try:
        action()
    except tw.TilewrightError as error:
        return [type(error).__name__, error.code, error.message, error.hint]
    return None


def cooperative_launches(double: DriverDouble, lanes: int) -> dict[str, Any]:
    """Grids of programs that may wait for each other, on two processors with room for 2048 threads
    each and on a GPU that launches no such grids; warps have so many lanes."""

    def launched(grid: tuple[int, ...], num_warps: int = 4) -> list[str] | None:
        options: dict[str, Any] = {"num_warps": num_warps, "launch_cooperative_grid": True}
        return failure(lambda: scale[grid](*arrays(), 4000, 0.5, 3, BLOCK=64, **options))

    double.configure("devices=2 processors=2")
    most = 2 * 2048 // (4 * lanes)
    reports: dict[str, Any] = {"line": launched((most,)), "too many": launched((most + 1,))}
    reports["box"] = launched((2, 2, 2), num_warps=8)
    calls = [call for call in double.calls() if "LaunchCooperative" in call]
    reports["launches"] = [call.split(" shared")[0] for call in calls]
    double.configure("devices=2 processors=0")
    reports["none"] = launched((2,))
    return reports


class DriverDouble:
    """The double at a path, whose own functions begin with `prefix`, as cudaDoubleRecord."""

    def __init__(self, path: str, prefix: str) -> None:
        library = ctypes.CDLL(path)
        self._configure = library[f"{prefix}DoubleConfigure"]
        self._record = library[f"{prefix}DoubleRecord"]
        self._record.restype = ctypes.c_char_p

    def configure(self, words: str) -> None:
        self._configure(words.encode())

    def calls(self, name: str = "") -> list[str]:
        lines = self._record().decode().splitlines()
        return [line for line in lines if line.startswith(name)]

    def is_opened_without_gpu(self, target: str) -> bool:
        """Whether what needs no driver opens it: compiling for a target, other devices."""
        types = {"out": "*fp32", "x": "*fp32", "n": "i32", "factor": "fp32", "offset": "i32"}
        scale.compile(types, {"BLOCK": 64}, device=target)
        out = torch.zeros(64)
        scale[(1,)](out, torch.ones(64), 64, 0.5, 3, BLOCK=64)
        assert out.tolist() == [3.5] * 64
        tw.list_devices()
        return bool(self.calls())

    def failures_to_open(self, *configurations: str) -> dict[str, list[str] | None]:
        """What a launch reports under each configuration."""
        reports = {}
        for words in configurations:
            self.configure(words)
            reports[words] = failure(launch)
        return reports


def launches_by_python(action: Callable[[], Any]) -> int:
    """How many launches Python does in a call."""
    code, seen = tw.JITFunction._launch.__code__, 0

    def count(frame: Any, event: str, _: Any) -> None:
        nonlocal seen
        seen += event == "call" and frame.f_code is code

    sys.setprofile(count)
    try:
        action()
    finally:
        sys.setprofile(None)
    return seen
