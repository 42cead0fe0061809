"""Scalar instructions, and those that steer."""

from __future__ import annotations

import re

import numpy as np

from .decode import Instruction
from .semantics import Lanes, NotUnderstood, Value, execute  # type: ignore[attr-defined]
from .values import integer, of_bits
from .wave import EXEC, VCC, Constant, Wave  # type: ignore[attr-defined]

# Hints, caches of one kind of memory here, and modes that change no result here.
NOTHING = re.compile(
    r"v_nop|s_(nop|waitcnt|wait_|delay_alu|clause|sendmsg|setprio|sleep|inst_prefetch|set_inst_prefetch|set_vgpr_msb|icache_inv"
    r"|dcache|setreg|denorm_mode|round_mode|ttracedata|code_end)|(buffer|global)_(inv|wb|wbl2|gl[01]_inv|wbinv)"
)
_IMMEDIATE = re.compile(r"s_(movk|addk|mulk|cmpk|cmovk)_")


def branches(wave: Wave, instruction: Instruction) -> bool:
    """Whether a branch is taken."""
    if instruction.base == "s_branch":
        return True
    count = wave.lanes // 32
    what, wanted = re.fullmatch(r"s_cbranch_(scc|vcc|exec)(z|nz|0|1)", instruction.base).groups()  # type: ignore[union-attr]
    if what == "scc":
        return wave.scc == (wanted == "1")
    return wave.mask(VCC if what == "vcc" else EXEC, count).any() == (wanted == "nz")


def run(wave: Wave, instruction: Instruction, generation: str) -> None:
    """Executes pseudo-code with one lane."""
    opcode, operands = instruction.base, instruction.operands
    if opcode == "s_getreg_b32" and "IB_STS2" in operands[1]:
        return wave.write_scalar(operands[0], 0)  # the place in a cluster; there are none here
    has_result = not re.match(r"s_(cmp|bitcmp|cmpk)", opcode)
    names = {"SCC": integer("u", 1, wave.scc), "EXEC": of_bits("b", 64, _wide(wave, EXEC)),
             "VCC": of_bits("b", 64, _wide(wave, VCC))}  # fmt: skip
    sources = operands[1:] if has_result else operands
    if _IMMEDIATE.match(opcode):
        names["SIMM16"] = Constant(operands[-1]).seen_as("b", 64)
    for number, text in enumerate(sources):
        found = wave.read(text)
        names[f"S{number}"] = found if isinstance(found, Constant) else of_bits("b", 64, found)
    if has_result and isinstance(wave.read(operands[0]), Constant):
        raise NotUnderstood(f"{instruction}")
    if has_result:
        names["D0"] = of_bits("b", 64, wave.read(operands[0]))
    done = execute(generation, opcode, names)
    wave.scc = bool(done.names["SCC"].raw[0])
    if "EXEC" in done.written:
        wave.write_scalar("exec" if wave.lanes == 64 else "exec_lo", int(done.names["EXEC"].raw[0]))
    if has_result:
        wave.write_scalar(operands[0], int(done.names["D0"].raw[0]))


def _wide(wave: Wave, first: int) -> np.ndarray:
    low, high = (int(word) for word in wave.scalars[first : first + 2])
    return np.array([low | (high << 32 if wave.lanes == 64 else 0)], np.uint64)


__all__ = ["Lanes", "NOTHING", "Value", "branches", "run"]
