"""Registers of AMD's GPUs: what the compiler does where they are few, and that simulators execute that code."""

from __future__ import annotations

import re

import pytest

from .amd_code import RDNA, compile_for, instructions_of
from .test_generated_matrix import kernels


@pytest.mark.parametrize("arch", RDNA)
@pytest.mark.parametrize(("parts", "size"), [(16, 32), (64, 32)])
def test_many_loads_leave_room_for_all_waves(arch: str, parts: int, size: int, compiler: None) -> None:
    """A SIMD holds 16 waves with 96 registers. Loads that fill them let allocation take one more."""
    resources = compile_for(arch, "unrolled", PARTS=parts, SIZE=size).resources
    assert resources["scratch_bytes"] == 0 and resources["registers"] <= 96


def order_of(ir: str) -> list[str]:
    """Reads of shared memory, products, and what keeps the scheduler from moving them, as they stand."""
    found = (re.search(r"= load|llvm\.amdgcn\.(wmma|sched\.barrier)", line) for line in ir.splitlines()
             if "addrspace(3)" in line or "call" in line)  # fmt: skip
    return [match[0] for match in found if match]


@pytest.mark.parametrize(("arch", "name"), [("gfx1201", "attention"), ("gfx1100", "attention")])
def test_simulators_execute_what_was_chosen_for_few_registers(
    arch: str, name: str, compiler: None
) -> None:
    """Code that spills at first is compiled another time, of other IR. In that of simulators only the
    places of offsets beyond 32 bits are more."""
    compiled = compile_for(arch, name)
    chosen = compiled.asm["llvm"]
    assert any("sched.barrier" in line for line in order_of(chosen))
    assert compiled.resources["scratch_bytes"] == 0
    assert order_of(compile_for(arch, name, device="sim").asm["llvm"]) == order_of(chosen)


def test_the_variant_that_spills_less_is_said_at_the_kernel(compiler: None) -> None:
    for device in ("amd", "sim"):
        compiled = compile_for("gfx1100", "attention", device=device)
        (remark,) = (r for r in compiled.remarks if r["code"] == "TW0366")
        expected = r"the variant rematerialized\S* was taken: .* 0 bytes of scratch memory in place of [1-9]"
        assert re.search(expected, remark["message"])
        assert "def attention(" in remark["rendered"]
    assert all(r["code"] != "TW0366" for r in compile_for("gfx1100", "softmax").remarks)


@pytest.mark.parametrize(("arch", "expected"), [("gfx1100", True), ("gfx1201", False)])
def test_addresses_are_computed_again_behind_products_that_fill_the_registers(
    arch: str, expected: bool, compiler: None
) -> None:
    """Operands of RDNA 3 have each element twice. In the simulator's code, too."""
    for device in ("amd", "sim"):
        ir = compile_for(arch, "matmul", device=device).asm["llvm"]
        assert ("@llvm.amdgcn.update.dpp.i32(" in ir) == expected


@pytest.mark.parametrize(
    ("arch", "tile", "num_stages"),
    [
        ("gfx1100", (64, 64, 64), 2), ("gfx1201", (64, 64, 64), 2),
        ("gfx1201", (32, 64, 128), 2), ("gfx1201", (32, 64, 128), 4),
    ],
)  # fmt: skip
def test_elements_that_are_read_one_by_one_share_offsets(
    arch: str, tile: tuple[int, int, int], num_stages: int, compiler: None
) -> None:
    """No stride is known to be even, and the second operand's columns are neighbours in memory."""
    constants = dict(zip(("BM", "BN", "BK"), tile, strict=True)) | {"GROUP": 8, "MOST": None}
    names = [p.name for p in kernels.matmul.parameters if p.name not in constants]
    types = "*fp8e5:16 *fp8e5:16 *fp16:16 i32 i32 i32 i32 i32:1 i32:1 i32 i32 i32:1".split()
    signature = dict(zip(names, types, strict=True))
    compiled = kernels.matmul.compile(signature, constants, device=f"amd:{arch}", num_warps=4, num_stages=num_stages)
    text = compiled.asm["asm"]
    assert compiled.resources["scratch_bytes"] == 0
    assert any("buffer_load_u8" in line and "offset:" in line for line in instructions_of(text))
