"""The golden kernels: where each comes from, and a launch of it with edges in every direction."""

from __future__ import annotations

import pathlib
from typing import NamedTuple

FOLDER = pathlib.Path(__file__).resolve().parent / "kernels"


class Golden(NamedTuple):
    """A kernel as `tilewright compile` takes it, and its launch as `warpsim run` takes it."""

    source: str  # FILE.py:NAME, from the repository's root
    signature: str
    constexpr: str
    grid: str
    arguments: tuple[str, ...]
    shared_bytes: int = 0
    num_warps: int = 2
    num_stages: int = 3


KERNELS = "test/kernels/tile_kernels.py"
GOLDENS = {
    "vector_add": Golden(
        "tutorials/01_vector_add.py:add_kernel",
        "*fp32:16,*fp32:16,*fp32:16,i32", "BLOCK=256", "4",
        ("const f32[1000]=random", "const f32[1000]=random", "f32[1000]=zeros", "i32=1000"),
    ),
    "softmax": Golden(
        "tutorials/02_fused_softmax.py:softmax_kernel",
        "*fp32:16,*fp32:16,i32,i32,i32", "BLOCK=256", "3",
        ("f32[600]=zeros", "const f32[600]=random", "i32=200", "i32=200", "i32=200"), 32,
    ),
    "layer_norm": Golden(
        "tutorials/04_layer_norm.py:layer_norm_kernel",
        "*fp32:16,*fp32:16,*fp32:16,*fp32:16,*fp32:16,*fp32:16,i32,i32,fp32", "BLOCK=128", "3",
        ("const f32[300]=random", "const f32[100]=random", "const f32[100]=random",
         "f32[300]=zeros", "f32[3]=zeros", "f32[3]=zeros", "i32=100", "i32=100", "f32=1e-5"), 32,
    ),
    "transpose": Golden(
        f"{KERNELS}:transpose", "*fp32:16,*fp32:16,i32,i32", "BLOCK=16", "3,2",
        ("const f32[960]=random", "f32[960]=zeros", "i32=40", "i32=24"), 1024,
    ),
    "reduce_both": Golden(
        f"{KERNELS}:reduce_both", "*fp32:16,*fp32:16,*fp32:16", "ROWS=16,COLUMNS=32", "1",
        ("const f32[512]=random", "f32[16]=zeros", "f32[32]=zeros"), 256,
    ),
    "prefix": Golden(
        f"{KERNELS}:prefix", "*fp32:16,*fp32:16,*fp32:16", "ROWS=4,COLUMNS=64", "1",
        ("const f32[256]=random", "f32[256]=zeros", "f32[256]=zeros"), 1024,
    ),
    "histogram": Golden(
        f"{KERNELS}:histogram", "*i32:16,*i32:16,i32", "BLOCK=128", "3",
        ("const i32[300]=random:10", "i32[10]=zeros", "i32=300"),
    ),
    "gather_in_tile": Golden(
        f"{KERNELS}:gather_in_tile", "*fp32:16,*i32:16,*fp32:16", "ROWS=4,COLUMNS=64", "1",
        ("const f32[256]=random", "const i32[256]=random:64", "f32[256]=zeros"), 1024,
    ),
    "cross_entropy": Golden(
        f"{KERNELS}:cross_entropy", "*fp32:16,*i64:16,*fp32:16,i32", "BLOCK=128", "3",
        ("const f32[300]=random", "const i64[3]=random:100", "f32[3]=zeros", "i32=100"), 32,
    ),
    "dropout": Golden(
        f"{KERNELS}:dropout", "*fp32:16,*fp32:16,i32,fp32,i32", "BLOCK=64", "4",
        ("const f32[200]=random", "f32[200]=zeros", "i32=200", "f32=0.4", "i32=123"),
    ),
    "scalar_matmul": Golden(
        "test/kernels/golden_kernels.py:scalar_matmul",
        "*fp32:16,*fp32:16,*fp32:16,i32,i32,i32", "BM=16,BN=16,BK=8", "2,2",
        ("const f32[400]=random", "const f32[480]=random", "f32[480]=zeros",
         "i32=20", "i32=24", "i32=20"), 3072, num_stages=1,
    ),
    "scatter": Golden(
        f"{KERNELS}:scatter", "*fp32:16,*i32:16,*fp32:16,i32", "BLOCK=64", "2",
        ("const f32[100]=random", "const i32[100]=iota", "f32[100]=zeros", "i32=100"),
    ),
    "sum_by_last": Golden(
        "test/kernels/golden_kernels.py:sum_by_last",
        "*fp32:16,*fp32:16,*i32:16,*fp32:16,i32", "BLOCK=64", "8",
        ("const f32[500]=random", "f32[8]=zeros", "i32[1]=zeros", "f32[1]=zeros", "i32=500"), 32,
    ),
}  # fmt: skip
