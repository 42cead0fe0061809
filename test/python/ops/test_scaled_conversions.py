"""dot_scaled on AMD's GPUs without instructions for scales: operands are converted slice by slice beside
their products, and steps of a loop with scales out of range take the other branch. Values against
float64 on simulators; machine code needs no scratch memory."""

from __future__ import annotations

import numpy as np
import pytest
from scaled_kernels import scaled_matmul, signature
from test_op_dot_scaled import assert_product, numbers_of, side_of
from test_scaled_instructions import code_of, in_loop

import tilewright as tw

pytestmark = pytest.mark.usefixtures("compiler")
ARCHS = ["gfx90a", "gfx942", "gfx1100", "gfx1201"]
RDNA = ["gfx1100", "gfx1201"]


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("pair", [("e4m3", "e4m3"), ("e5m2", "e2m1")], ids="-".join)
def test_steps_with_scales_in_range_and_out_of_it(
    pair: tuple[str, str], arch: str, rng: np.random.Generator
) -> None:
    """The second of four steps has a scale beyond bfloat16, the last one NaN: accumulators go on."""
    blocks = (64, 64, 32)
    lhs, rhs = (side_of(rng, format, 64, 128, (110, 135)) for format in pair)
    assert lhs.scale is not None and rhs.scale is not None
    lhs.scale[3, 1] = 1
    rhs.scale[7, 3] = 255
    with tw.device(f"sim:{arch}"):
        actual = in_loop(lhs, rhs, blocks, num_warps=4)
    assert_product(actual, lhs, rhs)
    np.testing.assert_array_equal(np.isnan(actual).all(axis=0), np.arange(64) == 7)


@pytest.mark.parametrize("arch", RDNA)
def test_tiles_that_fill_the_registers(arch: str, rng: np.random.Generator) -> None:
    """All 128 accumulators of a thread, in both branches, by the variant that machine code has."""
    blocks = (128, 128, 128)
    lhs, rhs = (side_of(rng, "e4m3", 128, 256, (110, 135)) for _ in range(2))
    assert lhs.scale is not None
    lhs.scale[:, 4:] = np.where(np.arange(128)[:, None] == 5, 2, lhs.scale[:, 4:])
    with tw.device(f"sim:{arch}"):
        assert_product(in_loop(lhs, rhs, blocks, num_warps=4), lhs, rhs)


@pytest.mark.parametrize("arch", RDNA)
def test_no_scratch_memory(arch: str) -> None:
    constants = dict(BM=128, BN=128, BK=128, A_FORMAT="e4m3", B_FORMAT="e4m3")
    compiled = scaled_matmul.compile(signature("e4m3", "e4m3"), constants, device=f"amd:{arch}", num_warps=4)
    assert compiled.resources["scratch_bytes"] == 0


@pytest.mark.parametrize("arch", ARCHS)
def test_exact_numbers_are_not_rounded(arch: str) -> None:
    """Scaled elements are the upper halves of float32: no comparison with NaN."""
    code = code_of("e4m3", "e4m3", (64, 64, 128), arch, num_warps=4)
    assert "v_cmp_u_f32" not in code and "v_cmp_o_f32" not in code


@pytest.mark.parametrize("format", ["e4m3", "e5m2", "e2m1"])
def test_every_code_times_a_scale(format: str, rng: np.random.Generator) -> None:
    codes = np.arange(16 if format == "e2m1" else 256, dtype=np.uint8)
    lhs = side_of(rng, format, 32, 256, (100, 140))
    rhs = side_of(rng, "e2m1", 256, 256, (127, 127))
    lhs.codes[:] = np.resize(codes, lhs.codes.shape)
    rhs.codes[:] = np.where(np.eye(256, dtype=bool), 2, 0)  # ones
    finite = np.isfinite(numbers_of(lhs.codes, format))
    lhs.codes[~finite] = 0
    with tw.device("sim:gfx1201"):
        actual = in_loop(lhs, rhs, (32, 64, 128), num_warps=4)
    assert_product(actual, lhs, rhs)
