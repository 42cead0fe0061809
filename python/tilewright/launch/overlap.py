"""Finds arguments whose memory overlaps another argument's, or is larger than 32-bit offsets reach.

A kernel may read its tile bit by bit while it writes another only when the two cannot meet, so a
launch with overlapping arrays gets a binary of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .arguments import span_of
from .facts import Facts
from .devices import current_device
from ..language.dtypes import dtype
from ..targets import device_named


# The offsets of 32 bits, in elements; an element has a byte or more. Where they count bytes, buffers
# need a little of their reach for themselves.
_LARGE_BYTES = 0x7FFFFFFF
_BUFFER_BYTES = 0x7FFFFFE0


def itemsize_of(pointer: Facts) -> int:
    """The bytes of an element behind a pointer."""
    return dtype(pointer.type).itemsize


def _is_large(pointer: Facts, size: int) -> bool:
    """Whether 32-bit offsets do not reach all of more bytes than a buffer holds."""
    if size > itemsize_of(pointer) * _LARGE_BYTES:
        return True
    return device_named(pointer.place or current_device()).counts_bytes


def mark_overlaps(facts: list[Any], values: Sequence[Any], bits: Sequence[Any]) -> None:
    """Replace the facts of overlapping and of large pointers, in place. Unknown memory overlaps
    everything."""
    spans: list[tuple[int, int, int]] = []
    for index, fact in enumerate(facts):
        if type(fact) is Facts and fact.is_pointer:
            address = bits[index]
            begin, end = span_of(values[index], address)
            if end - begin > _BUFFER_BYTES and _is_large(fact, end - begin):
                facts[index] = fact = fact.large
            if begin < end:
                spans.append((begin, end, index))
            elif address:
                facts[index] = fact.overlapping
    if len(spans) < 2:
        return
    spans.sort()
    _, reached, reaching = spans[0]
    for begin, end, index in spans[1:]:
        if begin < reached:
            facts[index] = facts[index].overlapping
            facts[reaching] = facts[reaching].overlapping
        if end > reached:
            reached, reaching = end, index
