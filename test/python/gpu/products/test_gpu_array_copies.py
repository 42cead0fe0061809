"""On gfx1250 the tensor data mover copies operands of pipelined products: rows of an array by each wave."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from gpu.launching import launching_on
from gpu.products.test_gpu_boxes import ODD, batched, launch_odd
from gpu.products.test_gpu_matmul import assert_equal, integers, launch, poisoned

import tilewright as tw
from tilewright.compile import CompiledKernel

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.usefixtures("compiler", "mover"), pytest.mark.one_machine]

SETTINGS = [
    (1, 2, "late"), (2, 3, "random"), (4, 1, "late"), (4, 2, "random"), (4, 2, "early"), (4, 3, "late"),
    (4, 4, "random"), (8, 2, "late"), (8, 3, "random"), (8, 4, "late"),
]  # fmt: skip


@pytest.fixture
def mover() -> Any:
    with launching_on("sim:gfx1250"):
        yield


def copies(compiled: CompiledKernel) -> int:
    return len(re.findall(r"call .*@llvm\.amdgcn\.tensor\.load\.to\.lds\.d2", compiled.asm["llvm"]))


def lane_copies(compiled: CompiledKernel) -> int:
    return len(re.findall(r"call .*@llvm\.amdgcn\.global\.load\.async\.to\.lds", compiled.asm["llvm"]))


def reasons(compiled: CompiledKernel) -> set[str]:
    """Why threads copy tiles."""
    found = [each["message"] for each in compiled.remarks if each["code"] == "TW0368"]
    return {message.partition(": ")[2] for message in found}


@pytest.mark.parametrize("form", ["plain", "rows", "rows and columns", "advanced", "transposed"])
@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_products_of_matrices_in_a_batch(form: str, setting: Any, rng: np.random.Generator) -> None:
    BM = 64
    rows = 2 * BM if form in ("plain", "advanced", "transposed") else BM + 24
    K = 192 + (16 if form == "rows and columns" else 0)
    a, b, c = integers(rng, 3, rows, K), integers(rng, 3, 256, 64), poisoned(3, rows, 64)
    compiled = launch(
        batched, (2, 3), a, b, c, rows, 64, K, a.stride(0), K, b.stride(0), 64, c.stride(0),
        FORM=form, BM=BM, BN=64, BK=64, setting=setting,
    )  # fmt: skip
    assert_equal(c, a.double() @ b[:, :K].double())
    assert (copies(compiled) > 0) == (setting[1] > 1)
    assert lane_copies(compiled) == 0


@pytest.mark.parametrize("form", ODD)
def test_what_is_no_box(form: str, rng: np.random.Generator) -> None:
    """Lanes copy what is not a box of an array; a remark at the load says why, and warps copy the other operand."""
    assert ODD[form] in reasons(launch_odd(form, rng))


@tw.jit
def masked_product(
    a, b, c, M, N, K, ACC: tw.constexpr, TURNED: tw.constexpr,
    BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr,
):  # fmt: skip
    """c = a @ b, or a @ b.T, of any extents."""
    m = tw.program_id(0) * BM + tw.arange(0, BM)
    n = tw.program_id(1) * BN + tw.arange(0, BN)
    k = tw.arange(0, BK)
    total = tw.zeros((BM, BN), ACC)
    for start in range(0, K, BK):
        depth = start + k
        x = tw.load(a + m[:, None] * K + depth[None, :], mask=(m[:, None] < M) & (depth[None, :] < K), other=0)
        if TURNED:
            y = tw.load(b + n[:, None] * K + depth[None, :], mask=(n[:, None] < N) & (depth[None, :] < K), other=0).T
        else:
            y = tw.load(b + depth[:, None] * N + n[None, :], mask=(depth[:, None] < K) & (n[None, :] < N), other=0)
        total = tw.dot(x, y, total)
    tw.store(c + m[:, None] * N + n[None, :], total, mask=(m[:, None] < M) & (n[None, :] < N))


DTYPES = ["int8", "float16", "bfloat16", "float32"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("extents", [(80, 96, 112), (33, 48, 16), (128, 64, 256), (5, 176, 400)], ids=str)
@pytest.mark.parametrize(("warps", "stages"), [(4, 2), (4, 3), (8, 4)])
def test_extents_that_are_no_multiples(
    dtype: str, turned: bool, extents: tuple[int, int, int], warps: int, stages: int, rng: np.random.Generator
) -> None:
    """Elements beyond the array are zero, also in tiles that begin beyond its end."""
    m, n, k = extents
    kind = getattr(torch, dtype)
    a = integers(rng, m, k, dtype=kind)
    b = integers(rng, *((n, k) if turned else (k, n)), dtype=kind)
    acc = tw.int32 if dtype == "int8" else tw.float32
    c = poisoned(m, n, dtype=torch.int32 if dtype == "int8" else torch.float32)
    compiled = launch(
        masked_product, (tw.cdiv(m, 64), tw.cdiv(n, 64)), a, b, c, m, n, k, ACC=acc, TURNED=turned,
        BM=64, BN=64, BK=64, setting=(warps, stages, "random" if stages == 3 else "late"),
    )  # fmt: skip
    assert_equal(c, a.double() @ (b.T if turned else b).double())
    if turned or dtype in ("float16", "bfloat16"):
        assert copies(compiled) > 0, reasons(compiled)


@tw.jit
def of_descriptors(
    a, b, c, B, M, N, K, RANK: tw.constexpr, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr
):
    z, m, n = tw.program_id(2), tw.program_id(0) * BM, tw.program_id(1) * BN
    if RANK == 3:
        left = tw.make_tensor_descriptor(a, [B, M, K], [M * K, K, 1], [1, BM, BK])
        right = tw.make_tensor_descriptor(b, [B, K, N], [K * N, N, 1], [1, BK, BN])
        to = tw.make_tensor_descriptor(c, [B, M, N], [M * N, N, 1], [1, BM, BN])
    else:
        left = tw.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
        right = tw.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
        to = tw.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    total = tw.zeros((BM, BN), tw.float32)
    for k in range(0, K, BK):
        if RANK == 3:
            x, y = left.load([z, m, k]).reshape(BM, BK), right.load([z, k, n]).reshape(BK, BN)
        else:
            x, y = left.load([m, k]), right.load([k, n])
        total = tw.dot(x, y, total)
    if RANK == 3:
        to.store([z, m, n], total.reshape(1, BM, BN))
    else:
        to.store([m, n], total)


@pytest.mark.parametrize("rank", [2, 3])
@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_descriptors(rank: int, setting: Any, rng: np.random.Generator) -> None:
    """Programs behind the last matrix of the batch read zeros, and store nothing."""
    B, M, N, K = 2, 112, 144, 80
    a, b = integers(rng, B, M, K), integers(rng, B, K, N)
    c = torch.full((B + 1, M, N), 7, dtype=torch.float32)
    grid = (2, 3, B + 1 if rank == 3 else 1)
    compiled = launch(of_descriptors, grid, a, b, c, B, M, N, K, RANK=rank, BM=64, BN=64, BK=32, setting=setting)
    count = B if rank == 3 else 1
    assert_equal(c[:count], a[:count].double() @ b[:count].double())
    assert (c[count:] == 7).all()
    assert (copies(compiled) > 0) == (setting[1] > 1)


def test_reads_have_no_bank_conflicts(rng: np.random.Generator) -> None:
    """Rows are padded so that lanes that read a column find it in as many banks."""
    for depth in (32, 64, 128):
        a, b, c = integers(rng, 64, 256), integers(rng, 256, 64), poisoned(64, 64)
        compiled = launch(
            masked_product, (1, 1), a, b, c, 64, 64, 256, ACC=tw.float32, TURNED=False, BM=64, BN=64, BK=depth,
            setting=(4, 2, "late"),
        )  # fmt: skip
        assert copies(compiled) > 0
        assert f"pad 16 every {2 * depth}" in compiled.asm["scheduled"]
        conflicts = [each for each in compiled.remarks if each["code"] == "TW0372" and "reads" in each["message"]]
        assert not conflicts, conflicts


@tw.jit
def gathered_sums(x, weights, indices, out, N, STAGES: tw.constexpr, ROWS: tw.constexpr, COLUMNS: tw.constexpr):
    """Products of tiles of columns, and sums of each row's elements at indices in them."""
    rows, columns = tw.arange(0, ROWS), tw.arange(0, COLUMNS)
    chosen = tw.load(indices + rows[:, None] * COLUMNS + columns[None, :])
    square = tw.load(weights + columns[:, None] * COLUMNS + columns[None, :])
    total = tw.zeros((ROWS, COLUMNS), tw.float32)
    for start in tw.range(0, N, COLUMNS, num_stages=STAGES):
        at = start + columns
        tile = tw.load(x + rows[:, None] * N + at[None, :], mask=at[None, :] < N, other=0)
        total = tw.dot(tile, square, total) + tw.gather(tile, chosen, 1)
    tw.store(out + rows[:, None] * COLUMNS + columns[None, :], total)


@pytest.mark.parametrize("stages", [2, 3])
@pytest.mark.parametrize("columns", [64, 128])
def test_gathers_from_padded_rows(columns: int, stages: int, rng: np.random.Generator) -> None:
    x, weights, out = integers(rng, 64, 208), integers(rng, columns, columns), poisoned(64, columns)
    indices = torch.from_numpy(rng.integers(0, columns, (64, columns), dtype=np.int32))
    compiled = launch(
        gathered_sums, (1,), x, weights, indices, out, 208, STAGES=stages, ROWS=64, COLUMNS=columns,
        setting=(4, 2, "late"),
    )  # fmt: skip
    padded = torch.zeros(64, -(-208 // columns) * columns, dtype=torch.float64)
    padded[:, :208] = x
    tiles = padded.reshape(64, -1, columns)
    products = (tiles[:, i] @ weights.double() + tiles[:, i].gather(1, indices.long()) for i in range(tiles.shape[1]))
    assert_equal(out, sum(products))
    assert re.search(r"simt\.gather_shared .* pad 16 every", compiled.asm["scheduled"]), reasons(compiled)


@pytest.mark.parametrize("extents", [(32, 32, 64), (20, 24, 40)], ids=str)
def test_products_without_matrix_instructions(extents: tuple[int, int, int], rng: np.random.Generator) -> None:
    m, n, k = extents
    a, b = (integers(rng, *shape, dtype=torch.float64) for shape in ((m, k), (k, n)))
    c = poisoned(m, n, dtype=torch.float64)
    launch(
        masked_product, (1, 1), a, b, c, m, n, k, ACC=tw.float64, TURNED=False, BM=32, BN=32, BK=16,
        setting=(4, 2, "late"),
    )  # fmt: skip
    assert_equal(c, a @ b)


@tw.jit
def of_computed_extents(
    a, b, c, M, N, HALF, SIGN, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr
):
    """The product of matrices of a depth of 2 HALF, whose extents may be below 0."""
    m, n = tw.program_id(0) * BM, tw.program_id(1) * BN
    left = tw.make_tensor_descriptor(a, [M * SIGN, HALF * 2], [HALF * 2, 1], [BM, BK])
    right = tw.make_tensor_descriptor(b, [HALF * 2, N], [N, 1], [BK, BN])
    total = tw.zeros((BM, BN), tw.float32)
    for k in range(0, HALF * 2, BK):
        total = tw.dot(left.load([m, k]), right.load([k, n]), total)
    tw.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN]).store([m, n], total)


@pytest.mark.parametrize("stages", [2, 3])
@pytest.mark.parametrize("sign", [1, 0, -1])
def test_extents_that_are_computed(sign: int, stages: int, rng: np.random.Generator) -> None:
    """Clamped at zero, as descriptors have them."""
    M, N, HALF = 112, 80, 48
    a, b, c = integers(rng, M, 2 * HALF), integers(rng, 2 * HALF, N), poisoned(M, N)
    compiled = launch(
        of_computed_extents, (2, 2), a, b, c, M, N, HALF, sign, BM=64, BN=64, BK=32, setting=(4, stages, "late"),
    )  # fmt: skip
    assert_equal(c, a.double() @ b.double() * (sign == 1))
    assert copies(compiled) > 0, reasons(compiled)
