"""Microseconds of warm launches on the CPU, and on a double of CUDA's driver that records nothing:
`launches.py` prints them as JSON, `launches.py --double` those on the double, and `launches.py --graph`
what launches within torch.compile take beside bare ones."""

from __future__ import annotations

import json
import os
import pathlib
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import operation_kernels
import torch

SUPPORT = pathlib.Path(__file__).resolve().parents[1] / "python" / "support"
ADDRESS = 0x700000000000
NUMBERS = (3, 5, 16, 7, 1, 100, 33, 64, 12)


def microseconds(call: Callable[[], object]) -> float:
    """The median of rounds of launches that find their kernel and run one program of almost nothing."""
    call()
    times: list[float] = []
    for _ in range(15):
        start = time.perf_counter()
        for _ in range(2000):
            call()
        times.append((time.perf_counter() - start) / 2000 * 1e6)
    return statistics.median(times)


def on_cpu() -> dict[str, float]:
    """Launches without arguments, and of ten tensors and nine numbers."""
    tensors = [torch.zeros(16) for _ in range(10)]
    return {
        "empty": microseconds(lambda: operation_kernels.empty[(1,)]()),
        "many": microseconds(lambda: operation_kernels.many[(1,)](*tensors, *NUMBERS)),
    }


def on_double() -> dict[str, float]:
    """The same of torch's tensors on a GPU, in a process of its own; nothing where there is no double."""
    from tilewright import _native  # pyright: ignore[reportAttributeAccessIssue]

    double = pathlib.Path(_native.__file__).resolve().parents[2] / "test" / "libcuda_double.so"
    if not double.is_file():
        return {}
    environment = {"TILEWRIGHT_CUDA_LIBRARY": str(double), "CUDA_DOUBLE": "quiet=1"}
    result = subprocess.run(
        [sys.executable, __file__, "--double"], env={**os.environ, **environment}, check=True,
        capture_output=True, text=True,
    )  # fmt: skip
    return json.loads(result.stdout.splitlines()[-1])


def in_process_of_double() -> dict[str, float]:
    """What `--double` measures. torch's function for its current stream is in C, and so is this one."""
    sys.path.insert(0, str(SUPPORT))
    from lent_tensor import lent_tensor

    torch.cuda.is_initialized = lambda: True
    torch._C._cuda_getCurrentRawStream = (0,).__getitem__  # pyright: ignore[reportPrivateUsage]
    tensors = [lent_tensor(16, ADDRESS + 0x1000 * i) for i in range(10)]
    return {
        "many on a GPU": microseconds(lambda: operation_kernels.many[(1,)](*tensors, *NUMBERS))
    }


def in_graphs(rounds: int = 100, calls: int = 500) -> dict[str, float]:
    """Launches by Inductor's code, beyond the same code with an empty operator of the same schema, and
    bare launches behind a call of that code: what ran before has taken caches and predictions from both.

    The least of rounds, each of which takes all functions in turn.
    """
    tensors = [torch.zeros(16) for _ in range(10)]
    library = torch.library.Library("tilewright_benchmark", "DEF")
    types = [*["Tensor"] * 9, "Tensor(a!)", *["SymInt"] * len(NUMBERS)]
    parameters = ", ".join(f"{kind} x{i}" for i, kind in enumerate(types))
    tags = (torch.Tag.needs_fixed_stride_order, torch.Tag.pt2_compliant_tag)
    library.define(f"empty(SymInt[] grid, {parameters}) -> ()", tags=tags)
    library.impl("empty", lambda grid, *values: None, "CompositeExplicitAutograd")
    library.impl("empty", torch.library.fallthrough_kernel, "Autograd")
    torch.library.register_fake("tilewright_benchmark::empty", lambda grid, *values: None, lib=library)

    def launch() -> None:
        operation_kernels.many[(1,)](*tensors, *NUMBERS)

    def empty() -> None:
        torch.ops.tilewright_benchmark.empty([1, 1, 1], *tensors, *NUMBERS)

    graph = torch.compile(launch, fullgraph=True)
    empty_graph = torch.compile(empty, fullgraph=True)

    def beside(call: Callable[[], None]) -> Callable[[], None]:
        def both() -> None:
            empty_graph()
            call()

        return both

    functions = {
        "graph": graph, "empty graph": empty_graph,
        "bare": beside(launch), "nothing": beside(lambda: None),
    }  # fmt: skip
    least = dict.fromkeys(functions, float("inf"))
    for _ in range(rounds):
        for name, call in functions.items():
            call()
            start = time.perf_counter()
            for _ in range(calls):
                call()
            least[name] = min(least[name], (time.perf_counter() - start) / calls * 1e6)
    within, bare = least["graph"] - least["empty graph"], least["bare"] - least["nothing"]
    return {"launch in a graph": within, "bare launch": bare, "ratio": within / bare}


if __name__ == "__main__":
    if "--graph" in sys.argv:
        print(json.dumps(in_graphs()))
        sys.exit()
    print(json.dumps(in_process_of_double() if "--double" in sys.argv else {**on_cpu(), **on_double()}))
