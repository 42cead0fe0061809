"""The golden kernels with pipelined loops: where each comes from, its launch, what is right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from launches import Golden

KERNELS = "test/kernels/matrix_kernels.py"
PRODUCTS = "test/kernels/golden_kernels.py"
HALF = "*fp16:16"
SINGLE = "*fp32:16"


def matmul(num_stages: int, shared_bytes: int) -> Golden:
    """Six steps, the last one masked, of four programs, three of which have a ragged edge."""
    return Golden(
        f"{PRODUCTS}:matmul", f"{HALF},{HALF},{SINGLE},i32:16,i32:16,i32:16", "BM=32,BN=32,BK=32",
        "2,2", ("const f16[8448]=random", "const f16[8448]=random", "f32[2304]=zeros",
                "i32=48", "i32=48", "i32=176"), shared_bytes, 2, num_stages,
    )  # fmt: skip


PIPELINED = {
    "matmul_2_stages": matmul(2, 8192),
    "matmul_3_stages": matmul(3, 12288),
    "matmul_transposed": Golden(
        f"{PRODUCTS}:matmul_transposed", f"{HALF},{HALF},{HALF},i32:16,i32:16",
        "BM=32,BN=64,BK=32", "2,1",
        ("const f16[12288]=random", "const f16[12288]=random", "f16[4096]=zeros",
         "i32=64", "i32=192"), 24576, 4, 4,
    ),
    "attention": Golden(
        f"{KERNELS}:attention",
        f"{HALF},{HALF},{HALF},{HALF},{HALF},{SINGLE},i32,i32,i32,1,fp32",
        "D=32,BM=64,BN=32,CAUSAL=True,BIAS=False", "3,1",
        ("const f16[4608]=random", "const f16[4608]=random", "const f16[4608]=random",
         "const f16[8]=zeros", "f16[4608]=zeros", "f32[144]=zeros", "i32=144", "i32=144", "i32=1",
         "f32=0.25"), 16384, 4, 3,
    ),
    "dequantized": Golden(
        f"{KERNELS}:dequantized_int8", f"{HALF},*i8:16,{HALF},{SINGLE},i32:16,i32:16",
        "BM=32,BN=32,BK=32", "1,2",
        ("const f16[5120]=random", "const i8[10240]=random", "const f16[64]=random",
         "f32[2048]=zeros", "i32=160", "i32=64"), 7232, 2, 3,
    ),
    "gathered": Golden(
        f"{KERNELS}:gathered_matmul", f"{HALF},*i32:16,{HALF},{SINGLE},i32,i32:16",
        "M=32,N=32,BK=16", "1",
        ("const f16[3584]=random", "const i32[7]=random:7", "const f16[3584]=random",
         "f32[1024]=zeros", "i32=112", "i32=112"), 6144, 2, 3,
    ),
    "two_layers": Golden(
        f"{KERNELS}:two_layers", f"{HALF},{HALF},{HALF},{SINGLE},i32:16,i32:16",
        "N=32,BM=32,BK=16,BH=32", "2",
        ("const f16[5120]=random", "const f16[10240]=random", "const f16[4096]=random",
         "f32[2048]=zeros", "i32=80", "i32=128"), 12288, 2, 3,
    ),
    "split_k": Golden(
        f"{KERNELS}:split_k_matmul", f"{HALF},{HALF},{SINGLE},i32:16,i32:16,i32:16",
        "BM=32,BN=32,BK=32,SPLIT=2", "2,2,2",
        ("const f16[16128]=random", "const f16[16128]=random", "f32[2304]=zeros",
         "i32=48", "i32=48", "i32=336"), 12288, 2, 3,
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


# The arrays that a kernel writes, the last ones, from all of them.
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
