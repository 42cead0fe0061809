"""On sm_90a tiles go to boxes of arrays by tensor maps: from shared memory, without their threads."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from gpu.launching import BOX_SETTINGS, Setting
from gpu.products.test_gpu_matmul import assert_equal, integers, launch, poisoned

import tilewright as tw
from tilewright.compile import CompiledKernel

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.usefixtures("compiler", "hopper"), pytest.mark.one_machine]

TYPES = ["float16", "bfloat16", "float32", "int32", "int16", "float64"]


def stores(compiled: CompiledKernel) -> int:
    """Stores of boxes, or reductions, in the code."""
    return len(re.findall(r"cp\.(?:reduce\.)?async\.bulk\.tensor\.\dd\.global", compiled.asm["ptx"]))


def reasons(compiled: CompiledKernel) -> set[str]:
    """Why threads store tiles."""
    found = [r["message"] for r in compiled.remarks if r["code"] == "TW0368"]
    return {m.partition(": ")[2] for m in found if m.startswith("threads store")}


def waits(compiled: CompiledKernel) -> tuple[int, int]:
    """Waits until boxes are complete, and until they have been read."""
    ptx = compiled.asm["ptx"]
    return ptx.count("bulk.wait_group 0"), ptx.count("bulk.wait_group.read 0")


@tw.jit
def multiply(
    a, b, c, M, N, K, c_row, c_batch,
    FORM: tw.constexpr, TYPE: tw.constexpr, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr,
):  # fmt: skip
    """c[i] = a @ b by a store of some form."""
    z = tw.program_id(2)
    m = tw.program_id(0) * BM + tw.arange(0, BM)
    n = tw.program_id(1) * BN + tw.arange(0, BN)
    k = tw.arange(0, BK)
    total = tw.zeros((BM, BN), tw.float32)
    for start in range(0, K, BK):
        x = tw.load(a + m[:, None] * K + (start + k)[None, :], mask=m[:, None] < M, other=0.0)
        y = tw.load(b + (start + k)[:, None] * N + n[None, :], mask=n[None, :] < N, other=0.0)
        total = tw.dot(x, y, total)
    out = total.to(TYPE)
    if FORM == "plain":
        tw.store(c + z * c_batch + m[:, None] * c_row + n[None, :], out)
    elif FORM == "rows":
        tw.store(c + z * c_batch + m[:, None] * c_row + n[None, :], out, mask=m[:, None] < M)
    elif FORM == "transposed":
        tw.store(c + z * c_batch + n[None, :] * c_row + m[:, None], out, mask=(m[:, None] < M) & (n[None, :] < N))
    elif FORM == "swapped":
        inside = (n[:, None] < N) & (m[None, :] < M)
        tw.store(c + z * c_batch + n[:, None] * c_row + m[None, :], out.T, mask=inside)
    elif FORM == "block pointer":
        to = tw.make_block_ptr(c, (M, N), (c_row, 1), (0, 0), (BM, BN), (1, 0)).advance(
            (tw.program_id(0) * BM, tw.program_id(1) * BN)
        )
        tw.store(to, out, boundary_check=(0, 1))
    elif FORM == "descriptor":
        to = tw.make_tensor_descriptor(c, [M, N], [c_row, 1], [BM, BN])
        to.store([tw.program_id(0) * BM, tw.program_id(1) * BN], out)
    else:
        inside = (m[:, None] < M) & (n[None, :] < N)
        tw.store(c + z * c_batch + m[:, None] * c_row + n[None, :], out, mask=inside)


FORMS = ["plain", "rows", "columns", "transposed", "swapped", "block pointer", "descriptor"]


def multiply_on(form: str, name: str, setting: Setting, rng: np.random.Generator, BN: int = 64) -> Any:
    """Launches `multiply`, checks what it stores and what it leaves; returns the compiled kernel."""
    BM = 16 * setting[0]
    M = 2 * BM if form == "plain" else BM + 16
    N = 2 * BN if form in ("plain", "rows") else BN + 16
    K = 96
    a, b = integers(rng, M, K), integers(rng, K, N)
    isTurned = form in ("transposed", "swapped")
    batches = 1 if form in ("block pointer", "descriptor") else 2
    rows, columns = (N, M) if isTurned else (M, N)
    dtype = getattr(torch, name)
    c = torch.full((batches, rows + 3, columns + 32), 77, dtype=dtype)
    compiled = launch(
        multiply, (2, 2, batches), a, b, c, M, N, K, c.stride(1), c.stride(0),
        FORM=form, TYPE=getattr(tw, name), BM=BM, BN=BN, BK=32, setting=setting,
    )  # fmt: skip
    product = a.double() @ b.double()
    expected = torch.full(c.shape, 77, dtype=torch.float64)
    expected[:, :rows, :columns] = product.T if isTurned else product
    assert_equal(c, expected.to(dtype).double())
    return compiled


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("setting", BOX_SETTINGS)
def test_stores_of_products(form: str, setting: Setting, rng: np.random.Generator) -> None:
    """Only what is inside of the array is written, in any order and by any way to say where."""
    compiled = multiply_on(form, "float16", setting, rng)
    assert stores(compiled) > 0, reasons(compiled)
    assert waits(compiled) == (0, 1)
    assert "stmatrix" in compiled.asm["ptx"]
    assert "st.global" not in compiled.asm["ptx"]


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("form", ["columns", "swapped"])
def test_types_of_stores(name: str, form: str, rng: np.random.Generator) -> None:
    for setting, BN in (((4, 2, "random"), 64), ((8, 2, "late"), 128), ((1, 2, "random"), 64)):
        compiled = multiply_on(form, name, setting, rng, BN)
        if setting[0] > 1 and name in ("float16", "bfloat16"):
            assert stores(compiled) > 0, (name, reasons(compiled))


@tw.jit
def update(
    a, b, c, d, flag, M, N, K, FORM: tw.constexpr, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr,
):  # fmt: skip
    """Tiles of c from those of a @ b, which programs compute one after the other."""
    m, n, k = tw.arange(0, BM), tw.arange(0, BN), tw.arange(0, BK)
    tiles = tw.cdiv(M, BM)
    for tile in range(tw.program_id(0), tiles, tw.num_programs(0)):
        rows = tile * BM + m
        total = tw.zeros((BM, BN), tw.float32)
        if FORM == "same place":
            rows = m
        for start in range(0, K, BK):
            x = tw.load(a + (tile * BM + m)[:, None] * K + (start + k)[None, :])
            total = tw.dot(x, tw.load(b + (start + k)[:, None] * N + n[None, :]), total)
        to = c + rows[:, None] * N + n[None, :]
        if FORM == "two arrays":
            tw.store(d + rows[:, None] * N + n[None, :], (total + 1).to(tw.float16))
        if FORM == "in a branch":
            if tile % 2 == 0:
                tw.store(to, total.to(tw.float16))
            else:
                tw.store(to, (total + 1).to(tw.float16))
        else:
            tw.store(to, total.to(tw.float16))
        if FORM == "read again":
            tw.store(d + rows[:, None] * N + n[None, :], tw.load(to) + 1.0)
        if FORM == "told":
            tw.atomic_add(flag, 1, sem="release")


@pytest.mark.parametrize("form", ["plain", "same place", "two arrays", "in a branch", "read again", "told"])
@pytest.mark.parametrize("setting", BOX_SETTINGS)
def test_stores_of_programs_with_several_tiles(
    form: str, setting: Setting, rng: np.random.Generator
) -> None:
    """Boxes of earlier tiles are complete before one that may be of the same elements; where the
    kernel reads them again, or tells others that they are there, threads store."""
    BM = 16 * setting[0]
    M, N, K = 5 * BM, 64, 64
    a, b, c, d = integers(rng, M, K), integers(rng, K, N), poisoned(M, N), poisoned(M, N)
    c, d = c.to(torch.float16), d.to(torch.float16)
    flag = torch.zeros(1, dtype=torch.int32)
    programs = 1 if form == "same place" else 2
    compiled = launch(
        update, (programs,), a, b, c, d, flag, M, N, K, FORM=form, BM=BM, BN=64, BK=32, setting=setting
    )
    product = a.double() @ b.double()
    if form == "in a branch":
        product += (torch.arange(M)[:, None] // BM) % 2
    if form == "same place":
        assert_equal(c[:BM], product[-BM:])
    else:
        assert_equal(c, product)
    if form in ("two arrays", "read again"):
        assert_equal(d, product + 1)
    if form in ("read again", "told"):
        assert any("afterwards" in reason for reason in reasons(compiled))
    else:
        assert stores(compiled) > 0, reasons(compiled)
        assert waits(compiled)[0] > 0


@tw.jit
def accumulate(a, b, c, N, K, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr):
    """c += a @ b."""
    m, n, k = tw.program_id(0) * BM + tw.arange(0, BM), tw.arange(0, BN), tw.arange(0, BK)
    to = c + m[:, None] * N + n[None, :]
    total = tw.zeros((BM, BN), tw.float32)
    for start in range(0, K, BK):
        x = tw.load(a + m[:, None] * K + (start + k)[None, :])
        total = tw.dot(x, tw.load(b + (start + k)[:, None] * N + n[None, :]), total)
    tw.store(to, (total + tw.load(to)).to(tw.float16))


@pytest.mark.parametrize("setting", BOX_SETTINGS)
def test_what_was_read_may_be_overwritten(setting: Setting, rng: np.random.Generator) -> None:
    BM = 16 * setting[0]
    a, b = integers(rng, 2 * BM, 64), integers(rng, 64, 64)
    c = integers(rng, 2 * BM, 64)
    expected = c.double() + a.double() @ b.double()
    compiled = launch(accumulate, (2,), a, b, c, 64, 64, BM=BM, BN=64, BK=32, setting=setting)
    assert_equal(c, expected)
    assert stores(compiled) > 0, reasons(compiled)
    assert "fence.proxy.async;" in compiled.asm["ptx"]
    # A program of LLVM has no array that nobody else changes where a box overwrites what threads read.
    arguments = compiled.asm["llir"].partition("@accumulate(")[2].partition("{")[0].split(",")
    assert "noalias" in arguments[0] and "noalias" not in arguments[2]


@tw.jit
def split(
    a, b, c, M, N, K, TYPE: tw.constexpr, SEM: tw.constexpr, BEFORE: tw.constexpr, MASKED: tw.constexpr,
    BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr,
):  # fmt: skip
    """c += a @ b, whose terms programs share."""
    m, n, k = tw.arange(0, BM), tw.arange(0, BN), tw.program_id(0) * BK + tw.arange(0, BK)
    x = tw.load(a + m[:, None] * K + k[None, :], mask=m[:, None] < M, other=0.0)
    y = tw.load(b + k[:, None] * N + n[None, :])
    total = tw.dot(x, y).to(TYPE)
    if BEFORE:
        tw.store(a + m[:, None] * K + k[None, :], x + 1.0, mask=m[:, None] < M)
    to = c + m[:, None] * N + n[None, :]
    if MASKED:
        tw.atomic_add(to, total, mask=m[:, None] < M, sem=SEM)
    else:
        tw.atomic_add(to, total, sem=SEM)


@pytest.mark.parametrize("name", ["float32", "float16", "bfloat16", "int32"])
@pytest.mark.parametrize("sem", ["relaxed", "acq_rel"])
@pytest.mark.parametrize("setting", BOX_SETTINGS[:3])
def test_sums_in_memory(name: str, sem: str, setting: Setting, rng: np.random.Generator) -> None:
    """Atomics whose results nobody uses are reductions of boxes."""
    BM = 16 * setting[0]
    for masked in (False, True):
        M = BM - 24 if masked else BM
        a = torch.from_numpy(rng.integers(-2, 3, (BM, 128))).to(torch.float16)
        b = torch.from_numpy(rng.integers(-2, 3, (128, 64))).to(torch.float16)
        c = torch.full((BM, 64), 3, dtype=getattr(torch, name))
        compiled = launch(
            split, (4,), a, b, c, M, 64, 128, TYPE=getattr(tw, name), SEM=sem, BEFORE=False,
            MASKED=masked, BM=BM, BN=64, BK=32, setting=setting,
        )  # fmt: skip
        expected = torch.full((BM, 64), 3, dtype=torch.float64)
        expected[:M] += (a.double() @ b.double())[:M]
        assert_equal(c, expected)
        assert re.search(r"cp\.reduce\.async\.bulk\.tensor\.[23]d\.global\.shared::cta\.add", compiled.asm["ptx"])


def test_a_release_is_no_box(rng: np.random.Generator) -> None:
    """An atomic that makes earlier writes visible waits for them, as one of threads does."""
    a, b, c = integers(rng, 64, 128), integers(rng, 128, 64), torch.zeros(64, 64)
    options = {"TYPE": tw.float32, "BEFORE": True, "MASKED": False, "BM": 64, "BN": 64, "BK": 32}
    compiled = launch(split, (4,), a, b, c, 64, 64, 128, SEM="acq_rel", **options, setting=(4, 2, "late"))
    assert stores(compiled) == 0
    assert any("wrote before" in reason for reason in reasons(compiled))
    relaxed = launch(split, (4,), a, b, c, 64, 64, 128, SEM="relaxed", **options, setting=(4, 2, "late"))
    assert stores(relaxed) > 0


@tw.jit
def add_beside(
    a, b, c, N, K, FORM: tw.constexpr, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr
):
    """c += a @ b, and what threads do to c beside that."""
    m, n, k = tw.arange(0, BM), tw.arange(0, BN), tw.program_id(0) * BK + tw.arange(0, BK)
    total = tw.dot(tw.load(a + m[:, None] * K + k[None, :]), tw.load(b + k[:, None] * N + n[None, :]))
    to = c + m[:, None] * N + n[None, :]
    if FORM == "rows":
        tw.atomic_add(c + n, tw.sum(total, 0), sem="relaxed")
        tw.atomic_add(to, total, sem="relaxed")
    elif FORM == "a branch":
        if tw.program_id(0) == 0:
            tw.atomic_add(c + n, tw.sum(total, 0), sem="relaxed")
        else:
            tw.atomic_add(to, total, sem="relaxed")
    else:
        tw.atomic_add(c + m[:, None] * 16 + n[None, :], total, sem="relaxed")


@pytest.mark.parametrize("form", ["rows", "a branch", "overlapping rows"])
def test_sums_that_threads_meet(form: str, rng: np.random.Generator) -> None:
    """Threads of another program, or another row, add to the same elements."""
    a = torch.from_numpy(rng.integers(-2, 3, (64, 128))).to(torch.float16)
    b = torch.from_numpy(rng.integers(-2, 3, (128, 64))).to(torch.float16)
    c = torch.zeros(64, 64)
    compiled = launch(add_beside, (4,), a, b, c, 64, 128, FORM=form, BM=64, BN=64, BK=32, setting=(4, 2, "late"))
    parts = [(a[:, k : k + 32].double() @ b[k : k + 32].double()) for k in range(0, 128, 32)]
    expected = torch.zeros(64 * 64, dtype=torch.float64)
    for program, part in enumerate(parts):
        if form == "overlapping rows":
            for row in range(64):
                expected[16 * row : 16 * row + 64] += part[row]
            continue
        if form == "rows" or program == 0:
            expected[:64] += part.sum(0)
        if form == "rows" or program > 0:
            expected += part.flatten()
    assert_equal(c.flatten(), expected)
    assert stores(compiled) == 0 and len(reasons(compiled)) == 1


@tw.jit
def turn(out, x, R, C, BR: tw.constexpr, BC: tw.constexpr):
    """out = x.T"""
    r = tw.program_id(0) * BR + tw.arange(0, BR)
    c = tw.program_id(1) * BC + tw.arange(0, BC)
    v = tw.load(x + r[:, None] * C + c[None, :], mask=(r[:, None] < R) & (c[None, :] < C))
    tw.store(out + c[:, None] * R + r[None, :], v.T, mask=(c[:, None] < C) & (r[None, :] < R))


@pytest.mark.parametrize("dtype", ["float16", "float32", "int8"])
@pytest.mark.parametrize("num_warps", [1, 2, 4])
def test_tiles_that_no_product_computes(dtype: str, num_warps: int, rng: np.random.Generator) -> None:
    x = integers(rng, 144, 176).to(getattr(torch, dtype))
    out = poisoned(176, 144).to(getattr(torch, dtype))
    launch(turn, (3, 3), out, x, 144, 176, BR=64, BC=64, setting=(num_warps, 2, "random"))
    assert_equal(out, x.double().T)


def test_tiles_that_do_not_fit(rng: np.random.Generator) -> None:
    """Threads store large tiles in parts."""
    a, b = integers(rng, 256, 32), integers(rng, 32, 256)
    c = torch.full((1, 256, 256), 77, dtype=torch.float32)
    compiled = launch(
        multiply, (1, 1, 1), a, b, c, 256, 256, 32, 256, 0,
        FORM="rows", TYPE=tw.float32, BM=256, BN=256, BK=32, setting=(8, 2, "late"),
    )  # fmt: skip
    assert_equal(c[0], a.double() @ b.double())
    assert stores(compiled) == 0
    assert any("fit in shared memory" in reason for reason in reasons(compiled))


def test_without_maps_threads_store(rng: np.random.Generator) -> None:
    a, b = integers(rng, 64, 64), integers(rng, 64, 64)
    c = poisoned(1, 64, 64).to(torch.float16)
    with tw.device("sim:sm_90a"):
        compiled = multiply[(1, 1, 1)](
            a, b, c, 64, 64, 64, 64, 4096, FORM="rows", TYPE=tw.float16, BM=64, BN=64, BK=32, tensor_maps=False
        )
    assert_equal(c[0], a.double() @ b.double())
    assert stores(compiled) == 0


@tw.jit
def heads(
    a, b, c, M, K, WIDTH: tw.constexpr, FIRST: tw.constexpr, SUM: tw.constexpr,
    BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr,
):  # fmt: skip
    """Columns from FIRST on, and from there BN a program, of a matrix of WIDTH columns: a @ b."""
    m = tw.program_id(0) * BM + tw.arange(0, BM)
    n = FIRST + tw.program_id(1) * BN + tw.arange(0, BN)
    k = tw.arange(0, BK)
    total = tw.zeros((BM, BN), tw.float32)
    for start in range(0, K, BK):
        x = tw.load(a + m[:, None] * K + (start + k)[None, :], mask=m[:, None] < M, other=0.0)
        y = tw.load(b + (start + k)[:, None] * WIDTH + n[None, :], mask=n[None, :] < WIDTH, other=0.0)
        total = tw.dot(x, y, total)
    inside = (m[:, None] < M) & (n[None, :] < WIDTH)
    to = c + m[:, None] * WIDTH + n[None, :]
    if SUM:
        tw.atomic_add(to, total, mask=inside, sem="relaxed")
    else:
        tw.store(to, total.to(tw.float16), mask=inside)


# Columns of the matrix, and from where on: one copy stores a tile whose rows are whole.
WIDTHS = [(256, 0, True), (384, 128, True), (200, 0, False), (384, 64, False), (384, 256, True)]


@pytest.mark.parametrize("adds", [False, True])
@pytest.mark.parametrize("width, first, whole", WIDTHS)
def test_tiles_of_whole_rows_are_stored_at_once(
    width: int, first: int, whole: bool, adds: bool, rng: np.random.Generator
) -> None:
    """Where a row may end within the tile, slabs are stored one by one: what follows is not theirs."""
    M, K, columns = 80, 96, -(-width // 128)
    a, b = integers(rng, M, K), integers(rng, K, width)
    c = torch.full((M + 8, width), 3, dtype=torch.float32 if adds else torch.float16)
    compiled = launch(
        heads, (2, columns), a, b, c, M, K, WIDTH=width, FIRST=first, SUM=adds, BM=64, BN=128, BK=32,
        setting=(4, 2, "random"),
    )  # fmt: skip
    expected = torch.full(c.shape, 3, dtype=torch.float64)
    product = (a.double() @ b.double())[:, first:]
    expected[:M, first:] = expected[:M, first:] + product if adds else product
    assert_equal(c, expected.to(c.dtype).double())
    found = re.findall(r"bulk\.tensor\.(\d)d\.global", compiled.asm["ptx"])
    assert found == (["3"] if whole else ["2"] * (4 if adds else 2))
