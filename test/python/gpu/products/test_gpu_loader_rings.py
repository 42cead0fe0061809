"""Loaders go on from loop to loop in one ring of slots, also into the next tile of a persistent kernel."""

from __future__ import annotations

import numpy as np
import pytest
from gpu.launching import BOX_SETTINGS, Setting
from gpu.products.test_gpu_loaders import num_loaders
from gpu.products.test_gpu_matmul import assert_equal, integers, launch, poisoned

import tilewright as tw
from tilewright.compile import CompiledKernel

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.usefixtures("compiler", "hopper"), pytest.mark.one_machine]


def rings(compiled: CompiledKernel) -> list[int]:
    """The loops around the places where loaders meet the program, to go to a ring that was made there."""
    lines = compiled.asm["scheduled"].splitlines()
    return [line.index("simt.barrier") // 2 - 2 for line in lines if "simt.barrier loader" in line]


@tw.jit
def tiles_of(
    a, b, c, M, N, K, a_row, b_row,
    FORM: tw.constexpr, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr,
):  # fmt: skip
    """All tiles of C = A B by few programs; K is not a multiple of BK. "stepped": by pointers that the loop moves."""
    m, n, k = tw.arange(0, BM), tw.arange(0, BN), tw.arange(0, BK)
    step = tw.num_programs(0)
    for row in range(tw.program_id(0), tw.cdiv(M, BM), step):
        rows = (row * BM + m)[:, None]
        for column in range(0, tw.cdiv(N, BN)):
            columns = (column * BN + n)[None, :]
            total = tw.zeros((BM, BN), tw.float32)
            if FORM == "some" and (row + column) % 2 == 1:
                tw.store(c + rows * b_row + columns, 1.0, mask=(rows < M) & (columns < N))
            elif FORM == "stepped":
                left, right = a + rows * a_row + k[None, :], b + k[:, None] * b_row + columns
                for step_of_k in range(0, tw.cdiv(K, BK)):
                    inside = k < K - step_of_k * BK
                    x = tw.load(left, mask=(rows < M) & inside[None, :], other=0.0)
                    y = tw.load(right, mask=inside[:, None] & (columns < N), other=0.0)
                    total = tw.dot(x, y, total)
                    left += BK
                    right += BK * b_row
                tw.store(c + rows * b_row + columns, total, mask=(rows < M) & (columns < N))
            else:
                for start in range(0, K, BK):
                    at = start + k
                    x = tw.load(a + rows * a_row + at[None, :], mask=(rows < M) & (at[None, :] < K), other=0.0)
                    y = tw.load(b + at[:, None] * b_row + columns, mask=(at[:, None] < K) & (columns < N), other=0.0)
                    total = tw.dot(x, y, total)
                if FORM == "crossing":
                    total += tw.sum(tw.sum(total, 1), 0) * 0
                tw.store(c + rows * b_row + columns, total, mask=(rows < M) & (columns < N))


@pytest.mark.parametrize("K", [0, 24, 64, 200, 448])
@pytest.mark.parametrize("setting", BOX_SETTINGS)
@pytest.mark.parametrize("form", ["all", "some", "crossing", "stepped"])
def test_rings_of_persistent_kernels(form: str, setting: Setting, K: int, rng: np.random.Generator) -> None:
    """Copies for the next tile start while this one is stored; a branch is the place of a ring of its own."""
    BM, N = 16 * setting[0], 136
    M = 3 * BM - 24
    a, b, c = integers(rng, M, 448), integers(rng, 448, 144), poisoned(M, 144)
    compiled = launch(
        tiles_of, (2,), a, b, c, M, N, K, 448, 144, FORM=form, BM=BM, BN=64, BK=64, setting=setting
    )
    expected = a[:, :K].double() @ b[:K, :N].double()
    if form == "some":
        odd = (torch.arange(M)[:, None] // BM + torch.arange(N)[None, :] // 64) % 2 == 1
        expected = torch.where(odd, 1.0, expected)
    assert_equal(c[:, :N], expected)
    assert bool(c[:, N:].isnan().all())
    # Whole blocks of K and the rest are one loop; no map describes an array without columns.
    assert num_loaders(compiled) == (1 if K else 0)
    assert rings(compiled) == ([3] if form == "some" else [0])[: num_loaders(compiled)]


@tw.jit
def steps_of(x, b, c, T, M, K, STEPS: tw.constexpr, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr):
    """x[t + 1] = x[t] b, where x is read again; or c[t] = x[t] b."""
    m, n, k = tw.arange(0, BM), tw.arange(0, BN), tw.arange(0, BK)
    for t in range(0, T):
        total = tw.zeros((BM, BN), tw.float32)
        for start in range(0, K, BK):
            left = tw.load(x + t * M * K + m[:, None] * K + (start + k)[None, :])
            total = tw.dot(left, tw.load(b + (start + k)[:, None] * BN + n[None, :]), total)
        place = m[:, None] * BN + n[None, :]
        if STEPS == "of c":
            tw.store(c + t * M * BN + place, total)
        else:
            tw.store(x + (t + 1) * M * K + place, total.to(tw.float16))


@pytest.mark.parametrize("setting", BOX_SETTINGS)
@pytest.mark.parametrize("steps", ["of x", "of c"])
def test_rings_of_steps(steps: str, setting: Setting, rng: np.random.Generator) -> None:
    """No copy runs ahead of a store that may write what it reads."""
    M, K, T = 16 * setting[0], 64, 4
    x = torch.zeros(T + 1, M, K, dtype=torch.float16)
    x[:] = integers(rng, M, K).clamp(-1, 1)
    b = torch.eye(K, dtype=torch.float16)[torch.from_numpy(rng.permutation(K))]
    c = poisoned(T, M, K)
    first = x[0].double()
    compiled = launch(
        steps_of, (1,), x, b, c, T, M, K, STEPS=steps, BM=M, BN=64, BK=32, setting=setting
    )
    for t in range(T):
        expected = first @ b.double()
        assert_equal(c[t] if steps == "of c" else x[t + 1], expected)
        first = first if steps == "of c" else expected
    assert 0 not in rings(compiled) if steps == "of x" else rings(compiled) == [0]


@tw.jit
def products_in_turn(
    a, b, c, d, K, FORM: tw.constexpr, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr
):
    """c = a b and d = a b + c; "again" reads a after it was written."""
    m, n, k = tw.arange(0, BM), tw.arange(0, BN), tw.arange(0, BK)
    place = m[:, None] * BN + n[None, :]
    total = tw.zeros((BM, BN), tw.float32)
    for start in range(0, K, BK):
        left = tw.load(a + m[:, None] * K + (start + k)[None, :])
        total = tw.dot(left, tw.load(b + (start + k)[:, None] * BN + n[None, :]), total)
    tw.store(c + place, total)
    if FORM == "again":
        tw.store(a + m[:, None] * K + n[None, :], tw.full((BM, BN), 2.0, tw.float16))
    for start in range(0, K, BK):
        left = tw.load(a + m[:, None] * K + (start + k)[None, :])
        total = tw.dot(left, tw.load(b + (start + k)[:, None] * BN + n[None, :]), total)
    tw.store(d + place, total)


@pytest.mark.parametrize("setting", BOX_SETTINGS)
@pytest.mark.parametrize("form", ["once", "again"])
def test_rings_of_loops_in_turn(form: str, setting: Setting, rng: np.random.Generator) -> None:
    """Loops of the same tiles share a ring, unless what the second one copies is written between."""
    BM, K = 16 * setting[0], 128
    a, b = integers(rng, BM, K), integers(rng, K, 64)
    c, d = poisoned(BM, 64), poisoned(BM, 64)
    first = a.double() @ b.double()
    changed = a.clone()
    if form == "again":
        changed[:, :64] = 2
    compiled = launch(
        products_in_turn, (1,), a, b, c, d, K, FORM=form, BM=BM, BN=64, BK=32, setting=setting
    )
    assert_equal(c, first)
    assert_equal(d, first + changed.double() @ b.double())
    assert len(rings(compiled)) == num_loaders(compiled) if form == "again" else rings(compiled) == [0]


def test_rings_without_room(rng: np.random.Generator) -> None:
    """Where slots do not fit beside what a tile is stored through, they take turns in memory."""
    BM, BN, K, N = 128, 256, 256, 512
    a, b, c = integers(rng, BM, K), integers(rng, K, N), poisoned(BM, N)
    for stages, ring in (3, [0]), (4, [2]):
        compiled = launch(
            tiles_of, (1,), a, b, c.fill_(0), BM, N, K, K, N, FORM="all", BM=BM, BN=BN, BK=64,
            setting=(8, stages, "late"),
        )  # fmt: skip
        assert_equal(c, a.double() @ b.double())
        found = [r["message"] for r in compiled.remarks if "ahead of" in r["message"]]
        assert rings(compiled) == ring and len(found) == (2 if stages == 4 else 0)


@tw.jit
def attend(
    q, k, v, o, heads, N, scale,
    BM: tw.constexpr, BN: tw.constexpr, D: tw.constexpr, CAUSAL: tw.constexpr,
):  # fmt: skip
    """Attention of all heads by few programs: one head's rows follow those of the head before."""
    m, n, d = tw.arange(0, BM), tw.arange(0, BN), tw.arange(0, D)
    blocks = tw.cdiv(N, BM)
    for job in range(tw.program_id(0), heads * blocks, tw.num_programs(0)):
        base = job // blocks * N * D
        block = job % blocks
        rows = block * BM + m
        at = base + rows[:, None] * D + d[None, :]
        query = tw.load(q + at, mask=rows[:, None] < N, other=0.0)
        peak = tw.full((BM,), float("-inf"), tw.float32)
        norm, acc = tw.zeros((BM,), tw.float32), tw.zeros((BM, D), tw.float32)
        for start in range(0, tw.minimum((block + 1) * BM, N) if CAUSAL else N, BN):
            columns = start + n
            places = base + columns[:, None] * D + d[None, :]
            score = tw.dot(query, tw.load(k + places, mask=columns[:, None] < N, other=0.0).T) * scale
            inside = columns[None, :] < N
            if CAUSAL:
                inside &= rows[:, None] >= columns[None, :]
            score = tw.where(inside, score, float("-inf"))
            above = tw.maximum(peak, tw.max(score, 1))
            p, factor = tw.exp2(score - above[:, None]), tw.exp2(peak - above)
            norm = norm * factor + tw.sum(p, 1)
            values = tw.load(v + places, mask=columns[:, None] < N, other=0.0)
            acc, peak = tw.dot(p.to(tw.float16), values, acc * factor[:, None]), above
        tw.store(o + at, (acc / norm[:, None]).to(tw.float16), mask=rows[:, None] < N)


@pytest.mark.parametrize("N", [48, 136, 256])
@pytest.mark.parametrize("setting", BOX_SETTINGS)
@pytest.mark.parametrize("causal", [False, True])
def test_rings_of_attention(causal: bool, setting: Setting, N: int, rng: np.random.Generator) -> None:
    """The loader copies the blocks of the diagonal and of the end, too, whose masks compare numbers of rows."""
    q, k, v = (torch.from_numpy(rng.normal(size=(3, N, 64))).half() for _ in range(3))
    out = poisoned(3, N, 64, dtype=torch.float16)
    compiled = launch(
        attend, (2,), q, k, v, out, 3, N, 0.2, BM=16 * setting[0], BN=64, D=64, CAUSAL=causal,
        setting=setting,
    )  # fmt: skip
    score = q.double() @ k.double().mT * 0.2
    if causal:
        score = score.where(torch.ones(N, N).tril() > 0, -float("inf"))
    p = torch.exp2(score - score.amax(-1, keepdim=True))
    expected = p @ v.double() / p.sum(-1, keepdim=True)
    torch.testing.assert_close(out.double(), expected, rtol=4e-3, atol=4e-3)
    assert num_loaders(compiled) == 2
    assert rings(compiled) == [0]
    # The second product of the first loop; two groups of warps take turns.
    beside = [r for r in compiled.remarks if "beside the next iteration" in r["message"]]
    assert len(beside) == 1
    assert ("bar.arrive" in compiled.asm["ptx"]) == (setting[0] == 8)


@tw.jit
def two_products(a, b, c, d, e, f, K, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr):
    """c = a b and f = d e in one loop, whose tiles come in two groups."""
    m, n, k = tw.arange(0, BM), tw.arange(0, BN), tw.arange(0, BK)
    first, second = tw.zeros((BM, BN), tw.float32), tw.zeros((BM, BN), tw.float32)
    for start in range(0, K, BK):
        left, right = m[:, None] * K + (start + k)[None, :], (start + k)[:, None] * BN + n[None, :]
        first = tw.dot(tw.load(a + left), tw.load(b + right), first)
        second = tw.dot(tw.load(d + left), tw.load(e + right), second)
    tw.store(c + m[:, None] * BN + n[None, :], first)
    tw.store(f + m[:, None] * BN + n[None, :], second)


@pytest.mark.parametrize("setting", BOX_SETTINGS)
def test_groups_that_are_released_one_after_the_other(setting: Setting, rng: np.random.Generator) -> None:
    """Warps wait for products together, between the releases of one lane."""
    BM, K = 16 * setting[0], 128
    a, d = integers(rng, BM, K), integers(rng, BM, K)
    b, e = integers(rng, K, 64), integers(rng, K, 64)
    c, f = poisoned(BM, 64), poisoned(BM, 64)
    compiled = launch(two_products, (1,), a, b, c, d, e, f, K, BM=BM, BN=64, BK=64, setting=setting)
    assert_equal(c, a.double() @ b.double())
    assert_equal(f, d.double() @ e.double())
    assert num_loaders(compiled) == 1
