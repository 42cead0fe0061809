"""Kernels with spaces of configurations, and shapes, for what the tuning model is compared with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import tilewright as tw

Arrays = dict[str, Any]
Shape = tuple[int, ...]
P = tw.powers_of_two


class Workload(NamedTuple):
    """A kernel, what its constants may be, and the launches that it is compared in."""

    kernel: Any
    space: dict[str, Any]
    constraint: Callable[..., bool]
    shapes: tuple[Shape, ...]
    arguments: Callable[..., dict[str, Any]]
    grid: Callable[[Mapping[str, Any]], tuple[int, ...]]


def _random(*shape: int) -> Any:
    return np.random.default_rng(0).standard_normal(shape, dtype=np.float32)


@tw.jit
def matmul(a, b, c, M, N, K, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr):
    rows = tw.program_id(0) * BM + tw.arange(0, BM)
    columns = tw.program_id(1) * BN + tw.arange(0, BN)
    inner = tw.arange(0, BK)
    total = tw.zeros((BM, BN), tw.float32)
    for k in range(0, K, BK):
        is_in = k + inner < K
        x = tw.load(a + rows[:, None] * K + (k + inner)[None, :], mask=(rows < M)[:, None] & is_in[None, :], other=0.0)
        y = tw.load(b + (k + inner)[:, None] * N + columns[None, :], mask=is_in[:, None] & (columns < N)[None, :], other=0.0)
        total = tw.dot(x, y, total)
    tw.store(c + rows[:, None] * N + columns[None, :], total, mask=(rows < M)[:, None] & (columns < N)[None, :])


@tw.jit
def softmax(x, out, M, N, ROWS: tw.constexpr, BLOCK: tw.constexpr):
    rows = tw.program_id(0) * ROWS + tw.arange(0, ROWS)
    most = tw.full((ROWS,), float("-inf"), tw.float32)
    total = tw.zeros((ROWS,), tw.float32)
    for start in range(0, N, BLOCK):
        columns = start + tw.arange(0, BLOCK)
        mask = (rows < M)[:, None] & (columns < N)[None, :]
        v = tw.load(x + rows[:, None] * N + columns[None, :], mask=mask, other=float("-inf"))
        larger = tw.maximum(most, tw.max(v, axis=1))
        total = total * tw.exp(most - larger) + tw.sum(tw.exp(v - larger[:, None]), axis=1)
        most = larger
    for start in range(0, N, BLOCK):
        columns = start + tw.arange(0, BLOCK)
        mask = (rows < M)[:, None] & (columns < N)[None, :]
        v = tw.load(x + rows[:, None] * N + columns[None, :], mask=mask, other=0.0)
        tw.store(out + rows[:, None] * N + columns[None, :], tw.exp(v - most[:, None]) / total[:, None], mask=mask)


@tw.jit
def layer_norm(x, weight, out, M, N, ROWS: tw.constexpr, BLOCK: tw.constexpr):
    rows = tw.program_id(0) * ROWS + tw.arange(0, ROWS)
    total = tw.zeros((ROWS,), tw.float32)
    squares = tw.zeros((ROWS,), tw.float32)
    for start in range(0, N, BLOCK):
        columns = start + tw.arange(0, BLOCK)
        mask = (rows < M)[:, None] & (columns < N)[None, :]
        v = tw.load(x + rows[:, None] * N + columns[None, :], mask=mask, other=0.0)
        total += tw.sum(v, axis=1)
        squares += tw.sum(v * v, axis=1)
    mean = total / N
    scale = 1.0 / tw.sqrt(squares / N - mean * mean + 1e-5)
    for start in range(0, N, BLOCK):
        columns = start + tw.arange(0, BLOCK)
        mask = (rows < M)[:, None] & (columns < N)[None, :]
        v = tw.load(x + rows[:, None] * N + columns[None, :], mask=mask, other=0.0)
        w = tw.load(weight + columns, mask=columns < N, other=0.0)
        tw.store(out + rows[:, None] * N + columns[None, :], (v - mean[:, None]) * scale[:, None] * w[None, :], mask=mask)


@tw.jit
def attention(q, k, v, out, L, D: tw.constexpr, BM: tw.constexpr, BN: tw.constexpr):
    rows = tw.program_id(0) * BM + tw.arange(0, BM)
    base = tw.program_id(1) * L * D
    inner = tw.arange(0, D)
    queries = tw.load(q + base + rows[:, None] * D + inner[None, :], mask=(rows < L)[:, None], other=0.0)
    most = tw.full((BM,), float("-inf"), tw.float32)
    total = tw.zeros((BM,), tw.float32)
    result = tw.zeros((BM, D), tw.float32)
    for start in range(0, L, BN):
        keys = start + tw.arange(0, BN)
        is_in = (keys < L)[:, None]
        block = tw.load(k + base + keys[:, None] * D + inner[None, :], mask=is_in, other=0.0)
        scores = tw.dot(queries, tw.trans(block)) * 0.125
        scores = tw.where((keys < L)[None, :], scores, float("-inf"))
        larger = tw.maximum(most, tw.max(scores, axis=1))
        weights = tw.exp(scores - larger[:, None])
        shrink = tw.exp(most - larger)
        total = total * shrink + tw.sum(weights, axis=1)
        values = tw.load(v + base + keys[:, None] * D + inner[None, :], mask=is_in, other=0.0)
        result = result * shrink[:, None] + tw.dot(weights, values)
        most = larger
    tw.store(out + base + rows[:, None] * D + inner[None, :], result / total[:, None], mask=(rows < L)[:, None])


@tw.jit
def gelu(x, out, n, BLOCK: tw.constexpr):
    at = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    v = tw.load(x + at, mask=at < n)
    inner = 0.7978845608028654 * (v + 0.044715 * v * v * v)
    tw.store(out + at, 0.5 * v * (1.0 + tw.tanh(inner)), mask=at < n)


@tw.jit
def transpose(x, out, M, N, BM: tw.constexpr, BN: tw.constexpr):
    rows = tw.program_id(0) * BM + tw.arange(0, BM)
    columns = tw.program_id(1) * BN + tw.arange(0, BN)
    mask = (rows < M)[:, None] & (columns < N)[None, :]
    v = tw.load(x + rows[:, None] * N + columns[None, :], mask=mask)
    tw.store(out + columns[:, None] * M + rows[None, :], tw.trans(v), mask=tw.trans(mask))


@tw.jit
def sum_columns(x, out, M, N, ROWS: tw.constexpr, BLOCK: tw.constexpr):
    columns = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    total = tw.zeros((BLOCK,), tw.float32)
    for start in range(0, M, ROWS):
        rows = start + tw.arange(0, ROWS)
        mask = (rows < M)[:, None] & (columns < N)[None, :]
        total += tw.sum(tw.load(x + rows[:, None] * N + columns[None, :], mask=mask, other=0.0), axis=0)
    tw.store(out + columns, total, mask=columns < N)


def _product(M: int, N: int, K: int) -> Arrays:
    return {"a": _random(M, K), "b": _random(K, N), "c": _random(M, N), "M": M, "N": N, "K": K}


def _rows(M: int, N: int) -> Arrays:
    return {"x": _random(M, N), "out": _random(M, N), "M": M, "N": N}


def _attended(heads: int, L: int, D: int) -> Arrays:
    arrays = {name: _random(heads, L, D) for name in ("q", "k", "v", "out")}
    return {**arrays, "L": L, "D": D}


def _tiles(a: Mapping[str, Any]) -> tuple[int, ...]:
    return (tw.cdiv(a["M"], a["BM"]), tw.cdiv(a["N"], a["BN"]))


_ROW_SPACE = {"ROWS": P(1, 32), "BLOCK": P(64, 4096)}
_ROW_SHAPES = ((4096, 256), (1024, 1000), (256, 4096), (64, 16384))


def _is_row_tile(ROWS: int, BLOCK: int, **_: Any) -> bool:
    return 256 <= ROWS * BLOCK <= 16384


def _row_grid(a: Mapping[str, Any]) -> tuple[int, ...]:
    return (tw.cdiv(a["M"], a["ROWS"]),)


WORKLOADS: dict[str, Workload] = {
    "matmul": Workload(
        matmul, {"BM": P(16, 256), "BN": P(32, 256), "BK": tw.choice(32, 128)}, lambda **_: True,
        ((512, 512, 512), (1000, 1000, 1000), (64, 2048, 1024), (2048, 256, 300)), _product, _tiles,
    ),
    "softmax": Workload(softmax, _ROW_SPACE, _is_row_tile, _ROW_SHAPES, _rows, _row_grid),
    "layer_norm": Workload(
        layer_norm, _ROW_SPACE, _is_row_tile, _ROW_SHAPES,
        lambda M, N: {**_rows(M, N), "weight": _random(N)}, _row_grid,
    ),
    "attention": Workload(
        attention, {"BM": P(16, 256), "BN": P(16, 256)}, lambda **_: True,
        ((4, 512, 64), (2, 1000, 64), (16, 128, 64), (2, 1024, 128)), _attended,
        lambda a: (tw.cdiv(a["L"], a["BM"]), a["q"].shape[0]),
    ),
    "gelu": Workload(
        gelu, {"BLOCK": P(64, 262144)}, lambda **_: True,
        ((10_000,), (100_000,), (1_000_000,), (8_000_000,)),
        lambda n: {"x": _random(n), "out": _random(n), "n": n},
        lambda a: (tw.cdiv(a["n"], a["BLOCK"]),),
    ),
    "transpose": Workload(
        transpose, {"BM": P(4, 256), "BN": P(4, 256)}, lambda BM, BN: BM * BN <= 16384,
        ((256, 256), (1000, 1000), (4096, 300), (2048, 2048)),
        lambda M, N: {"x": _random(M, N), "out": _random(N, M), "M": M, "N": N}, _tiles,
    ),
    "sum_columns": Workload(
        sum_columns, {"ROWS": P(1, 64), "BLOCK": P(16, 1024)}, lambda ROWS, BLOCK: ROWS * BLOCK <= 16384,
        ((1000, 1000), (16384, 64), (256, 8192), (4096, 1024)),
        lambda M, N: {"x": _random(M, N), "out": _random(N), "M": M, "N": N},
        lambda a: (tw.cdiv(a["N"], a["BLOCK"]),),
    ),
}  # fmt: skip
