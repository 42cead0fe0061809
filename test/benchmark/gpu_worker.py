"""Measures rows of the benchmark of GPUs and prints each as a line of JSON, for gpu.py.

`gpu_worker.py DEVICE SIZE NAME...`: DEVICE is "cuda:0", or "cpu" or "sim:sm_90a" for tensors of the
host. `--list` prints the rows' names instead; `--replay WHO NAME SETTING` launches one
participant's kernel three times, for a profiler.
"""

from __future__ import annotations

import json
import os
import pathlib
import platform
import subprocess
import sys
from collections.abc import Callable
from typing import Any

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))
sys.path.append(str(FOLDER.parents[1] / "python"))  # behind what the environment says

import gpu_languages  # noqa: E402
import gpu_measure  # noqa: E402
import gpu_rows  # noqa: E402
import gpu_timing  # noqa: E402
import torch  # noqa: E402

MARK = "RESULT "
FACTS = {"driver": "driver_version", "power limit": "power.limit"}
CLOCKS = "clocks.sm,clocks.mem,clocks.max.sm,temperature.gpu,power.draw"


def report(document: dict[str, Any]) -> None:
    print(MARK + json.dumps(document), flush=True)


def first_words(command: list[str]) -> str:
    """What a program prints, in a line; empty where it does not run."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return " ".join(done.stdout.split())


def ask_gpu(fields: str) -> str:
    query = [f"--query-gpu={fields}", "--format=csv,noheader", "--id=0"]
    return first_words(["nvidia-smi", *query])


def read_clocks() -> str:
    """The clocks under load are those just after it."""
    values = ask_gpu(CLOCKS).split(", ")
    names = ("SM", "memory", "of at most", "at", "drawing")
    return ", ".join(f"{n} {value}" for n, value in zip(names, values)) if len(values) > 1 else ""


def driver_cuda() -> str:
    import ctypes

    version = ctypes.c_int(0)
    ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(version))
    return f"{version.value // 1000}.{version.value % 1000 // 10}"


def assembler_for(device: str) -> str:
    """The assembler of the device's machine code, with its version."""
    from tilewright.native import native

    target, problem = native().target_of_device(device)
    if problem is not None:
        raise RuntimeError(problem["message"])
    return native().assembler_of(target).split(", ")[0] or "none"


def known(read: Callable[[], str]) -> str:
    """A fact, or why it is not known: no fact is worth the measurement."""
    try:
        return read()
    except Exception as error:
        return f"unknown ({gpu_measure.first_line(error)})"


def about(device: str, triton: str) -> dict[str, str]:
    """The versions of everything that the numbers depend on."""
    import tilewright

    found = {
        "device": device,
        "python": platform.python_version(),
        "torch": f"{torch.__version__}, " + (
            f"HIP {torch.version.hip}" if torch.version.hip else f"CUDA {torch.version.cuda}"
        ),
        "triton": triton,
        "tilewright": tilewright.__version__,
        "assembler": known(lambda: assembler_for(device)),
    }
    if device.startswith("cuda"):
        found["gpu"] = known(lambda: torch.cuda.get_device_name(0))
        found["compute capability"] = known(
            lambda: ".".join(map(str, torch.cuda.get_device_capability(0)))
        )
        found["driver's CUDA"] = known(driver_cuda)
        found |= {name: text for name, field in FACTS.items() if (text := ask_gpu(field))}
        found["clocks at the start"] = read_clocks()
    return found


def triton_side(is_interpreted: bool) -> tuple[list[gpu_languages.Language], str]:
    """Triton's ways of running the kernels, and its version or why it has none."""
    try:
        triton = gpu_languages.import_triton()
        if not triton:
            return [], "not installed"
        return gpu_languages.triton_languages(is_interpreted), triton.__version__
    except Exception as error:
        return [], f"of no use here: {gpu_measure.first_line(error)}"


def make_bench(device: str, size: str) -> tuple[gpu_measure.Bench, str]:
    """What all rows have in common, and Triton's version."""
    is_tiny = size == "tiny"
    on_gpu = device.startswith("cuda")
    if not on_gpu:
        os.environ["TRITON_INTERPRET"] = "1"  # Triton's own interpreter runs on the CPU
        os.environ["TILEWRIGHT_DEVICE"] = device
    languages, triton = triton_side(is_interpreted=not on_gpu)
    ours = gpu_languages.Language(gpu_measure.OURS, gpu_languages.read_sources("tilewright"))
    bench = gpu_measure.Bench(
        device=device if on_gpu else "cpu",
        clock=gpu_timing.make_clock(device),
        effort=gpu_timing.TINY if is_tiny else gpu_timing.FULL,
        ours=ours,
        triton=languages,
        tries_all=not is_tiny,
        tuning_seconds=15.0,
    )
    return bench, triton


def measure(bench: gpu_measure.Bench, rows: list[gpu_rows.Row]) -> int:
    for row in rows:
        try:
            result = gpu_measure.measure_row(row, bench, read_clocks)
        except Exception as error:
            result = gpu_measure.Result(row.name, failure=gpu_measure.first_line(error))
            report(result.as_json())
            try:
                bench.clock.synchronize()
            except Exception:
                return 0  # the GPU's context is lost: another process goes on
            continue
        finally:
            if bench.device.startswith("cuda"):
                torch.cuda.empty_cache()
        report(result.as_json())
    return 0


def replay(bench: gpu_measure.Bench, rows: list[gpu_rows.Row], who: str, setting: str) -> int:
    languages = [bench.ours, *bench.triton]
    chosen = [language for language in languages if language.name == who]
    gpu_measure.launch_often(rows[0], setting, chosen[0], bench, 3)
    return 0


def main(device: str, size: str, names: list[str]) -> int:
    rows = {row.name: row for row in gpu_rows.all_rows(size)}
    if device.startswith("cuda") and not torch.cuda.is_available():
        print(f"torch {torch.__version__} finds no GPU here: nothing is measured")
        return 1
    if names == ["--list"]:
        print("\n".join(rows))
        return 0
    bench, triton = make_bench(device, size)
    if names[0] == "--replay":
        return replay(bench, [rows[names[2]]], names[1], names[3])
    report({"machine": about(device, triton)})
    return measure(bench, [rows[name] for name in names])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
