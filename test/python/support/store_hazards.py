"""Finds a hazard of CDNA 3 and 4 that LLVM 22 does not know (llvm-project issue 197267).

A buffer store of more than 64 bits whose scalar offset is a register may store what the next
instruction writes, if that is a vector instruction which writes the store's data. One instruction
between them is enough.
"""

from __future__ import annotations

import re

ARCHS = ("gfx942", "gfx950")
_STORE = re.compile(
    r"buffer_store_(?:dwordx[34]|format_xyzw?) (?P<data>[va]\S+), [^;]*?s\[\d+:\d+\], (?P<scalar>s\d+|m0|vcc_lo|vcc_hi|ttmp\d+)\b"
)
_REGISTERS = re.compile(r"([va])(?:(\d+)|\[(\d+):(\d+)\])")


def _registers(operand: str) -> set[str]:
    found = _REGISTERS.match(operand)
    if not found:
        return set()
    kind, single, first, last = found.groups()
    return {kind + str(number) for number in range(int(single or first), int(single or last) + 1)}


def find(text: str) -> list[str]:
    """The pairs of a kernel's assembly or disassembly, each as `store; write`."""
    lines = [line.split(";")[0].split("//")[0].strip() for line in text.splitlines()]
    code = [line for line in lines if re.match(r"[a-z]+_\w", line)]
    found = []
    for store, following in zip(code, code[1:]):
        match = _STORE.match(store)
        writes = following.startswith("v_") and not following.startswith(("v_cmp", "v_nop"))
        if match and writes and _registers(match["data"]) & _registers(following.split(None, 1)[1]):
            found.append(f"{store}; {following}")
    return found
