"""Asks NVIDIA's profiler why a kernel is slow, in one line; says so where it cannot be asked."""

from __future__ import annotations

import csv
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence

# Nsight Compute's names, "Metrics Reference"; what a GPU lacks is left out.
METRICS = {
    "gpu__time_duration.sum": "duration",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed": "SM",
    "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed": "DRAM",
    "l1tex__throughput.avg.pct_of_peak_sustained_elapsed": "L1 and shared memory",
    "lts__throughput.avg.pct_of_peak_sustained_elapsed": "L2",
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active": "matrix pipe",
    "sm__inst_executed_pipe_tensor.sum": "matrix instructions",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "warps active",
    "smsp__issue_active.avg.pct_of_peak_sustained_active": "issue slots",
    "launch__registers_per_thread": "registers",
    "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum": "shared wavefronts",
    "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum": "shared bank conflicts",
}
STALLS = (
    *("long_scoreboard", "short_scoreboard", "barrier", "math_pipe_throttle", "mio_throttle"),
    *("lg_throttle", "wait", "not_selected", "no_instruction", "dispatch_stall", "membar"),
)
STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"


def find_profiler() -> str | None:
    return shutil.which("ncu") or shutil.which("/usr/local/cuda/bin/ncu")


def command_of(ncu: str, kernel: str, replay: Sequence[str], is_short: bool) -> list[str]:
    """Profiles the third launch of a kernel. The GPU's clocks are left as they are."""
    names = [*METRICS, *(STALL.format(name) for name in STALLS)]
    metrics = ",".join(names[:5] if is_short else names)
    options = ["--csv", "--clock-control", "none", "--target-processes", "all"]
    chosen = ["--kernel-name", f"regex:^{kernel}", "--launch-skip", "2", "--launch-count", "1"]
    return [ncu, *options, *chosen, "--metrics", metrics, *replay]


def read_values(text: str) -> dict[str, tuple[float, str]]:
    """Metric -> value and unit, from the profiler's CSV, which other output may precede."""
    lines = text.splitlines()
    starts = [i for i, line in enumerate(lines) if line.startswith('"ID"')]
    found: dict[str, tuple[float, str]] = {}
    for row in csv.DictReader(lines[starts[0] :]) if starts else ():
        try:
            value = float((row.get("Metric Value") or "").replace(",", ""))
        except ValueError:
            continue  # "n/a"
        found[row.get("Metric Name") or ""] = value, row.get("Metric Unit") or ""
    return found


def sentence(values: Mapping[str, tuple[float, str]]) -> str:
    """The throughputs, then what warps wait for, the longest first."""
    parts: list[str] = []
    for metric, name in METRICS.items():
        if metric in values:
            value, unit = values[metric]
            parts.append(f"{name} {value:.4g}{'%' if unit == '%' else f' {unit}'.rstrip()}")
    stalls = [(values.get(STALL.format(name), (0.0, ""))[0], name) for name in STALLS]
    waits = [f"{name} {value:.2f}" for value, name in sorted(stalls, reverse=True)[:4] if value]
    if waits:
        parts.append(f"warps waiting at each issue for: {', '.join(waits)}")
    return "; ".join(parts)


def profile(kernel: str, replay: Sequence[str], seconds: float, ncu: str | None = None) -> str:
    """What the profiler says of a kernel that `replay` launches three times, or why it does not."""
    ncu = ncu or find_profiler()
    if not ncu:
        return "there is no ncu here"
    end, reason = time.monotonic() + seconds, ""
    for is_short in (False, True):  # what this profiler does not know may spoil all of it
        command = command_of(ncu, kernel, replay, is_short)
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                timeout=max(end - time.monotonic(), 1),
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"ncu did not end within {seconds:.0f} s"
        except OSError as error:
            return f"ncu does not run: {error}"
        if text := sentence(read_values(done.stdout)):
            return text
        reason = reason or why_nothing(done)
    return reason


def why_nothing(done: subprocess.CompletedProcess[str]) -> str:
    words = ("==ERROR==", "ERR_NVGPUCTRPERM", "Failed", "Error")
    lines = [line.strip() for line in (done.stdout + done.stderr).splitlines()]
    told = [line for line in lines if any(word in line for word in words)]
    what = " ".join(told)[:300] or "no reason"
    return f"ncu says nothing of it (exit {done.returncode}): {what}"
