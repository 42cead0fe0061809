"""Direct copies are waited for where waves leave some of them out."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw

pytestmark = pytest.mark.usefixtures("compiler")


@tw.jit
def product_of_addresses(
    table, M, N, K, STAGES: tw.constexpr, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr
):
    """Loaded addresses have no bounds: masked copies are in branches."""
    a = tw.multiple_of(tw.load(table).to(tw.pointer_type(tw.float16)), 16)
    b = tw.multiple_of(tw.load(table + 1).to(tw.pointer_type(tw.float16)), 16)
    c = tw.load(table + 2).to(tw.pointer_type(tw.float32))
    rows = tw.program_id(0) * BM + tw.arange(0, BM)
    columns = tw.program_id(1) * BN + tw.arange(0, BN)
    total = tw.zeros((BM, BN), tw.float32)
    for first in tw.range(0, K, BK, num_stages=STAGES):
        depth = first + tw.arange(0, BK)
        x_mask = (rows[:, None] < M) & (depth[None, :] < K)
        y_mask = (depth[:, None] < K) & (columns[None, :] < N)
        x = tw.load(a + rows[:, None] * K + depth[None, :], mask=x_mask, other=0.0)
        y = tw.load(b + depth[:, None] * N + columns[None, :], mask=y_mask, other=0.0)
        total = tw.dot(x, y, total)
    kept = (rows[:, None] < M) & (columns[None, :] < N)
    tw.store(c + rows[:, None] * N + columns[None, :], total, mask=kept)


@pytest.mark.parametrize("completion", ["late", "random"])
@pytest.mark.parametrize("stages", [2, 3, 4])
@pytest.mark.parametrize("m, n, k", [(128, 64, 192), (70, 64, 160), (33, 96, 32), (64, 64, 0)])
def test_waves_leave_out_copies(
    m: int, n: int, k: int, stages: int, completion: str, rng: np.random.Generator
) -> None:
    a, b = rng.standard_normal((m, k)).astype(np.float16), rng.standard_normal((k, n)).astype(np.float16)
    c = np.full((m, n), 777, np.float32)
    table = np.array([each.ctypes.data for each in (a, b, c)], np.int64)
    device = "sim:gfx950"
    with tw.device(device), tw.simulation.simulate(device, completion=completion, arrays=[a, b, c]):
        kernel = product_of_addresses[(tw.cdiv(m, 64), tw.cdiv(n, 64))](
            table, m, n, k, STAGES=stages, BM=64, BN=64, BK=32
        )
    assert "global.load.lds" in kernel.asm["llvm"]
    np.testing.assert_allclose(c, a.astype(np.float64) @ b.astype(np.float64), rtol=1e-3, atol=1e-3)
