"""Finds arguments whose memory overlaps another argument's.

A kernel may read its tile bit by bit while it writes another only when the two cannot meet, so a
launch with overlapping arrays gets a binary of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .arguments import Facts, span_of


def mark_overlaps(facts: list[Any], values: Sequence[Any], bits: Sequence[Any]) -> None:
    """Replace the facts of overlapping pointers, in place. Unknown memory overlaps everything."""
    spans: list[tuple[int, int, int]] = []
    for index, fact in enumerate(facts):
        if type(fact) is Facts and fact.is_pointer:
            address = bits[index]
            begin, end = span_of(values[index], address)
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
