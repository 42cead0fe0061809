"""Rules for copies of boxes to and from shared memory, and for the warp that copies beside the others."""

from __future__ import annotations

import re
from collections.abc import Callable

from mutant_lines import (
    WAIT, Changed, Lines, Rule, block_from, drop, moved, places, replaced, rewrite, ring_size,
)  # fmt: skip

PHASE_WAIT = re.compile(r"mbarrier\.try_wait\.parity\S+ done, \[(%\w+\+\d+)\], (%\w+);")
EXPECT = re.compile(r"(mbarrier\.arrive\.expect_tx\S+ _, \[%\w+\+\d+\], )(\d+);")
BOX = re.compile(r"(cp\.async\.bulk\.tensor\S+ )\[(%\w+)\], \[(%\w+), \{(?P<at>[^}]*)\}\], \[(%\w+)\];")
PHASE_INIT = re.compile(r"mbarrier\.init\S+ \[%\w+\+\d+\], 1;")
FREE_INIT = re.compile(r"(mbarrier\.init\S+ \[%\w+\+\d+\], )([48]|1[26]);")
RELEASE = re.compile(r"mbarrier\.arrive\.shared\S+ _, \[(%\w+\+\d+)\];")
STORED = re.compile(r"cp\.async\.bulk\.tensor\S+ \[%\w+, \{(?P<at>[^}]*)\}\], \[(?P<shared>%\w+)\];")
MATRIX = re.compile(r"(stmatrix\S+) \[(%\w+)((?:\+\d+)?)\], \{(%\w+), (%\w+)(.*)\};")
SLABS = re.compile(r"cp\.async\.bulk\.tensor\.3d\.shared\S+ \[%\w+\], \[%\w+, \{(?P<at>[^}]*)\}\], \[%\w+\];")
READ_WAIT, STORE_WAIT = "cp.async.bulk.wait_group.read 0;", "cp.async.bulk.wait_group 0;"
ELECTED = re.compile(r"selp\.b32 (%\w+), 1, 0, elected;")


def move_box(dim: int) -> Callable[[re.Match[str]], tuple[str, ...]]:
    """The box that begins 8 elements later along a dimension."""

    def change(match: re.Match[str]) -> tuple[str, ...]:
        at = match["at"].split(", ")
        before, at[dim] = at[dim], "%other"
        return f"add.s32 %other, {before}, 8;", match[0].replace(f"{{{match['at']}}}", f"{{{', '.join(at)}}}")

    return change


def next_barrier(match: re.Match[str]) -> tuple[str, ...]:
    """The instruction with the mbarrier behind its own."""
    register, _, offset = match[1].partition("+")
    return (match[0].replace(f"[{match[1]}]", f"[{register}+{int(offset) + 8}]"),)


BOX_RULES: dict[str, Rule] = {
    "phase not awaited": drop("@!done bra again;"),
    "phase of the other parity awaited": rewrite(
        PHASE_WAIT, lambda m: (f"xor.b32 %other, {m[2]}, 1;", m[0].replace(f", {m[2]};", ", %other;"))
    ),
    "another phase awaited": rewrite(PHASE_WAIT, next_barrier),
    "fewer bytes expected": rewrite(EXPECT, lambda m: (f"{m[1]}{int(m[2]) - 16};",)),
    "more bytes expected": rewrite(EXPECT, lambda m: (f"{m[1]}{int(m[2]) + 16};",)),
    "bytes not expected": drop(EXPECT),
    "bytes expected twice": rewrite(EXPECT, lambda m: (m[0], m[0])),
    "box not copied": drop(BOX),
    "box copied twice": rewrite(BOX, lambda m: (m[0], m[0])),
    "box further along rows": rewrite(BOX, move_box(0)),
    "box further down": rewrite(BOX, move_box(1)),
    "box of later slabs": rewrite(SLABS, lambda m: (m[0].replace(f"{m['at'].split(', ')[2]}}}", "1}"),)),
    "box to another place": rewrite(BOX, lambda m: (m[0].replace(f"[{m[2]}]", f"[{m[2]}+1024]", 1),)),
    "box of another phase": rewrite(BOX, lambda m: (m[0].replace(f", [{m[5]}];", f", [{m[5]}+8];"),)),
    "boxes copied by every lane": rewrite(ELECTED, lambda m: (f"mov.b32 {m[1]}, 1;",)),
    "phases not made": drop(PHASE_INIT),
    "phases of two arrivals": rewrite(PHASE_INIT, lambda m: (m[0].replace(", 1;", ", 2;"),)),
}  # fmt: skip

def move_behind_release(lines: Lines) -> Changed:
    """Waits for products, which are in a block before that of the release."""
    for place in places(lines, WAIT):
        release = next((i for i in range(place, min(place + 12, len(lines))) if RELEASE.fullmatch(lines[i])), None)
        if release is not None:
            yield place, moved(lines, place, next(i for i in range(release, len(lines)) if lines[i].endswith(":")))


def release_by_every_lane(lines: Lines) -> Changed:
    """The branch around a release of those lanes that have none is not taken."""
    for place in places(lines, RELEASE):
        branch = next((i for i in range(place, 0, -1) if re.fullmatch(r"@%p\d+ bra \$.*", lines[i])), None)
        if branch is not None and lines[branch + 1 : place] and place in block_from(lines, branch):
            yield place, replaced(lines, branch)


LOADER_RULES: dict[str, Rule] = {
    "slot not released": drop(RELEASE),
    "slot released twice": rewrite(RELEASE, lambda m: (m[0], m[0])),
    "another slot released": rewrite(RELEASE, next_barrier),
    "slot released by every lane": release_by_every_lane,
    "free for one warp fewer": rewrite(FREE_INIT, lambda m: (f"{m[1]}{int(m[2]) - 1};",)),
    "free for one warp more": rewrite(FREE_INIT, lambda m: (f"{m[1]}{int(m[2]) + 1};",)),
    "free for half of the warps": rewrite(FREE_INIT, lambda m: (f"{m[1]}{int(m[2]) // 2};",)),
    "program begins without the loader": rewrite(re.compile(r"bar\.sync 0;"), lambda m: ("bar.sync 1, 128;",)),
    "products awaited behind the release": move_behind_release,
    "a slot fewer": ring_size(-1),
    "a slot more": ring_size(1),
}  # fmt: skip

STORE_RULES: dict[str, Rule] = {
    "box not stored": drop(STORED),
    "box stored twice": rewrite(STORED, lambda m: (m[0], m[0])),
    "box stored further along rows": rewrite(STORED, move_box(0)),
    "box stored further down": rewrite(STORED, move_box(1)),
    "box stored from another place": rewrite(STORED, lambda m: (m[0].replace(f"[{m['shared']}]", f"[{m['shared']}+1024]"),)),
    "boxes stored by every lane": rewrite(ELECTED, lambda m: (f"mov.b32 {m[1]}, 1;",)),
    "stores not committed": drop("cp.async.bulk.commit_group;"),
    "stores not awaited until they have read": drop(READ_WAIT),
    "one group of stores fewer awaited": rewrite(re.compile(re.escape(READ_WAIT)), lambda m: (m[0].replace(" 0;", " 1;"),)),
    "earlier stores not awaited": drop(STORE_WAIT),
    "earlier stores awaited until they have read": rewrite(re.compile(re.escape(STORE_WAIT)), lambda m: (READ_WAIT,)),
    "matrix not stored": drop(MATRIX),
    "matrix stored a row later": rewrite(MATRIX, lambda m: (f"add.s32 %other, {m[2]}, 128;", m[0].replace(f"[{m[2]}", "[%other"))),
    "matrix stored elsewhere": rewrite(MATRIX, lambda m: (f"xor.b32 %other, {m[2]}, 16;", m[0].replace(f"[{m[2]}", "[%other"))),
    "matrix transposed": rewrite(MATRIX, lambda m: (m[0].replace(".trans", "") if ".trans" in m[1] else m[0].replace(".shared", ".trans.shared"),)),
    "words of a matrix exchanged": rewrite(MATRIX, lambda m: (f"{m[1]} [{m[2]}{m[3]}], {{{m[5]}, {m[4]}{m[6]}}};",)),
}  # fmt: skip
