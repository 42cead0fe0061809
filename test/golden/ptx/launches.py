"""The golden kernels: where each comes from, a launch with edges everywhere, what is right."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parents[3]


class Golden(NamedTuple):
    """A kernel as `tilewright compile` takes it, and its launch as `warpsim run` takes it."""

    source: str  # FILE.py:NAME, from the repository's root
    signature: str
    constexpr: str
    grid: str
    arguments: tuple[str, ...]
    num_warps: int = 2
    num_stages: int = 3


class Compiled(NamedTuple):
    ptx: str
    shared_bytes: int


def request(golden: Golden, target: str) -> Any:
    """What is to be compiled for a target."""
    from tilewright.export.entries import load_object, read_constants, read_signature

    kernel = load_object(f"{ROOT}/{golden.source}")
    constants = read_constants(golden.constexpr)
    names = [parameter.name for parameter in kernel.parameters]
    signature = read_signature(golden.signature, names, constants)
    return kernel.request(
        signature, constants, device=target, num_warps=golden.num_warps,
        num_stages=golden.num_stages,
    )  # fmt: skip


@cache
def compiled(name: str) -> Compiled:
    """What the compiler makes of a golden kernel for sm_80, once in a process."""
    from tilewright.compile import compile_request

    program = compile_request(request(GOLDENS[name], "nvidia:sm_80"))
    return Compiled(program.asm["ptx"], program.shared)


TILES = "test/kernels/tile_kernels.py"
MATRICES = "test/kernels/matrix_kernels.py"
PRODUCTS = "test/kernels/golden_kernels.py"
HALF, SINGLE = "*fp16:16", "*fp32:16"


def matmul(num_stages: int) -> Golden:
    """Six steps, the last one masked, of four programs, three of which have a ragged edge."""
    return Golden(
        f"{PRODUCTS}:matmul", f"{HALF},{HALF},{SINGLE},i32:16,i32:16,i32:16", "BM=32,BN=32,BK=32",
        "2,2", ("const f16[8448]=random", "const f16[8448]=random", "f32[2304]=zeros",
                "i32=48", "i32=48", "i32=176"), 2, num_stages,
    )  # fmt: skip


GOLDENS = {
    "vector_add": Golden(
        "tutorials/01_vector_add.py:add_kernel",
        "*fp32:16,*fp32:16,*fp32:16,i32", "BLOCK=256", "4",
        ("const f32[1000]=random", "const f32[1000]=random", "f32[1000]=zeros", "i32=1000"),
    ),
    "softmax": Golden(
        "tutorials/02_fused_softmax.py:softmax_kernel",
        "*fp32:16,*fp32:16,i32,i32,i32", "BLOCK=256", "3",
        ("f32[600]=zeros", "const f32[600]=random", "i32=200", "i32=200", "i32=200"),
    ),
    "layer_norm": Golden(
        "tutorials/04_layer_norm.py:layer_norm_kernel",
        "*fp32:16,*fp32:16,*fp32:16,*fp32:16,*fp32:16,*fp32:16,i32,i32,fp32", "BLOCK=128", "3",
        ("const f32[300]=random", "const f32[100]=random", "const f32[100]=random",
         "f32[300]=zeros", "f32[3]=zeros", "f32[3]=zeros", "i32=100", "i32=100", "f32=1e-5"),
    ),
    "transpose": Golden(
        f"{TILES}:transpose", "*fp32:16,*fp32:16,i32,i32", "BLOCK=16", "3,2",
        ("const f32[960]=random", "f32[960]=zeros", "i32=40", "i32=24"),
    ),
    "reduce_both": Golden(
        f"{TILES}:reduce_both", "*fp32:16,*fp32:16,*fp32:16", "ROWS=16,COLUMNS=32", "1",
        ("const f32[512]=random", "f32[16]=zeros", "f32[32]=zeros"),
    ),
    "prefix": Golden(
        f"{TILES}:prefix", "*fp32:16,*fp32:16,*fp32:16", "ROWS=4,COLUMNS=64", "1",
        ("const f32[256]=random", "f32[256]=zeros", "f32[256]=zeros"),
    ),
    "histogram": Golden(
        f"{TILES}:histogram", "*i32:16,*i32:16,i32", "BLOCK=128", "3",
        ("const i32[300]=random:10", "i32[10]=zeros", "i32=300"),
    ),
    "gather_in_tile": Golden(
        f"{TILES}:gather_in_tile", "*fp32:16,*i32:16,*fp32:16", "ROWS=4,COLUMNS=64", "1",
        ("const f32[256]=random", "const i32[256]=random:64", "f32[256]=zeros"),
    ),
    "cross_entropy": Golden(
        f"{TILES}:cross_entropy", "*fp32:16,*i64:16,*fp32:16,i32", "BLOCK=128", "3",
        ("const f32[300]=random", "const i64[3]=random:100", "f32[3]=zeros", "i32=100"),
    ),
    "dropout": Golden(
        f"{TILES}:dropout", "*fp32:16,*fp32:16,i32,fp32,i32", "BLOCK=64", "4",
        ("const f32[200]=random", "f32[200]=zeros", "i32=200", "f32=0.4", "i32=123"),
    ),
    "scalar_matmul": Golden(
        f"{PRODUCTS}:scalar_matmul",
        "*fp32:16,*fp32:16,*fp32:16,i32,i32,i32", "BM=16,BN=16,BK=8", "2,2",
        ("const f32[400]=random", "const f32[480]=random", "f32[480]=zeros",
         "i32=20", "i32=24", "i32=20"), num_stages=1,
    ),
    "scatter": Golden(
        f"{TILES}:scatter", "*fp32:16,*i32:16,*fp32:16,i32", "BLOCK=64", "2",
        ("const f32[100]=random", "const i32[100]=iota", "f32[100]=zeros", "i32=100"),
    ),
    "sum_by_last": Golden(
        f"{PRODUCTS}:sum_by_last",
        "*fp32:16,*fp32:16,*i32:16,*fp32:16,i32", "BLOCK=64", "8",
        ("const f32[500]=random", "f32[8]=zeros", "i32[1]=zeros", "f32[1]=zeros", "i32=500"),
    ),
    # With pipelined loops.
    "matmul_2_stages": matmul(2),
    "matmul_3_stages": matmul(3),
    "matmul_transposed": Golden(
        f"{PRODUCTS}:matmul_transposed", f"{HALF},{HALF},{HALF},i32:16,i32:16",
        "BM=32,BN=64,BK=32", "2,1",
        ("const f16[12288]=random", "const f16[12288]=random", "f16[4096]=zeros",
         "i32=64", "i32=192"), 4, 4,
    ),
    "attention": Golden(
        f"{MATRICES}:attention",
        f"{HALF},{HALF},{HALF},{HALF},{HALF},{SINGLE},i32,i32,i32,1,fp32",
        "D=32,BM=64,BN=32,CAUSAL=True,BIAS=False", "3,1",
        ("const f16[4608]=random", "const f16[4608]=random", "const f16[4608]=random",
         "const f16[8]=zeros", "f16[4608]=zeros", "f32[144]=zeros", "i32=144", "i32=144", "i32=1",
         "f32=0.25"), 4, 3,
    ),
    "dequantized": Golden(
        f"{MATRICES}:dequantized_int8", f"{HALF},*i8:16,{HALF},{SINGLE},i32:16,i32:16",
        "BM=32,BN=32,BK=32", "1,2",
        ("const f16[5120]=random", "const i8[10240]=random", "const f16[64]=random",
         "f32[2048]=zeros", "i32=160", "i32=64"), 2, 3,
    ),
    "gathered": Golden(
        f"{MATRICES}:gathered_matmul", f"{HALF},*i32:16,{HALF},{SINGLE},i32,i32:16",
        "M=32,N=32,BK=16", "1",
        ("const f16[3584]=random", "const i32[7]=random:7", "const f16[3584]=random",
         "f32[1024]=zeros", "i32=112", "i32=112"), 2, 3,
    ),
    "two_layers": Golden(
        f"{MATRICES}:two_layers", f"{HALF},{HALF},{HALF},{SINGLE},i32:16,i32:16",
        "N=32,BM=32,BK=16,BH=32", "2",
        ("const f16[5120]=random", "const f16[10240]=random", "const f16[4096]=random",
         "f32[2048]=zeros", "i32=80", "i32=128"), 2, 3,
    ),
    "split_k": Golden(
        f"{MATRICES}:split_k_matmul", f"{HALF},{HALF},{SINGLE},i32:16,i32:16,i32:16",
        "BM=32,BN=32,BK=32,SPLIT=2", "2,2,2",
        ("const f16[16128]=random", "const f16[16128]=random", "f32[2304]=zeros",
         "i32=48", "i32=48", "i32=336"), 2, 3,
    ),
}  # fmt: skip

Arrays = list[Any]


def product(a: Any, b: Any, rows: int, columns: int) -> Any:
    return a.reshape(rows, -1) @ b.reshape(-1, columns)


def causal_attention(arrays: Arrays) -> list[Any]:
    q, k, v = (array.reshape(-1, 32) for array in arrays[:3])
    score = np.where(np.tri(144, dtype=bool), q @ k.T * 0.25, -np.inf)
    p = np.exp(score - score.max(1, keepdims=True))
    total = p.sum(1)
    return [p @ v / total[:, None], np.log2(np.e) * score.max(1) + np.log2(total)]


def gathered(arrays: Arrays) -> list[Any]:
    pages = arrays[2].reshape(7, 16, 32)[arrays[1].astype(int)]
    return [product(arrays[0], pages, 32, 32)]


# The arrays that kernels with pipelined loops write, the last ones, from all of them.
ANSWERS: dict[str, Callable[[Arrays], list[Any]]] = {
    "matmul_2_stages": lambda arrays: [product(arrays[0], arrays[1], 48, 48)],
    "matmul_3_stages": lambda arrays: [product(arrays[0], arrays[1], 48, 48)],
    "matmul_transposed": lambda arrays: [arrays[0].reshape(64, -1) @ arrays[1].reshape(64, -1).T],
    "attention": causal_attention,
    "dequantized": lambda arrays: [product(arrays[0], arrays[1], 32, 64) * arrays[2]],
    "gathered": gathered,
    "two_layers": lambda arrays: [
        product(np.maximum(product(arrays[0], arrays[1], 64, 128), 0), arrays[2], 64, 32)
    ],
    "split_k": lambda arrays: [product(arrays[0], arrays[1], 48, 48)],
}
