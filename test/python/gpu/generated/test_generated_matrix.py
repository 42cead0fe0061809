"""Loops over matrix products have the instructions that a person would write, and few more.

The counts are of one iteration of one of 4 warps, from the extents of the tiles; the rest of a loop
(addresses, predicates, the ring of slots, the branch) may be 15 % on top of what Triton's users get from
hand-written code: test/benchmark/assembly/generated.py compares with Triton itself.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from machine_code import sass, write_cubin

BENCHMARK = Path(__file__).resolve().parents[3] / "benchmark"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, BENCHMARK / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


kernels = load("generated_kernels")


def loop_of(
    name: str, tmp_path: Path, num_stages: int = 0, device: str = "nvidia:sm_80", product: str = "HMMA",
    num_warps: int = kernels.NUM_WARPS, **changes: Any,
) -> tuple[Any, list[str]]:  # fmt: skip
    """The compiled kernel and the instructions of its main loop: the one without masks."""
    kernel = getattr(kernels, name)
    constants = kernels.CONSTANTS[name] | changes
    names = [p.name for p in kernel.parameters if p.name not in constants]
    signature = dict(zip(names, kernels.SIGNATURES[name].split(), strict=True))
    compiled = kernel.compile(
        signature,
        constants,
        device=device,
        num_warps=num_warps,
        num_stages=num_stages or kernels.NUM_STAGES.get(name, 3),
    )
    cubin = write_cubin(compiled, tmp_path)
    code, loops = sass.parse(sass.run_nvdisasm("-c", str(cubin)))
    if product == "HGMMA":  # that of a loader has none
        loops = [loop for loop in loops if loop.opcodes[product]]
    inner = [loop for loop in loops if loop.is_innermost]
    # Behind it, the last iteration has the masks; boxes of arrays need none, but scores do: those at the
    # keys' end are in a loop around it, with as many products again.
    loop, last = inner[0], inner[-1 if product == "HGMMA" and name == "matmul" else 1 % len(inner)]
    if len(loops) > len(inner):
        assert [each.opcodes[product] for each in loops if each not in inner] == [2 * loop.opcodes[product]]
    assert loop.opcodes[product] == last.opcodes[product] > 0
    assert len(inner) == 1 or loop is not last
    assert compiled.n_spills == 0
    return compiled, code[loop.first : loop.last + 1]


def opcodes(code: list[str]) -> Counter[str]:
    return Counter(sass.opcode(each) for each in code)


def test_matmul(tmp_path: Path, compiler: None) -> None:
    compiled, code = loop_of("matmul", tmp_path)
    loop = opcodes(code)
    # A warp has 64 x 64 of the product: 4 x 8 fragments of 16 x 8, two steps of k.
    products = 4 * 8 * 2
    # Four 8 x 8 matrices an instruction: 64 x 32 of A and 32 x 64 of B.
    reads = 2 * 64 * 32 // 256
    # 16 bytes a lane: 2 tiles of 128 x 32 halves over 128 threads.
    copies = 2 * 128 * 32 * 2 // (128 * 16)
    assert loop["HMMA"] == products and loop["LDSM"] == reads and loop["LDGSTS"] == copies
    assert loop["LDG"] == loop["STS"] == loop["PRMT"] == 0
    assert loop["BAR"] == 1
    # An address of 64 bits a copy; slots, counters, wait, commit, barrier and branch.
    by_hand = products + reads + copies + 2 * copies + 14
    assert loop.total() <= 1.15 * by_hand, loop
    assert compiled.n_regs <= 250


@pytest.mark.parametrize("causal", [False, True])
def test_attention(causal: bool, tmp_path: Path, compiler: None) -> None:
    _, code = loop_of("attention", tmp_path, CAUSAL=causal)
    loop = opcodes(code)
    # A warp has 32 x 64 scores and 32 x 64 of the output: 2 x 8 fragments, four steps of k, twice.
    products = 2 * (2 * 8 * 4)
    # 64 x 64 of K and of V, four 8 x 8 matrices an instruction.
    reads = 2 * 64 * 64 // 256
    copies = 2 * 64 * 64 * 2 // (128 * 16)
    # A lane has 64 scores in 4 rows: one exp2 for each of both.
    scores, rows = 64, 4
    assert loop["HMMA"] == products and loop["LDSM"] == reads and loop["LDGSTS"] == copies
    assert loop["MUFU"] == scores + rows
    # Probabilities become halves in pairs, in the registers of the second product's left operand.
    assert loop["F2FP"] == scores // 2 and loop["STS"] == loop["LDG"] == loop["FSEL"] == 0
    assert loop["BAR"] == 1
    # Maxima, sums, the scale folded into exp2's argument, the output scaled, the lanes of a row.
    softmax = (scores + 2 * rows) * 2 + 2 * (scores + rows) + (scores + rows) + scores // 2 + 4 * rows
    by_hand = products + reads + copies + softmax + 2 * copies + 14
    assert loop.total() <= 1.15 * by_hand, loop


def registers_of(instruction: str) -> list[int]:
    return [int(number) for number in re.findall(r"\bR(\d+)", instruction)]


def products_before_use(code: list[str], read: int) -> int:
    """How many products are issued between a read of fragments and the first that needs them."""
    first = registers_of(code[read])[0]
    read_registers = range(first, first + 4)
    waiting = 0
    for each in code[read + 1 :] + code:
        if sass.opcode(each) != "HMMA":
            continue
        _, left, right, *_ = registers_of(each)
        if any(register in read_registers for register in (*range(left, left + 4), right, right + 1)):
            break
        waiting += 1
    return waiting


@pytest.mark.parametrize(("depth", "stages"), [(32, 4), (64, 3)])
def test_fragments_are_read_ahead(depth: int, stages: int, tmp_path: Path, compiler: None) -> None:
    """Once products are under way, the next fragments are read several products before their use."""
    _, code = loop_of("matmul", tmp_path, num_stages=stages, BK=depth)
    first = next(at for at, each in enumerate(code) if sass.opcode(each) == "HMMA")
    reads = [at for at, each in enumerate(code) if at > first and sass.opcode(each) == "LDSM"]
    # A product of 16 x 8 x 16 takes 16 cycles of a tensor core of sm_80, a read about 30.
    assert reads and min(products_before_use(code, read) for read in reads) >= 4


def test_two_stages_wait_twice(tmp_path: Path, compiler: None) -> None:
    """With one iteration ahead, values have the time of the scores' product as well."""
    _, code = loop_of("attention", tmp_path, num_stages=2, CAUSAL=False)
    kinds = [sass.opcode(each) for each in code]
    assert kinds.count("BAR") == 2
    assert "HMMA" in kinds[kinds.index("BAR") : len(kinds) - kinds[::-1].index("BAR")]
    # SB0 counts groups of copies.
    waits = [int(each.split()[-1], 16) for each in code if each.startswith("DEPBAR.LE SB0")]
    assert waits == [1, 2]


WARPGROUPS = [
    ("matmul", {"BK": 32}, 4, 4),
    ("matmul", {"BK": 64}, 4, 8),
    ("matmul", {"BN": 256, "BK": 64}, 8, 4),
    ("attention", {"CAUSAL": False}, 4, 16),
    ("attention", {"CAUSAL": True}, 4, 16),
    ("attention", {"CAUSAL": False, "BN": 128, "D": 128}, 8, 16),
]


@pytest.mark.parametrize(("name", "changes", "warps", "products"), WARPGROUPS)
def test_warpgroups(
    name: str, changes: dict[str, Any], warps: int, products: int, tmp_path: Path, compiler: None
) -> None:
    """On sm_90a, instructions of 64 rows and all columns read both operands from shared memory.
    `budget.tsv` has the instructions in all."""
    compiled, code = loop_of(
        name, tmp_path, device="nvidia:sm_90a", product="HGMMA", num_warps=warps, **changes
    )
    loop = opcodes(code)
    assert loop["HGMMA"] == products and loop["HMMA"] == loop["LDSM"] == loop["LDG"] == 0
    assert loop["STS"] == loop["LDL"] == loop["STL"] == loop["LDGSTS"] == 0
    # They wait for copies and release what they have read.
    assert loop["UTMALDG"] == loop["ELECT"] == 0 and loop["SYNCS"] >= 2
    # Two groups of warps take turns with starting the products of attention: in the first iteration and in
    # the others, one gives its turn away behind other products.
    assert loop["BAR"] == (3 if name == "attention" and warps == 8 else 0)
    # The loader copies two boxes, those of A and B or of keys and values, with all slabs of their rows.
    _, loops = sass.parse(sass.run_nvdisasm("-c", str(write_cubin(compiled, tmp_path))))
    loader = next(each.opcodes for each in loops if each.opcodes["UTMALDG"])
    assert loader["UTMALDG"] == 2 and loader["HGMMA"] == loader["BAR"] == 0
    assert loader.total() <= (28 if name == "matmul" else 37)
