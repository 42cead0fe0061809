"""Seeded bugs of kernels with pipelined loops: of waits, barriers, buffers and what is copied."""

from __future__ import annotations

from edits import Edit, Line, Mutant, chain, change, change_all, drop, drop_all, insert, move, see

M2, M3, MT, AT, DQ, GA, TL, SK = (
    "matmul_2_stages", "matmul_3_stages", "matmul_transposed", "attention", "dequantized",
    "gathered", "two_layers", "split_k",
)  # fmt: skip
# The lines whose values are copied asynchronously, and those that write results.
COPIED = {
    M2: "x = tw.load|y = tw.load", M3: "x = tw.load|y = tw.load", MT: "x = tw.load|y = tw.load",
    AT: "key = tw.load|value = tw.load", DQ: "left = tw.load|right = tw.load",
    GA: "x = tw.load|y = tw.load", TL: "left = tw.load|hidden = tw.dot",
    SK: "x = tw.load|y = tw.load",
}  # fmt: skip
LOOP = "for start in range|for step in range|for piece in range"
WRITTEN = "tw.store(|tw.atomic_add("

COPY = "cp.async.cg.shared.global [$to*], [$from*], 16, $bytes;"
COPIES = {M2: 8, M3: 12, MT: 12, AT: 6, DQ: 9, GA: 6}  # those of the prologue, then the loop's
COMMIT = "cp.async.commit_group;"
WAIT = "cp.async.wait_group #;"
BARRIER = "bar.sync 0;"
FRAGMENT = "ldmatrix.sync.aligned.m8n8.x4*.shared.b16 {$f0, $f1, $f2, $f3}, [$row*];"
MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
WARP = "mov.u32 %mine, %tid.x;\nshr.u32 %mine, %mine, 5;\n"
HALF_WARP = "mov.u32 %mine, %tid.x;\nand.b32 %mine, %mine, 16;\nsetp.eq.b32 %on, %mine, 0;\n"


def wait(groups: int, instead: str, at: int = 0, of: int = 1) -> Edit:
    """A wait for all but some groups gives way to another statement."""
    return change(f"cp.async.wait_group {groups};", instead, at, of)


def drop_copy(golden: str, at: int) -> Edit:
    return drop(COPY, at, COPIES[golden])


def copied(golden: str, at: int) -> tuple[Edit, ...]:
    """A copy in a kernel, and how many bytes it takes: `$all` where its row exists."""
    return see(COPY, at, COPIES[golden]), see("selp.b32 $bytes, $all, 0, $inside;")


def copies_still(golden: str, at: int) -> tuple[Edit, ...]:
    """A copy in a loop, and the predicate `$more` of iterations that copy."""
    return *copied(golden, at), see("selp.b32 $all, 16, 0, $more;")


def used_in_flight(golden: str, bug: str, *edits: Edit) -> Mutant:
    """Fragments are loaded from where a copy may still be writing."""
    return Mutant(golden, bug, edits, "async-race", "ldmatrix", COPIED[golden], True)


def still_in_flight(golden: str, bug: str, *edits: Edit) -> Mutant:
    """Copies are in flight when the kernel ends."""
    return Mutant(golden, bug, edits, "async-leak", "cp.async", COPIED[golden], True)


def unordered(golden: str, bug: str, places: str, sources: str, *edits: Edit) -> Mutant:
    """Warps race for shared memory; under every schedule one of the two accesses is reported."""
    kinds = "race-raw|race-war|race-waw"
    return Mutant(golden, bug, edits, kinds, places, sources)


def wrong_stage(golden: str, bug: str, *edits: Edit) -> Mutant:
    """Fragments come from a stage that is being copied to, or copies go to one that is in use."""
    kinds = "async-race|race-raw|race-war"
    return Mutant(golden, bug, edits, kinds, "ldmatrix|cp.async", COPIED[golden])


def beyond(golden: str, bug: str, *edits: Edit) -> Mutant:
    """Copies read past the end of an array, and only a check shows it."""
    return Mutant(golden, bug, edits, "out-of-bounds-global", "cp.async", COPIED[golden], True)


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


STAGES = "cp.async|ldmatrix"
STAGED = "st.shared|ldmatrix|ld.shared"

WAITS = [
    used_in_flight(M3, "the loop's wait is one group too loose", wait(1, "cp.async.wait_group 2;")),
    used_in_flight(M3, "the loop's wait is dropped", wait(1, "")),
    used_in_flight(M3, "the loop's commit is dropped", drop(COMMIT, 2, 3)),
    used_in_flight(M3, "the first commit is dropped", drop(COMMIT, 0, 3)),
    used_in_flight(M3, "the second commit is dropped", drop(COMMIT, 1, 3)),
    used_in_flight(M3, "the loop's commit comes before its copies",
                   move(Line(COMMIT, 2, 3), before=Line(COPY, 8, 12))),
    used_in_flight(M3, "the loop's commit comes before its last copy",
                   move(Line(COMMIT, 2, 3), before=Line(COPY, 11, 12))),
    used_in_flight(M3, "only iterations that copy commit", *copies_still(M3, 8),
                   change(COMMIT, "@$more cp.async.commit_group;", 2, 3)),
    used_in_flight(M3, "only the first warp waits",
                   wait(1, f"{WARP}setp.eq.b32 %on, %mine, 0;\n@%on cp.async.wait_group 1;")),
    used_in_flight(M3, "only the first lane of each warp waits",
                   wait(1, "mov.u32 %mine, %tid.x;\nand.b32 %mine, %mine, 31;\n"
                           "setp.eq.b32 %on, %mine, 0;\n@%on cp.async.wait_group 1;")),
    used_in_flight(M3, "a fragment is loaded before the wait",
                   move(Line(WAIT, 0, 2), after=Line(FRAGMENT, 0, 12))),
    still_in_flight(M3, "the last wait is dropped", wait(0, "")),
    still_in_flight(M3, "the last wait leaves one group", wait(0, "cp.async.wait_group 1;")),
    Mutant(M3, "the last wait comes after the masked loop",
           (see("@$_ bra $end;", 2, 4), move(Line(WAIT, 1, 2), after=Line("$end:"))),
           "async-race", "st.shared|ldmatrix", COPIED[M3], True),
]  # fmt: skip

BARRIERS = [
    *barriers(M3, 5, (0, STAGES, COPIED[M3]), (1, STAGED, COPIED[M3]), (2, STAGED, COPIED[M3]),
              (3, STAGED, f"{COPIED[M3]}|{LOOP}"), (4, STAGED, LOOP)),
    used_in_flight(M3, "the loop's barrier comes before its wait",
                   move(Line(BARRIER, 0, 5), before=Line(WAIT, 0, 2))),
    unordered(M3, "the loop's barrier comes after its copies", "cp.async", COPIED[M3],
              move(Line(BARRIER, 0, 5), before=Line(COMMIT, 2, 3))),
    unordered(M3, "the loop's barrier comes after its fragments", STAGES, COPIED[M3],
              move(Line(BARRIER, 0, 5), after=Line(FRAGMENT, 5, 12))),
    unordered(M3, "the loop's barrier is for one warp", STAGES, COPIED[M3],
              change(BARRIER, "bar.sync 0, 32;", 0, 5)),
    unordered(M3, "the loop's barrier is one of a warp", STAGES, COPIED[M3],
              change(BARRIER, "bar.warp.sync -1;", 0, 5)),
    Mutant(M3, "each warp has its own barrier",
           (change(BARRIER, f"{WARP}bar.sync %mine;", 0, 5),), "deadlock", "bar.sync", LOOP),
    Mutant(M3, "one warp passes by the loop's barrier",
           (change(BARRIER, f"{WARP}setp.eq.b32 %on, %mine, 0;\n@%on bar.sync 0;", 0, 5),),
           "race-raw|race-war|race-waw|deadlock", "cp.async|ldmatrix|@%on bar.sync|bar.sync",
           f"{COPIED[M3]}|{LOOP}"),
    Mutant(M3, "half of each warp passes by the loop's barrier",
           (change(BARRIER, f"{HALF_WARP}@%on bar.sync 0;", 0, 5),),
           "divergent-barrier", "@%on bar.sync", LOOP, True),
    Mutant(M3, "one warp leaves before the loop",
           (insert(f"{WARP}setp.ne.b32 %on, %mine, 0;\n@%on exit;",
                   after=Line("@$_ bra *", 0, 4)),),
           "async-leak", "cp.async", COPIED[M3]),
    Mutant(M3, "the epilogue's barrier comes after its first load",
           (move(Line(BARRIER, 4, 5), after=Line("ld.shared.v4.b32 *", 0, 4)),),
           "race-raw", "ld.shared", LOOP, True),
    unordered(M3, "the epilogue's first store comes before the barrier", STAGED,
              f"{COPIED[M3]}|{LOOP}",
              move(Line(BARRIER, 3, 5), after=Line("st.shared.v4.b32 *", 4, 8))),
]  # fmt: skip

# From a copy or a fragment in the loop to the number of its stage.
COPY_STAGE = (see(COPY, 8, 12), *chain("add.s32 $to, $_, $place;", "or.b32 $place, $offset, $_;"))
FRAGMENT_STAGE = (see(FRAGMENT, 0, 12), see("add.s32 $row, $_, $offset;"))
NEXT_STAGE = change("shl.b32 $offset, $stage, 11;",
                    "add.s32 $offset, $stage, 1;\nshl.b32 $offset, $offset, 11;")  # fmt: skip
WRAP = see("setp.eq.b32 $wrap, $next, 3;")


def wrap(after: int, instead: str, at: int = 0, of: int = 1) -> Edit:
    """The numbers of stages begin again after another one, or on another condition."""
    return change(f"setp.eq.b32 $wrap, $next, {after};", instead, at, of)


def wrap_at(after: int, instead: int, at: int = 0, of: int = 1) -> Edit:
    return wrap(after, f"setp.eq.b32 $wrap, $next, {instead};", at, of)


STAGE_NUMBERS = [
    wrong_stage(M3, "the next stage is read", *FRAGMENT_STAGE, NEXT_STAGE),
    wrong_stage(M3, "the next stage is written", *COPY_STAGE, NEXT_STAGE),
    wrong_stage(M3, "the stages wrap one step late", wrap_at(3, 4)),
    wrong_stage(M3, "the stages wrap one step early", wrap_at(3, 2)),
    Mutant(M3, "the stages do not wrap",
           (WRAP, change("selp.b32 $stage, 0, $next, $wrap;", "mov.b32 $stage, $next;")),
           "out-of-bounds-shared", "cp.async", "y = tw.load"),
    wrong_stage(M3, "the stage read stands still", WRAP, drop("selp.b32 $stage, 0, $next, $wrap;")),
    Mutant(M3, "the loop's first copies go to the wrong stage",
           (change("mov.b32 $stage, 2;", "mov.b32 $stage, 1;"),),
           "async-race", "cp.async", COPIED[M3]),
    wrong_stage(M3, "the loop's first fragments come from the wrong stage",
                WRAP, see("selp.b32 $stage, 0, $next, $wrap;"), see("@$_ bra $loop;", 1, 4),
                insert("mov.b32 $stage, 1;", before=Line("$loop:"))),
    Mutant(M3, "the prologue's second copies go to the first stage",
           (change("cp.async.cg.shared.global [$to+2048], *",
                   "cp.async.cg.shared.global [$to], *"),),
           "async-race", "cp.async", "x = tw.load"),
    Mutant(M3, "the prologue leaves a copy out", (drop_copy(M3, 7),),
           "uninit-shared", "ldmatrix", "y = tw.load"),
    Mutant(M3, "the loop leaves a copy out", (drop_copy(M3, 9),),
           "uninit-shared", "ldmatrix", "x = tw.load"),
    Mutant(M3, "a stage of B lies on the last of A",
           (see(COPY, 10, 12), change("cp.async.cg.shared.global [$to+#o], [$from], *",
                                      "cp.async.cg.shared.global [$to+#o-1024], [$from], *")),
           "async-race", "cp.async", "y = tw.load"),
    Mutant(M3, "B's stages end behind shared memory",
           (see(COPY, 11, 12), change("cp.async.cg.shared.global [$to+#o], [$from], *",
                                      "cp.async.cg.shared.global [$to+#o+1024], [$from], *")),
           "out-of-bounds-shared", "cp.async", "y = tw.load"),
    wrong(M3, "the masked loop's buffers overlap",
          change("st.shared.v4.b32 [$a+2048], *", "st.shared.v4.b32 [$a+1024], *")),
]  # fmt: skip

# The first copy of a stage: one is in the prologue, one in the loop.
FIRST_COPY = ("cp.async.cg.shared.global [$to], [$from], 16, $bytes;", 1, 2)
STEP = ("shl.b32 $step, $n, 5;", see("ld.param.b32 $n, [matmul_param_4];"))
COPIED_DATA = [
    beyond(M3, "a row past the end is not filled with zeros", *copied(M3, 9),
           change("selp.b32 $bytes, $all, 0, $inside;", "mov.b32 $bytes, $all;"))
    ._replace(sources="x = tw.load"),
    beyond(M3, "the last iterations copy still", *copies_still(M3, 8),
           change("selp.b32 $all, 16, 0, $more;", "mov.b32 $all, 16;")),
    beyond(M3, "the prologue copies a row past the end", *copied(M3, 1),
           change("selp.b32 $bytes, $all, 0, $inside;", "mov.b32 $bytes, $all;"))
    ._replace(sources="x = tw.load"),
    wrong(M3, "half of each piece is copied", *copies_still(M3, 8),
          change("selp.b32 $all, 16, 0, $more;", "selp.b32 $all, 8, 0, $more;")),
    Mutant(M3, "a copy reads more than it writes",
           (change(FIRST_COPY[0], "cp.async.ca.shared.global [$to], [$from], 8, $bytes;", 1, 2),),
           "async-misuse", "cp.async", "x = tw.load"),
    Mutant(M3, "a copy writes half of a piece",
           (change(FIRST_COPY[0], "shr.u32 $bytes, $bytes, 1;\n"
                   "cp.async.ca.shared.global [$to], [$from], 8, $bytes;", 1, 2),),
           "uninit-shared", "ldmatrix", "x = tw.load"),
    Mutant(M3, "a copy's source begins in the middle of a piece",
           (change(FIRST_COPY[0],
                   "cp.async.cg.shared.global [$to], [$from+8], 16, $bytes;", 1, 2),),
           "misaligned", "cp.async", "x = tw.load"),
    Mutant(M3, "a copy's destination begins in the middle of a piece",
           (change(FIRST_COPY[0],
                   "cp.async.cg.shared.global [$to+8], [$from], 16, $bytes;", 1, 2),),
           "misaligned", "cp.async", "x = tw.load"),
    wrong(M3, "A and B are mixed up", see(*FIRST_COPY),
          change("cp.async.cg.shared.global [$to+6144], [$b], *",
                 "cp.async.cg.shared.global [$to+6144], [$from], *")),
    wrong(M3, "B's step is half as large", STEP[1], change(STEP[0], "shl.b32 $step, $n, 4;")),
    Mutant(M3, "B's step is twice as large", (STEP[1], change(STEP[0], "shl.b32 $step, $n, 6;")),
           "out-of-bounds-global", "cp.async", "y = tw.load"),
    Mutant(M3, "the masked loop's mask of rows is dropped",
           (see("@$p ld.global.v4.b32 *", 1, 4),
            change("and.pred $p, $rows, $inner;", "mov.pred $p, $inner;")),
           "out-of-bounds-global", "@$p ld.global", "x = tw.load", True),
    Mutant(M3, "the masked loop's mask over the inner extent is dropped",
           (see("@$p ld.global.v4.b32 *", 0, 4),
            change("and.pred $p, $rows, $inner;", "mov.pred $p, $rows;")),
           "out-of-bounds-global", "@$p ld.global", "x = tw.load", True),
    Mutant(M3, "the mask of a store is dropped",
           (change("@$p st.global.v4.b32 *", "st.global.v4.b32 *", 2, 4),),
           "out-of-bounds-global|race-waw", "st.global", WRITTEN),
]  # fmt: skip

FRAGMENTS = [
    Mutant(M3, "the copies are swizzled in another way than the fragments",
           (see(COPY, 0, 12),
            *chain("add.s32 $to, $_, $place;", "xor.b32 $place, $_, $rows;"),
            change("and.b32 $rows, $row, 288;", "and.b32 $rows, $row, 32;")),
           "async-race", "cp.async", COPIED[M3]),
    wrong(M3, "the fragments are swizzled in another way than the copies",
          see(FRAGMENT, 1, 12), see("add.s32 $row, $_, $place;"),
          change("xor.b32 $place, $x, 32;", "xor.b32 $place, $x, 64;")),
    wrong(M3, "A's second half is that of another row",
          see(FRAGMENT, 5, 12), see("add.s32 $row, $_, $place;"),
          change("xor.b32 $place, $x, 32;", "xor.b32 $place, $x, 96;")),
    wrong(M3, "a fragment of B is not transposed",
          change("ldmatrix.sync.aligned.m8n8.x4.trans*", "ldmatrix.sync.aligned.m8n8.x4*", 0, 8)),
    wrong(M3, "a fragment of A is transposed",
          change("ldmatrix.sync.aligned.m8n8.x4.shared*",
                 "ldmatrix.sync.aligned.m8n8.x4.trans.shared*", 0, 4)),
    Mutant(M3, "a fragment's rows begin in the middle of a piece",
           (change("ldmatrix.sync.aligned.m8n8.x4.shared*];",
                   "ldmatrix.sync.aligned.m8n8.x4.shared*+8];", 0, 4),),
           "misaligned", "ldmatrix", "x = tw.load"),
    Mutant(M3, "a fragment lies behind shared memory",
           (see(FRAGMENT, 0, 12), change("ldmatrix*[$row+6144];", "ldmatrix*[$row+12288];")),
           "out-of-bounds-shared", "ldmatrix", "y = tw.load"),
    Mutant(M3, "a fragment is loaded by half of the lanes",
           (change("ldmatrix*", f"{HALF_WARP}@%on ldmatrix*", 0, 12),),
           "divergent-collective", "@%on ldmatrix", "y = tw.load"),
    wrong(M3, "the lanes' rows are those of the other warp",
          see(FRAGMENT, 4, 12),
          *chain("add.s32 $row, $start, $_;", "add.s32 $start, $_, $place;"),
          insert("xor.b32 $place, $place, 1024;", after=Line("or.b32 $place, $_, $_;"))),
    wrong(M3, "a product's second operand is in the wrong order",
          change(MMA + "{*}, {*}, {$b0, $b1}, {*};", MMA + "{*}, {*}, {$b1, $b0}, {*};", 0, 16)),
    wrong(M3, "a product's first operand is in the wrong order",
          change(MMA + "{*}, {$a0, $a1, $a2, $a3}, {$b0, $b1}, {*};",
                 MMA + "{*}, {$a0, $a2, $a1, $a3}, {$b0, $b1}, {*};", 0, 16)),
    wrong(M3, "a product is added to another accumulator",
          see(MMA + "*, {$c0, $c1, $c2, $c3};", 4, 16),
          change(MMA + "*, {$_, $_, $_, $_};", MMA + "*, {$c0, $c1, $c2, $c3};", 5, 16)),
    Mutant(M3, "an accumulator starts without a value",
           (see(MMA + "*, {$_, $sum, $_, $_};", 1, 16), drop_all("mov.b32 $sum, *", 2)),
           "uninit-register", "@$_ st.global", WRITTEN),
    Mutant(M3, "a fragment is never loaded", (drop(FRAGMENT, 5, 12),),
           "uninit-register", "@$_ st.global", WRITTEN),
]  # fmt: skip

TWO_STAGES = [
    used_in_flight(M2, "the loop's wait leaves one group", wait(0, "cp.async.wait_group 1;", 0, 2)),
    used_in_flight(M2, "the loop's wait is dropped", wait(0, "", 0, 2)),
    used_in_flight(M2, "the prologue's commit is dropped", drop(COMMIT, 0, 2)),
    used_in_flight(M2, "the loop's commit is dropped", drop(COMMIT, 1, 2)),
    used_in_flight(M2, "the loop's barrier comes before its wait",
                   move(Line(BARRIER, 0, 5), before=Line(WAIT, 0, 2))),
    used_in_flight(M2, "only iterations that copy wait", *copies_still(M2, 4),
                   move(Line("setp.lt.s32 $more, *"), before=Line(WAIT, 0, 2)),
                   wait(0, "@$more cp.async.wait_group 0;", 0, 2)),
    *barriers(M2, 5, (0, STAGES, COPIED[M2]), (1, STAGED, COPIED[M2]), (2, STAGED, COPIED[M2]),
              (3, STAGED, f"{COPIED[M2]}|{LOOP}"), (4, STAGED, LOOP)),
    wrong_stage(M2, "there is one stage only", wrap(2, "setp.ne.b32 $wrap, $next, 0;")),
    Mutant(M2, "the stages wrap one step late", (wrap_at(2, 3),),
           "out-of-bounds-shared", "cp.async", "y = tw.load"),
]  # fmt: skip

# The prologue's copies of the third step.
THIRD_STEP = tuple(drop("cp.async.cg*", 6, 12 - i) for i in range(3))
TRANSPOSED = [
    used_in_flight(MT, "the loop's wait is one group too loose", wait(2, "cp.async.wait_group 3;")),
    used_in_flight(MT, "the loop's wait is dropped", wait(2, "")),
    *(used_in_flight(MT, f"commit {at + 1} is dropped", drop(COMMIT, at, 4)) for at in range(4)),
    still_in_flight(MT, "the last wait is dropped", wait(0, "")),
    *barriers(MT, 3, (0, STAGES, COPIED[MT]), (1, STAGED, WRITTEN),
              (2, "st.shared|ld.shared", WRITTEN)),
    Mutant(MT, "the prologue copies for one step less", THIRD_STEP,
           "uninit-shared", "ldmatrix", COPIED[MT]),
    wrong_stage(MT, "the prologue copies and commits for one step less",
                *THIRD_STEP, drop(COMMIT, 2, 4)),
    Mutant(MT, "the loop's first copies go to the wrong stage",
           (change("mov.b32 $stage, 3;", "mov.b32 $stage, 2;"),),
           "async-race", "cp.async", COPIED[MT]),
    wrong_stage(MT, "the stages wrap one step late", wrap_at(4, 5)),
    wrong_stage(MT, "the stages wrap one step early", wrap_at(4, 3)),
    wrong_stage(MT, "the fragments take B's stages to be half as large",
                see(FRAGMENT, 0, 6), see("add.s32 $row, $_, $offset;"),
                change("shl.b32 $offset, $stage, 12;", "shl.b32 $offset, $stage, 11;")),
    wrong_stage(MT, "the copies take B's stages to be half as large",
                see(COPY, 10, 12), see("add.s32 $to, $_, $offset;"),
                change("shl.b32 $offset, $stage, 12;", "shl.b32 $offset, $stage, 11;")),
    Mutant(MT, "A's stages lie on the last of B's",
           (change_all("cp.async*+16384], *", "cp.async*+14336], *", 2),
            change_all("ldmatrix*+16384];", "ldmatrix*+14336];", 2)),
           "async-race|race-war", "cp.async", COPIED[MT]),
    wrong(MT, "a fragment of B is transposed once too often",
          change("ldmatrix.sync.aligned.m8n8.x4.shared*",
                 "ldmatrix.sync.aligned.m8n8.x4.trans.shared*", 0, 6)),
    wrong(MT, "the second row of a copy is the first again", see(*FIRST_COPY),
          change("cp.async.cg.shared.global [$to+2048], [$second], *",
                 "cp.async.cg.shared.global [$to+2048], [$from], *")),
    unordered(MT, "the epilogue's pieces overlap", "st.shared", WRITTEN,
              change("st.shared.v2.b16 [$a+256], *", "st.shared.v2.b16 [$a], *")),
]  # fmt: skip

ATTENTION = [
    used_in_flight(AT, "the loop's wait is one group too loose", wait(1, "cp.async.wait_group 2;")),
    used_in_flight(AT, "the loop's wait is dropped", wait(1, "")),
    *(used_in_flight(AT, f"commit {at + 1} is dropped", drop(COMMIT, at, 3)) for at in range(3)),
    used_in_flight(AT, "the loop's barrier comes before its wait",
                   move(Line(BARRIER, 1, 8), before=Line(WAIT, 0, 2))),
    still_in_flight(AT, "the last wait is dropped", wait(0, "")),
    *barriers(AT, 8, (0, STAGED, "query = tw.load"), (1, STAGES, COPIED[AT]),
              (2, STAGED, COPIED[AT]), (3, STAGED, COPIED[AT]), (4, STAGED, COPIED[AT]),
              (5, STAGED, COPIED[AT]), (6, STAGED, f"{COPIED[AT]}|{WRITTEN}"),
              (7, STAGED, WRITTEN)),
    Mutant(AT, "half of the queries are not staged", (drop("st.shared.v4.b32 [$a+14336], *"),),
           "uninit-shared", "ldmatrix", "query = tw.load"),
    Mutant(AT, "the queries lie on a stage of the values",
           (change("st.shared.v4.b32 [$a+12288], *", "st.shared.v4.b32 [$a+8192], *"),
            change("st.shared.v4.b32 [$a+14336], *", "st.shared.v4.b32 [$a+10240], *"),
            change_all("ldmatrix*+12288];", "ldmatrix*+8192];", 2)),
           "async-race", "ldmatrix", "query = tw.load"),
    wrong_stage(AT, "the values come from the next stage",
                change("ldmatrix*+6144];", "ldmatrix*+8192];", 0, 2)),
    wrong_stage(AT, "the stages wrap one step early", wrap_at(3, 2)),
    beyond(AT, "the last iterations copy still",
           see(COPY, 4, 6), change("selp.b32 $bytes, 16, 0, $more;", "mov.b32 $bytes, 16;")),
    wrong(AT, "a part of the diagonal is left out",
          change("setp.gt.s32 $p, $limit, 8;", "setp.gt.s32 $p, $limit, 9;", 1, 2)),
]  # fmt: skip

SCALED = "acc = acc * tw.load"
DEQUANTIZED = [
    used_in_flight(DQ, "the loop's wait is one group too loose", wait(1, "cp.async.wait_group 2;")),
    used_in_flight(DQ, "the loop's commit is dropped", drop(COMMIT, 2, 3)),
    still_in_flight(DQ, "the last wait is dropped", wait(0, "")),
    used_in_flight(DQ, "the loop's barrier comes before its wait",
                   move(Line(BARRIER, 0, 3), before=Line(WAIT, 0, 2))),
    *barriers(DQ, 3, (0, STAGES, COPIED[DQ]), (1, STAGED, SCALED), (2, STAGED, SCALED)),
    wrong(DQ, "scales are those of other columns",
          see("shfl.sync.idx.b32 $_, $_, $other, 31, -1;", 7, 8),
          change("xor.b32 $other, $lane, 2;", "xor.b32 $other, $lane, 1;")),
    Mutant(DQ, "the weights lie on the last stage of the other operand",
           (change_all("cp.async*+6144], *", "cp.async*+4096], *", 2),
            change("cp.async*+7168], *", "cp.async*+5120], *"),
            change("ldmatrix*+6144];", "ldmatrix*+4096];"),
            change("ldmatrix*+6656];", "ldmatrix*+4608];")),
           "async-race", "cp.async", COPIED[DQ]),
    wrong(DQ, "a weight's sign is lost",
          change("xor.b32 $positive, $weights, -2139062144;",
                 "mov.b32 $positive, $weights;", 0, 8)),
    Mutant(DQ, "a copy of the weights is left out", (drop_copy(DQ, 6),),
           "uninit-shared", "ldmatrix", "right = tw.load"),
    Mutant(DQ, "a half of a fragment is never computed", (drop("add.rn.f16x2 *", 0, 16),),
           "uninit-register", "st.global", WRITTEN),
]  # fmt: skip

PAGE = ("@$p ld.global.b32 $page, [$at];", 3, 4)  # three in the prologue, one in the loop
GATHERED = [
    used_in_flight(GA, "the loop's wait is one group too loose", wait(1, "cp.async.wait_group 2;")),
    used_in_flight(GA, "the loop's commit is dropped", drop(COMMIT, 2, 3)),
    used_in_flight(GA, "the first commit is dropped", drop(COMMIT, 0, 3)),
    still_in_flight(GA, "the last wait is dropped", wait(0, "")),
    *barriers(GA, 3, (0, STAGES, COPIED[GA]), (1, STAGED, f"{COPIED[GA]}|{LOOP}"),
              (2, "st.shared|ld.shared", LOOP)),
    Mutant(GA, "an index is loaded past the end",
           (change(PAGE[0], "ld.global.b32 $page, [$at];", 3, 4),),
           "out-of-bounds-global", "ld.global", "page = tw.load", True),
    beyond(GA, "the last iterations copy still", *copies_still(GA, 4),
           change("selp.b32 $all, 16, 0, $more;", "mov.b32 $all, 16;")),
    Mutant(GA, "the index is that of a step later",
           (see(*PAGE), change("add.s64 $at, $pages, 12;", "add.s64 $at, $pages, 16;")),
           "out-of-bounds-global", "@$p ld.global", "page = tw.load"),
    Mutant(GA, "the index advances twice as far",
           (see(*PAGE), change("add.s64 $at, $at, 4;", "add.s64 $at, $at, 8;")),
           "out-of-bounds-global", "@$p ld.global", "page = tw.load"),
    Mutant(GA, "an address comes from an index that is not loaded",
           (see(*PAGE), change("shl.b32 $row, $page, 9;", "shl.b32 $row, $row, 9;")),
           "uninit-register", "cp.async", "y = tw.load"),
]  # fmt: skip

# A product within a product's loop. The outer loop's groups are older than the inner one's, so the
# inner loop's waits cover them: without an outer commit or wait the kernel is right.
TWO_LAYERS = [
    *(used_in_flight(TL, f"commit {at + 1} is dropped", drop(COMMIT, at, 6)) for at in (3, 4, 5)),
    used_in_flight(TL, "the inner loop's wait is dropped", wait(1, "", 1, 2)),
    used_in_flight(TL, "the inner loop's wait is one group too loose",
                   wait(1, "cp.async.wait_group 2;", 1, 2)),
    Mutant(TL, "the wait after the inner loop is dropped", (wait(0, "", 0, 2),),
           "async-race", "cp.async", COPIED[TL], True),
    Mutant(TL, "the wait after the inner loop leaves one group",
           (wait(0, "cp.async.wait_group 1;", 0, 2),), "async-race", "cp.async", COPIED[TL], True),
    *barriers(TL, 6, (2, STAGES, f"{COPIED[TL]}|acc = tw.dot"), (3, STAGES, COPIED[TL]),
              (4, STAGED, f"{LOOP}|acc = tw.dot"), (5, STAGED, LOOP), harmless_in_turn=4),
    Mutant(TL, "the inner stages lie on the last of the outer ones",
           (change("add.s32 $a, $base, 6144;", "add.s32 $a, $base, 4096;"),
            change("add.s32 $b, $base, 7168;", "add.s32 $b, $base, 5120;"),
            change_all("cp.async*+6144], *", "cp.async*+4096], *", 1),
            change("ldmatrix*+6144];", "ldmatrix*+4096];")),
           "async-race", "cp.async", COPIED[TL]),
    Mutant(TL, "an inner accumulator is not reset",
           (see("max.f32 $_, $sum, 0f00000000;", 1, 16), drop("mov.b32 $sum, $_;")),
           "uninit-register", "st.global", WRITTEN),
    wrong(TL, "the inner accumulators begin with the outer ones",
          see("max.f32 $_, $inner, 0f00000000;", 0, 16), see("st.shared.v4.b32 [$_], {$outer, *"),
          change("mov.b32 $inner, 0f00000000;", "mov.b32 $inner, $outer;")),
    Mutant(TL, "the inner stages wrap one step late", (wrap_at(3, 4, 1, 2),),
           "out-of-bounds-shared", "ldmatrix", COPIED[TL]),
    wrong(TL, "the outer stages wrap one step early", wrap_at(3, 2, 0, 2)),
]  # fmt: skip

ATOMIC = ("@$p atom.acq_rel.gpu.global.add.f32 $old, [$a], $new;", 15, 16)
SPLIT_K = [
    used_in_flight(SK, "the loop's wait is one group too loose", wait(1, "cp.async.wait_group 2;")),
    used_in_flight(SK, "the loop's commit is dropped", drop(COMMIT, 2, 3)),
    still_in_flight(SK, "the last wait is dropped", wait(0, "")),
    *barriers(SK, 5, (0, STAGES, COPIED[SK]), (1, STAGED, COPIED[SK]), (2, STAGED, COPIED[SK]),
              (3, STAGED, f"{COPIED[SK]}|{LOOP}"), (4, STAGED, LOOP)),
    Mutant(SK, "an atomic is a load, an addition and a store",
           (change(ATOMIC[0], "@$p ld.global.b32 $old, [$a];\nadd.f32 $old, $old, $new;\n"
                   "@$p st.global.b32 [$a], $old;", *ATOMIC[1:]),),
           "race-raw|race-waw", "@$p ld.global|@$p st.global", WRITTEN, True),
    Mutant(SK, "an atomic is a store",
           (change(ATOMIC[0], "@$p st.global.b32 [$a], $new;", *ATOMIC[1:]),),
           "race-waw", "@$p st.global", WRITTEN),
    Mutant(SK, "the atomics have the scope of their CTA only",
           (change_all("@$p atom.acq_rel.gpu*", "@$p atom.acq_rel.cta*", 16),),
           "race-waw", "@$_ atom", WRITTEN, True),
    Mutant(SK, "the mask of an atomic is dropped",
           (change("@$p atom*", "atom*", *ATOMIC[1:]),),
           "out-of-bounds-global", "atom", WRITTEN, True),
    wrong(SK, "all programs take the same part of the inner extent",
          change("mov.u32 $part, %ctaid.z;", "mov.u32 $part, 0;")),
]  # fmt: skip

PIPELINED_MUTANTS = [
    *WAITS, *BARRIERS, *STAGE_NUMBERS, *COPIED_DATA, *FRAGMENTS, *TWO_STAGES, *TRANSPOSED,
    *ATTENTION, *DEQUANTIZED, *GATHERED, *TWO_LAYERS, *SPLIT_K,
]  # fmt: skip
