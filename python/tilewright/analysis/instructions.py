"""Instructions in a text of PTX or assembly, with their source lines and loops."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from .kinds import OTHER, Kind, kind_of_amd, kind_of_ptx, kind_of_sass, kind_of_x86


class Instruction(NamedTuple):
    """An instruction. `line` is 0 where the code names none, `file` has no directories."""

    file: str
    line: int
    kind: Kind
    name: str


class CodeLoop(NamedTuple):
    """The instructions from a label to a branch back to it."""

    first: int
    last: int
    line: int  # of the branch

    @property
    def size(self) -> int:
        """The number of its instructions."""
        return self.last - self.first + 1


class Code(NamedTuple):
    """A kernel's code as far as its text tells."""

    language: str  # "PTX", "SASS", "AMDGCN", "x86-64", "SPIR-V"
    instructions: list[Instruction]
    loops: list[CodeLoop]

    def innermost(self) -> list[CodeLoop]:
        """The loops that contain no other."""
        return [
            loop
            for loop in self.loops
            if not any(
                other is not loop and loop.first <= other.first and other.last <= loop.last
                for other in self.loops
            )
        ]


SASS, SPIRV = "SASS", "SPIR-V"
_KINDS: dict[str, Callable[[str, str], Kind]] = {
    "PTX": kind_of_ptx,
    SASS: kind_of_sass,
    "AMDGCN": kind_of_amd,
    "x86-64": kind_of_x86,
}
_COMMENTS = {"PTX": "//", SASS: "//", "AMDGCN": ";", "x86-64": "#", SPIRV: ";"}
# Words of SPIR-V's functions that nothing is done for.
_DECLARED = ("OpFunction", "OpFunctionParameter", "OpFunctionEnd", "OpVariable", "OpUndef")
_FILE = re.compile(r'\.file\s+(\d+)\s+(?:"[^"]*"\s+)?"([^"]*)"')
_LOC = re.compile(r"\.loc\s+(\d+)\s+(\d+)")
# Lines of nvdisasm: code that was inlined names the line of the call behind its own.
_SASS_LINE = re.compile(r'//## File "([^"]*)", line (\d+)')
_LABEL = re.compile(r"([$.\w]+):(?!:)")
_GUARD = re.compile(r"@!?(?:%|U?P)\w+\s+")
_BRANCH = re.compile(r"(?:@!?(?:%|U?P)\w+\s+)?(?:bra|BRA|s_c?branch|j[a-z]+\b)")


class _Row(NamedTuple):
    """A line of a text, with the label or the instruction that it holds, and where it comes from."""

    text: str
    label: str
    instruction: str
    file: str
    line: int


def _rows(text: str, language: str) -> Iterator[_Row]:
    comment = _COMMENTS[language]
    # Directives that number files may stand behind their uses.
    files = {number: name.rpartition("/")[2] for number, name in _FILE.findall(text)}
    file, line = "", 0
    for whole in text.splitlines():
        if place := _SASS_LINE.search(whole):
            file, line = place[1].rpartition("/")[2], int(place[2])
        row = re.sub(r"/\*.*?\*/", "", whole.split(comment, 1)[0]).strip()
        if row == "---":  # the metadata of a code object
            return
        label = _LABEL.match(row)
        if label:
            row = row[label.end() :].strip()
        if place := _LOC.match(row):
            file, line = files.get(place[1], ""), int(place[2])
        is_code = bool(row) and row[0] not in ".{})#" and not row.startswith("//")
        yield _Row(whole, label[1] if label else "", row if is_code else "", file, line)


def lines_of_code(text: str, language: str, file: str) -> Iterator[tuple[str, int]]:
    """The lines of a text, each with the line of the kernel's file that it comes from, or 0. Line
    directives are left out."""
    name = file.rpartition("/")[2]
    for row in _rows(text, language):
        if not re.match(r"\s*\.(loc|file)\b", row.text):
            yield row.text, row.line if row.instruction and row.file == name else 0


def read_code(text: str, language: str) -> Code:
    """The instructions of a text."""
    if language == SPIRV:
        return _read_spirv(text)
    kind_of = _KINDS[language]
    found: list[Instruction] = []
    labels: dict[str, int] = {}
    loops: list[CodeLoop] = []
    for row in _rows(text, language):
        if row.label:
            labels[row.label] = len(found)
        if not row.instruction or row.instruction.startswith("NOP"):  # fills up machine code
            continue
        code = _GUARD.sub("", row.instruction, count=1) if row.instruction[0] == "@" else row.instruction
        name, _, operands = code.partition("\t" if "\t" in code else " ")
        name = name.rstrip("; ")
        kind = kind_of(name, operands.strip().rstrip(";"))
        found.append(Instruction(row.file, row.line, kind, name))
        if _BRANCH.match(row.instruction):
            target = re.split(r"[\s,]+", row.instruction.rstrip("; "))[-1].strip("`()")
            # A branch to itself stands behind the end of NVIDIA's code.
            if labels.get(target, len(found)) < len(found) - 1:
                loops.append(CodeLoop(labels[target], len(found) - 1, row.line))
    return Code(language, found, loops)


def _read_spirv(text: str) -> Code:
    """The instructions of the functions in a text of SPIR-V, which has no lines of the source."""
    found: list[Instruction] = []
    labels: dict[str, int] = {}
    loops: list[CodeLoop] = []
    is_function = False
    for row in text.splitlines():
        result, _, code = row.strip().rpartition(" = ")
        name, *operands = code.split() or [""]
        is_function |= name == "OpFunction"
        if name == "OpLabel":
            labels[result] = len(found)
        elif is_function and name and name not in _DECLARED:
            found.append(Instruction("", 0, OTHER, name))
            if name.startswith("OpBranch"):
                starts = [labels[target] for target in operands if target in labels]
                loops += [CodeLoop(start, len(found) - 1, 0) for start in starts]
    return Code(SPIRV, found, loops)


def inside(code: Code) -> set[int]:
    """The numbers of the instructions within innermost loops."""
    return {n for loop in code.innermost() for n in range(loop.first, loop.last + 1)}
