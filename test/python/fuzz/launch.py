"""Runs a generated kernel on a device and on the reference, and compares all the memory that it
could reach.
"""

from __future__ import annotations

import linecache
import random
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from generate import generate, source
from kernel_text import WILD, Array, is_float

import tilewright as tw

GUARD = 64  # elements around every array, which nothing may change
TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 1e-4, "float64": 1e-9}


class Mismatch(Exception):
    """The devices left different memory."""


@dataclass
class Case:
    """What a failing kernel needs to run again."""

    source: str
    arrays: dict[str, Array]
    scalars: dict[str, int]
    grid: int
    seed: int
    device: str = "cpu"
    num_warps: int = 4
    schedule: str = "round-robin"


def make_case(seed: int, device: str = "cpu", powers_only: bool | None = None) -> Case:
    """The kernel of a seed. Simulated devices get any number of warps, warps that advance in any
    order and, unless `powers_only` decides, powers of two as extents in every second kernel."""
    if not device.startswith("sim"):
        k = generate(seed)
        return Case(source(k), k.arrays, k.scalars, k.grid, seed, device)
    rng = random.Random(seed)
    num_warps, schedule = rng.choice([1, 2, 4, 8]), rng.choice(tw.simulation.SCHEDULES)
    if powers_only is None:
        powers_only = rng.random() < 0.5
    k = generate(seed, powers_only)
    return Case(source(k), k.arrays, k.scalars, k.grid, seed, device, num_warps, schedule)


def stored(values: np.ndarray, dtype: str) -> np.ndarray:
    """Numbers as elements; bfloat16 as its bits."""
    if dtype == "bfloat16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return values.astype("bool" if dtype == "int1" else dtype)


def wild(rng: np.random.Generator, dtype: str, count: int) -> np.ndarray:
    """Floats of all magnitudes, with infinities, NaNs, denormal numbers and zeros among them."""
    kind = np.dtype("uint16" if dtype == "bfloat16" else dtype)
    values = np.frombuffer(rng.bytes(count * kind.itemsize), kind).copy()
    special = stored(rng.choice([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, 2.0**-130], count), dtype)
    return np.where(rng.random(count) < 0.3, special, values)


def contents(rng: np.random.Generator, array: Array, count: int) -> np.ndarray:
    if array.index_below:
        order = rng.permutation(array.index_below)
        return np.resize(order, count).astype(array.dtype)
    if array.bound == WILD:
        return wild(rng, array.dtype, count)
    if is_float(array.dtype):
        return stored(rng.integers(-array.bound, array.bound + 1, count), array.dtype)
    if array.dtype == "int1":
        return rng.integers(0, 2, count).astype(bool)
    if rng.random() < 0.5:
        return rng.integers(0, 20, count).astype(array.dtype)
    size = np.dtype(array.dtype).itemsize
    return np.frombuffer(rng.bytes(count * size), array.dtype).copy()


def make_memory(case: Case) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    """A guarded buffer for each array that has memory of its own, and where every array begins."""
    rng = np.random.default_rng(case.seed)
    memory: dict[str, np.ndarray] = {}
    starts = {}
    for name, array in case.arrays.items():
        aliases = [a for a in case.arrays.values() if a.alias and a.alias[0] == name]
        extra = sum(a.extent + (a.alias[1] if a.alias else 0) for a in aliases)
        starts[name] = GUARD + array.misalignment
        if array.alias:
            starts[name] = starts[array.alias[0]] + array.alias[1]
        else:
            count = max(array.extent + 16, 1) * case.grid + extra + 2 * GUARD + 8
            memory[name] = contents(rng, array, count)
            if array.index_below:
                memory[name][starts[name] :] = contents(rng, array, count - starts[name])
    return memory, starts


def argument(memory: np.ndarray, start: int, dtype: str) -> Any:
    if dtype == "bfloat16":
        return torch.from_numpy(memory.view(np.int16)).view(torch.bfloat16)[start:]
    return memory[start:]


def load_kernel(source: str, name: str) -> Any:
    filename = f"<fuzz {name}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    module = {"__name__": f"fuzz_{name}"}
    exec(compile(source, filename, "exec"), module)  # noqa: S102
    return module["kernel"]


def run_on(device: str, kernel: Any, case: Case) -> dict[str, np.ndarray]:
    memory, starts = make_memory(case)
    arguments = []
    for name, array in case.arrays.items():
        home = memory[array.alias[0] if array.alias else name]
        arguments.append(argument(home, starts[name], array.dtype))
    with tw.device(device):
        kernel[(case.grid,)](*arguments, *case.scalars.values(), num_warps=case.num_warps)
    return memory


def numbers(memory: np.ndarray, dtype: str) -> np.ndarray:
    if dtype == "bfloat16":
        return (memory.astype(np.uint32) << 16).view(np.float32)
    return memory


def compare(case: Case, actual: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> None:
    for name in actual:
        array = case.arrays[name]
        a, b = numbers(actual[name], array.dtype), numbers(expected[name], array.dtype)
        same = a == b
        if is_float(array.dtype):
            same |= np.isnan(a) & np.isnan(b)
            if not array.is_exact:
                x, y = a.astype(np.float64), b.astype(np.float64)
                tolerance = TOLERANCE[array.dtype]
                with np.errstate(all="ignore"):
                    same |= np.abs(x - y) <= tolerance * (1 + np.abs(y))
        if not same.all():
            at = np.flatnonzero(~same)
            start = GUARD + array.misalignment
            wrong = ", ".join(f"[{i - start}] {a[i]} for {b[i]}" for i in at[:4])
            raise Mismatch(f"{name} ({array.dtype}): {len(at)} of {a.size} differ: {wrong}")


def check(case: Case) -> None:
    """Raises Mismatch when the devices differ, and whatever compiling or running raises."""
    kernel = load_kernel(case.source, str(case.seed))
    expected = run_on("reference", kernel, case)
    if not case.device.startswith("sim"):
        compare(case, run_on(case.device, kernel, case), expected)
        return
    with tw.simulation.simulate(case.device, schedule=case.schedule, seed=case.seed):
        compare(case, run_on(case.device, kernel, case), expected)
