"""A sum over a grid in one launch: the program that finishes last adds up the others' results."""

from __future__ import annotations

import tilewright as tw


@tw.jit
def sum_by_last(x, partial, ticket, out, n, BLOCK: tw.constexpr):
    pid = tw.program_id(0)
    i = pid * BLOCK + tw.arange(0, BLOCK)
    tw.store(partial + pid, tw.sum(tw.load(x + i, mask=i < n, other=0.0), 0))
    # Releases this program's store, and acquires those of all that came before.
    if tw.atomic_add(ticket, 1) == tw.num_programs(0) - 1:
        p = tw.arange(0, 8)
        tw.store(out, tw.sum(tw.load(partial + p), 0))
