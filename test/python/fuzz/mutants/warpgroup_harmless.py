"""Mutants that change nothing a launch may show, and why: by rule, the numbers of the mutants of each case."""

from __future__ import annotations

from typing import NamedTuple


class Harmless(NamedTuple):
    rules: list[str]
    reason: str
    numbers: dict[str, tuple[int, ...]]  # by case


HARMLESS = [
    Harmless(["proxy fence behind the barrier"], "A fence counts anywhere between the writes and the product, or store, on either side of the barrier.", {
        "rows, 1 stage": (0,),
        "rows, 2 stages": (0, 1),
        "rows, 3 stages": (0, 1),
        "rows, 4 stages, 8 warps": (0, 1),
        "columns of A, bf16": (0, 1),
        "columns of A, rows of B": (0, 1),
        "rows of B": (0, 1),
        "bytes": (0, 1),
        "sums of halves": (0, 1),
        "A computed": (0, 1),
        "A computed, 8 warps": (0, 1),
        "masked": (0, 1, 2, 3),
        "attention": (0, 1, 2, 3, 4),
        "attention, 2 stages": (0, 1, 2, 3, 4, 5),
        "masked boxes": (1,),
        "boxes of attention": (1, 2, 3, 4),
        "masked, with a loader": (1,),
        "loader of attention": (1, 2),
        "stores": (1,),
        "stores of the same rows, 8 warps": (1,),
        "sums apart": (0, 1),
        "sums apart, 8 warps": (0, 1),
        "boxes, 2 stages": (1,),
        "boxes, 3 stages": (1,),
        "boxes along n, 8 warps": (1,),
        "loader, 2 stages": (1,),
        "sums apart, with a loader": (1,),
        "ring of tiles": (1,),
    }),
    Harmless(["products awaited behind the barrier"], "One warp's wait counts for its warpgroup (README of warpsim, limits).", {
        "rows, 1 stage": (0, 1),
        "rows, 2 stages": (0, 1),
        "rows, 3 stages": (0, 1),
        "columns of A, bf16": (0, 1),
        "rows of B": (0, 1),
        "bytes": (0, 1),
        "masked": (0, 1, 2),
        "attention": (0, 1),
        "attention, 2 stages": (0, 2),
        "boxes, 2 stages": (0, 1),
        "boxes, 3 stages": (0, 1),
        "masked boxes": (0, 1),
        "boxes of attention": (0, 1),
        "loader, 2 stages": (0,),
        "masked, with a loader": (0,),
        "stores": (0,),
        "ring of tiles": (0,),
        "stores of the same rows, 8 warps": (0,),
    }),
    Harmless(["copies not committed"], "The copies join the next group, which the same wait covers.", {
        "rows, 1 stage": (0,),
        "masked": (3,),
        "attention": (0, 1),
        "attention, 2 stages": (0, 1),
    }),
    Harmless(["copy in front of the barrier"], "The products were awaited before the barrier that begins the iteration.", {
        "sums of halves": (0, 1, 2, 3),
        "A computed": (0, 1, 2, 3),
        "A computed, 8 warps": (0, 1, 2),
        "sums apart": (2, 3),
    }),
    Harmless(["copy in front of the barrier"], "One warp's wait counts for its warpgroup (README of warpsim, limits).", {
        "rows, 1 stage": (2, 3),
        "rows, 2 stages": (0, 1, 2, 3),
        "rows, 3 stages": (0, 1, 2, 3),
        "columns of A, bf16": (0, 1, 2, 3),
        "rows of B": (0, 1, 2, 3, 4, 5, 6, 7),
        "bytes": (0, 1, 2, 3),
        "masked": (0, 1, 2, 3, 4, 5),
        "attention": (0, 1, 2, 3, 4, 5, 6, 7),
        "attention, 2 stages": (0, 1, 2, 3, 4, 5, 6, 7),
        "boxes of attention": (0, 1, 2, 3),
    }),
    Harmless(["leading offset doubled", "leading offset lost"], "Operands of one slab have no use for the offset from slab to slab.", {
        "rows, 1 stage": (0, 1),
        "rows, 3 stages": (0, 1),
        "columns of A, bf16": (0, 1),
        "columns of A, rows of B": (0, 1),
        "rows of B": (0, 1),
        "bytes": (0, 1),
        "A computed": (0,),
        "masked": (0, 1, 2, 3),
        "two slabs of B": (0,),
        "attention": (0, 1, 2, 3, 4),
        "unsigned bytes": (0, 1),
        "sums apart": (0, 1),
    }),
    Harmless(["proxy fence dropped"], "No product follows before another fence: the last one, and the first of a second loop.", {
        "rows, 2 stages": (1,),
        "rows, 3 stages": (1,),
        "rows, 4 stages, 8 warps": (1,),
        "columns of A, bf16": (1,),
        "columns of A, rows of B": (1,),
        "rows of B": (1,),
        "bytes": (1,),
        "sums of halves": (1,),
        "A computed": (1,),
        "A computed, 8 warps": (1,),
        "masked": (1, 3),
        "attention": (1, 4),
        "attention, 2 stages": (2, 5),
        "sums apart": (1,),
        "sums apart, 8 warps": (1,),
    }),
    Harmless(["proxy fence before the wait for copies"], "No product follows the last fence.", {
        "rows, 2 stages": (1,),
        "rows, 3 stages": (1,),
        "rows, 4 stages, 8 warps": (1,),
        "columns of A, bf16": (1,),
        "columns of A, rows of B": (1,),
        "rows of B": (1,),
        "bytes": (1,),
        "sums of halves": (1,),
        "A computed": (1,),
        "A computed, 8 warps": (1,),
        "sums apart": (1,),
        "sums apart, 8 warps": (1,),
    }),
    Harmless(["barrier dropped", "barrier behind the copies"], "The products were awaited before the barrier that begins the iteration.", {
        "sums of halves": (1,),
        "A computed": (1,),
        "A computed, 8 warps": (1,),
    }),
    Harmless(["barrier dropped"], "One warp's wait counts for its warpgroup (README of warpsim, limits).", {
        "rows, 2 stages": (1,),
        "rows, 3 stages": (1,),
        "columns of A, bf16": (1,),
        "rows of B": (1,),
        "bytes": (1,),
        "masked": (1,),
        "attention": (1, 3, 5),
        "attention, 2 stages": (2, 4, 6),
        "boxes, 2 stages": (1, 2),
        "boxes, 3 stages": (1, 2),
        "masked boxes": (1, 2, 3),
        "boxes of attention": (2, 4, 6, 8),
        "loader, 2 stages": (2,),
        "masked, with a loader": (3,),
        "stores": (2,),
        "sums apart, with a loader": (2,),
    }),
    Harmless(["barrier behind the copies"], "One warp's wait counts for its warpgroup (README of warpsim, limits).", {
        "rows, 2 stages": (1,),
        "rows, 3 stages": (1,),
        "columns of A, bf16": (1,),
        "rows of B": (1,),
        "bytes": (1,),
        "masked": (1, 2),
        "attention": (1, 3),
        "attention, 2 stages": (1, 3),
        "boxes of attention": (0, 2),
    }),
    Harmless(["slot of another step"], "Of two slots, the next one is the last one.", {
        "columns of A, rows of B": (1, 4),
        "two slabs of B": (7, 10),
    }),
    Harmless(["product fence dropped"], "Nothing has touched the sums since the products before, or the product reads none.", {
        "masked": (1,),
        "attention": (2,),
        "attention, 2 stages": (2,),
        "boxes of attention": (2,),
        "loader of attention": (5,),
    }),
    Harmless(["one group of copies fewer awaited"], "A later wait covers the group, or its copies go to another slot.", {
        "masked": (1,),
        "attention": (0, 2),
        "attention, 2 stages": (0, 3),
    }),
    Harmless(["copy dropped"], "The rows lie beyond the extents, and zeros of the other operand multiply what is there instead.", {
        "masked": (15,),
        "attention": (17, 19),
        "attention, 2 stages": (13, 15),
        "boxes of attention": (5, 7),
    }),
    Harmless(["A in the other order", "operands exchanged"], "The product is that of zeros beyond the extents.", {
        "masked": (3,),
    }),
    Harmless(["B in the other order"], "The product is that of zeros beyond the extents.", {
        "masked": (3,),
        "attention": (11,),
    }),
    Harmless(["step of k 16 bytes longer"], "The product is that of zeros beyond the extents.", {
        "masked": (2, 3),
        "attention": (13,),
    }),
    Harmless(["step of k 512 bytes longer"], "The product is that of zeros beyond the extents.", {
        "masked": (2,),
    }),
    Harmless(["products not awaited", "one group of products fewer awaited", "two groups of products fewer awaited"], "The copies after it write another buffer than the products read.", {
        "attention": (2,),
        "attention, 2 stages": (2,),
        "boxes of attention": (1,),
    }),
    Harmless(["products awaited behind the copies"], "The copies write another buffer than the products read.", {
        "attention": (1,),
        "attention, 2 stages": (0, 1),
        "boxes of attention": (0,),
    }),
    Harmless(["copies not awaited", "two groups of copies fewer awaited"], "A later wait covers the groups, or their copies go to another slot.", {
        "attention": (0, 2),
        "attention, 2 stages": (0, 3),
    }),
    Harmless(["registers of A exchanged"], "The product is that of zeros beyond the extents.", {
        "attention": (3,),
    }),
    Harmless(["proxy fence dropped", "proxy fence behind the barrier"], "No thread has written where the boxes go.", {
        "boxes, 2 stages": (0,),
        "boxes, 3 stages": (0,),
        "boxes along n, 8 warps": (0,),
        "masked boxes": (0,),
        "boxes of attention": (0,),
        "loader, 2 stages": (0,),
        "loader, 8 warps": (0,),
        "masked, with a loader": (0,),
        "loader of attention": (0,),
        "stores": (0,),
        "stores of the same rows, 8 warps": (0,),
        "sums apart, with a loader": (0,),
        "ring of tiles": (0,),
    }),
    Harmless(["barrier dropped"], "Another barrier follows before any thread awaits a phase.", {
        "boxes of attention": (0,),
    }),
    Harmless(["products not awaited", "one group of products fewer awaited", "two groups of products fewer awaited"], "The sum is needed behind the wait for a later product, which covers it.", {
        "loader of attention": (3,),
    }),
    Harmless(["products not committed"], "The products join the next group, which the same wait covers.", {
        "boxes of attention": (0,),
        "loader of attention": (3,),
    }),
    Harmless(["free for one warp fewer"], "One warp's wait counts for its warpgroup (README of warpsim, limits).", {
        "loader, 2 stages": (1,),
        "loader, 8 warps": (0, 1, 2),
        "masked, with a loader": (0, 1, 2),
        "loader of attention": (1, 3),
        "sums apart, with a loader": (0, 1, 2),
        "cluster, 2 stages": (0, 1),
        "cluster, 3 stages": (0, 1, 2),
        "cluster of two axes": (0, 1, 2),
    }),
    Harmless(["programs copy each other's parts"], "The parts arrive in the same places.", {
        "cluster, 2 stages": (0,),
        "cluster, 3 stages": (0,),
    }),
    Harmless(["slot released to itself only", "slot released without order"], "Before the loop slots are empty in all programs, which have met.", {
        "cluster, 2 stages": (0,),
        "cluster, 3 stages": (0, 1),
        "cluster of two axes": (0, 1),
    }),
    Harmless(["cluster does not wait"], "Nothing of the loader comes behind its last barrier.", {
        "cluster, 2 stages": (3,),
        "cluster, 3 stages": (3,),
        "cluster of two axes": (3,),
    }),
    Harmless(["cluster does not meet"], "Nothing of the loader comes behind its last barrier.", {
        "cluster, 2 stages": (7,),
        "cluster, 3 stages": (7,),
        "cluster of two axes": (7,),
    }),
    Harmless(["cluster meets without order"], "The loader has nothing to tell: it has done nothing before its first barrier, and who waits for its copies knows of them.", {
        "cluster, 2 stages": (0, 3),
        "cluster, 3 stages": (0, 3),
        "cluster of two axes": (0, 3),
    }),
    Harmless(["phase not awaited"], "The slot of the values is released behind the product of the keys, too.", {
        "loader of attention": (0, 8),
    }),
    Harmless(["stores not committed"], "The group would be empty: what was stored before is in groups of its own.", {
        "stores": (0,),
        "stores of the same rows, 8 warps": (0,),
    }),
    Harmless(["earlier stores not awaited", "earlier stores awaited until they have read"], "The tiles have no row in common.", {
        "stores": (0,),
    }),
    Harmless(["matrix not stored", "matrix stored elsewhere", "matrix transposed", "words of a matrix exchanged"], "The columns lie beyond the extents.", {
        "stores": (3,),
        "stores of the same rows, 8 warps": (7,),
    }),
    Harmless(["slot not released", "slot released twice", "another slot released", "slot released by every lane"], "The last iteration of all releases a slot that nobody fills again.", {
        "loader of attention": (6, 7),
    }),
    Harmless(["a slot fewer", "a slot more"], "No iteration follows in the ring.", {
        "loader of attention": (1,),
    }),
    Harmless(["another phase awaited"], "The other slot is free later, and no copy is missing meanwhile.", {
        "loader of attention": (9,),
    }),
    Harmless(["barrier dropped"], "Other barriers are between: the one in front of the store, or those of the next tile's slots.", {
        "ring of tiles": (2, 4),
        "stores": (4,),
        "stores of the same rows, 8 warps": (2, 4),
    }),
]  # fmt: skip


def reason_of(case: str, rule: str, number: int) -> str:
    """Why a mutant is right; empty where it must be found."""
    reasons = [entry.reason for entry in HARMLESS if rule in entry.rules and number in entry.numbers.get(case, ())]
    return reasons[0] if reasons else ""
