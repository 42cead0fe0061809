"""`tw.range(num_stages=N)` pipelines loops that have no matrix product, and only those."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw

SIM = "sim:sm_80"


@tw.jit
def row_sums(x, out, n, BLOCK: tw.constexpr, STAGES: tw.constexpr):
    row = x + tw.program_id(0) * n
    total = tw.zeros([BLOCK], tw.float32)
    for start in tw.range(0, n, BLOCK, num_stages=STAGES):
        columns = start + tw.arange(0, BLOCK)
        total += tw.load(row + columns, mask=columns < n, other=0.0)
    tw.store(out + tw.program_id(0), tw.sum(total, 0))


@pytest.mark.parametrize("completion", ["late", "random"])
@pytest.mark.parametrize("stages", [1, 2, 4])
@pytest.mark.parametrize("n", [0, 128, 700])
def test_sums_of_rows(
    n: int, stages: int, completion: str, compiler: None, rng: np.random.Generator
) -> None:
    x = rng.integers(-8, 9, (3, n)).astype(np.float32)
    out = np.full(3, np.nan, np.float32)
    with tw.device(SIM), tw.simulation.simulate(SIM, completion=completion):
        compiled = row_sums[(3,)](x, out, n, BLOCK=128, STAGES=stages)
    np.testing.assert_array_equal(out, x.sum(1))
    ptx = compiled.asm["ptx"]
    copies = ptx.count("cp.async.ca") + ptx.count("cp.async.cg")
    # One piece a lane and iteration: of those before the loop, and of the one in it.
    assert copies == (stages if stages > 1 else 0)
