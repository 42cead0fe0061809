"""Compiles kernels for AMD's GPUs and takes their code apart, for tests that count instructions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import tile_kernels
from gpu.generated.test_generated_matrix import kernels

CDNA = ("gfx90a", "gfx942", "gfx950")
RDNA = ("gfx1100", "gfx1201")
ARCHS = (*CDNA, *RDNA, "gfx1250")

# Signatures of kernels that the benchmark does not have.
OTHERS = {
    "histogram_in_tile": "*i32:16 *i32:16 i32:16",
    "matmul_of_bytes": "*fp8e4nv:16 *fp8e4nv:16 *fp16:16 i32:16 i32:16 i32:16 i32:16 i32:16 i32:16",
}


def compile_for(
    arch: str, name: str, num_warps: int = 4, device: str = "amd", num_stages: int = 2,
    options: Mapping[str, Any] = {}, nonneg: bool = False, **changes: Any,
) -> Any:  # fmt: skip
    """A kernel of the benchmark, or one of `OTHERS`, with its constants but for `changes`; `nonneg`: of integers
    that are not negative, as launches find out."""
    if name in OTHERS:
        kernel, constants, types = getattr(tile_kernels, name), changes, OTHERS[name]
    else:
        kernel, constants = getattr(kernels, name), kernels.CONSTANTS[name] | changes
        types = kernels.SIGNATURES[name]
    names = [p.name for p in kernel.parameters if p.name not in constants]
    facts = [f"{type}:nonneg" if nonneg and type.startswith("i32") else type for type in types.split()]
    signature = dict(zip(names, facts, strict=True))
    return kernel.compile(
        signature, constants, device=f"{device}:{arch}", num_warps=num_warps, num_stages=num_stages, **options
    )


def instructions_of(text: str) -> list[str]:
    """Instructions and labels, in order."""
    lines = (line.split(";")[0].strip() for line in text.splitlines())
    return [line for line in lines if re.match(r"(\.LBB\w+:|[sv]_|buffer_|global_|ds_|scratch_|flat_|tensor_)", line)]


def loops_of(text: str) -> list[Counter[str]]:
    """The opcodes of each loop: from a label to the last branch back to it. Of copies to shared memory,
    with "lds" behind."""
    return [
        Counter(each.split()[0] + (" lds" if each.endswith(" lds") else "") for each in body)
        for body in bodies_of(text)
    ]


def bodies_of(text: str) -> list[list[str]]:
    """The instructions of each loop, in order."""
    code = instructions_of(text)
    bodies = []
    for first, line in enumerate(code):
        if not line.startswith(".LBB"):
            continue
        back = [
            place for place, other in enumerate(code)
            if place > first and "branch" in other and other.split()[-1] == line[:-1]
        ]  # fmt: skip
        if back:
            bodies.append([each for each in code[first : back[-1] + 1] if not each.startswith(".LBB")])
    return bodies


def product_lines(text: str) -> list[str]:
    """The instructions of the first loop with matrix instructions."""
    return next(body for body in bodies_of(text) if any("mfma" in each or "wmma" in each for each in body))


def count(loop: Counter[str], *parts: str) -> int:
    return sum(number for opcode, number in loop.items() if any(part in opcode for part in parts))


def product_loop(text: str) -> Counter[str]:
    """The first loop with matrix instructions: the one without masks."""
    return next(loop for loop in loops_of(text) if count(loop, "mfma", "wmma"))
