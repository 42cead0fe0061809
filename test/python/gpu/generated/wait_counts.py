"""Judges the waits in AMD's machine code: `find_hazards(text, generation)`.

Loads and accesses of shared memory complete later than they are issued, and instructions wait for
them by counters (the instruction sets' "Memory Counters", "Data Dependency Resolution"). What this
finds, along every path: a register used before the load that fills it has been waited for, and a
barrier passed while an access of shared memory, or a copy to it, may still be under way. It does not follow stores to
global memory, which a barrier or an atomic may have to wait for.

Of each register that is being filled, the state has how many operations of its kind were issued
since, at least: kinds complete in order, so that a wait for N of them covers it where that is N or
more. Scalar loads complete in any order, and only a wait for none of them covers one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

# What is under way, by the counter that counts it and its kind there: a register, or the access itself.
Key = tuple[str, str, str]
State = dict[Key, int]  # operations of that counter and kind since, at least
IN_ANY_ORDER = "scalar"
SHARED = "shared memory"  # in place of a register: an access that a barrier must not overtake
COPIES = "copies past"  # and so many barriers: to shared memory, by another unit
MOST_PASSED = 9  # more count as so many: in a loop without a wait there is no end

_REGISTERS = re.compile(r"\b([vsa])(?:(\d+)|\[(\d+):(\d+)\])|\b(vcc(?:_lo|_hi)?)\b")
BARRIER = re.compile(r"s_barrier(_signal)?$")
_MEMORY = re.compile(r"(buffer|global|scratch|ds|s|tensor)_")


class Line(NamedTuple):
    """An instruction or a label, with its line in the text."""

    number: int
    text: str

    @property
    def opcode(self) -> str:
        return self.text.split()[0]

    @property
    def operands(self) -> list[str]:
        """What stands between commas; of registers one operand each."""
        rest = self.text.partition(" ")[2]
        return [part.strip() for part in re.split(r",(?![^\[]*\])", rest)] if rest else []


class Hazard(NamedTuple):
    """What is not waited for: the line that needs it, and what it is."""

    number: int
    text: str
    what: str


@dataclass
class Machine:
    """The names that a generation's counters have."""

    generation: int
    ahead: int = 0  # barriers that copies to shared memory may pass while they are under way
    counters: dict[str, str] = field(init=False)  # what is counted to its counter

    def __post_init__(self) -> None:
        self.counters = {
            9: {"load": "vmcnt", "store": "vmcnt", "shared": "lgkmcnt", "scalar": "lgkmcnt"},
            11: {"load": "vmcnt", "store": "vscnt", "shared": "lgkmcnt", "scalar": "lgkmcnt"},
            12: {"load": "loadcnt", "store": "storecnt", "shared": "dscnt", "scalar": "kmcnt"},
        }[self.generation]
        # Of gfx1250, copies to shared memory count apart.
        self.counters["copy"] = "asynccnt" if self.generation == 12 else self.counters["load"]
        self.counters["tensor"] = "tensorcnt"

    def waits_of(self, line: Line) -> dict[str, int]:
        """The counters that an instruction waits for, each until at most so many are under way."""
        text = line.text
        if line.opcode == "s_waitcnt":
            return {name: int(count) for name, count in re.findall(r"(\w+cnt)\((\d+)\)", text)}
        if line.opcode == "s_waitcnt_vscnt":
            return {"vscnt": int(line.operands[-1], 0)}
        if line.opcode == "s_wait_xcnt":  # until addresses are translated, which is not modelled
            return {}
        if match := re.fullmatch(r"s_wait_((?:\w+cnt)(?:_\w+cnt)?)", line.opcode):
            packed, names = int(line.operands[-1], 0), match[1].split("_")
            if len(names) == 1:
                return {names[0]: packed}
            # s_wait_loadcnt_dscnt, s_wait_storecnt_dscnt: the first in the upper byte.
            return {names[0]: packed >> 8, names[1]: packed & 0xFF}
        return {}


def registers_in(text: str) -> set[str]:
    """The registers that a text names, one by one."""
    found: set[str] = set()
    for kind, single, first, last, named in _REGISTERS.findall(text):
        if named:
            found |= {"vcc_lo", "vcc_hi"} if named == "vcc" else {named}
        elif single:
            found.add(kind + single)
        else:
            found |= {f"{kind}{number}" for number in range(int(first), int(last) + 1)}
    return found


class Access(NamedTuple):
    """An operation that completes later."""

    counter: str
    kind: str
    fills: set[str]  # registers
    is_shared: bool  # whether it reads or writes memory that waves share
    is_copy: bool = False  # from global to shared memory


def access_of(line: Line, machine: Machine) -> Access | None:
    """The memory operation that an instruction is; none for all others."""
    opcode = line.opcode
    if not _MEMORY.match(opcode):
        return None
    if opcode.startswith("s_"):
        is_load = re.match(r"s_(buffer_)?load_", opcode)
        filled = registers_in(line.operands[0]) if is_load else set()
        return Access(machine.counters["scalar"], IN_ANY_ORDER, filled, False) if is_load else None
    if opcode == "tensor_load_to_lds":
        return Access(machine.counters["tensor"], "tensor", set(), False, True)
    if opcode.startswith("ds_"):
        is_exchange = re.match(r"ds_(b?permute|swizzle)", opcode)
        fills = bool(re.match(r"ds_(read|load|b?permute|swizzle)", opcode)) or "_rtn" in opcode
        filled = registers_in(line.operands[0]) if fills else set()
        return Access(machine.counters["shared"], "shared", filled, not is_exchange)
    if re.search(r"_(load|atomic)", opcode):
        is_async = "_async_to_lds_" in opcode
        to_shared = is_async or line.text.endswith(" lds") or "load_lds" in opcode
        returns = "load" in opcode or re.search(r"\b(glc|sc0)\b|TH_ATOMIC_RETURN", line.text)
        filled = registers_in(line.operands[0]) if returns and not to_shared else set()
        counter = machine.counters["copy" if to_shared else "load" if returns else "store"]
        return Access(counter, "vector", filled, False, to_shared)
    if "_store" in opcode:
        return Access(machine.counters["store"], "vector", set(), False)
    return None  # instructions for caches


# A register from 256 on: the instruction has the lower bits of its number, the comment all.
LATE_REGISTER = re.compile(r"v(?:\d+|\[\d+:\d+\])(?:\.[lh])? /\*(v[^*]*)\*/")


def lines_of(text: str) -> list[Line]:
    """The instructions and labels of an assembly text."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        code = LATE_REGISTER.sub(r"\1", re.split(r";|//", line)[0].strip())
        if re.match(r"(\.LBB\w+:$|[sv]_|buffer_|global_|flat_|ds_|scratch_|tensor_)", code):
            found.append(Line(number, code.removesuffix(":") + ":" if code.startswith(".L") else code))
    return found


def blocks_of(lines: list[Line]) -> tuple[list[list[Line]], list[list[int]]]:
    """Blocks in order, and which blocks follow each."""
    blocks: list[list[Line]] = [[]]
    labels: dict[str, int] = {}
    for line in lines:
        if line.text.startswith(".LBB"):
            if blocks[-1]:
                blocks.append([])
            labels[line.text.removesuffix(":")] = len(blocks) - 1
            continue
        blocks[-1].append(line)
        if re.match(r"s_(c?branch|endpgm)", line.opcode):
            blocks.append([])
    following = []
    for place, block in enumerate(blocks):
        last = block[-1] if block else None
        after = [place + 1] if place + 1 < len(blocks) else []
        if last and last.opcode.startswith(("s_branch", "s_cbranch")):
            target = labels[last.operands[-1]]
            after = [target, *(after if last.opcode.startswith("s_cbranch") else [])]
        following.append([] if last and last.opcode == "s_endpgm" else after)
    return blocks, following


def wait(state: State, counter: str, count: int) -> None:
    """Forgets what is complete once at most so many of a counter are under way."""
    for key, since in list(state.items()):
        covered = count == 0 if key[1] == IN_ANY_ORDER else since >= count
        if key[0] == counter and covered:
            del state[key]


def issue(state: State, access: Access) -> None:
    """Adds an operation to what is under way."""
    for key in state:
        if key[:2] == (access.counter, access.kind):
            state[key] += 1
    for register in access.fills:
        state[access.counter, access.kind, register] = 0
    if access.is_shared:
        state[access.counter, access.kind, SHARED] = 0
    if access.is_copy:
        state[access.counter, access.kind, f"{COPIES} 0"] = 0


def pass_barrier(state: State) -> None:
    """What is copied is under way for one barrier more."""
    for key in sorted((key for key in state if key[2].startswith(COPIES)), reverse=True):
        older = (*key[:2], f"{COPIES} {min(int(key[2].split()[-1]) + 1, MOST_PASSED)}")
        since = state.pop(key)
        state[older] = min(since, state.get(older, since))


def late_at_barrier(state: State, ahead: int) -> list[str]:
    """What a barrier must not overtake."""
    return sorted(
        {what for _, _, what in state if what == SHARED or what.startswith(COPIES) and int(what.split()[-1]) >= ahead}
    )


def needs_of(line: Line, access: Access | None, state: State, ahead: int) -> list[str]:
    """What an instruction needs that is still under way. A load may fill a register that an earlier one
    of its kind fills, too: they complete in order."""
    if BARRIER.match(line.opcode):
        return late_at_barrier(state, ahead)
    mentioned = registers_in(line.text)
    found = []
    for counter, kind, what in state:
        if what not in mentioned:
            continue
        is_refilled = access and what in access.fills and (counter, kind) == access[:2]
        is_read = any(what in registers_in(operand) for operand in line.operands[1:])
        if not is_refilled or is_read or kind == IN_ANY_ORDER:
            found.append(what)
    return found


def step(line: Line, state: State, machine: Machine) -> list[Hazard]:
    """Goes over one instruction."""
    access = access_of(line, machine)
    hazards = [Hazard(*line, what) for what in needs_of(line, access, state, machine.ahead)]
    if BARRIER.match(line.opcode):
        pass_barrier(state)
    for counter, count in machine.waits_of(line).items():
        wait(state, counter, count)
    if access:
        issue(state, access)
    return hazards


def join(into: State | None, state: State) -> State:
    """What is under way where two paths meet: of each the fewest operations since."""
    if into is None:
        return dict(state)
    return {
        key: min(into.get(key, state.get(key, 0)), state.get(key, into.get(key, 0)))
        for key in into.keys() | state.keys()
    }


def find_hazards(text: str, generation: int, ahead: int = 0) -> list[Hazard]:
    """What the code of a kernel does not wait for, by line. Copies to shared memory that run several
    iterations ahead pass so many barriers."""
    machine = Machine(generation, ahead)
    blocks, following = blocks_of(lines_of(text))
    entries: list[State | None] = [None] * len(blocks)
    entries[0] = {}
    waiting, found = [0], set[Hazard]()
    while waiting:
        place = waiting.pop()
        state = dict(entries[place] or {})
        for line in blocks[place]:
            if line.opcode.startswith("flat_"):
                raise ValueError(f"line {line.number}: which memory is not known: {line.text}")
            found.update(step(line, state, machine))
        for after in following[place]:
            joined = join(entries[after], state)
            if joined != entries[after]:
                entries[after] = joined
                waiting.append(after)
    return sorted(found)
