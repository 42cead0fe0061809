"""Times the kernels of generated_kernels.py on a GPU against torch (cuBLAS) and Triton.

`gpu.py [--quick] [--out FOLDER]` runs on cuda:0, checks every result against torch, prints a table
and writes gpu.json and gpu.md. `--rehearse` does the same on the CPU with small inputs and writes
nothing: the times mean nothing, the results are checked. Participants take turns, each call is
timed with events after the L2 cache was overwritten; a time is the median of one round.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import os
import pathlib
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, NamedTuple

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER), str(FOLDER.parents[1] / "python")]

import report  # noqa: E402
import torch  # noqa: E402

SOURCE = FOLDER / "generated_kernels.py"
ROUNDS, CALLS = 5, 20
L2_BYTES = 256 << 20  # overwritten before a call: more than any GPU's L2 holds


class Task(NamedTuple):
    """One row: how a language's kernels are launched, and torch's way to the same result."""

    name: str
    launch: Callable[[ModuleType, torch.Tensor], Any]
    out: torch.Tensor
    expected: Callable[[], torch.Tensor]
    work: float  # GB moved or GFLOP
    unit: str
    goal: float | None  # ratio to torch


def kernels_in(language: str) -> ModuleType:
    """The shared source, read as one language."""
    os.environ["BENCHMARK_LANGUAGE"] = language
    spec = importlib.util.spec_from_file_location(f"gpu_kernels_{language}", SOURCE)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # both languages look their source up by module
    spec.loader.exec_module(module)
    return module


def options_of(kernels: ModuleType, name: str, **changed: Any) -> dict[str, Any]:
    stages = kernels.NUM_STAGES.get(name, 3)
    constants = kernels.CONSTANTS[name]
    return {**constants, "num_warps": kernels.NUM_WARPS, "num_stages": stages, **changed}


def add_task(device: str, n: int) -> Task:
    x, y = torch.randn(n, device=device), torch.randn(n, device=device)

    def launch(kernels: ModuleType, out: torch.Tensor) -> Any:
        grid = (math.ceil(n / 1024),)
        return kernels.add[grid](x, y, out, n, **options_of(kernels, "add"))

    return Task(f"add {n}", launch, torch.empty_like(x), lambda: x + y, 12e-9 * n, "GB/s", 0.95)


def softmax_task(device: str, rows: int, columns: int) -> Task:
    x = torch.randn(rows, columns, device=device)

    def launch(kernels: ModuleType, out: torch.Tensor) -> Any:
        options = options_of(kernels, "softmax", BLOCK=1 << (columns - 1).bit_length())
        return kernels.softmax[(rows,)](out, x, columns, columns, **options)

    work = 8e-9 * rows * columns
    out = torch.empty_like(x)
    return Task(
        f"softmax {rows}x{columns}", launch, out, lambda: torch.softmax(x, 1), work, "GB/s", 0.9
    )


def layer_norm_task(device: str, rows: int, columns: int) -> Task:
    x = torch.randn(rows, columns, device=device).half()
    weight, bias = (torch.randn(columns, device=device).half() for _ in range(2))
    means, scales = torch.empty(rows, device=device), torch.empty(rows, device=device)

    def launch(kernels: ModuleType, out: torch.Tensor) -> Any:
        arguments = (out, x, weight, bias, means, scales, columns, columns, 1e-5)
        return kernels.layer_norm[(rows,)](*arguments, **options_of(kernels, "layer_norm"))

    def expected() -> torch.Tensor:
        return torch.nn.functional.layer_norm(x, (columns,), weight, bias, 1e-5)

    work = 4e-9 * rows * columns
    name = f"layer_norm f16 {rows}x{columns}"
    return Task(name, launch, torch.empty_like(x), expected, work, "GB/s", 0.9)


def matmul_task(device: str, size: int) -> Task:
    a, b = (torch.randn(size, size, device=device).half() for _ in range(2))

    def launch(kernels: ModuleType, out: torch.Tensor) -> Any:
        options = options_of(kernels, "matmul")
        grid = (math.ceil(size / options["BM"]) * math.ceil(size / options["BN"]),)
        strides = (size, 1) * 3
        return kernels.matmul[grid](a, b, out, size, size, size, *strides, **options)

    work = 2e-9 * size**3
    return Task(
        f"matmul f16 {size}", launch, torch.empty_like(a), lambda: a @ b, work, "GFLOP/s", 0.5
    )


def attention_task(device: str, heads: int, length: int, is_causal: bool) -> Task:
    q, k, v = (torch.randn(1, heads, length, 64, device=device).half() for _ in range(3))

    def launch(kernels: ModuleType, out: torch.Tensor) -> Any:
        options = options_of(kernels, "attention", CAUSAL=is_causal)
        grid = (math.ceil(length / options["BM"]), heads)
        scale = math.log2(math.e) / 64**0.5
        return kernels.attention[grid](q, k, v, out, scale, length * 64, 64, length, **options)

    def expected() -> torch.Tensor:
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=is_causal)

    work = 4e-9 * heads * length * length * 64 / (2 if is_causal else 1)
    name = f"attention f16 {heads}x{length}x64{' causal' if is_causal else ''}"
    return Task(name, launch, torch.empty_like(q), expected, work, "GFLOP/s", None)


def tasks(device: str, is_small: bool, is_quick: bool) -> list[Callable[[], Task]]:
    """Makers of the rows, so that only one row's tensors are in memory at a time."""
    if is_small:
        n, rows, sizes, heads, length = 3000, 7, [130], 2, 150
    elif is_quick:
        n, rows, sizes, heads, length = 1 << 24, 4096, [2048], 16, 2048
    else:
        n, rows, sizes, heads, length = 1 << 27, 32768, [4096, 8192], 64, 4096
    return [
        lambda: add_task(device, n),
        lambda: softmax_task(device, rows, 1024),
        lambda: layer_norm_task(device, rows, 1024),
        *(lambda size=size: matmul_task(device, size) for size in sizes),
        lambda: attention_task(device, heads, length, False),
        lambda: attention_task(device, heads, length, True),
    ]


def time_on_gpu(call: Callable[[], Any]) -> float:
    """Milliseconds: the median of CALLS calls that find nothing of their inputs in L2."""
    flush = torch.empty(L2_BYTES, dtype=torch.int8, device="cuda")
    pairs: list[tuple[Any, Any]] = []
    call()
    for _ in range(CALLS):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        flush.zero_()
        begin.record()
        call()
        end.record()
        pairs.append((begin, end))
    torch.cuda.synchronize()
    return statistics.median(begin.elapsed_time(end) for begin, end in pairs)


def time_on_cpu(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return max((time.perf_counter() - start) * 1e3, 1e-6)


def code_bytes(compiled: Any) -> int:
    content = getattr(compiled, "asm", {})
    return len(content["cubin"]) if "cubin" in content else 0


def measure(task: Task, languages: Mapping[str, ModuleType], on_gpu: bool) -> report.Row:
    """Checks, then times, everyone. Raises AssertionError where our result is wrong."""
    row = report.Row(task.name, task.unit, task.work, task.goal, 0, {}, {})
    calls: dict[str, Callable[[], Any]] = {"torch": task.expected}
    expected = task.expected().double()
    for name, kernels in languages.items():
        task.out.fill_(float("nan"))
        try:
            compiled = task.launch(kernels, task.out)
        except Exception as error:
            if name == report.OURS:
                raise
            row.absent[name] = f"{type(error).__name__}: {error}".splitlines()[0]
            continue
        error = ((task.out.double() - expected).abs() / expected.abs().clamp(min=1)).max().item()
        assert name != report.OURS or error < 1e-2, f"{task.name}: wrong by {error}"
        if name == report.OURS:
            row.code_bytes = code_bytes(compiled) if on_gpu else 0
        calls[name] = lambda kernels=kernels: task.launch(kernels, task.out)
    time_of = time_on_gpu if on_gpu else time_on_cpu
    for _ in range(ROUNDS if on_gpu else 1):
        for name, call in calls.items():
            row.milliseconds.setdefault(name, []).append(time_of(call))
    return row


def about(on_gpu: bool) -> dict[str, str]:
    import tilewright

    found = {**report.machine(torch.get_num_threads()), "tilewright": tilewright.__version__}
    if on_gpu:
        import ctypes

        version = ctypes.c_int(0)
        ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(version))
        found["gpu"] = torch.cuda.get_device_name(0)
        found["driver's CUDA"] = f"{version.value // 1000}.{version.value % 1000 // 10}"
        found["torch's CUDA"] = str(torch.version.cuda)
        driver = pathlib.Path("/proc/driver/nvidia/version")
        if driver.is_file():
            found["driver"] = driver.read_text().splitlines()[0]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="smaller inputs")
    parser.add_argument("--rehearse", action="store_true", help="on the CPU, for the results only")
    parser.add_argument("--out", type=pathlib.Path, default=FOLDER / "results")
    options = parser.parse_args()
    on_gpu = not options.rehearse
    if on_gpu and not torch.cuda.is_available():
        print("torch finds no GPU here: nothing is measured")
        return 1
    machine = about(on_gpu)
    languages = {report.OURS: kernels_in("tilewright")}
    if on_gpu and importlib.util.find_spec("triton"):
        import triton

        languages["triton"] = kernels_in("triton")
        machine["triton"] = triton.__version__
    device = "cuda:0" if on_gpu else "cpu"
    torch.manual_seed(0)
    rows: list[report.Row] = []
    for make in tasks(device, options.rehearse, options.quick):
        rows.append(measure(make(), languages, on_gpu))
        print(f"{rows[-1].name}: right", flush=True)
    peers = ["torch", *(name for name in languages if name != report.OURS)]
    text = report.speed_table(rows, peers)
    print(text)
    if on_gpu:
        options.out.mkdir(parents=True, exist_ok=True)
        report.write_json(str(options.out / "gpu.json"), machine, rows, [])
        facts = "\n".join(f"- {name}: {value}" for name, value in machine.items())
        (options.out / "gpu.md").write_text(f"{facts}\n\n```\n{text}\n```\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
