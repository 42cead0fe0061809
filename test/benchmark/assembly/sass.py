"""Reads CUBINs: counts machine instructions, in all and in each loop, registers and spills.

The numbers are static: one pass through the body of each loop."""

from __future__ import annotations

import importlib.util
import pathlib
import re
import subprocess
from collections import Counter
from dataclasses import dataclass


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
    opcodes: Counter[str]


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


def parse(text: str) -> tuple[list[str], list[Loop]]:
    """All instructions, and a loop for each branch to an earlier label, but for the endless one that
    ends every kernel."""
    code: list[str] = []
    labels: dict[str, int] = {}
    for line in text.splitlines():
        if label := re.match(r"\s*(\.L_x_\d+):", line):
            labels[label[1]] = len(code)
        elif instruction := re.search(r"/\*[0-9a-f]{4,}\*/\s+(.*?)\s*;", line):
            code.append(instruction[1])
    loops = []
    for index, instruction in enumerate(code):
        target = re.search(r"BRA.*`\((\.L_x_\d+)\)", instruction)
        first = labels.get(target[1], len(code)) if target else len(code)
        if first < index:
            body = Counter(opcode(each) for each in code[first : index + 1])
            loops.append(Loop(first, index, body))
    return without_padding(code), loops


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
        loops=[loop.last - loop.first + 1 for loop in loops],
        registers=allocated_registers(cubin, kernel),
        local_accesses=sum(opcode(each) in ("LDL", "STL") for each in code),
    )


def allocated_registers(cubin: pathlib.Path, kernel: str) -> int:
    """What a thread is given: the attribute EIATTR_REGCOUNT of the section .nv.info."""
    for attribute in run_nvdisasm(str(cubin)).split("nvinfo : ")[1:]:
        value = re.search(r"\.word\s+(0x[0-9a-f]+)", attribute)
        if attribute.startswith("EIATTR_REGCOUNT") and f"index@({kernel})" in attribute and value:
            return int(value[1], 16)
    raise RuntimeError(f"nvdisasm does not tell the registers of {kernel}")
