"""Generated GPU code without a GPU: it assembles for every architecture without spills, and every access
that is provably contiguous is 16 bytes wide."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest
import tile_kernels as kernels

ROOT = Path(__file__).resolve().parents[4]
ARCHS = ("sm_80", "sm_90a", "sm_100a", "sm_120")
FLOATS, HALVES, INTS, LONGS = "*fp32:16", "*fp16:16", "*i32:16", "*i64:16"
BYTES = {"b8": 1, "b16": 2, "b32": 4, "b64": 8, "b128": 16}


class Case(NamedTuple):
    kernel: Any
    signature: str  # the parameters before the constants
    constants: dict[str, Any]
    # Bytes of each access to global memory at 4 warps -> how many; 16 alone where all are contiguous.
    # None: not every access is, and other tests count.
    accesses: dict[int, int] | None = None


@cache
def load(path: str) -> ModuleType:
    """A module of the tutorials or the benchmark, whose folders are not packages."""
    file = ROOT / path
    sys.path.insert(0, str(file.parent))
    try:
        spec = importlib.util.spec_from_file_location(file.stem, file)
        assert spec and spec.loader
        module = importlib.util.module_from_spec(spec)
        sys.modules[file.stem] = module
        spec.loader.exec_module(module)
        return module
    finally:
        sys.path.remove(str(file.parent))


def from_file(path: str, name: str) -> Any:
    return lambda: getattr(load(path), name)


def tutorial(number_and_name: str, kernel: str) -> Any:
    return from_file(f"tutorials/{number_and_name}.py", kernel)


def measured(kernel: str) -> Any:
    return from_file("test/benchmark/generated_kernels.py", kernel)


ROW = {"BLOCK": 1024}
TILE = {"ROWS": 32, "COLUMNS": 64}
CASES = {
    "transpose": Case(kernels.transpose, f"{FLOATS} {FLOATS} i32:16 i32:16", {"BLOCK": 64}),
    "reduce_both": Case(kernels.reduce_both, f"{FLOATS} {FLOATS} {FLOATS}", TILE),
    "prefix": Case(kernels.prefix, f"{FLOATS} {FLOATS} {FLOATS}", TILE, {16: 12}),
    "arg_extremes": Case(kernels.arg_extremes, f"{FLOATS} {INTS} {INTS} i32:16", ROW),
    "histogram": Case(kernels.histogram, f"{INTS} {INTS} i32:16", ROW),
    "histogram_in_tile": Case(
        kernels.histogram_in_tile, f"{INTS} {INTS} i32:16", {"BINS": 256, "BLOCK": 4096}
    ),
    "gather_rows": Case(kernels.gather_rows, f"{FLOATS} {LONGS} {FLOATS} i32:16", ROW),
    "scatter": Case(kernels.scatter, f"{FLOATS} {INTS} {FLOATS} i32:16", ROW),
    "gather_in_tile": Case(kernels.gather_in_tile, f"{FLOATS} {INTS} {FLOATS}", TILE, {16: 12}),
    "cross_entropy": Case(kernels.cross_entropy, f"{FLOATS} {LONGS} {FLOATS} i32:16", ROW),
    "rms_norm": Case(kernels.rms_norm, f"{FLOATS} {FLOATS} {FLOATS} i32:16 fp32", ROW, {16: 6}),
    "rms_norm_f16": Case(kernels.rms_norm, f"{HALVES} {HALVES} {HALVES} i32:16 fp32", ROW, {16: 3}),
    "rotary": Case(kernels.rotary, f"{FLOATS} {FLOATS} {FLOATS} {FLOATS} i32", {"HALF": 512}, {16: 6}),
    "long_softmax": Case(kernels.long_softmax, f"{FLOATS} {FLOATS} i32:16", ROW, {16: 6}),
    "dropout": Case(kernels.dropout, f"{FLOATS} {FLOATS} i32:16 fp32 i32", ROW, {16: 4}),
    "matmul": Case(
        kernels.matmul,
        f"{HALVES} {HALVES} {FLOATS} i32:16 i32:16 i32:16",
        {"BM": 64, "BN": 64, "BK": 16},
    ),
    "add": Case(measured("add"), f"{FLOATS} {FLOATS} {FLOATS} i32:16", ROW, {16: 6}),
    "softmax": Case(measured("softmax"), f"{FLOATS} {FLOATS} i32:16 i32:16", ROW, {16: 4}),
    "layer_norm": Case(
        measured("layer_norm"),
        f"{HALVES} {HALVES} {HALVES} {HALVES} {FLOATS} {FLOATS} i32:16 i32:16 fp32",
        ROW,
        {16: 6, 4: 2},  # the mean and the scale of a row are scalars
    ),
    "tutorial 1": Case(
        tutorial("01_vector_add", "add_kernel"), f"{FLOATS} {FLOATS} {FLOATS} i32:16", ROW, {16: 6}
    ),
    "tutorial 2": Case(
        tutorial("02_fused_softmax", "softmax_kernel"),
        f"{FLOATS} {FLOATS} i32:16 i32:16 i32:16",
        ROW,
        {16: 4},
    ),
    "tutorial 3": Case(
        tutorial("03_matmul", "matmul_kernel"),
        f"{HALVES} {HALVES} {HALVES} i32:16 i32:16 i32:16 i32:16 i32:1 i32:16 i32:1 i32:16 i32:1",
        {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32, "GROUP_M": 8, "ACTIVATION": None},
    ),
    "tutorial 4": Case(
        tutorial("04_layer_norm", "layer_norm_kernel"),
        f"{FLOATS} {FLOATS} {FLOATS} {FLOATS} {FLOATS} {FLOATS} i32:16 i32:16 fp32",
        ROW,
    ),
    "tutorial 4, backward": Case(
        tutorial("04_layer_norm", "layer_norm_backward_kernel"),
        f"{FLOATS} {FLOATS} {FLOATS} {FLOATS} {FLOATS} {FLOATS} {FLOATS} {FLOATS} "
        "i32:16 i32 i32:16 i32",
        ROW,
    ),
    "tutorial 4, sums": Case(
        tutorial("04_layer_norm", "sum_rows_kernel"),
        f"{FLOATS} {FLOATS} i32 i32:16",
        {"BLOCK_ROWS": 32, "BLOCK_COLS": 64},
    ),
    "tutorial 5": Case(
        tutorial("05_low_memory_dropout", "dropout_kernel"),
        f"{FLOATS} {FLOATS} i32:16 fp32 i32",
        ROW,
        {16: 4},
    ),
    "tutorial 6": Case(
        tutorial("06_flash_attention", "attention_kernel"),
        f"{HALVES} {HALVES} {HALVES} {HALVES} i32:16 i32:16 i32 fp32",
        {"HEAD": 64, "BLOCK_M": 32, "BLOCK_N": 32, "CAUSAL": True},
    ),
}


def compiled(name: str, arch: str, num_warps: int) -> Any:
    case = CASES[name]
    kernel = case.kernel if hasattr(case.kernel, "compile") else case.kernel()
    names = [p.name for p in kernel.parameters if p.name not in case.constants]
    signature = dict(zip(names, case.signature.split(), strict=True))
    return kernel.compile(signature, case.constants, device=f"nvidia:{arch}", num_warps=num_warps)


def widths(ptx: str) -> Counter[int]:
    """Bytes of the accesses to global memory in the text, and how many of each."""
    pattern = r"\b(?:ld|st)\.global(?:\.(?!v\d|b\d)[\w:]+)*(?:\.v(\d))?\.(b\d+)\b"
    return Counter(int(count or 1) * BYTES[kind] for count, kind in re.findall(pattern, ptx))


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("name", CASES)
def test_assembles_without_spills(name: str, arch: str, compiler: None) -> None:
    for num_warps in (4, 8):
        kernel = compiled(name, arch, num_warps)
        if not kernel.assembler:
            pytest.skip("there is no assembler of PTX: install nvidia-cuda-nvcc")
        assert 0 < kernel.n_regs <= 255
        assert kernel.n_spills == 0 and kernel.resources["stack_bytes"] == 0, kernel.resources


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.accesses])
def test_contiguous_accesses_are_16_bytes_wide(name: str, compiler: None) -> None:
    found = widths(compiled(name, "sm_80", 4).asm["ptx"])
    assert found == CASES[name].accesses


def test_widths_are_read_from_every_form_of_access() -> None:
    text = """
    @%p1 ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%rd1];
    ld.global.L1::evict_first.b16 %rs1, [%rd2];
    st.global.cs.v2.b64 [%rd3], {%rd4, %rd5};
    ld.shared.v4.b32 {%r1, %r2, %r3, %r4}, [%r5];
    """
    assert widths(text) == {16: 2, 2: 1}
