"""Spaces of configurations: which they have, and what is refused of them at the user's line."""

from __future__ import annotations

from typing import Any

import pytest
import tilewright as tw
from tilewright.tuning.spaces import expand


@tw.jit
def kernel(x, n, BLOCK_M: tw.constexpr, BLOCK_N: tw.constexpr):
    tw.store(x + n, BLOCK_M + BLOCK_N)


SIZES = {"BLOCK_M": tw.powers_of_two(16, 64), "BLOCK_N": tw.choice(32, 64, 64)}


def chosen(space: Any, *constraints: Any) -> list[tuple[int, ...]]:
    return [tuple(c.kwargs.values()) for c in expand(space, constraints, kernel)]


def test_values_of_parameters() -> None:
    assert tw.powers_of_two(16, 256) == (16, 32, 64, 128, 256) and tw.powers_of_two(8, 8) == (8,)
    assert tw.choice(4, 8, 4) == (4, 8) and tw.choice(1, True, 1.0) == (1, True, 1.0)
    assert repr(tw.choice(4, "a")) == "tw.choice(4, 'a')"
    for low, high, words in ((3, 8, "not 3"), (8, 12, "not 12"), (16, 8, "first bound is the larger")):
        with pytest.raises(ValueError, match=words):
            tw.powers_of_two(low, high)


def test_a_space_has_the_configurations_that_meet_its_constraints() -> None:
    assert chosen(SIZES) == [(16, 32), (16, 64), (32, 32), (32, 64), (64, 32), (64, 64)]
    assert chosen(SIZES, lambda BLOCK_M, BLOCK_N: BLOCK_M <= BLOCK_N, lambda BLOCK_M, **_: BLOCK_M > 16) == [
        (32, 32), (32, 64), (64, 64),
    ]  # fmt: skip
    first = next(expand({**SIZES, "num_warps": (8, 4), "maxnreg": [128]}, (), kernel))
    assert (first.num_warps, first.maxnreg, first.kwargs) == (8, 128, {"BLOCK_M": 16, "BLOCK_N": 32})


def test_a_space_is_gone_through_only_as_far_as_it_is_read() -> None:
    seen: list[int] = []
    configs = expand(SIZES, [lambda BLOCK_M, **_: seen.append(BLOCK_M) or True], kernel)
    next(configs)
    assert seen == [16]


@pytest.mark.parametrize(
    ("space", "constraints", "words"),
    [
        ({"BLOK_M": (16,)}, (), "`BLOK_M`, which is neither a parameter nor an option"),
        ({"BLOCK_M": ()}, (), "no value for BLOCK_M"),
        ({"BLOCK_M": "16"}, (), "'16' for BLOCK_M, which is not a choice"),
        ({"BLOCK_M": 16}, (), "16 for BLOCK_M, which is not a choice"),
        ({}, (), "not a dictionary of values"),
        ([16], (), "not a dictionary of values"),
        (SIZES, [lambda BLOCK_M, **_: BLOCK_M // 0 > 1], "fails for BLOCK_M=16, BLOCK_N=32: ZeroDivisionError"),
        (SIZES, [lambda BLOCK: True], "takes `BLOCK`, which the space does not have"),
        (SIZES, [lambda **_: False], "no configuration of the space meets its constraints"),
        (SIZES, ["BLOCK_M < 64"], "is not a function"),
        ({"BLOCK_M": range(200), "BLOCK_N": range(200)}, (), "more than 20,000 configurations"),
    ],
)
def test_spaces_that_are_refused(space: Any, constraints: Any, words: str) -> None:
    with pytest.raises(tw.LaunchError, match=words) as error:
        tw.autotune(space=space, constraints=constraints, key=["n"])(kernel)
    assert error.value.code == "TW0418" and error.value.hint


def test_a_space_stands_in_the_place_of_configurations() -> None:
    tuned = tw.autotune(space=SIZES, constraints=lambda BLOCK_M, **_: BLOCK_M < 64, key=["n"])(kernel)
    assert len(tuned.configs) == 4 and tuned.measure_at_most == 6
    assert tw.autotune(space=SIZES, measure_at_most=2)(kernel).measure_at_most == 2
    assert tw.autotune([tw.Config({})], key=[])(kernel).measure_at_most is None
    for options, words in (
        ({"configs": [tw.Config({})], "space": SIZES}, "both given"),
        ({"configs": [], "constraints": [lambda **_: True]}, "without a space"),
        ({"space": SIZES, "measure_at_most": 0}, "measure_at_most of kernel is 0"),
    ):
        with pytest.raises(tw.LaunchError, match=words):
            tw.autotune(key=["n"], **options)(kernel)
