"""On sm_90a, tiles of products are stored in few instructions: as boxes, without addresses or masks."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
import tile_kernels
from machine_code import sass, write_cubin


def epilogue_of(out: str, folder: Path, num_warps: int, BN: int) -> Counter[str]:
    """The instructions behind the last wait for products, of a masked tile of 128 rows."""
    names = ("M", "N", "K", "a_row", "b_column", "c_row")
    signature = {"a": "*fp16:16", "b": "*fp16:16", "c": f"*{out}:16"} | dict.fromkeys(names, "i32:16")
    constants = {"BM": 128, "BN": BN, "BK": 64, "MOST": None}
    compiled = tile_kernels.matmul_of_bytes.compile(
        signature, constants, device="nvidia:sm_90a", num_warps=num_warps, num_stages=3
    )
    assert compiled.n_spills == 0
    code, _ = sass.parse(sass.run_nvdisasm("-c", str(write_cubin(compiled, folder))))
    first = max(i for i, text in enumerate(code) if "WARPGROUP.DEPBAR.LE gsb0, 0x0" in text)
    last = max(i for i, text in enumerate(code) if "UTMASTG" in text)
    return Counter(sass.opcode(text) for text in code[first:last])


@pytest.mark.parametrize("out", ["fp16", "bf16"])
def test_halves(out: str, tmp_path: Path, compiler: None) -> None:
    """A warpgroup stores 64x256: 64 conversions of pairs, and 16 stores of four matrices."""
    count = epilogue_of(out, tmp_path, num_warps=8, BN=256)
    assert count["F2FP"] == 64 and count["STSM"] == 16
    assert count["STG"] == count["STS"] == count["LDSM"] == 0
    assert count.total() <= 133


def test_floats(tmp_path: Path, compiler: None) -> None:
    """Of 64x128 floats, each thread stores 64 in pairs."""
    count = epilogue_of("fp32", tmp_path, num_warps=8, BN=128)
    assert count["STS"] == 32 and count["STG"] == count["LDSM"] == 0
    assert count.total() <= 80
