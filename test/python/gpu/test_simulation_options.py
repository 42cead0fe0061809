"""Options of the simulator: when asynchronous copies arrive, and how matrix products round."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw

SIM = "sim:sm_80"


@tw.jit
def double(out, x, BLOCK: tw.constexpr):
    index = tw.arange(0, BLOCK)
    tw.store(out + index, tw.load(x + index) * 2)


@pytest.mark.parametrize("completion", tw.simulation.COMPLETIONS)
@pytest.mark.parametrize("arithmetic", tw.simulation.ARITHMETICS)
def test_kernels_run_with_every_option(completion: str, arithmetic: str) -> None:
    x = np.arange(64, dtype=np.float32)
    out = np.full_like(x, np.nan)
    with (
        tw.device(SIM),
        tw.simulation.simulate(SIM, completion=completion, arithmetic=arithmetic, seed=3),
    ):
        double[(1,)](out, x, BLOCK=64)
    np.testing.assert_array_equal(out, 2 * x)
    assert tw.simulation.last_report(SIM).statistics["async_copies"] == 0


@pytest.mark.parametrize("option", ["completion", "arithmetic"])
def test_an_unknown_word_is_refused(option: str) -> None:
    with pytest.raises(ValueError, match=f"no {option} 'quick'"):
        with tw.simulation.simulate(SIM, **{option: "quick"}):
            pass
