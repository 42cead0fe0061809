"""Code for GPUs of kernels with block pointers and tensor descriptors: their accesses are as wide, their
copies as asynchronous and their loops about as short as those of the same kernels with plain pointers."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest

import tilewright as tw

pytestmark = pytest.mark.usefixtures("compiler")


@tw.jit
def copy_pointers(x, y, M, N, s, BM: tw.constexpr, BN: tw.constexpr):
    rows = tw.program_id(0) * BM + tw.arange(0, BM)
    columns = tw.program_id(1) * BN + tw.arange(0, BN)
    mask = (rows[:, None] < M) & (columns[None, :] < N)
    at = rows[:, None] * s + columns[None, :]
    tw.store(y + at, tw.load(x + at, mask=mask), mask=mask)


@tw.jit
def copy_blocks(x, y, M, N, s, BM: tw.constexpr, BN: tw.constexpr):
    at = (tw.program_id(0) * BM, tw.program_id(1) * BN)
    p = tw.make_block_ptr(x, (M, N), (s, 1), at, (BM, BN), (1, 0))
    q = tw.make_block_ptr(y, (M, N), (s, 1), at, (BM, BN), (1, 0))
    tw.store(q, tw.load(p, boundary_check=(0, 1)), boundary_check=(0, 1))


@tw.jit
def copy_descriptors(x, y, M, N, s, BM: tw.constexpr, BN: tw.constexpr):
    at = [tw.program_id(0) * BM, tw.program_id(1) * BN]
    value = tw.make_tensor_descriptor(x, [M, N], [s, 1], [BM, BN]).load(at)
    tw.make_tensor_descriptor(y, [M, N], [s, 1], [BM, BN]).store(at, value)


@tw.jit
def matmul_pointers(a, b, c, M, N, K, sa, sb, sc, BM: tw.constexpr, BN: tw.constexpr,
                    BK: tw.constexpr):  # fmt: skip
    rows = tw.program_id(0) * BM + tw.arange(0, BM)
    columns = tw.program_id(1) * BN + tw.arange(0, BN)
    steps = tw.arange(0, BK)
    pa = a + rows[:, None] * sa + steps[None, :]
    pb = b + steps[:, None] * sb + columns[None, :]
    total = tw.zeros((BM, BN), tw.float32)
    for k in range(0, K, BK):
        left = tw.load(pa, mask=(rows[:, None] < M) & (steps[None, :] + k < K), other=0.0)
        right = tw.load(pb, mask=(steps[:, None] + k < K) & (columns[None, :] < N), other=0.0)
        total = tw.dot(left, right, total)
        pa += BK
        pb += BK * sb
    mask = (rows[:, None] < M) & (columns[None, :] < N)
    tw.store(c + rows[:, None] * sc + columns[None, :], total.to(tw.float16), mask=mask)


@tw.jit
def matmul_blocks(a, b, c, M, N, K, sa, sb, sc, BM: tw.constexpr, BN: tw.constexpr,
                  BK: tw.constexpr):  # fmt: skip
    row, column = tw.program_id(0) * BM, tw.program_id(1) * BN
    pa = tw.make_block_ptr(a, (M, K), (sa, 1), (row, 0), (BM, BK), (1, 0))
    pb = tw.make_block_ptr(b, (K, N), (sb, 1), (0, column), (BK, BN), (1, 0))
    total = tw.zeros((BM, BN), tw.float32)
    for _ in range(0, K, BK):
        left = tw.load(pa, boundary_check=(0, 1))
        total = tw.dot(left, tw.load(pb, boundary_check=(0, 1)), total)
        pa = tw.advance(pa, (0, BK))
        pb = tw.advance(pb, (BK, 0))
    pc = tw.make_block_ptr(c, (M, N), (sc, 1), (row, column), (BM, BN), (1, 0))
    tw.store(pc, total.to(tw.float16), boundary_check=(0, 1))


@tw.jit
def matmul_descriptors(a, b, c, M, N, K, sa, sb, sc, BM: tw.constexpr, BN: tw.constexpr,
                       BK: tw.constexpr):  # fmt: skip
    row, column = tw.program_id(0) * BM, tw.program_id(1) * BN
    left = tw.make_tensor_descriptor(a, [M, K], [sa, 1], [BM, BK])
    right = tw.make_tensor_descriptor(b, [K, N], [sb, 1], [BK, BN])
    total = tw.zeros((BM, BN), tw.float32)
    for k in range(0, K, BK):
        total = tw.dot(left.load([row, k]), right.load([k, column]), total)
    out = tw.make_tensor_descriptor(c, [M, N], [sc, 1], [BM, BN])
    out.store([row, column], total.to(tw.float16))


SIZE = "i32:16:nonneg"
COPY = ({"x": "*fp16:16", "y": "*fp16:16", "M": SIZE, "N": SIZE, "s": SIZE}, {"BM": 32, "BN": 128})
MATMUL = (
    {"a": "*fp16:16", "b": "*fp16:16", "c": "*fp16:16", "M": SIZE, "N": SIZE, "K": SIZE,
     "sa": SIZE, "sb": SIZE, "sc": SIZE},
    {"BM": 64, "BN": 64, "BK": 32},
)  # fmt: skip
KINDS = {
    "loads of 16 bytes": r"ld\.global\S*v4\.b32", "loads": r"ld\.global", "stores": r"st\.global",
    "stores of 16 bytes": r"st\.global\S*v4\.b32", "copies of 16 bytes": r"cp\.async\.c[ag]\S* .* 16",
    "copies": r"cp\.async\.c[ag]", "products": r"mma\.sync",
}  # fmt: skip


def ptx_of(kernel: Any, described: Any) -> str:
    return kernel.compile(*described, device="nvidia:sm_80").asm["ptx"]


def kinds_of(ptx: str) -> Counter[str]:
    lines = ptx.splitlines()
    return Counter({name: sum(map(bool, (re.search(pattern, line) for line in lines)))
                    for name, pattern in KINDS.items()})  # fmt: skip


def loop_of(ptx: str) -> int:
    """Number of instructions in the shortest loop that has products."""
    blocks = re.split(r"\n(?=\$L)", ptx)
    loops = [block for block in blocks
             if "mma.sync" in block and re.search(r"bra\S*\s+" + re.escape(block.split(":")[0]), block)]
    return min(sum(line.strip().endswith(";") for line in block.splitlines()) for block in loops)


@pytest.mark.parametrize("kernel", [copy_blocks, copy_descriptors], ids=lambda k: k.fn.__name__)
def test_copies_are_as_wide_as_through_pointers(kernel: Any) -> None:
    expected = kinds_of(ptx_of(copy_pointers, COPY))
    assert expected["loads"] == expected["loads of 16 bytes"] == 4
    assert kinds_of(ptx_of(kernel, COPY)) == expected


@pytest.mark.parametrize("kernel", [matmul_blocks, matmul_descriptors], ids=lambda k: k.fn.__name__)
def test_products_copy_asynchronously_as_through_pointers(kernel: Any) -> None:
    pointers, ptx = ptx_of(matmul_pointers, MATMUL), ptx_of(kernel, MATMUL)
    expected = kinds_of(pointers)
    assert expected["copies of 16 bytes"] >= 12 and expected["loads of 16 bytes"] == expected["loads"]
    assert kinds_of(ptx) == expected
    # The product of a row's number and its stride is computed where the loop does not carry it.
    assert loop_of(ptx) <= loop_of(pointers) + 8
