"""Measures Tilewright's kernels beside torch, torch.compile, NumPy, numba and JAX: `make bench`.

All participants of a row run in one process, in turn, on the same tensors, with the same number of
threads and with outputs that exist already. A ratio is a peer's time / our time in the same round;
the table shows the median over the rounds and the middle half. Before each sample of `alone` the
others' threads go to sleep; `beside torch` is single calls in turn with torch's, without a pause.
Peaks are those of loops in C on the same threads, right after the row. Compile times come from fresh
processes."""

from __future__ import annotations

import argparse
import functools
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

THREADS = int(os.environ.get("TILEWRIGHT_NUM_THREADS", "2"))
os.environ["TILEWRIGHT_NUM_THREADS"] = str(THREADS)

import launches  # noqa: E402
import peaks  # noqa: E402  the number of threads is read at the first use
import peers  # noqa: E402
import report  # noqa: E402
import torch  # noqa: E402
import workloads  # noqa: E402
from report import OURS, Row, Start  # noqa: E402
from workloads import Workload  # noqa: E402

Call = Callable[[], object]

SAMPLE_MS = 4.0  # a sample repeats short calls until it is this long
MIN_TURNS, MAX_TURNS = 5, 500  # of single calls in turn with torch's
# Lets the other side's waiting threads go to sleep before a sample: OpenBLAS's take 25 ms.
PAUSE_S = 0.04


def milliseconds(call: Call, repeats: int) -> float:
    """Time of one call, the mean of `repeats`, after an untimed one that wakes the threads."""
    time.sleep(PAUSE_S)
    call()
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - start) * 1e3 / repeats


def interleave(calls: dict[str, Call], rounds: int) -> dict[str, list[float]]:
    """One sample of every participant a round; who begins changes from round to round."""
    repeats: dict[str, int] = {}
    for name, call in calls.items():
        call()
        repeats[name] = max(1, math.ceil(SAMPLE_MS / milliseconds(call, 1)))
    names = list(calls)
    times: dict[str, list[float]] = {name: [] for name in names}
    for index in range(rounds):
        for name in names[index % len(names) :] + names[: index % len(names)]:
            times[name].append(milliseconds(calls[name], repeats[name]))
    return times


def alternate(ours: Call, peer: Call, seconds: float) -> tuple[list[float], list[float]]:
    """Single calls in turn, as a program mixes both, without a pause: each finds the other's
    threads still awake and the caches as the other left them. A pair of times a turn."""
    mine: list[float] = []
    theirs: list[float] = []
    end = time.perf_counter() + seconds
    while len(mine) < MIN_TURNS or (time.perf_counter() < end and len(mine) < MAX_TURNS):
        start = time.perf_counter()
        peer()
        middle = time.perf_counter()
        ours()
        theirs.append((middle - start) * 1e3)
        mine.append((time.perf_counter() - middle) * 1e3)
    return mine, theirs


def check(workload: Workload, tensors: dict[str, Any], call: Callable[[], Any]) -> Any:
    """Runs our kernel into a poisoned output and compares; returns the compiled kernel."""
    out = tensors["out"]
    out.fill_(float("nan") if out.is_floating_point() else -1)
    kernel = call()
    reference = workloads.expected(workload.family, tensors)
    error = (tensors["out"].double() - reference).abs() / reference.abs().clamp(min=1)
    if not bool((error <= workload.tolerance).all()):
        worst = error.nan_to_num(nan=math.inf).max().item()
        raise AssertionError(
            f"{workload.name}: wrong result, error {worst:.3g}, allowed {workload.tolerance:.3g}"
        )
    return kernel


def participants(row: Row, workload: Workload, tensors: dict[str, Any], names: list[str]) -> dict:
    """The peers that can do the workload, by name; the others are noted in the row."""
    makers = {
        "torch": peers.eager, "torch.compile": peers.compiled, "NumPy": peers.by_numpy,
        "numba": peers.by_numba, "JAX": peers.by_jax,
    }  # fmt: skip
    calls: dict[str, Call] = {}
    for name in names:
        try:
            call = makers[name](workload.family, tensors)
        except Exception as error:  # torch.compile fails in many ways, all of them its own
            first = str(error).strip().split("\n")[0][:100]
            row.absent[name] = f"{type(error).__name__}: {first}"
            continue
        if call is not None:
            calls[name] = call
    return calls


def measure(workload: Workload, names: list[str], rounds: int) -> Row:
    import kernels

    tensors = workload.inputs(torch.Generator().manual_seed(0))
    ours = getattr(kernels, workload.family)(tensors).bound()
    kernel = check(workload, tensors, ours)
    row = Row(
        workload.name, workload.unit, workload.work, workload.goal, kernel.metadata.code_bytes
    )
    row.instruction = report.product_instruction(workload.peak, kernel.asm["asm"])
    calls = {OURS: ours, **participants(row, workload, tensors, names)}
    row.milliseconds = interleave(calls, rounds)
    if "torch" in calls:
        row.beside_torch = alternate(ours, calls["torch"], rounds / 20)
    row.peak = peaks.measure(workload.peak, THREADS)
    return row


def probe(family: str) -> None:
    """In a fresh process: times what stands between a program's start and its first result."""
    start = time.perf_counter()
    import tilewright

    tilewright.list_devices()  # loads the native module
    import_ms = (time.perf_counter() - start) * 1e3
    import kernels
    from tilewright.capture import capture

    workload = next(w for w in workloads.workloads() if w.family == family)
    launch = getattr(kernels, family)(workload.inputs(torch.Generator().manual_seed(0)))
    start = time.perf_counter()
    capture(launch.kernel)
    captured = time.perf_counter()
    kernel = launch.compiled()
    compiled = time.perf_counter()
    total = (compiled - start) * 1e3
    pieces = {"capture": (captured - start) * 1e3, **kernel.milliseconds}
    # "llvm/codegen" is a part of "llvm".
    whole = sum(ms for name, ms in pieces.items() if "/" not in name)
    pieces["rest"] = max(0.0, total - whole)
    result = {
        "import_ms": import_ms,
        "first_ms": total,
        "pieces": pieces,
        "origin": kernel.origin,
        "code_bytes": kernel.metadata.code_bytes,
    }
    print(json.dumps(result))


@functools.cache
def bytecode() -> tempfile.TemporaryDirectory[str]:
    """A folder with the bytecode of every module that probes import, as an installed package has it."""
    folder = tempfile.TemporaryDirectory()
    with tempfile.TemporaryDirectory() as cache:
        run_probe("add", cache, folder.name)
        run_probe("add", cache, folder.name)  # from the disk cache: imports others
    return folder


def run_probe(family: str, cache: str, compiled: str) -> dict[str, Any]:
    inherited = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    result = subprocess.run(
        [sys.executable, __file__, "--probe", family],
        env={**inherited, "TILEWRIGHT_CACHE_DIR": cache, "PYTHONPYCACHEPREFIX": compiled},
        capture_output=True,
        text=True,
    )
    if result.returncode != 0:
        raise RuntimeError(f"measuring the first call of {family} failed:\n{result.stderr}")
    return json.loads(result.stdout.splitlines()[-1])


def measure_start(family: str, processes: int) -> Start:
    """Fresh processes in pairs: one with an empty cache, one that finds the first one's kernel."""
    pairs: list[tuple[dict[str, Any], dict[str, Any]]] = []
    for _ in range(processes):
        with tempfile.TemporaryDirectory() as cache:
            first, second = (run_probe(family, cache, bytecode().name) for _ in range(2))
            pairs.append((first, second))
    first, second = min(
        pairs,
        key=lambda p: abs(p[0]["first_ms"] - statistics.median(q[0]["first_ms"] for q in pairs)),
    )
    return Start(
        family=family,
        import_ms=first["import_ms"],
        first_ms=first["first_ms"],
        first_pieces=first["pieces"],
        second_ms=statistics.median(pair[1]["first_ms"] for pair in pairs),
        second_origin=second["origin"],
        code_bytes=first["code_bytes"],
    )


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", action="append", default=[], help="rows whose name contains this")
    parser.add_argument("--quick", action="store_true", help="few rounds, no torch.compile")
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    parser.add_argument("--no-start", action="store_true", help="leave the compile times out")
    parser.add_argument("--rounds", type=int, help="rounds for each row; 21, with --quick 5")
    parser.add_argument("--json", metavar="FILE", help="also write every single time")
    parser.add_argument("--results", metavar="FILE", help="also write medians, as results/cpu.json has")
    parser.add_argument("--probe", metavar="FAMILY", help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    arguments = parse()
    if arguments.probe:
        probe(arguments.probe)
        return 0
    peers.prepare(THREADS)
    rounds = arguments.rounds or (5 if arguments.quick else 21)
    names = ["torch", "torch.compile", "NumPy", *peers.installed()]
    if arguments.quick or arguments.no_compile:
        names.remove("torch.compile")
    chosen = [
        w
        for w in workloads.workloads()
        if (w.is_quick or not arguments.quick)
        and (not arguments.only or any(part in w.name for part in arguments.only))
    ]
    if not chosen:
        print("no row has a name like that", file=sys.stderr)
        return 2
    about = report.machine(THREADS)
    print(", ".join(f"{key} {value}" for key, value in about.items()), flush=True)
    if why := peaks.absence():
        print(f"no peaks, nor goals that are a share of one: {why}", flush=True)
    rows: list[Row] = []
    for workload in chosen:
        print(f"measuring {workload.name}", file=sys.stderr, flush=True)
        rows.append(measure(workload, names, rounds))
    print("\nratios: peer's time / our time, above 1 we are faster; median (middle half)\n")
    print(report.speed_table(rows, names), flush=True)
    starts: list[Start] = []
    if not arguments.no_start:
        families = dict.fromkeys(w.family for w in chosen)
        starts = [measure_start(family, 1 if arguments.quick else 5) for family in families]
        print("\ncompile time in fresh processes, milliseconds; imports apart\n")
        print(report.start_table(starts))
        measured = {**launches.on_cpu(), **launches.on_double()}
        print("\n" + report.launch_lines(measured))
    if arguments.json:
        report.write_json(arguments.json, about, rows, starts)
    if arguments.results:
        report.write_results(arguments.results, about, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
