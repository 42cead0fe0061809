"""What a wave has under way, and which instruction uses it too early.

Which instruction completes later, by which counter, is `generated/wait_counts.py`'s knowledge. That
judges every path that a text has; this judges the path that is taken, with the registers' values.
"""

from __future__ import annotations

from functools import lru_cache

from gpu.generated.wait_counts import Access, Line, Machine, State, access_of, issue, late_at_barrier, wait

from .decode import Instruction

# Barriers that copies to shared memory may pass. They write when their wave has waited for them, so that
# who reads too early finds what nobody wrote, or the data of another iteration.
_ANY = 1 << 30


@lru_cache(None)
def _machine(generation: int) -> Machine:
    return Machine(generation)


@lru_cache(None)
def _facts(generation: int, line: Line) -> tuple[Access | None, dict[str, int]]:
    machine = _machine(generation)
    return access_of(line, machine), machine.waits_of(line)


class UnderWay:
    """Operations of one wave that were issued and not waited for."""

    def __init__(self, generation: int) -> None:
        self.generation = generation
        self.state: State = {}

    def step(self, instruction: Instruction) -> list[str]:
        """Goes over an instruction; the registers that it takes too early."""
        access, waits = _facts(self.generation, instruction.line)
        early = self._early(instruction, access) if self.state else []
        for counter, count in waits.items():
            wait(self.state, counter, count)
        if access:
            issue(self.state, access)
        return early

    def _early(self, instruction: Instruction, access: Access | None) -> list[str]:
        if instruction.opcode in ("s_barrier", "s_barrier_signal"):
            return late_at_barrier(self.state, _ANY)
        found = []
        for counter, kind, register in self.state:
            if register not in instruction.mentioned:
                continue
            in_order = access and register in access.fills and (counter, kind) == access[:2]
            if not in_order or register in instruction.used or kind == "scalar":
                found.append(register)
        return found
