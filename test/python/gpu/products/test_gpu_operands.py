"""Operands of matrix products lie in shared memory without bank conflicts, and all that is consecutive in
global memory is accessed in 16 bytes, whatever the types, the order of the operands and the extents of tiles.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.compile import CompiledKernel

torch = pytest.importorskip("torch")
from gpu.launching import is_nvidia, simulator  # noqa: E402
from gpu.products.test_gpu_matmul import TYPES, assert_equal, integers, launch, multiply, poisoned  # noqa: E402

pytestmark = pytest.mark.usefixtures("compiler")

ORDERS = list(itertools.product((False, True), repeat=2))
# (tile, warps); int8 needs 32 steps of k.
TILES = [
    ((16, 16, 32), 1), ((16, 16, 32), 4), ((16, 64, 32), 2), ((32, 32, 32), 1), ((32, 32, 64), 8),
    ((64, 32, 32), 2), ((64, 64, 32), 4), ((32, 128, 32), 8), ((128, 64, 32), 4), ((128, 128, 32), 8),
]  # fmt: skip


def global_widths(compiled: CompiledKernel) -> Counter[int]:
    """How many accesses to global memory, and copies from it, the code has, by their bytes."""
    widths: Counter[int] = Counter()
    for line in compiled.asm["ptx"].splitlines():
        if copied := re.search(r"cp\.async\.c[ag]\.shared\.global.*\], (\d+)", line):
            widths[int(copied[1])] += 1
        elif access := re.search(r"\b(?:ld|st)\.global[\w.]*?(?:\.v(\d))?\.[busf](\d+)\s", line):
            widths[int(access[1] or 1) * int(access[2]) // 8] += 1
    return widths


def assert_ideal(compiled: CompiledKernel) -> dict[str, Any]:
    """No bank conflict in any access to shared memory, and 16 bytes in each access to global memory."""
    statistics = tw.simulation.last_report(simulator()).statistics
    if not is_nvidia():
        return statistics
    assert statistics["matrix_wavefronts"] == statistics["matrix_row_groups"]
    assert statistics["shared_wavefronts"] == statistics["ideal_shared_wavefronts"]
    widths = global_widths(compiled)
    assert set(widths) == {16}, widths
    return statistics


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("orders", ORDERS, ids=lambda o: "".join("nt"[int(t)] for t in o))
def test_operands_in_every_order(
    name: str, orders: tuple[bool, bool], rng: np.random.Generator
) -> None:
    first = list(TYPES).index(name) + ORDERS.index(orders)
    for tile, warps in [*TILES, *TILES][first % 3 :: 3]:
        sizes = (tile[0], tile[1], 3 * tile[2])
        stages = 2 if name == "f64" else 3
        compiled = multiply(rng, name, orders, sizes, (warps, stages, "late"), True, tile)
        statistics = assert_ideal(compiled)
        if not is_nvidia():
            continue
        assert "cp.async" in compiled.asm["ptx"]
        if name in ("f16", "bf16"):
            assert statistics["matrix_row_groups"] > 0


@pytest.mark.one_machine
@pytest.mark.parametrize("name", ["i8", "e4m3"])
@pytest.mark.parametrize("orders", ORDERS)
def test_bytes_are_read_as_matrices(
    name: str, orders: tuple[bool, bool], rng: np.random.Generator
) -> None:
    """Of either order: transposed in pairs where the neighbours along K are apart."""
    compiled = multiply(rng, name, orders, (64, 64, 64), (4, 2, "late"), True, (64, 64, 32))
    assert_ideal(compiled)
    plain = len(re.findall(r"ldmatrix\.sync\.aligned\.m8n8\.x\d\.shared", compiled.asm["ptx"]))
    transposed = compiled.asm["ptx"].count(".trans")
    assert (plain > 0) == (orders != (True, False)) and (transposed > 0) == (orders != (False, True))
    # A lane of int8 has 32 words of both operands: those read in pairs take an instruction each.
    if name == "i8":
        assert compiled.asm["ptx"].count("prmt") <= 10 * (orders[0] + (not orders[1]))


def test_operands_without_stages(rng: np.random.Generator) -> None:
    """Written to shared memory by the threads: as wide, and without conflicts."""
    for name, orders in itertools.product(("f16", "tf32", "i8"), ORDERS):
        compiled = multiply(rng, name, orders, (64, 64, 64), (4, 1, "late"), True, (64, 64, 32))
        assert_ideal(compiled)


@tw.jit
def fused(
    a, b, bias, c, M, N, K, c_row, c_column, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr,
    ACC: tw.constexpr,
):  # fmt: skip
    """relu(A B + bias) of any sizes, into C of any strides and type."""
    m = tw.program_id(0) * BM + tw.arange(0, BM)
    n = tw.program_id(1) * BN + tw.arange(0, BN)
    acc = tw.zeros((BM, BN), ACC)
    for start in range(0, K, BK):
        k = start + tw.arange(0, BK)
        inside = (m < M)[:, None] & (k < K)[None, :]
        left = tw.load(a + m[:, None] * K + k[None, :], mask=inside, other=0)
        inside = (k < K)[:, None] & (n < N)[None, :]
        right = tw.load(b + k[:, None] * N + n[None, :], mask=inside, other=0)
        acc = tw.dot(left, right, acc, out_dtype=ACC)
    acc += tw.load(bias + n, mask=n < N, other=0)[None, :].to(ACC)
    acc = tw.maximum(acc, 0).to(c.dtype.element_ty)
    place = c + m[:, None] * c_row + n[None, :] * c_column
    tw.store(place, acc, mask=(m < M)[:, None] & (n < N)[None, :])


@pytest.mark.parametrize("out", ["float16", "bfloat16", "float32", "int8", "float8_e4m3fn"])
@pytest.mark.parametrize("transposed", [False, True])
def test_results_of_every_type_and_order(
    out: str, transposed: bool, rng: np.random.Generator
) -> None:
    dtype = torch.int8 if out == "int8" else torch.bfloat16 if out == "bfloat16" else torch.float16
    acc = tw.int32 if out == "int8" else tw.float32
    for (M, N, K), tile, warps in [
        ((112, 80, 48), (64, 64, 32), 4),
        ((64, 96, 64), (32, 32, 32), 8),
        ((128, 128, 32), (128, 64, 32), 8),
    ]:
        a = integers(rng, M, K, dtype=dtype, size=1)
        b, bias = integers(rng, K, N, dtype=dtype, size=1), integers(rng, N, dtype=dtype, size=1)
        c = integers(rng, *((N, M) if transposed else (M, N)), dtype=getattr(torch, out))
        c = c.T if transposed else c
        compiled = launch(
            fused, (-(-M // tile[0]), -(-N // tile[1])), a, b, bias, c, M, N, K, *c.stride(),
            BM=tile[0], BN=tile[1], BK=tile[2], ACC=acc, setting=(warps, 3, "late"),
        )  # fmt: skip
        expected = (a.double() @ b.double() + bias.double()).clamp(min=0)
        assert_equal(c, expected.to(getattr(torch, out)))
        assert_ideal(compiled)


@tw.jit
def weights_in_groups(
    x, w, scales, out, K, N, w_row, w_column, GROUP: tw.constexpr, BM: tw.constexpr,
    BN: tw.constexpr, BK: tw.constexpr,
):  # fmt: skip
    """x times weights of 8 bits, with a scale for each column of each group of rows."""
    m = tw.program_id(0) * BM + tw.arange(0, BM)
    n = tw.program_id(1) * BN + tw.arange(0, BN)
    acc = tw.zeros((BM, BN), tw.float32)
    for start in range(0, K, BK):
        k = start + tw.arange(0, BK)
        left = tw.load(x + m[:, None] * K + k[None, :])
        right = tw.load(w + k[:, None] * w_row + n[None, :] * w_column).to(tw.float16)
        scale = tw.load(scales + (start // GROUP) * N + n)
        acc = tw.dot(left, right * scale[None, :], acc)
    tw.store(out + m[:, None] * N + n[None, :], acc)


@pytest.mark.parametrize("order", ["along N", "along K"])
@pytest.mark.parametrize("dtype", ["int8", "float8_e4m3fn", "float8_e5m2"])
def test_weights_of_bytes_become_halves_in_registers(
    dtype: str, order: str, rng: np.random.Generator
) -> None:
    M, N, K, group = 64, 128, 192, 64
    x = integers(rng, M, K)
    w = integers(rng, *((N, K) if order == "along K" else (K, N)), dtype=getattr(torch, dtype))
    w = w.T if order == "along K" else w
    scales = 2.0 ** integers(rng, K // group, N, size=2)
    for warps, stages in (4, 3), (8, 2), (2, 4):
        out = poisoned(M, N)
        compiled = launch(
            weights_in_groups, (1, 2), x, w, scales, out, K, N, *w.stride(), GROUP=group, BM=64,
            BN=64, BK=32, setting=(warps, stages, "random"),
        )  # fmt: skip
        scaled = w.double() * scales.double().repeat_interleave(group, 0)
        assert_equal(out, x.double() @ scaled)
        assert_ideal(compiled)
        if not is_nvidia():
            continue
        # Nothing of the loop passes through registers on its way to shared memory.
        loop = compiled.asm["ptx"].rsplit("cp.async.wait_group", 1)[0]
        assert "ldmatrix" in loop and "st.shared" not in loop and "ld.global" not in loop


@tw.jit
def joined_weights(
    x, packed, scales, out, K, N, row, GROUP: tw.constexpr, BM: tw.constexpr, BN: tw.constexpr,
    BK: tw.constexpr,
):  # fmt: skip
    """x times weights of 4 bits, two neighbours of a row in a byte."""
    m = tw.program_id(0) * BM + tw.arange(0, BM)
    n = tw.program_id(1) * BN + tw.arange(0, BN)
    pair = tw.program_id(1) * (BN // 2) + tw.arange(0, BN // 2)
    acc = tw.zeros((BM, BN), tw.float32)
    for start in range(0, K, BK):
        k = start + tw.arange(0, BK)
        left = tw.load(x + m[:, None] * K + k[None, :])
        byte = tw.load(packed + k[:, None] * row + pair[None, :])
        low = (byte & 0xF).to(tw.int8) - 8
        high = (byte >> 4).to(tw.int8) - 8
        weight = tw.interleave(low, high).to(tw.float16)
        scale = tw.load(scales + (start // GROUP) * N + n)
        acc = tw.dot(left, weight * scale[None, :], acc)
    tw.store(out + m[:, None] * N + n[None, :], acc)


@tw.jit
def joined_weights_along_k(
    x, packed, out, K, N, row, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr
):
    """x times the transpose of weights of 4 bits, two neighbours along K in a byte."""
    m = tw.program_id(0) * BM + tw.arange(0, BM)
    n = tw.program_id(1) * BN + tw.arange(0, BN)
    acc = tw.zeros((BM, BN), tw.float32)
    for start in range(0, K, BK):
        k = start + tw.arange(0, BK)
        left = tw.load(x + m[:, None] * K + k[None, :])
        pair = start // 2 + tw.arange(0, BK // 2)
        byte = tw.load(packed + n[:, None] * row + pair[None, :])
        low = (byte & 0xF).to(tw.int8) - 8
        high = (byte >> 4).to(tw.int8) - 8
        acc = tw.dot(left, tw.trans(tw.interleave(low, high)).to(tw.float16), acc)
    tw.store(out + m[:, None] * N + n[None, :], acc)


@pytest.mark.parametrize("warps", [1, 4, 8])
def test_pairs_of_weights_are_joined_in_registers(warps: int, rng: np.random.Generator) -> None:
    M, N, K, group = 32, 128, 128, 64
    x, weights = integers(rng, M, K), rng.integers(0, 16, (K, N)).astype(np.uint8)
    packed = torch.from_numpy(weights[:, ::2] | weights[:, 1::2] << 4)
    scales = 2.0 ** integers(rng, K // group, N, size=2)
    shifted = torch.from_numpy(weights.astype(np.float64) - 8)
    expected = x.double() @ (shifted * scales.double().repeat_interleave(group, 0))
    out = poisoned(M, N)
    compiled = launch(
        joined_weights, (1, 1), x, packed, scales, out, K, N, N // 2, GROUP=group, BM=32, BN=128,
        BK=32, setting=(warps, 3, "late"),
    )  # fmt: skip
    assert_equal(out, expected)
    if is_nvidia():
        assert not re.search(r"st\.shared\.[bu](8|16)\b", compiled.asm["ptx"])
    packed = torch.from_numpy((weights[::2] | weights[1::2] << 4).T.copy())
    out = poisoned(M, N)
    compiled = launch(
        joined_weights_along_k, (1, 1), x, packed, out, K, N, K // 2, BM=32, BN=128, BK=64,
        setting=(warps, 3, "late"),
    )  # fmt: skip
    assert_equal(out, x.double() @ shifted)
    assert_ideal(compiled)
