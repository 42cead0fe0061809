"""Code for AMD's GPUs: what loops are made of, what metadata says, and what is refused.

No GPU and no disassembler: the text of the code is counted. How many instructions there are in all
is in `budget.tsv`.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import ml_dtypes
import numpy as np
import product_kernels
import pytest
from gpu.machine import cases

import tilewright as tw

from .amd_code import (
    ARCHS,
    CDNA,
    RDNA,
    compile_for,
    count,
    instructions_of,
    loops_of,
    product_lines,
    product_loop,
)
from .test_generated_matrix import kernels


NUMPY = {
    "fp16": np.float16, "bf16": ml_dtypes.bfloat16, "fp32": np.float32, "i8": np.int8, "i32": np.int32,
    "fp8e4nv": ml_dtypes.float8_e4m3fn, "fp8e5": ml_dtypes.float8_e5m2,
}  # fmt: skip


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("name", ["add", "softmax", "layer_norm"])
def test_rows(arch: str, name: str, compiler: None) -> None:
    compiled = compile_for(arch, name)
    resources = compiled.resources
    assert resources["spill_bytes"] == resources["scratch_bytes"] == 0
    assert resources["warp_size"] == (64 if arch in CDNA else 32)
    assert resources["threads"] == 4 * resources["warp_size"]
    assert compiled.asm["hsaco"][:4] == b"\x7fELF"
    text = compiled.asm["asm"]
    # Masks are offsets beyond the bounds of buffers: no branch is around an access.
    code = Counter(line.split()[0] for line in instructions_of(text))
    assert count(code, "global_load") == 0 and count(code, "buffer_load") > 0
    for loop in loops_of(text):
        assert count(loop, "gl0_inv", "global_inv") == 0


@pytest.mark.parametrize("arch", ["gfx942", "gfx950", "gfx1100", "gfx1201", "gfx1250"])
@pytest.mark.parametrize("name", ["add", "softmax", "layer_norm"])
def test_rows_have_no_needless_instructions(arch: str, name: str, compiler: None) -> None:
    text = compile_for(arch, name).asm["asm"]
    code = [line for line in instructions_of(text) if not line.startswith(".LBB")]
    # The lane's number is the thread's, and masked elements are the zeros that buffers read.
    assert not [line for line in code if line.startswith("v_mbcnt")]
    # Addresses of arguments without an index below 0 are words of resources as they are.
    assert name != "add" or not [line for line in code if "0xffff" in line]
    # Conditions of scalars are compared again, not kept in vector registers.
    assert not [line for line in code if re.match(r"v_cndmask_b32\S* v\d+, 0, 1,", line)]
    # Resources are put together of pairs of words.
    assert name != "add" or [line for line in code if line.startswith("s_mov_b64")]
    if name == "layer_norm":  # sums take halves
        assert not any(count(loop, "v_cvt_f32_f16") for loop in loops_of(text))


@pytest.mark.parametrize("arch", ARCHS)
# Comparisons of every element with every bin would be 256 of each thread, 2048, and 8192.
@pytest.mark.parametrize(
    ("block", "bins"), [(512, 64), (1024, 256), (4096, 256), (4000, 200), (1001, 200)]
)
def test_histograms_fit_in_registers(arch: str, block: int, bins: int, compiler: None) -> None:
    compiled = compile_for(arch, "histogram_in_tile", BINS=bins, BLOCK=block)
    assert compiled.resources["spill_bytes"] == compiled.resources["scratch_bytes"] == 0


def steps_of(loop: Counter[str], instructions: int, slots: int = 2) -> int:
    """Iterations of the source in one of the loop, which is unrolled by its slots: each has so many
    matrix instructions."""
    steps, rest = divmod(count(loop, "mfma", "wmma"), instructions)
    assert steps == slots and rest == 0
    return steps


@pytest.mark.parametrize(
    ("arch", "depth", "instructions"), [("gfx942", 32, 16), ("gfx950", 32, 8), ("gfx950", 64, 16)]
)
def test_matmul(arch: str, depth: int, instructions: int, compiler: None) -> None:
    compiled = compile_for(arch, "matmul", BK=depth)
    resources = compiled.resources
    assert resources["scratch_bytes"] == resources["accumulation_registers"] == 0
    assert resources["registers"] <= 256
    loop = product_loop(compiled.asm["asm"])
    # A warp has 64 x 64 of the product: 4 fragments of 32 x 32.
    past = arch == "gfx950"
    steps = steps_of(loop, instructions, slots=2 if past else 1)
    # 16 bytes a lane: 2 tiles of 128 x depth halves over 256 threads. gfx950 copies directly.
    assert loop["buffer_load_dwordx4 lds" if past else "buffer_load_dwordx4"] == steps * 2 * 128 * depth * 2 // (256 * 16)
    assert count(loop, "buffer_load") == steps * 2 * 128 * depth * 2 // (256 * 16)
    assert (count(loop, "ds_write") == 0) == past
    # With one slot, another barrier stands between its reads and its writes.
    assert count(loop, "s_barrier") == (steps if past else 2 * steps)
    assert count(loop, "accvgpr") == 0
    # B is turned on its way to shared memory: two of its rows meet in one permutation a word, and
    # fragments are read as they are; or by reads of 8 bytes.
    assert count(loop, "v_perm_b32") == (0 if past else steps * 128 * depth * 2 // (256 * 4))
    assert loop["ds_read_b64_tr_b16"] == (steps * 64 * depth * 2 // (64 * 8) if past else 0)
    assert count(loop, "v_mov") == 0
    # What the loop adds to addresses is scalar, but for what LLVM turns into vectors again.
    assert count(loop, "v_add_u32") <= steps * 2
    assert count(loop, "ds_read_b128") == steps * (1 if past else 2) * 64 * depth * 2 // (64 * 16)
    assert count(loop, "ds_read") == count(loop, "ds_read_b128", "ds_read_b64_tr_b16")
    # The mask of the loads that run ahead is compared by scalar instructions.
    assert count(loop, "v_readfirstlane", "v_cmp") == 0


@pytest.mark.parametrize("depth", [64, 128])
@pytest.mark.parametrize("kinds", [("fp8e4nv", "fp32"), ("fp8e5", "fp32"), ("i8", "i32")], ids="-".join)
@pytest.mark.parametrize(("arch", "lanes"), [("gfx950", 64), ("gfx1250", 32)])
def test_bytes_are_turned_while_they_are_read(
    arch: str, lanes: int, kinds: tuple[str, str], depth: int, compiler: None
) -> None:
    """Both operands are copied past the registers; B, whose rows run along N, is read by columns of 8 bytes."""
    kind, sums = kinds
    signature = {"a": f"*{kind}:16", "b": f"*{kind}:16", "c": f"*{sums}:16"} | dict.fromkeys("MNK", "i32:16")
    constants = {"BM": 128, "BN": 128, "BK": depth, "HOW": tw.int32 if sums == "i32" else tw.float32}
    compiled = cases.product.compile(signature, constants, device=f"amd:{arch}", num_warps=4, num_stages=2)
    assert compiled.resources["scratch_bytes"] == 0
    loop = product_loop(compiled.asm["asm"])
    turned = count(loop, "ds_read_b64_tr_b8", "ds_load_tr8_b64")  # a warp has 64 columns
    steps, rest = divmod(turned, 64 * depth // (8 * lanes))
    assert steps == 2 and rest == 0
    copies = count(loop, "buffer_load_dwordx4 lds", "global_load_async_to_lds_b128")
    assert copies == steps * 2 * 128 * depth // (4 * lanes * 16)
    assert count(loop, "v_perm", "buffer_load", "global_load") == copies


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942"])
def test_matmul_with_memory_for_one_slot(arch: str, compiler: None) -> None:
    """The tiles of the next iteration wait in registers."""
    compiled = compile_for(arch, "matmul", num_warps=8, BM=256, BN=256, BK=64)
    resources = compiled.resources
    assert resources["scratch_bytes"] == resources["accumulation_registers"] == 0
    assert resources["shared_bytes"] == 65536 and resources["registers"] <= 256
    loop = product_loop(compiled.asm["asm"])
    # A warp has 64 x 128 of the product.
    assert count(loop, "mfma") == 64
    assert loop["buffer_load_dwordx4"] == count(loop, "buffer_load") == 8
    assert loop["ds_write_b128"] == count(loop, "ds_write") == 8
    assert loop["ds_read_b128"] == count(loop, "ds_read") == (64 + 128) * 64 * 2 // (64 * 16)
    assert count(loop, "accvgpr", "v_mov", "v_readfirstlane", "v_cmp", "s_cselect") == 0
    # Waves take turns: reads and products of three quarters, then writes and the last products.
    code = product_lines(compiled.asm["asm"])
    phases = [
        next(name for name in ("mfma", "ds_write", "ds_read") if any(name in line for line in phase.split("\n")))
        for phase in "\n".join(code).split("s_barrier")[1:]
    ]
    assert phases == ["ds_read", "mfma"] * 3 + ["ds_write", "mfma"]
    assert count(loop, "s_setprio") == 2 * 4
    # Loads start in the first phase.
    loads = [place for place, line in enumerate(code) if line.startswith("buffer_load_dwordx4")]
    assert max(loads) < next(place for place, line in enumerate(code) if "mfma" in line)


# The registers of a SIMD and the shared memory beside four of them (CDNA 3 ISA, "VGPRs"; RDNA 3 ISA,
# "VGPR Allocation": by 24).
@pytest.mark.parametrize(
    ("arch", "depth", "waves", "file", "memory"),
    [("gfx90a", 32, 4, 512, 64), ("gfx942", 32, 4, 512, 64), ("gfx942", 64, 2, 512, 64), ("gfx1100", 32, 6, 1536, 128),
     ("gfx1100", 64, 4, 1536, 128), ("gfx1201", 32, 6, 1536, 128), ("gfx1201", 64, 4, 1536, 128)],
)  # fmt: skip
def test_programs_with_one_slot_leave_room_for_others(
    arch: str, depth: int, waves: int, file: int, memory: int, compiler: None
) -> None:
    """A SIMD holds more waves than with two slots, and as many as Triton 3.9's code lets it."""
    resources = compile_for(arch, "matmul", BK=depth).resources
    assert resources["scratch_bytes"] == 0
    granule = 24 if arch in RDNA else 8
    taken = -(-resources["registers"] // granule) * granule
    assert min(file // taken, memory * 1024 // resources["shared_bytes"]) == waves


@pytest.mark.parametrize(("name", "changes", "registers"), [
    ("matmul", {"BN": 64, "BK": 32}, 80), ("attention", {}, 168), ("attention", {"CAUSAL": False}, 168)])  # fmt: skip
def test_addresses_behind_loops_keep_no_program_out(name: str, changes: dict, registers: int, compiler: None) -> None:
    """Shared memory has room for one program more (six, three): registers of 512 have it, too."""
    resources = compile_for("gfx950", name, **changes).resources
    assert resources["scratch_bytes"] == 0 and resources["registers"] <= registers
    assert resources["shared_bytes"] * (512 // registers) <= 160 * 1024


def test_persistent_products_by_address_do_not_spill(compiler: None) -> None:
    """The loop over tiles around that over depth keeps nobody from dividing what is stored behind the latter."""
    constants = {"PROGRAMS": 96, "BM": 128, "BN": 128, "BK": 32, "RESULT": tw.float16}
    kernel = product_kernels.matmuls_by_address
    names = [p.name for p in kernel.parameters if p.name not in constants]
    types = [*["*i64:16"] * 3, "*i32:16", "i32", *["*fp16:16"] * 6, *["*fp16:16"] * 3]
    resources = kernel.compile(
        dict(zip(names, types, strict=True)), constants, device="amd:gfx1201", num_warps=4, num_stages=2
    ).resources
    assert resources["scratch_bytes"] == 0
    assert resources["shared_bytes"] == 2 * 128 * 32 * 2


def test_tiles_are_stored_behind_products(compiler: None) -> None:
    """Products do not wait for the loads of the next step."""
    lines = product_lines(compile_for("gfx942", "matmul").asm["asm"])
    waits = next(place for place, line in enumerate(lines) if "vmcnt" in line)
    assert sum("mfma" in line for line in lines[:waits]) >= 12
    assert sum("mfma" in line for line in lines) == 16


@pytest.mark.parametrize(
    ("arch", "name", "changes"),
    [("gfx1100", "matmul", {"BK": 64}), ("gfx1201", "attention", {"D": 128}),
     ("gfx1201", "attention", {"D": 128, "CAUSAL": False})],
)  # fmt: skip
def test_loops_load_no_tile_ahead_that_registers_cannot_hold(
    arch: str, name: str, changes: dict[str, int], compiler: None
) -> None:
    resources = compile_for(arch, name, **changes).resources
    assert resources["scratch_bytes"] == resources["spilled_registers"] == 0
    # One step of depth 32 fits beside the sums: it is loaded in front of the products, stored behind.
    ahead = product_lines(compile_for(arch, "matmul").asm["asm"])
    load, product, store = (
        next(place for place, line in enumerate(ahead) if line.startswith(opcode))
        for opcode in ("buffer_load", "v_wmma", "ds_store")
    )
    assert load < product < store


def test_tiles_wait_in_registers_only_where_instructions_name_them(compiler: None) -> None:
    """Sums that fill a thread's 256 accumulation registers leave no room for tiles beside them."""
    resources = compile_for("gfx90a", "matmul", num_warps=4, BM=256, BN=256, BK=64).resources
    assert resources["scratch_bytes"] == 0
    assert resources["shared_bytes"] == 32768  # compiled as for one stage


@pytest.mark.parametrize("arch", RDNA)
def test_matmul_of_rdna(arch: str, compiler: None) -> None:
    compiled = compile_for(arch, "matmul")
    assert compiled.resources["scratch_bytes"] == 0
    loop = product_loop(compiled.asm["asm"])
    steps = steps_of(loop, 32, slots=1)
    assert count(loop, "v_perm_b32") == steps * 128 * 32 * 2 // (128 * 4)
    assert count(loop, "v_mov") == 0
    # It was not compiled again: that would keep the reads of operands in groups.
    assert "sched_barrier" not in compiled.asm["asm"]
    assert count(loop, "gl0_inv", "global_inv") == 0
    assert count(loop, "s_barrier_wait" if arch == "gfx1201" else "s_barrier") == 2 * steps


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_attention(arch: str, compiler: None) -> None:
    compiled = compile_for(arch, "attention")
    assert compiled.resources["scratch_bytes"] == 0
    loop = product_loop(compiled.asm["asm"])
    assert count(loop, "mfma") == (32 if arch == "gfx942" else 16)
    # The sums of one product are rows of the next, in the registers that hold them: only the rows'
    # largest scores and their sums cross lanes.
    assert count(loop, "ds_bpermute", "permlane") <= 2
    # Values are turned on their way to shared memory, so that they are read as they are, or while they are read.
    assert count(loop, "ds_read_u16") == 0
    assert count(loop, "v_perm_b32") == (64 * 64 * 2 // (256 * 4) if arch == "gfx942" else 0)
    assert loop["ds_read_b64_tr_b16"] == (0 if arch == "gfx942" else 64 * 64 * 2 // (64 * 8))
    assert (loop["buffer_load_dwordx4 lds"] > 0) == (count(loop, "ds_write") == 0) == (arch == "gfx950")


@pytest.mark.parametrize("arch", RDNA)
def test_attention_of_rdna(arch: str, compiler: None) -> None:
    compiled = compile_for(arch, "attention")
    # Triton 3.9 spills 284 and 81 registers.
    assert compiled.resources["scratch_bytes"] == compiled.resources["spilled_registers"] == 0
    text = compiled.asm["asm"]
    assert "scratch_" not in "\n".join(instructions_of(text))
    loop = product_loop(text)
    assert count(loop, "wmma") == 64
    # Probabilities become operands of 16 bits before they are exchanged.
    assert count(loop, "v_cvt_f16_f32") == 64
    # They are written to halves of registers.
    assert count(loop, "v_pack_b32_f16", "v_mov_b16") == 0
    # Of the 32 scores of a row in a thread, all but one pair are compared with a third at once.
    assert count(loop, "v_max3") == 2 * 15
    assert count(loop, "v_perm_b32") == 64 * 64 * 2 // (128 * 4)
    assert count(loop, "gl0_inv", "global_inv") == 0


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_matmul_of_256_rows(arch: str, compiler: None) -> None:
    compiled = compile_for(arch, "matmul", num_warps=8, BM=256, BN=256, BK=64)
    resources = compiled.resources
    assert resources["scratch_bytes"] == resources["accumulation_registers"] == 0
    loop = product_loop(compiled.asm["asm"])
    # gfx942 has no room for two slots.
    steps = 1 if arch == "gfx942" else steps_of(loop, 32)
    assert count(loop, "mfma") == steps * (64 if arch == "gfx942" else 32)


@tw.jit
def asks_for_registers(x, out):
    i = tw.arange(0, 64)
    word = tw.inline_asm_elementwise(
        "mov.b32 $0, $1;", "=r,r", [tw.load(x + i)], dtype=tw.int32, is_pure=True, pack=1
    )
    tw.store(out + i, word)


@tw.jit
def moves_registers(x, out):
    i = tw.arange(0, 64)
    word = tw.inline_asm_elementwise(
        "v_mov_b32 $0, $1", "=v,v", [tw.load(x + i)], dtype=tw.int32, is_pure=True, pack=1
    )
    tw.store(out + i, word)


@tw.jit
def prints(x):
    tw.device_print("x", tw.load(x + tw.arange(0, 64)))


def test_assembly_of_another_maker_is_refused(compiler: None) -> None:
    signature = {"x": "*i32", "out": "*i32"}
    with pytest.raises(tw.CompileError, match="not a register of this GPU") as caught:
        asks_for_registers.compile(signature, {}, device="amd:gfx942", num_warps=1)
    assert caught.value.code == "TW0242"
    compiled = moves_registers.compile(signature, {}, device="amd:gfx1100", num_warps=1)
    assert "ASMSTART" in compiled.asm["asm"]


@tw.jit
def runs(x, out, TEXT: tw.constexpr):
    i = tw.arange(0, 256)
    value = tw.load(x + i)
    word = tw.inline_asm_elementwise(TEXT, "=&v,v", [value], dtype=tw.int32, is_pure=True, pack=1)
    tw.store(out + i, word)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("v_mov_b32 $0, $1\nv_no_such_b32 $0, $0", "invalid instruction"),
        ("s_mov_b32 $0, $1", "invalid operand"),
        ("again: v_mov_b32 $0, $1", "symbol 'again' is already defined"),
        ("v_add_u32 $0, $1, elsewhere", "names what this compiler does not link"),
    ],
)
def test_a_complaint_of_the_assembler_is_at_the_users_line(
    compiler: None, capfd: pytest.CaptureFixture[str], text: str, words: str
) -> None:
    with pytest.raises(tw.CompileError, match=words) as caught:
        runs.compile({"x": "*i32", "out": "*i32"}, {"TEXT": text}, device="amd:gfx1100", num_warps=1)
    assert caught.value.code == "TW0243"
    assert "word = tw.inline_asm_elementwise" in str(caught.value)
    assert not capfd.readouterr().err


def test_printing_is_refused_where_nothing_prints(compiler: None) -> None:
    with pytest.raises(tw.UnsupportedError, match="code objects cannot print") as caught:
        prints.compile({"x": "*i32"}, {}, device="amd:gfx942", num_warps=1)
    assert caught.value.code == "TW0312"


def test_options_of_the_machine(compiler: None) -> None:
    kernel, constants = kernels.matmul, kernels.CONSTANTS["matmul"]
    names = [p.name for p in kernel.parameters if p.name not in constants]
    signature = dict(zip(names, kernels.SIGNATURES["matmul"].split(), strict=True))

    def compiled(**options: Any) -> Any:
        return kernel.compile(signature, constants, device="amd:gfx942", num_warps=4, **options)

    small = compiled(matrix_instr_nonkdim=16).asm["asm"]
    assert "v_mfma_f32_16x16x16_f16" in small and "v_mfma_f32_32x32x8_f16" not in small
    assert compiled(waves_per_eu=4).resources["registers"] <= 128
    with pytest.raises(tw.UnsupportedError, match="waves_per_eu=40"):
        compiled(waves_per_eu=40)
    with pytest.raises(tw.UnsupportedError, match="waves_per_eu=9 .*from 1 to 8 waves"):
        compiled(waves_per_eu=9)
    on_rdna = kernel.compile(
        signature, constants, device="amd:gfx1100", num_warps=4, waves_per_eu=9
    )
    assert on_rdna.resources["registers"] <= 168
    for extent in (8, 17, 64):
        with pytest.raises(tw.UnsupportedError, match=f"matrix_instr_nonkdim={extent}") as caught:
            compiled(matrix_instr_nonkdim=extent)
        assert caught.value.code == "TW0317"


def test_registers_and_shared_memory_of_gfx1250(compiler: None) -> None:
    """A lane names 1024 registers, and a program has 320 KB of shared memory."""
    large = compile_for("gfx1250", "matmul", BM=256, BN=256, BK=64, num_stages=4)
    assert 512 < large.resources["registers"] <= 1024 and large.resources["scratch_bytes"] == 0
    assert 160 << 10 < large.resources["shared_bytes"] <= 320 << 10
    kernel, constants = kernels.add, kernels.CONSTANTS["add"]
    names = [p.name for p in kernel.parameters if p.name not in constants]
    signature = dict(zip(names, kernels.SIGNATURES["add"].split(), strict=True))
    assert kernel.compile(signature, constants, device="amd:gfx1250", maxnreg=1000).resources["registers"] <= 1000
    with pytest.raises(tw.UnsupportedError, match="maxnreg=1025 .*from 24 to 1024 registers"):
        kernel.compile(signature, constants, device="amd:gfx1250", maxnreg=1025)


@tw.jit
def product(a, b, c, M: tw.constexpr, N: tw.constexpr, K: tw.constexpr, BK: tw.constexpr):
    m, n = tw.arange(0, M), tw.arange(0, N)
    total = tw.zeros((M, N), c.dtype.element_ty)
    for first in range(0, K, BK):
        k = first + tw.arange(0, BK)
        total = tw.dot(tw.load(a + m[:, None] * K + k), tw.load(b + k[:, None] * N + n), total)
    tw.store(c + m[:, None] * N + n, total)


@pytest.mark.parametrize(
    ("types", "depth", "instruction"),
    [
        ("fp16 fp16 fp32", 32, "f32_16x16x32_f16"), ("bf16 bf16 fp32", 64, "f32_16x16x32_bf16"),
        ("fp32 fp32 fp32", 16, "f32_16x16x4_f32"), ("i8 i8 i32", 64, "i32_16x16x64_iu8"),
        ("fp8e4nv fp8e4nv fp32", 64, "f32_16x16x64_fp8_fp8"),
        # B comes before A.
        ("fp8e4nv fp8e5 fp32", 128, "f32_16x16x128_bf8_fp8"),
        ("fp8e5 fp8e4nv fp32", 64, "f32_16x16x64_fp8_bf8"),
        ("fp8e5 fp8e5 fp32", 128, "f32_16x16x128_bf8_bf8"),
    ],
)  # fmt: skip
def test_products_of_gfx1250(
    types: str, depth: int, instruction: str, compiler: None, rng: np.random.Generator
) -> None:
    """Of each type by its instruction, and right on the simulator."""
    shape = {"M": 32, "N": 64, "K": 256, "BK": depth}
    names = [f"*{each}:16" for each in types.split()]
    text = product.compile(dict(zip("abc", names, strict=True)), shape, device="amd:gfx1250").asm["asm"]
    assert set(re.findall(r"v_wmma_(\w+)", text)) == {instruction}
    dtypes = [NUMPY[each] for each in types.split()]
    a, b = (rng.integers(-3, 4, size).astype(dtype) for size, dtype in zip(((32, 256), (256, 64)), dtypes))
    c = np.full((32, 64), 7, dtypes[2])
    with tw.device("sim:gfx1250"):
        product[(1,)](a, b, c, **shape)
    np.testing.assert_array_equal(c, a.astype(np.float64) @ b.astype(np.float64))


@tw.jit
def hand_over(data, flag, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    tw.store(data + i, i)
    tw.atomic_add(flag, 1, sem="release", scope="gpu")


@pytest.mark.parametrize("arch", [*CDNA, *RDNA])
def test_every_wave_has_written_before_one_of_them_releases(arch: str) -> None:
    """What the other waves wrote is on its way until they wait for it, in front of the barrier."""
    kernel = hand_over.compile(
        {"data": "*i32", "flag": "*i32"}, {"BLOCK": 512}, device=f"amd:{arch}", num_warps=4
    )
    code = instructions_of(kernel.asm["asm"])
    stores = [place for place, line in enumerate(code) if line.startswith("buffer_store")]
    barrier = next(n for n, line in enumerate(code) if line.startswith(("s_barrier", "s_barrier_signal")))
    waits = r"s_waitcnt.*vmcnt\(0\)|s_waitcnt_vscnt null, 0x0|s_wait_storecnt 0x0"
    assert stores and stores[-1] < barrier
    assert any(re.match(waits, line) for line in code[stores[-1] : barrier]), code
