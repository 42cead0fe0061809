"""How wide accesses to global memory are, by what is known of their addresses and masks: the bytes of each
in the PTX, and on the simulator whole sectors."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
import tile_kernels as kernels
from gpu.generated.test_generated_code import load, widths

import tilewright as tw

pytestmark = pytest.mark.usefixtures("compiler")

B, T = 1024, 64  # elements of a row, and of each side of a tile; 4 warps


@tw.jit
def copy_row(x, y, stride, B: tw.constexpr):
    i = tw.program_id(0) * stride + tw.arange(0, B)
    tw.store(y + i, tw.load(x + i))


@tw.jit
def copy_hinted(x, y, stride, B: tw.constexpr):
    i = tw.program_id(0) * tw.multiple_of(stride, 16) + tw.arange(0, B)
    tw.store(y + i, tw.load(x + i))


@tw.jit
def copy_assumed(x, y, stride, B: tw.constexpr):
    tw.assume(stride % 16 == 0)
    i = tw.program_id(0) * stride + tw.arange(0, B)
    tw.store(y + i, tw.load(x + i))


@tw.jit
def copy_masked(x, y, bound, B: tw.constexpr):
    i = tw.program_id(0) * B + tw.arange(0, B)
    tw.store(y + i, tw.load(x + i, mask=i < bound), mask=i < bound)


@tw.jit
def copy_assumed_bound(x, y, bound, B: tw.constexpr):
    tw.assume((bound % 8 == 0) & (bound > 0))
    i = tw.program_id(0) * B + tw.arange(0, B)
    tw.store(y + i, tw.load(x + i, mask=i < bound), mask=i < bound)


@tw.jit
def copy_shifted(x, y, start, B: tw.constexpr):
    i = start + (tw.arange(0, B) + 32) - 16
    tw.store(y + i, tw.load(x + i))


@tw.jit
def copy_split_index(x, y, stride, B: tw.constexpr):
    i = tw.arange(0, B)
    at = i // 32 * stride + i % 32
    tw.store(y + at, tw.load(x + at))


@tw.jit
def copy_reversed(x, y, stride, B: tw.constexpr):
    i = tw.arange(0, B)
    tw.store(y + i, tw.load(x + stride - i))


@tw.jit
def copy_indirect(x, index, y, B: tw.constexpr):
    i = tw.arange(0, B)
    tw.store(y + i, tw.load(x + tw.load(index + i)))


@tw.jit
def copy_runs(x, index, y, B: tw.constexpr):
    i = tw.arange(0, B)
    at = tw.load(index + i)
    at = tw.max_contiguous(tw.multiple_of(at, 4), 4)
    tw.store(y + i, tw.load(x + at))


@tw.jit
def sum_steps(x, y, stride, count, B: tw.constexpr):
    i = tw.arange(0, B)
    pointers = x + i
    total = tw.zeros([B], tw.float32)
    for _ in range(count):
        total += tw.load(pointers)
        pointers += stride
    tw.store(y + i, total)


@tw.jit
def copy_tile(x, y, x_row, x_column, y_row, y_column, T: tw.constexpr):
    r = tw.arange(0, T)[:, None]
    c = tw.arange(0, T)[None, :]
    tw.store(y + r * y_row + c * y_column, tw.load(x + r * x_row + c * x_column))


@tw.jit
def copy_transposed(x, y, rows, columns, T: tw.constexpr):
    r = tw.arange(0, T)[:, None]
    c = tw.arange(0, T)[None, :]
    tw.store(y + r * columns + c, tw.trans(tw.load(x + r * rows + c)))


def accesses(kernel: Any, signature: str, **constants: Any) -> Counter[int]:
    names = [p.name for p in kernel.parameters if p.name not in constants]
    types = dict(zip(names, signature.split(), strict=True))
    return widths(kernel.compile(types, constants, device="nvidia:sm_80").asm["ptx"])


F32 = "*fp32:16 *fp32:16"


@pytest.mark.parametrize(
    ("kernel", "signature", "expected"),
    [
        (copy_row, f"{F32} i32:16", {16: 4}),
        (copy_row, f"{F32} i32", {4: 16}),  # rows may begin anywhere
        (copy_row, "*fp32 *fp32 i32:16", {4: 16}),  # the arrays may
        (copy_row, "*fp16:16 *fp16:16 i32:16", {16: 2}),
        (copy_row, "*i8:16 *i8:16 i32:16", {8: 2}),  # 8 elements for each lane
        (copy_row, "*fp64:16 *fp64:16 i32:16", {16: 8}),
        (copy_hinted, f"{F32} i32", {16: 4}),
        (copy_assumed, f"{F32} i32", {16: 4}),
        (copy_masked, f"{F32} i32:16", {16: 4}),
        (copy_masked, f"{F32} i32", {4: 16}),
        (copy_assumed_bound, f"{F32} i32", {16: 4}),
        (copy_assumed_bound, "*fp16:16 *fp16:16 i32", {16: 2}),
        (copy_shifted, f"{F32} i32:16", {16: 4}),
        (copy_shifted, f"{F32} i32", {4: 16}),
        (copy_split_index, f"{F32} i32:16", {16: 4}),
        (copy_reversed, f"{F32} i32:16", {4: 8, 16: 2}),
        (copy_indirect, "*fp32:16 *i32:16 *fp32:16", {4: 8, 16: 4}),
        (copy_runs, "*fp32:16 *i32:16 *fp32:16", {16: 4, 4: 2}),  # one index for each run
    ],
)  # fmt: skip
def test_rows(kernel: Any, signature: str, expected: dict[int, int]) -> None:
    assert accesses(kernel, signature, B=B) == expected


def test_pointers_that_a_loop_advances() -> None:
    assert accesses(sum_steps, f"{F32} i32:16 i32", B=B) == {16: 4}
    assert accesses(sum_steps, f"{F32} i32 i32", B=B) == {4: 8, 16: 2}


@pytest.mark.parametrize("columns_first", [False, True])
def test_row_major_and_column_major_tiles(columns_first: bool) -> None:
    strides = "i32:16 i32:1" if not columns_first else "i32:1 i32:16"
    assert accesses(copy_tile, f"{F32} {strides} {strides}", T=T) == {16: 16}
    halves = f"*fp16:16 *fp16:16 {strides} {strides}"
    assert accesses(copy_tile, halves, T=T) == {16: 8}


def test_transposition_is_wide_on_both_sides() -> None:
    assert accesses(copy_transposed, f"{F32} i32:16 i32:16", T=T) == {16: 16}
    assert accesses(copy_tile, f"{F32} i32:16 i32:1 i32:1 i32:16", T=T) == {16: 16}


def test_interior_tiles_use_whole_sectors(rng: np.random.Generator) -> None:
    x, y = (rng.standard_normal((4, 1024)).astype(np.float32) for _ in range(2))
    halves = [rng.standard_normal((4, 1024)).astype(np.float16) for _ in range(3)]
    out, half_out = np.zeros_like(x), np.zeros_like(halves[0])
    mean, scale = np.zeros(4, np.float32), np.zeros(4, np.float32)
    measured = load("test/benchmark/generated_kernels.py")
    launches = {
        "add": lambda: measured.add[(4,)](x, y, out, 4096, BLOCK=1024),
        "softmax": lambda: measured.softmax[(4,)](out, x, 1024, 1024, BLOCK=1024),
        "long_softmax": lambda: kernels.long_softmax[(4,)](x, out, 1024, BLOCK=512),
        "rotary": lambda: kernels.rotary[(1, 2)](x, y, y, out, 2, HALF=512),
        "layer_norm": lambda: measured.layer_norm[(4,)](
            half_out, *halves, mean, scale, 1024, 1024, 1e-5, BLOCK=1024
        ),
    }
    with tw.device("sim:sm_80"):
        for name, launch in launches.items():
            launch()
            statistics = tw.simulation.last_report().statistics
            assert statistics["global_load_efficiency"] == 1.0, name
            if name != "layer_norm":  # each row stores two scalars
                assert statistics["global_store_efficiency"] == 1.0, name
