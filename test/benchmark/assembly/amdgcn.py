"""Reads assembly text for AMD's GPUs: instructions in all and in each loop, registers, spills.

The numbers are static: one pass through the body of each loop. A pair (`v_dual_...`) is one instruction."""

from __future__ import annotations

import re
from dataclasses import dataclass

_INSTRUCTION = re.compile(r"(?:[sv]_|buffer_|global_|flat_|ds_|scratch_)\w+")
_LABEL = re.compile(r"(\.LBB\w+):")
MATRIX = re.compile(r"v_s?w?mf?ma")


@dataclass
class Assembly:
    instructions: int  # without what fills the code up
    loops: list[int]  # instructions of each loop that contains no other, in program order
    matrix: list[int]  # those of them that multiply matrices
    registers: int  # of vectors, with those for accumulation
    spills: int  # registers that are kept in memory


def instructions_of(text: str) -> list[str]:
    """Instructions and labels, in order, up to the last end of the program."""
    found = []
    for line in text.splitlines():
        code = re.split(r";|//", line)[0].strip()
        if label := _LABEL.match(code):
            found.append(label[1])
        elif _INSTRUCTION.match(code) and not code.startswith("s_code_end"):
            found.append(code)
    ends = [place for place, code in enumerate(found) if code.startswith("s_endpgm")]
    return found[: ends[-1] + 1] if ends else found


def loops_of(code: list[str]) -> list[list[str]]:
    """The instructions of each innermost loop, from its label to the last branch back."""
    spans = []
    for first, line in enumerate(code):
        back = [
            place for place in range(first, len(code))
            if line.startswith(".LBB") and "branch" in code[place] and code[place].split()[-1] == line
        ]  # fmt: skip
        if back:
            spans.append((first, back[-1]))
    inner = [
        span for span in spans
        if not any(span != other and span[0] <= other[0] and other[1] <= span[1] for other in spans)
    ]  # fmt: skip
    return [
        [line for line in code[first : last + 1] if not line.startswith(".LBB")] for first, last in inner
    ]


def metadata(text: str, name: str) -> int:
    """A number of the kernel's metadata; 0 where it says none."""
    found = re.search(rf"\.{name}:\s+(\d+)", text)
    return int(found[1]) if found else 0


def parse(text: str) -> Assembly:
    code = instructions_of(text)
    count = sum(not line.startswith(".LBB") for line in code)
    loops = loops_of(code)
    matrix = [sum(bool(MATRIX.match(line)) for line in loop) for loop in loops]
    registers, spills = metadata(text, "vgpr_count"), metadata(text, "vgpr_spill_count")
    return Assembly(count, [len(loop) for loop in loops], matrix, registers, spills)
