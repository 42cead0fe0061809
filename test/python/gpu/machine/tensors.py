"""The tensor data mover of gfx1250: rows of an array to shared memory, as a descriptor in scalar registers says.

Its fields are those that MLIR's `amdgpu.make_dma_descriptor` and Triton write; none is taken from our compiler.
"""

from __future__ import annotations

import numpy as np

from .decode import Instruction
from .memory import Memory
from .semantics import NotUnderstood
from .shared import Shared
from .wave import Place, Report, Wave


def field(words: np.ndarray, first: int, count: int) -> int:
    """Bits of a group of words, counted from the lowest of the first."""
    number = sum(int(word) << 32 * at for at, word in enumerate(words))
    return number >> first & (1 << count) - 1


def copy(wave: Wave, instruction: Instruction, memory: Memory, shared: Shared) -> None:
    """Whatever lanes are active. Elements beyond the array become 0. The bytes are there when the wave has waited."""
    wave.num_tensors += 1
    if len(instruction.operands) != 2:
        raise NotUnderstood(f"{instruction}: more than two dimensions")
    where, form = (wave.scalars[place.first :][: place.count] for place in map(Place, instruction.operands))
    if field(where, 0, 2) == 0:
        return
    if field(where, 126, 2) != 2 or field(where, 2, 30):
        raise Report(f"{instruction}: not a descriptor of a tensor")
    if field(form, 0, 16) or field(form, 18, 2) or field(form, 21, 1):
        raise NotUnderstood(f"{instruction}: masks, barriers and iterations")
    size = 1 << field(form, 16, 2)
    width, height = field(form, 48, 32), field(form, 80, 32)
    columns, rows, pitch = field(form, 112, 16), field(form, 128, 16), field(form, 160, 48)
    if not columns or not rows or field(form, 144, 16):
        raise Report(f"{instruction}: a tile of {rows} rows of {columns} elements")
    found = np.zeros((rows, columns * size), np.uint8)
    inside = min(columns, width) * size
    for row in range(min(rows, height) if inside else 0):
        address = field(where, 64, 57) + row * pitch * size
        found[row, :inside] = memory.load(np.array([address], np.uint64), inside)[0]
    offset = np.arange(found.size)
    if field(form, 20, 1):
        offset += offset // (8 << field(form, 22, 3)) * 4 * (field(form, 25, 7) + 1)
    at, number = field(where, 32, 32) + offset, wave.num_tensors
    wave.tensors.append((number, lambda: shared.store(wave.number, at, found.reshape(-1, 1), instruction)))
