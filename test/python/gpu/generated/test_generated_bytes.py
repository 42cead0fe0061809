"""On sm_90a, loops over products of bytes have few instructions beside the products, and no spills."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tile_kernels
from machine_code import sass, write_cubin

SHAPE = {"BM": 128, "BN": 256, "BK": 128}
ANY = 2**30  # elements whose sums may be imprecise


def loops_of(types: tuple[str, str, str], most: int | None, folder: Path, **options: Any) -> list[Any]:
    """The loops of the products and of the copies, in this order."""
    names = ("M", "N", "K", "a_row", "b_column", "c_row")
    signature = {name: f"*{kind}:16" for name, kind in zip("abc", types, strict=True)}
    signature |= dict.fromkeys(names, "i32:16")
    shape = {name: options.pop(name, size) for name, size in SHAPE.items()}
    compiled = tile_kernels.matmul_of_bytes.compile(
        signature, {**shape, "MOST": most}, device="nvidia:sm_90a",
        **{"num_warps": 8, "num_stages": 3} | options,
    )  # fmt: skip
    assert compiled.n_spills == 0
    _, loops = sass.parse(sass.run_nvdisasm("-c", str(write_cubin(compiled, folder))))
    counts = [loop.opcodes for loop in loops]
    multiplying = next(count for count in counts if count["QGMMA"] + count["IGMMA"])
    copying = next(count for count in counts if count["UTMALDG"])
    assert all(count["LDGSTS"] + count["STS"] + count["LDL"] == 0 for count in (multiplying, copying))
    return [multiplying, copying]


BYTES = {
    "e4m3": ("fp8e4nv", "fp8e4nv", "fp16"), "e5m2 by e4m3": ("fp8e5", "fp8e4nv", "fp16"),
    "u8": ("u8", "u8", "i32"), "u8 by s8": ("u8", "i8", "i32"), "s8": ("i8", "i8", "i32"),
}  # fmt: skip


@pytest.mark.parametrize("types", BYTES)
def test_products_of_bytes(types: str, tmp_path: Path, compiler: None) -> None:
    """Four instructions of 256 columns, and two boxes, a step of 128 elements along k."""
    multiplying, copying = loops_of(BYTES[types], ANY, tmp_path)
    assert multiplying["QGMMA" if types[0] == "e" else "IGMMA"] == 4
    assert multiplying["BAR"] == multiplying["ELECT"] == 0 and multiplying.total() <= 48
    assert copying["UTMALDG"] == 2 and copying.total() <= 33


@pytest.mark.parametrize("most", [None, 128, 512])
def test_sums_beside_the_accumulator(most: int | None, tmp_path: Path, compiler: None) -> None:
    """One addition for each of 128 sums a thread: twice the 64 that stay in registers beside them."""
    multiplying, _ = loops_of(BYTES["e4m3"], most, tmp_path)
    assert multiplying["FADD"] == 128 and multiplying["QGMMA"] == 2 * 4
    assert multiplying.total() <= 48 + 128 + 12


@pytest.mark.parametrize(("most", "parts"), [(0, 4), (32, 4), (64, 2)])
def test_short_sums(most: int, parts: int, tmp_path: Path, compiler: None) -> None:
    """A sum of 32 elements is of one instruction."""
    multiplying, _ = loops_of(BYTES["e4m3"], most, tmp_path)
    assert multiplying["FADD"] == 128 * parts and multiplying["QGMMA"] == 2 * 4
    small, _ = loops_of(BYTES["e4m3"], most, tmp_path, BN=128)
    assert small["FADD"] == 64 * parts and small["QGMMA"] == 4
