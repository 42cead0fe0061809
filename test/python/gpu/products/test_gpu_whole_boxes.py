"""Tiles with rows of more than 128 bytes: one copy brings all slabs where the tile is within its array."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gpu.launching import BOX_SETTINGS, Setting
from gpu.products.test_gpu_boxes import maps
from gpu.products.test_gpu_loaders import num_loaders
from gpu.products.test_gpu_matmul import assert_equal, integers, launch, poisoned

import tilewright as tw
from tilewright.compile import CompiledKernel

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.usefixtures("compiler", "hopper"), pytest.mark.one_machine]


def started(rank: int) -> int:
    """Copies of boxes of so many dimensions into shared memory, in the last launch."""
    mix = tw.simulation.last_report("sim:sm_90a").statistics["mix"]
    return sum(count for text, count in mix.items() if f"tensor.{rank}d.shared" in text)


@tw.jit
def product(
    a, b, c, M, N, K,
    FORM: tw.constexpr, FIRST: tw.constexpr, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr,
):  # fmt: skip
    """c = a @ b: rows of b, and those of a that is given transposed, have several slabs."""
    m, n, k = tw.program_id(0) * BM, FIRST + tw.program_id(1) * BN, tw.arange(0, BK)
    rows, columns = m + tw.arange(0, BM), n + tw.arange(0, BN)
    total = tw.zeros((BM, BN), tw.float32)
    if FORM == "descriptors":
        left = tw.make_tensor_descriptor(a, [K, M], [M, 1], [BK, BM])
        right = tw.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    for start in range(0, K, BK):
        if FORM == "descriptors":
            x, y = left.load([start, m]).T, right.load([start, n])
        elif FORM == "begins again":
            inside = start + k < K
            x = tw.load(a + (start + k)[None, :] * M + (rows % M)[:, None], mask=inside[None, :], other=0.0)
            y = tw.load(b + (start + k)[:, None] * N + (columns % N)[None, :], mask=inside[:, None], other=0.0)
        else:
            inside = (rows[:, None] < M) & (start + k[None, :] < K)
            x = tw.load(a + (start + k)[None, :] * M + rows[:, None], mask=inside, other=0.0)
            inside = (start + k[:, None] < K) & (columns[None, :] < N)
            y = tw.load(b + (start + k)[:, None] * N + columns[None, :], mask=inside, other=0.0)
        total = tw.dot(x, y, total)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tw.store(c + rows[:, None] * N + columns[None, :], total, mask=inside)


def run(
    rng: np.random.Generator, sizes: tuple[int, int, int], form: str, setting: Setting, first: int = 0
) -> CompiledKernel:
    M, N, K = sizes
    a, b, c = integers(rng, K, M), integers(rng, K, N), poisoned(M, N)
    grid = (-(-M // 128), -(-(N - first) // 128))
    compiled = launch(
        product, grid, a, b, c, M, N, K,
        FORM=form, FIRST=first, BM=128, BN=128, BK=32, setting=setting,
    )  # fmt: skip
    assert_equal(c[:, first:], (a.double().T @ b.double())[:, first:])
    assert num_loaders(compiled) == 1
    return compiled


# Rows and columns, and the programs whose tiles both are within their matrices.
SIZES = [((256, 384, 96), 6), ((208, 304, 80), 2), ((128, 176, 64), 1), ((80, 48, 40), 0)]


@pytest.mark.parametrize("form", ["masked", "begins again", "descriptors"])
@pytest.mark.parametrize("setting", BOX_SETTINGS)
@pytest.mark.parametrize("sizes, whole", SIZES)
def test_programs_find_out_what_they_copy_whole(
    sizes: tuple[int, int, int], whole: int, form: str, setting: Setting, rng: np.random.Generator
) -> None:
    """A tile at the end of a matrix is copied slab by slab: what lies beyond belongs to the next row."""
    run(rng, sizes, form, setting)
    steps = -(-sizes[2] // 32)
    programs = -(-sizes[0] // 128) * -(-sizes[1] // 128)
    assert started(3) == 2 * steps * whole
    assert started(2) == 4 * steps * (programs - whole)


@pytest.mark.parametrize("first", [8, 40, 64])
def test_whole_tiles_begin_anywhere(first: int, rng: np.random.Generator) -> None:
    """The first column of a tile is none of a slab's."""
    run(rng, (128, 304, 96), "masked", (4, 3, "random"), first)
    whole = sum(n + 128 <= 304 for n in range(first, 304, 128))
    assert started(3) == 2 * 3 * whole


@tw.jit
def constant(a, b, c, M, K, FORM: tw.constexpr, N: tw.constexpr, BK: tw.constexpr):
    """c = a @ b, whose columns are known: those of one tile."""
    m, n, k = tw.program_id(0) * 64 + tw.arange(0, 64), tw.arange(0, N), tw.arange(0, BK)
    total = tw.zeros((64, N), tw.float32)
    if FORM == "transposed":
        right = tw.make_tensor_descriptor(b, [N, K], [K, 1], [N, BK])
    else:
        right = tw.make_tensor_descriptor(b, [K, N], [N, 1], [BK, N])
    for start in range(0, K, BK):
        if FORM == "masked":
            x = tw.load(a + m[:, None] * K + (start + k)[None, :], mask=start + k[None, :] < K, other=0.0)
        else:
            x = tw.load(a + m[:, None] * K + (start + k)[None, :])
        if FORM == "transposed":
            total = tw.dot(x, right.load([0, start]).T, total, input_precision="tf32")
        else:
            total = tw.dot(x, right.load([start, 0]), total)
    tw.store(c + m[:, None] * N + n[None, :], total)


# The operands that are known to be whole, of two slabs along k or along n.
KNOWN: list[tuple[str, Any, int, int]] = [
    ("open", torch.float16, 128, 2),  # rows of a have no end
    ("masked", torch.bfloat16, 128, 1),
    ("transposed", torch.float32, 64, 1),
]


@pytest.mark.parametrize("form, dtype, BK, whole", KNOWN)
@pytest.mark.parametrize("completion", ["late", "random", "early"])
def test_what_is_known_to_be_whole(
    form: str, dtype: Any, BK: int, whole: int, completion: str, rng: np.random.Generator
) -> None:
    """Nothing is asked where an array has no end, or ends with the tile; what each iteration would
    have to find out is copied slab by slab."""
    K, N = 3 * BK - (32 if form == "masked" else 0), BK
    shape = (N, K) if form == "transposed" else (K, N)
    a, b = integers(rng, 128, K, dtype=dtype), integers(rng, *shape, dtype=dtype)
    c = poisoned(128, N)
    compiled = launch(
        constant, (2,), a, b, c, 128, K, FORM=form, N=N, BK=BK, setting=(4, 2, completion)
    )
    assert_equal(c, a.double() @ (b.T if form == "transposed" else b).double())
    numbers = [text.partition(" ")[0] for text in maps(compiled)]
    assert len(numbers) == len(set(numbers))  # one map of each array
    assert started(3) == 2 * 3 * whole
    assert started(2) == 2 * 3 * 2 * (2 - whole)


@tw.jit
def packed_scores(
    qkv, out, L, FORM: tw.constexpr, FIRST: tw.constexpr, WIDTH: tw.constexpr, D: tw.constexpr, BL: tw.constexpr
):
    """out = rows @ rows.T of D columns of a matrix, of which WIDTH are known."""
    m, d = tw.program_id(0) * BL + tw.arange(0, BL), FIRST + tw.arange(0, D)
    if FORM == "descriptor":
        x = tw.make_tensor_descriptor(qkv, [L, WIDTH], [WIDTH, 1], [BL, D])
    inside = (m[:, None] < L) & (d[None, :] < WIDTH)
    rows = tw.load(qkv + m[:, None] * WIDTH + d[None, :], mask=inside, other=0.0)
    for start in range(0, L, BL):
        n = start + tw.arange(0, BL)
        if FORM == "descriptor":
            y = x.load([start, FIRST])
        elif FORM == "shifted":  # the mask is of the columns behind the first
            inside = (n[:, None] < L) & ((d - FIRST)[None, :] < WIDTH - FIRST)
            y = tw.load(qkv + n[:, None] * WIDTH + d[None, :], mask=inside, other=0.0)
        else:
            inside = (n[:, None] < L) & (d[None, :] < WIDTH)
            y = tw.load(qkv + n[:, None] * WIDTH + d[None, :], mask=inside, other=0.0)
        tw.store(out + m[:, None] * L + n[None, :], tw.dot(rows, y.T), mask=(m[:, None] < L) & (n[None, :] < L))


@pytest.mark.parametrize("form", ["descriptor", "masked", "shifted"])
@pytest.mark.parametrize("first, width", [(64, 192), (128, 384), (8, 136), (64, 160), (72, 176)])
def test_boxes_begin_at_constants_within_constants(
    form: str, first: int, width: int, rng: np.random.Generator
) -> None:
    """A comparison of constants is read however it is written: parts of packed rows have boxes."""
    L, D = 128, 128
    qkv, out = integers(rng, L, width), poisoned(L, L)
    compiled = launch(
        packed_scores, (2,), qkv, out, L, FORM=form, FIRST=first, WIDTH=width, D=D, BL=64,
        setting=(4, 2, "random"),
    )  # fmt: skip
    part = torch.nn.functional.pad(qkv.double(), (0, D))[:, first : first + D]
    part[:, max(0, width - first) :] = 0
    assert_equal(out, part @ part.T)
    assert num_loaders(compiled) > 0
    assert started(3) if first + D <= width else started(2)
