"""AMD's machine code waits for what it loads and for shared memory at barriers, on every path."""

from __future__ import annotations

import re

import pytest

from . import wait_counts
from .amd_code import ARCHS, CDNA, compile_for

GENERATIONS = {**dict.fromkeys(CDNA, 9), "gfx1100": 11, "gfx1201": 12, "gfx1250": 12}
KERNELS = ("add", "softmax", "layer_norm", "matmul", "attention")


def code_of(arch: str, name: str, nonneg: bool = False) -> str:
    return compile_for(arch, name, nonneg=nonneg).asm["asm"]


@pytest.mark.parametrize(("arch", "nonneg"), [*((arch, False) for arch in ARCHS), ("gfx1250", True)])
@pytest.mark.parametrize("name", KERNELS)
def test_kernels_wait_for_what_they_use(arch: str, nonneg: bool, name: str, compiler: None) -> None:
    text = code_of(arch, name, nonneg)
    assert ("tensor_load_to_lds" in text) == (nonneg and name in ("matmul", "attention"))
    # The barrier around the tile of queries is none of the first keys' and values'.
    ahead = int((arch, name) == ("gfx1250", "attention"))
    assert wait_counts.find_hazards(text, GENERATIONS[arch], ahead) == []
    assert text.count("s_wait") > 1


@pytest.mark.parametrize("arch", ["gfx942", "gfx1100", "gfx1201", "gfx1250"])
@pytest.mark.parametrize(("name", "nonneg"), [("layer_norm", False), ("matmul", False), ("matmul", True)])
def test_every_wait_that_is_missing_or_too_weak_is_found(
    arch: str, name: str, nonneg: bool, compiler: None
) -> None:
    machine = wait_counts.Machine(GENERATIONS[arch])
    lines = code_of(arch, name, nonneg).splitlines()
    waits = [line for line in wait_counts.lines_of("\n".join(lines)) if machine.waits_of(line)]
    found = {"dropped": 0, "weakened": 0}
    for wait in waits:
        for how, text in (("dropped", ""), ("weakened", weaken(wait.text))):
            mutant = [*lines[: wait.number - 1], text, *lines[wait.number :]]
            found[how] += bool(wait_counts.find_hazards("\n".join(mutant), machine.generation))
    # A wait that stands beside a fence's may repeat what an earlier one has waited for.
    assert min(found.values()) >= 0.85 * len(waits) > 5, (found, len(waits))


def weaken(wait: str) -> str:
    """The same wait, for one less of each counter."""
    if "(" in wait:
        return re.sub(r"\((\d+)\)", lambda count: f"({int(count[1]) + 1})", wait)
    opcode, *operands, count = wait.split()
    more = 0x101 if re.fullmatch(r"s_wait_\w+cnt_\w+cnt", opcode) else 1
    return " ".join([opcode, *operands, hex(int(count, 0) + more)])


LOOP = """
	s_load_dwordx2 s[0:1], s[2:3], 0x0
	s_waitcnt lgkmcnt(0)
.LBB0_1:
	{wait}
	s_barrier
	ds_read_b32 v4, v3
	s_waitcnt lgkmcnt(0)
	v_add_u32_e32 v1, v4, v1
	ds_write_b32 v2, v1
	s_cbranch_scc1 .LBB0_1
	s_endpgm
"""


def test_what_the_end_of_a_loop_leaves_behind_counts() -> None:
    """LLVM drops the wait of such a loop's fence; lower-amd writes one by itself."""
    assert wait_counts.find_hazards(LOOP.format(wait="s_waitcnt lgkmcnt(0)"), 9) == []
    (hazard,) = wait_counts.find_hazards(LOOP.format(wait=""), 9)
    assert (hazard.text, hazard.what) == ("s_barrier", wait_counts.SHARED)


def test_loads_of_one_kind_complete_in_order_and_scalar_ones_do_not() -> None:
    pair = """
	buffer_load_dword v1, v0, s[0:3], 0 offen
	buffer_load_dword v2, v0, s[0:3], 0 offen
	s_waitcnt vmcnt(1)
	v_mov_b32_e32 v3, v{used}
	s_endpgm
"""
    assert wait_counts.find_hazards(pair.format(used=1), 9) == []
    assert [hazard.what for hazard in wait_counts.find_hazards(pair.format(used=2), 9)] == ["v2"]
    scalars = """
	s_load_dword s4, s[0:1], 0x0
	s_load_dword s5, s[0:1], 0x4
	s_waitcnt lgkmcnt(1)
	v_mov_b32_e32 v3, s4
	s_endpgm
"""
    assert [hazard.what for hazard in wait_counts.find_hazards(scalars, 9)] == ["s4"]
