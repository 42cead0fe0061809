"""Seeded bugs of kernels without copies: what a compiler's mistake would look like in each."""

from __future__ import annotations

from edits import Edit, Line, Mutant, chain, change, drop, drop_all, insert, move, see

BARRIER = "bar.sync 0;"
# What a missing barrier shows first depends on which warp runs first.
UNORDERED = "race-raw|race-war|uninit-shared"
WARP = "mov.u32 %mine, %tid.x;\nshr.u32 %mine, %mine, 5;\n"
OTHER_WARP = f"{WARP}setp.ne.b32 %on, %mine, 0;\n"
STORE = "@$p st.global.b32 [$a], $v;"
LOAD = "@$p ld.global.b32 $v, [$a];"
ATOMIC = "@$p atom.acq_rel.gpu.global.add.u32 $old, [$a], $one;"


def without_barrier(golden: str, at: int, of: int, places: str, *seen: Edit) -> Mutant:
    bug = f"barrier {at + 1} is dropped"
    return Mutant(golden, bug, (*seen, drop(BARRIER, at, of)), UNORDERED, places)


# A partial result that a warp leaves for the others, and where they read it.
LEFT = "st.shared.b32 [$left*], $partial;"
TAKEN = "ld.shared.v2.b32 {$taken, *"
LEFT_OR_TAKEN = "ld.shared.v2.b32 {$taken|st.shared.b32 [*], $partial"


def partial_results(number: int) -> tuple[Edit, Edit]:
    """Those of a kernel's first or second sum over warps."""
    return see(LEFT, number, 2), see(TAKEN, number, 2)


MASKS = [
    Mutant("vector_add", "the tail's mask takes one element more",
           (change("setp.lt.s32 $p, $i, $n;", "setp.le.s32 $p, $i, $n;", 3, 4),),
           "out-of-bounds-global", "@$p ld.global.b32"),
    Mutant("vector_add", "the mask of a store is inverted",
           (change(STORE, "@!$p st.global.b32 [$a], $v;", 3, 4),),
           "out-of-bounds-global", "@!$p st.global.b32"),
    Mutant("vector_add", "the mask of a store is dropped",
           (change(STORE, "st.global.b32 [$a], $v;", 3, 4),),
           "out-of-bounds-global", "st.global.b32 [$a]"),
    Mutant("vector_add", "the mask of a load is dropped",
           (change(LOAD, "ld.global.b32 $v, [$a];", 7, 8),),
           "out-of-bounds-global", "ld.global.b32 $v"),
    Mutant("vector_add", "an output's offset is one element too large",
           (see(STORE, 3, 4), change("add.s64 $a, $first, 768;", "add.s64 $a, $first, 772;")),
           "out-of-bounds-global", "@$p st.global.b32"),
    Mutant("vector_add", "the index overflows 32 bits",
           (see(LOAD, 0, 8), change("mul.wide.s32 $offset, $i, 4;",
                                    "mul.lo.s32 $i, $i, 536870913;\nmul.wide.s32 $offset, $i, 4;")),
           "out-of-bounds-global", "@$p ld.global.b32 $v"),
    Mutant("vector_add", "the result goes to an input",
           (see(STORE, 0, 4), change("ld.param.b64 $out, [add_kernel_param_2];",
                                     "ld.param.b64 $out, [add_kernel_param_0];")),
           "read-only", "@$p st.global.b32 [$a]"),
    Mutant("vector_add", "a global address is read as a shared one",
           (change(LOAD, "@$p ld.shared.b32 $v, [$a];", 0, 8),),
           "out-of-bounds-shared", "@$p ld.shared.b32"),
    Mutant("vector_add", "an operand is a register that nothing has written",
           (change("add.f32 $sum, $x, $y;", "add.f32 $sum, $x, $sum;", 0, 4),),
           "uninit-register", "@$p st.global.b32 [$a], $sum"),
    Mutant("vector_add", "two operands are swapped for others",
           (see("add.f32 $_, $other, $_;", 1, 4),
            change("add.f32 $sum, $x, $y;", "add.f32 $sum, $other, $y;", 0, 4))),
    Mutant("dropout", "the mask is that of the other side",
           (change("setp.lt.s32 $p, $i, $n;", "setp.ge.s32 $p, $i, $n;"),),
           "out-of-bounds-global", "@$p ld.global.b32"),
    Mutant("scalar_matmul", "the mask over the inner extent takes one column more",
           (see("and.pred $first, $_, $inside;", 0, 8), see("and.pred $second, $_, $inside;", 1, 2),
            change("setp.lt.s32 $inside, $k, $extent;", "setp.le.s32 $inside, $k, $extent;")),
           "out-of-bounds-global", "@$first ld.global.b32|@$second ld.global.b32"),
    Mutant("scalar_matmul", "the column's part of a store's mask is dropped",
           (*(see(f"@${p} st.global.b32 *", i, 4) for i, p in enumerate(("p", "q", "r"))),
            change("and.pred $p, $rows, $columns;", "mov.pred $p, $rows;")),
           "race-waw", "@$p st.global.b32|@$q st.global.b32|@$r st.global.b32"),
    Mutant("softmax", "the stride between rows is one element too large",
           (see(STORE, 3, 4),
            change("mul.lo.s32 $row, $stride, $program;",
                   "add.s32 $stride, $stride, 1;\nmul.lo.s32 $row, $stride, $program;", 1, 2)),
           "out-of-bounds-global", "@$p st.global.b32"),
    Mutant("prefix", "the base of an address is dropped",
           (see("ld.global.v4.b32 *, [$a];"),
            change("add.s64 $a, $base, $offset;", "mov.b64 $a, $offset;")),
           "out-of-bounds-global", "ld.global.v4.b32"),
    Mutant("histogram", "the elements of an index are taken for twice as long",
           (see(ATOMIC, 0, 2), see("add.s64 $a, $_, $offset;"),
            change("mul.wide.s32 $offset, $i, 4;", "mul.wide.s32 $offset, $i, 8;")),
           "out-of-bounds-global", "@$p atom"),
]  # fmt: skip

WIDTHS = [
    Mutant("prefix", "a vector begins one element late",
           (change("ld.global.v4.b32 *, [$a];", "ld.global.v4.b32 *, [$a+4];"),),
           "misaligned", "ld.global.v4.b32"),
    Mutant("prefix", "a vector is twice as wide",
           (change("ld.global.v2.b32 {$x, $y}, [$a+512];",
                   "ld.global.v4.b32 {$x, $y, %mine, %other}, [$a+512];"),),
           "misaligned", "ld.global.v4.b32 {$x"),
    Mutant("gather_in_tile", "a wide store runs past the end",
           (see("st.global.v4.b32 [$a], *"),
            insert("add.s64 $a, $a, 16;", after=Line("add.s64 $a, $_, $_;"))),
           "out-of-bounds-global", "st.global.v4.b32"),
    Mutant("softmax", "a shared vector is read one element late",
           (change("ld.shared.v2.b32 {$x, $y}, [shared$memory+16];",
                   "ld.shared.v2.b32 {$x, $y}, [shared$memory+20];"),),
           "misaligned", "ld.shared.v2.b32 {$x"),
    Mutant("transpose", "a shared vector is stored one element late",
           (change("st.shared.v4.b32 [$a], *", "st.shared.v4.b32 [$a+4], *"),),
           "misaligned", "st.shared.v4.b32"),
    Mutant("cross_entropy", "a 64-bit label is read in the middle of one",
           (change("ld.global.b64 $label, [$a];", "ld.global.b64 $label, [$a+4];"),),
           "misaligned", "ld.global.b64"),
]  # fmt: skip

TRANSPOSED = "ld.shared.b32|st.shared.v4.b32"
BARRIERS = [
    *(without_barrier(golden, number, 2, LEFT_OR_TAKEN, *partial_results(number))
      for golden in ("softmax", "layer_norm", "cross_entropy") for number in (0, 1)),
    without_barrier("transpose", 0, 1, TRANSPOSED),
    without_barrier("reduce_both", 0, 1, "ld.shared.v4.b32|st.shared.v4.b32"),
    without_barrier("prefix", 0, 1, "ld.shared.v2.b32|st.shared.v2.b32"),
    without_barrier("gather_in_tile", 0, 1, "ld.shared.b32|st.shared.v4.b32"),
    *(without_barrier("scalar_matmul", number, 5, "ld.shared|st.shared") for number in (0, 1, 3)),
    without_barrier("scalar_matmul", 4, 5, "ldmatrix|st.shared.v2.b32"),
    without_barrier("sum_by_last", 0, 3, "ld.shared.v2.b32|st.shared.b32"),
    without_barrier("sum_by_last", 2, 3, "ld.shared.b32|st.shared.b32"),
    Mutant("softmax", "a barrier comes after the load that needs it",
           (*partial_results(1), move(Line(BARRIER, 1, 2), after=Line(TAKEN))),
           UNORDERED, LEFT_OR_TAKEN),
    Mutant("transpose", "a barrier comes before the store that it is for",
           (move(Line(BARRIER), before=Line("st.shared.v4.b32 *")),), UNORDERED, TRANSPOSED),
    Mutant("softmax", "a barrier is for some lanes of each warp",
           (see("@$p bra *", 0, 2), change(BARRIER, "@$p bar.sync 0;", 1, 2)),
           "divergent-barrier", "@$p bar.sync"),
    Mutant("softmax", "a barrier is inside of a branch of some lanes",
           (insert(BARRIER, after=Line("@$p bra *", 1, 2)),), "divergent-barrier", "bar.sync 0"),
    Mutant("transpose", "a warp leaves before the barrier",
           (insert(f"{OTHER_WARP}@%on exit;", before=Line(BARRIER)),), UNORDERED, TRANSPOSED),
    Mutant("transpose", "a warp passes by the barrier",
           (change(BARRIER, f"{OTHER_WARP}@%on bar.sync 0;"),), UNORDERED, TRANSPOSED),
    Mutant("transpose", "a warp passes by a barrier that counts it",
           (change(BARRIER, f"{OTHER_WARP}@%on bar.sync 0, 64;"),),
           "deadlock", "@%on bar.sync 0, 64"),
    Mutant("transpose", "a barrier waits for one warp",
           (change(BARRIER, "bar.sync 0, 32;"),), UNORDERED, TRANSPOSED),
    Mutant("transpose", "a barrier waits for a warp and a half",
           (change(BARRIER, "bar.sync 0, 48;"),), "barrier-misuse", "bar.sync 0, 48"),
    Mutant("scalar_matmul", "the two warps use barriers of different numbers",
           (change(BARRIER, f"{WARP}bar.sync %mine;", 1, 5),), "deadlock", "bar.sync %mine"),
]  # fmt: skip

SHARED_MEMORY = [
    Mutant("softmax", "the store of the partial results is dropped",
           (see(TAKEN, 0, 2), drop("st.shared.b32 [$a], $v;")),
           "uninit-shared", "ld.shared.v2.b32 {$taken"),
    Mutant("softmax", "the second buffer lies on the first",
           (see(TAKEN, 0, 2), change("st.shared.b32 [$a+16], $v;", "st.shared.b32 [$a], $v;")),
           "race-war|race-raw", "st.shared.b32 [$a], $v|ld.shared.v2.b32 {$taken"),
    Mutant("softmax", "a buffer lies behind the end of shared memory",
           (change("ld.shared.v2.b32 {$x, $y}, [shared$memory+16];",
                   "ld.shared.v2.b32 {$x, $y}, [shared$memory+32];"),),
           "out-of-bounds-shared", "ld.shared.v2.b32 {$x"),
    Mutant("transpose", "the store of the tile is dropped",
           (drop("st.shared.v4.b32 *"),), "uninit-shared", "ld.shared.b32"),
    Mutant("transpose", "the swizzle of the store maps two lanes to one place",
           (*chain("st.shared.v4.b32 [$a], *", "add.s32 $a, $_, $offset;"),
            change("xor.b32 $offset, $row, $column;", "or.b32 $offset, $row, $column;")),
           "race-waw|uninit-shared", TRANSPOSED),
    Mutant("prefix", "two stores of a warp overlap",
           (change("st.shared.v2.b32 [$a+512], *", "st.shared.v2.b32 [$a+128], *"),),
           "race-waw", "st.shared.v2.b32 [$a+128]"),
    Mutant("gather_in_tile", "the warps' rows overlap",
           (*chain("st.shared.v4.b32 [$a], *", "add.s32 $a, $_, $row;"),
            change("shl.b32 $row, $warp, 9;", "shl.b32 $row, $warp, 8;")),
           "race-waw", "st.shared.v4.b32"),
    Mutant("scalar_matmul", "the result's buffer lies on that of an operand",
           (change("st.shared.v2.b32 [$a], *", "st.shared.v2.b32 [$a+2048], *"),),
           "race-war|race-raw", "st.shared.v2.b32 [$a+2048]|ld.shared"),
    Mutant("scalar_matmul", "an operand's buffer ends behind shared memory",
           (change("st.shared.v2.b32 [$a+#o], *", "st.shared.v2.b32 [$a+#o+440], *", 1, 3),),
           "out-of-bounds-shared", "st.shared.v2.b32"),
    Mutant("scalar_matmul", "a shared address is stored to as a global one",
           (change("st.shared.b32 [$a+#o], $v;",
                   "cvt.u64.u32 %wide, $a;\nst.global.b32 [%wide+#o], $v;", 2, 4),),
           "out-of-bounds-global", "st.global.b32 [%wide"),
]  # fmt: skip

AGAIN = see("@$again bra *", -1, 4)  # goes back in the masked loop
REGISTERS = [
    Mutant("scalar_matmul", "an accumulator starts without a value",
           (see("st.shared.v2.b32 [$_+128], {$_, $sum};"), drop_all("mov.b32 $sum, *", 2)),
           "uninit-register", "@$p st.global.b32"),
    Mutant("scalar_matmul", "the loop's counter stands still",
           (see("setp.lt.s32 $_, $count, 0;"), drop("add.s32 $count, $count, 8;")),
           "step-limit", ""),
    Mutant("scalar_matmul", "the loop runs once too often without its masks",
           (AGAIN, change("setp.lt.s32 $again, $k, $_;", "setp.le.s32 $again, $k, 16;"),
            see("and.pred $first, $_, $inside;", 0, 8), see("and.pred $second, $_, $inside;", 1, 2),
            change("setp.lt.s32 $inside, $column, $_;", "setp.lt.s32 $inside, $column, 64;")),
           "out-of-bounds-global", "@$first ld.global.b32|@$second ld.global.b32"),
    Mutant("reduce_both", "the lane to read from has no value",
           (see("shfl.sync.idx.b32 $_, $_, $lane, 31, -1;"),
            change("or.b32 $lane, $x, $y;", "or.b32 $lane, $x, $lane;")),
           "uninit-register", "shfl.sync.idx"),
]  # fmt: skip

LANES = [
    Mutant("softmax", "a membermask leaves half of the warp out",
           (change("shfl.sync.bfly.b32 $x, $y, 1, 31, -1;",
                   "shfl.sync.bfly.b32 $x, $y, 1, 31, 65535;", 1, 2),),
           "bad-membermask", "shfl.sync.bfly.b32 $x"),
    Mutant("softmax", "a shuffle is inside of a branch of one lane",
           (move(Line("shfl.sync.bfly.b32 $x, $y, 16, 31, -1;", 1, 2),
                 after=Line("@$p bra *", 1, 2)),),
           "divergent-collective", "shfl.sync.bfly.b32 $x"),
    Mutant("softmax", "a lane leaves before the shuffles",
           (see("@$p bra *", 0, 2),
            insert("@!$p exit;", before=Line("shfl.sync.bfly.b32 $_, $_, 1, 31, -1;", 1, 2))),
           "inactive-lane", "shfl.sync.bfly"),
    Mutant("softmax", "a shuffle reaches half as far",
           (change("shfl.sync.bfly.b32 $x, $y, 15, 31, -1;",
                   "shfl.sync.bfly.b32 $x, $y, 7, 31, -1;", 1, 2),)),
]  # fmt: skip

SUM = see("ld.global.b32 $read, [$results];")  # the last program reads all results
CTAS = [
    Mutant("layer_norm", "all CTAs write one element",
           (see(STORE, 0, 4), change("add.s64 $a, $base, $offset;", "mov.b64 $a, $base;")),
           "race-waw", "@$p st.global.b32 [$a]"),
    Mutant("transpose", "rows of the result overlap",
           (see(STORE, 0, 4), see("ld.param.b32 $width, [transpose_param_3];"),
            *chain("add.s64 $a, $row, $_;", "add.s64 $row, $_, $o;", "mul.wide.s32 $o, $i, 4;"),
            change("mul.lo.s32 $i, $m, $height;", "mul.lo.s32 $i, $m, $width;")),
           "race-waw", "@$_ st.global.b32"),
    Mutant("scatter", "all lanes write to one element",
           (*chain(STORE, "add.s64 $a, $_, $offset;"),
            change("mul.wide.s32 $offset, $i, 4;", "mov.b64 $offset, 0;")),
           "race-waw", "@$p st.global.b32"),
    Mutant("histogram", "an atomic is a load, an addition and a store",
           (see("@$q atom*", 1, 2),
            change(ATOMIC, "@$p ld.global.b32 $old, [$a];\nadd.s32 $old, $old, $one;\n"
                           "@$p st.global.b32 [$a], $old;", 0, 2)),
           "race-raw|race-war|race-waw",
           "@$p ld.global.b32 $old|@$p st.global.b32|@$q atom"),
    Mutant("histogram", "an atomic has the scope of its CTA only",
           (change("@$p atom.acq_rel.gpu*", "@$p atom.acq_rel.cta*", 0, 2),),
           "race-waw", "@$_ atom"),
    *(Mutant("sum_by_last", f"the ticket is {order}",
             (SUM, change("@$p atom.acq_rel.gpu*", f"@$p atom.{order}.gpu*")),
             "race-raw", "ld.global.b32 $read")
      for order in ("relaxed", "acquire", "release")),
    Mutant("sum_by_last", "the partial result is stored after the ticket",
           (SUM, move(Line(STORE, 0, 2), before=Line("mov.u32 $_, %nctaid.x;"))),
           "race-raw|race-war", "ld.global.b32 $read|@$p st.global.b32 [$a]"),
    Mutant("sum_by_last", "another thread than the one that releases stores",
           (SUM, see("mov.u32 $thread, %tid.x;"),
            change(STORE, "setp.eq.b32 %on, $thread, 33;\n@%on st.global.b32 [$a], $v;", 0, 2),
            drop(BARRIER, 1, 3)),
           "race-raw", "ld.global.b32 $read"),
    Mutant("sum_by_last", "results of this launch are read through the read-only cache",
           (change("ld.global.b32 $read, [$a];", "ld.global.nc.b32 $read, [$a];"),),
           "race-raw", "ld.global.nc.b32 $read"),
]  # fmt: skip

MUTANTS = [*MASKS, *WIDTHS, *BARRIERS, *SHARED_MEMORY, *REGISTERS, *LANES, *CTAS]
