"""The hazard of wide stores on CDNA 3 and 4 is found in text, and code that could have it has not."""

from __future__ import annotations

import re

import pytest
import store_hazards

from .amd_code import compile_for

STORE = "buffer_store_dwordx4 v[0:3], v4, s[0:3], s9 offen"


@pytest.mark.parametrize(
    ("store", "following", "is_found"),
    [
        (STORE, "v_mul_f32_e32 v2, v2, v5", True),
        (STORE.replace("v[0:3]", "a[0:3]"), "v_accvgpr_write_b32 a3, v9", True),
        (STORE, "v_mfma_f32_32x32x8_f16 v[0:15], v[20:21], v[22:23], v[0:15]", True),
        (STORE.replace("x4 v[0:3]", "x3 v[0:2]"), "v_mov_b32_e32 v2, 0", True),
        (STORE.replace("x4 v[0:3]", "x3 v[0:2]"), "v_mov_b32_e32 v3, 0", False),
        (STORE, "v_mul_f32_e32 v5, v2, v2", False),
        (STORE, "s_nop 0\n\tv_mul_f32_e32 v2, v2, v5", False),
        (STORE.replace(", s9", ", 0"), "v_mul_f32_e32 v2, v2, v5", False),
        (STORE.replace("x4 v[0:3]", "x2 v[0:1]"), "v_mov_b32_e32 v1, 0", False),
    ],
)
def test_the_hazard_is_found_in_text(store: str, following: str, is_found: bool) -> None:
    text = f"\ts_waitcnt vmcnt(0)\n\t{store}  ; a comment\n.LBB0_1:\n\t{following}\n"
    assert bool(store_hazards.find(text)) is is_found


@pytest.mark.parametrize("arch", store_hazards.ARCHS)
@pytest.mark.parametrize("name", ["softmax", "matmul", "attention"])
def test_no_wide_store_has_a_scalar_offset(name: str, arch: str, compiler: None) -> None:
    text = compile_for(arch, name).asm["asm"]
    stores = re.findall(r"buffer_store_dwordx[34] .*", text)
    assert stores and all(re.search(r"s\[\d+:\d+\], 0 ", store) for store in stores)
