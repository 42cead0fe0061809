"""Faults seeded in kernels for AMD's GPUs: each is reported or computes wrong numbers.

A mutant is a kernel's LLVM IR with one line changed by a rule.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from warpsim_command import COMMAND, needs_command

ROOT = Path(__file__).resolve().parents[4]
sys.path.insert(0, str(ROOT / "test/golden/ptx"))

from launches import GOLDENS, HALF, SINGLE, Golden, request  # noqa: E402

pytestmark = [
    needs_command,
    pytest.mark.usefixtures("compiler"),
]


class Rule(NamedTuple):
    """A line that matches is replaced; an empty replacement drops it."""

    name: str
    pattern: str
    replacement: str


FLAGS = (0x27000, 0x31027000)  # of buffers: the upper word of their resources


def resource(flags: int, bounds: int) -> int:
    """The upper 64 bits of a buffer's resource, in their place."""
    return flags << 96 | bounds << 64


RULES = [
    Rule("fence dropped", r"  fence .*", ""),
    Rule("fence of global memory", r"(  fence .*), !mmra !\d+", r"\1, !mmra !9999"),
    Rule("fence of another order", r"(  fence .*) release(.*)", r"\1 acquire\2"),
    Rule("fence of another order", r"(  fence .*) acquire(.*)", r"\1 release\2"),
    Rule("fence of a wave", r'(  fence syncscope\(")workgroup(.*)', r"\1wavefront\2"),
    # Four bytes from the argument on.
    *(Rule("bounds of a buffer", rf"(  %\d+ = or disjoint i128 %\d+, ){resource(flags, bounds)}",
           rf"\g<1>{resource(flags, first + 4)}")
      for flags in FLAGS for bounds, first in ((0xfffffff0, 1 << 31), (1 << 31, 0))),
    Rule("buffer's base off", rf"(  %\d+ = add i64 %\d+, ){(1 << 48) - (1 << 31)}",
         rf"\g<1>{(1 << 48) - (1 << 31) + 16}"),
    Rule("barrier dropped", r"  .*@llvm\.amdgcn\.s\.barrier\(\)", ""),
    Rule("half of a barrier dropped", r"  .*@llvm\.amdgcn\.s\.barrier\.(?:signal|wait)\(.*", ""),
    Rule("another exchange", r"(.*update\.dpp.*, i32 )(?:177|78|27|321|296)(, i32 15.*)",
         r"\g<1>228\2"),
    Rule("another exchange", r"(.*update\.dpp.*, i32 )322(, i32 15.*)", r"\g<1>323\2"),
    Rule("another exchange", r"(.*)permlanex16(.*)", r"\1permlane16\2"),
    Rule("another lane", r"(  %\d+ = xor i32 %\d+, )128", r"\g<1>64"),
    Rule("operands swapped", r"(.*(?:mfma|wmma).*\()(<\d+ x half> %\d+), (<\d+ x half> %\d+)(.*)",
         r"\1\3, \2\4"),
    Rule("accumulator lost", r"(.*(?:mfma|wmma).*)(<\d+ x float>) %\d+(.*)",
         r"\1\2 zeroinitializer\3"),
    Rule("shared address off", r"(.*(?:load|store) .*)ptr addrspace\(3\) (%\d+)(,.*)",
         "  %mutant = getelementptr i8, ptr addrspace(3) \\2, i32 32\n"
         r"\1ptr addrspace(3) %mutant\3"),
    Rule("address off", r"(.*(?:load|store) .*)ptr addrspace\(1\) (%\d+)(,.*)",
         "  %mutant = getelementptr i8, ptr addrspace(1) \\2, i64 32\n"
         r"\1ptr addrspace(1) %mutant\3"),
    Rule("mask dropped", r"(  %[\w.]+ = icmp slt i32 %\d+, )%\d+", r"\g<1>2147483647"),
    Rule("mask dropped", r"(  %\d+ = select i1 )%\d+(, i32 %\d+, i32 -(?:16|2147483648))", r"\1true\2"),
    Rule("buffer address off", r"(.*raw\.ptr\.buffer\..*, i32 )(%\d+)(, i32 0, i32 0\).*)",
         r"  %mutant = add i32 \2, 8\n\1%mutant\3"),
    Rule("mask turned", r"(  %[\w.]+ = icmp )slt( .*)", r"\1sge\2"),
    Rule("transposed read dropped",
         r"(  %\d+ = )(?:tail )?call (<4 x i16>) "
         r"@llvm\.amdgcn\.ds\.read\.tr16\.b64\.v4i16\((.*)\)(.*)",
         r"\1load \2, \3, align 8\4"),
    Rule("copy's place off",
         r"(.*load\.lds\(ptr addrspace\(8\) (?:nonnull )?%\d+, )ptr addrspace\(3\) (%\d+)(, .*)",
         "  %mutant = getelementptr i8, ptr addrspace(3) \\2, i32 1024\n"
         r"\1ptr addrspace(3) %mutant\3"),
    Rule("lanes of a copy off", r"(.*load\.lds\(.*, i32 16, i32 )(%\d+)(, i32 %?-?\d+, i32 0, .*)",
         "  %mutant = xor i32 \\2, 16\n\\1%mutant\\3"),
    Rule("copy not awaited", r".*s\.waitcnt\(i32 3952\).*", ""),
    Rule("copy not awaited", r"(.*s\.waitcnt\(i32 )3952\)", r"\g<1>3953)"),
    Rule("copy not awaited", r"(.*s\.waitcnt\(i32 )3953\)", r"\g<1>3954)"),
    *(Rule("rows not awaited", rf"(.*s\.wait\.tensorcnt\(i16 ){left}\)", rf"\g<1>{left + more})")
      for left in (0, 2) for more in (1, 2)),
    Rule("rows not awaited", r".*s\.wait\.tensorcnt\(.*", ""),
    Rule("rows not copied", r"  .*call void @llvm\.amdgcn\.tensor\.load.*", ""),
    Rule("place of rows off", r"(.*tensor\.load\.to\.lds\.d2\(<4 x i32> )(%\d+)(, .*)",
         "  %mutant = add <4 x i32> \\2, <i32 0, i32 1024, i32 0, i32 0>\n\\1%mutant\\3"),
    Rule("rows of the array off", r"(.*tensor\.load\.to\.lds\.d2\(<4 x i32> )(%\d+)(, .*)",
         "  %mutant = add <4 x i32> \\2, <i32 0, i32 0, i32 16, i32 0>\n\\1%mutant\\3"),
    Rule("rows too far apart", r"(.*tensor\.load\.to\.lds\.d2\(.*, <8 x i32> )(%\d+)(, .*)",
         "  %mutant = add <8 x i32> \\2, <i32 0, i32 0, i32 0, i32 0, i32 0, i32 8, i32 0, i32 0>\n"
         "\\1%mutant\\3"),
    Rule("rows of another padding", r"(.*tensor\.load\.to\.lds\.d2\(.*, <8 x i32> )(%\d+)(, .*)",
         "  %mutant = add <8 x i32> \\2, <i32 33554432, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0, i32 0>\n"
         "\\1%mutant\\3"),
]  # fmt: skip


# [112, 112] by [112, 80] in tiles of 64 and steps of 32: masks decide at all edges.
MATMUL = Golden(
    "tutorials/03_matmul.py:matmul_kernel",
    f"{HALF},{HALF},{HALF},i32:16,i32:16,i32:16,i32:16,1,i32:16,1,i32:16,1",
    "BLOCK_M=64,BLOCK_N=64,BLOCK_K=32,GROUP_M=4,ACTIVATION=None", "4",
    ("const f16[12544]=random", "const f16[8960]=random", "f16[8960]=zeros", "i32=112", "i32=80",
     "i32=112", "i32=112", "i32=80", "i32=80"), 4, 1,
)  # fmt: skip
# One slot, so that a barrier is split around products.
SPLIT = MATMUL._replace(
    constexpr="BLOCK_M=128,BLOCK_N=128,BLOCK_K=32,GROUP_M=4,ACTIVATION=None", grid="1", num_stages=2
)
# Strides that are known not to be negative, so that the tensor data mover takes them.
ROWS = MATMUL._replace(signature=MATMUL.signature.replace("i32:16", "i32:16:nonneg"), num_stages=3)
NORM = Golden(
    "tutorials/04_layer_norm.py:layer_norm_kernel",
    f"{SINGLE},{SINGLE},{SINGLE},{SINGLE},{SINGLE},{SINGLE},i32,i32,fp32", "BLOCK=512", "3",
    ("const f32[1200]=random", "const f32[400]=random", "const f32[400]=random",
     "f32[1200]=zeros", "f32[3]=zeros", "f32[3]=zeros", "i32=400", "i32=400", "f32=1e-5"), 4,
)  # fmt: skip
ENTROPY = GOLDENS["cross_entropy"]
COPIES = Golden("", "", "", "1", ("const f32[640]=random", "f32[128]=zeros"))


class Case(NamedTuple):
    """A kernel for an architecture, and how many mutants of a rule change nothing that is seen."""

    name: str
    arch: str
    golden: Golden
    harmless: dict[str, int]
    has_copies: bool = False

    @property
    def label(self) -> str:
        return f"{self.name}-{self.arch}"


CASES = [
    # Rows and columns beyond the last are computed from whatever is read, and not stored; the upper
    # half of the last step is zeros times what is there; there is always a last step with masks,
    # and for no launch do 32 bits not hold an offset, which two comparisons are for: if they fail,
    # all steps have masks. Masks of stores are computed behind the loop: one is of rows that exist.
    Case("matmul", "gfx942", MATMUL, {"mask dropped": 4, "mask turned": 2, "operands swapped": 2}),
    Case("matmul", "gfx1100", MATMUL,
         {"mask dropped": 9, "mask turned": 2, "operands swapped": 1, "shared address off": 1}),
    # Of 128 rows and columns of the tile, 112 and 80 exist.
    Case("matmul", "gfx1201", SPLIT,
         {"mask dropped": 17, "mask turned": 2, "operands swapped": 2, "shared address off": 2,
          "buffer address off": 1}),
    # There is one pair of iterations, which begins with sums of zero. The wait behind the loop
    # finds no copy that another has not waited for.
    Case("matmul", "gfx950", MATMUL._replace(num_stages=2),
         {"mask dropped": 7, "mask turned": 2, "operands swapped": 1, "shared address off": 1,
          "accumulator lost": 1, "transposed read dropped": 1, "copy not awaited": 2}, True),
    # Masks are those of the store; the wait behind the loop finds no copy, as there is one only in
    # iterations that exist.
    Case("matmul", "gfx1250", ROWS, {"mask dropped": 4, "rows not awaited": 3}, True),
    # The first columns exist in every row, and all lanes would store the same sum.
    Case("norm", "gfx942", NORM, {"mask dropped": 4}),
    Case("norm", "gfx1100", NORM, {"mask dropped": 10}),
    # The same, and a row's maximum may be any of its numbers.
    Case("entropy", "gfx942", ENTROPY, {"another exchange": 4, "mask dropped": 1}),
    Case("entropy", "gfx1100", ENTROPY, {"another exchange": 4, "mask dropped": 3}),
    Case("copies", "gfx950", COPIES, {}, True),
]  # fmt: skip


def copies_text(steps: int = 5) -> str:
    """Two buffers, filled by direct copies one step ahead; every lane reads what another wave
    copied."""
    fence = '  fence syncscope("workgroup") {}, !mmra !0\n'
    barrier = fence.format("release") + "  call void @llvm.amdgcn.s.barrier()\n"
    barrier += fence.format("acquire")

    def copy(step: int) -> str:
        return (
            f"  %i{step} = add i32 %tid, {step * 128}\n"
            f"  %s{step} = getelementptr i32, ptr addrspace(1) %0, i32 %i{step}\n"
            f"  call void @llvm.amdgcn.global.load.lds(ptr addrspace(1) %s{step}, "
            f"ptr addrspace(3) %b{step % 2}, i32 4, i32 0, i32 0)\n"
        )

    body = copy(0)
    for n in range(steps):
        is_last = n + 1 == steps
        body += "" if is_last else copy(n + 1)
        body += f"  call void @llvm.amdgcn.s.waitcnt(i32 {3952 if is_last else 3953})\n{barrier}"
        body += f"  %r{n} = getelementptr i32, ptr addrspace(3) %o{n % 2}, i32 0\n"
        body += f"  %v{n} = load float, ptr addrspace(3) %r{n}, align 4\n"
        body += f"  %a{n + 1} = fadd float %a{n}, %v{n}\n"
        body += barrier if n + 2 < steps else ""  # the next copy but one overwrites what was read
    return f"""target triple = "amdgcn-amd-amdhsa"
@lds = external addrspace(3) global [0 x i32], align 16
define amdgpu_kernel void @k(ptr addrspace(1) %0, ptr addrspace(1) %1) #0 {{
  %tid = call i32 @llvm.amdgcn.workitem.id.x()
  %wave = and i32 %tid, 64
  %b0 = getelementptr i32, ptr addrspace(3) @lds, i32 %wave
  %b1 = getelementptr i32, ptr addrspace(3) %b0, i32 128
  %other = xor i32 %tid, 65
  %o0 = getelementptr i32, ptr addrspace(3) @lds, i32 %other
  %o1 = getelementptr i32, ptr addrspace(3) %o0, i32 128
  %a0 = fadd float 0.0, 0.0
{body}  %d = getelementptr i32, ptr addrspace(1) %1, i32 %tid
  store float %a{steps}, ptr addrspace(1) %d, align 4
  ret void
}}
attributes #0 = {{ "amdgpu-flat-work-group-size"="128,128" }}
!0 = !{{!"amdgpu-synchronize-as", !"local"}}
"""


@cache
def kernel_text(label: str) -> str:
    """The kernel's LLVM IR, without the locations that its lines end with."""
    from tilewright.compile import inspect

    case = next(case for case in CASES if case.label == label)
    if not case.golden.source:
        return copies_text()
    text = inspect(request(case.golden, f"amd:{case.arch}"), "llvm", "", False)
    return re.sub(r", !dbg !\d+", "", text)


class Outcome(NamedTuple):
    is_reported: bool
    numbers: np.ndarray


class Mutant(NamedTuple):
    rule: Rule
    line: int
    text: str


def run(case: Case, text: str, folder: Path, completion: str = "late") -> Outcome | None:
    """What the launch reports and leaves; None where the text is not IR."""
    path = folder / "k.ll"
    path.write_text(text)
    arguments = [word for argument in case.golden.arguments for word in ("--arg", argument)]
    command = [COMMAND, "run", path, "--arch", case.arch, "--grid", case.golden.grid, "--smem",
               "49152", "--max-steps", "200000", "--completion", completion, "--threads", "1",
               "--print", "100000", "--json", *arguments]  # fmt: skip
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode in (0, 1, 2), ran.stderr
    if ran.returncode == 2:
        return None
    report, end = json.JSONDecoder().raw_decode(ran.stdout)
    arrays = [line.split(":")[1].split() for line in ran.stdout[end:].split("\n") if line]
    is_reported = any(finding["isError"] for finding in report["findings"])
    return Outcome(is_reported, np.array([float(number) for array in arrays for number in array]))


def is_wrong(right: Outcome, mutant: Outcome | None) -> bool:
    assert mutant
    return not np.allclose(mutant.numbers, right.numbers, rtol=1e-3, atol=1e-3)


def mutants_of(text: str) -> list[Mutant]:
    lines = text.split("\n")
    metadata = '!9999 = !{!"amdgpu-synchronize-as", !"global"}'
    mutants = []
    for rule in RULES:
        places = [i for i, line in enumerate(lines) if re.fullmatch(rule.pattern, line)]
        for count, i in enumerate(i for i in places if not lines[i].startswith("declare")):
            if count >= 12 and count % 8 != 7:
                continue  # of long rows of alike lines, some
            changed = re.sub(rule.pattern, rule.replacement, lines[i], count=1)
            assert changed != lines[i], f"{rule.name}: {lines[i]}"
            mutated = [*lines[:i], changed, *lines[i + 1 :], metadata, ""]
            mutants.append(Mutant(rule, i + 1, "\n".join(mutated)))
    return mutants


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.label)
def test_each_mutant_is_reported_or_wrong(case: Case, tmp_path: Path) -> None:
    text = kernel_text(case.label)
    right = run(case, text, tmp_path)
    assert right and not right.is_reported
    missed: dict[str, list[int]] = {}
    silent = 0
    mutants = mutants_of(text)
    for mutant in mutants:
        outcome = run(case, mutant.text, tmp_path)
        assert outcome, f"{mutant.rule.name}, line {mutant.line}: not IR any more"
        wrong = is_wrong(right, outcome)
        if not outcome.is_reported and not wrong:
            missed.setdefault(mutant.rule.name, []).append(mutant.line)
        if outcome.is_reported and wrong and case.has_copies:
            # Right by luck: everything that is in flight arrives at once.
            wrong = is_wrong(right, run(case, mutant.text, tmp_path, "early"))
        silent += outcome.is_reported and not wrong
    print(f"{len(mutants)} mutants, of which {silent} compute right numbers; missed: {missed}")
    for rule, lines in missed.items():
        assert len(lines) <= case.harmless.get(rule, 0), f"{rule}: lines {lines}"
    assert len(mutants) >= 35 and silent >= 15


def test_every_rule_has_mutants_of_which_there_are_many() -> None:
    mutants = [mutant for case in CASES for mutant in mutants_of(kernel_text(case.label))]
    assert {mutant.rule for mutant in mutants} == set(RULES)
    assert len(mutants) >= 600
