"""Finds arguments whose memory overlaps another argument's, or is larger than 32-bit offsets reach.

A kernel may read its tile bit by bit while it writes another only when the two cannot meet, so a
launch with overlapping arrays gets a binary of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .arguments import ArgumentProblem, span_of
from ..compile.facts import Facts
from .devices import current_device
from ..native import native
from ..native.targets import device_named


def mark_overlaps(facts: list[Any], values: Sequence[Any], bits: Sequence[Any]) -> None:
    """Replace the facts of overlapping and of large pointers, in place. Unknown memory overlaps
    everything. Raises ArgumentProblem for arrays that reach beyond their memory."""
    indices: list[int] = []
    pointers: list[tuple[str, int, int]] = []
    for index, fact in enumerate(facts):
        if type(fact) is Facts and fact.is_pointer:
            address = int(bits[index])
            try:
                begin, end = span_of(values[index], address)
            except ArgumentProblem as problem:
                problem.index = index
                raise
            indices.append(index)
            pointers.append((fact.type, begin, end) if begin < end else (fact.type, address, address))
    found = native().find_overlaps(pointers, True) if pointers else None
    if found is None:
        return
    by_elements = native().find_overlaps(pointers, False) or [(True, False)] * len(pointers)
    for index, (is_disjoint, reaches_bytes), (_, reaches_elements) in zip(indices, found, by_elements):
        fact = facts[index]
        if reaches_elements or (reaches_bytes and _counts_bytes(fact)):
            fact = fact.large
        facts[index] = fact if is_disjoint else fact.overlapping


def _counts_bytes(pointer: Facts) -> bool:
    """Whether offsets into its memory count bytes, on the device that has it."""
    return device_named(pointer.place or current_device()).counts_bytes
