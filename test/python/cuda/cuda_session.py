"""Runs kernels on the double of libcuda in a process of its own, and prints what came of each part
as JSON: `cuda_session.py PATH_OF_THE_DOUBLE`. test_cuda_driver.py judges it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

import tilewright as tw
import torch
from driver_session import (
    DriverDouble,
    arrays,
    cooperative_launches,
    failure,
    launch,
    launches_by_python,
    scale,
)
from lent_tensor import lent_tensor

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


def warm_launches() -> dict[str, list[tuple[int, str]]]:
    """The second of two launches alike: those by Python, and what the driver got."""
    x, out = 0x700000001000, 0x700000100000
    streams = {0: 0, 1: 0x7701}
    torch.cuda.is_initialized = lambda: True
    torch._C._cuda_getCurrentRawStream = streams.__getitem__
    launches: dict[str, Callable[[], Any]] = {}

    def add(name: str, *tensors: torch.Tensor, n: int = 4000) -> None:
        launches[name] = lambda: scale[(4,)](*tensors, n, 0.5, 3, BLOCK=1024)

    add("plain", lent_tensor(4096, out), lent_tensor(4096, x))
    add("other memory", lent_tensor(4096, out + 64), lent_tensor(4096, x + 64), n=3984)
    add("unaligned", lent_tensor(4096, out + 4), lent_tensor(4096, x))
    add("half precision", lent_tensor(4096, out, bits=16), lent_tensor(4096, x, bits=16))
    add("other gpu", lent_tensor(4096, out, 1), lent_tensor(4096, x, 1))
    add("parameter", lent_tensor(4096, out), torch.nn.Parameter(lent_tensor(4096, x)))
    add("overlapping", lent_tensor(4096, out), lent_tensor(4096, out))
    result: dict[str, list[tuple[int, str]]] = {}
    configure("devices=2 machine_code=refused")  # PTX tells the double what parameters there are
    for launch in launches.values():  # all of them, so that no launch is like the last one
        launch()
    configure("devices=2")
    for name, launch in launches.items():
        by_python = launches_by_python(launch)
        result[name] = [(by_python, call) for call in calls("cuLaunchKernel")]
        configure("devices=2")
    streams[0] = 0x7700
    launches["plain"]()
    result["other stream"] = [(0, call) for call in calls("cuLaunchKernel")]
    return result


def warm_failure() -> list[Any]:
    """A launch that the driver refuses, where the same one ran before, and the one after it."""
    tensors = lent_tensor(4096, 0x700000100000), lent_tensor(4096, 0x700000001000)
    again = lambda: scale[(4,)](*tensors, 4000, 0.5, 3, BLOCK=1024)  # noqa: E731
    again()
    configure("devices=2 fail=cuLaunchKernel:701")
    reports = [failure(again)]
    configure("devices=2")
    reports.append(failure(again))
    mixed = lent_tensor(4096, 0x700000100000, 1), tensors[1]
    return [*reports, failure(lambda: scale[(4,)](*mixed, 4000, 0.5, 3, BLOCK=1024))]


def captures() -> dict[str, Any]:
    """Launches while a stream is captured into a graph: the first of a kernel, and one like it."""
    torch.cuda.is_initialized = lambda: False
    reports: dict[str, Any] = {}
    for name, options in (("cold", {"num_warps": 2}), ("warm", {"num_warps": 2})):
        configure("capturing=1")
        reports[name] = failure(lambda chosen=options: launch(stream=0x55, **chosen))
        reports[f"{name} calls"] = calls()
    configure("capturing=1")
    reports["waiting"] = failure(wait)
    return reports


def forked_launch() -> list[Any]:
    """A launch in a child of this process, and the calls that the driver got there."""
    configure("")
    launch()
    configure("")
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.write(write, json.dumps([failure(launch), calls()]).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as answer:
        result = json.load(answer)
    os.waitpid(child, 0)
    return [*result, failure(launch)]


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
    result["warm launches"] = warm_launches()
    result["warm failure"] = warm_failure()
    result["captures"] = captures()
    result["forked"] = forked_launch()
    return result


print(json.dumps(main()))
