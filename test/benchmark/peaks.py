"""What this processor can do at most, measured beside the rows: products and memory by loops in C (peaks.c).

A row's share of its peak is its rate / the best rate of such a loop on the same threads. There are
none where the loops are unknown (other processors than x86-64) or no C compiler is found."""

from __future__ import annotations

import ctypes
import functools
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import torch

SOURCE = pathlib.Path(__file__).with_name("peaks.c")
SECONDS = 0.3  # of every loop
TURNS = 100_000  # of a product's loop, in a call: less than a millisecond or two
STREAM_ELEMENTS = 1 << 24  # of fp32, as in the rows: larger than every cache


class Peak(NamedTuple):
    """A rate in GFLOP/s, GOP/s or GB/s, and the loop that reached it."""

    rate: float
    loop: str


class Loop(NamedTuple):
    """A function of peaks.c: the flag of Linux that it needs, and what one turn of it counts."""

    name: str
    flag: str
    operations: int
    needs_amx: bool = False


_FMA = (Loop("fma_512", "avx512f", 12 * 16 * 2), Loop("fma_256", "fma", 12 * 8 * 2))
# By kind of row: all loops that multiply these numbers; the fastest is the peak.
PRODUCTS: dict[str, tuple[Loop, ...]] = {
    "fp32": _FMA,
    "bf16": (
        Loop("tdpbf16ps", "amx_bf16", 4 * 16 * 16 * 32 * 2, True),
        Loop("dpbf16_512", "avx512_bf16", 12 * 32 * 2),
        *_FMA,
    ),
    "int8": (
        Loop("tdpbssd", "amx_int8", 4 * 16 * 16 * 64 * 2, True),
        Loop("dpbusd_512", "avx512_vnni", 12 * 64 * 2),
    ),
}
STREAMS = {"copy": 2, "add": 3}  # arrays that it moves


def features() -> list[str]:
    """The instructions of this processor that a product may use, by Linux's names."""
    known = ("avx2", "fma", "f16c", "avx512f", "avx512_bf16", "avx512_fp16", "avx512_vnni",
             "avx_vnni", "amx_bf16", "amx_fp16", "amx_int8")  # fmt: skip
    return [name for name in known if name in _flags()]


@functools.cache
def _flags() -> frozenset[str]:
    cpuinfo = pathlib.Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.is_file() else []
    return frozenset(next((x.split() for x in lines if x.startswith("flags")), []))


@functools.cache
def _build() -> ctypes.CDLL | str:
    """The loops, or why there are none."""
    compiler = shutil.which("gcc") or shutil.which("clang-22")
    if "fma" not in _flags():
        return "the loops are for x86-64 with FMA"
    if not compiler:
        return "there is no C compiler"
    with tempfile.TemporaryDirectory() as folder:
        library = os.path.join(folder, "peaks.so")
        command = [compiler, "-O3", "-shared", "-fPIC", str(SOURCE), "-o", library]
        if subprocess.run(command, capture_output=True).returncode:
            return f"{compiler} does not know every instruction of peaks.c"
        return ctypes.CDLL(library)


def absence() -> str:
    """Why no peak can be measured here; empty where one can."""
    built = _build()
    return built if isinstance(built, str) else ""


def _rate(calls: list[Callable[[], object]], work: float) -> float:
    """The sum over threads, one a call, of work / the median time of its calls in the second half of
    `SECONDS`: at first a system may run them on one core."""
    start = time.perf_counter()

    def repeat(call: Callable[[], object]) -> float:
        times = []
        while (begin := time.perf_counter()) < start + SECONDS or not times:
            call()
            times.append(time.perf_counter() - begin)
        return work / statistics.median(times[len(times) // 2 :])

    with ThreadPoolExecutor(len(calls)) as pool:
        return sum(pool.map(repeat, calls))


def _rate_of_product(library: ctypes.CDLL, loop: Loop, threads: int) -> float:
    function, turns = getattr(library, loop.name), ctypes.c_long(TURNS)
    places = [ctypes.create_string_buffer(8192) for _ in range(threads)]
    calls = [lambda place=place: function(turns, place) for place in places]
    return _rate(calls, TURNS * loop.operations / 1e9)


@functools.cache
def _arrays() -> tuple[torch.Tensor, ...]:
    return tuple(torch.ones(STREAM_ELEMENTS) for _ in range(3))


def _rate_of_stream(library: ctypes.CDLL, name: str, moved: int, threads: int) -> float:
    function = getattr(library, name)
    part = STREAM_ELEMENTS // threads // 16 * 16
    starts = [[a.data_ptr() + 4 * part * i for a in _arrays()] for i in range(threads)]
    calls = [
        lambda at=at: function(ctypes.c_long(part), *map(ctypes.c_void_p, at)) for at in starts
    ]
    return _rate(calls, moved * 4 * part / 1e9)


def measure(kind: str, threads: int) -> Peak | None:
    """The peak of a kind of PRODUCTS or STREAMS now; None where no loop runs here."""
    library = _build()
    if isinstance(library, str):
        return None
    if kind in STREAMS:
        name = f"{kind}_512" if "avx512f" in _flags() else f"{kind}_256"
        return Peak(_rate_of_stream(library, name, STREAMS[kind], threads), name)
    usable = [
        loop
        for loop in PRODUCTS[kind]
        if loop.flag in _flags() and (not loop.needs_amx or library.may_use_amx())
    ]
    rates = (Peak(_rate_of_product(library, loop, threads), loop.name) for loop in usable)
    return max(rates, default=None)
