"""Shared memory of a program: its bytes, and which waves have used them since the last barrier."""

from __future__ import annotations

import numpy as np

from .atomics import combined
from .decode import Instruction
from .wave import Report

_NOBODY, _SEVERAL = -1, -2


class Shared:
    """Bytes begin as what nobody takes for a number; reading one that was never written is reported,
    and two waves on one byte without a barrier between them, one of which writes."""

    def __init__(self, size: int) -> None:
        self.data = np.full(size, 0xFF, np.uint8)
        self.is_written = np.zeros(size, bool)
        self.ahead: set[int] = set()  # waves that have signalled, and do not wait yet
        self.late = self.unused()
        self.pass_barrier()

    def unused(self) -> tuple[np.ndarray, np.ndarray]:
        """Bytes by writer and by reader, where there are none."""
        return np.full(self.data.size, _NOBODY, np.int32), np.full(self.data.size, _NOBODY, np.int32)

    def pass_barrier(self) -> None:
        """What follows comes after all before, but for what waves did that had signalled already."""
        self.writer, self.reader = self.late
        self.late = self.unused()
        self.ahead.clear()

    def places(self, addresses: np.ndarray, size: int, instruction: Instruction) -> np.ndarray:
        if addresses.size and int(addresses.max()) + size > self.data.size:
            raise Report(f"{instruction}: {int(addresses.max())} is beyond {self.data.size} bytes of shared memory")
        if (addresses % min(size, 16 if size != 12 else 4)).any() and size > 4:
            raise Report(f"{instruction}: not aligned")
        return addresses.astype(np.int64)[:, None] + np.arange(size)

    def load(self, wave: int, addresses: np.ndarray, size: int, instruction: Instruction) -> np.ndarray:
        at = self.places(addresses, size, instruction)
        if not self.is_written[at].all():
            raise Report(f"{instruction}: reads shared memory that nobody wrote")
        if ((self.writer[at] != _NOBODY) & (self.writer[at] != wave)).any():
            raise Report(f"{instruction}: no barrier since another wave wrote this")
        for reader in (self.reader, self.late[1]) if wave in self.ahead else (self.reader,):
            known = reader[at]
            reader[at] = np.where((known == _NOBODY) | (known == wave), wave, _SEVERAL)
        return self.data[at]

    def store(self, wave: int, addresses: np.ndarray, data: np.ndarray, instruction: Instruction) -> None:
        at = self.places(addresses, data.shape[1], instruction)
        others = [(seen[at] != _NOBODY) & (seen[at] != wave) for seen in (self.writer, self.reader)]
        if others[1].any():
            raise Report(f"{instruction}: no barrier since another wave read this")
        # Waves that hold copies of an element write the same.
        if (others[0] & (self.data[at] != data)).any():
            raise Report(f"{instruction}: no barrier since another wave wrote something else there")
        self.data[at], self.is_written[at], self.writer[at] = data, True, wave
        if wave in self.ahead:
            self.late[0][at] = wave

    def combine(self, address: int, given: np.ndarray, operation: str, instruction: Instruction) -> np.ndarray:
        """An atomic of one lane: what was there before."""
        at = self.places(np.array([address]), given.size, instruction)[0]
        if not self.is_written[at].all():
            raise Report(f"{instruction}: changes shared memory that nobody wrote")
        before = self.data[at].copy()
        self.data[at] = combined(operation, before, given)
        return before
