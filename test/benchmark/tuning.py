"""Compares the tuning model's order of configurations with measurements on this machine's processor.

`python test/benchmark/tuning.py` measures every configuration of every space (tuning_kernels.py) for
each shape, in rounds, so that all of them see the same neighbours on the machine, and takes the least
time of each. Regret is how much longer the chosen configuration takes than the best one: the model's
first choice, and the fastest of the eight that it would have measured. Spread is the regret of choosing by one half of
the rounds, judged by the other: smaller regrets say nothing. Beside other programs,
`TILEWRIGHT_NUM_THREADS=1 tuning.py --cpu-time` measures what launches compute, and not what they wait for.
`--write` puts the table into results/tuning.md.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import tilewright as tw
from tilewright.native import native
from tilewright.tuning.model.predict import predicted
from tilewright.tuning.kept.recall import describe_device
from tilewright.tuning.model.shortlist import MEASURED_OF_SPACES, worth_measuring
from tilewright.tuning.spaces import expand
from tuning_kernels import WORKLOADS, Shape, Workload

RESULT = Path(__file__).parent / "results" / "tuning.md"
MEASURED = 8
HEAD = """# The tuning model beside measurements

`rank` is Spearman's correlation of predicted and measured times over all configurations, `first`
and `best of 8` how much longer the model's first choice and the fastest of its shortlist of eight
take than the fastest of all; `spread` is how much longer the fastest by one half of the rounds
takes by the other half. `model` is the time of all predictions, in which nothing is compiled.

"""


class Row(NamedTuple):
    """What is shown of a kernel and a shape."""

    name: str
    shape: Shape
    num_configs: int
    model_ms: float
    correlation: float
    first: float
    best_of_eight: float
    spread: float


def warm(workload: Workload, arguments: dict[str, Any], config: Any) -> Any:
    """A launch of a configuration that only compiles."""
    return workload.kernel.run(grid=workload.grid, warmup=True, **arguments, **config.all_kwargs())


def measure(
    calls: Sequence[Callable[[], Any]], rounds: int, seconds: float, clock: Callable[[], float]
) -> list[list[float]]:
    """The least milliseconds of each call by round: single calls for as long as `seconds` says, at least
    one."""
    for call in calls:
        call()
    return [[_least(call, seconds, clock) for call in calls] for _ in range(rounds)]


def _least(call: Callable[[], Any], seconds: float, clock: Callable[[], float]) -> float:
    least, now, end = math.inf, 0.0, clock() + seconds
    while now < end:
        start = clock()
        call()
        now = clock()
        least = min(least, (now - start) * 1e3)
    return least


def spread_of(rounds: Sequence[Sequence[float]]) -> float:
    """The larger regret of the two halves of the rounds, each judged by the other."""
    halves = [[min(times) for times in zip(*rounds[first::2])] for first in (0, 1)]
    return max(b[a.index(min(a))] / min(b) - 1 for a, b in (halves, halves[::-1]))


def ranks(values: Sequence[float]) -> list[float]:
    """The rank of each value; equal ones share the mean of theirs."""
    ordered = sorted(values)
    first = {value: ordered.index(value) for value in set(values)}
    return [first[value] + (ordered.count(value) - 1) / 2 for value in values]


def row_of(
    name: str, shape: Shape, rounds: int, seconds: float, clock: Callable[[], float]
) -> Row:
    """Predict and measure one kernel for one shape."""
    workload = WORKLOADS[name]
    arguments = workload.arguments(*shape)
    configs = list(expand(workload.space, [workload.constraint], workload.kernel))
    start = time.perf_counter()
    expected = [
        predicted(config, partial(warm, workload, arguments), arguments, workload.grid) for config in configs
    ]
    model_ms = (time.perf_counter() - start) * 1e3
    known = [found.ms for found in expected if found is not None]
    if len(known) < len(configs):
        raise ValueError(f"the model has no time of {name} for {shape}")
    launch = workload.kernel[workload.grid]
    calls = [partial(launch, **arguments, **config.all_kwargs()) for config in configs]
    measured = measure(calls, rounds, seconds, clock)
    taken = [min(times) for times in zip(*measured)]
    times = dict(zip(configs, known))
    chosen = (worth_measuring(times, count, configs) for count in (1, MEASURED))
    regrets = [min(taken[configs.index(c)] for c in found) / min(taken) - 1 for found in chosen]
    correlation = statistics.correlation(ranks(known), ranks(taken))
    return Row(name, shape, len(configs), model_ms, correlation, *regrets, spread_of(measured))


def tuning_seconds(name: str, shape: Shape, most: int | None) -> float:
    """How long the first launch of an autotuned kernel takes that measures so many configurations. The
    compiler is loaded before."""
    workload = WORKLOADS[name]
    tuned = tw.autotune(
        space=workload.space, constraints=[workload.constraint], key=[], measure_at_most=most
    )(workload.kernel)
    loads = WORKLOADS["gelu"]
    loads.kernel[loads.grid](**loads.arguments(64), BLOCK=64)
    arguments = workload.arguments(*shape)
    start = time.perf_counter()
    tuned[workload.grid](**arguments)
    return time.perf_counter() - start


def compared_seconds(name: str, pairs: int) -> tuple[float, float]:
    """The least seconds of tunings of a kernel's first shape with the model and with all configurations,
    in turns, each in a process and a cache of its own."""
    taken: dict[str, list[float]] = {"few": [], "all": []}
    for _ in range(pairs):
        for which, times in taken.items():
            with tempfile.TemporaryDirectory() as cache:
                environment = {**os.environ, "TILEWRIGHT_CACHE_DIR": cache}
                command = [sys.executable, __file__, "--only", name, "--one-tuning", which]
                made = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE)
            times.append(float(made.stdout))
    return min(taken["few"]), min(taken["all"])


def table(rows: Sequence[Row]) -> str:
    """The rows, and their means."""
    lines = ["| kernel | shape | configurations | model | rank | first | best of 8 | spread |", "|---" * 8 + "|"]
    for row in rows:
        lines.append(
            f"| {row.name} | {' x '.join(map(str, row.shape))} | {row.num_configs} | {row.model_ms:.0f} ms | "
            f"{row.correlation:.2f} | {100 * row.first:.1f} % | {100 * row.best_of_eight:.1f} % | "
            f"{100 * row.spread:.1f} % |"
        )
    means = [statistics.fmean(values) for values in zip(*(row[4:] for row in rows))]
    lines.append(
        f"| mean | | | | {means[0]:.2f} | {100 * means[1]:.1f} % | {100 * means[2]:.1f} % | "
        f"{100 * means[3]:.1f} % |"
    )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Print the table, and write it if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", choices=list(WORKLOADS), help="this kernel")
    parser.add_argument("--rounds", type=int, default=5, help="rounds over all configurations")
    parser.add_argument("--seconds", type=float, default=0.01, help="of a configuration in a round")
    parser.add_argument("--cpu-time", action="store_true", help="of the process, for one thread")
    parser.add_argument("--write", action="store_true", help=f"write {RESULT.name}")
    parser.add_argument("--pairs", type=int, default=5, help="tunings that are timed")
    parser.add_argument("--one-tuning", choices=("few", "all"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one_tuning:
        name, most = options.only[0], None if options.one_tuning == "few" else 10**6
        print(tuning_seconds(name, WORKLOADS[name].shapes[0], most))
        return
    clock = time.process_time if options.cpu_time else time.perf_counter
    rows: list[Row] = []
    for name in options.only or WORKLOADS:
        for shape in WORKLOADS[name].shapes:
            rows.append(row_of(name, shape, options.rounds, options.seconds, clock))
            print(table(rows[-1:]).splitlines()[2], flush=True)
    name, shape = "matmul", WORKLOADS["matmul"].shapes[0]
    few, every = compared_seconds(name, options.pairs)
    speed = (
        f"\nThe first launch of {name} for {' x '.join(map(str, shape))}: {every:.2f} s with all\n"
        f"configurations, {few:.2f} s with {MEASURED_OF_SPACES} by the model, {every / few:.1f} times as fast.\n"
    )
    where = f"{describe_device('cpu')}; build {native().build_id()[:12]};\n"
    text = table(rows) + speed
    print(text)
    if options.write:
        command = f"`test/benchmark/tuning.py --rounds {options.rounds} --seconds {options.seconds}{' --cpu-time' * options.cpu_time} --write`"
        RESULT.write_text(f"{HEAD}{where}{command}\n\n{text}", encoding="utf-8")


if __name__ == "__main__":
    main()
