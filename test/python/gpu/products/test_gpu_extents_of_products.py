"""Matrix products of tiles whose extents are not powers of two, on the simulator of a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from gpu.launching import WARPS, normal, poisoned, rows_by_columns, run, simulator

import tilewright as tw

pytestmark = pytest.mark.usefixtures("compiler")



@tw.jit
def product(out, x, y, M: tw.constexpr, N: tw.constexpr, K: tw.constexpr):
    # exp makes infinities and ones of what the padding may hold.
    a, b = tw.load(rows_by_columns(x, M, K)), tw.load(rows_by_columns(y, K, N))
    dtype: tw.constexpr = x.dtype.element_ty
    r = tw.dot(tw.exp(a).to(dtype), (1 / b).to(dtype), out_dtype=tw.float32)
    tw.store(rows_by_columns(out, M, N), r)


@pytest.mark.parametrize("num_warps", WARPS)
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("shape", [(16, 48, 80), (96, 24, 48), (33, 17, 40), (64, 96, 16)])
def test_products(
    shape: tuple[int, ...], dtype: Any, num_warps: int, rng: np.random.Generator
) -> None:
    m, n, k = shape
    x, y = rng.uniform(0, 1, (m, k)).astype(dtype), rng.uniform(1, 2, (k, n)).astype(dtype)
    out = poisoned(m, n)
    with tw.device(simulator()):
        product[(1,)](out, x, y, m, n, k, num_warps=num_warps)
    expected = np.exp(x.astype(np.float64)) @ (1 / y.astype(np.float64))
    assert np.allclose(out, expected, rtol=3e-3 if dtype == np.float16 else 1e-5)


@tw.jit
def tiled_product(
    out, x, y, m, n, k, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr,
):  # fmt: skip
    rows = tw.program_id(0) * BM + tw.arange(0, BM)
    columns = tw.program_id(1) * BN + tw.arange(0, BN)
    depth = tw.arange(0, BK)
    acc = tw.zeros((BM, BN), tw.float32)
    for start in range(0, k, BK):
        at = start + depth
        a = tw.load(x + rows[:, None] * k + at[None, :],
                    mask=(rows[:, None] < m) & (at[None, :] < k), other=0.0)  # fmt: skip
        b = tw.load(y + at[:, None] * n + columns[None, :],
                    mask=(at[:, None] < k) & (columns[None, :] < n), other=0.0)  # fmt: skip
        acc = tw.dot(a, b, acc)
    inside = (rows[:, None] < m) & (columns[None, :] < n)
    tw.store(out + rows[:, None] * n + columns[None, :], acc, mask=inside)


@pytest.mark.parametrize("num_stages", [1, 3])
@pytest.mark.parametrize("num_warps", WARPS)
def test_pipelined_products(num_warps: int, num_stages: int, rng: np.random.Generator) -> None:
    m, n, k = 100, 112, 208
    x, y = normal(rng, m, k, dtype=np.float16), normal(rng, k, n, dtype=np.float16)
    out = poisoned(m, n)
    options = {"num_warps": num_warps, "num_stages": num_stages}
    run(tiled_product, (2, 2), out, x, y, m, n, k, 80, 96, 48, **options)
    assert np.allclose(out, x.astype(np.float64) @ y.astype(np.float64), rtol=1e-3, atol=1e-2)


@pytest.mark.one_machine
def test_a_pipelined_product_uses_matrix_instructions_and_async_copies() -> None:
    signature = {"out": "*fp32:16", "x": "*fp16:16", "y": "*fp16:16", "m": "i32", "n": "i32:16",
                 "k": "i32:16"}  # fmt: skip
    compiled = tiled_product.compile(signature, {"BM": 80, "BN": 96, "BK": 48}, simulator())
    assert "mma.sync" in compiled.asm["ptx"] and "cp.async.cg.shared.global" in compiled.asm["ptx"]
    said = [r["message"] for r in compiled.remarks if r["code"] == "TW0331"]
    assert "a tile of 80 x 48 elements takes the room of 128 x 64" in said


@tw.jit
def attend(out, q, k, v, n, D: tw.constexpr, BM: tw.constexpr, BN: tw.constexpr):
    rows, d = tw.program_id(0) * BM + tw.arange(0, BM), tw.arange(0, D)
    queries = tw.load(q + rows[:, None] * D + d[None, :])
    top, norm = tw.full((BM,), -float("inf"), tw.float32), tw.zeros((BM,), tw.float32)
    acc = tw.zeros((BM, D), tw.float32)
    for start in range(0, n, BN):
        at = start + tw.arange(0, BN)
        keys = tw.load(k + at[None, :] * D + d[:, None])
        scores = tw.dot(queries, keys)
        higher = tw.maximum(top, tw.max(scores, 1))
        p = tw.exp(scores - higher[:, None])
        shrink = tw.exp(top - higher)
        norm = norm * shrink + tw.sum(p, 1)
        values = tw.load(v + at[:, None] * D + d[None, :])
        acc = tw.dot(p.to(tw.float16), values, acc * shrink[:, None])
        top = higher
    tw.store(out + rows[:, None] * D + d[None, :], acc / norm[:, None])


@pytest.mark.parametrize("num_warps", [1, 4, 8])
@pytest.mark.parametrize(("width", "block"), [(80, 48), (96, 64), (24, 40)])
def test_attention(width: int, block: int, num_warps: int, rng: np.random.Generator) -> None:
    n = 2 * block
    q, k, v = (normal(rng, n, width, dtype=np.float16) for _ in range(3))
    out = poisoned(n, width)
    run(attend, (2,), out, q, k, v, n, width, block, block, num_warps=num_warps)
    scores = q.astype(np.float64) @ k.astype(np.float64).T
    p = np.exp(scores - scores.max(1, keepdims=True))
    expected = p / p.sum(1, keepdims=True) @ v.astype(np.float64)
    assert np.allclose(out, expected, atol=1e-2)


@tw.jit
def scaled_product(
    out, x, x_scale, y, y_scale, M: tw.constexpr, N: tw.constexpr, K: tw.constexpr,
):  # fmt: skip
    a, b = tw.load(rows_by_columns(x, M, K)), tw.load(rows_by_columns(y, K, N))
    groups: tw.constexpr = K // 32
    a_scale, b_scale = (
        tw.load(rows_by_columns(x_scale, M, groups)), tw.load(rows_by_columns(y_scale, N, groups)),
    )  # fmt: skip
    r = tw.dot_scaled(a, a_scale, "e5m2", b, b_scale, "e5m2")
    tw.store(rows_by_columns(out, M, N), r)


@pytest.mark.parametrize("num_warps", WARPS)
def test_scaled_products(num_warps: int) -> None:
    m, n, k = 24, 40, 96
    x, y = (torch.randn(shape).to(torch.float8_e5m2) for shape in ((m, k), (k, n)))
    x_scale, y_scale = (torch.randint(124, 130, (e, 3), dtype=torch.uint8) for e in (m, n))
    out = poisoned(m, n)
    bits = [x.view(torch.uint8), x_scale, y.view(torch.uint8), y_scale]
    with tw.device(simulator()):
        scaled_product[(1,)](out, *bits, m, n, k, num_warps=num_warps)
    a = x.double() * torch.exp2(x_scale.double() - 127).repeat_interleave(32, 1)
    b = y.double() * torch.exp2(y_scale.double() - 127).repeat_interleave(32, 1).T
    assert np.allclose(out, (a @ b).numpy(), rtol=1e-4, atol=1e-3)
