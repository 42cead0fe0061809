"""Cycles of a kernel on a GPU, from the work of its programs and from what its code takes."""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple

from ...analysis.instructions import read_code
from ...analysis.text import bytes_of
from .work import Access, Work, times


class Gpu(NamedTuple):
    """A GPU per multiprocessor and cycle, and as a whole."""

    processors: int
    schedulers: int  # each issues an instruction of a warp a cycle
    registers: int
    shared_bytes: int
    most_warps: int
    most_programs: int
    products: float  # multiplications and additions of 16-bit elements
    cache_bytes: float  # a cycle from the second-level cache to one multiprocessor
    memory_bytes: float  # a cycle from memory to all of them


# By architecture, from the vendors' white papers and programming guides (CUDA C++ Programming Guide,
# "Technical Specifications per Compute Capability"; "CDNA 3 Instruction Set Architecture").
_GPUS = {
    "80": Gpu(108, 4, 65536, 164 << 10, 64, 32, 1024, 64, 1100),
    "86": Gpu(84, 4, 65536, 100 << 10, 48, 16, 512, 64, 440),
    "89": Gpu(128, 4, 65536, 100 << 10, 48, 24, 512, 64, 400),
    "90": Gpu(132, 4, 65536, 228 << 10, 64, 32, 2048, 64, 2800),
    "100": Gpu(148, 4, 65536, 228 << 10, 64, 32, 4096, 64, 4200),
    "120": Gpu(170, 4, 65536, 100 << 10, 48, 24, 512, 64, 750),
    "gfx90a": Gpu(104, 4, 131072, 64 << 10, 32, 16, 1024, 64, 960),
    "gfx942": Gpu(304, 4, 131072, 64 << 10, 32, 16, 1024, 64, 2500),
    "gfx950": Gpu(256, 4, 131072, 160 << 10, 32, 16, 2048, 128, 3300),
    "gfx1100": Gpu(96, 2, 98304, 64 << 10, 32, 16, 256, 64, 390),
    "gfx1201": Gpu(64, 2, 98304, 64 << 10, 32, 16, 512, 64, 220),
    # Numbers that are not known are gfx950's.
    "gfx1250": Gpu(256, 4, 131072, 320 << 10, 64, 16, 2048, 128, 3300),
}  # fmt: skip
_LATENCY = 600.0  # cycles of a load from memory
_SHARED_BYTES = 128.0  # a cycle to and from shared memory
_LOCAL_BYTES = 64.0  # a cycle to and from the first cache
_REGISTER_STEP = 256  # registers of a warp are handed out in steps of this


def known_gpu(arch: str) -> Gpu | None:
    """The GPU of an architecture; None for one that is not in the table."""
    return _GPUS.get(arch) or _GPUS.get(arch.rstrip("a"))


def gpu_named(arch: str) -> Gpu:
    """The GPU of an architecture; of one that is not in the table the likest."""
    return known_gpu(arch) or _GPUS["gfx942" if arch.startswith("gfx") else "90"]


class Code(NamedTuple):
    """What a compiled program takes, as the compiler counts it."""

    warps: int
    warp_size: int
    registers: int  # of a lane
    spill_bytes: int
    shared_bytes: int
    stages: int
    straight: int  # instructions outside loops
    loop: int  # instructions of the longest loop
    narrow: float  # how many times as many accesses there are as with the widest ones
    converted_bytes: int  # that change lanes through shared memory


def guessed_code(work: Work, warps: int, stages: int, warp_size: int) -> Code:
    """What a program takes as far as its work tells, before anything is compiled: sums of products in
    registers, what a loop copies for them in shared memory once a stage, and 16 bytes an access."""
    lanes = warps * warp_size
    sums = max((p.m * p.n / lanes for p in work.products), default=0.0)
    registers = _FEW_REGISTERS + sums
    inside = [a for a in work.accesses if a.loops and not a.is_store] if work.products else []
    shared = stages * sum(a.type.bytes for a in inside)
    loop = sum(a.type.bytes / 16 / lanes for a in inside)
    loop += sum(p.m * p.n * p.k / _MMA / warps for p in work.products)
    loop += sum(a.type.size / lanes for a in work.arithmetic if a.loops)
    straight = sum(a.type.size / lanes for a in (*work.arithmetic, *work.accesses) if not a.loops)
    spilled = max(0.0, registers - _MOST_REGISTERS) * 4
    return Code(
        warps, warp_size, int(min(registers, _MOST_REGISTERS)), int(spilled), int(shared), stages,
        int(straight), int(loop), 1.0, 0,
    )  # fmt: skip


_FEW_REGISTERS = 40  # addresses, masks and operands beside the sums
_MOST_REGISTERS = 255
_MMA = 16 * 8 * 16  # multiplications of an instruction
_NARROW = re.compile(r"accesses of (\d+) bytes instead of (\d+)")
_CONVERTED = re.compile(r"through shared memory of (\d+) bytes")


def code_of(kernel: Any, guess: Code) -> Code:
    """What a compiled kernel takes: its registers are guessed where nothing was assembled."""
    resources = kernel.resources
    messages = [remark["message"] for remark in kernel.remarks]
    narrow = [int(m[2]) / int(m[1]) for text in messages if (m := _NARROW.search(text))]
    converted = [int(m[1]) for text in messages if (m := _CONVERTED.search(text))]
    is_ptx = "ptx" in kernel.asm
    read = read_code(kernel.asm["ptx" if is_ptx else "asm"], "PTX" if is_ptx else "AMDGCN")
    loop = max((loop.size for loop in read.loops), default=0)
    size = resources.get("warp_size", 32)
    return Code(
        max(1, resources.get("threads", 32) // size), size,
        resources.get("registers") or guess.registers, resources.get("spill_bytes", guess.spill_bytes),
        kernel.shared, kernel.request.options.num_stages, len(read.instructions) - loop, loop,
        sum(narrow) / len(narrow) if narrow else 1.0, sum(converted),
    )  # fmt: skip


def resident(code: Code, gpu: Gpu) -> int:
    """How many programs of a kernel run on a multiprocessor at a time; 0 where not one fits."""
    return min(limits(gpu, code.warps, code.warp_size, code.registers, code.shared_bytes).values())


def limits(
    gpu: Gpu, warps: int, warp_size: int, registers: int, shared_bytes: int
) -> dict[str, int]:
    """How many programs a multiprocessor has room for, by what limits them. 0 registers: not known."""
    warp_registers = math.ceil(registers * warp_size / _REGISTER_STEP) * _REGISTER_STEP
    room = {"programs": gpu.most_programs, "warps": gpu.most_warps // warps}
    if registers:
        room["registers"] = gpu.registers // (warp_registers * warps)
    if shared_bytes:
        room["shared memory"] = gpu.shared_bytes // shared_bytes
    return room


def bytes_moved(access: Access) -> float:
    """Bytes that an access of one program moves."""
    return access.type.bytes * times(access.loops)


def cycles_of(work: Work, code: Code, gpu: Gpu) -> float:
    """The cycles of a launch; infinite where no program fits."""
    most = resident(code, gpu)
    if most == 0:
        return math.inf
    trips = max((times(a.loops) for a in work.accesses), default=1.0)
    multiplying = sum(
        p.m * p.n * p.k * times(p.loops) / (gpu.products * 2 / max(2.0, bytes_of(p.element)))
        for p in work.products
    )
    moving = sum(map(bytes_moved, work.accesses)) / gpu.cache_bytes
    spilled = code.spill_bytes / 4 * 2  # a store and a load of each register
    issued = code.straight + (code.loop + spilled) * trips
    each = max(multiplying, moving * code.narrow, issued * code.warps / gpu.schedulers)
    each += 2 * code.converted_bytes / _SHARED_BYTES
    # Registers in memory are stored and loaded through the first cache, and products wait for them.
    each += 2 * code.spill_bytes * code.warps * code.warp_size / _LOCAL_BYTES * trips
    # Loads that are not in flight ahead are waited for, unless another program has work meanwhile.
    each += trips * _LATENCY / max(1, code.stages - 1) / most / most
    rounds = math.ceil(work.num_programs / gpu.processors)
    whole = {a.place.array: 0.0 for a in work.accesses if a.place}
    for access in work.accesses:
        if access.place:
            whole[access.place.array] = max(whole[access.place.array], bytes_moved(access))
    memory = sum(whole.values()) / gpu.memory_bytes
    return max(rounds * each, memory) + _LATENCY
