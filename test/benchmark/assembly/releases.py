"""Compares what assemblers make of PTX: the table of backend/nvidia/assemble/README.md.

`releases.py FOLDER ASSEMBLER...` reads the files *ptx* below the folder, as a run of the tests with
TILEWRIGHT_DUMP=FOLDER leaves them there, each text once. An assembler is a path of ptxas or libnvJitLink.
For each architecture it prints geometric means relative to the first assembler: machine instructions,
those of the largest loop, registers; and the bytes that are spilled."""

from __future__ import annotations

import ctypes
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

import sass

PTX_INPUT = 2  # nvJitLinkInputType
SPILLS = re.compile(r"(\d+) bytes spill stores, (\d+) bytes spill loads")


class Counts(NamedTuple):
    instructions: int
    largest_loop: int
    registers: int
    spilled: int


class Failure(Exception):
    pass


def by_program(path: str, ptx: bytes, arch: str, cubin: pathlib.Path) -> str:
    """Assemble into a file by ptxas; return its log."""
    source = cubin.with_suffix(".ptx")
    source.write_bytes(ptx)
    command = [path, f"-arch={arch}", "-v", str(source), "-o", str(cubin)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Failure(done.stderr)
    return done.stderr


def by_library(path: str, ptx: bytes, arch: str, cubin: pathlib.Path) -> str:
    """Assemble into a file by libnvJitLink; return its log."""
    library = ctypes.CDLL(path)
    versions = (f"_{major}_{minor}" for major in (13, 12) for minor in range(19, -1, -1))
    suffix = next(v for v in versions if hasattr(library, f"__nvJitLinkCreate{v}"))

    def call(name: str, *arguments: object) -> None:
        if code := getattr(library, f"__nvJitLink{name}{suffix}")(*arguments):
            raise Failure(f"nvJitLink{name} returns {code}")

    def read(what: str) -> bytes:
        size = ctypes.c_size_t()
        call(f"Get{what}Size", handle, ctypes.byref(size))
        data = ctypes.create_string_buffer(size.value)
        call(f"Get{what}", handle, data)
        return data.raw

    words = [f"-arch={arch}".encode(), b"-O3", b"-verbose"]
    handle = ctypes.c_void_p()
    call("Create", ctypes.byref(handle), len(words), (ctypes.c_char_p * len(words))(*words))
    call("AddData", handle, PTX_INPUT, ptx, ctypes.c_size_t(len(ptx)), b"kernel")
    call("Complete", handle)
    cubin.write_bytes(read("LinkedCubin"))
    log = read("InfoLog").decode()
    call("Destroy", ctypes.byref(handle))
    return log


def count(assemblers: list[str], ptx: bytes) -> tuple[str, list[Counts | None]]:
    """The architecture of a text, and the counts by each assembler; None where it refuses the text."""
    found = re.search(rb"^\.target (\w+)", ptx, re.M)
    arch = found[1].decode() if found else ""
    counts: list[Counts | None] = []
    for path in assemblers:
        with tempfile.TemporaryDirectory() as folder:
            cubin = pathlib.Path(folder, "kernel.cubin")
            assemble = by_library if ".so" in os.path.basename(path) else by_program
            try:
                log = assemble(path, ptx, arch, cubin)
            except Failure:
                counts.append(None)
                continue
            code, loops = sass.parse(sass.run_nvdisasm("-c", str(cubin)))
        largest = max((loop.last - loop.first + 1 for loop in loops), default=0)
        registers = max(map(int, re.findall(r"Used (\d+) registers", log)), default=0)
        spilled = sum(int(number) for pair in SPILLS.findall(log) for number in pair)
        counts.append(Counts(len(code), largest, registers, spilled))
    return arch, counts


def mean_ratio(pairs: list[tuple[int, int]]) -> float:
    logarithms = [math.log(mine / first) for mine, first in pairs if mine and first]
    return math.exp(sum(logarithms) / len(logarithms)) if logarithms else 1.0


def main(folder: str, *assemblers: str) -> None:
    texts = {path.read_bytes() for path in pathlib.Path(folder).rglob("*ptx*") if path.is_file()}
    by_arch: defaultdict[str, list[list[Counts]]] = defaultdict(list)
    refused = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for arch, counts in pool.map(partial(count, list(assemblers)), sorted(texts)):
            whole = [each for each in counts if each]
            refused += len(whole) < len(counts)
            if len(whole) == len(counts):
                by_arch[arch].append(whole)
    print(f"{sum(map(len, by_arch.values()))} kernels, and {refused} that some assembler refused\n")
    print("| | assembler | instructions | largest loop | registers | bytes spilled |")
    print("|---|---|---|---|---|---|")
    for arch, kernels in sorted(by_arch.items()):
        for index, path in enumerate(assemblers):
            means = [
                f"{mean_ratio([(kernel[index][field], kernel[0][field]) for kernel in kernels]):.3f}"
                for field in range(3)
            ]
            spilled = sum(kernel[index].spilled for kernel in kernels)
            print(f"| {arch} ({len(kernels)}) | {path} | {' | '.join(means)} | {spilled} |")


if __name__ == "__main__":
    main(*sys.argv[1:])
