"""Seeded bugs of pipelined kernels: what each is, and what is to be reported of it.

A mutant is found when a finding has one of its kinds at an instruction that begins with one of its
places, and its line of the source has one of the sources (alternatives are separated by `|`).
Without kinds the numbers are wrong, and nothing else is. `right_when_eager`: the numbers are right
when copies complete at once, so only checks, or copies that complete late, show the bug.
"""

from __future__ import annotations

from typing import NamedTuple

from edits import ALL, Edit, change, drop, move, move_behind


class Mutant(NamedTuple):
    golden: str
    bug: str
    edits: tuple[Edit, ...]
    kinds: str = ""
    places: str = ""
    sources: str = ""
    right_when_eager: bool = False

    @property
    def name(self) -> str:
        return f"{self.golden}: {self.bug}"


M2, M3, MT, AT, DQ, GA, TL, SK = (
    "matmul_2_stages", "matmul_3_stages", "matmul_transposed", "attention", "dequantized",
    "gathered", "two_layers", "split_k",
)  # fmt: skip
# The lines whose values are copied asynchronously, and those that write results.
COPIED = {
    M2: "x = tw.load|y = tw.load", M3: "x = tw.load|y = tw.load", MT: "x = tw.load|y = tw.load",
    AT: "key = tw.load|value = tw.load", DQ: "left = tw.load", GA: "x = tw.load|y = tw.load",
    TL: "left = tw.load|hidden = tw.dot", SK: "x = tw.load|y = tw.load",
}  # fmt: skip
LOOP = "for start in range|for step in range|for piece in range"
WRITTEN = "tw.store(|tw.atomic_add("

N = r"(%\w+)"
COPY = rf"cp\.async\.(\w+)\.shared\.global \[{N}(\+\d+)?\], \[{N}(\+\d+)?\], 16, {N};"
COMMIT = r"cp\.async\.commit_group;"
WAIT = r"cp\.async\.wait_group (\d+);"
BARRIER = r"bar\.sync 0;"
LDMATRIX = rf"(ldmatrix\.sync\.aligned\.m8n8\.x4)(\.trans)?(\.shared\.b16 {{.*}}), \[{N}(\+\d+)?\];"
SLOT_OFFSET = rf"shl\.b32 {N}, {N}, (1\d);"
WRAP = rf"setp\.eq\.b32 {N}, {N}, [234];"


def wait(groups: int, instead: str, at: int = 0, of: int = 1) -> Edit:
    """A wait for all but some groups gives way to another statement."""
    return change(rf"cp\.async\.wait_group {groups};", instead, at, of)


def used_in_flight(golden: str, bug: str, *edits: Edit) -> Mutant:
    """Fragments are loaded from where a copy may still be writing."""
    return Mutant(golden, bug, edits, "async-race", "ldmatrix", COPIED[golden], True)


def still_in_flight(golden: str, bug: str, *edits: Edit) -> Mutant:
    """Copies are still under way when the kernel ends."""
    return Mutant(golden, bug, edits, "async-leak", "cp.async", COPIED[golden], True)


def unordered(golden: str, bug: str, places: str, sources: str, *edits: Edit) -> Mutant:
    """Warps race for shared memory; under every schedule one of the two accesses is reported."""
    kinds = "race-raw|race-war|race-waw"
    return Mutant(golden, bug, edits, kinds, places, sources)


def wrong_slot(golden: str, bug: str, *edits: Edit) -> Mutant:
    """Fragments come from a slot that is being copied to, or copies go to one that is in use."""
    kinds = "async-race|race-raw|race-war"
    return Mutant(golden, bug, edits, kinds, "ldmatrix|cp.async", COPIED[golden])


def wrong(golden: str, bug: str, *edits: Edit) -> Mutant:
    return Mutant(golden, bug, edits)


def barriers(
    golden: str, of: int, *found: tuple[int, str, str], harmless_in_turn: int = -1
) -> list[Mutant]:
    """Each of these barriers is dropped: number, places and sources of what is found.

    Without number `harmless_in_turn` the numbers are right when warps take turns at barriers.
    """
    return [
        unordered(
            golden, f"barrier {at + 1} is dropped", places, sources, drop(BARRIER, at, of)
        )._replace(right_when_eager=at == harmless_in_turn)
        for at, places, sources in found
    ]


def all_of(pattern: str, new: str, count: int) -> list[Edit]:
    return [change(pattern, new, ALL, count)]


SLOTS = "cp.async|ldmatrix"
STAGED = "st.shared|ldmatrix"
MUTANTS = [
    # Three stages: waits and groups.
    used_in_flight(M3, "the loop's wait is one group too loose",
                   wait(1, "cp.async.wait_group 2;")),
    used_in_flight(M3, "the loop's wait is dropped", wait(1, "")),
    used_in_flight(M3, "the loop's commit is dropped", drop(COMMIT, 2, 3)),
    used_in_flight(M3, "the first commit is dropped", drop(COMMIT, 0, 3)),
    used_in_flight(M3, "the second commit is dropped", drop(COMMIT, 1, 3)),
    used_in_flight(M3, "the loop's commit comes before its copies",
                   move(COMMIT, 2, 3, COPY, 8, 12)),
    used_in_flight(M3, "the loop's commit comes before its last copy",
                   move(COMMIT, 2, 3, COPY, 11, 12)),
    used_in_flight(M3, "only iterations that copy commit",
                   change(COMMIT, "@%p9 cp.async.commit_group;", 2, 3)),
    used_in_flight(M3, "only the first warp waits",
                   wait(1, "setp.lt.u32 %p9, %r37, 32;\n@%p9 cp.async.wait_group 1;")),
    used_in_flight(M3, "only the first lane of each warp waits",
                   wait(1, "and.b32 %r79, %r37, 31;\nsetp.eq.s32 %p9, %r79, 0;\n"
                           "@%p9 cp.async.wait_group 1;")),
    used_in_flight(M3, "a fragment is loaded before the wait",
                   move_behind(WAIT, 0, 2, LDMATRIX, 0, 16)),
    still_in_flight(M3, "the last wait is dropped", wait(0, "")),
    still_in_flight(M3, "the last wait leaves one group", wait(0, "cp.async.wait_group 1;")),
    Mutant(M3, "the last wait comes after the masked loop",
           (move(WAIT, 1, 2, r"setp\.lt\.s32 %p24, .*"),),
           "async-race", "st.shared|ldmatrix", COPIED[M3], True),
    # Three stages: barriers.
    *barriers(M3, 5, (0, SLOTS, COPIED[M3]), (1, STAGED, COPIED[M3]), (2, STAGED, COPIED[M3]),
              (3, STAGED, f"{COPIED[M3]}|{LOOP}"), (4, STAGED, LOOP)),
    used_in_flight(M3, "the loop's barrier comes before its wait", move(BARRIER, 0, 5, WAIT, 0, 2)),
    unordered(M3, "the loop's barrier comes after its copies", "cp.async", COPIED[M3],
              move(BARRIER, 0, 5, COMMIT, 2, 3)),
    unordered(M3, "the loop's barrier comes after its fragments", SLOTS, COPIED[M3],
              move_behind(BARRIER, 0, 5, LDMATRIX, 5, 16)),
    unordered(M3, "the loop's barrier is for one warp", SLOTS, COPIED[M3],
              change(BARRIER, "bar.sync 0, 32;", 0, 5)),
    unordered(M3, "the loop's barrier is one of a warp", SLOTS, COPIED[M3],
              change(BARRIER, "bar.warp.sync -1;", 0, 5)),
    Mutant(M3, "each warp has its own barrier", (change(BARRIER, "bar.sync %r1;", 0, 5),),
           "deadlock", "bar.sync", LOOP),
    Mutant(M3, "one warp passes by the loop's barrier",
           (change(BARRIER, "setp.eq.b32 %p9, %r1, 0;\n@%p9 bar.sync 0;", 0, 5),),
           "race-raw|race-war|race-waw|deadlock", "cp.async|ldmatrix|@%p9 bar.sync|bar.sync",
           f"{COPIED[M3]}|{LOOP}"),
    Mutant(M3, "half of each warp passes by the loop's barrier",
           (change(BARRIER, "and.b32 %r79, %r37, 16;\nsetp.eq.b32 %p9, %r79, 0;\n"
                            "@%p9 bar.sync 0;", 0, 5),),
           "divergent-barrier", "@%p9 bar.sync", LOOP, True),
    Mutant(M3, "one warp leaves before the loop",
           (change(r"@%p7 bra .*", r"\g<0>\nsetp.ne.b32 %p9, %r1, 0;\n@%p9 exit;"),),
           "async-leak", "cp.async", COPIED[M3]),
    Mutant(M3, "the epilogue's barrier comes after its first load",
           (move_behind(BARRIER, 4, 5, LDMATRIX, 12, 16),), "race-raw", "ldmatrix", LOOP, True),
    unordered(M3, "the epilogue's first store comes before the barrier", STAGED,
              f"{COPIED[M3]}|{LOOP}", move_behind(BARRIER, 3, 5, r"st\.shared\.v4.*", 4, 8)),
    # Three stages: slots.
    wrong_slot(M3, "the next slot is read",
               change(SLOT_OFFSET, r"add.s32 \1, \2, 1;\nshl.b32 \1, \1, \3;", 2, 4)),
    wrong_slot(M3, "the next slot is written",
               change(SLOT_OFFSET, r"add.s32 \1, \2, 1;\nshl.b32 \1, \1, \3;", 1, 4)),
    wrong_slot(M3, "the slots wrap one step late", change(WRAP, r"setp.eq.b32 \1, \2, 4;")),
    wrong_slot(M3, "the slots wrap one step early", change(WRAP, r"setp.eq.b32 \1, \2, 2;")),
    Mutant(M3, "the slots do not wrap",
           (change(rf"selp\.b32 {N}, 0, {N}, {N};", r"mov.b32 \1, \2;"),),
           "out-of-bounds-shared", "cp.async", "y = tw.load"),
    wrong_slot(M3, "the slot read stands still", drop(rf"mov\.b32 {N}, %r25;")),
    Mutant(M3, "the loop's first copies go to the wrong slot",
           (change(rf"mov\.b32 {N}, 2;", r"mov.b32 \1, 1;"),),
           "async-race", "cp.async", COPIED[M3]),
    wrong_slot(M3, "the loop's first fragments come from the wrong slot",
               change(r"mov\.b32 (%r251), (%r250);", r"\g<0>\nmov.b32 \2, 1;")),
    Mutant(M3, "the prologue's second copies go to the first slot",
           (change(r"(cp\.async\.cg\.shared\.global) \[%r18\+2048\], (.*)", r"\1 [%r18], \2"),),
           "async-race", "cp.async", "x = tw.load"),
    Mutant(M3, "the prologue leaves a copy out", (drop(COPY, 7, 12),),
           "uninit-shared", "ldmatrix", "y = tw.load"),
    Mutant(M3, "the loop leaves a copy out", (drop(COPY, 9, 12),),
           "uninit-shared", "ldmatrix", "x = tw.load"),
    Mutant(M3, "a slot of B lies on the last of A",
           (change(r"(cp.async.*) \[%r84\+6144\], (.*)", r"\1 [%r84+5120], \2"),),
           "async-race", "cp.async", "y = tw.load"),
    Mutant(M3, "B's slots end behind shared memory",
           (change(r"(cp.async.*) \[%r84\+7168\], (.*)", r"\1 [%r84+8192], \2"),),
           "out-of-bounds-shared", "cp.async", "y = tw.load"),
    wrong(M3, "the masked loop's buffers overlap",
          change(r"(st\.shared.*) \[%r18\+2048\], (.*)", r"\1 [%r18+1024], \2")),
    # Three stages: what is copied.
    Mutant(M3, "a row past the end is not filled with zeros",
           (change(r"selp\.b32 (%r87), (%r85), 0, %p2;", r"mov.b32 \1, \2;"),),
           "out-of-bounds-global", "cp.async", "x = tw.load", True),
    Mutant(M3, "the last iterations copy still",
           (change(r"selp\.b32 (%r85), 16, 0, %p9;", r"mov.b32 \1, 16;"),),
           "out-of-bounds-global", "cp.async", COPIED[M3], True),
    Mutant(M3, "the prologue copies a row past the end",
           (change(r"selp\.b32 (%r65), (%r63), 0, %p2;", r"mov.b32 \1, \2;"),),
           "out-of-bounds-global", "cp.async", "x = tw.load", True),
    wrong(M3, "half of each piece is copied",
          change(r"selp\.b32 (%r85), 16, 0, %p9;", r"selp.b32 \1, 8, 0, %p9;")),
    Mutant(M3, "a copy reads more than it writes",
           (change(r"cp\.async\.cg(\.shared\.global \[%r84\], \[%rd35\]), 16, %r86;",
                   r"cp.async.ca\1, 8, %r86;"),), "async-misuse", "cp.async", "x = tw.load"),
    Mutant(M3, "a copy writes half of a piece",
           (change(r"cp\.async\.cg(\.shared\.global \[%r84\], \[%rd35\]), 16, %r86;",
                   r"shr.u32 %r86, %r86, 1;\ncp.async.ca\1, 8, %r86;"),),
           "uninit-shared", "ldmatrix", "x = tw.load"),
    Mutant(M3, "a copy's source begins in the middle of a piece",
           (change(r"(cp.async.* \[%rd35)\](.*)", r"\1+8]\2"),),
           "misaligned", "cp.async", "x = tw.load"),
    Mutant(M3, "a copy's destination begins in the middle of a piece",
           (change(r"(cp.async.*) \[%r84\], (.*)", r"\1 [%r84+8], \2"),),
           "misaligned", "cp.async", "x = tw.load"),
    wrong(M3, "A and B are mixed up",
          change(r"(cp.async.* \[%r84\+6144\]), \[%rd38\](.*)", r"\1, [%rd35]\2")),
    wrong(M3, "B's step is half as large",
          change(rf"shl\.b32 (%r247), {N}, 5;", r"shl.b32 \1, \2, 4;")),
    Mutant(M3, "B's step is twice as large",
           (change(rf"shl\.b32 (%r247), {N}, 5;", r"shl.b32 \1, \2, 6;"),),
           "out-of-bounds-global", "cp.async", "y = tw.load"),
    Mutant(M3, "the masked loop's mask of rows is dropped",
           (change(r"and\.pred (%p14), (%p2), (%p18);", r"mov.pred \1, \3;"),),
           "out-of-bounds-global", "@%p14 ld.global", "x = tw.load", True),
    Mutant(M3, "the masked loop's mask over the inner extent is dropped",
           (change(r"and\.pred (%p13), (%p1), %p18;", r"mov.pred \1, \2;"),),
           "out-of-bounds-global", "@%p13 ld.global", "x = tw.load", True),
    Mutant(M3, "the mask of a store is dropped",
           (change(r"@%p23 (st\.global.*\[%rd50\].*)", r"\1"),),
           "out-of-bounds-global|race-waw", "st.global", WRITTEN),
    # Three stages: fragments and products.
    Mutant(M3, "the copies are swizzled in another way than the fragments",
           (change(r"mul\.lo\.s32 (%r39), (%r7), 144;", r"mul.lo.s32 \1, \2, 16;"),),
           "async-race", "cp.async", COPIED[M3]),
    wrong(M3, "the fragments are swizzled in another way than the copies",
          change(rf"xor\.b32 {N}, (%r96), 32;", r"xor.b32 \1, \2, 64;")),
    wrong(M3, "A's second half is that of another row",
          change(rf"xor\.b32 {N}, (%r116), 32;", r"xor.b32 \1, \2, 96;")),
    wrong(M3, "a fragment of B is not transposed", change(LDMATRIX, r"\1\3, [\4\5];", 0, 16)),
    wrong(M3, "a fragment of A is transposed", change(LDMATRIX, r"\1.trans\3, [\4\5];", 4, 16)),
    Mutant(M3, "a fragment's rows begin in the middle of a piece",
           (change(LDMATRIX, r"\1\2\3, [\4+8];", 4, 16),), "misaligned", "ldmatrix", "x = tw.load"),
    Mutant(M3, "a fragment lies behind shared memory",
           (change(LDMATRIX, r"\1\2\3, [\4+12288];", 0, 16),),
           "out-of-bounds-shared", "ldmatrix", "y = tw.load"),
    Mutant(M3, "a fragment is loaded by half of the lanes",
           (change(LDMATRIX, r"and.b32 %r79, %r37, 16;\nsetp.eq.b32 %p9, %r79, 0;\n@%p9 \g<0>",
                   0, 16),),
           "divergent-collective", "@%p9 ldmatrix", "y = tw.load"),
    wrong(M3, "the lanes' rows are those of the other warp",
          change(r"shl\.b32 (%r14), (%r1), 10;", r"xor.b32 \1, \2, 1;\nshl.b32 \1, \1, 10;")),
    wrong(M3, "a product's second operand is in the wrong order",
          change(r"(mma.*)\{%r92, %r93\}(.*)", r"\1{%r93, %r92}\2")),
    wrong(M3, "a product's first operand is in the wrong order",
          change(r"(mma.*)\{%r112, %r113, %r114, %r115\}, (\{%r92.*)",
                 r"\1{%r112, %r114, %r113, %r115}, \2")),
    wrong(M3, "a product is added to another accumulator",
          change(r"(mma.*)\{%r127, %r128, %r129, %r130\};", r"\1{%r123, %r124, %r125, %r126};")),
    Mutant(M3, "an accumulator starts without a value",
           (drop(r"mov\.b32 %r268, %r254;"), drop(r"mov\.b32 %r268, %r269;")),
           "uninit-register", "@%p22 st.global|@%p23 st.global", WRITTEN),
    Mutant(M3, "a fragment is never loaded", (drop(LDMATRIX, 5, 16),),
           "uninit-register", "@%p22 st.global|@%p23 st.global", WRITTEN),
    # Two stages.
    used_in_flight(M2, "the loop's wait leaves one group", wait(0, "cp.async.wait_group 1;", 0, 2)),
    used_in_flight(M2, "the loop's wait is dropped", wait(0, "", 0, 2)),
    used_in_flight(M2, "the prologue's commit is dropped", drop(COMMIT, 0, 2)),
    used_in_flight(M2, "the loop's commit is dropped", drop(COMMIT, 1, 2)),
    used_in_flight(M2, "the loop's barrier comes before its wait", move(BARRIER, 0, 5, WAIT, 0, 2)),
    used_in_flight(M2, "only iterations that copy wait",
                   move(r"setp\.gt\.s32 %p10, .*", 0, 1, WAIT, 0, 2),
                   change(r"(setp\.gt\.s32 %p10, .*\n)(cp.*)", r"\1@%p10 \2")),
    *barriers(M2, 5, (0, SLOTS, COPIED[M2]), (1, STAGED, COPIED[M2]), (2, STAGED, COPIED[M2]),
              (3, STAGED, f"{COPIED[M2]}|{LOOP}"), (4, STAGED, LOOP)),
    wrong_slot(M2, "there is one slot only", change(WRAP, r"setp.ne.b32 \1, \2, 0;")),
    Mutant(M2, "the slots wrap one step late", (change(WRAP, r"setp.eq.b32 \1, \2, 3;"),),
           "out-of-bounds-shared", "cp.async", "y = tw.load"),
    # Four stages, B transposed.
    used_in_flight(MT, "the loop's wait is one group too loose", wait(2, "cp.async.wait_group 3;")),
    used_in_flight(MT, "the loop's wait is dropped", wait(2, "")),
    *(used_in_flight(MT, f"commit {at + 1} is dropped", drop(COMMIT, at, 4)) for at in range(4)),
    still_in_flight(MT, "the last wait is dropped", wait(0, "")),
    *barriers(MT, 3, (0, SLOTS, COPIED[MT]), (1, "st.shared|ldmatrix", WRITTEN),
              (2, "st.shared|ld.shared", WRITTEN)),
    Mutant(MT, "the prologue copies for one step less",
           tuple(drop(COPY, 6, 12 - i) for i in range(3)), "uninit-shared", "ldmatrix", COPIED[MT]),
    wrong_slot(MT, "the prologue copies and commits for one step less",
               *(drop(COPY, 6, 12 - i) for i in range(3)), drop(COMMIT, 2, 4)),
    Mutant(MT, "the loop's first copies go to the wrong slot",
           (change(rf"mov\.b32 {N}, 3;", r"mov.b32 \1, 2;"),),
           "async-race", "cp.async", COPIED[MT]),
    wrong_slot(MT, "the slots wrap one step late", change(WRAP, r"setp.eq.b32 \1, \2, 5;")),
    wrong_slot(MT, "the slots wrap one step early", change(WRAP, r"setp.eq.b32 \1, \2, 3;")),
    wrong_slot(MT, "the fragments take B's slots to be half as large",
               change(r"shl\.b32 (%r71), (%r166), 12;", r"shl.b32 \1, \2, 11;")),
    wrong_slot(MT, "the copies take B's slots to be half as large",
               change(r"shl\.b32 (%r67), (%r165), 12;", r"shl.b32 \1, \2, 11;")),
    Mutant(MT, "A's slots lie on the last of B's",
           (*all_of(r"(cp.async.*\[%r\d+)\+16384\](.*)", r"\1+14336]\2", 2),
            *all_of(r"(ldmatrix.*\[%r\d+)\+16384\](.*)", r"\1+14336]\2", 2)),
           "async-race|race-war", "cp.async", COPIED[MT]),
    wrong(MT, "a fragment of B is transposed once too often",
          change(LDMATRIX, r"\1.trans\3, [\4\5];", 0, 6)),
    wrong(MT, "the second row of a copy is the first again",
          change(r"(cp.async.* \[%r68\+2048\]), \[%rd17\](.*)", r"\1, [%rd16]\2")),
    unordered(MT, "the epilogue's pieces overlap", "st.shared", WRITTEN,
              change(r"(st\.shared.*\[%r149)\+256\](.*)", r"\1]\2")),
    # Attention.
    used_in_flight(AT, "the loop's wait is one group too loose", wait(1, "cp.async.wait_group 2;")),
    used_in_flight(AT, "the loop's wait is dropped", wait(1, "")),
    *(used_in_flight(AT, f"commit {at + 1} is dropped", drop(COMMIT, at, 3)) for at in range(3)),
    used_in_flight(AT, "the loop's barrier comes before its wait", move(BARRIER, 1, 8, WAIT, 0, 2)),
    still_in_flight(AT, "the last wait is dropped", wait(0, "")),
    *barriers(AT, 8, (0, STAGED, "query = tw.load"), (1, SLOTS, COPIED[AT]),
              (2, STAGED, COPIED[AT]), (3, STAGED, COPIED[AT]), (4, STAGED, COPIED[AT]),
              (5, STAGED, COPIED[AT]), (6, STAGED, f"{COPIED[AT]}|{WRITTEN}"),
              (7, STAGED, WRITTEN)),
    Mutant(AT, "half of the queries are not staged",
           (drop(r"st\.shared\.v4\.b32 \[%r20\+14336\].*"),),
           "uninit-shared", "ldmatrix", "query = tw.load"),
    Mutant(AT, "the queries lie on a slot of the values",
           (change(r"(st\.shared\.v4\.b32 \[%r20)\+12288(.*)", r"\1+8192\2"),
            change(r"(st\.shared\.v4\.b32 \[%r20)\+14336(.*)", r"\1+10240\2"),
            *all_of(r"(ldmatrix.*\[%r11[35])\+12288(.*)", r"\1+8192\2", 2)),
           "async-race", "ldmatrix", "query = tw.load"),
    wrong_slot(AT, "the values come from the next slot",
               change(r"(ldmatrix.*\[%r288)\+6144(.*)", r"\1+8192\2")),
    wrong_slot(AT, "the slots wrap one step early", change(WRAP, r"setp.eq.b32 \1, \2, 2;")),
    Mutant(AT, "the last iterations copy still",
           (change(r"selp\.b32 (%r157), 16, 0, %p8;", r"mov.b32 \1, 16;"),),
           "out-of-bounds-global", "cp.async", COPIED[AT], True),
    wrong(AT, "a part of the diagonal is left out",
          change(r"setp\.le\.s32 (%p21), (.*)", r"setp.lt.s32 \1, \2")),
    # Dequantized weights.
    used_in_flight(DQ, "the loop's wait is one group too loose", wait(1, "cp.async.wait_group 2;")),
    used_in_flight(DQ, "the loop's commit is dropped", drop(COMMIT, 2, 3)),
    still_in_flight(DQ, "the last wait is dropped", wait(0, "")),
    *barriers(DQ, 4, (0, "cp.async|st.shared", "left = tw.load|right = tw.load"),
              (1, "st.shared|ld.shared", "right = tw.load"),
              (2, STAGED, "acc = acc * tw.load"), (3, STAGED, "acc = acc * tw.load"),
              harmless_in_turn=2),
    Mutant(DQ, "the weights lie on the last slot of the other operand",
           (*(change(rf"(st\.shared\.v2\.b8 \[%r23)\+{6144 + at},?(.*)", rf"\1+{4096 + at}\2")
              for at in (0, 16, 128, 144, 256, 272, 384, 400)),
            change(r"(ld\.shared.*\[%r24)\+6144(.*)", r"\1+4096\2"),
            change(r"(ld\.shared.*\[%r24)\+6656(.*)", r"\1+4608\2")),
           "async-race", "st.shared", "right = tw.load"),
    Mutant(DQ, "the scales lie on the weights",
           (change(r"(st\.shared\.b16 \[%r32)\+7168(.*)", r"\1+6144\2"),
            change(r"(ldmatrix.*\[%r192)\+7168(.*)", r"\1+6144\2")),
           "race-war", "st.shared.b16", "acc = acc * tw.load"),
    wrong(DQ, "a weight's sign is lost",
          change(r"prmt\.b32 (%r105), (.*), 0x9991U;", r"prmt.b32 \1, \2, 0x4441U;")),
    Mutant(DQ, "a byte of the weights is not stored",
           (drop(r"st\.shared\.v2\.b8 \[%r23\+6416\].*"),),
           "uninit-shared", "ld.shared", "right = tw.load"),
    Mutant(DQ, "a half of a fragment is never computed", (drop(r"cvt\.rn\.f16\.s16 %rs56, .*"),),
           "uninit-register", "st.global", WRITTEN),
    # A load that feeds a load.
    used_in_flight(GA, "the loop's wait is one group too loose", wait(1, "cp.async.wait_group 2;")),
    used_in_flight(GA, "the loop's commit is dropped", drop(COMMIT, 2, 3)),
    used_in_flight(GA, "the first commit is dropped", drop(COMMIT, 0, 3)),
    still_in_flight(GA, "the last wait is dropped", wait(0, "")),
    *barriers(GA, 3, (0, SLOTS, COPIED[GA]), (1, STAGED, f"{COPIED[GA]}|{LOOP}"),
              (2, "st.shared|ld.shared", LOOP)),
    Mutant(GA, "an index is loaded past the end",
           (change(r"@%p7 (ld\.global\.b32 %r64.*)", r"\1"),),
           "out-of-bounds-global", "ld.global", "page = tw.load", True),
    Mutant(GA, "the last iterations copy still",
           (change(r"selp\.b32 (%r69), 16, 0, %p7;", r"mov.b32 \1, 16;"),),
           "out-of-bounds-global", "cp.async", COPIED[GA], True),
    Mutant(GA, "the index is that of a step later",
           (change(r"add\.s64 (%rd28), (%rd6), 8;", r"add.s64 \1, \2, 12;"),),
           "out-of-bounds-global", "@%p7 ld.global", "page = tw.load"),
    Mutant(GA, "the index advances twice as far",
           (change(r"add\.s64 (%rd28), %rd28, 4;", r"add.s64 \1, %rd28, 8;"),),
           "out-of-bounds-global", "@%p7 ld.global", "page = tw.load"),
    Mutant(GA, "an address comes from an index that is not loaded",
           (change(r"shl\.b32 (%r65), %r64, 9;", r"shl.b32 \1, %r65, 9;"),),
           "uninit-register", "cp.async", "y = tw.load"),
    # A product within a product's loop. The outer loop's groups are older than the inner one's, so
    # the inner loop's waits cover them: without an outer commit or wait the kernel is right.
    *(used_in_flight(TL, f"commit {at + 1} is dropped", drop(COMMIT, at, 6)) for at in (3, 4, 5)),
    used_in_flight(TL, "the inner loop's wait is dropped", wait(1, "", 1, 2)),
    used_in_flight(TL, "the inner loop's wait is one group too loose",
                   wait(1, "cp.async.wait_group 2;", 1, 2)),
    Mutant(TL, "the wait after the inner loop is dropped", (wait(0, "", 0, 2),),
           "async-race", "cp.async", COPIED[TL], True),
    Mutant(TL, "the wait after the inner loop leaves one group",
           (wait(0, "cp.async.wait_group 1;", 0, 2),), "async-race", "cp.async", COPIED[TL], True),
    *barriers(TL, 6, (2, SLOTS, f"{COPIED[TL]}|acc = tw.dot"), (3, SLOTS, COPIED[TL]),
              (4, STAGED, f"{LOOP}|acc = tw.dot"), (5, STAGED, LOOP), harmless_in_turn=4),
    Mutant(TL, "the inner slots lie on the last of the outer ones",
           (change(r"(add\.s32 %r23, %r22,) 6144;", r"\1 4096;"),
            change(r"(add\.s32 %r26, %r22,) 7168;", r"\1 5120;"),
            change(r"(cp\.async.*\[%r90)\+6144(.*)", r"\1+4096\2"),
            change(r"(ldmatrix.*\[%r107)\+6144(.*)", r"\1+4096\2")),
           "async-race", "cp.async", COPIED[TL]),
    Mutant(TL, "an inner accumulator is not reset", (drop(r"mov\.b32 %r221, %r219;"),),
           "uninit-register", "st.global", WRITTEN),
    wrong(TL, "the inner accumulators begin with the outer ones",
          change(r"mov\.b32 (%r219), 0f00000000;", r"mov.b32 \1, %r251;")),
    Mutant(TL, "the inner slots wrap one step late",
           (change(r"setp\.eq\.b32 (%p10), (%r93), 3;", r"setp.eq.b32 \1, \2, 4;"),),
           "out-of-bounds-shared", "ldmatrix", COPIED[TL]),
    wrong(TL, "the outer slots wrap one step early",
          change(r"setp\.eq\.b32 (%p8), (%r86), 3;", r"setp.eq.b32 \1, \2, 2;")),
    # Programs that share the inner dimension.
    used_in_flight(SK, "the loop's wait is one group too loose", wait(1, "cp.async.wait_group 2;")),
    used_in_flight(SK, "the loop's commit is dropped", drop(COMMIT, 2, 3)),
    still_in_flight(SK, "the last wait is dropped", wait(0, "")),
    *barriers(SK, 5, (0, SLOTS, COPIED[SK]), (1, STAGED, COPIED[SK]), (2, STAGED, COPIED[SK]),
              (3, STAGED, f"{COPIED[SK]}|{LOOP}"), (4, STAGED, LOOP)),
    Mutant(SK, "an atomic is a load, an addition and a store",
           (change(rf"(@%p23) atom\.acq_rel\.gpu\.global\.add\.f32 {N}, (\[%rd68\]), {N};",
                   r"\1 ld.global.b32 \2, \3;\nadd.f32 \2, \2, \4;\n\1 st.global.b32 \3, \2;"),),
           "race-raw|race-waw", "@%p23 ld.global|@%p23 st.global", WRITTEN, True),
    Mutant(SK, "an atomic is a store",
           (change(rf"(@%p23) atom\.acq_rel\.gpu\.global\.add\.f32 {N}, (\[%rd68\]), {N};",
                   r"\1 st.global.b32 \3, \4;"),), "race-waw", "@%p23 st.global", WRITTEN),
    Mutant(SK, "the atomics have the scope of their CTA only",
           tuple(all_of(r"(@%p\d+ atom\.acq_rel)\.gpu(.*)", r"\1.cta\2", 16)),
           "race-waw", "@%p22 atom|@%p23 atom", WRITTEN, True),
    Mutant(SK, "the mask of an atomic is dropped", (change(r"@%p23 (atom.*\[%rd68\].*)", r"\1"),),
           "out-of-bounds-global", "atom", WRITTEN, True),
    wrong(SK, "all programs take the same part of the inner extent",
          change(r"mov\.u32 (%\w+), %ctaid\.z;", r"mov.u32 \1, 0;")),
]  # fmt: skip
