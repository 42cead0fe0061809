"""The machine code of kernels for AMD's GPUs computes what NumPy does, by the manual's pseudo-code of its
instructions: what a wave waits for, its barriers and its bounds are judged on the way."""

from __future__ import annotations

import numpy as np
import pytest
from gpu.machine.cases import CASES
from gpu.machine.run import GENERATIONS, missing, on_machine

pytestmark = [
    pytest.mark.usefixtures("compiler"),
    pytest.mark.skipif(bool(missing()), reason=missing() or ""),
]


@pytest.mark.parametrize("arch", GENERATIONS)
@pytest.mark.parametrize("name", CASES)
def test_kernels(name: str, arch: str, rng: np.random.Generator) -> None:
    with on_machine(arch):
        CASES[name](rng)
