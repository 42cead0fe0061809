"""Reads CUBINs: counts machine instructions, in all and in each loop, registers and spills.

The numbers are static: one pass through the body of each loop."""

from __future__ import annotations

import functools
import importlib.util
import pathlib
import re
import subprocess
from collections import Counter
from dataclasses import dataclass, field

# Opcodes behind which the next instruction need not run.
_LEAVING = ("BRA", "EXIT", "RET")
# Those of a loop that only waits for an mbarrier, whose address it may compute again.
_WAITING = {"SYNCS", "NANOSLEEP", "BRA", "NOP", "IMAD", "MOV", "UMOV"}
_PRODUCTS = re.compile(r"[HQI]G?MMA")
_STORES = ("STG", "UTMASTG", "UBLKCP", "RED", "UTMAREDG")


@dataclass
class MachineCode:
    instructions: int  # with the padding at the end
    loops: list[int]  # instructions of the body of each loop, in program order
    registers: int
    local_accesses: int  # of spilled registers and of arrays on the stack


@dataclass
class Loop:
    first: int
    last: int
    opcodes: Counter[str]  # with those of loops inside, but for waits; see way_with_products
    is_innermost: bool = True


@dataclass
class Block:
    """Instructions that run one after the other, and the blocks that may run behind and before them."""

    first: int
    code: list[str]
    after: list[int] = field(default_factory=list)
    before: list[int] = field(default_factory=list)

    def has_only(self, wanted: str) -> bool:
        return all(opcode(text) == wanted for text in self.code)


def find_nvdisasm() -> str | None:
    """The disassembler of the package nvidia-cuda-nvdisasm."""
    package = importlib.util.find_spec("nvidia")
    for root in (package.submodule_search_locations or ()) if package else ():
        for path in sorted(pathlib.Path(root).glob("*/bin/nvdisasm")):
            return str(path)
    return None


def run_nvdisasm(*arguments: str) -> str:
    program = find_nvdisasm()
    if program is None:
        raise RuntimeError("there is no nvdisasm: install nvidia-cuda-nvdisasm")
    result = subprocess.run([program, *arguments], capture_output=True, text=True, check=True)
    return result.stdout


def opcode(instruction: str) -> str:
    """`@!P0 FADD.FTZ R1, R2` -> FADD."""
    without_guard = re.sub(r"^@!?U?P\w+\s+", "", instruction)
    return without_guard.split()[0].split(".")[0]


def instructions_of(text: str) -> tuple[list[str], dict[str, int]]:
    """All instructions, and where each label stands."""
    code: list[str] = []
    labels: dict[str, int] = {}
    for line in text.splitlines():
        if label := re.match(r"\s*(\.L_x_\d+):", line):
            labels[label[1]] = len(code)
        elif instruction := re.search(r"/\*[0-9a-f]{4,}\*/\s+(.*?)\s*;", line):
            code.append(instruction[1])
    return code, labels


def blocks_of(code: list[str], labels: dict[str, int]) -> list[Block]:
    """The graph of control flow. Nothing leads into the first block of a function."""
    ends = {at + 1 for at, text in enumerate(code) if opcode(text) in _LEAVING}
    starts = sorted({0, *labels.values(), *ends} & {*range(len(code))})
    number = {first: i for i, first in enumerate(starts)}
    blocks = [Block(at, code[at:end]) for at, end in zip(starts, [*starts[1:], len(code)])]
    for i, block in enumerate(blocks):
        text = block.code[-1]
        target = re.search(r"`\((\.L_x_\d+)\)", text) if opcode(text) == "BRA" else None
        is_conditional = re.match(r"@(?!U?PT )", text) or re.search(r"BRA\S* +!?U?P\d|BRA\.DIV", text)
        after = [labels[target[1]]] if target else []
        if is_conditional or opcode(text) not in _LEAVING:
            after.append(block.first + len(block.code))
        block.after = [number[at] for at in after if at in number]
        for other in block.after:
            blocks[other].before.append(i)
    return blocks


def dominators_of(blocks: list[Block]) -> list[int]:
    """For each block, as bits, the blocks through which every way leads to it."""
    everything = (1 << len(blocks)) - 1
    found = [everything if block.before else 1 << i for i, block in enumerate(blocks)]
    found[0] = 1
    is_changed = True
    while is_changed:
        is_changed = False
        for i, block in enumerate(blocks[1:], 1):
            common = everything if block.before else 0
            for other in block.before:
                common &= found[other]
            is_changed |= found[i] != common | 1 << i
            found[i] = common | 1 << i
    return found


def natural_loops(blocks: list[Block]) -> dict[int, set[int]]:
    """The blocks of each loop, by the one through which every way leads into it."""
    dominators = dominators_of(blocks)
    loops: dict[int, set[int]] = {}
    for i, block in enumerate(blocks):
        for header in block.after:
            if dominators[i] >> header & 1:
                members, work = loops.setdefault(header, {header}), [i]
                while work:
                    if (other := work.pop()) not in members:
                        members.add(other)
                        work += blocks[other].before
    return loops


def waits_of(blocks: list[Block], loops: dict[int, set[int]]) -> set[int]:
    """The blocks that run only where an mbarrier is not yet what a warp waits for: loops that test it
    again, which the assembler moves behind the end, and the branch back."""
    tests: set[int] = set()
    for members in loops.values():
        code = [text for i in members for text in blocks[i].code]
        if any("PHASECHK" in text for text in code) and {opcode(text) for text in code} <= _WAITING:
            tests |= members
    return tests | {
        i for i, block in enumerate(blocks)
        if block.has_only("BRA") and block.before and tests.issuperset(block.before)
    }  # fmt: skip


def way_with_products(blocks: list[Block], header: int, work: set[int]) -> set[int]:
    """The blocks of an innermost loop that an iteration runs: all of them, or where there are products, the
    shortest way that has the most of them. What masks need stands beside it."""
    products = {i: sum(bool(_PRODUCTS.fullmatch(opcode(each))) for each in blocks[i].code) for i in work}
    if not any(products.values()):
        return work

    @functools.cache
    def best(block: int) -> tuple[int, int, frozenset[int]]:
        """Products, with a minus, and instructions from a block to the loop's end, and the blocks on the way."""
        ways = [best(other) for other in blocks[block].after if other in work and other != header]
        if header in blocks[block].after:
            ways.append((0, 0, frozenset()))
        length, way = len(blocks[block].code), frozenset({block})
        if not ways:  # leaves the loop
            return 1, length, way
        fewest, behind, others = min(ways, key=lambda each: each[:2])
        return fewest - products[block], length + behind, way | others

    return set(best(header)[2])


def parse(text: str) -> tuple[list[str], list[Loop]]:
    """All instructions of a kernel, and its loops in the order of their ends, but for the endless one that
    ends every kernel and for those that only wait."""
    code, labels = instructions_of(text)
    blocks = blocks_of(code, labels)
    found = natural_loops(blocks)
    waits = waits_of(blocks, found)
    loops = []
    for header, members in found.items():
        work = members - waits
        if not all(blocks[i].has_only("BRA") for i in work):
            last = max(
                blocks[i].first + len(blocks[i].code) - 1 for i in work if header in blocks[i].after
            )
            is_innermost = not any(work > other - waits > set() for other in found.values())
            way = way_with_products(blocks, header, work) if is_innermost else work
            opcodes = Counter(opcode(each) for i in way for each in blocks[i].code)
            loops.append(Loop(blocks[header].first, last, opcodes, is_innermost))
    return without_padding(code), sorted(loops, key=lambda loop: loop.last)


def without_padding(code: list[str]) -> list[str]:
    """Less the branch to itself and the NOPs after it, which fill the last cache line."""
    end = len(code)
    while end and opcode(code[end - 1]) == "NOP":
        end -= 1
    return code[: end - 1] if end and opcode(code[end - 1]) == "BRA" else code[:end]


def read(cubin: pathlib.Path, kernel: str) -> MachineCode:
    code, loops = parse(run_nvdisasm("-c", str(cubin)))
    return MachineCode(
        instructions=len(code),
        loops=[loop.opcodes.total() for loop in loops],
        registers=allocated_registers(cubin, kernel),
        local_accesses=sum(opcode(each) in ("LDL", "STL") for each in code),
    )


def allocated_registers(cubin: pathlib.Path, kernel: str) -> int:
    """What a thread is given of registers."""
    found = attribute(run_nvdisasm(str(cubin)), "REGCOUNT", kernel)
    if found is None:
        raise RuntimeError(f"nvdisasm does not tell the registers of {kernel}")
    return found


def attribute(text: str, name: str, kernel: str) -> int | None:
    """The value of EIATTR_`name` in the section .nv.info, of a kernel whose name begins so."""
    for each in text.split("nvinfo : ")[1:]:
        value = re.search(r"\.word\s+(0x[0-9a-f]+)", each)
        if each.startswith(f"EIATTR_{name}\n") and f"index@({kernel}" in each and value:
            return int(value[1], 16)
    return None


def instructions_behind_products(text: str) -> int:
    """Instructions from the last wait for asynchronous products to the last store to global memory."""
    code, labels = instructions_of(text)
    blocks = blocks_of(code, labels)
    waits = waits_of(blocks, natural_loops(blocks))
    starts = [
        (i, at) for i, block in enumerate(blocks) for at, each in enumerate(block.code)
        if re.search(r"WARPGROUP\.DEPBAR\.LE gsb0, 0x0", each)
    ]  # fmt: skip
    counts = []
    for first, at in starts:
        reached = reachable(blocks, first)
        ahead = [blocks[first].code[at + 1 :], *(blocks[i].code for i in reached)]
        if not any("GMMA" in each or "gsb0, 0x0" in each for part in ahead for each in part):
            counts.append(up_to_stores(blocks, first, at, reached - waits))
    return max(counts, default=0)


def reachable(blocks: list[Block], first: int) -> set[int]:
    """The blocks that may run after another one has ended."""
    found: set[int] = set()
    work = [*blocks[first].after]
    while work:
        if (block := work.pop()) not in found:
            found.add(block)
            work += blocks[block].after
    return found


def up_to_stores(blocks: list[Block], first: int, at: int, reached: set[int]) -> int:
    """The instructions behind place `at` of the first block, where a store is still to come."""

    def stored(code: list[str]) -> int:
        return max((i + 1 for i, each in enumerate(code) if opcode(each) in _STORES), default=0)

    total = 0
    for i in {first, *reached}:
        code = blocks[i].code[at + 1 :] if i == first else blocks[i].code
        is_before = any(stored(blocks[other].code) for other in reachable(blocks, i))
        total += len(code) if is_before else stored(code)
    return total
