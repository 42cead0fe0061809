"""dot_scaled by the instructions of gfx950 and gfx1250: every pair of formats against float64 on the
simulator and, with the manual's pseudo-code, as machine code of gfx950; and which operands the
instructions do not take."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gpu.machine.run import missing, on_machine
from scaled_kernels import scaled_matmul, signature
from test_op_dot_scaled import Side, assert_product, multiplied, numbers_of, side_of

import tilewright as tw

pytestmark = pytest.mark.usefixtures("compiler")
FORMATS = ["e4m3", "e5m2", "e2m1"]
PAIRS = [(left, right) for left in FORMATS for right in FORMATS]
TYPES = {"e4m3": tw.float8e4nv, "e5m2": tw.float8e5}
INSTRUCTIONS = {"gfx950": "v_mfma_scale_f32", "gfx1250": "v_wmma_scale_f32"}


@pytest.fixture(params=list(INSTRUCTIONS))
def arch(request: pytest.FixtureRequest) -> str:
    return request.param


def in_loop(lhs: Side, rhs: Side, blocks: tuple[int, int, int], **options: Any) -> np.ndarray:
    """The product by `scaled_matmul` on the current device."""
    (rows, depth), columns = lhs.codes.shape, rhs.codes.shape[0]
    arrays = [np.ascontiguousarray(side.stored()) for side in (lhs, rhs)]
    a, b = (
        tw.reinterpret(array, TYPES[side.format]) if side.format in TYPES else array
        for array, side in zip(arrays, (lhs, rhs))
    )
    out = np.full((rows, columns), np.float32(-77), np.float32)
    grid = (rows // blocks[0], columns // blocks[1])
    scaled_matmul[grid](
        a, lhs.scale, b, rhs.scale, out, rows, columns, depth, *blocks, lhs.format, rhs.format, **options
    )
    return out


def code_of(left: str, right: str, blocks: tuple[int, int, int], arch: str = "gfx950", **options: Any) -> str:
    constants = dict(zip(("BM", "BN", "BK"), blocks)) | {"A_FORMAT": left, "B_FORMAT": right}
    return scaled_matmul.compile(signature(left, right), constants, device=f"amd:{arch}", **options).asm["asm"]


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
@pytest.mark.parametrize(
    "blocks, warps", [((64, 64, 128), 4), ((16, 32, 128), 2), ((32, 64, 64), 1)], ids=["square", "narrow", "shallow"]
)
def test_every_pair(
    blocks: tuple[int, int, int], warps: int, pair: tuple[str, str], arch: str, rng: np.random.Generator
) -> None:
    lhs = side_of(rng, pair[0], blocks[0] * 2, 256, (110, 135))
    rhs = side_of(rng, pair[1], blocks[1], 256, (110, 135))
    with tw.device(f"sim:{arch}"):
        assert_product(in_loop(lhs, rhs, blocks, num_warps=warps), lhs, rhs)
    if blocks[2] >= 128:
        assert INSTRUCTIONS[arch] in code_of(*pair, blocks, arch, num_warps=warps)


@pytest.mark.skipif(bool(missing()), reason=missing() or "")
@pytest.mark.parametrize("pair", [("e4m3", "e5m2"), ("e2m1", "e4m3"), ("e5m2", "e2m1"), ("e2m1", "e2m1")], ids="-".join)
@pytest.mark.parametrize("blocks, warps", [((64, 64, 256), 4), ((32, 16, 128), 1)], ids=["square", "narrow"])
def test_machine_code(
    blocks: tuple[int, int, int], warps: int, pair: tuple[str, str], rng: np.random.Generator
) -> None:
    """Bytes of scales in all four places of a word among them."""
    lhs = side_of(rng, pair[0], blocks[0], 512, (110, 135))
    rhs = side_of(rng, pair[1], blocks[1], 512, (110, 135))
    with on_machine("gfx950"):
        assert_product(in_loop(lhs, rhs, blocks, num_warps=warps), lhs, rhs)


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_scales_at_the_ends_of_their_range(pair: tuple[str, str], arch: str, rng: np.random.Generator) -> None:
    with tw.device(f"sim:{arch}"):
        for ranges in [((0, 254), (0, 254)), ((0, 3), (250, 254))]:
            lhs, rhs = (side_of(rng, format, 32, 128, each) for format, each in zip(pair, ranges))
            assert_product(multiplied(lhs, rhs), lhs, rhs)
        lhs, rhs = (side_of(rng, format, 32, 128, (127, 127)) for format in pair)
        assert lhs.scale is not None
        lhs.scale[5, 1] = 255
        actual = multiplied(lhs, rhs)
    np.testing.assert_array_equal(np.isnan(actual).all(axis=1), np.arange(32) == 5)
    assert_product(actual, lhs, rhs)


@pytest.mark.parametrize("format", FORMATS)
def test_every_code_is_its_number(format: str, arch: str) -> None:
    codes = np.arange(16 if format == "e2m1" else 256, dtype=np.uint8)
    codes = np.where(np.isfinite(numbers_of(codes, format)), codes, 0)
    lhs = Side(format, np.resize(codes, (32, 128)), np.full((32, 4), 125, np.uint8))
    unit = np.where(np.eye(128, dtype=bool), 2, 0).astype(np.uint8)  # ones of e2m1
    rhs = Side("e2m1", unit, np.full((128, 4), 129, np.uint8))
    with tw.device(f"sim:{arch}"):
        np.testing.assert_array_equal(multiplied(lhs, rhs), numbers_of(lhs.codes, format))


@pytest.mark.parametrize("scales", [(None, (110, 135)), ((110, 135), None), (None, None)])
@pytest.mark.parametrize("pair", [("e2m1", "e2m1"), ("e4m3", "e2m1"), ("e5m2", "e4m3")], ids="-".join)
def test_a_side_without_scales(pair: tuple[str, str], scales: Any, arch: str, rng: np.random.Generator) -> None:
    lhs, rhs = (side_of(rng, format, 32, 128, each) for format, each in zip(pair, scales))
    start = rng.standard_normal((32, 32)).astype(np.float32)
    with tw.device(f"sim:{arch}"):
        assert_product(multiplied(lhs, rhs, start), lhs, rhs, start)


@pytest.mark.parametrize(
    "pair, packs, group",
    [(("bf16", "e4m3"), True, 32), (("e2m1", "e2m1"), False, 32), (("e4m3", "e4m3"), True, 16)],
    ids=["other-format", "packed-along-rows", "scales-of-e4m3"],
)
def test_what_the_instruction_does_not_take_is_converted(
    pair: tuple[str, str], packs: bool, group: int, arch: str, rng: np.random.Generator
) -> None:
    scales = (1, 0x7E) if group == 16 else (120, 130)
    lhs = side_of(rng, pair[0], 32, 128, None if pair[0] == "bf16" else scales, group=group)
    rhs = side_of(rng, pair[1], 32, 128, scales, group=group)
    lhs.is_packed_along_k = packs
    with tw.device(f"sim:{arch}"):
        assert_product(multiplied(lhs, rhs), lhs, rhs)


def test_a_remark_says_why_operands_are_converted() -> None:
    compiled = scaled_matmul.compile(
        signature("e4m3", "e4m3"), dict(BM=32, BN=16, BK=64, A_FORMAT="e4m3", B_FORMAT="e4m3"), device="amd:gfx950"
    )
    (told,) = [each["message"] for each in compiled.remarks if each["code"] == "TW0373"]
    assert "32 x 16 x 64 is smaller than 32 x 32 x 64 or 16 x 16 x 128" in told


def test_instructions_of_the_loop() -> None:
    """One instruction for each 32 x 32 x 64; 128 x 128 x 128 with 8-bit floats takes no conversion."""
    code = code_of("e4m3", "e4m3", (128, 128, 128), num_warps=4, num_stages=2)
    products = [line for line in code.splitlines() if "v_mfma" in line]
    assert products and all("v_mfma_scale_f32_32x32x64_f8f6f4" in line for line in products)
    assert "v_cvt" not in code and "scratch_" not in code
    narrow = code_of("e2m1", "e2m1", (16, 64, 256), num_warps=1)
    assert "v_mfma_scale_f32_16x16x128_f8f6f4" in narrow and "cbsz:4 blgp:4" in narrow
    assert "f8f6f4" not in code_of("e4m3", "e4m3", (128, 128, 128), "gfx942", num_warps=4, num_stages=1)
