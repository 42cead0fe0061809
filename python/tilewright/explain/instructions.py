"""Instructions in a text of PTX or assembly, with their source lines and loops."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from .kinds import Kind, kind_of_amd, kind_of_ptx, kind_of_x86


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


class Code(NamedTuple):
    """A kernel's code as far as its text tells."""

    language: str  # "PTX", "AMDGCN", "x86-64"
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


_KINDS: dict[str, Callable[[str, str], Kind]] = {
    "PTX": kind_of_ptx,
    "AMDGCN": kind_of_amd,
    "x86-64": kind_of_x86,
}
_COMMENTS = {"PTX": "//", "AMDGCN": ";", "x86-64": "#"}
_FILE = re.compile(r'\.file\s+(\d+)\s+(?:"[^"]*"\s+)?"([^"]*)"')
_LOC = re.compile(r"\.loc\s+(\d+)\s+(\d+)")
_LABEL = re.compile(r"([$.\w]+):(?!:)")
_BRANCH = re.compile(r"(?:@!?%\w+\s+)?(?:bra|s_c?branch|j[a-z]+\b)")


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
        row = whole.split(comment, 1)[0].strip()
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
    kind_of = _KINDS[language]
    found: list[Instruction] = []
    labels: dict[str, int] = {}
    loops: list[CodeLoop] = []
    for row in _rows(text, language):
        if row.label:
            labels[row.label] = len(found)
        if not row.instruction:
            continue
        code = re.sub(r"^@!?%\w+\s+", "", row.instruction)
        name, _, operands = code.partition("\t" if "\t" in code else " ")
        name = name.rstrip("; ")
        kind = kind_of(name, operands.strip().rstrip(";"))
        found.append(Instruction(row.file, row.line, kind, name))
        if _BRANCH.match(row.instruction):
            target = re.split(r"[\s,]+", row.instruction.rstrip(";"))[-1]
            if target in labels:
                loops.append(CodeLoop(labels[target], len(found) - 1, row.line))
    return Code(language, found, loops)


def inside(code: Code) -> set[int]:
    """The numbers of the instructions within innermost loops."""
    return {n for loop in code.innermost() for n in range(loop.first, loop.last + 1)}
