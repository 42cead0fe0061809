"""Runs kernels on the double of libcuda in a process of its own, and prints what came of each part
as JSON: `cuda_session.py PATH_OF_THE_DOUBLE`. test_cuda_driver.py judges it."""

from __future__ import annotations

import json
import sys
from typing import Any

import tilewright as tw
import torch
from driver_session import DriverDouble, arrays, cooperative_launches, failure, launch, scale

double = DriverDouble(sys.argv[1], "cuda")
configure, calls = double.configure, double.calls


@tw.jit
def transpose(out, x, SIZE: tw.constexpr):
    i, j = tw.arange(0, SIZE)[:, None], tw.arange(0, SIZE)[None, :]
    tw.store(out + i * SIZE + j, tw.trans(tw.load(x + i * SIZE + j)))


def load_failures() -> dict[str, Any]:
    reports = {}
    for number, words in enumerate(
        ("fail=cuModuleLoadDataEx:2", "fail=cuModuleLoadDataEx:222", "max_threads=64",
         "machine_code=refused fail=cuModuleLoadDataEx@2:218 log=what-ptxas-says"), 10,
    ):  # fmt: skip
        configure(words)
        # Options of its own, so that it is loaded anew.
        reports[words] = failure(lambda stages=number: launch(num_stages=stages))
    configure("")
    reports["later"] = failure(lambda: launch(num_stages=1))
    return reports


def kernel_failures() -> dict[str, Any]:
    reports = {}
    for result in (700, 710, 716, 719):
        configure(f"kernel={result}")
        reports[str(result)] = [failure(launch), failure(launch), failure(wait)]
    configure("")
    return reports


def wait() -> None:
    tw.synchronize()  # no device is chosen here: every GPU in use


def measure() -> list[str]:
    configure("")
    tw.testing.do_bench(launch, warmup=0, rep=1)
    return calls()


def main() -> dict[str, Any]:
    result: dict[str, Any] = {"opened without a gpu": double.is_opened_without_gpu("nvidia:sm_80")}
    result["open failures"] = double.failures_to_open(
        "fail=cuInit:100", "devices=0", "fail=cuInit:3", "capability=70 devices=2"
    )
    configure("devices=2 machine_code=refused")
    result["listed"] = tw.list_devices(probe=True)
    result["no such gpu"] = failure(lambda: launch("cuda:2"))
    kernel = launch()
    result["device"] = kernel.request.device
    result["launches"] = calls("cuLaunchKernel")
    result["origin"] = kernel.origin
    configure("devices=2 machine_code=refused")
    launch("cuda:1", num_warps=8)
    scale[(1, 2, 3)](*arrays(dtype=torch.float16), 1 << 40, 0.5, 1, BLOCK=64)
    transpose[(1,)](*arrays(), SIZE=128, num_warps=8)
    result["more launches"] = calls("cuLaunchKernel")
    result["big grid"] = failure(
        lambda: scale[(1, 70000)](*arrays(), 4000, 0.5, 3, BLOCK=1024)
    )
    result["load failures"] = load_failures()
    result["measured"] = measure()
    result["cooperative"] = cooperative_launches(double, 32)
    result["kernel failures"] = kernel_failures()
    return result


print(json.dumps(main()))
