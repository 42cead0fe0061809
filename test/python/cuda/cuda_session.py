"""Runs kernels on the double of libcuda in a process of its own, and prints what came of each part
as JSON: `cuda_session.py PATH_OF_THE_DOUBLE`. test_cuda_driver.py judges it."""

from __future__ import annotations

import ctypes
import json
import sys
from collections.abc import Callable
from typing import Any

import tilewright as tw
import torch
from gpu_tensor import GpuTensor

double = ctypes.CDLL(sys.argv[1])
double.cudaDoubleRecord.restype = ctypes.c_char_p


@tw.jit
def scale(out, x, n, factor, offset, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    tw.store(out + i, tw.load(x + i, mask=i < n) * factor + offset, mask=i < n)


@tw.jit
def transpose(out, x, SIZE: tw.constexpr):
    i, j = tw.arange(0, SIZE)[:, None], tw.arange(0, SIZE)[None, :]
    tw.store(out + i * SIZE + j, tw.trans(tw.load(x + i * SIZE + j)))


def configure(words: str) -> None:
    double.cudaDoubleConfigure(words.encode())


def calls(name: str = "") -> list[str]:
    lines = double.cudaDoubleRecord().decode().splitlines()
    return [line for line in lines if line.startswith(name)]


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


def use_without_gpu() -> bool:
    """What must not open the driver: compiling for GPUs, launching on other devices."""
    scale.compile({"out": "*fp32", "x": "*fp32", "n": "i32", "factor": "fp32", "offset": "i32"},
                  {"BLOCK": 64}, device="nvidia:sm_80")  # fmt: skip
    out = torch.zeros(64)
    scale[(1,)](out, torch.ones(64), 64, 0.5, 3, BLOCK=64)
    assert out.tolist() == [3.5] * 64
    tw.list_devices()
    return bool(calls())


def open_failures() -> dict[str, Any]:
    reports = {}
    for words in ("fail=cuInit:100", "devices=0", "fail=cuInit:3", "capability=70 devices=2"):
        configure(words)
        reports[words] = failure(launch)
    return reports


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
    result: dict[str, Any] = {"opened without a gpu": use_without_gpu()}
    result["open failures"] = open_failures()
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
    result["kernel failures"] = kernel_failures()
    return result


print(json.dumps(main()))
