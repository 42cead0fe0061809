"""On sm_90a a product of what an iteration computes from its other products runs beside the next iteration."""

from __future__ import annotations

import re

import numpy as np
import pytest
from gpu.launching import Setting
from gpu.products.test_gpu_matmul import launch, poisoned

import tilewright as tw

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.usefixtures("compiler", "hopper"), pytest.mark.one_machine]


@tw.jit
def attend(
    q, k, v, more, o, N, scale,
    FORM: tw.constexpr, BM: tw.constexpr, BN: tw.constexpr, D: tw.constexpr,
):  # fmt: skip
    """Softmax over unscaled peaks: each form has a loop of other products or needs other values."""
    m, n, d = tw.arange(0, BM), tw.arange(0, BN), tw.arange(0, D)
    at = (tw.program_id(0) * BM + m)[:, None] * D + d[None, :]
    query = tw.load(q + at)
    norm, acc = tw.zeros((BM,), tw.float32), tw.zeros((BM, D), tw.float32)
    other, peak = tw.zeros((BM, D), tw.float32), tw.full((BM,), -8.0, tw.float32)
    for start in range(0, N, BN):
        places = (start + n)[:, None] * D + d[None, :]
        key = tw.load(k + places)
        score = tw.dot(query, key.T)
        if FORM == "two scores":
            score = tw.dot(query, tw.load(more + places).T, score)
        if FORM == "a branch":
            if start > BN:
                score *= 0.5
        above = tw.maximum(peak, tw.max(score * scale, 1))
        p = tw.exp2(score * scale - above[:, None])
        factor = tw.exp2(peak - above)
        norm, peak = norm * factor + tw.sum(p, 1), above
        if FORM == "sum needed":
            norm += tw.sum(acc, 1) * 0.0
        acc *= factor[:, None]
        if FORM == "keys are values":
            acc = tw.dot(p.to(tw.float16), key, acc)
        elif FORM == "added":
            acc += tw.dot(p.to(tw.float16), tw.load(v + places))
        else:
            acc = tw.dot(p.to(tw.float16), tw.load(v + places), acc)
        if FORM == "two results":
            other = tw.dot(p.to(tw.float16), tw.load(more + places), other * factor[:, None])
    tw.store(o + at, (acc + other) / norm[:, None])


LATE = ["plain", "two scores", "a branch", "keys are values", "added"]


@pytest.mark.parametrize("N", [64, 128, 320])
@pytest.mark.parametrize("setting", [(4, 2, "early"), (4, 3, "late"), (8, 4, "random"), (8, 2, "late")])
@pytest.mark.parametrize("form", [*LATE, "two results", "sum needed"])
def test_late_products(form: str, setting: Setting, N: int, rng: np.random.Generator) -> None:
    """Loops of one, two and more iterations; one whose product others wait for stays as it is, and so
    does one whose slots all products read, if there are only two."""
    BM = 16 * setting[0]
    k, v, more = (torch.from_numpy(rng.normal(size=(N, 64))).half() for _ in range(3))
    q = torch.from_numpy(rng.normal(size=(2 * BM, 64))).half()
    out = poisoned(2 * BM, 64, dtype=torch.float32)
    compiled = launch(
        attend, (2,), q, k, v, more, out, N, 0.1, FORM=form, BM=BM, BN=64, D=64, setting=setting
    )
    score = q.double() @ (k.double() + (more.double() if form == "two scores" else 0)).T
    if form == "a branch":
        score[:, 128:] *= 0.5
    values = (k if form == "keys are values" else v).double()
    p = torch.softmax(score * 0.1 * np.log(2), -1)
    expected = p @ (values + (more.double() if form == "two results" else 0))
    torch.testing.assert_close(out.double(), expected, rtol=4e-3, atol=4e-3)
    beside = [r for r in compiled.remarks if "beside the next iteration" in r["message"]]
    is_late = form in LATE and not (form == "keys are values" and setting[1] == 2)
    assert len(beside) == is_late
    # The scores are awaited while the late product runs.
    waits = re.findall(r"wgmma\.wait_group\.sync\.aligned (\d)", compiled.asm["ptx"])
    assert ("1" in waits) == is_late
    # Two groups of warps take turns with starting products.
    assert ("bar.arrive" in compiled.asm["ptx"]) == (is_late and setting[0] == 8)


@tw.jit
def attend_masked(
    q, k, v, o, N, scale,
    CAUSAL: tw.constexpr, BM: tw.constexpr, BN: tw.constexpr, D: tw.constexpr,
):  # fmt: skip
    """Attention with masks: of the keys' end, and above the diagonal."""
    first = tw.program_id(0) * BM
    m, n, d = first + tw.arange(0, BM), tw.arange(0, BN), tw.arange(0, D)
    at = m[:, None] * D + d[None, :]
    query = tw.load(q + at)
    norm, acc = tw.zeros((BM,), tw.float32), tw.zeros((BM, D), tw.float32)
    peak = tw.full((BM,), -float("inf"), tw.float32)
    end = N
    if CAUSAL:
        end = min(N, first + BM)
    for start in range(0, end, BN):
        keys = start + n
        places, exists = keys[:, None] * D + d[None, :], (keys < N)[:, None]
        score = tw.dot(query, tw.load(k + places, exists, 0.0).T)
        seen = (keys < N)[None, :]
        if CAUSAL:
            seen = seen & (m[:, None] >= keys[None, :])
        score = tw.where(seen, score, -float("inf"))
        above = tw.maximum(peak, tw.max(score, 1) * scale)
        p = tw.exp2(score * scale - above[:, None])
        factor = tw.exp2(peak - above)
        norm, peak = norm * factor + tw.sum(p, 1), above
        acc = tw.dot(p.to(tw.float16), tw.load(v + places, exists, 0.0), acc * factor[:, None])
    tw.store(o + at, acc / norm[:, None])


@pytest.mark.parametrize("N", [9, 64, 100, 128, 200, 333])
@pytest.mark.parametrize("setting", [(4, 2, "early"), (4, 3, "late"), (8, 4, "random"), (8, 2, "late")])
@pytest.mark.parametrize("is_causal", [False, True])
def test_masked_iterations(is_causal: bool, setting: Setting, N: int, rng: np.random.Generator) -> None:
    """No iteration without masks, some, and one or more with masks behind them. At an array's end they
    use the loop's code, which has each product once; the last one stands behind it."""
    BM = 16 * setting[0]
    k, v = (torch.from_numpy(rng.normal(size=(N, 64))).half() for _ in range(2))
    q = torch.from_numpy(rng.normal(size=(3 * BM, 64))).half()
    out = poisoned(3 * BM, 64, dtype=torch.float32)
    compiled = launch(
        attend_masked, (3,), q, k, v, out, N, 0.1, CAUSAL=is_causal, BM=BM, BN=64, D=64, setting=setting
    )
    score = q.double() @ k.double().T
    if is_causal:
        score[torch.arange(3 * BM)[:, None] < torch.arange(N)[None, :]] = -float("inf")
    expected = torch.softmax(score * 0.1 * np.log(2), -1) @ v.double()
    torch.testing.assert_close(out.double(), expected, rtol=4e-3, atol=4e-3)
    assert compiled.asm["ptx"].count("wgmma.commit_group") == (5 if is_causal else 3)


@tw.jit
def attend_scaled(
    q, k, v, o, N, scale,
    FORM: tw.constexpr, BM: tw.constexpr, BN: tw.constexpr, D: tw.constexpr,
):  # fmt: skip
    """Attention that masks scores behind the scale, adds the mask to them, or masks the weights as well;
    with slopes, two scaled values make a sum."""
    m, n, d = tw.program_id(0) * BM + tw.arange(0, BM), tw.arange(0, BN), tw.arange(0, D)
    at = m[:, None] * D + d[None, :]
    query = tw.load(q + at)
    norm, acc = tw.zeros((BM,), tw.float32), tw.zeros((BM, D), tw.float32)
    peak = tw.full((BM,), -float("inf"), tw.float32)
    for start in range(0, N, BN):
        keys = start + n
        places, exists, seen = keys[:, None] * D + d[None, :], (keys < N)[:, None], (keys < N)[None, :]
        score = tw.dot(query, tw.load(k + places, exists, 0.0).T) * scale
        if FORM == "slopes":
            score += 0.01 * tw.abs(m[:, None] - keys[None, :]).to(tw.float32)
        if FORM == "scores" or FORM == "slopes":
            score = tw.where(seen, score, -float("inf"))
        if FORM == "added":
            score += tw.where(seen, 0, -1.0e6)
        above = tw.maximum(peak, tw.max(tw.where(seen, score, -float("inf")) if FORM == "weights" else score, 1))
        p = tw.exp2(score - above[:, None])
        if FORM == "weights":
            p = tw.where(seen, p, 0.0)
        factor = tw.exp2(peak - above)
        norm, peak = norm * factor + tw.sum(p, 1), above
        acc = tw.dot(p.to(tw.float16), tw.load(v + places, exists, 0.0), acc * factor[:, None])
    tw.store(o + at, acc / norm[:, None])


@pytest.mark.parametrize("N", [64, 100, 333])
@pytest.mark.parametrize("setting", [(4, 2, "late"), (8, 3, "random")])
@pytest.mark.parametrize("form", ["scores", "slopes", "added", "weights"])
def test_forms_of_masks(form: str, setting: Setting, N: int, rng: np.random.Generator) -> None:
    """Scales of unknown sign; iterations differ in several values, and use one code."""
    BM = 16 * setting[0]
    k, v = (torch.from_numpy(rng.normal(size=(N, 64))).half() for _ in range(2))
    q = torch.from_numpy(rng.normal(size=(2 * BM, 64))).half()
    for scale in (0.1, -0.1):
        out = poisoned(2 * BM, 64, dtype=torch.float32)
        compiled = launch(
            attend_scaled, (2,), q, k, v, out, N, scale, FORM=form, BM=BM, BN=64, D=64, setting=setting
        )
        score = q.double() @ k.double().T * scale
        if form == "slopes":
            score += 0.01 * (torch.arange(2 * BM)[:, None] - torch.arange(N)[None, :]).abs()
        expected = torch.softmax(score * np.log(2), -1) @ v.double()
        torch.testing.assert_close(out.double(), expected, rtol=4e-3, atol=4e-3)
        assert compiled.asm["ptx"].count("wgmma.commit_group") == 3


@tw.jit
def attend_late_keys(
    q, k, v, o, first, N, scale,
    FORM: tw.constexpr, EXP: tw.constexpr, BM: tw.constexpr, BN: tw.constexpr, D: tw.constexpr,
):  # fmt: skip
    """Attention to keys from `first` on: a large number stands for the others, before the scale."""
    m, n, d = tw.program_id(0) * BM + tw.arange(0, BM), tw.arange(0, BN), tw.arange(0, D)
    at = m[:, None] * D + d[None, :]
    query = tw.load(q + at)
    norm, acc = tw.zeros((BM,), tw.float32), tw.zeros((BM, D), tw.float32)
    peak = tw.full((BM,), -float("inf"), tw.float32)
    for start in range(0, N, BN):
        keys = start + n
        places = keys[:, None] * D + d[None, :]
        score = tw.where((keys >= first)[None, :], tw.dot(query, tw.load(k + places).T), -1.0e30)
        if FORM == "scaled":
            score *= scale
            above = tw.maximum(peak, tw.max(score, 1))
            exponent = score - above[:, None]
        else:
            above = tw.maximum(peak, tw.max(score, 1) * scale)
            exponent = score * scale - above[:, None]
        p = tw.exp(exponent) if EXP == "exp" else tw.exp2(exponent)
        factor = tw.exp(peak - above) if EXP == "exp" else tw.exp2(peak - above)
        norm, peak = norm * factor + tw.sum(p, 1), above
        acc = tw.dot(p.to(tw.float16), tw.load(v + places), acc * factor[:, None])
    tw.store(o + at, acc / norm[:, None])


@pytest.mark.parametrize("exp", ["exp", "exp2"])
@pytest.mark.parametrize("form", ["scaled", "fused"])
def test_large_numbers_in_place_of_masked_scores(form: str, exp: str, rng: np.random.Generator) -> None:
    """A block without a score has the weights exp(0), which the next one makes 0: its scores are rounded as their
    maximum is."""
    N, first = 192, 100
    k, v = (torch.from_numpy(rng.normal(size=(N, 64))).half() for _ in range(2))
    q, out = torch.from_numpy(rng.normal(size=(64, 64))).half(), poisoned(64, 64, dtype=torch.float32)
    for scale in (1.0, 0.1):
        launch(
            attend_late_keys, (1,), q, k, v, out, first, N, scale,
            FORM=form, EXP=exp, BM=64, BN=64, D=64, setting=(4, 2, "late"),
        )  # fmt: skip
        score = q.double() @ k.double().T[:, first:] * scale * (1 if exp == "exp" else np.log(2))
        expected = torch.softmax(score, -1) @ v.double()[first:]
        torch.testing.assert_close(out.double(), expected, rtol=4e-3, atol=4e-3)
