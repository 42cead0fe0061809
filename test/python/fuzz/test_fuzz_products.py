"""A fixed number of random kernels with products in loops give the same numbers on each device.

`python test/python/fuzz/test_fuzz_products.py FIRST COUNT` runs more of them.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from launch import load_kernel  # noqa: E402
from products import generate, run  # noqa: E402

import tilewright as tw  # noqa: E402

torch = pytest.importorskip("torch")
GROUPS, GROUP_SIZE = 8, 4
REFUSED = ("TW0311", "TW0312")  # more shared memory or registers than there are: rightly refused


def check(seed: int, num_settings: int) -> None:
    """Raises where a device's numbers are not the reference's, or a simulation finds a fault."""
    k, source = generate(seed)
    kernel = load_kernel(source, f"product {seed}")
    expected = run(k, kernel, seed, "reference")
    assert torch.equal(run(k, kernel, seed, "cpu"), expected), "cpu"
    rng = random.Random(seed)
    for _ in range(num_settings):
        device = rng.choice(["sim:sm_80", "sim:sm_80", "sim:sm_90a", "sim:gfx942", "sim:gfx1100", "sim:xe2"])
        warps, stages = rng.choice([1, 2, 4, 8]), rng.choice([1, 2, 3, 4, 5])
        options = {
            "schedule": rng.choice(tw.simulation.SCHEDULES),
            "completion": rng.choice(tw.simulation.COMPLETIONS),
        }
        try:
            with tw.simulation.simulate(device, seed=seed, **options):
                actual = run(k, kernel, seed, device, num_warps=warps, num_stages=stages)
        except tw.UnsupportedError as refusal:
            if not any(code in str(refusal) for code in REFUSED):
                raise
            continue
        wrong = (actual != expected).nonzero().flatten()
        assert not len(wrong), f"{device}, {warps} warps, {stages} stages, {options}: {wrong[:4]}"


def check_seeds(first: int, count: int, num_settings: int) -> int:
    failures = 0
    for seed in range(first, first + count):
        try:
            check(seed, num_settings)
        except Exception as error:  # noqa: BLE001 (every failure is a finding)
            failures += 1
            print(f"seed {seed}: {error}\n{generate(seed)[1]}", flush=True)
    return failures


@pytest.mark.parametrize("group", range(GROUPS))
def test_random_products_agree_with_the_reference(group: int, compiler: None) -> None:
    assert check_seeds(group * GROUP_SIZE, GROUP_SIZE, num_settings=1) == 0


def test_a_seed_always_gives_the_same_kernel() -> None:
    assert generate(5)[1] == generate(5)[1]
    assert generate(5)[1] != generate(6)[1]


if __name__ == "__main__":
    first, count = int(sys.argv[1]), int(sys.argv[2])
    failures = check_seeds(first, count, num_settings=3)
    print(f"{failures} of {count} kernels are wrong")
    sys.exit(failures > 0)
