"""Estimates the cycles that a loop for AMD's GPUs takes on a SIMD, from its assembly text.

Counts of instructions hide that some run longer and that waits differ. This plays the instructions of
a loop in order, as one wave alone would issue them, and says how long each unit is busy for it. It is a
yardstick for code of one machine, not a prediction: caches always hit, shared memory has no bank
conflicts, and barriers cost nothing but the time until the last wave of the SIMD is there. All waves that
a SIMD holds can be played together, too. The rates are those of the instruction sets' manuals and of
AMD's papers on CDNA 3, CDNA 4, RDNA 3 and RDNA 4; latencies are round numbers of their size."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Machine:
    """The work of a SIMD and of the memories beside it in a cycle, and the sizes of a compute unit."""

    lanes: int  # of a wave
    matrix: int  # operations of a SIMD and cycle, of numbers of 16 bits
    matrix_of_bytes: int  # the same, of 8 bits
    issue: int  # cycles of an instruction that moves or computes a register of each lane
    shared_bytes: int  # a cycle and SIMD, where all of a unit's SIMDs read
    shared_latency: int
    global_latency: int
    registers: int  # of a SIMD, for each lane
    granule: int  # registers are handed out by so many
    most_waves: int  # of a SIMD
    unit_bytes: int  # of shared memory that four SIMDs have together


MACHINES = {
    "gfx942": Machine(64, 512, 1024, 4, 32, 128, 600, 512, 8, 8, 64 << 10),
    "gfx950": Machine(64, 1024, 2048, 4, 64, 128, 600, 512, 8, 8, 160 << 10),
    "gfx1100": Machine(32, 256, 256, 1, 64, 64, 400, 1536, 24, 16, 128 << 10),
    "gfx1201": Machine(32, 512, 1024, 1, 64, 64, 400, 1536, 24, 16, 128 << 10),
}
SIMDS = 4


@dataclass
class Cycles:
    """The cycles of a loop: how long each unit is busy for a wave, and how long a lone wave takes."""

    matrix: int
    shared: int
    vector: int
    waits: int  # in which a lone wave stands at a wait while no matrix instruction runs
    total: int  # of a lone wave


def waves_of(arch: str, registers: int, shared_bytes: int, num_warps: int) -> int | None:
    """The waves that a SIMD holds of a kernel at once; none of a machine that is not listed."""
    machine = MACHINES.get(arch)
    if machine is None:
        return None
    taken = -(-max(registers, 1) // machine.granule) * machine.granule
    by_registers = min(machine.most_waves, machine.registers // taken)
    programs = by_registers * SIMDS // max(num_warps, 1)
    if num_warps > SIMDS:  # as many of its waves on each SIMD as on the fullest
        programs = by_registers // -(-num_warps // SIMDS)
    if shared_bytes:
        programs = min(programs, machine.unit_bytes // shared_bytes)
    return programs * num_warps // SIMDS


def matrix_cycles(machine: Machine, line: str) -> int:
    """The cycles that a matrix instruction keeps its SIMD's unit busy."""
    m, n, k = map(int, re.search(r"_(\d+)x(\d+)x(\d+)", line).groups())  # type: ignore[union-attr]
    inputs = line.split()[0].rsplit(f"x{k}", 1)[1]
    rate = machine.matrix
    if re.search("8|iu4", inputs):
        rate = machine.matrix_of_bytes
    elif "xf32" in inputs:
        rate //= 2
    elif "f32" in inputs or "f64" in inputs:
        rate //= 8
    # An MFMA takes one cycle for each of its rows, or more.
    return max(2 * m * n * k // rate, m if "mfma" in line else 1)


_WIDTHS = {"b8": 1, "u8": 1, "i8": 1, "b16": 2, "u16": 2, "i16": 2, "b32": 4, "b64": 8, "b96": 12, "b128": 16}


def shared_bytes(line: str) -> int:
    """The bytes that a lane moves in an access of shared memory."""
    name = line.split()[0]
    widths = [size for word, size in _WIDTHS.items() if re.search(f"_{word}(_|$)", name)]
    if "permute" in name or "swizzle" in name or not widths:
        return 4
    return widths[-1] * (2 if re.match(r"ds_(read2|write2|load_2|store_2|load_2addr|store_2addr)", name) else 1)


def registers_of(operand: str) -> list[str]:
    """The vector registers that an operand names."""
    found = []
    for kind, first, last, one in re.findall(r"\b([va])\[(\d+):(\d+)\]|\b(v\d+|a\d+)\b", operand):
        found += [one] if one else [f"{kind}{i}" for i in range(int(first), int(last) + 1)]
    return found


def factors_of(line: str) -> list[str]:
    """The registers of the two operands that a matrix instruction multiplies."""
    return [name for each in line.split(maxsplit=1)[1].split(", ")[1:3] for name in registers_of(each)]


_SLOW = re.compile(r"v_(s_)?(exp|log|rcp|rsq|sqrt|sin|cos)_")
_MATRIX = re.compile(r"v_s?w?mf?ma")


@dataclass
class Units:
    """The units that the waves of a SIMD share: when its matrix unit, its vector instructions and its share of the
    memory beside it are free."""

    waves: int = 1
    matrix_until: int = 0
    vector_until: int = 0
    shared_until: int = 0


@dataclass
class Wave:
    """A wave that issues one instruction after the other."""

    machine: Machine
    units: Units = field(default_factory=Units)
    now: int = 0
    priority: int = 0
    ready: dict[str, int] = field(default_factory=dict)  # results of matrix instructions
    in_flight: dict[str, deque[int]] = field(
        default_factory=lambda: {kind: deque() for kind in ("global", "shared", "store")}
    )
    busy: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("matrix", "shared", "vector", "waits"), 0))

    def issue(self, line: str) -> None:
        name = line.split()[0]
        if name.startswith(("s_waitcnt", "s_wait_")):
            self.wait(line)
        elif _MATRIX.match(name):
            self.multiply(line)
        elif name.startswith("v_"):
            self.await_products(line)
            cycles = self.machine.issue * (4 if _SLOW.match(name) else 1)
            self.busy["vector"] += cycles
            self.now = self.units.vector_until = max(self.now, self.units.vector_until) + cycles
        else:
            self.access_or_branch(line)

    def start_of(self, line: str) -> int:
        """When an instruction could begin, if no other wave's came before it."""
        if _MATRIX.match(line):
            return max(self.now, self.units.matrix_until, self.products_until(factors_of(line)))
        if line.startswith("v_"):
            return max(self.now, self.units.vector_until, self.products_until(registers_of(line)))
        return self.now

    def products_until(self, registers: list[str]) -> int:
        return max((self.ready.get(each, 0) for each in registers), default=0)

    def await_products(self, line: str) -> None:
        operands = line.split(maxsplit=1)[1] if " " in line else ""
        self.stand_until(self.products_until(registers_of(operands)))

    def stand_until(self, until: int) -> None:
        """Waits for a time; only what no matrix instruction fills counts."""
        self.busy["waits"] += max(0, until - max(self.now, self.units.matrix_until))
        self.now = max(self.now, until)

    def multiply(self, line: str) -> None:
        cycles = matrix_cycles(self.machine, line)
        # The next instruction adds to results without a wait.
        self.stand_until(self.products_until(factors_of(line)))
        start = max(self.now, self.units.matrix_until, self.units.vector_until)
        self.units.matrix_until = start + cycles
        self.now = self.units.vector_until = start + self.machine.issue
        self.busy["matrix"] += cycles
        result = line.split(maxsplit=1)[1].split(", ")[0]
        self.ready.update(dict.fromkeys(registers_of(result), start + cycles))

    def access_or_branch(self, line: str) -> None:
        machine, name = self.machine, line.split()[0]
        if name.startswith("ds_"):
            self.await_products(line)
            moved = shared_bytes(line) * machine.lanes
            self.busy["shared"] += moved // machine.shared_bytes
            # A lone wave has all of the memory's width, others what the other SIMDs leave.
            width = machine.shared_bytes * (SIMDS if self.units.waves == 1 else 1)
            start = max(self.now, self.units.shared_until)
            self.units.shared_until = start + moved // width
            self.in_flight["shared"].append(self.units.shared_until + machine.shared_latency)
        elif name.startswith(("buffer_", "global_", "flat_", "scratch_")) and "inv" not in name:
            self.await_products(line)
            kind = "store" if "store" in name else "global"
            self.in_flight[kind].append(self.now + machine.global_latency)
        elif name.startswith(("s_load", "s_buffer_load")):
            self.in_flight["shared"].append(self.now + machine.shared_latency)
        elif name == "s_setprio":
            self.priority = int(line.split()[1], 0)
        elif name == "s_nop":
            self.now += machine.issue * int(line.split()[1], 0)
        self.now += machine.issue

    def wait(self, line: str) -> None:
        for kind, left in limits_of(line).items():
            queue = self.in_flight[kind]
            while len(queue) > left:
                self.stand_until(queue.popleft())
        self.now += self.machine.issue


def limits_of(line: str) -> dict[str, int]:
    """How many accesses of each kind a wait leaves in flight."""
    name, *rest = line.split(maxsplit=1)
    text = rest[0] if rest else ""
    if name == "s_waitcnt":
        words = {"vmcnt": "global", "lgkmcnt": "shared", "expcnt": ""}
        found = {words[word]: int(number) for word, number in re.findall(r"(\w+cnt)\((\d+)\)", text)}
        return {kind: left for kind, left in found.items() if kind}
    if name == "s_waitcnt_vscnt":
        return {"store": int(text.split(",")[1], 0)}
    number = int(text, 0) if re.fullmatch(r"\w+", text) else 0
    single = {"loadcnt": "global", "dscnt": "shared", "storecnt": "store", "kmcnt": "shared"}
    if kind := single.get(name.removeprefix("s_wait_")):
        return {kind: number}
    if name == "s_wait_loadcnt_dscnt":
        return {"global": number >> 8, "shared": number & 255}
    if name == "s_wait_storecnt_dscnt":
        return {"store": number >> 8, "shared": number & 255}
    return {}


def estimate(arch: str, loop: list[str]) -> Cycles | None:
    """The cycles of one iteration among many; none of a machine that is not listed."""
    machine = MACHINES.get(arch)
    if machine is None:
        return None
    wave = Wave(machine)
    for _ in range(4):
        start, before = wave.now, dict(wave.busy)
        for line in loop:
            wave.issue(line)
    spent = {unit: cycles - before[unit] for unit, cycles in wave.busy.items()}
    return Cycles(**spent, total=wave.now - start)


_STEPS = 8


def run_together(waves: list[Wave], texts: list[list[str]], per_program: int) -> list[list[int]]:
    """Issues the instructions of all waves of a SIMD: what can begin first goes first, then who has
    priority, then who is older. Those of one program wait for each other at barriers. Returns when each
    wave has passed each of its instructions."""
    passed: list[list[int]] = [[] for _ in waves]
    at_barrier: set[int] = set()
    while True:
        ready = [n for n in range(len(waves)) if n not in at_barrier and len(passed[n]) < len(texts[n])]
        if not ready:
            return passed
        line_of = {n: texts[n][len(passed[n])] for n in ready}
        picked = min(ready, key=lambda n: (waves[n].start_of(line_of[n]), -waves[n].priority, n))
        if line_of[picked].split()[0] not in ("s_barrier", "s_barrier_wait"):
            waves[picked].issue(line_of[picked])
            passed[picked].append(waves[picked].now)
            continue
        first = picked // per_program * per_program
        at_barrier.add(picked)
        program = set(range(first, min(first + per_program, len(waves))))
        if program <= at_barrier:
            at_barrier -= program
            until = max(waves[n].now for n in program) + waves[picked].machine.issue
            for n in program:
                waves[n].now = until
                passed[n].append(until)


def estimate_together(arch: str, loop: list[str], num_waves: int, num_warps: int) -> int | None:
    """The cycles of one iteration of each of a SIMD's waves; none of a machine that is not listed. In code
    with priorities, the second half of a program's waves is one barrier behind."""
    machine = MACHINES.get(arch)
    if machine is None or not num_waves:
        return None
    per_program = -(-num_warps // SIMDS)
    units = Units(num_waves)
    waves = [Wave(machine, units) for _ in range(num_waves)]
    texts = [loop * _STEPS for _ in waves]
    if any(line.startswith("s_setprio") for line in loop):
        for n in range(num_waves):
            is_behind = n % per_program >= per_program / 2
            texts[n] = ["s_barrier", *texts[n]] if is_behind else [*texts[n], "s_barrier"]
    passed = run_together(waves, texts, per_program)
    first, last = (len(loop) * step for step in (3, _STEPS - 1))
    return max(each[last] - each[first] for each in passed) // (_STEPS - 4)
