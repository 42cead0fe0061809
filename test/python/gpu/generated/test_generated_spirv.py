"""SPIR-V for OpenCL devices: what modules declare, which instructions they have, and that ids are unique.

No device and no disassembler: the words of a module say enough. `spirv-val` judges the whole where it is
installed.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest
from product_kernels import rows_by_rows
from spirv_modules import instructions_of, validate

import tilewright as tw

from .amd_code import compile_for

ROWS = ("generic16", "generic32", "xe-hpg", "xe2", "xe-hpc")
LANES = {"generic32": 32, "xe-hpg": 8}

# Numbers of SPIR-V: instructions, execution modes and capabilities.
CAPABILITY, ENTRY_POINT, EXECUTION_MODE = 17, 15, 16
ATOMIC_ADD, ATOMIC_SWAP = 234, 230
LOCAL_SIZE, CONTRACTION_OFF, SUBGROUP_SIZE = 17, 31, 35
FLOAT16, FLOAT64, LONG_ATOMICS = 9, 10, 12
PHI, INTEGER = 245, 21
ARRIVE, WAIT, SPLIT_BARRIER = 6142, 6143, 6141  # SPV_INTEL_split_barrier


def module_of(compiled: Any) -> bytes:
    return compiled.asm["spirv"]


def capabilities_of(module: bytes) -> set[int]:
    return {operands[0] for number, operands in instructions_of(module) if number == CAPABILITY}


def modes_of(module: bytes) -> dict[int, tuple[int, ...]]:
    return {
        operands[1]: operands[2:] for number, operands in instructions_of(module) if number == EXECUTION_MODE
    }


def counts_of(module: bytes) -> Counter[int]:
    return Counter(number for number, _ in instructions_of(module))


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("name", ["add", "softmax", "matmul"])
def test_modules_say_how_they_are_launched(row: str, name: str, compiler: None) -> None:
    tiles = {"BM": 32, "BN": 32} if name == "matmul" else {}
    compiled = compile_for(row, name, device="spirv", **tiles)
    module, lanes = module_of(compiled), LANES.get(row, 16)
    validate(module)
    modes = modes_of(module)
    assert modes[LOCAL_SIZE] == (4 * lanes, 1, 1)
    assert modes[SUBGROUP_SIZE] == (lanes,)
    assert CONTRACTION_OFF in modes
    assert counts_of(module)[ENTRY_POINT] == 1
    assert compiled.resources["threads"] == 4 * lanes


def test_modules_need_no_more_than_the_kernel(compiler: None) -> None:
    needs = capabilities_of(module_of(compile_for("generic16", "add", device="spirv")))
    assert needs.isdisjoint({FLOAT16, FLOAT64, LONG_ATOMICS})


@tw.jit
def divide(x, y, out):
    i = tw.arange(0, 64)
    tw.store(out + i, tw.div_rn(tw.load(x + i), tw.load(y + i)))


@tw.jit
def count(x, out):
    i = tw.arange(0, 64)
    tw.atomic_add(out + i, tw.load(x + i))


def compile_on(row: str, kernel: Any, types: str) -> bytes:
    names = [parameter.name for parameter in kernel.parameters]
    signature = dict(zip(names, types.split(), strict=True))
    return module_of(kernel.compile(signature, {}, device=f"spirv:{row}", num_warps=4))


def test_exact_quotients_go_by_float64_where_drivers_do_not_round_them(compiler: None) -> None:
    assert FLOAT64 in capabilities_of(compile_on("generic16", divide, "*fp32 *fp32 *fp32"))
    assert FLOAT64 not in capabilities_of(compile_on("xe-hpg", divide, "*fp32 *fp32 *fp32"))


@pytest.mark.parametrize(
    ("element", "instruction"),
    [("i32", ATOMIC_ADD), ("i64", ATOMIC_ADD), ("fp32", ATOMIC_SWAP), ("fp16", ATOMIC_SWAP)],
)
def test_atomics_on_floats_are_loops(element: str, instruction: int, compiler: None) -> None:
    module = compile_on("generic16", count, f"*{element} *{element}")
    validate(module)
    counts = counts_of(module)
    assert counts[instruction] == 1
    assert counts[ATOMIC_ADD] + counts[ATOMIC_SWAP] == 1
    assert (LONG_ATOMICS in capabilities_of(module)) == (element == "i64")


def test_modules_of_one_process_share_no_labels(compiler: None) -> None:
    """The labels of a kernel were other values in one that was compiled later."""
    for block in (32, 64, 128, 256, 512):
        for name in ("softmax", "add", "layer_norm"):
            module = module_of(compile_for("generic16", name, device="spirv", BLOCK=block))
            validate(module)


@pytest.mark.parametrize("row", ["generic16", "generic32"])
@pytest.mark.parametrize("shape", [(16, 16, 64), (32, 16, 64), (64, 64, 64)])
@pytest.mark.parametrize("num_warps", [4, 8])
def test_counters_of_loops_are_no_narrower_than_they_were(
    num_warps: int, shape: tuple[int, int, int], row: str, compiler: None
) -> None:
    """One of two bits, in which places in shared memory are counted, would no longer wrap as a byte."""
    types = {"out": "*fp32:16", "a": "*fp16:16", "b": "*fp16:16"}
    constants = dict(zip("MNK", shape, strict=True))
    compiled = rows_by_rows.compile(types, constants, device=f"spirv:{row}", num_warps=num_warps)
    instructions = list(instructions_of(module_of(compiled)))
    narrow = {operands[0] for number, operands in instructions if number == INTEGER and operands[1] < 32}
    assert not [operands for number, operands in instructions if number == PHI and operands[0] in narrow]


def barriers_of(row: str, name: str, **changes: Any) -> tuple[list[str], Counter[int]]:
    """The barriers and products of a kernel as LLVM IR has them, in order, and the module's instructions."""
    compiled = compile_for(row, name, device="spirv", **changes)
    module = module_of(compiled)
    validate(module)
    counts = counts_of(module)
    assert (SPLIT_BARRIER in capabilities_of(module)) == (counts[ARRIVE] > 0)
    words = r"call .*(Barrier(?:Arrive|Wait|iii)|SubgroupMatrixMultiply)"
    return re.findall(words, compiled.asm["llvm"]), counts


@pytest.mark.parametrize("row", ["xe-hpg", "xe2", "xe-hpc"])
def test_products_run_between_the_parts_of_barriers(row: str, compiler: None) -> None:
    """The loop waits for what others have read of the iteration before, and has arrived there before its
    products, where operands are not loaded in blocks."""
    without = {} if row == "xe-hpg" else {"tensor_maps": False}
    order, counts = barriers_of(row, "matmul", BM=32, BN=32, num_stages=1, options=without)
    assert counts[ARRIVE] == counts[WAIT] >= 2
    first = order.index("SubgroupMatrixMultiply")
    assert order[:2] == ["BarrierArrive", "BarrierWait"], "one arrives before the loop, and waits in it"
    assert order[first - 1] == "BarrierArrive"
    behind = [word for word in order[first:] if word != "SubgroupMatrixMultiply"]
    assert behind[0] == "BarrierWait", "the last iteration's arrival is waited for behind the loop"


def test_barriers_stay_whole_where_nothing_runs_in_between(compiler: None) -> None:
    for row, name in (("xe-hpc", "softmax"), ("generic16", "matmul"), ("generic32", "matmul")):
        order, counts = barriers_of(row, name)
        assert "Barrieriii" in order and counts[ARRIVE] == counts[WAIT] == 0, (row, order)
