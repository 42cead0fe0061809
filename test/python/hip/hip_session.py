"""Runs kernels on the double of libamdhip64 in a process of its own, and prints what came of each part
as JSON: `hip_session.py PATH_OF_THE_DOUBLE`. test_hip_driver.py judges it."""

from __future__ import annotations

import json
import sys
from typing import Any

import tilewright as tw
import torch
from driver_session import DriverDouble, cooperative_launches, failure, launch

# What torch for ROCm says of itself; its GPUs are called "cuda" there, too.
torch.version.hip = "6.4.43484"
double = DriverDouble(sys.argv[1], "hip")
configure, calls = double.configure, double.calls


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
    result: dict[str, Any] = {"opened without a gpu": double.is_opened_without_gpu("amd:gfx942")}
    result["open failures"] = double.failures_to_open(
        "devices=0", "fail=hipInit:3", "arch=gfx906 devices=2"
    )
    configure("devices=2")
    result["listed"] = tw.list_devices(probe=True)
    result["no such gpu"] = failure(lambda: launch("cuda:2"))
    kernel = launch()
    result["device"] = kernel.request.device
    result["launches"] = calls("hipModuleLaunchKernel")
    launch("cuda:1", num_warps=8, waves_per_eu=2)
    result["more launches"] = calls("hipModuleLaunchKernel")[1:]
    configure("devices=2")
    launch(num_warps=1)
    result["loading"] = [call for call in calls() if "CaptureMode" in call or "ModuleLoad" in call]
    configure("devices=2 fail=hipModuleLoadDataEx:900")
    result["captured"] = failure(lambda: launch(num_warps=2))
    configure("devices=2")
    tw.testing.do_bench(launch, warmup=0, rep=1)
    result["measured"] = [call.split()[0] for call in calls()]
    result["cooperative"] = cooperative_launches(double, 64)
    result["kernel failures"] = kernel_failures()
    result["streams"] = on_streams()
    return result


print(json.dumps(main()))
