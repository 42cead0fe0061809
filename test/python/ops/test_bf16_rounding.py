"""Rounding to bf16 on AMD's GPUs: by arithmetic where there is no instruction, exact for all numbers,
and NaN stays NaN whatever its digits are."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tilewright as tw

pytestmark = pytest.mark.usefixtures("compiler")
SPECIAL = [
    0x7FFFFFFF, 0xFFFFFFFF, 0x7F800001, 0xFF800001, 0x7FC00000, 0x7FFF8000, 0x7F800000, 0xFF800000,
    0x7F7FFFFF, 0x7F7F8000, 0x7F7F7FFF, 0x3F808000, 0x3F818000, 0x3F808001, 0x00000001, 0x00008000,
    0x00018000, 0x007FFFFF, 0x80000000, 0x80018000,
]  # fmt: skip


@tw.jit
def rounded(x, out, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    tw.store(out + i, tw.load(x + i).to(tw.bfloat16).to(tw.uint16, bitcast=True))


def nearest(bits: np.ndarray) -> np.ndarray:
    """To nearest even, of numbers: the definition, in integers of 64 bits."""
    wide = bits.astype(np.uint64)
    return ((wide + 0x7FFF + (wide >> np.uint64(16) & np.uint64(1))) >> np.uint64(16)).astype(np.uint16)


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201", "gfx1250"])
def test_every_kind_of_number(arch: str, rng: np.random.Generator) -> None:
    bits = rng.integers(0, 1 << 32, 2048, dtype=np.uint32)
    bits[: len(SPECIAL)] = SPECIAL
    out = np.full(2048, 0xABAB, np.uint16)
    with tw.device(f"sim:{arch}"):
        rounded[(2,)](bits.view(np.float32), out, 1024)
    is_nan = np.isnan(bits.view(np.float32))
    values = (out.astype(np.uint32) << 16).view(np.float32)
    np.testing.assert_array_equal(np.isnan(values), is_nan)
    np.testing.assert_array_equal(out[~is_nan], nearest(bits)[~is_nan])


@pytest.mark.parametrize("arch", ["gfx942", "gfx1100", "gfx1201"])
def test_instructions_of_an_element(arch: str) -> None:
    """Two to round, two for NaN."""
    compiled = rounded.compile({"x": "*fp32:16", "out": "*uint16:16"}, {"BLOCK": 1024}, device=f"amd:{arch}")
    code, numbers = compiled.asm["asm"], 1024 // compiled.resources["threads"]
    assert len(re.findall(r"v_cmp_[uo]_f32", code)) == code.count("v_add3_u32") == numbers
    assert len(re.findall(r"cndmask_b(?:16|32)", code)) == numbers and "0x400000" not in code
