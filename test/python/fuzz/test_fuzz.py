"""A fixed number of random kernels give the same memory on each device as on `reference`.

`python test/python/fuzz/run.py` runs more of them and makes failures smaller.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from generate import generate, source  # noqa: E402
from launch import check, make_case  # noqa: E402

GROUPS, GROUP_SIZE = 16, 10


# Overlapping stores of a loop's iterations, memory that threads exchange within a loop, words of
# which only some bytes have a value.
FOUND_ON_GPU = [1093, 1258, 1452, 1488, 1624, 2353, 2555, 3613, 4072, 5168, 5488]


def check_seeds(seeds: Iterable[int], device: str, powers_only: bool | None = None) -> None:
    for seed in seeds:
        case = make_case(seed, device, powers_only)
        try:
            check(case)
        except Exception as error:
            raise AssertionError(f"seed {seed} on {device}: {error}\n{case.source}") from error


@pytest.mark.parametrize("group", range(GROUPS))
@pytest.mark.parametrize("on", ["cpu", "sim:sm_80"])
def test_random_kernels_agree_with_the_reference(on: str, group: int, compiler: None) -> None:
    check_seeds(range(group * GROUP_SIZE, (group + 1) * GROUP_SIZE), on)


def test_what_was_wrong_on_gpus_stays_right(compiler: None) -> None:
    check_seeds(FOUND_ON_GPU, "sim:sm_80", powers_only=True)


def test_a_seed_always_gives_the_same_kernel() -> None:
    assert source(generate(5)) == source(generate(5))
    assert source(generate(5)) != source(generate(6))
