"""Runs kernels on the double of libamdhip64 in a process of its own, and prints what came of each part
as JSON: `hip_session.py PATH_OF_THE_DOUBLE`. test_hip_driver.py judges it."""

from __future__ import annotations

import ctypes
import json
import sys
from collections.abc import Callable
from typing import Any

import tilewright as tw
import torch
from gpu_tensor import GpuTensor

# What torch for ROCm says of itself; its GPUs are called "cuda" there, too.
torch.version.hip = "6.4.43484"
double = ctypes.CDLL(sys.argv[1])
double.hipDoubleRecord.restype = ctypes.c_char_p


@tw.jit
def scale(out, x, n, factor, offset, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    tw.store(out + i, tw.load(x + i, mask=i < n) * factor + offset, mask=i < n)


def configure(words: str) -> None:
    double.hipDoubleConfigure(words.encode())


def calls(name: str = "") -> list[str]:
    lines = double.hipDoubleRecord().decode().splitlines()
    return [line for line in lines if line.startswith(name)]


def launch(device: str = "cuda:0", **options: Any) -> Any:
    out = GpuTensor(4096, torch.float32, device, address=0x700000001000)
    x = GpuTensor(4096, torch.float32, device, address=0x700000100000)
    return scale[(4,)](out, x, 4000, 0.5, 3, BLOCK=1024, **options)


def failure(action: Callable[[], Any]) -> list[str] | None:
    """The class, code, message and hint of the report that an action raises."""
    try:
        action()
    except tw.TilewrightError as error:
        return [type(error).__name__, error.code, error.message, error.hint]
    return None


def use_without_gpu() -> bool:
    """What must not open the runtime: compiling for GPUs, launching on other devices."""
    scale.compile({"out": "*fp32", "x": "*fp32", "n": "i32", "factor": "fp32", "offset": "i32"},
                  {"BLOCK": 64}, device="amd:gfx942")  # fmt: skip
    out = torch.zeros(64)
    scale[(1,)](out, torch.ones(64), 64, 0.5, 3, BLOCK=64)
    assert out.tolist() == [3.5] * 64
    tw.list_devices()
    return bool(calls())


def open_failures() -> dict[str, Any]:
    reports = {}
    for words in ("devices=0", "fail=hipInit:3", "arch=gfx906 devices=2"):
        configure(words)
        reports[words] = failure(launch)
    return reports


def kernel_failures() -> dict[str, Any]:
    reports = {}
    for result in (700, 719):
        configure(f"devices=2 kernel={result}")
        reports[str(result)] = [failure(launch), failure(launch), failure(tw.synchronize)]
    configure("devices=2")
    return reports


def on_streams() -> list[str]:
    """Launches on torch's current stream, and on one that is being captured: loaded by then."""
    torch.cuda.is_initialized = lambda: True
    torch.cuda.current_stream = lambda index: type("Stream", (), {"cuda_stream": 0x7700 + index})()
    configure("devices=2")
    launch("cuda:1")
    launch("cuda:0")
    return [call.split()[5] for call in calls("hipModuleLaunchKernel")]


def main() -> dict[str, Any]:
    result: dict[str, Any] = {"opened without a gpu": use_without_gpu()}
    result["open failures"] = open_failures()
    configure("devices=2")
    result["listed"] = tw.list_devices(probe=True)
    result["no such gpu"] = failure(lambda: launch("cuda:2"))
    kernel = launch()
    result["device"] = kernel.request.device
    result["launches"] = calls("hipModuleLaunchKernel")
    launch("cuda:1", num_warps=8, waves_per_eu=2)
    result["more launches"] = calls("hipModuleLaunchKernel")[1:]
    configure("devices=2 fail=hipModuleLoadDataEx:900")
    result["captured"] = failure(lambda: launch(num_warps=2))
    configure("devices=2")
    tw.testing.do_bench(launch, warmup=0, rep=1)
    result["measured"] = [call.split()[0] for call in calls()]
    result["kernel failures"] = kernel_failures()
    result["streams"] = on_streams()
    return result


print(json.dumps(main()))
