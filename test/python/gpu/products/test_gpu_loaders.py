"""On sm_90a a warp beside those of num_warps, the loader, copies the operands of products as boxes."""

from __future__ import annotations

import re

import numpy as np
import pytest
from gpu.launching import BOX_SETTINGS, Setting
from gpu.products.test_gpu_matmul import assert_equal, integers, launch, poisoned

import tilewright as tw
from tilewright.compile import CompiledKernel

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.usefixtures("compiler", "hopper"), pytest.mark.one_machine]


def num_loaders(compiled: CompiledKernel) -> int:
    """Loops that a loader copies for."""
    count = len(re.findall(r"simt\.loader \{", compiled.asm["scheduled"]))
    # Where 8 warps need more registers, a warpgroup with the loader leaves them its own.
    beside = 4 if "setmaxnreg" in compiled.asm["ptx"] else min(count, 1)
    resources = compiled.native.resources
    assert resources["threads"] == 32 * (resources["num_warps"] + beside)
    return count


def reasons(compiled: CompiledKernel) -> set[str]:
    """Why loops have no loader."""
    found = [r["message"] for r in compiled.remarks if r["code"] == "TW0369"]
    return {message.partition(": ")[2] for message in found}


@tw.jit
def multiply(
    a, b, c, table, M, N, K, stride,
    FORM: tw.constexpr, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr,
):  # fmt: skip
    """Rows of C = A B, by loops of products in all kinds of places."""
    m, n, k = tw.arange(0, BM), tw.arange(0, BN), tw.arange(0, BK)
    tiles = tw.cdiv(M, BM)
    first, step = tw.program_id(0), tw.num_programs(0)
    if FORM == "left early":
        if first >= tiles:
            return
    if FORM == "plain" or FORM == "left early" or FORM == "forbidden":
        step = tiles
    if FORM == "changed table":
        tw.store(table + 5 + first, 1)
    rows = m
    count = 0
    while FORM == "while" and count < 1:
        count += 1
        for tile in range(first, tiles, step):
            rows = tile * BM + m
            total = tw.zeros((BM, BN), tw.float32)
            for start in range(0, K, BK):
                x = tw.load(a + rows[:, None] * stride + (start + k)[None, :], mask=rows[:, None] < M, other=0.0)
                total = tw.dot(x, tw.load(b + (start + k)[:, None] * N + n[None, :]), total)
            tw.store(c + rows[:, None] * N + n[None, :], total, mask=rows[:, None] < M)
    last = first * BM
    if FORM != "while":
        for tile in range(first, tiles, step):
            at = tile * BM
            if FORM == "table" or FORM == "changed table":
                at = tw.maximum(tw.load(table + tile), 0) * BM
            if FORM == "carried":
                at = last
                last += step * BM
            if FORM == "some tiles" and tile % 2 == 1:
                tw.store(c + (at + m)[:, None] * N + n[None, :], 1.0, mask=(at + m)[:, None] < M)
            else:
                rows = at + m
                total = tw.zeros((BM, BN), tw.float32)
                for start in tw.range(0, K, BK, warp_specialize=FORM != "forbidden"):
                    inside = rows[:, None] < M
                    x = tw.load(a + rows[:, None] * stride + (start + k)[None, :], mask=inside, other=0.0)
                    total = tw.dot(x, tw.load(b + (start + k)[:, None] * N + n[None, :]), total)
                tw.store(c + rows[:, None] * N + n[None, :], total, mask=rows[:, None] < M)


# Of each form why it has no loader, empty where it has one.
FORMS = {
    "plain": "",
    "left early": "",
    "persistent": "",
    "some tiles": "",
    "table": "",
    "carried": "",
    "while": "it is in a loop that is not counted",
    "changed table": "it needs what the kernel, or a program that it waits for, may write",
    "forbidden": "",
}


@pytest.mark.parametrize("K", [0, 64, 192, 640])
@pytest.mark.parametrize("setting", BOX_SETTINGS)
@pytest.mark.parametrize("form", FORMS)
def test_loops_of_all_kinds(form: str, setting: Setting, K: int, rng: np.random.Generator) -> None:
    """Loops run as often as they do; none but the last ones of each kind do without a loader."""
    BM, N = 16 * setting[0], 64
    M = 5 * BM - 24
    stride = max(K, 64)
    a, b, c = integers(rng, M, stride), integers(rng, stride, N), poisoned(M, N)
    table = torch.tensor([3, 1, 2, 0, 4, 0, 0], dtype=torch.int32)
    expected = a[:, :K].double() @ b[:K].double()
    if form == "some tiles":
        odd = (torch.arange(M) // BM % 2 == 1)[:, None]
        expected = torch.where(odd, 1.0, expected)
    compiled = launch(
        multiply, ({"plain": 5, "forbidden": 5, "left early": 7}.get(form, 2),),
        a, b, c, table, M, N, K, stride, FORM=form, BM=BM, BN=N, BK=64, setting=setting,
    )  # fmt: skip
    assert_equal(c, expected)
    assert reasons(compiled) == ({FORMS[form]} if FORMS[form] else set())
    assert num_loaders(compiled) == (0 if FORMS[form] or form == "forbidden" else 1)


@tw.jit
def attend(q, k, v, out, scores, N, FORM: tw.constexpr, BM: tw.constexpr, BN: tw.constexpr, D: tw.constexpr):
    """Two loops of products, with data that crosses warps before, between and behind them."""
    m, n, d = tw.arange(0, BM), tw.arange(0, BN), tw.arange(0, D)
    query = tw.load(q + m[:, None] * D + d[None, :])
    scale = tw.sum(tw.sum(query.to(tw.float32), 1), 0) * 0 + 1
    norm = tw.zeros((BM,), tw.float32)
    acc = tw.zeros((BM, D), tw.float32)
    for start in range(0, N, BN):
        keys = tw.load(k + (start + n)[:, None] * D + d[None, :])
        s = tw.dot(query, keys.T) * scale
        norm += tw.sum(s, 1)
        acc = tw.dot(s.to(tw.float16), tw.load(v + (start + n)[:, None] * D + d[None, :]), acc)
    # Through shared memory, where the slots of both loops are before and behind it.
    crossed = tw.trans(acc.to(tw.float16))
    tw.store(out + d[:, None] * BM + m[None, :], crossed)
    total = tw.sum(norm, 0)
    acc = tw.zeros((BM, D), tw.float32)
    for start in range(0, N, BN):
        keys = tw.load(k + (start + n)[:, None] * D + d[None, :])
        acc = tw.dot(tw.dot(query, keys.T).to(tw.float16), keys, acc)
    tw.store(scores + m[:, None] * D + d[None, :], acc + total)


@pytest.mark.parametrize("setting", BOX_SETTINGS)
def test_loops_one_after_the_other(setting: Setting, rng: np.random.Generator) -> None:
    """Loaders go on from loop to loop; memory between the loops is free when they begin."""
    BM, D, N = 16 * setting[0], 64, 256
    q, k, v = (torch.from_numpy(rng.integers(-1, 2, (rows, D))).half() for rows in (BM, N, N))
    out, scores = poisoned(D, BM, dtype=torch.float16), poisoned(BM, D)
    compiled = launch(
        attend, (1,), q, k, v, out, scores, N, FORM="", BM=BM, BN=64, D=D, setting=setting
    )
    s = (q.double() @ k.double().T).half().double()
    assert_equal(out, (s @ v.double()).half().T)
    assert_equal(scores, s @ k.double() + s.sum())
    assert num_loaders(compiled) == 2


def test_many_warps_have_no_loader(rng: np.random.Generator) -> None:
    a, b, c = integers(rng, 256, 128), integers(rng, 128, 64), poisoned(256, 64)
    compiled = launch(
        multiply, (1,), a, b, c, torch.zeros(1, dtype=torch.int32), 256, 64, 128, 128,
        FORM="plain", BM=256, BN=64, BK=64, setting=(16, 2, "late"),
    )  # fmt: skip
    assert_equal(c, a.double() @ b.double())
    assert reasons(compiled) == {"num_warps leave a loader no registers"}


@tw.jit
def deceptive(
    a, b, c, flag, K, x, y,
    FORM: tw.constexpr, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr,
):  # fmt: skip
    """Products with what a loader could compute otherwise, or could not wait for."""
    m, n, k = tw.arange(0, BM), tw.arange(0, BN), tw.arange(0, BK)
    end = K
    square = x * x
    if FORM == "floats":
        end = tw.where(square - y * y > 0, K, K // 2)
    elif FORM == "cv":
        end = tw.load(flag, cache_modifier=".cv") * K
    total = tw.zeros((BM, BN), tw.float32)
    other = tw.zeros((BM, BN), tw.float32)
    for trip in range(0, 4):
        for start in range(0, end, BK):
            left = tw.load(a + m[:, None] * K + (start + k)[None, :])
            total = tw.dot(left, tw.load(b + (start + k)[:, None] * BN + n[None, :]), total)
        if FORM == "nested":
            left = tw.load(a + m[:, None] * K + (trip * BK + k)[None, :])
            other = tw.dot(left, tw.load(b + (trip * BK + k)[:, None] * BN + n[None, :]), other)
    tw.store(c + m[:, None] * BN + n[None, :], total + other + square * 0)


DECEPTIVE = {
    "floats": "it needs a number that is computed from floats",
    "cv": "it needs what the kernel, or a program that it waits for, may write",
    "nested": "a loop inside of it has one",
}


@pytest.mark.parametrize("setting", BOX_SETTINGS)
@pytest.mark.parametrize("form", DECEPTIVE)
def test_what_a_loader_cannot_do(form: str, setting: Setting, rng: np.random.Generator) -> None:
    BM, K = 16 * setting[0], 256
    a, b, c = integers(rng, BM, K), integers(rng, K, 64), poisoned(BM, 64)
    compiled = launch(
        deceptive, (1,), a, b, c, torch.ones(1, dtype=torch.int32), K, 1.5, 0.5,
        FORM=form, BM=BM, BN=64, BK=64, setting=setting,
    )  # fmt: skip
    assert_equal(c, (a.double() @ b.double()) * (5 if form == "nested" else 4))
    assert reasons(compiled) == {DECEPTIVE[form]}
    assert num_loaders(compiled) == (form == "nested")


@tw.jit
def with_assembly(a, b, c, K, TEXT: tw.constexpr, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr):
    m, n, k = tw.arange(0, BM), tw.arange(0, BN), tw.arange(0, BK)
    total = tw.zeros((BM, BN), tw.float32)
    for start in range(0, K, BK):
        x = tw.load(a + m[:, None] * K + (start + k)[None, :])
        total = tw.dot(x, tw.load(b + (start + k)[:, None] * BN + n[None, :]), total)
    rows = tw.inline_asm_elementwise(TEXT, "=r,r", [m], dtype=tw.int32, is_pure=False, pack=1)
    tw.store(c + rows[:, None] * BN + n[None, :], total)


@pytest.mark.parametrize(
    "text", ["bar.sync 0; mov.u32 $0, $1;", "{ .reg .u32 %n; mov.u32 %n, %ntid.x; mov.u32 $0, $1; }"]
)
def test_assembly_that_knows_all_threads(text: str, rng: np.random.Generator) -> None:
    """It finds those that num_warps says; other assembly does not matter."""
    a, b = integers(rng, 64, 128), integers(rng, 128, 64)
    for each, count in (text, 0), ("mov.u32 $0, $1;", 1):
        c = poisoned(64, 64)
        compiled = launch(
            with_assembly, (1,), a, b, c, 128, TEXT=each, BM=64, BN=64, BK=64, setting=(4, 2, "late")
        )
        assert_equal(c, a.double() @ b.double())
        assert num_loaders(compiled) == count
        assert len(reasons(compiled)) == 1 - count


# Columns of the tile, the limit of registers, and the directives and shares of the code.
REGISTERS = [
    (64, 0, [".reqntid 288"]),
    (64, 128, [".reqntid 288", ".maxnreg 128"]),
    (64, 168, [".reqntid 288", ".maxnreg 168"]),
    (64, 200, [".reqntid 384", ".minnctapersm 1", "dec 24", "inc 200"]),
    (64, 255, [".reqntid 384", ".minnctapersm 1", "dec 24", "inc 240"]),
    (256, 0, [".reqntid 384", ".minnctapersm 1", "dec 24", "inc 240"]),
]


@pytest.mark.parametrize(("columns", "limit", "expected"), REGISTERS)
def test_registers_of_a_cta_with_a_loader(
    columns: int, limit: int, expected: list[str], rng: np.random.Generator
) -> None:
    """Warp w has a quarter of the registers with all warps w + 4 i: nine warps have what twelve have."""
    a, b, c = integers(rng, 128, 128), integers(rng, 128, columns), poisoned(128, columns)
    compiled = launch(
        multiply, (1,), a, b, c, torch.zeros(1, dtype=torch.int32), 128, columns, 128, 128,
        FORM="plain", BM=128, BN=columns, BK=64, setting=(8, 2, "random"),
        **({"maxnreg": limit} if limit else {}),
    )  # fmt: skip
    assert_equal(c, a.double() @ b.double())
    words = r"^(\.(?:reqntid|maxnreg|minnctapersm) \d+)|setmaxnreg\.(\w+ ?)\S*( \d+);"
    found = re.findall(words, compiled.asm["ptx"], re.M)
    assert sorted(first or f"{kind}{number}" for first, kind, number in found) == sorted(expected)
    assert num_loaders(compiled) == 1
