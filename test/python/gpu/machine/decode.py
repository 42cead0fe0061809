"""Reads a code object (HSACO): its instructions as LLVM disassembles them, what the kernel descriptor
says of a wave's first registers, and where arguments go.
"""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
import tempfile
from functools import cached_property
from typing import NamedTuple

from gpu.generated import wait_counts

_LINE = re.compile(r"^\t(?P<text>.*?)\s*// (?P<place>[0-9A-F]{12}): (?P<words>[0-9A-F]{8}(?: [0-9A-F]{8})*)")
_ENCODING = re.compile(r"_(e32|e64|sdwa|dpp|e64_dpp|dpp8)$")


def tool(name: str) -> str | None:
    """A tool of LLVM 22, wherever it is."""
    return shutil.which(f"{name}-22") or shutil.which(name)


class Instruction:
    """An instruction as the disassembler writes it; `v_dual` ones have a second half."""

    def __init__(self, text: str, place: int, words: list[int]) -> None:
        self.text, self.place, self.words = text, place, words
        self.register_mode: int | None = None  # that the disassembler took its registers by
        self.opcode = text.split()[0]
        self.base = _ENCODING.sub("", self.opcode)
        rest = text.partition(" ")[2]
        parts = re.split(r",(?![^\[(]*[\])])", rest) if rest else []
        last, *modifiers = parts[-1].split() if parts else [""]
        self.operands = [*(part.strip() for part in parts[:-1]), last] if parts else []
        self.modifiers = dict(self._modifier(each) for each in modifiers)

    @staticmethod
    def _modifier(text: str) -> tuple[str, str]:
        name, _, value = text.partition(":")
        return name, value

    def numbers(self, name: str, missing: list[int]) -> list[int]:
        """A modifier such as `op_sel:[1,0,0]`."""
        return [int(each) for each in re.findall(r"\d+", self.modifiers[name])] if name in self.modifiers else missing

    def offset(self, name: str = "offset") -> int:
        return int(self.modifiers.get(name) or "0", 0)

    @property
    def next(self) -> int:
        return self.place + 4 * len(self.words)

    @property
    def target(self) -> int:
        """Where a branch goes: words from the next instruction, signed."""
        words = self.words[0] & 0xFFFF
        return self.next + 4 * (words - 0x10000 if words & 0x8000 else words)

    @cached_property
    def halves(self) -> list[Instruction]:
        """The instructions that it does at once."""
        parts = self.text.replace("v_dual_", "v_").split(" :: ")
        return [Instruction(part, self.place, self.words) for part in parts] if len(parts) > 1 else [self]

    @cached_property
    def line(self) -> wait_counts.Line:
        return wait_counts.Line(self.place, self.text)

    @cached_property
    def mentioned(self) -> set[str]:
        return wait_counts.registers_in(self.text)

    @cached_property
    def used(self) -> set[str]:
        """Registers in other operands than the first."""
        return {each for operand in self.line.operands[1:] for each in wait_counts.registers_in(operand)}

    def __repr__(self) -> str:
        return f"{self.text} at {self.place:#x}"


UNNAMED = -1  # a mode that the disassembler does not follow: of `s_setreg`, in its bits from 12 on


def register_mode(instruction: Instruction, before: int) -> int:
    """The upper bits of registers' numbers behind an instruction, where gfx1250's mode sets them."""
    if instruction.opcode == "s_set_vgpr_msb":
        return int(instruction.operands[0], 0) & 0xFF
    if instruction.opcode == "s_setreg_imm32_b32" and "WAVE_MODE" in instruction.text:
        return UNNAMED if int(instruction.operands[-1], 0) >> 12 & 0xFF else 0
    return before


class Argument(NamedTuple):
    """A place in the memory of arguments."""

    offset: int
    size: int
    kind: str  # by_value, global_buffer, hidden_...


class Descriptor(NamedTuple):
    """What the hardware reads at a launch (LLVM's AMDGPU usage, "Kernel Descriptor")."""

    shared_bytes: int
    scratch_bytes: int
    argument_bytes: int
    entry: int
    is_ieee: bool
    user_registers: int
    arguments_at: int  # the first register of their address
    ids: tuple[bool, bool, bool]
    lanes: int
    preloaded: int  # words of the arguments in registers from the start


def read_descriptor(data: bytes, place: int) -> Descriptor:
    shared, scratch, arguments = struct.unpack_from("<III", data)
    (entry,) = struct.unpack_from("<q", data, 16)
    _, first, second, properties, preload = struct.unpack_from("<IIIHH", data, 44)
    assert properties & 0b0111_0110 == 0, f"registers of no known use: {properties:#x}"
    return Descriptor(
        shared, scratch, arguments, place + entry, bool(first >> 23 & 1), second >> 1 & 31,
        4 * (properties & 1), (bool(second & 0x80), bool(second & 0x100), bool(second & 0x200)),
        32 if properties & 1 << 10 else 64, preload & 0x7F,
    )  # fmt: skip


class CodeObject:
    """A kernel's code: `at` has the instruction at each place."""

    def __init__(self, binary: bytes, name: str) -> None:
        with tempfile.NamedTemporaryFile(suffix=".hsaco") as file:
            file.write(binary)
            file.flush()
            # GPUs without halves of registers take no notice of the attribute.
            listing = _run("llvm-objdump", "-d", "--mattr=+real-true16", "-j", ".text", file.name)
            notes = _run("llvm-readobj", "--notes", file.name)
            symbols = _run("llvm-readelf", "-s", "-S", "-W", file.name)
        self.at: dict[int, Instruction] = {}
        mode = 0
        for line in listing.splitlines():
            if match := _LINE.match(line):
                words = [int(word, 16) for word in match["words"].split()]
                place = int(match["place"], 16)
                instruction = Instruction(wait_counts.LATE_REGISTER.sub(r"\1", match["text"]), place, words)
                self.at[place] = instruction
                instruction.register_mode = mode
                mode = register_mode(instruction, mode)
        self.arguments = [Argument(*each) for each in _arguments(notes)]
        self.descriptor = read_descriptor(*_descriptor_bytes(binary, symbols, name))


def _run(name: str, *arguments: str) -> str:
    command = tool(name)
    assert command, f"there is no {name}"
    return subprocess.run([command, *arguments], check=True, capture_output=True, text=True).stdout


def _arguments(notes: str) -> list[tuple[int, int, str]]:
    found = re.findall(r"\.offset: +(\d+)\s+\.size: +(\d+)\s+\.value_kind: +(\w+)", notes)
    return [(int(offset), int(size), kind) for offset, size, kind in found]


def _descriptor_bytes(binary: bytes, symbols: str, name: str) -> tuple[bytes, int]:
    place = int(re.search(rf"(\w+) +64 OBJECT.* {re.escape(name)}\.kd", symbols)[1], 16)  # type: ignore[index]
    section = re.search(r"\.rodata +PROGBITS +(\w+) (\w+)", symbols)
    assert section
    at = int(section[2], 16) + place - int(section[1], 16)
    return binary[at : at + 64], place
