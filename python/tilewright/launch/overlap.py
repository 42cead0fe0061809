"""Finds arguments whose memory overlaps another argument's, or is larger than 32-bit offsets reach.

A kernel may read its tile bit by bit while it writes another only when the two cannot meet, so a
launch with overlapping arrays gets a binary of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .arguments import ArgumentProblem, span_of
from ..compile.facts import Facts, changed
from .devices import current_device
from ..native import native
from ..native.targets import device_named

# Smaller memory is within reach of 32-bit offsets of any kind.
_MAY_BE_LARGE = 1 << 30


def mark_overlaps(facts: list[Any], values: Sequence[Any], bits: Sequence[Any]) -> None:
    """Replace the facts of overlapping and of large pointers, in place. Unknown memory overlaps
    everything. Raises ArgumentProblem for arrays that reach beyond their memory."""
    indices: list[int] = []
    pointers: list[tuple[str, int, int, bool]] = []
    for index, fact in enumerate(facts):
        if type(fact) is Facts and fact.is_pointer:
            address = int(bits[index])
            try:
                begin, end = span_of(values[index], address)
            except ArgumentProblem as problem:
                problem.index = index
                raise
            indices.append(index)
            span = (begin, end) if begin < end else (address, address)
            counts_bytes = end - begin >= _MAY_BE_LARGE and _counts_bytes(fact)
            pointers.append((fact.type, *span, counts_bytes))
    found = native().find_overlaps(pointers) if pointers else None
    for index, changes in zip(indices, found or ()):
        facts[index] = changed(facts[index], changes)


def _counts_bytes(pointer: Facts) -> bool:
    """Whether offsets into its memory count bytes, on the device that has it."""
    return device_named(pointer.place or current_device()).counts_bytes
