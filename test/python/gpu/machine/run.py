"""Runs a launch's machine code: `on_machine("gfx942")` sends the launches of kernels there.

A launch compiles for `amd:<arch>`; what runs are the instructions of the code object, program after
program, each wave up to a barrier before the next wave. What is wrong raises Report.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from tilewright.compile import CompiledKernel, compile_request
from tilewright.launch import jit
from tilewright.launch.arguments import memory_of

import tilewright as tw

from . import exchange, matrix, memory, scalar, tensors
from .decode import UNNAMED, CodeObject, Instruction, register_mode, tool
from .semantics import NotUnderstood
from .shared import Shared
from .vector import Unit
from .wave import Report, Wave, first_registers

GENERATIONS = {"gfx90a": "cdna", "gfx942": "cdna", "gfx950": "cdna", "gfx1100": "rdna3", "gfx1201": "rdna4", "gfx1250": "gfx1250"}
_COUNTERS = {"cdna": 9, "rdna3": 11, "rdna4": 12, "gfx1250": 12}  # the generation whose counters it has
_ENDLESS = 100_000  # instructions of a wave


def missing() -> str | None:
    """Why machine code cannot be run here."""
    try:
        import tinygrad.runtime.autogen.amd.cdna.str_pcode  # type: ignore[import-not-found]  # noqa: F401
    except ImportError:
        return "the package tinygrad (0.13 or later), which has the manuals' pseudo-code, is not installed"
    tools = ("llvm-objdump", "llvm-readobj", "llvm-readelf")
    return next((f"there is no {name}" for name in tools if not tool(name)), None)


class Machine:
    """Code and memory of one launch."""

    def __init__(self, code: CodeObject, arch: str, shared_bytes: int, heap: memory.Memory) -> None:
        self.code, self.heap, self.shared_bytes = code, heap, shared_bytes
        self.arch, self.generation = arch, GENERATIONS[arch]
        self.unit = Unit(self.generation, code.descriptor.is_ieee)

    def run_program(self, program: tuple[int, int, int], threads: int, arguments: np.ndarray) -> None:
        descriptor = self.code.descriptor
        counters = _COUNTERS[self.generation]
        # Code that reads preloaded arguments begins behind 256 bytes for firmware that cannot.
        entry = descriptor.entry + (256 if descriptor.preloaded else 0)
        self.shared = Shared(self.shared_bytes)
        waves = [Wave(n, descriptor.lanes, counters, entry) for n in range(threads // descriptor.lanes)]
        for wave in waves:
            first_registers(wave, descriptor, arguments, program)
            wave.is_gfx1250 = self.arch == "gfx1250"
        while not all(wave.has_ended for wave in waves):
            for wave in waves:
                wave.is_at_barrier = False
            for wave in waves:
                self.run_wave(wave)
            self.shared.pass_barrier()

    def run_wave(self, wave: Wave) -> None:
        """Up to the next barrier, or to the end."""
        for _ in range(_ENDLESS):
            if wave.has_ended or wave.is_at_barrier:
                return
            instruction = self.code.at.get(wave.place)
            if instruction is None:
                raise Report(f"no instruction at {wave.place:#x}")
            if wave.register_mode == UNNAMED and any(name[0] == "v" for name in instruction.mentioned):
                raise NotUnderstood(f"{instruction}: with upper bits of its registers from s_setreg")
            if instruction.register_mode not in (None, wave.register_mode):
                raise Report(f"{instruction}: reached by another mode of registers than is written before it")
            wave.register_mode = register_mode(instruction, wave.register_mode)
            wave.early(instruction)
            if waited := copies_waited_for(wave, instruction):
                is_tensor = instruction.opcode == "s_wait_tensorcnt"
                memory.complete_copies(wave.tensors if is_tensor else wave.copies, *waited)
            wave.place = instruction.next
            self.execute(wave, instruction)
        raise Report("a wave does not end")

    def execute(self, wave: Wave, instruction: Instruction) -> None:
        opcode = instruction.base
        if opcode == "s_endpgm":
            wave.has_ended = True
        elif opcode == "s_barrier_signal":
            self.shared.ahead.add(wave.number)
        elif opcode in ("s_barrier", "s_barrier_wait"):
            if opcode == "s_barrier_wait" and wave.number not in self.shared.ahead:
                raise Report(f"{instruction}: waits at a barrier that it has not signalled")
            wave.is_at_barrier = True
        elif re.match(r"s_c?branch", opcode):
            wave.place = instruction.target if scalar.branches(wave, instruction) else wave.place
        elif not scalar.NOTHING.match(opcode):
            for pattern, run in _KINDS:
                if pattern.match(opcode):
                    return run(self, wave, instruction)
            raise NotUnderstood(f"the instruction {instruction}")


def copies_waited_for(wave: Wave, instruction: Instruction) -> tuple[int, int] | None:
    """A wait for copies to shared memory: how many operations its counter has counted, and how many of them
    may be under way behind it."""
    if instruction.opcode == "s_wait_asynccnt":
        return wave.num_async, int(instruction.operands[0], 0)
    if instruction.opcode == "s_wait_tensorcnt":
        return wave.num_tensors, int(instruction.operands[0], 0)
    match = re.search(r"vmcnt\((\d+)\)", str(instruction)) if instruction.opcode == "s_waitcnt" else None
    return (wave.num_vector, int(match[1])) if match else None


_KINDS: list[tuple[re.Pattern[str], Callable[[Machine, Wave, Instruction], None]]] = [
    (re.compile(r"s_load_"), lambda machine, wave, each: memory.scalar_load(wave, each, machine.heap)),
    (re.compile(r"s_|v_s_"), lambda machine, wave, each: scalar.run(wave, each, machine.generation)),
    (re.compile(r"v_(mfma|wmma)_"), lambda machine, wave, each: matrix.run(wave, each, machine.arch)),
    (re.compile(r"v_mbcnt_"), lambda machine, wave, each: exchange.count_below(wave, each)),
    (re.compile(r"v_(readfirstlane|readlane|writelane)_"), lambda machine, wave, each: exchange.one_lane(wave, each)),
    (re.compile(r"v_permlane(16|32)_swap_"), lambda machine, wave, each: exchange.swap_blocks(wave, each)),
    (re.compile(r"v_permlanex?16_"), lambda machine, wave, each: exchange.across_rows(wave, each)),
    (re.compile(r"v_accvgpr_"), lambda machine, wave, each: _move(wave, each)),
    (re.compile(r"v_"), lambda machine, wave, each: machine.unit.run(wave, each)),
    (re.compile(r"ds_(b?permute|swizzle)"), lambda machine, wave, each: exchange.through_memory(wave, each)),
    (re.compile(r"ds_"), lambda machine, wave, each: memory.shared_access(wave, each, machine.shared)),
    (re.compile(r"scratch_"), lambda machine, wave, each: memory.scratch(wave, each)),
    (re.compile(r"tensor_load_to_lds"), lambda machine, wave, each: tensors.copy(wave, each, machine.heap, machine.shared)),
    (re.compile(r"(buffer|global)_"), lambda machine, wave, each: memory.access(wave, each, machine.heap, machine.shared)),
]


def _move(wave: Wave, instruction: Instruction) -> None:
    target, source = instruction.operands
    found = wave.read(source)
    raw = found if isinstance(found, np.ndarray) else found.seen_as("u", 32).raw
    wave.write_lanes(target, [raw], wave.active)


_FLOATS = {"fp32": "f4", "fp64": "f8", "fp16": "f2"}


def bits_of(value: Any, kind: str) -> int:
    """A launch's argument as bits; floats come as numbers of their type."""
    if not isinstance(value, float):
        return int(value)
    return int.from_bytes(np.dtype(_FLOATS[kind]).type(value).tobytes(), "little")


def arguments_of(code: CodeObject, bits: list[int], grid: tuple[int, int, int]) -> np.ndarray:
    """The memory of a launch's arguments: the kernel's, and numbers of programs where they are read."""
    data = np.full(-(-max(code.descriptor.argument_bytes, 16) // 16) * 16, 0xFF, np.uint8)
    given = iter(bits)
    for offset, size, kind in code.arguments:
        if kind.startswith("hidden_block_count_"):
            value = grid["xyz".index(kind[-1])]
        elif kind.startswith("hidden_"):
            continue
        else:
            value = next(given)
        data[offset : offset + size] = list((value & (1 << 8 * size) - 1).to_bytes(size, "little"))
    return data


Change = Callable[[CodeObject], None]


def run_launch(
    kernel: CompiledKernel, arch: str, grid: tuple[int, int, int], values: Any, bits: Any, change: Change | None
) -> None:
    compiled = compile_request(kernel.request._replace(device=f"amd:{arch}"))
    code = CodeObject(compiled.asm["hsaco"], compiled.name)
    if change:
        change(code)
    heap = memory.Memory()
    picked = [bits_of(bits[index], kind) for _, kind, _, index in kernel.parameters]
    for *_, index in kernel.parameters:
        if found := memory_of(values[index], bits[index]):
            begin, size, is_read_only = found
            heap.add(begin, size, not is_read_only)
    arguments = arguments_of(code, picked, grid)
    heap.add(int(arguments.ctypes.data), arguments.size, False)
    machine = Machine(code, arch, int(compiled.resources["shared_bytes"]), heap)
    with np.errstate(all="ignore"):
        for z, y, x in np.ndindex(*reversed(grid)):
            machine.run_program((x, y, z), int(compiled.resources["threads"]), arguments)


@contextmanager
def on_machine(arch: str, change: Change | None = None) -> Iterator[None]:
    """Runs launches on machine code for an architecture; `change` may change what was disassembled."""
    plain = jit.launch

    def launch(kernel: CompiledKernel, programs: Any, values: Any, bits: Any, stream: Any = None) -> None:
        run_launch(kernel, arch, programs, values, bits, change)

    jit.launch = launch  # type: ignore[assignment]
    try:
        with tw.device(f"sim:{arch}"):
            yield
    finally:
        jit.launch = plain
