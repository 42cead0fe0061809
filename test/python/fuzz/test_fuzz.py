"""A fixed number of random kernels give the same memory on the devices `cpu` and `reference`.

`python test/python/fuzz/run.py` runs more of them and makes failures smaller.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from generate import generate, source  # noqa: E402
from launch import check, make_case  # noqa: E402

GROUPS, GROUP_SIZE = 16, 10


@pytest.mark.parametrize("group", range(GROUPS))
def test_random_kernels_agree_with_the_reference(group: int, compiler: None) -> None:
    for seed in range(group * GROUP_SIZE, (group + 1) * GROUP_SIZE):
        k = generate(seed)
        text = source(k)
        try:
            check(make_case(k, text, seed))
        except Exception as error:
            raise AssertionError(f"seed {seed}: {error}\n{text}") from error


def test_a_seed_always_gives_the_same_kernel() -> None:
    assert source(generate(5)) == source(generate(5))
    assert source(generate(5)) != source(generate(6))
