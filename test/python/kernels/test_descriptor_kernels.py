"""Matrix products and attention written with block pointers and with tensor descriptors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw


@tw.jit
def matmul_blocks(a, b, c, M, N, K, sam, sak, sbk, sbn, scm, scn, BM: tw.constexpr,
                  BN: tw.constexpr, BK: tw.constexpr):  # fmt: skip
    row, column = tw.program_id(0) * BM, tw.program_id(1) * BN
    pa = tw.make_block_ptr(a, (M, K), (sam, sak), (row, 0), (BM, BK), (1, 0))
    pb = tw.make_block_ptr(b, (K, N), (sbk, sbn), (0, column), (BK, BN), (1, 0))
    total = tw.zeros((BM, BN), tw.float32)
    for _ in range(0, K, BK):
        left = tw.load(pa, boundary_check=(0, 1))
        right = tw.load(pb, boundary_check=(0, 1), padding_option="zero")
        total = tw.dot(left, right, total)
        pa = tw.advance(pa, (0, BK))
        pb = tw.advance(pb, (BK, 0))
    pc = tw.make_block_ptr(c, (M, N), (scm, scn), (row, column), (BM, BN), (1, 0))
    tw.store(pc, total.to(pc.dtype.element_ty), boundary_check=(0, 1))


@tw.jit
def matmul_persistent(a, b, c, M, N, K, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr,
                      GROUP: tw.constexpr):  # fmt: skip
    left = tw.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    right = tw.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])  # transposed in memory
    out = tw.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    rows, columns = tw.cdiv(M, BM), tw.cdiv(N, BN)
    per_group = GROUP * columns
    for tile in tw.range(tw.program_id(0), rows * columns, tw.num_programs(0), flatten=True):
        first = tile // per_group * GROUP
        size = min(rows - first, GROUP)
        i = (first + tile % size) * BM
        j = tile % per_group // size * BN
        total = tw.zeros((BM, BN), tw.float32)
        for k in range(tw.cdiv(K, BK)):
            total = tw.dot(left.load([i, k * BK]), right.load([j, k * BK]).T, total)
        out.store([i, j], total.to(out.dtype))


@pytest.mark.parametrize("shape", [(64, 64, 64), (50, 70, 90), (17, 33, 8)])
def test_matmul_by_block_pointers(
    shape: tuple[int, int, int], device: str, rng: np.random.Generator
) -> None:
    m, n, k = shape
    a, b = (rng.standard_normal(s).astype(np.float16) for s in ((m, k), (n, k)))
    expected = a.astype(np.float64) @ b.T.astype(np.float64)
    for right, strides in ((b.T.copy(), (n, 1)), (b, (1, k))):
        c = np.full((m, n), np.nan, np.float16)
        grid = (tw.cdiv(m, 32), tw.cdiv(n, 32))
        matmul_blocks[grid](a, right, c, m, n, k, k, 1, *strides, n, 1, BM=32, BN=32, BK=32)
        np.testing.assert_allclose(c, expected, rtol=2e-3, atol=2e-2)


@pytest.mark.parametrize("shape", [(64, 64, 64), (50, 70, 90)])
def test_persistent_matmul_by_descriptors(
    shape: tuple[int, int, int], device: str, rng: np.random.Generator
) -> None:
    m, n, k = shape
    a, b = (rng.standard_normal(s).astype(np.float16) for s in ((m, k), (n, k)))
    c = np.full((m, n), np.nan, np.float16)
    matmul_persistent[(3,)](a, b, c, m, n, k, BM=16, BN=32, BK=32, GROUP=2)
    expected = a.astype(np.float64) @ b.T.astype(np.float64)
    np.testing.assert_allclose(c, expected, rtol=2e-3, atol=2e-2)


@tw.jit
def attend(acc, top, norm, q, k, v, mask, scale):
    score = tw.where(mask, tw.dot(q, k) * scale, float("-inf"))
    new_top = tw.maximum(top, tw.max(score, 1))
    weight = tw.exp2(score - new_top[:, None])
    shrink = tw.exp2(top - new_top)
    acc = tw.dot(weight.to(v.dtype), v, acc * shrink[:, None])
    return acc, new_top, norm * shrink + tw.sum(weight, 1)


@tw.jit
def attention_blocks(Q, K, V, O, scale, S, D: tw.constexpr, BM: tw.constexpr, BN: tw.constexpr,
                     CAUSAL: tw.constexpr):  # fmt: skip
    start, head = tw.program_id(0) * BM, tw.program_id(1).to(tw.int64) * S * D
    pq = tw.make_block_ptr(Q + head, (S, D), (D, 1), (start, 0), (BM, D), (1, 0))
    pk = tw.make_block_ptr(K + head, (D, S), (1, D), (0, 0), (D, BN), (0, 1))
    pv = tw.make_block_ptr(V + head, (S, D), (D, 1), (0, 0), (BN, D), (1, 0))
    q = tw.load(pq, boundary_check=(0,))
    rows = start + tw.arange(0, BM)
    acc = tw.zeros((BM, D), tw.float32)
    top = tw.full((BM,), float("-inf"), tw.float32)
    norm = tw.zeros((BM,), tw.float32)
    end = min(start + BM, S) if CAUSAL else S
    for j in range(0, end, BN):
        columns = j + tw.arange(0, BN)
        mask = columns[None, :] < S
        if CAUSAL:
            mask &= columns[None, :] <= rows[:, None]
        k, v = tw.load(pk, boundary_check=(1,)), tw.load(pv, boundary_check=(0,))
        acc, top, norm = attend(acc, top, norm, q, k, v, mask, scale)
        pk, pv = tw.advance(pk, (0, BN)), tw.advance(pv, (BN, 0))
    po = tw.make_block_ptr(O + head, (S, D), (D, 1), (start, 0), (BM, D), (1, 0))
    tw.store(po, (acc / norm[:, None]).to(O.dtype.element_ty), boundary_check=(0,))


@tw.jit
def attention_descriptors(Q, K, V, O, scale, H, S, D: tw.constexpr, BM: tw.constexpr,
                          BN: tw.constexpr, CAUSAL: tw.constexpr):  # fmt: skip
    start, head = tw.program_id(0) * BM, tw.program_id(1)
    shape, strides = [H, S, D], [S * D, D, 1]
    queries = tw.make_tensor_descriptor(Q, shape, strides, [1, BM, D])
    keys = tw.make_tensor_descriptor(K, shape, strides, [1, BN, D])
    values = tw.make_tensor_descriptor(V, shape, strides, [1, BN, D])
    q = queries.load([head, start, 0]).reshape(BM, D)
    rows = start + tw.arange(0, BM)
    acc = tw.zeros((BM, D), tw.float32)
    top = tw.full((BM,), float("-inf"), tw.float32)
    norm = tw.zeros((BM,), tw.float32)
    end = min(start + BM, S) if CAUSAL else S
    for j in range(0, end, BN):
        columns = j + tw.arange(0, BN)
        mask = columns[None, :] < S
        if CAUSAL:
            mask &= columns[None, :] <= rows[:, None]
        k = keys.load([head, j, 0]).reshape(BN, D).T
        v = values.load([head, j, 0]).reshape(BN, D)
        acc, top, norm = attend(acc, top, norm, q, k, v, mask, scale)
    out = tw.make_tensor_descriptor(O, shape, strides, [1, BM, D])
    out.store([head, start, 0], (acc / norm[:, None]).to(O.dtype.element_ty).reshape(1, BM, D))


def attention(q: Any, k: Any, v: Any, is_causal: bool) -> Any:
    score = np.einsum("hid,hjd->hij", *(x.astype(np.float64) for x in (q, k))) / q.shape[2] ** 0.5
    if is_causal:
        score[:, np.triu(np.ones(score.shape[1:], bool), 1)] = -np.inf
    weight = np.exp(score - score.max(2, keepdims=True))
    return np.einsum("hij,hjd->hid", weight / weight.sum(2, keepdims=True), v.astype(np.float64))


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("form", ["blocks", "descriptors"])
def test_attention(form: str, is_causal: bool, device: str, rng: np.random.Generator) -> None:
    heads, length, size = 2, 40, 16
    q, k, v = (rng.standard_normal((heads, length, size)).astype(np.float16) for _ in range(3))
    out = np.full_like(q, np.nan)
    scale = 1.4426950408889634 / size**0.5
    grid = (tw.cdiv(length, 16), heads)
    if form == "blocks":
        attention_blocks[grid](q, k, v, out, scale, length, size, 16, 16, is_causal)
    else:
        attention_descriptors[grid](q, k, v, out, scale, heads, length, size, 16, 16, is_causal)
    np.testing.assert_allclose(out, attention(q, k, v, is_causal), rtol=3e-3, atol=3e-3)
