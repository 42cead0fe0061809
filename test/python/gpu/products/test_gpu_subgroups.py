"""Products on the matrix unit of Intel's GPUs: which instructions SPIR-V has, and what they compute.

The simulator executes them by its own description of where their operands lie; no such GPU was at hand.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch
from spirv_modules import instructions_of, validate

import tilewright as tw

pytestmark = [pytest.mark.usefixtures("compiler"), pytest.mark.one_machine]

ROWS = {"xe-hpg": 8, "xe2": 16, "xe-hpc": 16}  # lanes, and columns of an instruction
# Numbers of SPIR-V: the instruction, its capability, and those that its operand K is.
PRODUCT, CAPABILITY, MATRICES, CONSTANT = 6237, 17, 6236, 43
# The flags of a product by the types of A and B, and how deep it is.
FLAGS = {
    ("float16", "float16"): (0xC00, 16),
    ("bfloat16", "bfloat16"): (0x3000, 16),
    ("float32", "float32"): (0x300, 8),
    ("int8", "int8"): (0x33, 32),
    ("int8", "uint8"): (0x31, 32),
    ("uint8", "int8"): (0x32, 32),
    ("uint8", "uint8"): (0x30, 32),
}
POINTERS = {"float16": "*fp16", "bfloat16": "*bf16", "float32": "*fp32", "int8": "*i8", "uint8": "*u8", "int32": "*i32"}


@tw.jit
def multiply(a, b, out, K, M: tw.constexpr, N: tw.constexpr, DEPTH: tw.constexpr):
    m = tw.program_id(0) * M + tw.arange(0, M)[:, None]
    n = tw.program_id(1) * N + tw.arange(0, N)[None, :]
    k = tw.arange(0, DEPTH)
    total = tw.zeros((M, N), out.dtype.element_ty)
    for start in range(0, K, DEPTH):
        x = tw.load(a + m * K + start + k[None, :])
        y = tw.load(b + (start + k[:, None]) * N * tw.num_programs(1) + n)
        total = tw.dot(x, y, total, input_precision="tf32")
    tw.store(out + m * N * tw.num_programs(1) + n, total)


def sum_type(types: tuple[str, str]) -> str:
    return "int32" if types[0].endswith("int8") else "float32"


def types_of(row: str) -> list[tuple[str, str]]:
    return [types for types in FLAGS if row != "xe-hpg" or types[0] != "float32"]


CASES = [(row, types) for row in ROWS for types in types_of(row)]
IDS = [f"{row}-{'-'.join(types)}" for row, types in CASES]


def drawn(rng: np.random.Generator, dtype: str, *shape: int) -> tuple[Any, np.ndarray]:
    """An array of a type, and its numbers: those of float32 are of tf32."""
    if dtype.endswith("int8"):
        values = rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max + 1, shape).astype(dtype)
        return values, values.astype(np.float64)
    values = torch.from_numpy(rng.standard_normal(shape).astype(np.float32))
    if dtype == "float32":
        values = (values.view(torch.int32) >> 13 << 13).view(torch.float32)
    values = values.to(getattr(torch, dtype))
    return values, values.to(torch.float64).numpy()


def products_of(module: bytes) -> Counter[tuple[int, int]]:
    """How many products a module has, by their depth and flags."""
    constants: dict[int, int] = {}
    found: Counter[tuple[int, int]] = Counter()
    for number, operands in instructions_of(module):
        if number == CONSTANT:
            constants[operands[1]] = operands[2]
        if number == PRODUCT:
            found[constants[operands[2]], operands[6]] += 1
    return found


@pytest.mark.parametrize(("row", "types"), CASES, ids=IDS)
def test_products_are_single_instructions(row: str, types: tuple[str, str]) -> None:
    """16 rows of 2 instructions' columns: four products a step of the largest form, and no other."""
    flags, depth = FLAGS[types]
    pointers = [POINTERS[name] for name in (*types, sum_type(types))]
    signature = dict(zip(("a", "b", "out", "K"), (*pointers, "i32"), strict=True))
    constants = {"M": 16, "N": 2 * ROWS[row], "DEPTH": depth}
    compiled = multiply.compile(signature, constants, device=f"spirv:{row}", num_warps=1)
    module = compiled.asm["spirv"]
    validate(module)
    assert products_of(module) == {(depth, flags): 4}
    assert (MATRICES,) in [operands for number, operands in instructions_of(module) if number == CAPABILITY]
    assert not [remark for remark in compiled.remarks if remark["code"] == "TW0355"]


@pytest.mark.parametrize(("rows", "num_warps"), [(1, 1), (2, 2), (4, 1), (8, 4), (16, 4), (32, 8)])
@pytest.mark.parametrize(("row", "types"), CASES, ids=IDS)
def test_products_agree_with_float64(
    row: str, types: tuple[str, str], rows: int, num_warps: int, rng: np.random.Generator
) -> None:
    columns, depth = 2 * ROWS[row], 2 * FLAGS[types][1]
    (a, left), (b, right) = drawn(rng, types[0], 2 * rows, 3 * depth), drawn(rng, types[1], 3 * depth, 2 * columns)
    out = np.full((2 * rows, 2 * columns), 7 << 20, sum_type(types))
    with tw.device(f"sim:{row}"):
        compiled = multiply[(2, 2)](
            a, b, out, 3 * depth, M=rows, N=columns, DEPTH=depth, num_warps=num_warps
        )
    assert not tw.simulation.last_report().findings
    assert "SubgroupMatrixMultiplyAccumulate" in compiled.asm["llvm"]
    expected, bound = left @ right, abs(left) @ abs(right)
    # Each sum of float32 is rounded.
    tolerance = 0 if out.dtype == np.int32 else bound * 3 * depth * 2.0**-24
    assert (abs(out - expected) <= tolerance).all()


@pytest.mark.parametrize("row", ROWS)
def test_float32_is_rounded_only_where_it_may_be(row: str) -> None:
    """Three products of parts are one of float32; without rounding, scalar operations multiply."""
    signature = {"a": "*fp32", "b": "*fp32", "out": "*fp32"}

    @tw.jit
    def precise(a, b, out, PRECISION: tw.constexpr):
        i = tw.arange(0, 16)
        at = i[:, None] * 16 + i[None, :]
        tw.store(out + at, tw.dot(tw.load(a + at), tw.load(b + at), input_precision=PRECISION))

    wanted = {"tf32": 4, "tf32x3": 12, "ieee": 0}
    for precision, count in wanted.items():
        compiled = precise.compile(signature, {"PRECISION": precision}, device=f"spirv:{row}", num_warps=1)
        found = products_of(compiled.asm["spirv"])
        assert sum(found.values()) == (0 if row == "xe-hpg" else count)


def test_code_for_other_makers_leaves_the_matrix_unit() -> None:
    """The linker of AMD's code resets all options of LLVM, of which allowed extensions are one."""
    signature = {"a": "*fp16", "b": "*fp16", "out": "*fp32", "K": "i32"}
    constants = {"M": 16, "N": 32, "DEPTH": 16}
    for device, stage in ("spirv:xe-hpc", "spirv"), ("amd:gfx942", "hsaco"), ("spirv:xe2", "spirv"):
        code = multiply.compile(signature, constants, device=device, num_warps=1).asm[stage]
        assert stage != "spirv" or products_of(code)
