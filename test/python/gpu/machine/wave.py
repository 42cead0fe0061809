"""The state of a wave: its registers, and how operands of instructions name them."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from .decode import Descriptor, Instruction
from .semantics import Constant, NotUnderstood
from .waits import UnderWay

Registers = np.ndarray
EXEC, VCC, M0, NULL = 126, 106, 124, 125
_TRAP = 108  # where the trap handler's registers begin
_SCALARS = {
    **{f"ttmp{number}": (_TRAP + number, 1) for number in range(16)},
    "vcc": (VCC, 2), "vcc_lo": (VCC, 1), "vcc_hi": (VCC + 1, 1), "exec": (EXEC, 2),
    "exec_lo": (EXEC, 1), "exec_hi": (EXEC + 1, 1), "m0": (M0, 1), "null": (NULL, 1),
}  # fmt: skip
_REGISTER = re.compile(r"([vsa])(?:(\d+)|\[(\d+):(\d+)\])")
_ACCUMULATION = 256  # where the accumulation registers begin
_JUNK = 0x7FC0DEAD  # what registers have at first: as a float, not a number


class Report(Exception):
    """What is wrong with the machine code, or with what it did."""


class Place:
    """The registers that an operand names: `first` of so many, scalar or a lane's."""

    def __init__(self, text: str) -> None:
        match = _REGISTER.fullmatch(text)
        if match:
            kind, single, low, high = match.groups()
            self.is_vector = kind != "s"
            first = int(single or low)
            self.count = int(high) - first + 1 if high else 1
            self.first = first + (_ACCUMULATION if kind == "a" else 0)
        elif text in _SCALARS:
            self.is_vector, (self.first, self.count) = False, _SCALARS[text]
        else:
            raise NotUnderstood(f"the operand {text}")


def is_register(text: str) -> bool:
    return bool(_REGISTER.fullmatch(text)) or text in _SCALARS


class Wave:
    """A wave before its first instruction, and while it runs."""

    def __init__(self, number: int, lanes: int, generation: int, entry: int) -> None:
        self.number, self.lanes, self.place = number, lanes, entry
        self.scalars = np.full(128, _JUNK, np.uint32)
        self.vectors = np.full((1024, lanes), _JUNK, np.uint32)
        self.scratch = np.full((lanes, 0), 0xFF, np.uint8)
        self.scc = False
        self.num_vector = 0  # loads, stores and copies of global memory so far
        self.num_async = 0  # copies that count apart
        self.copies: list[tuple[int, Callable[[], None]]] = []  # to shared memory, by their number
        self.num_tensors = 0  # copies of rows of arrays
        self.tensors: list[tuple[int, Callable[[], None]]] = []
        self.is_gfx1250 = False
        self.register_mode = 0
        self.under_way = UnderWay(generation)
        self.is_at_barrier = self.has_ended = False
        self.set_mask(EXEC, np.ones(lanes, bool), lanes // 32)

    @property
    def active(self) -> np.ndarray:
        return self.mask(EXEC, self.lanes // 32)

    def mask(self, first: int, count: int) -> np.ndarray:
        """Scalar registers as one bit for each lane."""
        words = np.ascontiguousarray(self.scalars[first : first + count])
        return np.unpackbits(words.view(np.uint8), bitorder="little")[: self.lanes].astype(bool)

    def set_mask(self, first: int, bits: np.ndarray, count: int) -> None:
        packed = np.packbits(np.broadcast_to(bits, self.lanes), bitorder="little")
        self.scalars[first : first + count] = packed.view(np.uint32)[:count]

    def read(self, text: str) -> np.ndarray | Constant:
        """An operand's bits, up to 64 of each lane, or of all lanes at once."""
        if not is_register(text):
            if text == "scc":
                return np.array([self.scc], np.uint64)
            return Constant(text)
        place = Place(text)
        if place.first == NULL and not place.is_vector:
            return np.zeros(1, np.uint64)
        words = self.vectors if place.is_vector else self.scalars
        low = np.atleast_1d(words[place.first]).astype(np.uint64)
        if place.count == 1:
            return low
        return low | np.atleast_1d(words[place.first + 1]).astype(np.uint64) << np.uint64(32)

    def words(self, text: str) -> np.ndarray:
        """All registers of an operand: one row each."""
        place = Place(text)
        if place.is_vector:
            return self.vectors[place.first : place.first + place.count]
        return self.scalars[place.first : place.first + place.count]

    def scalar(self, text: str) -> int:
        """A scalar operand as a number without a sign."""
        found = self.read(text)
        if isinstance(found, Constant):
            found = found.seen_as("u", 32).raw
        return int(found[0])

    def write_lanes(self, text: str, words: list[np.ndarray], where: np.ndarray) -> None:
        """Writes one register after the other, in the lanes that are named."""
        place = Place(text)
        for number, word in enumerate(words):
            row = self.vectors[place.first + number]
            row[where] = np.broadcast_to(word, self.lanes).astype(np.uint32)[where]

    def write_scalar(self, text: str, raw: int) -> None:
        place = Place(text)
        if place.first != NULL:
            for number in range(place.count):
                self.scalars[place.first + number] = raw >> 32 * number & 0xFFFFFFFF

    def early(self, instruction: Instruction) -> None:
        if missing := self.under_way.step(instruction):
            raise Report(f"{instruction}: not waited for {', '.join(sorted(missing))}")


def first_registers(
    wave: Wave, descriptor: Descriptor, arguments: np.ndarray, program: tuple[int, int, int]
) -> None:
    """Fills the registers that the hardware fills at a launch. The program's numbers are in two places: before
    gfx12, behind the user's registers (LLVM's AMDGPU usage, "Architected SGPRs")."""
    address = int(arguments.ctypes.data)
    at = descriptor.arguments_at
    wave.scalars[at : at + 2] = address & 0xFFFFFFFF, address >> 32
    if descriptor.preloaded:
        wave.scalars[at + 2 : at + 2 + descriptor.preloaded] = arguments.view(np.uint32)[: descriptor.preloaded]
    at = descriptor.user_registers
    for number, is_wanted in zip(program, descriptor.ids):
        if is_wanted:
            wave.scalars[at] = number
            at += 1
    wave.scalars[_TRAP + 9], wave.scalars[_TRAP + 7] = program[0], program[1] | program[2] << 16
    wave.vectors[0] = wave.number * wave.lanes + np.arange(wave.lanes)
    wave.scratch = np.full((wave.lanes, descriptor.scratch_bytes), 0xFF, np.uint8)
